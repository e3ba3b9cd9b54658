//! Branches that are alike, as many as a job has items.

use fantail_core::{BranchSpec, Plan, PlanErrors, PlanSpec};

use crate::sync::Mutex;
use crate::{Fanout, JobBuilder, Limiters, lock};

/// A plan whose jobs have as many like branches as they have items.
///
/// All its jobs share limiters and budget, whatever their size.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fantail::{Limiters, Pattern};
/// use fantail_core::{BranchSpec, PlanSpec, WaitFor};
///
/// let spec = PlanSpec { wait_for: WaitFor::First(2), ..PlanSpec::new("search", vec![]) };
/// let search = Pattern::new(spec, BranchSpec::new("shard"), &Limiters::default());
///
/// let shards = ["s0", "s1", "s2"];
/// let mut job = search.job(shards.len())?;
/// let hits = job.items(shards, |_attempt, shard| async move {
///     if shard == "s1" { std::future::pending().await } else { Ok(shard.len()) }
/// });
/// assert_eq!(job.join().await?.take(hits), [Some(2), None, Some(2)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pattern {
    spec: PlanSpec,
    like: BranchSpec,
    limiters: Limiters,
    /// The latest one that was made, since most jobs are of one size.
    latest: Mutex<Option<(usize, Fanout)>>,
}

impl Pattern {
    /// `spec` with its own branches, if any, and after them as many like `like` as a job has items. These are named
    /// `name-0`, `name-1` and so on.
    pub fn new(spec: PlanSpec, like: BranchSpec, limiters: &Limiters) -> Pattern {
        Pattern { spec, like, limiters: limiters.clone(), latest: Mutex::new(None) }
    }

    /// The plan for `n` items.
    ///
    /// # Errors
    /// The plan is wrong for so many: no branch at all, or a barrier above their number.
    pub fn fanout(&self, n: usize) -> Result<Fanout, PlanErrors> {
        let mut latest = lock(&self.latest);
        if let Some((size, fanout)) = &*latest
            && *size == n
        {
            return Ok(fanout.clone());
        }
        let mut spec = self.spec.clone();
        let name = |i| format!("{}-{i}", self.like.name);
        spec.branches.extend((0..n).map(|i| BranchSpec { name: name(i), ..self.like.clone() }));
        let plan = Plan::new(spec)?;
        let fanout = match &*latest {
            Some((_, fanout)) => fanout.with_plan(plan),
            None => Fanout::new(plan, &self.limiters),
        };
        *latest = Some((n, fanout.clone()));
        Ok(fanout)
    }

    /// A job for `n` items.
    ///
    /// # Errors
    /// As [`Pattern::fanout`].
    pub fn job<'f>(&self, n: usize) -> Result<JobBuilder<'f>, PlanErrors> {
        Ok(self.fanout(n)?.job())
    }
}
