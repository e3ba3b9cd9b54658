//! `--format json`: `fantail.predict/1`, every number in full precision, times in seconds.

use std::collections::BTreeMap;

use fantail_core::Time;
use fantail_model::{Dependence, Figure, Group, Method};
use fantail_planfile::{EarlierCopy, Shape};
use serde::Serialize;

use super::explain::{Explanation, Lever, Trap};
use super::report::{Figures, Prices, Report, Strategy, UNPRICED, required};
use super::request::Point;
use super::solved::word;
use crate::json::{self, Head, Ordered, finite};

pub(super) fn render(report: &Report) -> Vec<u8> {
    let shares = report.shares;
    let setting = report.setting.as_ref();
    let document = Document {
        head: Head {
            schema: "fantail.predict/1",
            n: setting.and_then(|setting| setting.n),
            latency: setting.map(|setting| setting.latency.as_str()),
        },
        rho: (shares != Dependence::NONE).then(|| Rho { job: shares.job(), branch: shares.branch() }),
        strategies: report.strategies.iter().map(|strategy| entry(report, strategy)).collect(),
    };
    json::render(&document)
}

#[derive(Serialize)]
struct Document<'r> {
    #[serde(flatten)]
    head: Head<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rho: Option<Rho>,
    strategies: Vec<Entry<'r>>,
}

/// What calls share.
#[derive(Serialize)]
struct Rho {
    job: f64,
    branch: f64,
}

#[derive(Serialize)]
struct Entry<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<At>,
    plan: Plan,
    quantiles_s: Ordered<&'r str, Option<f64>>,
    mean_s: Option<f64>,
    sd_s: Option<f64>,
    /// From and to, of what holds 68 % and 95 % of the jobs.
    central_68_s: [Option<f64>; 2],
    central_95_s: [Option<f64>; 2],
    complete: Option<f64>,
    partial: Option<f64>,
    failed: Option<f64>,
    never: Option<f64>,
    extra_requests: Option<f64>,
    extra_busy: Option<f64>,
    cost: Option<f64>,
    sends_copy: Option<f64>,
    slowest_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_copy: Option<EarlierEntry<'r>>,
    method: Option<&'static str>,
    /// How each figure that is not `null` was found, by the same paths.
    methods: BTreeMap<String, &'static str>,
    /// Lower and upper bound of each figure that has no exact value, by the same paths; `null` is infinite.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    bounds: BTreeMap<String, [Option<f64>; 2]>,
    /// Where each figure that is simulated truly lies, by the same paths; `null` is infinite or not known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    intervals: BTreeMap<String, [Option<f64>; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<SimulatedJobs>,
    assumes: &'r [String],
    /// What an exact law does not include, so that figures are simulated, or there are none.
    not_included: &'r [String],
    /// Every figure that is `null`, and why it is.
    why_null: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<Explained<'r>>,
}

/// The jobs that figures are counted of.
#[derive(Serialize)]
struct SimulatedJobs {
    jobs: u64,
    seed: u64,
    confidence: f64,
}

/// A copy that the deadline moved; without the time that it was to wait for where that is beyond 365 days.
#[derive(Serialize)]
struct EarlierEntry<'r> {
    percentile: &'r str,
    wanted_s: Option<f64>,
    due_s: f64,
    min_useful_s: f64,
}

/// What would help, and what is easily misread.
#[derive(Serialize)]
struct Explained<'r> {
    p99_s: Option<f64>,
    complete: f64,
    levers: Vec<LeverEntry<'r>>,
    /// How many more would help, but leave a p99 that is beyond reach, and what that is.
    levers_beyond_reach: usize,
    reach_s: f64,
    traps: Vec<TrapEntry<'r>>,
}

#[derive(Serialize)]
struct LeverEntry<'r> {
    change: &'r str,
    p99_s: Option<f64>,
    complete: f64,
    price: &'r str,
}

#[derive(Serialize)]
struct TrapEntry<'r> {
    trap: &'static str,
    text: &'r str,
    figures: BTreeMap<&'static str, Option<f64>>,
}

/// Where in a sweep: an object of one number.
#[derive(Serialize)]
enum At {
    #[serde(rename = "n")]
    Branches(u32),
    #[serde(rename = "sigma")]
    Sigma(f64),
    #[serde(rename = "deadline_s")]
    Deadline(f64),
}

/// What the plan states; `null` is what it does not.
#[derive(Serialize)]
struct Plan {
    n: u64,
    k: u64,
    at_least: u64,
    required: u64,
    deadline_s: Option<f64>,
    /// How branches follow one another; left out where they start at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    branches: Vec<Branches>,
}

/// Like branches.
#[derive(Serialize)]
struct Branches {
    count: u64,
    required: bool,
    latency: String,
    copies_after_s: Vec<f64>,
    deadline_s: Option<f64>,
    attempt_timeout_s: Option<f64>,
    cost: Option<f64>,
}

fn entry<'r>(report: &'r Report, strategy: &'r Strategy) -> Entry<'r> {
    let figures = strategy.outlook.as_ref().map_err(|_| "not predicted: see not_included".to_owned());
    let of = |get: &dyn Fn(&Figures) -> Result<Figure, String>| figures.clone().and_then(get);
    let share = |get: fn(&Figures) -> Figure| of(&|figures| Ok(get(figures)));
    let price = |get: fn(&Prices) -> Result<Figure, String>| {
        of(&|figures| get(figures.prices.as_ref().map_err(String::clone)?))
    };
    let central = |i: usize| figures.clone().map(|figures| figures.central[i]);
    let mut told = Told::default();
    let quantiles = report.labels.iter().enumerate().map(|(i, label)| {
        let beyond = || "later than 1e290 s, to which times are computed".to_owned();
        let quantile =
            of(&|figures| if figures.is_beyond(i) { Err(beyond()) } else { Ok(figures.quantiles[i]) });
        (label.as_str(), told.number(&format!("quantiles_s.{label}"), quantile))
    });
    Entry {
        name: &strategy.name,
        file: strategy.file.as_deref(),
        at: strategy.point.map(at),
        plan: plan(strategy),
        quantiles_s: Ordered(quantiles.collect()),
        mean_s: told.number("mean_s", of(&|figures| figures.mean.clone())),
        sd_s: told.number("sd_s", of(&|figures| figures.sd.clone())),
        central_68_s: told.range("central_68_s", central(0)),
        central_95_s: told.range("central_95_s", central(1)),
        complete: told.number("complete", share(|figures| figures.complete)),
        partial: told.number("partial", share(|figures| figures.partial)),
        failed: told.number("failed", share(|figures| figures.failed)),
        never: told.number("never", share(|figures| figures.never)),
        extra_requests: told.number("extra_requests", price(|prices| Ok(prices.extra_requests))),
        extra_busy: told.number("extra_busy", price(|prices| prices.extra_busy.clone())),
        cost: told.number("cost", price(|prices| prices.cost.ok_or_else(|| UNPRICED.to_owned()))),
        sends_copy: told.number("sends_copy", of(&|figures| figures.sends_copy.clone())),
        slowest_percent: strategy.slowest_percent,
        fit_error: strategy.fit_error,
        earlier_copy: strategy.earlier.as_ref().map(earlier_copy),
        method: figures.as_ref().ok().map(|figures| word(figures.method)),
        methods: told.methods,
        bounds: told.bounds,
        intervals: told.intervals,
        simulated: strategy.simulated().map(|simulated| SimulatedJobs {
            jobs: simulated.jobs(),
            seed: simulated.seed,
            confidence: 0.95,
        }),
        assumes: figures.as_ref().map_or(&[], |figures| &figures.assumes),
        not_included: match &strategy.outlook {
            Ok(figures) => &figures.not_exact,
            Err(reasons) => reasons,
        },
        why_null: told.why_null,
        explained: strategy.explanation.as_ref().map(explained),
    }
}

fn explained(explanation: &Explanation) -> Explained<'_> {
    fn lever(lever: &Lever) -> LeverEntry<'_> {
        let Lever { change, readout, price } = lever;
        LeverEntry { change, p99_s: finite(readout.p99.value), complete: readout.complete.value, price }
    }
    fn trap(trap: &Trap) -> TrapEntry<'_> {
        let figures = trap.figures.iter().map(|(name, figure)| (*name, finite(*figure))).collect();
        TrapEntry { trap: trap.name, text: &trap.text, figures }
    }
    Explained {
        p99_s: finite(explanation.base.p99.value),
        complete: explanation.base.complete.value,
        levers: explanation.levers.iter().map(lever).collect(),
        levers_beyond_reach: explanation.beyond_reach,
        reach_s: explanation.reach,
        traps: explanation.traps.iter().map(trap).collect(),
    }
}

fn earlier_copy(earlier: &EarlierCopy) -> EarlierEntry<'_> {
    let EarlierCopy { percentile, wanted, due, min_useful } = earlier;
    let [due_s, min_useful_s] = [due, min_useful].map(|time| time.as_secs_f64());
    let wanted_s = (*wanted < Time::MAX).then(|| wanted.as_secs_f64());
    EarlierEntry { percentile, wanted_s, due_s, min_useful_s }
}

fn at(point: Point) -> At {
    match point {
        Point::Branches(n) => At::Branches(n),
        Point::Sigma(sigma) => At::Sigma(sigma),
        Point::Deadline(deadline) => At::Deadline(deadline.as_secs_f64()),
    }
}

/// What is told of numbers beside them, by their paths.
#[derive(Default)]
struct Told {
    methods: BTreeMap<String, &'static str>,
    bounds: BTreeMap<String, [Option<f64>; 2]>,
    intervals: BTreeMap<String, [Option<f64>; 2]>,
    why_null: BTreeMap<String, String>,
}

impl Told {
    /// The number with how it was found, or `null` and why: JSON has no infinity.
    fn number(&mut self, path: &str, figure: Result<Figure, String>) -> Option<f64> {
        let why = match figure {
            Ok(Figure { value, method }) => {
                if let Method::Bounded { lower, upper } = method {
                    self.bounds.insert(path.to_owned(), [finite(lower), finite(upper)]);
                }
                if let Method::Simulated { low, high } = method {
                    self.intervals.insert(path.to_owned(), [finite(low), finite(high)]);
                }
                if value.is_finite() {
                    self.methods.insert(path.to_owned(), word(method));
                    return Some(value);
                }
                "infinite".to_owned()
            }
            Err(why) => why,
        };
        self.why_null.insert(path.to_owned(), why);
        None
    }

    /// Both ends of a range.
    fn range(&mut self, path: &str, range: Result<(Figure, Figure), String>) -> [Option<f64>; 2] {
        let (from, to) = (range.clone().map(|range| range.0), range.map(|range| range.1));
        [self.number(&format!("{path}.from"), from), self.number(&format!("{path}.to"), to)]
    }
}

fn plan(strategy: &Strategy) -> Plan {
    let plan = &strategy.plan;
    Plan {
        n: plan.n(),
        k: plan.k,
        at_least: plan.at_least,
        required: required(plan),
        deadline_s: finite(plan.deadline),
        shape: strategy.shape.map(shape),
        branches: plan.groups.iter().map(branches).collect(),
    }
}

/// In the words of a short form.
fn shape(shape: Shape) -> String {
    match shape {
        Shape::Sequential => "sequential".to_owned(),
        Shape::Batch(size) => format!("batch:{size}"),
        Shape::Tree { nodes, leaves } => format!("tree:{nodes}x{leaves}"),
    }
}

fn branches(group: &Group) -> Branches {
    Branches {
        count: group.count,
        required: group.required,
        latency: group.law.to_string(),
        copies_after_s: group.delays.clone(),
        deadline_s: finite(group.deadline),
        attempt_timeout_s: finite(group.attempt_timeout),
        cost: group.cost,
    }
}
