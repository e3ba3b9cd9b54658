//! What tells one state of a job from another.

use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

use fantail_core::Time;
use fantail_core::job::Job;

/// Fields that no later step reads: the plan, counts of what is over, and stamps that only reports show.
const UNREAD: [&str; 7] = ["plan", "ledger", "first_permit", "settled_at", "since", "winner", "finished_at"];

/// Two states of jobs of one plan with the same digest go the same ways from here on.
///
/// It reads the job's `Debug` form, with instants as their distance from `now`, so that when a job started is a part
/// of it only where a deadline counts from there.
pub(crate) fn digest(job: &Job, now: Time) -> u64 {
    let has_deadline = job.plan().branches().iter().any(|branch| branch.deadline.is_some());
    let hasher = DefaultHasher::new();
    let mut canon = Canon { now, has_deadline, depth: 0, unread: None, instant: Instant::No, hasher };
    write!(canon, "{job:?}").expect("a digest takes all");
    canon.hasher.finish()
}

struct Canon {
    now: Time,
    has_deadline: bool,
    /// How many brackets are open.
    depth: u32,
    /// The depth of the field that is being left out.
    unread: Option<u32>,
    instant: Instant,
    hasher: DefaultHasher,
}

/// How far a `Time(…)` was read.
enum Instant {
    No,
    Name,
    Bracket,
}

impl Write for Canon {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.unread == Some(self.depth) && matches!(piece, ", " | " }") {
            self.unread = None;
        }
        match piece {
            "(" | "[" | " { " => self.depth += 1,
            ")" | "]" | " }" => self.depth -= 1,
            _ => {}
        }
        if self.unread.is_some() {
            return Ok(());
        }
        if UNREAD.contains(&piece) || piece == "started_at" && !self.has_deadline {
            self.unread = Some(self.depth);
            return Ok(());
        }
        let (number, instant) = match (piece, &self.instant) {
            ("Time", _) => (None, Instant::Name),
            ("(", Instant::Name) => (None, Instant::Bracket),
            (number, Instant::Bracket) => (number.parse::<u64>().ok(), Instant::No),
            _ => (None, Instant::No),
        };
        self.instant = instant;
        match number {
            Some(at) => self.now.as_nanos().wrapping_sub(at).hash(&mut self.hasher),
            None => piece.hash(&mut self.hasher),
        }
        Ok(())
    }
}
