//! The store: documents in, claims out, documents back.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use fantail_core::Time;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, named_params, params};

use crate::document::{Claim, Counts, Document, NewDocument, Slot, SlotState};
use crate::lock::Lock;
use crate::worker::Worker;
use crate::{StoreError, schema};

/// A durable queue of documents that lack something, in one SQLite file.
///
/// Every method is one transaction, and returns once it is on the disk. One thread writes; what waits for it together
/// is committed together. Another thread reads, so that readers do not wait for the disk. Dropping a future does not
/// undo what was queued. A clone is a handle of the same store; dropping the last one waits for what is queued and
/// closes the file.
///
/// `now` is the time since the Unix epoch, as the caller knows it.
///
/// ```
/// use bytes::Bytes;
/// use fantail_core::Time;
/// use fantail_stores::{BackfillStore, DocumentState, NewDocument, NewSlot, SlotState};
///
/// # let folder = tempfile::tempdir()?;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let store = BackfillStore::open(&folder.path().join("backfill.sqlite"))?;
/// let slot = |branch: &str, state, body: &'static str| NewSlot {
///     branch: branch.to_owned(),
///     state,
///     key: format!("key of {branch}"),
///     body: Bytes::from(body),
/// };
/// let now = Time::from_secs(1_800_000_000);
/// let lease = Time::from_secs(60);
/// let document = NewDocument {
///     id: "0b1d".to_owned(),
///     plan: "enrich".to_owned(),
///     request: Bytes::from("the request"),
///     result: Bytes::new(),
///     expires_at: now.saturating_add(Time::from_secs(3_600)),
///     max_tries: 8,
///     max_bytes: 1 << 20,
///     slots: vec![slot("type", SlotState::Answered, "1"), slot("summary", SlotState::Queued, "missed")],
/// };
/// store.enqueue(now, document).await?;
///
/// let claims = store.claim(now, lease, 10).await?;
/// assert_eq!((claims[0].branch.as_str(), claims[0].number), ("summary", 1));
/// store.answer(&claims[0], Bytes::from("2")).await?;
///
/// let document = store.document(now, "0b1d").await?.expect("it has not expired");
/// assert_eq!(document.state(), DocumentState::Complete);
/// assert_eq!(document.slots[1].body, "2");
/// # Ok::<(), fantail_stores::StoreError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct BackfillStore {
    inner: Arc<Inner>,
}

struct Inner {
    // The reader goes first: the connection that closes last empties the write-ahead log, and only a writer can.
    reader: Worker,
    writer: Worker,
    _lock: Lock,
}

impl std::fmt::Debug for BackfillStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackfillStore").finish_non_exhaustive()
    }
}

impl BackfillStore {
    /// Opens the store in the file `path`, or makes one there. A lock file beside it tells who else has it open: when
    /// nobody has, the leases are those of processes that are gone, and end at once.
    ///
    /// # Errors
    /// The file can't be opened or made, is no SQLite file, or is of a newer version.
    pub fn open(path: &Path) -> Result<BackfillStore, StoreError> {
        let writer = schema::open_writer(path)?;
        let reader = schema::open_reader(path)?;
        let lock = Lock::take(path, || {
            let ended = "UPDATE slot SET due_at = 0 WHERE state = 'leased'";
            writer.execute_batch(ended).map_err(StoreError::from)
        })?;
        let inner = Inner {
            _lock: lock,
            reader: Worker::start("store-reader", reader, TransactionBehavior::Deferred)?,
            writer: Worker::start("store-writer", writer, TransactionBehavior::Immediate)?,
        };
        Ok(BackfillStore { inner: Arc::new(inner) })
    }

    /// Stores a document; the queued branches may be tried from `now` on.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`], [`StoreError::Exists`], or the store fails.
    pub async fn enqueue(&self, now: Time, document: NewDocument) -> Result<(), StoreError> {
        let slots = document.slots.iter().map(|slot| slot.body.len()).sum::<usize>();
        let bytes = (document.request.len() + document.result.len() + slots) as u64;
        if bytes > document.max_bytes {
            return Err(StoreError::TooLarge { bytes, bound: document.max_bytes });
        }
        self.inner.writer.run(move |connection| insert(connection, now, &document, bytes)).await
    }

    /// Takes up to `limit` branches whose time has come, each until `now + lease`.
    ///
    /// Branches whose lease ran out are taken too, unless that was their last allowed try: they become dead letters.
    ///
    /// # Errors
    /// The store fails.
    pub async fn claim(&self, now: Time, lease: Time, limit: usize) -> Result<Vec<Claim>, StoreError> {
        self.inner.writer.run(move |connection| Ok(claim(connection, now, lease, limit)?)).await
    }

    /// Fills in the answer of a try. Late is better than never: it counts even when the lease ran out, unless another
    /// try answered first. An answer that makes the document too large makes the branch a dead letter.
    ///
    /// Returns how the branch stands now; `None` when the document is gone.
    ///
    /// # Errors
    /// The store fails.
    pub async fn answer(&self, claim: &Claim, body: Bytes) -> Result<Option<SlotState>, StoreError> {
        let slot = claim.slot;
        self.inner.writer.run(move |connection| Ok(answer(connection, slot, &body)?)).await
    }

    /// Says that a try failed, and when the next one may start; `None`: no other try can succeed.
    ///
    /// The branch is a dead letter when this was the last allowed try, or the document expires before the next one:
    /// nobody waits for a try that will not come. Returns how the branch stands now; `None` when the lease ran out and
    /// somebody else took the branch, or the document is gone.
    ///
    /// # Errors
    /// The store fails.
    pub async fn fail(
        &self,
        claim: &Claim,
        retry_at: Option<Time>,
        error: impl Into<String>,
    ) -> Result<Option<SlotState>, StoreError> {
        let (slot, fence, error) = (claim.slot, claim.fence, error.into());
        self.inner.writer.run(move |connection| Ok(fail(connection, slot, fence, retry_at, &error)?)).await
    }

    /// Hands a claim back untried: the branch is queued again from `at` on, and the try does not count. For workers that
    /// stop, or get no permit.
    ///
    /// # Errors
    /// The store fails.
    pub async fn release(&self, claim: &Claim, at: Time) -> Result<(), StoreError> {
        let (slot, fence) = (claim.slot, claim.fence);
        let sql = "UPDATE slot SET state = 'queued', tries = tries - 1, due_at = ?3
                   WHERE number = ?1 AND fence = ?2 AND state = 'leased'";
        self.inner
            .writer
            .run(move |connection| {
                connection.prepare_cached(sql)?.execute(params![slot, fence, At(at)])?;
                Ok(())
            })
            .await
    }

    /// When [`BackfillStore::claim`] may next find something; `None` when nothing is queued or leased.
    ///
    /// # Errors
    /// The store fails.
    pub async fn next_due(&self, now: Time) -> Result<Option<Time>, StoreError> {
        let sql = "SELECT slot.due_at FROM slot JOIN document ON document.number = slot.document
                   WHERE slot.due_at IS NOT NULL AND document.expires_at > ?1
                   ORDER BY slot.due_at LIMIT 1";
        self.inner
            .reader
            .run(move |connection| {
                let due = connection.prepare_cached(sql)?.query_row([At(now)], |row| row.get::<_, At>(0));
                Ok(due.optional()?.map(|At(due)| due))
            })
            .await
    }

    /// The document `id`; `None` when there is none, or it has expired.
    ///
    /// # Errors
    /// The store fails.
    pub async fn document(&self, now: Time, id: &str) -> Result<Option<Document>, StoreError> {
        let id = id.to_owned();
        self.inner.reader.run(move |connection| Ok(document(connection, now, &id)?)).await
    }

    /// Forgets up to `limit` documents that have expired. Returns how many.
    ///
    /// # Errors
    /// The store fails.
    pub async fn expire(&self, now: Time, limit: usize) -> Result<usize, StoreError> {
        let sql = "DELETE FROM document WHERE number IN
                   (SELECT number FROM document WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
        self.inner
            .writer
            .run(move |connection| {
                Ok(connection.prepare_cached(sql)?.execute(params![At(now), count(limit as u64)])?)
            })
            .await
    }

    /// How much it holds.
    ///
    /// # Errors
    /// The store fails.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        self.inner.reader.run(|connection| Ok(counts(connection)?)).await
    }
}

fn insert(connection: &Connection, now: Time, document: &NewDocument, bytes: u64) -> Result<(), StoreError> {
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
            ":bytes": count(bytes),
            ":max_bytes": count(document.max_bytes),
            ":max_tries": document.max_tries,
            ":now": At(now),
            ":expires_at": At(document.expires_at),
        })?;
    if inserted == 0 {
        return Err(StoreError::Exists { id: document.id.clone() });
    }
    let number = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached(
        "INSERT INTO slot (document, position, branch, key, state, due_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (slot, position) in document.slots.iter().zip(0_i64..) {
        let due = (slot.state == SlotState::Queued).then_some(At(now));
        insert.execute(params![number, position, slot.branch, slot.key, slot.state, due, &slot.body[..]])?;
    }
    Ok(())
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
                slot: row.get(0)?,
                fence: row.get(1)?,
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
        take.execute(params![claim.slot, claim.number, claim.fence, At(now.saturating_add(lease))])?;
    }
    Ok(claims)
}

fn answer(connection: &Connection, slot: i64, body: &Bytes) -> rusqlite::Result<Option<SlotState>> {
    let found: Option<(SlotState, i64, i64, i64)> = connection
        .prepare_cached(
            "SELECT slot.state, document.number, document.bytes - length(slot.body) + ?2, document.max_bytes
             FROM slot JOIN document ON document.number = slot.document WHERE slot.number = ?1",
        )?
        .query_row([slot, count(body.len() as u64)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((state, document, bytes, bound)) = found else { return Ok(None) };
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
        .execute(params![slot, state, retry_at.map(At), error])?;
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
            Ok(Slot {
                branch: row.get(0)?,
                state: row.get(1)?,
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

impl ToSql for SlotState {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_str()))
    }
}

impl FromSql for SlotState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<SlotState> {
        let text = value.as_str()?;
        SlotState::ALL.into_iter().find(|state| state.as_str() == text).ok_or(FromSqlError::InvalidType)
    }
}
