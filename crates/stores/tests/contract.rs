//! What the store in a SQLite file promises: what every store does, and that its file is durable and private.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

#[path = "../../fantail/tests/backfill/contract.rs"]
mod contract;

use fantail::backfill::{SlotState, Store};
use fantail_stores::SqliteStore;
use tempfile::TempDir;

use contract::{LEASE, NOW, new_document, one_claim, states};

fn new_store() -> (SqliteStore, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("backfill.sqlite")).unwrap();
    (store, folder)
}

contract::hold!(new_store);

#[tokio::test]
async fn what_is_queued_is_written_before_the_store_closes() {
    let (store, folder) = new_store();
    let mut enqueue = Box::pin(store.enqueue(NOW, new_document("a")));
    // Polled once, so that it is queued; then nobody waits for it.
    assert!(std::future::poll_fn(|cx| std::task::Poll::Ready(enqueue.as_mut().poll(cx).is_pending())).await);
    drop(enqueue);
    drop(store);
    let store = SqliteStore::open(&folder.path().join("backfill.sqlite")).unwrap();
    assert_eq!(store.counts().await.unwrap().documents, 1);
}

#[tokio::test]
async fn leases_end_with_the_last_process_that_has_the_store_open() {
    let (store, folder) = new_store();
    let path = folder.path().join("backfill.sqlite");
    one_claim(&store, 2).await;
    let second = SqliteStore::open(&path).unwrap();
    assert_eq!(second.claim(NOW, LEASE, 10).await.unwrap(), []);
    drop((store, second));
    let third = SqliteStore::open(&path).unwrap();
    assert_eq!(third.claim(NOW, LEASE, 10).await.unwrap()[0].number, 2);
    drop(third);
    // That was the last allowed try.
    let fourth = SqliteStore::open(&path).unwrap();
    assert_eq!(fourth.claim(NOW, LEASE, 10).await.unwrap(), []);
    assert_eq!(states(&fourth, "one").await, [SlotState::Dead]);
}

#[tokio::test]
async fn a_file_that_is_no_store_of_this_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, expected: &str| {
        let error = SqliteStore::open(&folder.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(name), "{error}");
    };
    std::fs::write(folder.path().join("text"), "not a database, and longer than a hundred bytes: ".repeat(9))
        .unwrap();
    check("text", "file is not a database");
    check("no/such/folder", "unable to open");
    let newer = rusqlite::Connection::open(folder.path().join("newer")).unwrap();
    newer.pragma_update(None, "user_version", 2).unwrap();
    check("newer", "has schema 2, but this build reads up to 1");
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (store, folder) = new_store();
    store.enqueue(NOW, new_document("a")).await.unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", entry.path().display());
    }
}
