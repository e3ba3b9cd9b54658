//! Whether anybody else has the store open.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::Arc;

use crate::OpenError;

/// Held, shared, by everybody who has the store open. It goes with the process, however that ends.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the store in `path`. Runs `alone`, before anybody else can open the store, when nobody has it
    /// open.
    pub(crate) fn take(
        path: &Path,
        alone: impl FnOnce() -> Result<(), OpenError>,
    ) -> Result<Lock, OpenError> {
        let mut name = path.as_os_str().to_owned();
        name.push("-lock");
        let failed = |source| OpenError::Lock { path: name.clone().into(), source: Arc::new(source) };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&name).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                alone()?;
                file.unlock().map_err(failed)?;
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.lock_shared().map_err(failed)?;
        Ok(Lock { _file: file })
    }
}
