//! Jobs whose course is plain from their draws, so that no machine has to play them.
//!
//! Where jobs don't interact, all branches start at once and attempts end in answers only, a branch is settled by its first
//! answer or its deadline, the job by the barrier, and copies start where both are open. A job of which this needs an order
//! within one instant (a call that takes no time), or which never ends, is left to the machine. What comes of the others is
//! to the bit what the machine says: it stands beside, and decides.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use fantail_core::job::Refusal;
use fantail_core::{Branch, Time};

use super::Simulation;
use super::luck::{Firsts, Luck};
use super::summary::{COMPLETE, FAILED, PARTIAL, Summary};
use super::world::World;
use crate::draws::Subject;

const NEVER: u64 = u64::MAX;

/// Plays jobs from their draws.
pub(super) struct Direct {
    luck: Arc<Luck>,
    firsts: Firsts,
    /// What it plays.
    jobs: Range<u64>,
    members: Vec<Member>,
    k: usize,
    /// More branches than this may not be lost.
    spare: usize,
    /// A job whose branches have all answered by then has waited for all of them, and met no deadline.
    whole_by: u64,
    /// One whose first attempts have, has sent no copy either.
    undisturbed_by: u64,
    backfill: bool,
    job: Course,
    /// Jobs that were played, and those of them in which all branches answered.
    played: u64,
    whole: u64,
    /// Branches won by a copy.
    beaten: u64,
}

/// A branch; times in nanoseconds.
struct Member {
    deadline: u64,
    /// When a copy may start at the latest.
    last_start: u64,
    delays: Vec<u64>,
    required: bool,
    repeatable: bool,
}

/// One job.
#[derive(Default)]
struct Course {
    /// When each branch answers, as far as it is let.
    answers: Vec<u64>,
    /// In the order of branches.
    copies: Vec<Copy>,
    /// When each branch settles, and how many do without an answer.
    settled: Vec<u64>,
    missing: u64,
    /// Of those, the ones that may be sent again.
    gaps: u64,
    /// Times, to find the one of some rank.
    ranked: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Complete,
    Partial,
    Failed,
}

/// A copy that is sent if its job is open then.
struct Copy {
    branch: u32,
    starts: u64,
    answers: u64,
    /// Whether that is before the attempts of its branch that started before it.
    leads: bool,
    /// Whether it was of no use any more when it was due.
    late: bool,
}

impl Direct {
    /// `None` where the machine has to play.
    pub(super) fn new(simulation: &Simulation, jobs: Range<u64>) -> Option<Direct> {
        let plan = &simulation.plan;
        if simulation.serves.iter().any(Option::is_some) || !simulation.is_plain() {
            return None;
        }
        let nanos = |time: Option<Time>| time.unwrap_or(Time::MAX).as_nanos();
        let member = |branch: &Branch| Member {
            deadline: nanos(branch.deadline),
            last_start: nanos(branch.last_useful_start()),
            delays: branch.delays().iter().map(|delay| delay.as_nanos()).collect(),
            required: branch.required,
            repeatable: branch.repeatable,
        };
        let members: Vec<Member> = plan.branches().iter().map(member).collect();
        let first_deadline = members.iter().map(|member| member.deadline).fold(NEVER - 1, u64::min);
        let first_copy = members.iter().filter_map(|member| member.delays.first().copied()).min();
        let whole_by = if plan.k() == plan.n() { first_deadline } else { 0 };
        Some(Direct {
            luck: Arc::clone(&simulation.luck),
            firsts: Firsts::new(Arc::clone(&simulation.luck), jobs.end.saturating_sub(jobs.start)),
            k: plan.k() as usize,
            spare: (plan.n() - plan.at_least()) as usize,
            whole_by,
            undisturbed_by: first_copy.map_or(whole_by, |copy| copy.min(whole_by)),
            backfill: plan.backfill(),
            jobs,
            members,
            job: Course::default(),
            played: 0,
            whole: 0,
            beaten: 0,
        })
    }

    /// Plays the jobs, those that need it in this world; how many did not.
    pub(super) fn run(mut self, world: &mut World) -> u64 {
        for number in self.jobs.clone() {
            match (self.play(number, &mut world.summary), &mut world.record) {
                (Some(time), Some(record)) => record.took(number, time),
                (Some(_), None) => {}
                (None, _) => world.play_alone(number),
            }
        }
        self.close(&mut world.summary);
        self.played
    }

    /// Plays a job, unless the machine has to; how long it takes.
    fn play(&mut self, number: u64, summary: &mut Summary) -> Option<Time> {
        let (mut first, mut last, mut busy) = (NEVER, 0, 0_u64);
        for answer in self.firsts.of(number) {
            (first, last) = (first.min(answer), last.max(answer));
            busy = busy.saturating_add(answer);
        }
        if first == 0 {
            return None;
        }
        if last > self.undisturbed_by {
            return self.play_closely(number, summary);
        }
        self.whole += 1;
        self.count(COMPLETE, last, (busy, 0), summary);
        summary.prices.pay(|_| 1);
        Some(Time::from_nanos(last))
    }

    /// Plays a job of which copies, deadlines or the barrier decide the course.
    fn play_closely(&mut self, number: u64, summary: &mut Summary) -> Option<Time> {
        self.job.answers.clear();
        self.job.answers.extend(self.firsts.of(number));
        self.job.copies.clear();
        if !self.send_copies(number) {
            return None;
        }
        let last = self.job.answers.iter().copied().fold(0, u64::max);
        if last <= self.whole_by {
            self.whole += 1;
            let Course { answers, settled, missing, .. } = &mut self.job;
            mem::swap(answers, settled);
            *missing = 0;
            let busy = settled.iter().copied().fold(0, u64::saturating_add);
            self.record(Ending::Complete, last, busy, summary);
            return Some(Time::from_nanos(last));
        }
        let (ending, end) = self.end();
        if end == NEVER {
            return None;
        }
        let busy = self.settle(ending, end, summary);
        self.record(ending, end, busy, summary);
        Some(Time::from_nanos(end))
    }

    /// Sends the copies that are due while their branch is open; `false` when one of them takes no time.
    fn send_copies(&mut self, number: u64) -> bool {
        let Course { answers, copies, .. } = &mut self.job;
        for ((member, answer), branch) in self.members.iter().zip(answers).zip(0..) {
            for (delay, attempt) in member.delays.iter().zip(1..) {
                if *delay >= member.deadline.min(*answer) {
                    break;
                }
                let late = *delay > member.last_start;
                let subject = Subject { branch, attempt, ..Subject::job(number) };
                let latency = if late { NEVER } else { self.luck.latency(subject).as_nanos() };
                let answers = delay.saturating_add(latency);
                copies.push(Copy { branch, starts: *delay, answers, leads: answers < *answer, late });
                if latency == 0 {
                    return false;
                }
                *answer = answers.min(*answer);
                if late {
                    break;
                }
            }
        }
        true
    }

    /// How the job ends, and when.
    fn end(&mut self) -> (Ending, u64) {
        let Course { answers, ranked, .. } = &mut self.job;
        let members = || self.members.iter().zip(answers.iter());
        let (mut required, mut all, mut lost, mut failed) = (0, 0, 0, NEVER);
        for (member, answer) in members() {
            let missed = *answer > member.deadline;
            let settles = member.deadline.min(*answer);
            all = settles.max(all);
            lost += usize::from(missed);
            if member.required {
                required = required.max(if missed { NEVER } else { settles });
                failed = failed.min(if missed { settles } else { NEVER });
            }
        }
        let mut nth = |place: usize, missed: bool| {
            let of_kind = members().filter(|(member, answer)| (**answer > member.deadline) == missed);
            ranked.clear();
            ranked.extend(of_kind.map(|(member, answer)| member.deadline.min(*answer)));
            *ranked.select_nth_unstable(place).1
        };
        let complete = if members().len() - lost < self.k || required == NEVER {
            NEVER
        } else if self.k == members().len() {
            all
        } else {
            nth(self.k - 1, false).max(required)
        };
        if lost > self.spare {
            failed = nth(self.spare, true).min(failed);
        }
        if complete <= failed.min(all) {
            (Ending::Complete, complete)
        } else if failed <= all {
            (Ending::Failed, failed)
        } else {
            (Ending::Partial, all)
        }
    }

    /// Counts a job whose first attempts took so long in all, and its copies.
    fn count(&mut self, list: usize, end: u64, (busy, copies): (u64, u64), summary: &mut Summary) {
        self.played += 1;
        add_time(&mut summary.ledger.primaries.busy, busy);
        summary.returned_after(list, Time::from_nanos(end), busy.saturating_add(copies));
    }

    /// Counts a job whose branches are settled.
    fn record(&mut self, ending: Ending, end: u64, busy: u64, summary: &mut Summary) {
        let copies = if self.job.copies.is_empty() { 0 } else { self.count_copies(end, summary) };
        let (list, fills_in) = match ending {
            Ending::Complete => (COMPLETE, false),
            Ending::Partial => (PARTIAL, self.backfill),
            Ending::Failed => (FAILED, false),
        };
        self.count(list, end, (busy, copies), summary);
        if fills_in {
            summary.backfills.raise(self.job.gaps);
        }
        if summary.prices.costs.is_some() {
            let sent =
                |branch| self.job.copies.iter().filter(|copy| copy.branch == branch && !copy.late).count();
            summary.prices.pay(|branch| 1 + sent(branch) as u32);
        }
        summary.ran(self.peak());
    }

    /// Gives each branch its outcome; how long first attempts took in all.
    fn settle(&mut self, ending: Ending, end: u64, summary: &mut Summary) -> u64 {
        let Course { answers, settled, missing, gaps, .. } = &mut self.job;
        let mut busy = 0_u64;
        (*missing, *gaps) = (0, 0);
        settled.clear();
        for ((member, answer), counts) in self.members.iter().zip(&*answers).zip(&mut summary.outcomes) {
            let settles = member.deadline.min(*answer).min(end);
            let cut = end > member.deadline || end == member.deadline && ending != Ending::Complete;
            let outcome = match ending {
                _ if settles == *answer => &mut counts.answered,
                _ if cut => &mut counts.missed,
                Ending::Failed => &mut counts.cancelled,
                Ending::Complete | Ending::Partial => &mut counts.unneeded,
            };
            *outcome += 1;
            *missing += u64::from(settles != *answer);
            *gaps += u64::from(settles != *answer && member.repeatable);
            busy = busy.saturating_add(settles);
            settled.push(settles);
        }
        summary.ledger.primaries.won += settled.len() as u64 - *missing;
        summary.ledger.primaries.censored += *missing;
        busy
    }

    /// Counts the copies that were sent by the end of the job; how long they ran in all.
    fn count_copies(&mut self, end: u64, summary: &mut Summary) -> u64 {
        let Course { answers, copies, settled, missing, .. } = &mut self.job;
        copies.retain(|copy| copy.starts < end);
        let (mut busy, mut sent) = (0_u64, 0);
        let ledger = &mut summary.ledger;
        for copy in copies {
            if copy.late {
                ledger.set_refused(Refusal::NoTimeLeft, ledger.refused(Refusal::NoTimeLeft) + 1);
                continue;
            }
            let branch = copy.branch as usize;
            let answered = *missing == 0 || settled[branch] == answers[branch];
            let won = copy.leads && copy.answers == settled[branch];
            ledger.copies.launched += 1;
            ledger.copies.won += u64::from(won);
            ledger.copies.lost += u64::from(answered && !won);
            ledger.copies.censored += u64::from(!answered);
            self.beaten += u64::from(won);
            busy = busy.saturating_add(settled[branch] - copy.starts);
            summary.prices.launched[branch] += 1;
            sent += 1;
        }
        if sent > 0 {
            add_time(&mut ledger.copies.busy, busy);
            summary.extra.raise(sent);
            summary.with_copies += 1;
        }
        busy
    }

    /// Adds up what all jobs have in common that were played.
    fn close(&self, summary: &mut Summary) {
        summary.alike(self.played, self.whole);
        if self.played > 0 {
            summary.ran(self.members.len() as u64);
        }
        summary.ledger.primaries.won -= self.beaten;
        summary.ledger.primaries.lost += self.beaten;
    }

    /// The most attempts that ran at once.
    fn peak(&self) -> u64 {
        let Course { copies, settled, .. } = &self.job;
        let all = settled.len();
        let Some(first) = copies.iter().map(|copy| copy.starts).min() else { return all as u64 };
        let closed = settled.iter().filter(|end| **end <= first).count();
        if copies.len() <= closed {
            return all as u64;
        }
        let mut starts: Vec<u64> = copies.iter().map(|copy| copy.starts).collect();
        starts.sort_unstable();
        starts.dedup();
        let running = |at: u64| {
            let open = |branch: usize| settled[branch] > at;
            let runs = |copy: &&Copy| !copy.late && copy.starts <= at && open(copy.branch as usize);
            (0..all).filter(|branch| open(*branch)).count() + copies.iter().filter(runs).count()
        };
        starts.into_iter().map(running).fold(all, usize::max) as u64
    }
}

fn add_time(to: &mut Time, nanos: u64) {
    *to = to.saturating_add(Time::from_nanos(nanos));
}

#[cfg(test)]
pub(super) mod tests {
    use alloc::format;

    use fantail_core::{BranchSpec, Hedge, Plan, PlanSpec, WaitFor};

    use super::*;
    use crate::sim::{Credit, Scenario};
    use crate::{Dependence, Law};

    /// Numbers for plans, from 0 to below `below`.
    pub(in crate::sim) struct Numbers(pub(in crate::sim) u64);

    impl Numbers {
        pub(in crate::sim) fn below(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % below
        }

        /// A time on a clock of tenths of seconds, or `None` once in `odds`.
        pub(in crate::sim) fn time(&mut self, odds: u64) -> Option<Time> {
            let tenths = Time::from_millis(100 * self.below(20));
            (self.below(odds) > 0).then_some(tenths)
        }

        fn branch(&mut self, name: usize, job: Option<Time>) -> BranchSpec {
            let deadline =
                self.time(3).filter(|time| *time > Time::ZERO && *time <= job.unwrap_or(Time::MAX));
            let mut delays: Vec<Time> = (0..self.below(4)).filter_map(|_| self.time(6)).collect();
            delays.sort_unstable();
            let most = deadline.or(job).unwrap_or(Time::LONGEST);
            let min_useful = self.time(4).unwrap_or_default().min(most);
            BranchSpec {
                deadline,
                required: (self.below(3) == 0).then(|| self.below(2) == 0),
                repeatable: !delays.is_empty() || self.below(2) == 0,
                hedge: (!delays.is_empty()).then_some(Hedge { delays, min_useful, distinct: false }),
                cost: (self.below(2) == 0).then(|| self.below(7) as f64 / 3.0),
                ..BranchSpec::new(format!("b{name}"))
            }
        }

        fn plan(&mut self) -> Option<Plan> {
            let n = 1 + self.below(6);
            let deadline = self.time(2).filter(|time| *time > Time::ZERO);
            let branches = (0..n as usize).map(|name| self.branch(name, deadline)).collect();
            let wait_for =
                if self.below(2) == 0 { WaitFor::All } else { WaitFor::First(1 + self.below(n) as u32) };
            let at_least = (self.below(2) == 0).then(|| self.below(n) as u32);
            let backfill = self.below(2) == 0;
            Plan::new(PlanSpec { deadline, wait_for, at_least, backfill, ..PlanSpec::new("p", branches) })
                .ok()
        }

        /// Continuous, or on the clock of the plan's times, zero and never among them.
        pub(in crate::sim) fn law(&mut self) -> Law {
            let tenths: Vec<f64> = (0..4).map(|_| self.below(20) as f64 / 10.0).collect();
            let law = match self.below(5) {
                0 => Law::exponential(0.7),
                1 => Law::mixture(&[
                    (0.8, Law::weibull(3.0, 0.4).expect("a law")),
                    (0.2, Law::pareto(1.0, 2.0).expect("a law")),
                ]),
                2 => Law::empirical(&tenths, &[]),
                3 => Law::empirical(&tenths, &[3.0]),
                _ => Law::log_normal(0.6, 0.8),
            };
            law.expect("a law")
        }
    }

    #[test]
    fn what_comes_of_draws_is_to_the_bit_what_the_machine_makes_of_them() {
        let mut numbers = Numbers(2_026);
        let (mut played, mut all, mut plans) = (0, 0, 0);
        while plans < 400 {
            let Some(plan) = numbers.plan() else { continue };
            plans += 1;
            let laws = (0..plan.n()).map(|_| numbers.law()).collect();
            let dependence = match numbers.below(4) {
                0 => Dependence::new(0.3, 0.2).expect("shares"),
                1 => Dependence::new(0.0, 1.0).expect("shares"),
                _ => Dependence::NONE,
            };
            let size = (numbers.below(4) == 0).then(|| Law::log_normal(1.0, 0.5).expect("a law"));
            let scenario = Scenario { credit: Credit::Unlimited, dependence, size, ..Scenario::default() };
            let simulation = Simulation::new(Arc::new(plan), laws, scenario, plans).expect("in range");
            let jobs = if numbers.below(4) == 0 { 5..8 } else { 5..205 };
            let direct = Direct::new(&simulation, jobs.clone()).expect("a plan of which draws say all");
            let (mut drawn, mut machine) = (World::new(simulation.clone()), World::new(simulation.clone()));
            all += jobs.end - jobs.start;
            played += direct.run(&mut drawn);
            jobs.for_each(|number| machine.play_alone(number));
            let [drawn, machine] = [drawn, machine].map(World::finished);
            assert_eq!(drawn, machine, "{:#?}", simulation.plan);
        }
        assert!(played > all / 2, "of {all} jobs {played} needed no machine");
    }
}
