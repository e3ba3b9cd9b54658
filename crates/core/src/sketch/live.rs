//! Hedge delays that follow the latency.

use super::{Estimate, Quantile, SketchError, Snapshot};
use crate::Time;

/// What a live hedge delay is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveDelaySpec {
    /// How many primaries answer before a copy is due.
    pub quantile: Quantile,
    /// The shortest delay, more than zero: a delay of zero would be a race, which no budget caps.
    pub floor: Time,
    /// The longest delay, more than zero; it wins over the floor. [`Time::MAX`] is none.
    pub cap: Time,
    /// The delay while there is too little to go by, more than zero. Default: no hedge.
    pub warming: Option<Time>,
    /// Whether jobs that are over at their first k answers cut the primaries that it is measured on, and none of them is
    /// [observed](crate::PlanSpec::observe): the estimate is then too high where branches are slow together. A plan
    /// fills it in.
    pub biased: bool,
}

impl LiveDelaySpec {
    /// The default floor: runtimes' timers tick in milliseconds.
    pub const FLOOR: Time = Time::from_millis(1);

    /// Neither a cap nor a delay while warming.
    pub fn new(quantile: Quantile) -> LiveDelaySpec {
        LiveDelaySpec { quantile, floor: LiveDelaySpec::FLOOR, cap: Time::MAX, warming: None, biased: false }
    }
}

/// A hedge delay that follows the latency: `min(cap, max(floor, quantile))`, as the last [refresh](LiveDelay::refresh)
/// found it.
///
/// | estimate | delay |
/// |---|---|
/// | warming | the one given for it, if any, at most the cap |
/// | estimable | the quantile, within floor and cap |
/// | not estimable, or stale | the last quantile that was estimable, within floor and cap; the cap if there was none |
///
/// So the delay grows to the cap and no further when answers stop coming, and is never made of nothing.
///
/// ```
/// use fantail_core::{Estimate, LiveDelay, LiveDelaySpec, Quantile, Snapshot, Time};
///
/// let spec = LiveDelaySpec { warming: Some(Time::from_millis(1_500)), ..LiveDelaySpec::new(Quantile::from_ppm(950_000)?) };
/// let mut delay = LiveDelay::new(spec)?;
/// delay.refresh(&Snapshot::default());
/// assert_eq!(delay.estimate(), Estimate::Warming);
/// assert_eq!(delay.delay(), Some(Time::from_millis(1_500)));
/// # Ok::<(), fantail_core::SketchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LiveDelay {
    spec: LiveDelaySpec,
    estimate: Estimate,
    at_risk: f64,
    /// The last quantile that was estimable.
    last: Option<Time>,
}

impl LiveDelay {
    /// A delay that is warming.
    ///
    /// # Errors
    /// A floor, cap or warming delay of zero.
    pub fn new(spec: LiveDelaySpec) -> Result<LiveDelay, SketchError> {
        let delays = [("floor", Some(spec.floor)), ("cap", Some(spec.cap)), ("warming", spec.warming)];
        match delays.into_iter().find(|(_, delay)| *delay == Some(Time::ZERO)) {
            Some((field, _)) => Err(SketchError::NoDelay { field }),
            None => Ok(LiveDelay { spec, estimate: Estimate::Warming, at_risk: 0.0, last: None }),
        }
    }

    /// What it was made from.
    pub fn spec(&self) -> &LiveDelaySpec {
        &self.spec
    }

    /// Takes the quantile anew.
    pub fn refresh(&mut self, snapshot: &Snapshot) {
        (self.estimate, self.at_risk) = snapshot.estimate_at_risk(self.spec.quantile);
        if let Estimate::Estimable(quantile) = self.estimate {
            self.last = Some(quantile);
        }
    }

    /// What the last refresh found.
    pub fn estimate(&self) -> Estimate {
        self.estimate
    }

    /// How many primaries, effectively, were known to run as long as the estimate goes: to the quantile, or where there
    /// were too few of them, or to the deadline that cut some.
    pub fn at_risk(&self) -> f64 {
        self.at_risk
    }

    /// When a copy is due after its primary's permit; `None` is never.
    pub fn delay(&self) -> Option<Time> {
        let LiveDelaySpec { floor, cap, warming, .. } = self.spec;
        let delay = match self.estimate {
            Estimate::Warming => warming?,
            _ => self.last.map_or(cap, |quantile| quantile.max(floor)),
        };
        Some(delay.min(cap)).filter(|&delay| delay < Time::MAX)
    }
}
