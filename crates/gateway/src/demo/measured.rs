//! What traffic has measured, with its sampling error.

use std::time::Duration;

use fantail_model::Level;
use fantail_model::sim::{Interval, Share};
use fantail_model::special::barrier_hazard;
use http::StatusCode;
use serde::Deserialize;
use tokio::task::JoinError;

use crate::SCHEMA;

/// How one document was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// From the instant at which it was due to the last byte of the response.
    pub latency: Duration,
    /// The status; `None` when there was no response.
    pub status: Option<StatusCode>,
    /// The verdict; `None` when the response was none of a job: shed, say, or no response at all.
    pub verdict: Option<Verdict>,
    /// What the response says of its job, when it is one.
    pub job: Option<Job>,
}

/// A job's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The barrier was met.
    Complete,
    /// Something optional is missing.
    Partial,
    /// There is no result.
    Failed,
}

/// What a response says of its job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// From its start to its verdict. The latency has the way there and back on top.
    pub elapsed: Duration,
    /// Branches of the plan.
    pub branches: u32,
    /// Branches that answered.
    pub answered: u32,
    /// Branches that the result lacks.
    pub incomplete: u32,
    /// Attempts that started.
    pub attempts: u64,
    /// The hedges among them.
    pub hedges: u64,
}

#[derive(Deserialize)]
struct Body {
    schema: String,
    job: String,
    verdict: Verdict,
    incomplete: Vec<serde::de::IgnoredAny>,
    fanout: Fanout,
}

#[derive(Deserialize)]
struct Fanout {
    branches: u32,
    answered: u32,
    attempts: u64,
    hedges: u64,
    elapsed_s: f64,
}

impl Reply {
    pub(super) fn none(latency: Duration) -> Reply {
        Reply { latency, status: None, verdict: None, job: None }
    }

    pub(super) fn read(status: StatusCode, body: &[u8], latency: Duration) -> Reply {
        let body: Option<Body> =
            serde_json::from_slice(body).ok().filter(|body: &Body| body.schema == SCHEMA);
        let verdict = body.as_ref().map(|body| body.verdict);
        let job = body.and_then(|body| {
            Some(Job {
                id: body.job,
                elapsed: Duration::try_from_secs_f64(body.fanout.elapsed_s).ok()?,
                branches: body.fanout.branches,
                answered: body.fanout.answered,
                incomplete: u32::try_from(body.incomplete.len()).ok()?,
                attempts: body.fanout.attempts,
                hedges: body.fanout.hedges,
            })
        });
        Reply { latency, status: Some(status), verdict, job }
    }
}

/// A measured value with the interval that holds the true one with the confidence that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The value.
    pub value: f64,
    /// Where the true value lies.
    pub interval: Interval,
}

/// Replies, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// All of them.
    pub replies: Vec<Reply>,
}

impl Measured {
    pub(super) fn take(&mut self, reply: Result<Reply, JoinError>, on_reply: &mut impl FnMut(&Reply)) {
        // A sender that panicked has no reply; it is not counted as one.
        if let Ok(reply) = reply {
            on_reply(&reply);
            self.replies.push(reply);
        }
    }

    /// The share of replies with a verdict; 0 to 1. Not a number without replies.
    pub fn share(&self, verdict: Verdict, confidence: Level) -> Band {
        let count = self.replies.iter().filter(|reply| reply.verdict == Some(verdict)).count() as u64;
        let share = Share::new(count, self.replies.len() as u64);
        Band { value: share.value(), interval: share.interval(confidence) }
    }

    /// How many replies are none of a job: requests that were shed or got no response.
    pub fn without_verdict(&self) -> usize {
        self.replies.iter().filter(|reply| reply.verdict.is_none()).count()
    }

    /// The latency at a level, in seconds, over all replies of jobs, whatever the verdict. `None` without any.
    ///
    /// The interval lies between two of the latencies, whose ranks are exact by the binomial law, whatever the law of
    /// the latencies; its upper end is infinite when there are too few to say.
    pub fn latency(&self, level: Level, confidence: Level) -> Option<Band> {
        self.quantile(level, confidence, |reply| Some(reply.latency))
    }

    /// What the way to the gateway and back, and the gateway itself, add to the job's own time: latency less elapsed
    /// time, at a level, in seconds. `None` without replies of jobs.
    pub fn overhead(&self, level: Level, confidence: Level) -> Option<Band> {
        self.quantile(level, confidence, |reply| {
            Some(reply.latency.saturating_sub(reply.job.as_ref()?.elapsed))
        })
    }

    fn quantile(
        &self,
        level: Level,
        confidence: Level,
        of: impl Fn(&Reply) -> Option<Duration>,
    ) -> Option<Band> {
        let jobs = self.replies.iter().filter(|reply| reply.verdict.is_some());
        let mut sorted: Vec<f64> = jobs.filter_map(|reply| Some(of(reply)?.as_secs_f64())).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        // P(fewer than `rank` of n lie below the quantile), for ranks from 1 to n.
        let fewer = |rank: usize| (-barrier_hazard(level.hazard(), rank as u64, n as u64)).exp();
        let miss = confidence.s() / 2.0;
        let at = |rank: usize| rank.checked_sub(1).and_then(|index| sorted.get(index)).copied();
        let rank = ((level.p() * n as f64).ceil() as usize).clamp(1, n.max(1));
        let low = (1..=n).take_while(|rank| fewer(*rank) <= miss).last();
        let high = (1..=n).find(|rank| 1.0 - fewer(*rank) <= miss);
        let low = low.and_then(at).unwrap_or(0.0);
        let high = high.and_then(at).unwrap_or(f64::INFINITY);
        Some(Band { value: at(rank)?, interval: Interval { low, high } })
    }

    /// Attempts beyond one for each branch, as a share of the branches: the price *extra requests*. Not a number
    /// without replies of jobs.
    pub fn extra_requests(&self) -> f64 {
        let jobs = || self.replies.iter().filter_map(|reply| reply.job.as_ref());
        let hedges: u64 = jobs().map(|job| job.hedges).sum();
        let branches: u64 = jobs().map(|job| u64::from(job.branches)).sum();
        hedges as f64 / branches as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(millis: u64, verdict: Verdict) -> Reply {
        let body = format!(
            "{{\"schema\":\"fantail.job/1\",\"job\":\"a\",\"verdict\":\"{}\",\"incomplete\":[],\
              \"fanout\":{{\"branches\":5,\"answered\":5,\"attempts\":6,\"hedges\":1,\"elapsed_s\":0.001}}}}",
            format!("{verdict:?}").to_lowercase()
        );
        Reply::read(StatusCode::OK, body.as_bytes(), Duration::from_millis(millis))
    }

    #[test]
    fn quantiles_and_shares_have_bands() {
        let replies =
            (1..=100).map(|ms| reply(ms, if ms > 90 { Verdict::Partial } else { Verdict::Complete }));
        let measured = Measured { replies: replies.collect() };
        let sure = Level::below(0.95).unwrap();
        let median = measured.latency(Level::MEDIAN, sure).unwrap();
        // The ranks 40 and 61: P(Bin(100, 1/2) < 40) = 0.0176, with 41 it is 0.0284.
        assert_eq!((median.value, median.interval), (0.050, Interval { low: 0.040, high: 0.061 }));
        let far = measured.latency(Level::above(0.001).unwrap(), sure).unwrap();
        assert_eq!((far.value, far.interval.high), (0.100, f64::INFINITY));
        let partial = measured.share(Verdict::Partial, sure);
        assert!(partial.value == 0.1 && partial.interval.contains(0.1) && !partial.interval.contains(0.2));
        assert_eq!(measured.extra_requests(), 0.2);
        assert_eq!(measured.overhead(Level::MEDIAN, sure).unwrap().value, 0.049);
    }

    #[test]
    fn what_is_no_reply_of_a_job_has_no_verdict() {
        let shed =
            Reply::read(StatusCode::SERVICE_UNAVAILABLE, b"{\"reason\":\"overloaded\"}", Duration::ZERO);
        let measured = Measured { replies: vec![shed, Reply::none(Duration::ZERO)] };
        assert_eq!((measured.without_verdict(), measured.latency(Level::MEDIAN, Level::MEDIAN)), (2, None));
        assert_eq!(measured.share(Verdict::Failed, Level::MEDIAN).value, 0.0);
    }
}
