//! Pictures as data: what the page draws, and tells as a table.

use fantail_report::plot::{Axis, Plot, Scale, Tick, Tone, Unit};
use serde::Serialize;

/// About so many labelled values on an axis.
const TICKS: usize = 6;

/// One picture.
#[derive(Serialize)]
pub struct Picture<'p> {
    title: &'p str,
    subtitle: &'p str,
    description: &'p str,
    panels: Vec<PanelData<'p>>,
}

#[derive(Serialize)]
struct PanelData<'p> {
    title: &'p str,
    x: AxisData<'p>,
    y: AxisData<'p>,
    bands: Vec<BandData<'p>>,
    curves: Vec<CurveData<'p>>,
    marks: Vec<MarkData<'p>>,
}

#[derive(Serialize)]
struct AxisData<'p> {
    label: &'p str,
    scale: &'static str,
    unit: &'static str,
    from: f64,
    to: f64,
    ticks: Vec<TickData>,
}

#[derive(Serialize)]
struct TickData {
    at: f64,
    label: String,
}

#[derive(Serialize)]
struct BandData<'p> {
    name: &'p str,
    strength: usize,
    points: Vec<(f64, Option<f64>, Option<f64>)>,
}

#[derive(Serialize)]
struct CurveData<'p> {
    name: &'p str,
    tone: usize,
    /// Whether it is what others are compared with.
    reference: bool,
    points: Vec<(f64, Option<f64>)>,
}

#[derive(Serialize)]
struct MarkData<'p> {
    name: &'p str,
    at: f64,
}

impl<'p> From<&'p Plot> for Picture<'p> {
    fn from(plot: &'p Plot) -> Picture<'p> {
        let panel = |panel: &'p fantail_report::plot::Panel| PanelData {
            title: &panel.title,
            x: axis(&panel.x),
            y: axis(&panel.y),
            bands: panel
                .bands
                .iter()
                .map(|band| BandData {
                    name: &band.name,
                    strength: band.strength,
                    points: band
                        .points
                        .iter()
                        .map(|&(x, low, high)| (x, finite(low), finite(high)))
                        .collect(),
                })
                .collect(),
            curves: panel
                .curves
                .iter()
                .map(|curve| CurveData {
                    name: &curve.name,
                    tone: match curve.tone {
                        Tone::Main(tone) | Tone::Reference(tone) => tone,
                    },
                    reference: matches!(curve.tone, Tone::Reference(_)),
                    points: curve.points.iter().map(|&(x, y)| (x, finite(y))).collect(),
                })
                .collect(),
            marks: panel.marks.iter().map(|mark| MarkData { name: &mark.name, at: mark.at }).collect(),
        };
        Picture {
            title: &plot.title,
            subtitle: &plot.subtitle,
            description: &plot.description,
            panels: plot.panels.iter().map(panel).collect(),
        }
    }
}

fn axis(axis: &Axis) -> AxisData<'_> {
    AxisData {
        label: &axis.label,
        scale: match axis.scale {
            Scale::Linear => "linear",
            Scale::Log => "log",
            Scale::Nines => "nines",
        },
        unit: match axis.unit {
            Unit::Time => "time",
            Unit::Share => "share",
            Unit::Number | Unit::Count => "number",
        },
        from: axis.from,
        to: axis.to,
        ticks: axis.ticks(TICKS).into_iter().map(|Tick { at, label }| TickData { at, label }).collect(),
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}
