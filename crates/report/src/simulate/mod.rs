//! Jobs of plans side by side, over virtual time.

mod csv;
mod figures;
mod inputs;
mod json;
mod load;

pub use figures::{Blocks, Figure, Id, Kind, Played, Report, Row};
pub use inputs::{Contender, Inputs, is_coarse};
pub use load::{endless, load_in_words, piles_up};

impl Report {
    /// `fantail.simulate/1`: one JSON object, every number in full precision, times in seconds.
    pub fn json(&self) -> Vec<u8> {
        json::render(self)
    }

    /// A line of CSV a plan, each figure with the ends of its interval, times in seconds.
    ///
    /// An infinite number is `inf`, one that there is none of is empty.
    pub fn csv(&self) -> Vec<u8> {
        csv::render(self)
    }
}
