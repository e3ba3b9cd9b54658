//! How long jobs take, how they end and what copies cost.

mod csv;
mod explain;
mod json;
mod plots;
mod report;
mod request;
mod simulated;
mod solved;
mod subjects;

pub use explain::{Explanation, Lever, Readout, Trap};
pub use plots::View;
pub use report::{Figures, Prices, Report, Row, Strategy, UNPRICED, rows};
pub use request::{MOST_BRANCHES, Point, Setting, USUAL, Words};
pub use simulated::{Effort, Play, Simulated, in_turn, left_out, meets_at};
pub use solved::word;

use crate::Invalid;
use crate::plot::Plot;

impl Report {
    /// `fantail.predict/1`: one JSON object, every number in full precision, times in seconds.
    pub fn json(&self) -> Vec<u8> {
        json::render(self)
    }

    /// A line of CSV a strategy, numbers in full precision, times in seconds.
    ///
    /// An infinite number is `inf`, one that there is none of is empty.
    pub fn csv(&self) -> Vec<u8> {
        csv::render(self)
    }

    /// A picture, from the very figures that are printed; `None` when there are none at all.
    ///
    /// # Errors
    /// A view that does not suit what was asked, and more curves than can be told apart.
    pub fn plot(&self, view: Option<View>) -> Result<Option<Plot>, Invalid> {
        plots::plot(self, view)
    }

    /// What it is about, in a line or a few.
    pub fn subjects(&self) -> Vec<String> {
        subjects::subjects(self)
    }
}
