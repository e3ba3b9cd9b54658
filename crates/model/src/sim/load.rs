//! What is offered to what bounds a system, before it is simulated: Little's law.
//!
//! Calls that arrive at a rate λ and are served for E S on average take λ E S slots on average (Little, Operations Research
//! 9, 1961). Where that is no less than there are, waits grow without end.

use alloc::string::String;
use alloc::vec::Vec;

use fantail_core::Time;

use super::{Allows, Server, Simulation};
use crate::{Cancellation, Law};

/// What calls ask of something that bounds them.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What bounds them.
    pub bound: Bound,
    /// The name of the server or the limiter.
    pub name: String,
    /// How much is asked of what there is: at 1 and above, more than it can give.
    pub offered: f64,
    /// Whether they ask so much at least: no deadline, no other answer and no failure can spare any of it.
    pub sure: bool,
}

/// What bounds attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The slots of a server.
    Slots,
    /// The limit of a server, beyond which it turns calls away.
    Limit,
    /// The gate of a limiter.
    Gate,
    /// The rate of a limiter.
    Rate,
}

impl Simulation {
    /// What calls ask of servers and limiters by their laws: the first attempts of all branches, and copies that are sent with
    /// them and worked on to their end; other copies and retries are not counted. Empty where jobs arrive when others have
    /// returned: then nothing grows without end.
    pub fn loads(&self) -> Vec<Load> {
        let Some(arrivals) = self.scenario.arrivals.rate() else { return Vec::new() };
        let mut loads = Vec::new();
        for (server, index) in self.scenario.servers.iter().zip(0_u32..) {
            let served = |branch: &usize| self.serves[*branch] == Some(index);
            let branches: Vec<usize> = (0..self.serves.len()).filter(served).collect();
            let sure = !branches.iter().any(|branch| self.may_be_less(*branch, server.cancellation));
            let mut push =
                |bound, offered| loads.push(Load { bound, name: server.name.clone(), offered, sure });
            if let Some(slots) = server.slots {
                let calls = |branch| self.service(branch, Some(server)) * self.at_once(branch, server);
                let work: f64 = branches.iter().map(|branch| calls(*branch)).sum();
                // Whoever comes after the first that has read it need not.
                let prefill = if branches.is_empty() { 0.0 } else { server.prefill.as_secs_f64() };
                let work = work + prefill * self.mean_size() / server.speed();
                push(Bound::Slots, arrivals * work / (f64::from(slots) * f64::from(server.replicas)));
            }
            if let Some(limit) = &server.limit {
                let (calls, per) = match limit.allows {
                    Allows::Bucket(rate) => (rate.permits, rate.per),
                    Allows::Window { calls, per } => (calls, per),
                };
                let taken = f64::from(calls) / per.as_secs_f64();
                push(Bound::Limit, arrivals * branches.len() as f64 / taken);
            }
        }
        if self.client.is_none() {
            self.limiter_loads(arrivals, &mut loads);
        }
        loads
    }

    fn limiter_loads(&self, arrivals: f64, loads: &mut Vec<Load>) {
        for (index, limiter) in self.plan.limiters().iter().enumerate() {
            let branches =
                || self.plan.branches().iter().enumerate().filter(|(_, b)| b.limiter == Some(index));
            // A permit comes back as soon as a call is cut, whatever its server does.
            let sure = !branches().any(|(i, _)| self.may_be_less(i, Cancellation::AtOnce));
            let mut push =
                |bound, offered| loads.push(Load { bound, name: limiter.name.clone(), offered, sure });
            if let Some(gate) = limiter.gate {
                let held = branches().map(|(i, branch)| {
                    let most = branch.attempt_timeout.map_or(f64::INFINITY, Time::as_secs_f64);
                    f64::from(branch.weight) * self.mean_time(i).min(most)
                });
                push(Bound::Gate, arrivals * held.sum::<f64>() / f64::from(gate));
            }
            if let (Some(rate), Some(sustained)) = (limiter.rate, limiter.sustained()) {
                let weight: f64 = branches().map(|(_, branch)| f64::from(branch.weight)).sum();
                push(Bound::Rate, arrivals * weight * rate.per.as_secs_f64() / f64::from(sustained));
            }
        }
    }

    /// Whether calls of a branch may ask less than their laws say: they may be cut, and then no more is done for them, or never
    /// be made.
    fn may_be_less(&self, branch: usize, cancellation: Cancellation) -> bool {
        let fails = self.servers().any(Server::fails);
        if self.client.is_some() {
            return fails;
        }
        let stated = &self.plan.branches()[branch];
        let cut = stated.deadline.is_some()
            || stated.attempt_timeout.is_some()
            || !stated.delays().is_empty()
            || stated.failover
            || self.plan.k() < self.plan.n()
            || fails;
        let always_made = stated.after.is_empty() && stated.limiter.is_none();
        cut && !(always_made && cancellation == Cancellation::Never)
    }

    /// How many attempts of a branch are sent at its start, and worked on to their end.
    fn at_once(&self, branch: usize, server: &Server) -> f64 {
        if self.client.is_some() || server.cancellation != Cancellation::Never {
            return 1.0;
        }
        let delays = self.plan.branches()[branch].delays();
        1.0 + delays.iter().filter(|delay| **delay == Time::ZERO).count() as f64
    }

    /// The mean time in service of a branch, which has nothing to read first; infinite when it has none.
    fn service(&self, branch: usize, server: Option<&Server>) -> f64 {
        let answer = mean(self.luck.law(branch)) * self.mean_size();
        let Some(server) = server else { return answer };
        let failing = server.failures.retryable + server.failures.permanent;
        let failure = server.failures.law.as_ref().map_or(answer, |law| mean(law) * self.mean_size());
        // A share of zero of what has no mean is nothing.
        let part = |share: f64, time: f64| if share > 0.0 { share * time } else { 0.0 };
        (part(1.0 - failing, answer) + part(failing, failure)) / server.speed()
    }

    /// The mean time in service of a branch where it is served.
    pub(super) fn mean_time(&self, branch: usize) -> f64 {
        let server = self.serves[branch].map(|server| &self.scenario.servers[server as usize]);
        self.service(branch, server)
    }

    fn mean_size(&self) -> f64 {
        self.scenario.size.as_ref().map_or(1.0, mean)
    }
}

/// Infinite where there is none.
fn mean(law: &Law) -> f64 {
    law.mean().unwrap_or(f64::INFINITY)
}
