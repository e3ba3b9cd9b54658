//! Live hedge delays, as the admin port tells of them.

use fantail::Fanout;
use fantail_core::{Estimate, LiveDelay, Time};
use serde::Serialize;

/// A live delay as it is now.
#[derive(Debug, Serialize)]
pub(crate) struct LiveStatus {
    /// The first of the branches that share it.
    branch: String,
    /// How many share it.
    branches: usize,
    /// As stated: `p95`.
    quantile: String,
    /// `warming`, `estimable`, `not_estimable` or `stale`.
    state: &'static str,
    /// When a copy is due after its primary's permit; `null`: there is none.
    delay_s: Option<f64>,
    /// The quantile, where it can be told.
    quantile_s: Option<f64>,
    /// Where it can't: what it is more than.
    above_s: Option<f64>,
    /// How many primaries, effectively, are known to run as long as that.
    at_risk: f64,
    biased: bool,
    why: String,
}

impl LiveStatus {
    /// Those of a plan.
    pub(crate) fn all(fanout: &Fanout) -> Vec<LiveStatus> {
        let branches = fanout.plan().branches();
        let of_index = |index: usize| {
            let mut sharing = (0..).zip(branches).filter(|(_, branch)| branch.live == Some(index));
            let (first, declared) = sharing.next()?;
            let delay = fanout.live_delay(first)?;
            Some(LiveStatus::of(&delay, declared.name.clone(), 1 + sharing.count()))
        };
        (0..fanout.plan().live_delays().len()).filter_map(of_index).collect()
    }

    fn of(delay: &LiveDelay, branch: String, branches: usize) -> LiveStatus {
        let (state, quantile, above, why) = match delay.estimate() {
            Estimate::Warming => ("warming", None, None, "too few primaries have started"),
            Estimate::Estimable(quantile) => {
                ("estimable", Some(quantile), None, "enough primaries are known to run that long")
            }
            Estimate::NotEstimable { above } => {
                let why = "beyond this too few primaries are known to run, or a deadline cut them";
                ("not_estimable", None, Some(above), why)
            }
            Estimate::Stale => ("stale", None, None, "no primary has answered for long"),
        };
        let biased = delay.spec().biased;
        let bias = if biased { "; biased: first k without observe" } else { "" };
        LiveStatus {
            branch,
            branches,
            quantile: delay.spec().quantile.to_string(),
            state,
            delay_s: delay.delay().map(Time::as_secs_f64),
            quantile_s: quantile.map(Time::as_secs_f64),
            above_s: above.map(Time::as_secs_f64),
            at_risk: delay.at_risk(),
            biased,
            why: format!("{why}{bias}"),
        }
    }
}
