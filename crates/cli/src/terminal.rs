//! A picture in characters: dots of Braille patterns, eight to a character.
//!
//! A letter on each curve says which it is, so that no colour is needed.

use std::fmt::Write;

use console::{Color, Style};
use fantail_report::text::{fold, printable};
use unicode_width::UnicodeWidthStr;

use crate::output;
use fantail_report::plot::{Entry, Look, Panel, Plot, Tick, Tone, rows_for};

/// The widest that a picture is drawn, in columns.
const WIDEST: usize = 110;
/// Rows between the axes, for one panel; several are lower.
const ROWS: usize = 18;
const ROWS_OF_SEVERAL: usize = 12;

/// Colours of the tones: bright enough on dark backgrounds, dark enough on light ones.
const COLORS: [Color; 6] =
    [Color::Cyan, Color::Red, Color::Green, Color::Magenta, Color::Yellow, Color::Blue];

pub(crate) fn render(plot: &Plot, width: usize, colors: bool) -> String {
    let width = width.clamp(30, WIDEST);
    let legend = plot.legend();
    let mut text = String::new();
    line(&mut text, &output::strong(&plot.title));
    line(&mut text, &fold(&plot.subtitle, width, 2));
    for (i, entry) in legend.iter().enumerate() {
        let letter = letter(i).to_string();
        line(&mut text, &format!("  {}  {}", paint(&letter, entry.look, colors), printable(entry.name)));
    }
    let rows = if plot.panels.len() > 1 { ROWS_OF_SEVERAL } else { ROWS };
    for panel in &plot.panels {
        text.push('\n');
        draw(&mut text, panel, &legend, &Size { width, rows, colors });
    }
    text
}

struct Size {
    width: usize,
    rows: usize,
    colors: bool,
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{}", line.trim_end()).expect("a string takes every write");
}

fn letter(index: usize) -> char {
    char::from(b'a' + (index % 26) as u8)
}

fn style(look: Look) -> Style {
    match look {
        Look::Line(Tone::Main(i)) => Style::new().fg(COLORS[i % COLORS.len()]),
        Look::Line(Tone::Reference(_)) | Look::Band(_) => Style::new().dim(),
    }
}

fn paint(text: &str, look: Look, colors: bool) -> String {
    if colors { style(look).force_styling(true).apply_to(text).to_string() } else { text.to_owned() }
}

fn draw(text: &mut String, panel: &Panel, legend: &[Entry<'_>], size: &Size) {
    let ticks = panel.y.ticks(size.rows * 2 / 5);
    let margin = ticks.iter().map(|tick| tick.label.width()).max().unwrap_or(0) + 1;
    let columns = size.width.saturating_sub(margin + 2).max(10);
    let mut grid = Grid::new(columns, size.rows);
    for mark in &panel.marks {
        grid.rule(panel.x.place(mark.at));
    }
    let index = |name: &str, look: Look| {
        legend.iter().position(|entry| entry.name == name && entry.look == look).unwrap_or(0)
    };
    for band in &panel.bands {
        let look = Look::Band(band.strength);
        let place = |x: f64, y: f64| (panel.x.place(x), panel.y.place(y));
        let edges = [
            band.points.iter().map(|&(x, low, _)| place(x, low)).collect::<Vec<_>>(),
            band.points.iter().map(|&(x, _, high)| place(x, high)).collect(),
        ];
        for edge in edges {
            grid.curve(&edge, index(&band.name, look), look, 3);
        }
    }
    // The first of them is drawn last, and so on top.
    for curve in panel.curves.iter().rev() {
        let look = Look::Line(curve.tone);
        let points: Vec<(f64, f64)> =
            curve.points.iter().map(|&(x, y)| (panel.x.place(x), panel.y.place(y))).collect();
        let alone = curve.alone().map(|(x, y)| (panel.x.place(x), panel.y.place(y)));
        // A line from a point to itself is a dot.
        let dots = alone.flat_map(|place| [place, place, (f64::NAN, f64::NAN)]);
        let points: Vec<(f64, f64)> = points.into_iter().chain([(f64::NAN, f64::NAN)]).chain(dots).collect();
        let every = if matches!(curve.tone, Tone::Main(_)) { 1 } else { 2 };
        grid.curve(&points, index(&curve.name, look), look, every);
    }
    grid.letters();
    if !panel.title.is_empty() {
        line(text, &panel.title);
    }
    line(text, &format!("{:margin$} {}", "", panel.y.label));
    names_of_marks(text, panel, margin, columns);
    let label_at = |row: usize| {
        let on_row = |tick: &&Tick| row_of(panel.y.place(tick.at), size.rows) == row;
        ticks.iter().find(on_row).map_or("", |tick| tick.label.as_str())
    };
    for row in 0..size.rows {
        let label = label_at(row);
        let axis = if label.is_empty() { '│' } else { '┤' };
        let padding = " ".repeat(margin - label.width() - 1);
        line(text, &format!("{padding}{label} {axis}{}", grid.row(row, size.colors)));
    }
    x_axis(text, panel, margin, columns);
}

/// The row of a place on the y axis, counted from the top.
fn row_of(place: f64, rows: usize) -> usize {
    let row = ((1.0 - place) * (rows * 4 - 1) as f64).round() / 4.0;
    (row.max(0.0) as usize).min(rows - 1)
}

fn names_of_marks(text: &mut String, panel: &Panel, margin: usize, columns: usize) {
    let start = |name: &str, at: f64| {
        let column = (panel.x.place(at) * (columns - 1) as f64).round().max(0.0) as usize;
        column.min(columns.saturating_sub(name.width()))
    };
    let places: Vec<(usize, &str)> =
        panel.marks.iter().map(|mark| (start(&mark.name, mark.at), mark.name.as_str())).collect();
    let widths: Vec<(f64, f64)> =
        places.iter().map(|(at, name)| (*at as f64, name.width() as f64 + 2.0)).collect();
    let rows = rows_for(&widths);
    for row in (0..rows.iter().max().map_or(0, |row| row + 1)).rev() {
        let mut labels: Vec<(usize, &str)> =
            places.iter().zip(&rows).filter(|(_, on)| **on == row).map(|(place, _)| *place).collect();
        labels.sort_unstable();
        line(text, &format!("{:width$}{}", "", spread(&labels), width = margin + 1));
    }
}

/// Texts at their columns.
fn spread(labels: &[(usize, &str)]) -> String {
    let mut text = String::new();
    for (at, label) in labels {
        text.push_str(&" ".repeat(at.saturating_sub(text.width())));
        text.push_str(label);
    }
    text
}

fn x_axis(text: &mut String, panel: &Panel, margin: usize, columns: usize) {
    let mut axis: Vec<char> = vec!['─'; columns];
    let mut labels: Vec<(usize, String)> = Vec::new();
    let mut free = 0;
    let share = |label: &str| (label.width() + 1) as f64 / columns as f64;
    for Tick { at, label } in panel.x.ticks_apart(columns / 10, share) {
        let column = ((panel.x.place(at) * (columns - 1) as f64).round().max(0.0) as usize).min(columns - 1);
        axis[column] = '┬';
        let start = column.saturating_sub(label.width() / 2).min(columns.saturating_sub(label.width()));
        if start >= free {
            free = start + label.width() + 1;
            labels.push((start, label));
        }
    }
    let labels: Vec<(usize, &str)> = labels.iter().map(|(at, label)| (*at, label.as_str())).collect();
    let indent = " ".repeat(margin);
    line(text, &format!("{indent}└{}", axis.into_iter().collect::<String>()));
    line(text, &format!("{indent} {}", spread(&labels)));
    let middle = columns.saturating_sub(panel.x.label.width()) / 2;
    line(text, &format!("{indent} {}{}", " ".repeat(middle), panel.x.label));
}

/// Two dots across and four down in every cell, and letters in place of some.
struct Grid {
    columns: usize,
    rows: usize,
    dots: Vec<u8>,
    looks: Vec<Option<Look>>,
    letters: Vec<Option<(char, Look)>>,
    rules: Vec<usize>,
    /// What was drawn: number in the legend, look, and the cells that it goes through.
    drawn: Vec<(usize, Look, Vec<usize>)>,
}

/// The bit of each dot of a cell, by column and row.
const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

impl Grid {
    fn new(columns: usize, rows: usize) -> Grid {
        let cells = columns * rows;
        Grid {
            columns,
            rows,
            dots: vec![0; cells],
            looks: vec![None; cells],
            letters: vec![None; cells],
            rules: Vec::new(),
            drawn: Vec::new(),
        }
    }

    /// A line from top to bottom.
    fn rule(&mut self, x: f64) {
        if (0.0..=1.0).contains(&x) {
            self.rules.push((x * (self.columns - 1) as f64).round() as usize);
        }
    }

    /// A line through places, of which every so many dots are drawn.
    fn curve(&mut self, places: &[(f64, f64)], index: usize, look: Look, every: usize) {
        let (across, down) = ((self.columns * 2 - 1) as f64, (self.rows * 4 - 1) as f64);
        let mut cells = Vec::new();
        let mut drawn = 0;
        for pair in places.windows(2) {
            let Some([from, to]) = within(pair[0], pair[1]) else { continue };
            let (from, to) = ((from.0 * across, from.1 * down), (to.0 * across, to.1 * down));
            let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0) as usize;
            for step in 0..=steps {
                let share = step as f64 / steps as f64;
                let x = (from.0 + (to.0 - from.0) * share).round() as usize;
                let y = down as usize - (from.1 + (to.1 - from.1) * share).round() as usize;
                let cell = (y / 4) * self.columns + x / 2;
                if cells.last() != Some(&cell) {
                    cells.push(cell);
                }
                if drawn % every == 0 {
                    self.dots[cell] |= BITS[x % 2][y % 4];
                    self.looks[cell] = Some(look);
                }
                drawn += 1;
            }
        }
        self.drawn.push((index, look, cells));
    }

    /// Puts a letter on everything that was drawn, each at a place of its own.
    fn letters(&mut self) {
        let count = self.drawn.len();
        for (i, (index, look, cells)) in std::mem::take(&mut self.drawn).into_iter().enumerate() {
            if cells.is_empty() {
                continue;
            }
            let middle = cells.len() * (i + 1) / (count + 1);
            // Where nothing else has been drawn, as near to the middle as there is.
            let mut places: Vec<usize> = (0..cells.len()).collect();
            places.sort_by_key(|place| place.abs_diff(middle));
            let free = |cell: usize| self.letters[cell].is_none() && self.looks[cell] == Some(look);
            let cell =
                places.iter().map(|place| cells[*place]).find(|cell| free(*cell)).unwrap_or(cells[middle]);
            self.letters[cell] = Some((letter(index), look));
        }
    }

    fn row(&self, row: usize, colors: bool) -> String {
        let mut text = String::new();
        for column in 0..self.columns {
            let cell = row * self.columns + column;
            let (c, look) = match (self.letters[cell], self.dots[cell]) {
                (Some((letter, look)), _) => (letter, Some(look)),
                (None, 0) if self.rules.contains(&column) => ('┊', None),
                (None, 0) => (' ', None),
                (None, dots) => (char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '), self.looks[cell]),
            };
            match look {
                Some(look) if colors => text.push_str(&paint(&c.to_string(), look, true)),
                _ => text.push(c),
            }
        }
        text
    }
}

/// The part of a line that lies between 0 and 1 both ways.
fn within(from: (f64, f64), to: (f64, f64)) -> Option<[(f64, f64); 2]> {
    // Far away is as good as infinitely far, and has finite differences.
    let near = |(x, y): (f64, f64)| (x.clamp(-9.0, 9.0), y.clamp(-9.0, 9.0));
    if [from.0, from.1, to.0, to.1].iter().any(|place| place.is_nan()) {
        return None;
    }
    let (from, to) = (near(from), near(to));
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut first, mut last) = (0.0_f64, 1.0_f64);
    for (start, change) in [(from.0, dx), (from.1, dy)] {
        if change == 0.0 {
            if !(0.0..=1.0).contains(&start) {
                return None;
            }
            continue;
        }
        let (a, b) = (-start / change, (1.0 - start) / change);
        first = first.max(a.min(b));
        last = last.min(a.max(b));
    }
    let at = |share: f64| ((from.0 + dx * share).clamp(0.0, 1.0), (from.1 + dy * share).clamp(0.0, 1.0));
    (first <= last).then(|| [at(first), at(last)])
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn a_line_is_cut_at_the_edges() {
        assert_eq!(within((-1.0, 0.5), (1.0, 0.5)), Some([(0.0, 0.5), (1.0, 0.5)]));
        assert_eq!(within((0.5, 0.0), (0.5, 2.0)), Some([(0.5, 0.0), (0.5, 1.0)]));
        assert_eq!(within((2.0, 0.0), (3.0, 1.0)), None);
        assert_eq!(within((0.0, f64::NAN), (1.0, 1.0)), None);
        assert_eq!(within((0.2, 0.2), (0.2, 0.2)), Some([(0.2, 0.2), (0.2, 0.2)]));
    }
}
