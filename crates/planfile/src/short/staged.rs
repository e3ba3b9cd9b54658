//! A plan in short form whose branches follow one another.

use std::slice;

use fantail_core::{Time, WaitFor};
use fantail_model::{SolveError, Stage, StagedPlan};

use super::{At, Shape, ShortForm};
use crate::law::StatedLaw;
use crate::problem::{Fault, Problems};

impl ShortForm {
    /// The plan in stages over `branches`, runs of branches of one law in their order. Each branch starts when those that
    /// it follows have answered, and its copies are due from its own start, whatever time is left. `overhead` is what a
    /// task takes before its branches: a batch, a node of a tree, or all of them in sequence.
    ///
    /// One after another, the job waits for the first K in order, and `at-least` of them make a partial result. Without a
    /// shape the branches are one task that runs them side by side.
    ///
    /// ```
    /// use fantail_model::Level;
    /// use fantail_planfile::{ShortForm, parse_law};
    ///
    /// let law = parse_law("lognormal:median=1s,sigma=0.6")?;
    /// let plan = ShortForm::parse("sequential+deadline:9s")?.staged(&[(5, law)], None)?;
    /// assert_eq!(format!("{:.2}", plan.solve().quantile(Level::MEDIAN).value), "5.73");
    /// # Ok::<(), fantail_planfile::Problems>(())
    /// ```
    ///
    /// # Errors
    /// What does not fit the number of branches or their laws, each at its column; a barrier below all where branches run
    /// side by side.
    pub fn staged(
        &self,
        branches: &[(u32, StatedLaw)],
        overhead: Option<&Stage>,
    ) -> Result<StagedPlan, Problems> {
        let mut faults = self.barrier_faults(branches);
        if let Some((_, law)) = branches.first() {
            // The deadline by itself: here copies need no time before it.
            let alone = ShortForm { deadline: self.deadline.clone(), copies: None, ..self.one_branch() };
            faults.extend(alone.checked(slice::from_ref(law)).err().into_iter().flatten());
        }
        match self.branch_stages(branches) {
            Ok(stages) if faults.is_empty() => {
                let plan = self.in_stages(&stages, overhead);
                plan.map_err(|error| self.problems(vec![self.fault_of(&error)]))
            }
            stages => {
                faults.extend(stages.err().into_iter().flatten());
                Err(self.problems(faults))
            }
        }
    }

    fn in_stages(
        &self,
        branches: &[(u64, Stage)],
        overhead: Option<&Stage>,
    ) -> Result<StagedPlan, SolveError> {
        let n = branches.iter().map(|(count, _)| count).sum();
        let sequence = |most: u64| Stage::batches(&first(branches, most), most, overhead);
        let mut least = None;
        let stage = match self.shape() {
            Some(Shape::Sequential) => {
                let k = self.waits_for(n);
                least = match self.at_least.as_ref().map_or(k, |at| at.value.into()) {
                    fewest if fewest == k => None,
                    0 => Some(Stage::fixed(0.0)?),
                    fewest => Some(sequence(fewest)?),
                };
                sequence(k)?
            }
            Some(Shape::Batch(size)) => Stage::batches(branches, size.into(), overhead)?,
            Some(Shape::Tree { leaves, .. }) => Stage::tree(branches, leaves.into(), overhead)?,
            None => Stage::tree(branches, n, overhead)?,
        };
        let deadline = self.deadline().map_or(f64::INFINITY, Time::as_secs_f64);
        Ok(StagedPlan { stage, least, deadline })
    }

    /// How many of `n` the barrier waits for.
    fn waits_for(&self, n: u64) -> u64 {
        let wait_for = self.wait_for.as_ref().map_or(WaitFor::All, |at| at.value);
        wait_for.answers(u32::try_from(n).unwrap_or(u32::MAX)).into()
    }

    /// What of the counts does not fit the branches and the shape.
    fn barrier_faults(&self, branches: &[(u32, StatedLaw)]) -> Vec<Fault> {
        let n: u64 = branches.iter().map(|(count, _)| u64::from(*count)).sum();
        let Ok(counted) = u32::try_from(n) else {
            let message = format!("got {n} branches, expected at most {}", u32::MAX);
            return vec![Fault::new(0..self.text.len(), message)];
        };
        let mut faults = self.counts(counted, self.waits_for(n) as u32);
        if let Some(At { value: Shape::Tree { nodes, leaves }, span }) = &self.shape
            && u64::from(*nodes) * u64::from(*leaves) != n
        {
            let message = format!("{nodes} nodes of {leaves} are not the {n} branches that there are");
            faults.push(Fault::new(span.clone(), message));
        }
        if self.shape() != Some(Shape::Sequential) {
            let below_all = self.wait_for.as_ref().filter(|at| at.value != WaitFor::All).map(|at| &at.span);
            let fewer = self.at_least.as_ref().map(|at| &at.span);
            let message = "only `sequential` says which branches come first; expected `all` here";
            faults.extend(below_all.into_iter().chain(fewer).map(|span| Fault::new(span.clone(), message)));
        }
        faults
    }

    /// Each run of branches as stages, with their copies.
    fn branch_stages(&self, branches: &[(u32, StatedLaw)]) -> Result<Vec<(u64, Stage)>, Vec<Fault>> {
        let alone = self.one_branch();
        let mut stages = Vec::new();
        let mut faults = Vec::new();
        for (count, stated) in branches.iter().filter(|(count, _)| *count > 0) {
            match alone.checked(slice::from_ref(stated)) {
                Ok(plan) => {
                    let delays: Vec<f64> =
                        plan.branches()[0].delays().iter().map(|at| at.as_secs_f64()).collect();
                    let law = stated.law.hedged(&delays).expect("delays of a checked plan");
                    stages.push((u64::from(*count), Stage::branch(law)));
                }
                Err(more) => faults.extend(more),
            }
        }
        if faults.is_empty() { Ok(stages) } else { Err(faults) }
    }

    /// What it says of one branch by itself.
    fn one_branch(&self) -> ShortForm {
        ShortForm { wait_for: None, at_least: None, deadline: None, shape: None, ..self.clone() }
    }

    fn fault_of(&self, error: &SolveError) -> Fault {
        let span = self.shape.as_ref().map_or(0..self.text.len(), |at| at.span.clone());
        Fault::new(span, error.to_string())
    }
}

/// The first `most` branches.
fn first(branches: &[(u64, Stage)], most: u64) -> Vec<(u64, Stage)> {
    let mut left = most;
    let taken = branches.iter().map_while(|(count, stage)| {
        let taken = (*count).min(left);
        left -= taken;
        (taken > 0).then(|| (taken, stage.clone()))
    });
    taken.collect()
}
