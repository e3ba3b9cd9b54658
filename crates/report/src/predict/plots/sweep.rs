//! What a sweep shows: times and verdicts against what is varied.

use fantail_model::{Asymptotes, Dependence, Group};

use super::{check_count, check_curves, one};
use crate::Invalid;
use crate::plot::{Axis, Band, Curve, Panel, Scale, Tone, Unit};
use crate::predict::report::{CENTRAL, Figures, Report, Row, rows};
use crate::predict::request::Point;

/// From here on, the last value over the first, what is varied is spaced by factors.
const WIDE: f64 = 30.0;
/// The same for times.
const WIDE_TIMES: f64 = 100.0;
/// The most panels below each other.
const MOST_PANELS: usize = 4;

/// A figure that is drawn.
type Measure = Box<dyn Fn(&Figures) -> f64>;

/// Return times. Of one strategy: mean and percentiles, the central ranges, and the asymptotes if there are any; of
/// several: one measure of each, the mean if no percentile was asked for.
pub(super) fn times(report: &Report) -> Result<Vec<Panel>, Invalid> {
    let strategies = report.curves();
    let (curves, bands) = match strategies.as_slice() {
        [only] => {
            let rows = rows(*only);
            let mut curves = measures(report, &rows);
            check_curves(curves.len(), "; fewer percentiles are -p p50,p99, say")?;
            if report.shares == Dependence::NONE {
                curves.extend(asymptotes(&rows));
            }
            (curves, ranges(&rows))
        }
        several => {
            check_curves(several.len(), "")?;
            let curve = |(i, strategy): (usize, &&[_])| {
                let (word, measure) = one_measure(report);
                let points = points(&rows(*strategy), |figures| measure(figures));
                let name = format!("{word} of {}", strategy[0].shown);
                Curve { name, tone: Tone::Main(i), points }
            };
            (several.iter().enumerate().map(curve).collect(), Vec::new())
        }
    };
    let lines = curves.iter().flat_map(|curve: &Curve| curve.points.iter().map(|(_, y)| *y));
    let edges =
        bands.iter().flat_map(|band: &Band| band.points.iter().flat_map(|(_, low, high)| [*low, *high]));
    let values: Vec<f64> = lines.chain(edges).filter(|value| value.is_finite() && *value > 0.0).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let scale = if high > WIDE_TIMES * low { Scale::Log } else { Scale::Linear };
    let from = (scale == Scale::Linear).then_some(0.0);
    let y = Axis::over("return time", scale, Unit::Time, values.into_iter().chain(from));
    let panel = |(x, y)| Panel { title: String::new(), x, y, bands, curves, marks: Vec::new() };
    Ok(one(along(report).zip(y).map(panel)))
}

/// Shares of jobs by how they end, in a panel for each strategy.
pub(super) fn verdicts(report: &Report) -> Result<Vec<Panel>, Invalid> {
    let strategies = report.curves();
    check_count(strategies.len(), "strategies", MOST_PANELS, "")?;
    let panel = |strategy: &&[_]| {
        let rows = rows(*strategy);
        let mut shares: Vec<(&str, Measure)> = vec![
            ("complete", Box::new(|figures| figures.complete.value)),
            ("partial", Box::new(|figures| figures.partial.value)),
            ("failed", Box::new(|figures| figures.failed.value)),
        ];
        if rows.iter().any(|(_, figures)| figures.never.value > 0.0) {
            shares.push(("never end", Box::new(|figures| figures.never.value)));
        }
        let curve = |(i, (word, share)): (usize, (&str, Measure))| Curve {
            name: word.to_owned(),
            tone: Tone::Main(i),
            points: points(&rows, share),
        };
        Some(Panel {
            title: if strategies.len() > 1 { strategy[0].shown.clone() } else { String::new() },
            x: along(report)?,
            y: Axis {
                label: "share of jobs".to_owned(),
                scale: Scale::Linear,
                unit: Unit::Share,
                from: 0.0,
                to: 1.0,
            },
            bands: Vec::new(),
            curves: shares.into_iter().enumerate().map(curve).collect(),
            marks: Vec::new(),
        })
    };
    Ok(strategies.iter().filter_map(panel).collect())
}

/// The axis of what is varied.
fn along(report: &Report) -> Option<Axis> {
    let points: Vec<Point> = report.strategies.iter().filter_map(|strategy| strategy.point).collect();
    let values = || points.iter().map(|point| point.value());
    let unit = match points.first()? {
        Point::Deadline(_) => Unit::Time,
        Point::Branches(_) => Unit::Count,
        Point::Sigma(_) => Unit::Number,
    };
    let (low, high) =
        values().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let scale = if low > 0.0 && high > WIDE * low { Scale::Log } else { Scale::Linear };
    let label = match points.first()? {
        Point::Branches(_) => "branches, n",
        Point::Sigma(_) => "sigma",
        Point::Deadline(_) => "deadline",
    };
    Axis::over(label, scale, unit, values())
}

/// The rows with where they are.
fn placed<'a, 'r>(rows: &'a [Row<'r>]) -> impl Iterator<Item = (f64, &'a Row<'r>)> {
    rows.iter().filter_map(|row| Some((row.0.point?.value(), row)))
}

fn points(rows: &[Row<'_>], measure: impl Fn(&Figures) -> f64) -> Vec<(f64, f64)> {
    placed(rows).map(|(x, (_, figures))| (x, measure(figures))).collect()
}

fn mean(figures: &Figures) -> f64 {
    figures.mean.as_ref().map_or(f64::NAN, |mean| mean.value)
}

/// The percentiles that are drawn, as they are numbered: those asked for, or else two of the usual ones.
fn drawn_percentiles(report: &Report) -> Vec<usize> {
    let all = 0..report.labels.len();
    if report.percentiles_asked {
        all.collect()
    } else {
        all.filter(|i| ["p50", "p99"].contains(&report.labels[*i].as_str())).collect()
    }
}

/// Mean and percentiles.
fn measures(report: &Report, rows: &[Row<'_>]) -> Vec<Curve> {
    let mut curves = vec![Curve { name: "mean".to_owned(), tone: Tone::Main(0), points: points(rows, mean) }];
    for (tone, i) in (1..).zip(drawn_percentiles(report)) {
        let points = points(rows, |figures| figures.quantiles[i].value);
        curves.push(Curve { name: report.labels[i].clone(), tone: Tone::Main(tone), points });
    }
    curves
}

/// What strategies are compared by.
fn one_measure(report: &Report) -> (String, Measure) {
    match drawn_percentiles(report).first() {
        Some(&i) if report.percentiles_asked => {
            (report.labels[i].clone(), Box::new(move |figures| figures.quantiles[i].value))
        }
        _ => ("mean".to_owned(), Box::new(mean)),
    }
}

/// The central ranges, the wider one first.
fn ranges(rows: &[Row<'_>]) -> Vec<Band> {
    let band = |i: usize| Band {
        name: format!("central {:.0} % of the jobs", CENTRAL[i] * 100.0),
        strength: 1 - i,
        points: placed(rows)
            .map(|(x, (_, figures))| (x, figures.central[i].0.value, figures.central[i].1.value))
            .collect(),
    };
    vec![band(1), band(0)]
}

/// What extreme-value theory says, where all of many log-normal branches are waited for.
fn asymptotes(rows: &[Row<'_>]) -> Vec<Curve> {
    let at = |(x, (strategy, _)): (f64, &Row<'_>)| {
        let plan = &strategy.plan;
        let [group] = plan.groups.as_slice() else { return None };
        let (median, sigma) = group.law.as_log_normal()?;
        let plain = *group
            == Group {
                required: group.required,
                cost: group.cost,
                ..Group::new(group.count, group.law.clone())
            };
        let waits_for_all = (plan.k == group.count || group.required) && plan.deadline.is_infinite();
        let asymptotes = Asymptotes::of_log_normal(group.count, median, sigma).ok()?;
        (plain && waits_for_all && strategy.shape.is_none()).then_some((x, asymptotes))
    };
    let found: Vec<(f64, Asymptotes)> = placed(rows).filter_map(at).collect();
    let curve = |name: &str, i: usize, of: fn(&Asymptotes) -> f64| Curve {
        name: name.to_owned(),
        tone: Tone::Reference(i),
        points: found.iter().map(|(x, asymptotes)| (*x, of(asymptotes))).collect(),
    };
    if found.is_empty() {
        return Vec::new();
    }
    vec![
        curve("leading order: median · exp(sigma √(2 ln n))", 0, |asymptotes| asymptotes.leading),
        curve("Gumbel law, exact constants: mean", 1, |asymptotes| asymptotes.mean.gumbel),
    ]
}
