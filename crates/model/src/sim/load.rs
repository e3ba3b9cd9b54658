//! What is offered to what bounds a system, before it is simulated: Little's law.
//!
//! Calls that arrive at a rate λ and are served for E S on average take λ E S slots on average (Little, Operations Research
//! 9, 1961). Where that is no less than there are, waits grow without end.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Allows, Server, Simulation};

/// What first attempts alone ask of something that bounds them.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What bounds them.
    pub bound: Bound,
    /// The name of the server or the limiter.
    pub name: String,
    /// How much is asked of what there is: at 1 and above, more than it can give.
    pub offered: f64,
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
    /// What the first attempts of all branches ask of servers and limiters, copies and retries not counted. Empty where
    /// jobs arrive when others have returned: then nothing grows without end.
    pub fn loads(&self) -> Vec<Load> {
        let Some(arrivals) = self.scenario.arrivals.rate() else { return Vec::new() };
        let mut loads = Vec::new();
        for (server, index) in self.scenario.servers.iter().zip(0_u32..) {
            let served = |branch: &usize| self.serves[*branch] == Some(index);
            let branches: Vec<usize> = (0..self.serves.len()).filter(served).collect();
            let mut push = |bound, offered| loads.push(Load { bound, name: server.name.clone(), offered });
            if let Some(slots) = server.slots {
                let work: f64 = branches.iter().map(|branch| self.service(*branch, Some(server))).sum();
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
            let mut push = |bound, offered| loads.push(Load { bound, name: limiter.name.clone(), offered });
            if let Some(gate) = limiter.gate {
                let held = branches().map(|(i, branch)| {
                    let server = self.serves[i].map(|server| &self.scenario.servers[server as usize]);
                    let most = branch.attempt_timeout.map_or(f64::INFINITY, fantail_core::Time::as_secs_f64);
                    f64::from(branch.weight) * self.service(i, server).min(most)
                });
                push(Bound::Gate, arrivals * held.sum::<f64>() / f64::from(gate));
            }
            if let Some(rate) = limiter.rate {
                let weight: f64 = branches().map(|(_, branch)| f64::from(branch.weight)).sum();
                push(Bound::Rate, arrivals * weight * rate.per.as_secs_f64() / f64::from(rate.permits));
            }
        }
    }

    /// The mean time in service of a branch, which reads what it shares itself; infinite when it has none.
    fn service(&self, branch: usize, server: Option<&Server>) -> f64 {
        let mean = |law: &crate::Law| law.mean().unwrap_or(f64::INFINITY);
        let answer = mean(self.luck.law(branch));
        let size = self.scenario.size.as_ref().map_or(1.0, mean);
        let Some(server) = server else { return answer * size };
        let failing = server.failures.retryable + server.failures.permanent;
        let failure = server.failures.law.as_ref().filter(|_| failing > 0.0).map_or(answer, mean);
        let slow = server.slow.as_ref().map_or(1.0, |slow| slow.share_of_speed(server.replicas));
        let prefill = server.prefill.as_secs_f64();
        ((answer + prefill) * (1.0 - failing) + failure * failing) * size / slow
    }
}
