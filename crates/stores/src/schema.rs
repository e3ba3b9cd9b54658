//! The file: how it is opened and what is in it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::OpenError;

/// The version that this build writes, as the file's `user_version`.
pub(crate) const VERSION: i64 = 1;

/// How long a statement waits for another process that uses the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// `slot.due_at` is when somebody must look at the row again: when the next try may start (queued), or when the lease
/// runs out (leased). The indexes hold only the rows that are not at rest, so they stay small. `slot.number` is never
/// used again, so a worker that is late never answers for somebody else.
const CREATE: &str = "
CREATE TABLE document (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    plan       TEXT NOT NULL,
    request    BLOB NOT NULL,
    result     BLOB NOT NULL,
    bytes      INTEGER NOT NULL,
    max_bytes  INTEGER NOT NULL,
    max_tries  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX document_expires ON document (expires_at);
CREATE TABLE slot (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,
    document  INTEGER NOT NULL REFERENCES document ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    branch    TEXT NOT NULL,
    key       TEXT NOT NULL,
    state     TEXT NOT NULL,
    tries     INTEGER NOT NULL DEFAULT 0,
    fence     INTEGER NOT NULL DEFAULT 0,
    due_at    INTEGER,
    error     TEXT,
    body      BLOB NOT NULL,
    UNIQUE (document, position)
) STRICT;
CREATE INDEX slot_due ON slot (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX slot_unsettled ON slot (state) WHERE state IN ('queued', 'leased', 'dead');
PRAGMA user_version = 1;
";

/// The connection that writes. Makes the file, readable by its owner alone, when it is not there.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let failed = |source| OpenError::Open { path: path.to_owned(), source: Arc::new(source) };
    make_private(path);
    let mut connection = Connection::open(path).map_err(failed)?;
    configure(&connection).map_err(failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    match found {
        0 => transaction.execute_batch(CREATE).map_err(failed)?,
        VERSION => {}
        _ => return Err(OpenError::NewerSchema { path: path.to_owned(), found, newest: VERSION }),
    }
    transaction.commit().map_err(failed)?;
    Ok(connection)
}

/// A connection that only reads, beside the one that writes.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, OpenError> {
    let failed = |source| OpenError::Open { path: path.to_owned(), source: Arc::new(source) };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    Ok(connection)
}

/// A stored answer must outlive a power cut, hence FULL: every commit is on the disk before anybody hears of it.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Requests may hold credentials. A failure shows when SQLite opens the file.
fn make_private(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}
