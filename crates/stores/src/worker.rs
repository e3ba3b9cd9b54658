//! A thread that owns a connection and does what is queued for it.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use fantail::backfill::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use crate::OpenError;
use crate::error::failed;

/// How many commands may wait. The caller of one more hears that the store is busy: a queue without a bound would hide
/// a stalled disk until memory runs out.
const QUEUE: usize = 4_096;
/// How many commands share a commit at most.
const BATCH: usize = 256;

/// The handle of the thread. Dropping it lets the thread do what is queued, and waits for that.
pub(crate) struct Worker {
    commands: Option<SyncSender<Box<dyn Command>>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread that owns `connection`. Commands that wait together share one transaction, so they share the
    /// one wait for the disk as well (group commit).
    pub(crate) fn start(
        name: &str,
        connection: Connection,
        behavior: TransactionBehavior,
    ) -> Result<Worker, OpenError> {
        let (commands, queue) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || serve(connection, behavior, &queue))
            .map_err(|source| OpenError::Thread(source.into()))?;
        Ok(Worker { commands: Some(commands), thread: Some(thread) })
    }

    /// Does `work` inside the thread's transaction, and returns what it said once that is committed. What it wrote is
    /// undone when it fails, and only that. Dropping the future does not stop what is queued.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let command = Box::new(Pending { work: Some(work), result: None, reply });
        let commands = self.commands.as_ref().expect("only dropping the worker takes the sender");
        commands.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy { bound: QUEUE },
            TrySendError::Disconnected(_) => StoreError::Closed,
        })?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was told to those who waited for it.
            let _ = thread.join();
        }
    }
}

/// Something to do in a transaction, and somebody to tell once it is committed.
trait Command: Send {
    fn run(&mut self, connection: &Connection);
    fn reply(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Pending<T, F> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Command for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection) {
        self.result = self.work.take().map(|work| apart(connection, work));
    }

    fn reply(self: Box<Self>, committed: Result<(), StoreError>) {
        let Pending { result, reply, .. } = *self;
        let result = committed.and_then(|()| result.unwrap_or(Err(StoreError::Closed)));
        // Whoever asked may have gone; what was written stays.
        let _ = reply.send(result);
    }
}

/// Undoes what `work` wrote when it fails, and leaves alone what others wrote in the same transaction.
fn apart<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.execute_batch("SAVEPOINT command").map_err(failed)?;
    let result = work(connection);
    let undo = if result.is_err() { "ROLLBACK TO command;" } else { "" };
    connection.execute_batch(&format!("{undo} RELEASE command")).map_err(failed)?;
    result
}

fn serve(mut connection: Connection, behavior: TransactionBehavior, queue: &Receiver<Box<dyn Command>>) {
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        batch.extend(queue.try_iter().take(BATCH - 1));
        let committed = transact(&mut connection, behavior, &mut batch);
        for command in batch {
            command.reply(committed.clone());
        }
    }
}

fn transact(
    connection: &mut Connection,
    behavior: TransactionBehavior,
    batch: &mut [Box<dyn Command>],
) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(behavior).map_err(failed)?;
    for command in batch {
        command.run(&transaction);
    }
    transaction.commit().map_err(failed)
}
