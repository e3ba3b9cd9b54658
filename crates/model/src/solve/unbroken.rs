//! The job while nothing is lost: before the first instant at which a branch gives up.
//!
//! Until then it ends only by being complete: when every needed branch has answered, and of the others at most `spare` have
//! not.

use alloc::vec::Vec;

use super::counts::{Like, Tally};
use super::job_law::JobLaw;
use super::member::Member;
use crate::Law;
use crate::special::complement;

/// The branches at one time.
pub(super) struct Unbroken<'a> {
    members: &'a [Member],
    /// By member: hazard of one branch, its rate, and the hazard of the opposite.
    now: Vec<(f64, f64, f64)>,
    /// `-ln P(every needed branch has answered)`.
    needed: f64,
    /// The branches of which some may be missing; empty when all are needed, or all these may be missing.
    rest: Tally,
    /// Whether all branches are needed.
    all: bool,
    spare: u64,
}

impl<'a> Unbroken<'a> {
    /// `spare` is how many branches may be missing, `at` a law's hazard and rate.
    fn new(members: &'a [Member], spare: u64, at: impl Fn(&Law) -> (f64, f64)) -> Unbroken<'a> {
        let each = members.iter().map(|member| at(&member.law));
        let now: Vec<_> = each.map(|(hazard, rate)| (hazard, rate, complement(hazard))).collect();
        let all = spare == 0;
        let each = || members.iter().zip(&now);
        let needed = each()
            .filter(|(member, _)| all || member.required)
            .map(|(member, (.., opposite))| member.count as f64 * opposite);
        let optional: u64 = members.iter().filter(|member| !member.required).map(|member| member.count).sum();
        let rest = each()
            .filter(|(member, _)| !all && !member.required && spare < optional)
            .map(|(member, &(hazard, _, opposite))| Like { count: member.count, hazard, opposite });
        let (needed, rest) = (needed.sum(), Tally::of(rest));
        Unbroken { members, now, needed, rest, all, spare }
    }

    /// `-ln P(the job waits)`.
    pub(super) fn hazard(&self) -> f64 {
        if self.rest.is_empty() {
            return complement(self.needed);
        }
        let (within, beyond) = self.rest.split(self.spare + 1);
        let answered = libm::exp(-self.needed);
        let waits = -libm::expm1(-self.needed) + answered * beyond;
        if waits < 0.5 { -libm::log(waits) } else { -libm::log1p(-answered * within) }
    }

    /// The density per second of the job's end; needs rates, as [`Unbroken::hazard_and_rate`] does.
    pub(super) fn density(&self) -> f64 {
        let answered = libm::exp(-self.needed);
        // f / F of the needed branches.
        let needed = self.sum(
            |member| self.all || member.required,
            |&(hazard, rate, opposite)| rate * libm::exp(opposite - hazard),
        );
        if self.rest.is_empty() {
            return answered * needed;
        }
        let densities = self.weights(|_, hazard, rate| rate * libm::exp(-hazard));
        let last = self.rest.exactly_without_one(self.spare, densities);
        answered * (needed * self.rest.fewer_than(self.spare + 1) + last)
    }

    /// [`Unbroken::hazard`] and its rate.
    pub(super) fn hazard_and_rate(&self) -> (f64, f64) {
        let hazard = self.hazard();
        (hazard, self.density() * libm::exp(hazard))
    }

    /// How many attempts run at `t`, on average over all jobs.
    pub(super) fn running(&self, t: f64) -> f64 {
        let open = |member: &Member, hazard: f64| {
            let survival = libm::exp(-hazard);
            if survival == 0.0 { 0.0 } else { member.running(t) * survival }
        };
        let total = |of: &dyn Fn(&Member) -> bool| -> f64 {
            let each = self.members.iter().zip(&self.now).filter(|(member, _)| of(member));
            each.map(|(member, (hazard, ..))| member.count as f64 * open(member, *hazard)).sum()
        };
        // While a needed branch is open the job is; for the others it is when a needed one is, or too many of them are.
        let needed = total(&|member| self.all || member.required);
        let others = if self.all { 0.0 } else { total(&|member| !member.required) };
        let (missing, answered) = (-libm::expm1(-self.needed), libm::exp(-self.needed));
        let short = if self.rest.is_empty() {
            0.0
        } else {
            self.rest.at_least_without_one(self.spare, self.weights(|member, hazard, _| open(member, hazard)))
        };
        needed + missing * others + answered * short
    }

    /// A weight for one branch of each group of the rest.
    fn weights(&self, of: impl Fn(&Member, f64, f64) -> f64) -> impl Iterator<Item = f64> {
        let rest = self.members.iter().zip(&self.now).filter(|(member, _)| !member.required);
        rest.map(move |(member, (hazard, rate, _))| of(member, *hazard, *rate))
    }

    fn sum(&self, of: impl Fn(&Member) -> bool, term: impl Fn(&(f64, f64, f64)) -> f64) -> f64 {
        let each = self.members.iter().zip(&self.now).filter(|(member, now)| of(member) && now.1 > 0.0);
        each.map(|(member, now)| member.count as f64 * term(now)).sum()
    }
}

impl JobLaw {
    /// When the first branch gives up; infinite when none does.
    pub(super) fn first_instant(&self) -> f64 {
        self.instants.first().copied().unwrap_or(f64::INFINITY)
    }

    /// Without rates, which some laws take long for.
    pub(super) fn unbroken(&self, t: f64) -> Unbroken<'_> {
        Unbroken::new(&self.members, self.spare, |law| (law.hazard(t), 0.0))
    }

    pub(super) fn unbroken_with_rates(&self, t: f64) -> Unbroken<'_> {
        Unbroken::new(&self.members, self.spare, |law| law.hazard_and_rate(t))
    }
}
