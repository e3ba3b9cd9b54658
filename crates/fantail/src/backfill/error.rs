//! What a store refuses, and how it breaks.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a store did not do what was asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreError {
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
    /// What the store is built on failed: a full disk, say.
    Failed(Arc<dyn Error + Send + Sync>),
    /// The store is closed.
    Closed,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Busy { bound } => {
                write!(f, "the store is busy: {bound} operations wait, no more may")
            }
            StoreError::TooLarge { bytes, bound } => {
                write!(f, "the document has {bytes} bytes, at most {bound} are kept")
            }
            StoreError::Exists { id } => write!(f, "there is a document {id} already"),
            StoreError::Failed(source) => write!(f, "the store failed: {source}"),
            StoreError::Closed => f.write_str("the store is closed"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            StoreError::Failed(source) => Some(&**source),
            _ => None,
        }
    }
}
