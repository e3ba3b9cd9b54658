//! What a store refuses, and how it breaks.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a store did not do what was asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreError {
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
    /// More operations wait than the store queues.
    Busy {
        /// How many may wait.
        bound: usize,
    },
    /// The document with its answers is larger than a document may be.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// The bound in bytes.
        bound: u64,
    },
    /// A document with this id is there already.
    Exists {
        /// The id.
        id: String,
    },
    /// SQLite failed: a full disk, say.
    Sqlite(Arc<rusqlite::Error>),
    /// The thread that serves the file has ended.
    Closed,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Open { path, source } => {
                write!(f, "can't open the store {}: {source}", path.display())
            }
            StoreError::Lock { path, source } => write!(f, "can't lock {}: {source}", path.display()),
            StoreError::NewerSchema { path, found, newest } => write!(
                f,
                "the store {} has schema {found}, but this build reads up to {newest}: use a newer fantail",
                path.display()
            ),
            StoreError::Thread(source) => write!(f, "can't start the store's threads: {source}"),
            StoreError::Busy { bound } => {
                write!(f, "the store is busy: {bound} operations wait, no more may")
            }
            StoreError::TooLarge { bytes, bound } => {
                write!(f, "the document has {bytes} bytes, at most {bound} are kept")
            }
            StoreError::Exists { id } => write!(f, "there is a document {id} already"),
            StoreError::Sqlite(source) => write!(f, "the store failed: {source}"),
            StoreError::Closed => f.write_str("the store is closed"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Open { source, .. } | StoreError::Sqlite(source) => Some(&**source),
            StoreError::Lock { source, .. } | StoreError::Thread(source) => Some(&**source),
            StoreError::NewerSchema { .. }
            | StoreError::Busy { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Exists { .. }
            | StoreError::Closed => None,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> StoreError {
        StoreError::Sqlite(Arc::new(source))
    }
}
