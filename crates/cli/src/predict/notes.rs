//! What is said below the tables: what the figures mean, what they take for granted, and why some are missing.

use fantail_core::Time;
use fantail_model::{Figure, Method};
use fantail_planfile::EarlierCopy;
use fantail_report::predict::{Figures, Point, Report, Row, Strategy, rows, word};

use super::columns::{Column, TIMES_APART, always_complete};
use crate::dashes::Dashes;
use crate::number;

/// What the figures mean and what they take for granted.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let rows = rows(&report.strategies);
    if !report.is_sweep() {
        notes.push(slowest(&rows));
    }
    if always_complete(&rows) {
        notes.push("Every job ends complete.".to_owned());
    }
    for (strategy, figures) in rows.iter().filter(|(strategy, _)| strategy.point.is_none()) {
        if let Ok(share) = &figures.sends_copy
            && share.value > 0.0
        {
            let share = number::percent(share.value);
            notes.push(format!("Jobs of {} that send a copy: {share}.", strategy.shown));
        }
    }
    // Along a sweep of deadlines many are.
    if !report.is_sweep() {
        notes.extend(rows.iter().filter_map(|(strategy, _)| earlier_copy(strategy)));
    }
    if let Some(error) = rows.iter().filter_map(|(strategy, _)| strategy.fit_error).reduce(f64::max) {
        notes.push(fit(error));
    }
    notes.extend(methods(report));
    notes
}

/// A copy that does not wait for the percentile that it was to wait for.
fn earlier_copy(strategy: &Strategy) -> Option<String> {
    let EarlierCopy { percentile, wanted, due, min_useful } = strategy.earlier.as_ref()?;
    let [due, needs] = [due, min_useful].map(|time| number::duration(time.as_secs_f64()));
    let wanted = match *wanted {
        Time::MAX => String::new(),
        wanted => format!(", {}", number::duration(wanted.as_secs_f64())),
    };
    Some(format!(
        "A copy of {} is due after {due}, not after {percentile}{wanted}: it needs {needs} before the deadline.",
        strategy.shown
    ))
}

/// How well laws go through the percentiles that they were fitted to.
fn fit(error: f64) -> String {
    let through = if error < 1e-6 {
        "goes through them".to_owned()
    } else {
        format!("is at most {} off", number::percent(error))
    };
    format!(
        "Latencies given by percentiles: the fitted law {through}, and alone decides what lies beyond the last."
    )
}

/// The chance to meet a slow branch, once for each number of branches that are called.
fn slowest(rows: &[Row<'_>]) -> String {
    let mut sizes: Vec<(u64, f64)> =
        rows.iter().map(|(strategy, _)| (strategy.calls, strategy.slowest_percent)).collect();
    sizes.sort_unstable_by_key(|(n, _)| *n);
    sizes.dedup_by_key(|(n, _)| *n);
    let chances: Vec<String> = match sizes.as_slice() {
        [(_, chance)] => vec![number::percent(*chance)],
        _ => sizes
            .iter()
            .map(|(n, chance)| format!("{} with {}", number::percent(*chance), number::grouped(*n)))
            .collect(),
    };
    format!("Chance that a job meets a branch in that branch's slowest 1 %: {}.", chances.join(", "))
}

/// Notes the dashes of a table.
pub(super) fn add_dashes(dashes: &mut Dashes, columns: &[Column], rows: &[Row<'_>]) {
    for column in columns {
        let header = column.header.replace('\n', " ");
        for (row, why) in &column.missing {
            dashes.add(&header, rows[*row].0.shown.clone(), why);
        }
    }
}

/// Figures that were found in one way, and take the same for granted.
struct Found<'r> {
    key: (&'static str, Vec<String>),
    rows: Vec<Row<'r>>,
}

/// How the figures were found and what they assume, once for those that share it.
fn methods(report: &Report) -> Vec<String> {
    let mut all: Vec<Found<'_>> = Vec::new();
    for (strategy, figures) in rows(&report.strategies) {
        let texts = figures.not_exact.iter().chain(&figures.assumes);
        let key = (word(figures.method), texts.map(|text| without_figures(text).to_owned()).collect());
        match all.iter_mut().find(|found| found.key == key) {
            Some(found) => found.rows.push((strategy, figures)),
            None => all.push(Found { key, rows: vec![(strategy, figures)] }),
        }
    }
    let only = all.len() == 1;
    let note = |found: &Found<'_>| {
        let strategies: Vec<&Strategy> = found.rows.iter().map(|(strategy, _)| *strategy).collect();
        let of = if only { String::new() } else { format!(" of {}", names(report, &strategies)) };
        let assumes = in_common(&found.rows, |figures| &figures.assumes).join(", that ");
        format!("Figures{of} are {}, assuming that {assumes}.", how(&found.rows))
    };
    all.iter().map(note).collect()
}

/// How figures were found: of bounded and simulated ones, how far the ends of a time are apart at most.
fn how(rows: &[Row<'_>]) -> String {
    let width = |figure: &Figure| match figure.method {
        Method::Bounded { lower, upper } if figure.value > 0.0 => (upper - lower) / figure.value,
        Method::Simulated { low, high } if low.is_nan() || high == f64::INFINITY => f64::INFINITY,
        Method::Simulated { low, high } if figure.value > 0.0 => (high - low) / figure.value,
        _ => 0.0,
    };
    let times = rows.iter().flat_map(|(_, figures)| figures.quantiles.iter().chain(&figures.mean));
    let widest = times.filter(|time| time.value.is_finite()).map(width).fold(0.0, f64::max);
    let simulated: Vec<(u64, u64)> = rows
        .iter()
        .filter_map(|(_, figures)| figures.simulated())
        .map(|jobs| (jobs.jobs(), jobs.seed))
        .collect();
    if let (Some((fewest, seed)), Some((most, _))) = (simulated.iter().min(), simulated.iter().max()) {
        let jobs = number::count(*most, "job", "jobs");
        let jobs = if fewest == most { jobs } else { format!("{} to {jobs}", number::grouped(*fewest)) };
        let within = if widest.is_finite() {
            format!(
                "with 95 % confidence within intervals at most {} wide for times",
                number::percent(widest)
            )
        } else {
            "too few to say how near every time is".to_owned()
        };
        let reasons = in_common(rows, |figures| &figures.not_exact).join("; ");
        return format!("simulated, since {reasons}: {jobs}, seed {seed}, {within}");
    }
    let method = rows.first().map_or(Method::Exact, |(_, figures)| figures.method);
    if !matches!(method, Method::Bounded { .. }) {
        return word(method).to_owned();
    }
    let apart = if widest.is_finite() {
        format!("at most {} apart for times", number::percent(widest))
    } else {
        "infinitely far apart for some times".to_owned()
    };
    let printed = if widest > TIMES_APART { "; both are printed where that is much" } else { "" };
    format!("between bounds, which are {apart}{printed}")
}

/// Texts of figures that are alike but for numbers, which are left out where they differ.
fn in_common<'r>(rows: &[Row<'r>], of: impl Fn(&'r Figures) -> &'r [String]) -> Vec<&'r str> {
    let Some((first, rest)) = rows.split_first() else { return Vec::new() };
    let shared = |(i, text): (usize, &'r String)| {
        let same = rest.iter().all(|(_, figures)| of(figures).get(i) == Some(text));
        if same { text.as_str() } else { without_figures(text) }
    };
    of(first.1).iter().enumerate().map(shared).collect()
}

/// A reason or assumption up to the figures that it gives: `the hedge budget has credit`.
fn without_figures(text: &str) -> &str {
    let end = [": ", " ("].into_iter().filter_map(|mark| text.find(mark)).min();
    end.map_or(text, |end| &text[..end])
}

/// Names of strategies, each once; of a sweep with the values that are meant, where those are not all of it.
fn names(report: &Report, strategies: &[&Strategy]) -> String {
    let mut names: Vec<String> = Vec::new();
    for curve in report.curves() {
        let is_meant = |of: &Strategy| strategies.iter().any(|other| std::ptr::eq(*other, of));
        let meant: Vec<bool> = curve.iter().map(is_meant).collect();
        if !meant.contains(&true) {
            continue;
        }
        let mut name = curve[0].shown.clone();
        if report.is_sweep() && meant.contains(&false) {
            name = format!("{name} at {}", values(curve, &meant));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Values of a sweep: `n = 10 … 1000, 5000`.
fn values(curve: &[Strategy], meant: &[bool]) -> String {
    let points: Vec<Point> = curve.iter().filter_map(|strategy| strategy.point).collect();
    let labels = Point::labels(&points);
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..labels.len()).filter(|at| meant[*at]) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => runs.push((at, at)),
        }
    }
    let run = |(from, to): &(usize, usize)| match to - from {
        0 => labels[*from].clone(),
        1 => format!("{}, {}", labels[*from], labels[*to]),
        _ => format!("{} … {}", labels[*from], labels[*to]),
    };
    let runs: Vec<String> = runs.iter().map(run).collect();
    let variable = points.first().map_or("", |point| point.variable());
    format!("{variable} = {}", runs.join(", "))
}

/// Which strategies have no figures and why, once for those that have the same reasons.
pub(super) fn refusals(report: &Report) -> Vec<String> {
    let mut kinds: Vec<(Vec<&str>, Vec<&Strategy>)> = Vec::new();
    for strategy in &report.strategies {
        let Err(reasons) = &strategy.outlook else { continue };
        let short: Vec<&str> = reasons.iter().map(|reason| without_figures(reason)).collect();
        match kinds.iter_mut().find(|(same, _)| *same == short) {
            Some((_, strategies)) => strategies.push(strategy),
            None => kinds.push((short, vec![strategy])),
        }
    }
    let refusal = |(short, strategies): (Vec<&str>, Vec<&Strategy>)| {
        let same = strategies
            .iter()
            .all(|strategy| strategy.outlook.as_ref().err() == strategies[0].outlook.as_ref().err());
        let reasons = match &strategies[0].outlook {
            Err(reasons) if same => reasons.join("; "),
            _ => short.join("; "),
        };
        format!("{}: not predicted: {reasons}", names(report, &strategies))
    };
    kinds.into_iter().map(refusal).collect()
}
