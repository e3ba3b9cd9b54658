//! Random plans with laws for their branches.

use fantail_core::{Branch, BranchSpec, BudgetSpec, Hedge, Plan, PlanSpec, Time, WaitFor};
use fantail_model::Law;

/// A stream of plans, the same for a seed.
pub(crate) struct Generator {
    state: u64,
    clock: Clock,
}

/// The most that a budget can pay for; the simulation pays for all.
pub(crate) const BUDGET: BudgetSpec = BudgetSpec { share: 1_000_000, burst: u32::MAX, in_flight: None };

/// How a plan's times are chosen.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    /// Any nanosecond.
    Fine,
    /// 50, 100, … 300 ms, so that much falls due at one instant.
    Coarse,
}

impl Generator {
    pub(crate) fn new(seed: u64, clock: Clock) -> Generator {
        Generator { state: seed, clock }
    }

    /// A plan of 1 to 8 branches and the law of each; some branches are alike.
    pub(crate) fn plan(&mut self) -> (Plan, Vec<Law>) {
        let n = self.below(8) + 1;
        let deadline = self.sometimes(0.7, |g| g.span(0.2, 1.5));
        let mut branches: Vec<BranchSpec> = Vec::new();
        let mut laws: Vec<Law> = Vec::new();
        for index in 0..n {
            let name = format!("b{index}");
            if index > 0 && self.chance(0.3) {
                branches.push(BranchSpec { name, ..branches[index as usize - 1].clone() });
                laws.push(laws[index as usize - 1].clone());
                continue;
            }
            let branch = self.branch(name, deadline);
            let bounded = deadline.or(branch.deadline).or(branch.attempt_timeout).is_some();
            laws.push(self.law(bounded));
            branches.push(branch);
        }
        let wait_for = match self.below(3) {
            0 => WaitFor::All,
            1 => WaitFor::First(self.below(n) + 1),
            _ => WaitFor::Share(self.below(1_000_000) + 1),
        };
        let k = wait_for.answers(n);
        let spec = PlanSpec {
            wait_for,
            at_least: self.sometimes(0.5, |g| g.below(k + 1)),
            deadline,
            hedge_budget: BUDGET,
            ..PlanSpec::new("random", branches)
        };
        (Plan::new(spec).expect("the generator keeps to the bounds of a plan"), laws)
    }

    fn branch(&mut self, name: String, job: Option<Time>) -> BranchSpec {
        let deadline = self.sometimes(0.3, |g| g.span(0.1, 1.2));
        let deadline = deadline.map(|own| own.min(job.unwrap_or(Time::MAX)));
        let until = deadline.or(job).unwrap_or(Time::MAX);
        let hedge = self.sometimes(0.5, |g| {
            let mut delays: Vec<Time> = (0..=g.below(2))
                .map(|_| if g.chance(0.3) { Time::ZERO } else { g.span(0.05, 0.8) })
                .collect();
            delays.sort_unstable();
            let min_useful = if g.chance(0.3) { g.span(0.05, 0.3) } else { Time::ZERO };
            Hedge { delays, min_useful: min_useful.min(until), distinct: false }
        });
        BranchSpec {
            required: self.sometimes(0.5, |g| g.chance(0.5)),
            deadline,
            attempt_timeout: self.sometimes(0.25, |g| g.span(0.1, 1.0)),
            repeatable: true,
            hedge,
            ..BranchSpec::new(name)
        }
    }

    /// A law with a scale of tenths of seconds; without a bound of time, one whose means of many draws are near normal.
    fn law(&mut self, bounded: bool) -> Law {
        let scale = 0.1 * (self.uniform() * 2.0).exp();
        let shape = self.uniform();
        let law = match self.below(if bounded { 8 } else { 4 }) {
            0 => Law::exponential(scale),
            1 => Law::log_normal(scale, 0.1 + 0.6 * shape),
            2 => Law::weibull(0.8 + 2.0 * shape, scale),
            3 => Law::log_normal(scale, 0.2 + 0.3 * shape).and_then(|law| law.shifted(0.5 * scale)),
            4 => Law::log_logistic(scale, 1.5 + 4.0 * shape),
            5 => Law::pareto(scale, 0.8 + 4.0 * shape),
            6 => Law::log_normal(scale, 0.2).and_then(|body| {
                Law::mixture(&[(0.8 + 0.2 * shape, body), (0.15, Law::pareto(2.0 * scale, 2.0)?)])
            }),
            // Some answers never come.
            _ => Law::log_normal(scale, 0.5).and_then(|law| law.cut(scale * (1.0 + shape))),
        };
        law.expect("within the families' ranges")
    }

    fn span(&mut self, low: f64, high: f64) -> Time {
        match self.clock {
            Clock::Fine => Time::from_secs_f64(low + (high - low) * self.uniform()).expect("a short span"),
            Clock::Coarse => Time::from_millis(50 * u64::from(self.below(6) + 1)),
        }
    }

    fn sometimes<T>(&mut self, chance: f64, make: impl FnOnce(&mut Generator) -> T) -> Option<T> {
        self.chance(chance).then(|| make(self))
    }

    fn chance(&mut self, chance: f64) -> bool {
        self.uniform() < chance
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.uniform() * f64::from(bound)) as u32
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `SplitMix64`: its own, so that plans don't depend on the draws that are tested.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The times at which something of a branch is due, if nothing comes before.
pub(crate) fn instants(branch: &Branch) -> Vec<Time> {
    let spans = branch.deadline.into_iter().chain(branch.attempt_timeout);
    spans.chain(branch.delays().iter().copied()).filter(|time| *time > Time::ZERO).collect()
}
