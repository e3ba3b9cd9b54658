//! A process that is killed while it writes loses nothing that it was told is stored.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use fantail::backfill::{NewDocument, NewSlot, SlotState, Store};
use fantail_core::Time;
use fantail_stores::SqliteStore;

const NOW: Time = Time::from_secs(1_800_000_000);
const LEASE: Time = Time::from_secs(60);
const FILE: &str = "FANTAIL_TEST_STORE";

fn new_document(id: String) -> NewDocument {
    let slot = |branch: &str, state| NewSlot {
        branch: branch.to_owned(),
        state,
        key: format!("{id}.{branch}"),
        body: Bytes::from(id.clone()),
    };
    NewDocument {
        plan: "enrich".to_owned(),
        request: Bytes::from(vec![b'x'; 10_000]),
        result: Bytes::new(),
        expires_at: NOW.saturating_add(Time::from_secs(3_600)),
        max_tries: 2,
        max_bytes: 1 << 20,
        slots: vec![slot("type", SlotState::Answered), slot("summary", SlotState::Queued)],
        id,
    }
}

/// Not a test of its own: what the child processes of the tests do, until they are killed. Eight writers at a time, so
/// that commits are shared; every fourth document is also claimed.
#[tokio::test]
#[ignore = "the body of a child process"]
async fn child() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let store = SqliteStore::open(Path::new(&path)).unwrap();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for i in 0_u32..100_000 {
                    let id = format!("{writer}-{i}");
                    store.enqueue(NOW, new_document(id.clone())).await.unwrap();
                    println!("stored {id}");
                    if i % 4 == 0 {
                        let claim = store.claim(NOW, LEASE, 1).await.unwrap().remove(0);
                        println!("claimed {}", claim.document);
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

/// Starts the child, reads what it confirmed until `enough` lines are there, kills it, and reads the rest.
fn run_and_kill(path: &Path, enough: usize) -> Vec<String> {
    let mut child: Child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut confirmed: Vec<String> = lines.by_ref().take(enough).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    confirmed.extend(lines);
    confirmed
}

#[tokio::test]
async fn what_was_confirmed_is_there_after_a_kill_and_is_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backfill.sqlite");
    // A kill may cut the last line short.
    let lines = run_and_kill(&path, 300);
    let of = |word: &str| -> Vec<String> {
        lines.iter().filter_map(|line| line.strip_prefix(word)).map(|id| id.trim().to_owned()).collect()
    };
    let (stored, claimed) = (of("stored "), of("claimed "));
    assert!(stored.len() >= 200 && claimed.len() >= 40, "{} and {}", stored.len(), claimed.len());

    let connection = rusqlite::Connection::open(&path).unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let torn: i64 = connection
        .query_row(
            "SELECT count(*) FROM document WHERE 2 != (SELECT count(*) FROM slot WHERE document = document.number)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(torn, 0, "a document is stored with all its branches or not at all");
    drop(connection);

    let store = SqliteStore::open(&path).unwrap();
    for id in &stored[..stored.len() - 1] {
        let document = store.document(NOW, id).await.unwrap().unwrap_or_else(|| panic!("{id} was confirmed"));
        assert_eq!(document.slots[0].body, id.as_bytes());
    }
    // What the killed process had claimed is taken up at once, as a further try.
    let counts = store.counts().await.unwrap();
    assert!(counts.leased >= claimed.len() as u64 - 1);
    let taken_up = store.claim(NOW, LEASE, usize::MAX).await.unwrap();
    assert_eq!(taken_up.len() as u64, counts.leased + counts.queued);
    assert_eq!(taken_up.iter().filter(|claim| claim.number == 2).count() as u64, counts.leased);
}
