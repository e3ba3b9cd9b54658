//! What copies do to the servers that they hope to escape: utilisation × copies × cancellation × luck, simulated.
//!
//! Prints the table of `docs/simulate.md` and draws the picture beside it, about half a minute on two cores:
//!
//! ```sh
//! cargo run --release -p fantail-report --example hedging_under_load -- docs/pictures/load.svg
//! ```

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use fantail_core::{BranchSpec, Hedge, Plan, PlanSpec, Time};
use fantail_model::sim::{Arrivals, Credit, Scenario, Server, SimError, Simulation, Summary};
use fantail_model::{Cancellation, Dependence, Law, Level};
use fantail_report::plot::{Axis, Curve, Mark, Panel, Plot, Scale, Tone, Unit};

/// Loads of the table and of the pictures of p99, in calls per service time of ten servers.
const LOADS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Those of the ratio of means.
const LOW_LOADS: [f64; 9] = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45];
/// Blocks of each run.
const BLOCKS: u64 = 30;
/// A figure whose interval is wider than this part of it says more of the length of the run than of a steady state.
const WIDE: f64 = 0.4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("where to draw: hedging_under_load FILE.svg")?;
    let found = simulated(BLOCKS)?;
    std::fs::write(path, found.plot().svg())?;
    print!("{}", found.table());
    Ok(())
}

/// What is simulated: one call that goes to a server with a queue of its own, chosen at random.
#[derive(Clone)]
struct Case {
    law: Law,
    servers: u32,
    load: f64,
    delay: Option<Time>,
    cancellation: Cancellation,
    identical: bool,
}

impl Case {
    fn run(&self, blocks: u64) -> Result<Summary, SimError> {
        let branch =
            BranchSpec { hedge: self.delay.map(Hedge::after), repeatable: true, ..BranchSpec::new("call") };
        let plan = Plan::new(PlanSpec::new("queue", vec![branch])).expect("one branch is a plan");
        let server = Server {
            replicas: self.servers,
            slots: Some(1),
            cancellation: self.cancellation,
            ..Server::new("pool")
        };
        let scenario = Scenario {
            arrivals: Arrivals::Poisson(self.load * f64::from(self.servers)),
            credit: Credit::Unlimited,
            dependence: Dependence::new(0.0, f64::from(u8::from(self.identical))).expect("shares"),
            servers: vec![server],
            warm_up: None,
            ..Scenario::default()
        };
        let simulation = Simulation::new(plan.into(), vec![self.law.clone()], scenario, 7)?;
        let mut whole = simulation.run(0..0)?;
        for block in Simulation::blocks(0..blocks * Simulation::BLOCK) {
            whole.merge(&simulation.run(block)?);
        }
        Ok(whole)
    }
}

/// What calls do, and how they are told apart.
const STRATEGIES: [(&str, Tone, Copies, bool); 5] = [
    ("no copies", Tone::Reference(0), Copies::None, false),
    ("a copy at p95", Tone::Main(0), Copies::AtP95, false),
    ("a copy at p95, as slow as the first", Tone::Main(1), Copies::AtP95, true),
    ("two at once", Tone::Main(2), Copies::AtOnce, false),
    ("two at once, as slow as each other", Tone::Main(3), Copies::AtOnce, true),
];

#[derive(Clone, Copy)]
enum Copies {
    None,
    AtP95,
    AtOnce,
}

/// All that was simulated, by strategy and load.
struct Found {
    /// p99 in service times, when losers are cancelled at once and when they never are; NaN without a steady state.
    p99: [[[f64; LOADS.len()]; STRATEGIES.len()]; 2],
    /// The mean with two at once that run to their end, over that with one: of exponential and of constant service.
    ratio: [[f64; LOW_LOADS.len()]; 2],
}

fn simulated(blocks: u64) -> Result<Found, Box<dyn std::error::Error>> {
    let log_normal = Law::log_normal((-0.5_f64).exp(), 1.0)?;
    let p95 = Time::from_secs_f64(log_normal.quantile(Level::above(0.05)?))?;
    let mut cases = Vec::new();
    for cancellation in [Cancellation::AtOnce, Cancellation::Never] {
        for (_, _, copies, identical) in STRATEGIES {
            let delay = match copies {
                Copies::None => None,
                Copies::AtP95 => Some(p95),
                Copies::AtOnce => Some(Time::ZERO),
            };
            let law = log_normal.clone();
            let case =
                move |load| Case { law: law.clone(), servers: 10, load, delay, cancellation, identical };
            cases.extend(LOADS.map(case));
        }
    }
    for (law, identical) in [(Law::exponential(1.0)?, false), (Law::log_normal(1.0, 1e-9)?, true)] {
        for delay in [None, Some(Time::ZERO)] {
            let cancellation = Cancellation::Never;
            let law = law.clone();
            let case =
                move |load| Case { law: law.clone(), servers: 60, load, delay, cancellation, identical };
            cases.extend(LOW_LOADS.map(case));
        }
    }
    let level = Level::above(0.01)?;
    let mut runs = all(&cases, blocks)?.into_iter();
    let mut row = || LOADS.map(|_| runs.next().expect("a run for each case"));
    let confidence = Level::above(0.05)?;
    let p99 = [(); 2].map(|()| STRATEGIES.map(|_| row().map(|run| steady(&run, level, confidence))));
    let ratio = [(); 2].map(|()| {
        let mut means = || row().map(|run| run.mean().value);
        let (one, two) = (means(), means());
        std::array::from_fn(|i| two[i] / one[i])
    });
    Ok(Found { p99, ratio })
}

/// A quantile in seconds, if there is one in the long run.
fn steady(run: &Summary, level: Level, confidence: Level) -> f64 {
    let time = run.quantile(level).as_secs_f64();
    let interval = run.quantile_interval(level, confidence);
    let known = interval.high - interval.low < WIDE * time;
    if known && run.piles_up().is_none() { time } else { f64::NAN }
}

/// Runs all cases, as many at once as the machine can.
fn all(cases: &[Case], blocks: u64) -> Result<Vec<Summary>, SimError> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(place) else { return done };
            done.push((place, case.run(blocks)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, Result<Summary, SimError>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a run does not panic")).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, run)| run).collect()
}

impl Found {
    /// p99 by load, as a table in Markdown.
    fn table(&self) -> String {
        let columns = [(0, 0), (0, 1), (0, 3), (0, 2), (1, 1), (1, 3)];
        let mut out = String::from(
            "| load | no copies | a copy at p95 | two at once | at p95, as slow | at p95, never cancelled | two, never cancelled |\n\
             |---|---|---|---|---|---|---|\n",
        );
        for (place, load) in LOADS.iter().enumerate() {
            write!(out, "| {:.0} % |", 100.0 * load).expect("a string takes every write");
            for (cancellation, strategy) in columns {
                let p99 = self.p99[cancellation][strategy][place];
                let cell = if p99.is_nan() { "grows".to_owned() } else { format!("{p99:.1}") };
                write!(out, " {cell} |").expect("a string takes every write");
            }
            out.push('\n');
        }
        out
    }

    fn plot(&self) -> Plot {
        Plot {
            title: "Copies and the servers they hope to escape".to_owned(),
            subtitle: "Simulated. A call goes to a server chosen at random, each with a queue of its own. Above: ten \
                       servers, log-normal service, σ = 1. Below: sixty. Lines end where queues grow without end."
                .to_owned(),
            description: "p99 against load, with and without cancellation, and the ratio of means with two copies, \
                          which passes 1 at a load of 1/3 with exponential and 0.2719 with constant service"
                .to_owned(),
            panels: vec![
                self.quantiles(0, "Losers are cancelled at once"),
                self.quantiles(1, "Losers run to their end"),
                self.means(),
            ],
        }
    }

    fn quantiles(&self, cancellation: usize, title: &str) -> Panel {
        let curve = |((name, tone, ..), values): ((&str, Tone, Copies, bool), &[f64; LOADS.len()])| Curve {
            name: name.to_owned(),
            tone,
            points: LOADS.into_iter().zip(*values).collect(),
        };
        Panel {
            title: title.to_owned(),
            x: axis("load without copies", Scale::Linear, Unit::Share, 0.1, 0.9),
            y: axis("p99, in service times", Scale::Log, Unit::Number, 2.0, 100.0),
            bands: Vec::new(),
            curves: STRATEGIES.into_iter().zip(&self.p99[cancellation]).map(curve).collect(),
            marks: Vec::new(),
        }
    }

    fn means(&self) -> Panel {
        let curve = |name: &str, tone, points: [f64; LOW_LOADS.len()]| Curve {
            name: name.to_owned(),
            tone,
            points: LOW_LOADS.into_iter().zip(points).collect(),
        };
        let mark = |name: &str, at| Mark { name: name.to_owned(), at };
        Panel {
            title: "Two at once that run to their end, against one".to_owned(),
            x: axis("load without copies", Scale::Linear, Unit::Share, 0.05, 0.45),
            y: axis("ratio of means", Scale::Linear, Unit::Number, 0.4, 2.0),
            bands: Vec::new(),
            curves: vec![
                curve("exponential service", Tone::Main(4), self.ratio[0]),
                curve("constant service", Tone::Main(5), self.ratio[1]),
                curve("as without copies", Tone::Reference(1), [1.0; LOW_LOADS.len()]),
            ],
            marks: vec![mark("0.2719", 0.2719), mark("1/3", 1.0 / 3.0)],
        }
    }
}

fn axis(label: &str, scale: Scale, unit: Unit, from: f64, to: f64) -> Axis {
    Axis { label: label.to_owned(), scale, unit, from, to }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thresholds_lie_where_theory_has_them_and_cancellation_decides() {
        let found = simulated(6).expect("in range");
        for (ratio, threshold) in found.ratio.iter().zip([1.0 / 3.0, 0.2719]) {
            for (ratio, load) in
                ratio.iter().zip(LOW_LOADS).filter(|(_, load)| (load - threshold).abs() > 0.04)
            {
                assert_eq!(*ratio < 1.0, load < threshold, "{ratio} at {load}");
            }
        }
        let [cancelled, never] = &found.p99;
        let (none, at_p95) = (0, 1);
        assert!(cancelled[at_p95][6] < cancelled[none][6]);
        assert!(never[at_p95][1] < never[none][1] && never[at_p95][6].is_nan());
    }

    #[test]
    fn the_documentation_shows_what_comes_out() {
        if std::env::var_os("FANTAIL_HEAVY").is_none() {
            return;
        }
        let found = simulated(BLOCKS).expect("in range");
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
        let read = |name: &str| std::fs::read_to_string(format!("{docs}{name}")).expect("it is there");
        assert!(read("simulate.md").contains(&found.table()));
        assert_eq!(read("pictures/load.svg"), found.plot().svg());
    }
}
