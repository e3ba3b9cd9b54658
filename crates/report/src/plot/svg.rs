//! A picture as an SVG document of its own: no script, no font, no image from elsewhere.
//!
//! Colours are those of Okabe and Ito, darker on a light background and lighter on a dark one, so that people with any
//! colour vision can tell them apart; every curve has a dash of its own besides. The same picture is the same bytes.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::{Band, Entry, Look, Panel, Plot, TONES, Tone, rows_for};
use crate::text;

/// The whole picture, in pixels.
const WIDTH: f64 = 880.0;
/// Between the axes, for one panel; several are lower.
const HEIGHT: f64 = 360.0;
/// The least that is left of the axes: the label of the y axis, and those of its ticks.
const LEFT: f64 = 84.0;
/// What the label of the y axis and gaps take of it.
const BESIDE: f64 = 36.0;
const RIGHT: f64 = 28.0;
/// The height of a row of text.
const ROW: f64 = 20.0;
/// What axes need below a panel: tick labels and the label.
const BELOW: f64 = 52.0;
/// How wide a column of text may be, at 14 and at 12 pixels; estimated, and rather too much than too little.
const COLUMN: f64 = 7.8;
const SMALL_COLUMN: f64 = 6.8;

/// Colours of the tones on light and on dark backgrounds.
const COLORS: [(&str, &str); TONES] = [
    ("#0072b2", "#56b4e9"),
    ("#c24e00", "#ff8c42"),
    ("#007d5a", "#2fc694"),
    ("#9b3f86", "#e08cc4"),
    ("#6e5a00", "#e6c229"),
    ("#2b7fb8", "#9fd3f5"),
    ("#8a2b1e", "#ff9e8f"),
    ("#3d3d3d", "#d8d8d8"),
];
/// Dashes of the tones; the first is solid.
const DASHES: [&str; TONES] = ["", "8 4", "2 3", "10 3 2 3", "5 3", "12 3 2 3 2 3", "3 6", "14 5"];

pub(super) fn render(plot: &Plot) -> String {
    let mut out = Out(String::new());
    let subtitle = text::fold(&plot.subtitle, (WIDTH / SMALL_COLUMN) as usize - 8, 0);
    let entries = plot.legend();
    let legend = legend_rows(&entries);
    let top = 34.0 + subtitle.lines().count() as f64 * 17.0;
    let panels_top = top + legend.len() as f64 * ROW + 10.0;
    let height = if plot.panels.len() > 1 { HEIGHT * 0.68 } else { HEIGHT };
    let left = left(plot, height);
    let frames = frames(plot, panels_top, height, left);
    let bottom = frames.last().map_or(panels_top, |frame| frame.bottom + BELOW);
    out.head(plot, bottom);
    out.text(LEFT, 26.0, "h", "start", &plot.title);
    for (i, line) in subtitle.lines().enumerate() {
        out.text(LEFT, 45.0 + i as f64 * 17.0, "m", "start", line);
    }
    for (i, row) in legend.iter().enumerate() {
        let y = top + 14.0 + i as f64 * ROW;
        for (x, entry) in row {
            out.swatch(*x, y - 4.5, entry.look);
            out.text(x + SWATCH, y, "", "start", entry.name);
        }
    }
    for (i, (panel, frame)) in plot.panels.iter().zip(&frames).enumerate() {
        out.panel(i, panel, frame);
    }
    out.0.push_str("</svg>\n");
    out.0
}

/// How far from the left the axes are, so that the labels of ticks have room.
fn left(plot: &Plot, height: f64) -> f64 {
    let ticks = plot.panels.iter().flat_map(|panel| panel.y.ticks(y_ticks(height)));
    ticks.map(|tick| BESIDE + tick.label.width() as f64 * SMALL_COLUMN).fold(LEFT, f64::max)
}

/// About how many labelled values a y axis has.
fn y_ticks(height: f64) -> usize {
    if height < 300.0 { 5 } else { 7 }
}

/// Where a panel lies.
struct Frame {
    left: f64,
    /// The baseline of its title.
    title: f64,
    top: f64,
    bottom: f64,
    /// Rows of the names of its marks, above it.
    mark_rows: Vec<usize>,
}

impl Frame {
    fn y(&self, panel: &Panel, value: f64) -> f64 {
        snapped(self.bottom - (self.bottom - self.top) * clamped(panel.y.place(value)))
    }
}

fn across(panel: &Panel, left: f64, value: f64) -> f64 {
    snapped(left + (WIDTH - left - RIGHT) * clamped(panel.x.place(value)))
}

/// To the digits that are written. Shares lie half between two of them often enough, where the last bit of a figure must
/// not decide.
fn snapped(pixels: f64) -> f64 {
    (pixels * 10.0 + 1e-6).round() / 10.0
}

/// Far outside stays outside, near enough for every renderer.
fn clamped(place: f64) -> f64 {
    place.clamp(-2.0, 3.0)
}

/// How wide the name of a mark may be, its distance from the mark included.
fn label_width(name: &str) -> f64 {
    name.width() as f64 * SMALL_COLUMN + 10.0
}

/// Whether a name goes to the left of its mark, since there is no room to the right.
fn is_left(x: f64, name: &str) -> bool {
    x + label_width(name) > WIDTH
}

fn frames(plot: &Plot, top: f64, height: f64, left: f64) -> Vec<Frame> {
    let mut top = top;
    let frame = |panel: &Panel| {
        let labels: Vec<(f64, f64)> = panel
            .marks
            .iter()
            .map(|mark| {
                let x = across(panel, left, mark.at);
                (
                    if is_left(x, &mark.name) { x - label_width(&mark.name) } else { x },
                    label_width(&mark.name),
                )
            })
            .collect();
        let mark_rows = rows_for(&labels);
        let rows = mark_rows.iter().max().map_or(0, |row| row + 1);
        let title = if panel.title.is_empty() { 0.0 } else { ROW };
        let frame_top = top + title + rows as f64 * 16.0;
        let frame = Frame { left, title: top + 12.0, top: frame_top, bottom: frame_top + height, mark_rows };
        top = frame.bottom + BELOW + 8.0;
        frame
    };
    plot.panels.iter().map(frame).collect()
}

/// A swatch and what follows it, in pixels.
const SWATCH: f64 = 34.0;

/// The legend in rows as wide as the picture, each entry at its place.
fn legend_rows<'p>(entries: &'p [Entry<'p>]) -> Vec<Vec<(f64, &'p Entry<'p>)>> {
    let mut rows: Vec<Vec<(f64, &Entry<'_>)>> = Vec::new();
    let mut x = f64::INFINITY;
    for entry in entries {
        let width = SWATCH + entry.name.width() as f64 * COLUMN;
        if x + width > WIDTH - RIGHT / 2.0 {
            rows.push(Vec::new());
            x = LEFT;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, entry));
        }
        x += width + 16.0;
    }
    rows
}

struct Out(String);

impl Out {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a string takes every write");
    }

    fn head(&mut self, plot: &Plot, height: f64) {
        self.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
             aria-labelledby=\"t d\" font-family=\"system-ui, sans-serif\" font-size=\"14\">"
        ));
        self.line(format_args!("<title id=\"t\">{}</title>", escaped(&plot.title)));
        self.line(format_args!("<desc id=\"d\">{}</desc>", escaped(&plot.description)));
        let (mut light, mut dark) = (String::new(), String::new());
        for (i, (on_light, on_dark)) in COLORS.iter().enumerate() {
            write!(light, ".c{i}{{stroke:{on_light}}}").expect("a string takes every write");
            write!(dark, ".c{i}{{stroke:{on_dark}}}").expect("a string takes every write");
        }
        self.line(format_args!(
            "<style>\ntext{{fill:#1b1f24}}.h{{font-size:16px;font-weight:600}}.m{{fill:#57606a;font-size:12px}}.bg{{fill:#fff}}\
             .grid{{stroke:#d8dee4}}.axis,.r0,.r1,.r2{{stroke:#57606a}}.band{{fill:#0072b2}}.s0{{fill-opacity:.13}}\
             .s1{{fill-opacity:.2}}path{{fill:none;stroke-width:1}}.c{{stroke-width:2.2;stroke-linejoin:round}}\
             .mark{{stroke:#57606a;stroke-dasharray:3 3}}{light}\n\
             @media (prefers-color-scheme:dark){{text{{fill:#e6edf3}}.m{{fill:#9aa4af}}.bg{{fill:#0d1117}}\
             .grid{{stroke:#272e37}}.axis,.mark,.r0,.r1,.r2{{stroke:#9aa4af}}.band{{fill:#56b4e9}}{dark}}}\n</style>"
        ));
        self.line(format_args!("<rect class=\"bg\" width=\"{WIDTH}\" height=\"{height:.0}\"/>"));
    }

    fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
        self.line(format_args!("<text{class} x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{}</text>", escaped(text)));
    }

    fn swatch(&mut self, x: f64, y: f64, look: Look) {
        match look {
            Look::Line(tone) => {
                self.line(format_args!(
                    "<path class=\"{}\"{} d=\"M{x:.1} {y:.1}h26\"/>",
                    class(tone),
                    dash(tone)
                ));
            }
            Look::Band(strength) => {
                let y = y - 6.0;
                // The stronger ones lie upon the fainter ones.
                for strength in 0..=strength {
                    self.line(format_args!(
                        "<rect class=\"band s{strength}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"26\" height=\"12\"/>"
                    ));
                }
            }
        }
    }

    fn panel(&mut self, index: usize, panel: &Panel, frame: &Frame) {
        let (left, right, height) = (frame.left, WIDTH - RIGHT, frame.bottom - frame.top);
        let width = right - left;
        self.line(format_args!(
            "<clipPath id=\"p{index}\"><rect x=\"{left}\" y=\"{:.1}\" width=\"{width}\" height=\"{:.1}\"/></clipPath>",
            frame.top - 2.0,
            height + 4.0
        ));
        if !panel.title.is_empty() {
            self.text(left, frame.title, "", "start", &panel.title);
        }
        for tick in panel.y.ticks(y_ticks(height)) {
            let y = frame.y(panel, tick.at);
            self.line(format_args!("<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/>"));
            self.text(left - 8.0, y + 4.0, "m", "end", &tick.label);
        }
        let wide = |label: &str| label.width() as f64 * SMALL_COLUMN;
        for tick in panel.x.ticks_apart(9, |label| (wide(label) + 8.0) / width) {
            let x = across(panel, left, tick.at);
            self.line(format_args!("<path class=\"axis\" d=\"M{x:.1} {:.1}v5\"/>", frame.bottom));
            let half = wide(&tick.label) / 2.0;
            self.text(x.clamp(half, WIDTH - half), frame.bottom + 19.0, "m", "middle", &tick.label);
        }
        self.text(f64::midpoint(left, right), frame.bottom + 38.0, "", "middle", &panel.x.label);
        let middle = f64::midpoint(frame.top, frame.bottom);
        self.line(format_args!(
            "<text text-anchor=\"middle\" transform=\"translate(18 {middle:.1}) rotate(-90)\">{}</text>",
            escaped(&panel.y.label)
        ));
        self.line(format_args!("<g clip-path=\"url(#p{index})\">"));
        for band in &panel.bands {
            self.band(panel, frame, band);
        }
        for curve in &panel.curves {
            let d = path(curve.points.iter().map(|&(x, y)| place(panel, frame, x, y)));
            let (class, dash) = (class(curve.tone), dash(curve.tone));
            self.line(format_args!("<path class=\"{class}\"{dash} d=\"{d}\"/>"));
            for (x, y) in curve.alone().filter_map(|(x, y)| place(panel, frame, x, y)) {
                self.line(format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\"/>"));
            }
        }
        self.0.push_str("</g>\n");
        self.line(format_args!(
            "<path class=\"axis\" d=\"M{left} {:.1}V{:.1}H{right}\"/>",
            frame.top, frame.bottom
        ));
        for (mark, row) in panel.marks.iter().zip(&frame.mark_rows) {
            let x = across(panel, left, mark.at);
            let y = frame.top - 5.0 - *row as f64 * 16.0;
            self.line(format_args!(
                "<path class=\"mark\" d=\"M{x:.1} {:.1}V{:.1}\"/>",
                y - 11.0,
                frame.bottom
            ));
            let (x, anchor) = if is_left(x, &mark.name) { (x - 4.0, "end") } else { (x + 4.0, "start") };
            self.text(x, y, "m", anchor, &mark.name);
        }
    }

    fn band(&mut self, panel: &Panel, frame: &Frame, band: &Band) {
        let whole = |&&(_, lower, upper): &&(f64, f64, f64)| lower.is_finite() && upper.is_finite();
        let upper = band.points.iter().filter(whole).map(|&(x, _, y)| place(panel, frame, x, y));
        let lower = band.points.iter().rev().filter(whole).map(|&(x, y, _)| place(panel, frame, x, y));
        let d = path(upper.chain(lower));
        if !d.is_empty() {
            self.line(format_args!(
                "<path class=\"band s{}\" style=\"fill-rule:nonzero\" d=\"{d}Z\"/>",
                band.strength
            ));
        }
    }
}

fn class(tone: Tone) -> String {
    match tone {
        Tone::Main(i) => format!("c c{}", i % TONES),
        Tone::Reference(i) => format!("c r{}", i.min(2)),
    }
}

fn dash(tone: Tone) -> String {
    let dash = match tone {
        Tone::Main(i) => DASHES[i % TONES],
        Tone::Reference(i) => ["6 4", "2 4", "1 3"][i.min(2)],
    };
    if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") }
}

/// A point in pixels; `None` where the data has none.
fn place(panel: &Panel, frame: &Frame, x: f64, y: f64) -> Option<(f64, f64)> {
    let at = (across(panel, frame.left, x), frame.y(panel, y));
    (x.is_finite() && !y.is_nan() && at.0.is_finite() && at.1.is_finite()).then_some(at)
}

/// A path through points, interrupted where there is none.
fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut d = String::new();
    let mut command = 'M';
    for point in points {
        match point {
            Some((x, y)) => {
                write!(d, "{command}{x:.1} {y:.1}").expect("a string takes every write");
                command = 'L';
            }
            None => command = 'M',
        }
    }
    d
}

fn escaped(text: &str) -> String {
    text::printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
