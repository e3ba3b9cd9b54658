//! Jobs that meet in the queues of servers only, so that no machine has to play them.
//!
//! Where jobs arrive whatever becomes of others, start all their calls at once and wait for each of them, and no call is turned
//! away, fails or is dropped, a call is served in its turn: its end is known when it comes, and with it that of its job. Should
//! one of them never end, all of the run is left to the machine. What comes of others is to the bit what the machine says.

use alloc::collections::BinaryHeap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

use fantail_core::{Branch, Time};

use super::arriving::Arriving;
use super::luck::Firsts;
use super::servers::Servers;
use super::summary::{COMPLETE, Summary};
use super::{Server, Simulation};
use crate::draws::Subject;

/// Plays jobs in the order of their arrival.
pub(super) struct Queued {
    simulation: Simulation,
    firsts: Firsts,
    servers: Servers,
    /// Calls that are there, by their ends.
    calls: BinaryHeap<Reverse<(Time, Place)>>,
    /// The most calls that were there at once.
    most: usize,
    summary: Summary,
}

/// The server of a call and its replica, if it has one.
type Place = Option<(u32, u32)>;

/// What becomes of one job.
#[derive(Default)]
struct Course {
    /// When it has all its answers.
    ends: Time,
    /// How long its calls took to answer, and how long they were worked on.
    took: Time,
    busy: Time,
}

impl Queued {
    /// `None` where the machine has to play.
    pub(super) fn new(simulation: &Simulation) -> Option<Queued> {
        let Simulation { plan, scenario, luck, .. } = simulation;
        let waits_only = |branch: &Branch| branch.delays().is_empty() && branch.deadline.is_none();
        let serves_all = |server: &Server| {
            let fails = server.failures.retryable + server.failures.permanent > 0.0;
            !fails && server.limit.is_none() && server.prefill == Time::ZERO
        };
        let all = plan.k() == plan.n() && plan.branches().iter().all(waits_only);
        let open = scenario.arrivals.clients().is_none() && scenario.servers.iter().all(serves_all);
        (simulation.is_plain() && all && open).then(|| Queued {
            firsts: Firsts::new(Arc::clone(luck), u64::MAX),
            servers: Servers::new(Arc::clone(scenario)),
            calls: BinaryHeap::new(),
            most: 0,
            summary: Summary::new(simulation),
            simulation: simulation.clone(),
        })
    }

    /// What comes of these jobs; `None` where the machine has to play.
    pub(super) fn run(mut self, jobs: Range<u64>) -> Option<Summary> {
        let mut arriving = Arriving::new(self.simulation.clone(), jobs);
        let (mut last_end, mut all_over, mut before) = (Time::ZERO, false, 0);
        while let Some(arrival) = arriving.next(all_over) {
            let now = arriving.at(arrival.number).filter(|at| *at < Time::MAX)?;
            arriving.starts(now);
            self.answer(now);
            if arrival.first {
                self.servers.measure(now);
                self.most = 0;
                before = self.calls.len();
            }
            if arrival.last && self.simulation.is_even() {
                self.summary.grew(before as u64, self.calls.len() as u64);
            }
            let Course { ends, took, busy } = self.play(arrival.number, now)?;
            self.most = self.most.max(self.calls.len());
            if arrival.counts {
                last_end = last_end.max(ends);
                let in_all = &mut self.summary.ledger.primaries.busy;
                *in_all = in_all.saturating_add(took);
                self.summary.returned_after(COMPLETE, ends.saturating_sub(now), busy.as_nanos());
                self.summary.prices.pay(|_| 1);
            }
            all_over = !arrival.counts && last_end <= now;
            if arrival.last {
                self.summary.measure(&self.servers.measured(now));
            }
        }
        let played = arriving.counted();
        self.summary.alike(played, played);
        self.summary.ran(self.most as u64);
        Some(self.summary)
    }

    /// Calls end that do so by now.
    fn answer(&mut self, now: Time) {
        while let Some(Reverse((at, place))) = self.calls.peek().copied()
            && at <= now
        {
            self.calls.pop();
            if let Some((server, replica)) = place {
                self.servers.unqueue(server, replica, at);
            }
        }
    }

    /// Makes the calls of a job.
    fn play(&mut self, job: u64, now: Time) -> Option<Course> {
        let mut course = Course::default();
        for (work, branch) in self.firsts.of(job).zip(0..) {
            let work = Time::from_nanos(work);
            let (place, begins, ends) = if let Some(server) = self.simulation.serves[branch as usize] {
                self.servers.admit(server, now).ok()?;
                let subject = Subject { branch, ..Subject::job(job) };
                let random = |below| self.simulation.luck.replica(below, subject);
                let replica = self.servers.choose(server, &mut Vec::new(), random);
                let (begins, ends) = self.servers.queue(server, replica, work, now);
                (Some((server, replica)), begins, ends)
            } else {
                (None, now, now.saturating_add(work))
            };
            if ends == Time::MAX {
                return None;
            }
            self.calls.push(Reverse((ends, place)));
            course.ends = course.ends.max(ends);
            course.took = course.took.saturating_add(ends.saturating_sub(now));
            course.busy = course.busy.saturating_add(ends.saturating_sub(begins));
        }
        Some(course)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use fantail_core::{BranchSpec, Plan, PlanSpec};

    use super::*;
    use crate::sim::direct::tests::Numbers;
    use crate::sim::world::World;
    use crate::sim::{Arrivals, Choice, Scenario, Slow};
    use crate::{Dependence, Law};

    impl Numbers {
        fn branches(&mut self) -> Vec<BranchSpec> {
            let branch = |name: u64, cost: u64| {
                let required = (name < 2).then_some(name == 0);
                let cost = (cost < 4).then_some(cost as f64 / 3.0);
                BranchSpec { required, cost, ..BranchSpec::new(format!("b{name}")) }
            };
            (0..=self.below(4)).map(|name| branch(name, self.below(8))).collect()
        }

        /// Continuous, or on the clock of all other times; zero among them, and now and then never.
        fn work(&mut self) -> Law {
            let least = self.below(2);
            let tenths: Vec<f64> = (0..4).map(|_| (least + self.below(12)) as f64 / 10.0).collect();
            match self.below(24) {
                0 => self.law(),
                1..12 => Law::empirical(&tenths, &[]).expect("a law"),
                12..18 => Law::exponential(0.7).expect("a law"),
                _ => Law::log_normal(0.6, 0.8).expect("a law"),
            }
        }

        fn arrivals(&mut self) -> Arrivals {
            match self.below(3) {
                0 => Arrivals::Every(Time::from_millis(100 * (1 + self.below(8)))),
                1 => Arrivals::Poisson(0.5 + self.below(30) as f64 / 10.0),
                _ => {
                    let mut at = Time::ZERO;
                    let step = |_| {
                        at = at.saturating_add(self.time(3).unwrap_or_default());
                        at
                    };
                    let times: Vec<Time> = (0..7).map(step).chain([Time::from_secs(20)]).collect();
                    Arrivals::Trace(times.into())
                }
            }
        }

        fn server(&mut self, name: u64) -> Server {
            let all = name == 0 && self.below(3) > 0;
            let served = |branch: u64| (self.below(3) == 0).then(|| format!("b{branch}"));
            let branches = if all { Vec::new() } else { (0..4).filter_map(served).collect() };
            let choice = [Choice::Random, Choice::LeastLoaded, Choice::RoundRobin][self.below(3) as usize];
            let slow = Slow {
                factor: [1.5, 4.0, f64::INFINITY][self.below(3) as usize],
                lasts: Time::from_secs(1),
                every: (self.below(3) > 0).then(|| Time::from_secs(2 + self.below(5))),
                from: self.time(2).unwrap_or_default(),
                replicas: (self.below(2) == 0).then_some(1),
            };
            Server {
                branches,
                replicas: 1 + self.below(4) as u32,
                slots: (self.below(5) > 0).then(|| 1 + self.below(3) as u32),
                choice,
                slow: (self.below(4) == 0).then_some(slow),
                ..Server::new(format!("s{name}"))
            }
        }

        fn scenario(&mut self) -> Scenario {
            Scenario {
                arrivals: self.arrivals(),
                dependence: match self.below(6) {
                    0 => Dependence::new(0.3, 0.2).expect("shares"),
                    _ => Dependence::NONE,
                },
                size: (self.below(6) == 0).then(|| Law::log_normal(1.0, 0.5).expect("a law")),
                servers: (0..=self.below(3)).map(|name| self.server(name)).collect(),
                warm_up: Some(self.below(60)),
                ..Scenario::default()
            }
        }
    }

    #[test]
    fn what_comes_of_queues_is_to_the_bit_what_the_machine_makes_of_them() {
        let mut numbers = Numbers(2_027);
        let (mut played, mut runs) = (0, 0);
        while runs < 600 {
            let plan = Plan::new(PlanSpec::new("p", numbers.branches())).expect("a plan");
            let laws = (0..plan.n()).map(|_| numbers.work()).collect();
            let simulation =
                Simulation::new(Arc::new(plan), laws, numbers.scenario(), runs).expect("in range");
            if !simulation.jobs_interact() {
                continue;
            }
            runs += 1;
            let from = [0, 25, 5_003][numbers.below(3) as usize];
            let jobs = from..from + 100;
            let queued = Queued::new(&simulation).expect("a plan whose calls are served in their turn");
            let Some(mut queued) = queued.run(jobs.clone()) else { continue };
            queued.close();
            played += 1;
            let mut machine = World::new(simulation.clone());
            machine.begin(jobs);
            while !machine.advance(u64::MAX).expect("time enough") {}
            assert_eq!(queued, machine.finished(), "{:#?}", simulation.scenario);
        }
        assert!(played > 400, "of 600 runs {played} needed no machine");
    }
}
