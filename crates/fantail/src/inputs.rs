//! Answers for the branches that come after.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::sync::{Mutex, lock};
use crate::{Handle, JobBuilder};

/// The answers so far of some branches of a job, for the calls of branches that come after them. A cheap handle.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use fantail::{Fanout, Limiters};
/// use fantail_core::{BranchSpec, Plan, PlanSpec};
///
/// let search = BranchSpec { after: vec![0], ..BranchSpec::new("search") };
/// let plan = Plan::new(PlanSpec::new("ask", vec![BranchSpec::new("parse"), search]))?;
/// let ask = Fanout::new(plan, &Limiters::default());
///
/// let mut job = ask.job();
/// let parsed = job.required("parse", |_| async { Ok(String::from("two words")) });
/// let query = job.inputs(&parsed);
/// let hits = job.required("search", move |_| {
///     let query: String = query.one().expect("it comes after this answer");
///     async move { Ok(query.split(' ').count()) }
/// });
/// let mut done = job.join().await?;
/// assert_eq!((done.take(parsed).as_str(), done.take(hits)), ("two words", 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Inputs<T>(Arc<Mutex<BTreeMap<u32, T>>>);

impl<T> Clone for Inputs<T> {
    fn clone(&self) -> Inputs<T> {
        Inputs(Arc::clone(&self.0))
    }
}

impl<T: Clone> Inputs<T> {
    /// The answer of the first branch that has one; `None` when none has: it is missing, where the branch that asks
    /// tolerates that, or the branch that asks does not come after it.
    pub fn one(&self) -> Option<T> {
        lock(&self.0).values().next().cloned()
    }

    /// The answer of one branch, if it has one and the handle stands for it.
    pub fn of(&self, branch: u32) -> Option<T> {
        lock(&self.0).get(&branch).cloned()
    }

    /// The answers of all branches that have one, in the order of the branches.
    pub fn all(&self) -> Vec<T> {
        lock(&self.0).values().cloned().collect()
    }
}

impl JobBuilder<'_> {
    /// The answers behind a handle for branches that come after: each is cloned when it is there, and stays in the result
    /// too.
    pub fn inputs<H>(&mut self, handle: &H) -> Inputs<H::Answer>
    where
        H: Handle,
        H::Answer: Clone + Send,
    {
        let inputs = Inputs(Arc::default());
        let answers = Arc::clone(&inputs.0);
        let put = move |branch, answer: &(dyn Any + Send)| {
            if let Some(answer) = answer.downcast_ref::<H::Answer>() {
                lock(&answers).insert(branch, answer.clone());
            }
        };
        let branches = (0..self.branches()).filter(|branch| handle.covers(*branch)).collect();
        self.add_tap(Tap { branches, put: Box::new(put) });
        inputs
    }
}

type Put = Box<dyn FnMut(u32, &(dyn Any + Send)) + Send>;

/// Passes answers on as they come.
pub(crate) struct Tap {
    /// Of these branches, lowest first.
    branches: Vec<u32>,
    put: Put,
}

impl Tap {
    /// A branch has answered.
    pub(crate) fn pass(&mut self, branch: u32, answer: &(dyn Any + Send)) {
        if self.branches.binary_search(&branch).is_ok() {
            (self.put)(branch, answer);
        }
    }
}
