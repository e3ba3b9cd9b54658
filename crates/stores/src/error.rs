//! Why a store can't be opened, and what SQLite's errors are to those who use it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use fantail::backfill::StoreError;

/// Why a store can't be opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The file can't be opened or made ready.
    Open {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: Arc<rusqlite::Error>,
    },
    /// The file was written by a newer version.
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The version that it states.
        found: i64,
        /// The newest version that this build reads.
        newest: i64,
    },
    /// The lock file beside the store can't be used.
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// The threads that serve the file can't be started.
    Thread(Arc<std::io::Error>),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Open { path, source } => {
                write!(f, "can't open the store {}: {source}", path.display())
            }
            OpenError::Lock { path, source } => write!(f, "can't lock {}: {source}", path.display()),
            OpenError::NewerSchema { path, found, newest } => write!(
                f,
                "the store {} has schema {found}, but this build reads up to {newest}: use a newer fantail",
                path.display()
            ),
            OpenError::Thread(source) => write!(f, "can't start the store's threads: {source}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Open { source, .. } => Some(&**source),
            OpenError::Lock { source, .. } | OpenError::Thread(source) => Some(&**source),
            OpenError::NewerSchema { .. } => None,
        }
    }
}

/// SQLite failed while it served a store.
pub(crate) fn failed(source: rusqlite::Error) -> StoreError {
    StoreError::Failed(Arc::new(source))
}
