//! Pictures of curves: what they show, whatever they are drawn on.

mod axis;
mod svg;

pub use axis::{Axis, Scale, Tick, Unit};

/// One picture: panels below each other that share what their colours mean.
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What it is about, below the title.
    pub subtitle: String,
    /// What it shows, in words and figures, for those who cannot see it.
    pub description: String,
    /// Below each other.
    pub panels: Vec<Panel>,
}

/// A pair of axes with what is drawn between them.
pub struct Panel {
    /// What sets it apart from the other panels; empty when there is nothing to say.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From below upwards.
    pub y: Axis,
    /// Drawn first.
    pub bands: Vec<Band>,
    /// The first is drawn on top.
    pub curves: Vec<Curve>,
    /// Places on the x axis that have names, in any order.
    pub marks: Vec<Mark>,
}

/// A line through points of data; it is interrupted where a value is not finite.
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// How it looks.
    pub tone: Tone,
    /// As (x, y).
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// The points that no line goes to, since both their neighbours have no value.
    pub fn alone(&self) -> impl Iterator<Item = (f64, f64)> {
        let is_there = |i: usize| self.points.get(i).is_some_and(|(x, y)| x.is_finite() && y.is_finite());
        let alone = move |i: &usize| is_there(*i) && !is_there(i.wrapping_sub(1)) && !is_there(i + 1);
        (0..self.points.len()).filter(alone).map(|i| self.points[i])
    }
}

/// What lies between two lines over the same places.
pub struct Band {
    /// What the legend calls it.
    pub name: String,
    /// As (x, lower, upper).
    pub points: Vec<(f64, f64, f64)>,
    /// 0 is the faintest, 1 the next.
    pub strength: usize,
}

/// A place on the x axis.
pub struct Mark {
    /// What is written there.
    pub name: String,
    /// Where it is.
    pub at: f64,
}

/// How a curve looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// One of the things that are compared, each with a colour and a dash of its own, below [`TONES`].
    Main(usize),
    /// What they are compared with.
    Reference(usize),
}

/// How many things can be told apart.
pub const TONES: usize = 8;

impl Plot {
    /// The picture as an SVG document, on light and dark backgrounds.
    pub fn svg(&self) -> String {
        svg::render(self)
    }

    /// What the legend lists, each once: the curves, then the bands.
    pub fn legend(&self) -> Vec<Entry<'_>> {
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for panel in &self.panels {
            let curves =
                panel.curves.iter().map(|curve| Entry { name: &curve.name, look: Look::Line(curve.tone) });
            let bands =
                panel.bands.iter().map(|band| Entry { name: &band.name, look: Look::Band(band.strength) });
            for entry in curves.chain(bands) {
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
        }
        entries.sort_by_key(|entry| matches!(entry.look, Look::Band(_)));
        entries
    }
}

/// A line of the legend.
#[derive(PartialEq)]
pub struct Entry<'p> {
    /// What it is called.
    pub name: &'p str,
    /// How it looks.
    pub look: Look,
}

/// How something that is drawn looks.
#[derive(Clone, Copy, PartialEq)]
pub enum Look {
    /// A curve.
    Line(Tone),
    /// A band of this strength.
    Band(usize),
}

/// Puts labels, each with its place and width, on rows that keep them apart: the row of each, in their order. What begins
/// within a label is on a lower row, so that a line down from where it begins crosses no other.
pub fn rows_for(labels: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|a, b| labels[*b].0.total_cmp(&labels[*a].0));
    let mut rows = vec![0; labels.len()];
    for (i, &index) in order.iter().enumerate() {
        let (start, width) = labels[index];
        let within = order[..i].iter().filter(|other| labels[**other].0 < start + width);
        rows[index] = within.map(|other| rows[*other] + 1).max().unwrap_or(0);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::rows_for;

    #[test]
    fn labels_that_would_touch_go_on_different_rows() {
        assert_eq!(rows_for(&[(0.0, 5.0), (6.0, 5.0), (4.0, 3.0), (12.0, 1.0)]), [2, 0, 1, 0]);
        assert_eq!(rows_for(&[]), [0; 0]);
    }
}
