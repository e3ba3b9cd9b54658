//! The store: documents in, claims out, documents back.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use fantail::backfill::{Claim, Counts, Document, NewDocument, Slot, SlotState, Store, StoreError, Stored};
use fantail_core::Time;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, named_params, params};

use crate::error::failed;
use crate::lock::Lock;
use crate::worker::Worker;
use crate::{OpenError, schema};

/// A durable queue of documents that lack something, in one SQLite file.
///
/// Every method returns once it is on the disk. One thread writes; what waits for it together is committed together. Another
/// thread reads, so that readers do not wait for the disk. Dropping a future does not undo what was queued. A clone is a
/// handle of the same store; dropping the last one waits for what is queued and closes the file.
///
/// ```
/// use bytes::Bytes;
/// use fantail::backfill::{DocumentState, NewDocument, NewSlot, SlotState, Store};
/// use fantail_core::Time;
/// use fantail_stores::SqliteStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let store = SqliteStore::open(&folder.path().join("backfill.sqlite"))?;
/// let summary = NewSlot {
///     branch: "summary".to_owned(),
///     state: SlotState::Queued,
///     key: "its idempotency key".to_owned(),
///     body: Bytes::from("missed"),
/// };
/// let now = Time::from_secs(1_800_000_000);
/// let document = NewDocument {
///     id: "0b1d".to_owned(),
///     plan: "enrich".to_owned(),
///     request: Bytes::from("the request"),
///     result: Bytes::new(),
///     expires_at: now.saturating_add(Time::from_secs(3_600)),
///     max_tries: 8,
///     max_bytes: 1 << 20,
///     slots: vec![summary],
/// };
/// store.enqueue(now, document).await?;
/// let claims = store.claim(now, Time::from_secs(60), 10).await?;
/// store.answer(&claims[0], Bytes::from("2")).await?;
/// let document = store.document(now, "0b1d").await?.expect("it has not expired");
/// assert_eq!(document.state(), DocumentState::Complete);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    // The reader goes first: the connection that closes last empties the write-ahead log, and only a writer can.
    reader: Worker,
    writer: Worker,
    _lock: Lock,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the store in the file `path`, or makes one there. A lock file beside it tells who else has it open: when
    /// nobody has, the leases are those of processes that are gone, and end at once.
    ///
    /// # Errors
    /// The file can't be opened or made, is no SQLite file, or is of a newer version.
    pub fn open(path: &Path) -> Result<SqliteStore, OpenError> {
        let writer = schema::open_writer(path)?;
        let reader = schema::open_reader(path)?;
        let lock = Lock::take(path, || {
            let ended = "UPDATE slot SET due_at = 0 WHERE state = 'leased'";
            let failed = |source| OpenError::Open { path: path.to_owned(), source: Arc::new(source) };
            writer.execute_batch(ended).map_err(failed)
        })?;
        let inner = Inner {
            _lock: lock,
            reader: Worker::start("store-reader", reader, TransactionBehavior::Deferred)?,
            writer: Worker::start("store-writer", writer, TransactionBehavior::Immediate)?,
        };
        Ok(SqliteStore { inner: Arc::new(inner) })
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Stored<'_, T> {
        Box::pin(self.inner.writer.run(move |connection| work(connection).map_err(failed)))
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Stored<'_, T> {
        Box::pin(self.inner.reader.run(move |connection| work(connection).map_err(failed)))
    }
}

impl Store for SqliteStore {
    fn enqueue(&self, now: Time, document: NewDocument) -> Stored<'_, ()> {
        Box::pin(async move {
            let (bytes, bound, id) = (document.bytes(), document.max_bytes, document.id.clone());
            if bytes > bound {
                return Err(StoreError::TooLarge { bytes, bound });
            }
            let inserted = self.write(move |connection| insert(connection, now, &document)).await?;
            if inserted { Ok(()) } else { Err(StoreError::Exists { id }) }
        })
    }

    fn claim(&self, now: Time, lease: Time, limit: usize) -> Stored<'_, Vec<Claim>> {
        self.write(move |connection| claim(connection, now, lease, limit))
    }

    fn answer(&self, claim: &Claim, body: Bytes) -> Stored<'_, Option<SlotState>> {
        let slot = count(claim.slot);
        self.write(move |connection| answer(connection, slot, &body))
    }

    fn fail(&self, claim: &Claim, retry_at: Option<Time>, error: String) -> Stored<'_, Option<SlotState>> {
        let (slot, fence) = (count(claim.slot), count(claim.fence));
        self.write(move |connection| fail(connection, slot, fence, retry_at, &error))
    }

    fn release(&self, claim: &Claim, at: Time) -> Stored<'_, ()> {
        let (slot, fence) = (count(claim.slot), count(claim.fence));
        let sql = "UPDATE slot SET state = 'queued', tries = tries - 1, due_at = ?3
                   WHERE number = ?1 AND fence = ?2 AND state = 'leased'";
        self.write(move |connection| {
            connection.prepare_cached(sql)?.execute(params![slot, fence, At(at)]).map(drop)
        })
    }

    fn next_due(&self, now: Time) -> Stored<'_, Option<Time>> {
        let sql = "SELECT slot.due_at FROM slot JOIN document ON document.number = slot.document
                   WHERE slot.due_at IS NOT NULL AND document.expires_at > ?1
                   ORDER BY slot.due_at LIMIT 1";
        self.read(move |connection| {
            let due = connection.prepare_cached(sql)?.query_row([At(now)], |row| row.get::<_, At>(0));
            Ok(due.optional()?.map(|At(due)| due))
        })
    }

    fn document(&self, now: Time, id: &str) -> Stored<'_, Option<Document>> {
        let id = id.to_owned();
        self.read(move |connection| document(connection, now, &id))
    }

    fn expire(&self, now: Time, limit: usize) -> Stored<'_, usize> {
        let sql = "DELETE FROM document WHERE number IN
                   (SELECT number FROM document WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
        self.write(move |connection| {
            connection.prepare_cached(sql)?.execute(params![At(now), count(limit as u64)])
        })
    }

    fn counts(&self) -> Stored<'_, Counts> {
        self.read(counts)
    }
}

/// Whether there was no document of this id.
fn insert(connection: &Connection, now: Time, document: &NewDocument) -> rusqlite::Result<bool> {
    let inserted = connection
        .prepare_cached(
            "INSERT INTO document (id, plan, request, result, bytes, max_bytes, max_tries, created_at, expires_at)
             VALUES (:id, :plan, :request, :result, :bytes, :max_bytes, :max_tries, :now, :expires_at)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(named_params! {
            ":id": document.id,
            ":plan": document.plan,
            ":request": &document.request[..],
            ":result": &document.result[..],
            ":bytes": count(document.bytes()),
            ":max_bytes": count(document.max_bytes),
            ":max_tries": document.max_tries,
            ":now": At(now),
            ":expires_at": At(document.expires_at),
        })?;
    if inserted == 0 {
        return Ok(false);
    }
    let number = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached(
        "INSERT INTO slot (document, position, branch, key, state, due_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (slot, position) in document.slots.iter().zip(0_i64..) {
        let due = (slot.state == SlotState::Queued).then_some(At(now));
        insert.execute(params![
            number,
            position,
            slot.branch,
            slot.key,
            State(slot.state),
            due,
            &slot.body[..]
        ])?;
    }
    Ok(true)
}

fn claim(connection: &Connection, now: Time, lease: Time, limit: usize) -> rusqlite::Result<Vec<Claim>> {
    connection
        .prepare_cached(
            "UPDATE slot SET state = 'dead', due_at = NULL,
                             error = 'the last allowed try did not end before its lease did'
             WHERE state = 'leased' AND due_at <= ?1
               AND tries >= (SELECT max_tries FROM document WHERE number = slot.document)",
        )?
        .execute([At(now)])?;
    let claims: Vec<Claim> = connection
        .prepare_cached(
            "SELECT slot.number, slot.fence + 1, slot.tries + 1, slot.branch, slot.key,
                    document.id, document.plan, document.request
             FROM slot JOIN document ON document.number = slot.document
             WHERE slot.due_at <= ?1 AND document.expires_at > ?1
             ORDER BY slot.due_at, slot.number LIMIT ?2",
        )?
        .query_map(params![At(now), count(limit as u64)], |row| {
            Ok(Claim {
                slot: row.get::<_, i64>(0)?.cast_unsigned(),
                fence: row.get::<_, i64>(1)?.cast_unsigned(),
                number: row.get(2)?,
                branch: row.get(3)?,
                key: row.get(4)?,
                document: row.get(5)?,
                plan: row.get(6)?,
                request: blob(row, 7)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut take = connection.prepare_cached(
        "UPDATE slot SET state = 'leased', tries = ?2, fence = ?3, due_at = ?4 WHERE number = ?1",
    )?;
    for claim in &claims {
        let (slot, fence) = (count(claim.slot), count(claim.fence));
        take.execute(params![slot, claim.number, fence, At(now.saturating_add(lease))])?;
    }
    Ok(claims)
}

fn answer(connection: &Connection, slot: i64, body: &Bytes) -> rusqlite::Result<Option<SlotState>> {
    let found: Option<(State, i64, i64, i64)> = connection
        .prepare_cached(
            "SELECT slot.state, document.number, document.bytes - length(slot.body) + ?2, document.max_bytes
             FROM slot JOIN document ON document.number = slot.document WHERE slot.number = ?1",
        )?
        .query_row([slot, count(body.len() as u64)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((State(state), document, bytes, bound)) = found else { return Ok(None) };
    if state == SlotState::Answered {
        return Ok(Some(state));
    }
    if bytes > bound {
        let error = format!("the document would have {bytes} bytes, at most {bound} are kept");
        connection
            .prepare_cached("UPDATE slot SET state = 'dead', due_at = NULL, error = ?2 WHERE number = ?1")?
            .execute(params![slot, error])?;
        return Ok(Some(SlotState::Dead));
    }
    connection
        .prepare_cached(
            "UPDATE slot SET state = 'answered', due_at = NULL, error = NULL, body = ?2 WHERE number = ?1",
        )?
        .execute(params![slot, &body[..]])?;
    connection
        .prepare_cached("UPDATE document SET bytes = ?2 WHERE number = ?1")?
        .execute([document, bytes])?;
    Ok(Some(SlotState::Answered))
}

fn fail(
    connection: &Connection,
    slot: i64,
    fence: i64,
    retry_at: Option<Time>,
    error: &str,
) -> rusqlite::Result<Option<SlotState>> {
    let found: Option<(bool, At)> = connection
        .prepare_cached(
            "SELECT slot.tries < document.max_tries, document.expires_at
             FROM slot JOIN document ON document.number = slot.document
             WHERE slot.number = ?1 AND slot.fence = ?2 AND slot.state = 'leased'",
        )?
        .query_row([slot, fence], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((may_retry, At(expires_at))) = found else { return Ok(None) };
    let retry_at = retry_at.filter(|at| may_retry && *at < expires_at);
    let state = if retry_at.is_some() { SlotState::Queued } else { SlotState::Dead };
    connection
        .prepare_cached("UPDATE slot SET state = ?2, due_at = ?3, error = ?4 WHERE number = ?1")?
        .execute(params![slot, State(state), retry_at.map(At), error])?;
    Ok(Some(state))
}

fn document(connection: &Connection, now: Time, id: &str) -> rusqlite::Result<Option<Document>> {
    let found: Option<(i64, Document)> = connection
        .prepare_cached(
            "SELECT number, id, plan, result, created_at, expires_at FROM document
             WHERE id = ?1 AND expires_at > ?2",
        )?
        .query_row(params![id, At(now)], |row| {
            let At(created_at) = row.get(4)?;
            let At(expires_at) = row.get(5)?;
            let document = Document {
                id: row.get(1)?,
                plan: row.get(2)?,
                result: blob(row, 3)?,
                created_at,
                expires_at,
                slots: Vec::new(),
            };
            Ok((row.get(0)?, document))
        })
        .optional()?;
    let Some((number, mut document)) = found else { return Ok(None) };
    document.slots = connection
        .prepare_cached(
            "SELECT branch, state, body, tries, error FROM slot WHERE document = ?1 ORDER BY position",
        )?
        .query_map([number], |row| {
            let State(state) = row.get(1)?;
            Ok(Slot {
                branch: row.get(0)?,
                state,
                body: blob(row, 2)?,
                tries: row.get(3)?,
                error: row.get(4)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(document))
}

fn counts(connection: &Connection) -> rusqlite::Result<Counts> {
    let number = |sql: &str| -> rusqlite::Result<u64> {
        Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0))?.cast_unsigned())
    };
    Ok(Counts {
        documents: number("SELECT count(*) FROM document")?,
        queued: number("SELECT count(*) FROM slot WHERE state = 'queued'")?,
        leased: number("SELECT count(*) FROM slot WHERE state = 'leased'")?,
        dead: number("SELECT count(*) FROM slot WHERE state = 'dead'")?,
    })
}

fn blob(row: &Row<'_>, index: usize) -> rusqlite::Result<Bytes> {
    row.get(index).map(|bytes: Vec<u8>| Bytes::from(bytes))
}

/// SQLite's integers are signed; more than that many is all of them.
fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// An instant as the file holds it: nanoseconds since the Unix epoch, at most those of the year 2262.
#[derive(Clone, Copy)]
struct At(Time);

impl ToSql for At {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(i64::try_from(self.0.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl FromSql for At {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<At> {
        let nanos = value.as_i64()?;
        u64::try_from(nanos)
            .map(|nanos| At(Time::from_nanos(nanos)))
            .map_err(|_| FromSqlError::OutOfRange(nanos))
    }
}

/// A state as the file holds it: its word.
#[derive(Clone, Copy)]
struct State(SlotState);

impl ToSql for State {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.as_str()))
    }
}

impl FromSql for State {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<State> {
        let text = value.as_str()?;
        let state = SlotState::ALL.into_iter().find(|state| state.as_str() == text);
        state.map(State).ok_or(FromSqlError::InvalidType)
    }
}
