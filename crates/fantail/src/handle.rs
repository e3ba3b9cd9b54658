//! What stands for the answers of a job until they are there.

use std::marker::PhantomData;

use crate::Done;

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
pub struct Each<T>(pub(crate) Vec<u32>, pub(crate) PhantomData<fn() -> T>);

/// The answers for items, in the items' order; `None` where the item's branch has not answered.
#[derive(Debug)]
#[must_use]
pub struct Items<T>(pub(crate) Vec<u32>, pub(crate) PhantomData<fn() -> T>);

/// The answers for the items of all batches, in the items' order; `None` where the item's batch has not answered.
#[derive(Debug)]
#[must_use]
pub struct Batches<T>(
    /// Branch and size of each batch.
    pub(crate) Vec<(u32, usize)>,
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
        self.0.binary_search(&branch).is_ok()
    }

    fn take(self, done: &mut Done) -> Vec<Option<T>> {
        let mut answers: Vec<Option<T>> = (0..done.job().plan().n()).map(|_| None).collect();
        for branch in self.0 {
            answers[branch as usize] = done.answer(branch);
        }
        answers
    }
}

impl<T: 'static> Handle for Items<T> {
    type Output = Vec<Option<T>>;
    type Answer = T;

    fn covers(&self, branch: u32) -> bool {
        self.0.binary_search(&branch).is_ok()
    }

    fn take(self, done: &mut Done) -> Vec<Option<T>> {
        self.0.into_iter().map(|branch| done.answer(branch)).collect()
    }
}

impl<T: 'static> Handle for Batches<T> {
    type Output = Vec<Option<T>>;
    type Answer = Vec<T>;

    fn covers(&self, branch: u32) -> bool {
        self.0.binary_search_by_key(&branch, |(branch, _)| *branch).is_ok()
    }

    fn take(self, done: &mut Done) -> Vec<Option<T>> {
        let mut items = Vec::new();
        for (branch, size) in self.0 {
            match done.answer::<Vec<T>>(branch) {
                Some(answers) => items.extend(answers.into_iter().map(Some)),
                None => items.extend((0..size).map(|_| None)),
            }
        }
        items
    }
}
