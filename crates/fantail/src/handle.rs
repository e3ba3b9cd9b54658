//! What stands for the answers of a job until they are there.

use std::marker::PhantomData;

use crate::Done;
use crate::calls::Branches;

/// What [`Done::take`] takes: made by the builder of the same job.
pub trait Handle {
    /// What it stands for.
    type Output;
    /// The answer of one branch.
    type Answer: 'static;

    /// Whether it stands for this branch.
    fn covers(&self, branch: u32) -> bool;

    /// Takes it out of the result.
    fn take(self, done: &mut Done) -> Self::Output;
}

/// The answer of a required branch.
#[derive(Debug)]
#[must_use]
pub struct Required<T>(pub(crate) u32, pub(crate) PhantomData<fn() -> T>);

/// The answer of an optional branch, if there is one.
#[derive(Debug)]
#[must_use]
pub struct Optional<T>(pub(crate) u32, pub(crate) PhantomData<fn() -> T>);

/// The answers of the branches that were given the same call, at their indexes in the plan; `None` where a branch has not
/// answered, or has a call of its own.
#[derive(Debug)]
#[must_use]
pub struct Each<T>(pub(crate) Branches, pub(crate) PhantomData<fn() -> T>);

/// The answers for items, in the items' order; `None` where the item's branch has not answered.
#[derive(Debug)]
#[must_use]
pub struct Items<T>(pub(crate) Branches, pub(crate) PhantomData<fn() -> T>);

/// The answers for the items of all batches, in the items' order; `None` where the item's batch has not answered.
#[derive(Debug)]
#[must_use]
pub struct Batches<T>(
    pub(crate) Branches,
    /// The size of each batch.
    pub(crate) Vec<usize>,
    pub(crate) PhantomData<fn() -> T>,
);

impl<T: 'static> Handle for Required<T> {
    type Output = T;
    type Answer = T;

    fn covers(&self, branch: u32) -> bool {
        self.0 == branch
    }

    fn take(self, done: &mut Done) -> T {
        done.answer(self.0).expect("a required branch of this job has answered")
    }
}

impl<T: 'static> Handle for Optional<T> {
    type Output = Option<T>;
    type Answer = T;

    fn covers(&self, branch: u32) -> bool {
        self.0 == branch
    }

    fn take(self, done: &mut Done) -> Option<T> {
        done.answer(self.0)
    }
}

impl<T: 'static> Handle for Each<T> {
    type Output = Vec<Option<T>>;
    type Answer = T;

    fn covers(&self, branch: u32) -> bool {
        self.0.place(branch).is_some()
    }

    fn take(self, done: &mut Done) -> Vec<Option<T>> {
        let n = done.job().plan().branches().len();
        let mut answers = take_all(&self.0, done);
        if answers.len() < n {
            // Some branches have a call of their own.
            let of = |branch| answers[self.0.place(branch)?].take();
            return (0..n as u32).map(of).collect();
        }
        answers
    }
}

impl<T: 'static> Handle for Items<T> {
    type Output = Vec<Option<T>>;
    type Answer = T;

    fn covers(&self, branch: u32) -> bool {
        self.0.place(branch).is_some()
    }

    fn take(self, done: &mut Done) -> Vec<Option<T>> {
        take_all(&self.0, done)
    }
}

impl<T: 'static> Handle for Batches<T> {
    type Output = Vec<Option<T>>;
    type Answer = Vec<T>;

    fn covers(&self, branch: u32) -> bool {
        self.0.place(branch).is_some()
    }

    fn take(self, done: &mut Done) -> Vec<Option<T>> {
        let mut items = Vec::new();
        for (answers, size) in take_all::<Vec<T>>(&self.0, done).into_iter().zip(self.1) {
            match answers {
                Some(answers) => items.extend(answers.into_iter().map(Some)),
                None => items.extend((0..size).map(|_| None)),
            }
        }
        items
    }
}

/// The answers of branches that share their call, in their order.
fn take_all<T: 'static>(branches: &Branches, done: &mut Done) -> Vec<Option<T>> {
    let answers = branches.first().and_then(|branch| done.answers_of(branch));
    let values = answers.map(|answers| std::mem::take(&mut answers.values)).unwrap_or_default();
    if values.len() == branches.len() { values } else { (0..branches.len()).map(|_| None).collect() }
}
