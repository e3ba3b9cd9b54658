//! Pictures of curves: what they show, whatever they are drawn on.

mod axis;
mod svg;
mod terminal;

pub(crate) use axis::{Axis, Scale, Unit};

/// One picture: panels below each other that share what their colours mean.
pub(crate) struct Plot {
    pub(crate) title: String,
    /// What it is about, below the title.
    pub(crate) subtitle: String,
    /// What it shows, in words and figures, for those who cannot see it.
    pub(crate) description: String,
    pub(crate) panels: Vec<Panel>,
}

/// A pair of axes with what is drawn between them.
pub(crate) struct Panel {
    /// What sets it apart from the other panels; empty when there is nothing to say.
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// Drawn first.
    pub(crate) bands: Vec<Band>,
    pub(crate) curves: Vec<Curve>,
    /// Places on the x axis that have names, in any order.
    pub(crate) marks: Vec<Mark>,
}

/// A line through points of data; it is interrupted where a value is not finite.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) tone: Tone,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve {
    /// The points that no line goes to, since both their neighbours have no value.
    fn alone(&self) -> impl Iterator<Item = (f64, f64)> {
        let is_there = |i: usize| self.points.get(i).is_some_and(|(x, y)| x.is_finite() && y.is_finite());
        let alone = move |i: &usize| is_there(*i) && !is_there(i.wrapping_sub(1)) && !is_there(i + 1);
        (0..self.points.len()).filter(alone).map(|i| self.points[i])
    }
}

/// What lies between two lines over the same places.
pub(crate) struct Band {
    pub(crate) name: String,
    /// As (x, lower, upper).
    pub(crate) points: Vec<(f64, f64, f64)>,
    /// 0 is the faintest, 1 the next.
    pub(crate) strength: usize,
}

/// A place on the x axis.
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) at: f64,
}

/// How a curve looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// One of the things that are compared, each with a colour and a dash of its own, below [`TONES`].
    Main(usize),
    /// What they are compared with.
    Reference(usize),
}

/// How many things can be told apart.
pub(crate) const TONES: usize = 8;

impl Plot {
    /// The picture as an SVG document, on light and dark backgrounds.
    pub(crate) fn svg(&self) -> String {
        svg::render(self)
    }

    /// The picture in characters, at most `width` columns wide.
    pub(crate) fn text(&self, width: usize, colors: bool) -> String {
        terminal::render(self, width, colors)
    }

    /// What the legend lists, each once: the curves, then the bands.
    fn legend(&self) -> Vec<Entry<'_>> {
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
struct Entry<'p> {
    name: &'p str,
    look: Look,
}

#[derive(Clone, Copy, PartialEq)]
enum Look {
    Line(Tone),
    Band(usize),
}

/// Puts labels, each with its place and width, on rows that keep them apart: the row of each, in their order. What begins
/// within a label is on a lower row, so that a line down from where it begins crosses no other.
fn rows_for(labels: &[(f64, f64)]) -> Vec<usize> {
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
