//! How return times are spread: density, share returned, and the tail.

use fantail_model::special::normal_hazard;

use super::{check_curves, one};
use crate::Invalid;
use crate::number;
use crate::plot::{Axis, Curve, Mark, Panel, Scale, Tone, Unit};
use crate::predict::report::{Figures, Report, Row, Strategy, rows};
use crate::predict::request::Point;

/// How many places a curve is drawn through at least.
const PLACES: usize = 200;
/// In how many parts of as many jobs each.
const PARTS: f64 = 64.0;
const LABEL: &str = "return time";
/// From here on, the last time over the earliest median, times are spaced by factors.
const WIDE: f64 = 100.0;
/// The share of jobs beyond the right end, but for the tail.
const BEYOND: f64 = 0.005;
/// The share of jobs beyond the upper end of the tail.
const LAST: f64 = 1e-4;

/// Density above, share returned below; without the density where there is none.
pub(super) fn law(report: &Report) -> Result<Vec<Panel>, Invalid> {
    if drawn(report)?.iter().any(|(_, figures)| figures.law.density(0.0).is_none()) {
        return cdf(report);
    }
    Ok(pdf(report)?.into_iter().chain(cdf(report)?).collect())
}

/// The density of the return time; of one job alone with its mode, median and mean, beside the matched normal.
pub(super) fn pdf(report: &Report) -> Result<Vec<Panel>, Invalid> {
    let rows = drawn(report)?;
    if let Some((strategy, _)) = rows.iter().find(|(_, figures)| figures.law.density(0.0).is_none()) {
        let message = format!(
            "--view pdf: {} is known by bounds, which have no density; expected cdf or tail",
            strategy.shown
        );
        return Err(Invalid::new(message));
    }
    let normal = normal(&rows);
    let Some(x) = times(&rows, normal.as_ref(), BEYOND) else { return Ok(Vec::new()) };
    let is_wide = x.scale == Scale::Log;
    // Areas are shares of the jobs on either axis.
    let (label, per): (_, fn(f64) -> f64) =
        if is_wide { ("density per factor of e", |t| t) } else { ("density per second", |_| 1.0) };
    let density =
        |figures: &Figures, t: f64, _| figures.law.density(t).map_or(f64::NAN, |density| density * per(t));
    let mut curves = curves(report, &rows, &x, density);
    if let Some(normal) = normal.as_ref().filter(|_| !is_wide) {
        let points = places(&x, PLACES).map(|t| (t, normal.density(t))).collect();
        curves.push(Curve { name: normal.name.clone(), tone: Tone::Reference(0), points });
    }
    let densities = curves.iter().flat_map(|curve| curve.points.iter().map(|(_, y)| *y));
    // A law may start with an infinite density; what it does from there on is what there is to see.
    let Some(highest) = Axis::over(label, Scale::Linear, Unit::Number, densities.chain([0.0])) else {
        return Ok(Vec::new());
    };
    let y = Axis { to: highest.to * 1.04, ..highest };
    let mut marks = marks(&rows);
    // The mode is where the density per second is highest.
    marks.retain(|mark| (x.from..=x.to).contains(&mark.at) && !(is_wide && mark.name.starts_with("mode")));
    Ok(one(Some(Panel { title: String::new(), x, y, bands: Vec::new(), curves, marks })))
}

/// The share of jobs that have returned.
pub(super) fn cdf(report: &Report) -> Result<Vec<Panel>, Invalid> {
    let rows = drawn(report)?;
    let normal = normal(&rows);
    let Some(x) = times(&rows, normal.as_ref(), BEYOND) else { return Ok(Vec::new()) };
    let mut curves = curves(report, &rows, &x, |_, _, share| share);
    if let Some(normal) = normal.as_ref().filter(|_| x.scale == Scale::Linear) {
        let points = places(&x, PLACES).map(|t| (t, normal.below(t))).collect();
        curves.push(Curve { name: normal.name.clone(), tone: Tone::Reference(0), points });
    }
    let y = Axis {
        label: "jobs returned".to_owned(),
        scale: Scale::Linear,
        unit: Unit::Share,
        from: 0.0,
        to: 1.0,
    };
    Ok(one(Some(Panel { title: String::new(), x, y, bands: Vec::new(), curves, marks: Vec::new() })))
}

/// The share of jobs that have returned, each of its nines as high as the others.
pub(super) fn tail(report: &Report) -> Result<Vec<Panel>, Invalid> {
    let rows = drawn(report)?;
    let Some(x) = times(&rows, None, LAST) else { return Ok(Vec::new()) };
    let curves = curves(report, &rows, &x, |figures, t, _| figures.law.waiting(t));
    let label = "jobs returned".to_owned();
    let y = Axis { label, scale: Scale::Nines, unit: Unit::Share, from: 1.0, to: LAST };
    Ok(one(Some(Panel { title: String::new(), x, y, bands: Vec::new(), curves, marks: Vec::new() })))
}

/// What is drawn: every strategy, at every point of a sweep.
fn drawn(report: &Report) -> Result<Vec<Row<'_>>, Invalid> {
    let rows = rows(&report.strategies);
    let hint = match report.strategies.first().and_then(|strategy| strategy.point) {
        Some(Point::Branches(_)) => "; fewer values are n=1..1000:4, say",
        Some(Point::Sigma(_)) => "; fewer values are sigma=0.2..1.2:4, say",
        Some(Point::Deadline(_)) => "; fewer values are deadline=0.5s..5s:4, say",
        None => "",
    };
    check_curves(rows.len(), hint)?;
    Ok(rows)
}

/// What a row is called: a sweep has a row for each point.
fn label(report: &Report, strategy: &Strategy) -> String {
    let name = &strategy.shown;
    match strategy.point {
        Some(point) if report.curves().len() == 1 => format!("{} = {point}", point.variable()),
        Some(point) => format!("{name}, {} = {point}", point.variable()),
        None => name.clone(),
    }
}

/// Times from the start, or from where anything is to be seen, to where all but a share of the jobs have returned.
fn times(rows: &[Row<'_>], normal: Option<&Normal>, beyond: f64) -> Option<Axis> {
    let shares = [beyond, 0.01, 0.05, 0.2, 0.5, 0.9];
    let last = |figures: &Figures| {
        shares.iter().map(|share| figures.law.all_but(*share)).find(|time| time.is_finite())
    };
    let to = rows.iter().filter_map(|(_, figures)| last(figures)).fold(0.0, f64::max);
    if to <= 0.0 {
        return None;
    }
    let earliest =
        |share: f64| rows.iter().map(|(_, figures)| figures.law.all_but(share)).fold(f64::INFINITY, f64::min);
    let first = earliest(1.0 - 1e-4);
    if to > WIDE * earliest(0.5) && first > 0.0 {
        return Some(Axis { label: LABEL.to_owned(), scale: Scale::Log, unit: Unit::Time, from: first, to });
    }
    let from = if first > to / 2.0 { first - 0.1 * (to - first) } else { 0.0 };
    let from = normal.map_or(from, |normal| from.min(normal.from().max(-to / 2.0)));
    // A deadline is to be seen, not to be the edge.
    let to = if ends(rows).contains(&to) { to + 0.04 * (to - from) } else { to };
    let to = if to > from { to } else { from * 1.1 };
    Some(Axis { label: LABEL.to_owned(), scale: Scale::Linear, unit: Unit::Time, from, to })
}

/// The instants at which jobs end all at once.
fn ends(rows: &[Row<'_>]) -> Vec<f64> {
    let mut ends: Vec<f64> = rows
        .iter()
        .flat_map(|(strategy, _)| {
            let plan = &strategy.plan;
            plan.groups.iter().map(|group| group.deadline).chain([plan.deadline])
        })
        .filter(|end| end.is_finite())
        .collect();
    ends.sort_unstable_by(f64::total_cmp);
    ends.dedup();
    ends
}

/// Places along an axis, evenly.
fn places(x: &Axis, count: usize) -> impl Iterator<Item = f64> {
    let between = |from: f64, to: f64, share: f64| from * (1.0 - share) + to * share;
    let at = move |share: f64| match x.scale {
        Scale::Log => libm::exp(between(libm::log(x.from), libm::log(x.to), share)).clamp(x.from, x.to),
        _ => between(x.from, x.to, share),
    };
    (0..=count).map(move |i| at(i as f64 / count as f64))
}

/// How many places each curve is drawn through at least: fewer where laws take long to evaluate.
fn count(rows: &[Row<'_>]) -> usize {
    /// Terms of all evaluations together.
    const MOST_TERMS: f64 = 1e7;
    const LEAST: usize = 40;
    let terms: f64 = rows.iter().map(|(_, figures)| figures.law.work()).sum();
    ((MOST_TERMS / terms.max(1.0)) as usize).clamp(LEAST, PLACES)
}

/// The share that has returned at places along an axis, close where many jobs return in a short time.
fn returned(row: &Row<'_>, x: &Axis, count: usize) -> Vec<(f64, f64)> {
    /// How often a gap is halved.
    const HALVINGS: usize = 6;
    let (_, figures) = row;
    let mut times: Vec<f64> = places(x, count).collect();
    // A step at a deadline is upright.
    for end in ends(std::slice::from_ref(row)) {
        times.extend([end.next_down(), end, end.next_up()]);
    }
    times.retain(|t| (x.from..=x.to).contains(t));
    times.sort_unstable_by(f64::total_cmp);
    times.dedup();
    let at = |t: f64| (t, figures.law.returned(t));
    let mut points: Vec<(f64, f64)> = times.into_iter().map(at).collect();
    for _ in 0..HALVINGS {
        let mut finer = Vec::with_capacity(2 * points.len());
        for pair in points.windows(2) {
            let [(from, before), (to, after)] = [pair[0], pair[1]];
            let middle = from.midpoint(to);
            finer.push(pair[0]);
            if after - before > 1.0 / PARTS && middle > from && middle < to {
                finer.push(at(middle));
            }
        }
        finer.extend(points.last());
        let settled = finer.len() == points.len();
        points = finer;
        if settled {
            break;
        }
    }
    points
}

/// A curve for each row, of a value at a time, given the share that has returned by then.
fn curves(
    report: &Report,
    rows: &[Row<'_>],
    x: &Axis,
    value: impl Fn(&Figures, f64, f64) -> f64,
) -> Vec<Curve> {
    let count = count(rows);
    let curve = |(i, row): (usize, &Row<'_>)| {
        let (strategy, figures) = row;
        let points =
            returned(row, x, count).into_iter().map(|(t, share)| (t, value(figures, t, share))).collect();
        Curve { name: label(report, strategy), tone: Tone::Main(i), points }
    };
    rows.iter().enumerate().map(curve).collect()
}

/// Mode, median and mean of one job alone, and its deadline.
fn marks(rows: &[Row<'_>]) -> Vec<Mark> {
    let [(strategy, figures)] = rows else { return Vec::new() };
    let law = &figures.law;
    let mut marks: Vec<Mark> = [
        ("mode", law.mode().unwrap_or(f64::INFINITY)),
        ("median", law.all_but(0.5)),
        ("mean", figures.mean.as_ref().map_or(f64::INFINITY, |mean| mean.value)),
    ]
    .into_iter()
    .filter(|(_, at)| at.is_finite())
    .map(|(word, at)| Mark { name: format!("{word} {}", number::duration(at)), at })
    .collect();
    let end = strategy.plan.deadline;
    let at_once = law.returned(end) - law.returned(end.next_down());
    if end.is_finite() && at_once > 0.0 {
        let name = format!("{} return at {}", number::percent(at_once), number::duration(end));
        marks.push(Mark { name, at: end });
    }
    marks
}

/// The normal of the same mean and standard deviation.
struct Normal {
    name: String,
    mean: f64,
    sd: f64,
}

/// Beside one job alone that has both; the tail of some is too heavy for one that would be in the picture.
fn normal(rows: &[Row<'_>]) -> Option<Normal> {
    let [(_, figures)] = rows else { return None };
    let (mean, sd) = (figures.mean.as_ref().ok()?.value, figures.sd.as_ref().ok()?.value);
    if !(sd > 0.0 && sd.is_finite() && mean < figures.law.all_but(BEYOND)) {
        return None;
    }
    let normal = Normal { name: String::new(), mean, sd };
    let negative = number::percent(normal.below(0.0));
    Some(Normal {
        name: format!("normal of the same mean and deviation, {negative} of it below zero"),
        ..normal
    })
}

impl Normal {
    /// Where it begins to be seen.
    fn from(&self) -> f64 {
        self.mean - 3.0 * self.sd
    }

    fn below(&self, t: f64) -> f64 {
        -libm::expm1(-normal_hazard((t - self.mean) / self.sd))
    }

    fn density(&self, t: f64) -> f64 {
        let z = (t - self.mean) / self.sd;
        libm::exp(-0.5 * z * z) / (self.sd * std::f64::consts::TAU.sqrt())
    }
}
