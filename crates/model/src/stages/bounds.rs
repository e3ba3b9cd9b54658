//! A stage between two bounds: its law rounded down and its law rounded up, on a lattice that is fine enough, and on one
//! that reaches far into both tails.

use alloc::vec;
use alloc::vec::Vec;
use core::f64::consts::LN_2;

use super::lattice::{Lattice, Rounded, Rounding};
use super::{Call, Node, Stage};
use crate::numeric::LATEST;

/// One bound, ready to be read.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) lattice: Lattice,
    pub(super) law: Rounded,
    /// At each point, and at infinity.
    pub(super) hazards: Vec<f64>,
}

/// Both bounds.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) down: Side,
    pub(super) up: Side,
}

/// The bounds of a stage.
#[derive(Debug)]
pub(super) struct Ranges {
    /// As narrow as they come.
    pub(super) near: Bounds,
    /// Wider, and of the tails too.
    pub(super) far: Bounds,
}

/// The relative width that is aimed at.
const WIDTH: f64 = 1e-3;
/// Hazards of the levels at which it is measured: p50, p99 and p99.9.
const LEVELS: [f64; 3] = [LN_2, 4.605_170_185_988_091, 6.907_755_278_982_137];
/// Cells of an octave on the lattice that finds where the law is.
const SCOUT: usize = 64;
/// And on the one that tells how the width falls with them.
const FIRST: usize = 256;
/// The mass at either end that cells are not spent on.
const ENDS: f64 = 1e-11;
/// Likewise, on the lattice that reaches far.
const FAR_ENDS: f64 = 1e-40;
/// How far below and above the medians is scouted; laws that span more are of no use.
const FAR_BELOW: f64 = 1e-30;
const FAR_ABOVE: f64 = 1e60;
/// The narrowest cells, as a share of the median: what they cost of the width is nothing beside the rest.
const NARROWEST: f64 = 0.05 * WIDTH;

impl Ranges {
    /// Scouts on coarse lattices, which tell where the law is and how the width falls with the cells; then once or twice on
    /// one of as many cells as that asks for, with so many multiplications at most.
    pub(super) fn of(stage: &Stage, most_work: f64) -> Ranges {
        let (from, to) = span(stage, ENDS);
        let scout = Bounds::on(stage, [from / SCOUT as f64, to], SCOUT, ENDS);
        let narrowest = scout.up.median().clamp(1.0 / LATEST, to) * NARROWEST / stage.longest;
        let (_, latest) = span(stage, FAR_ENDS);
        let far = Bounds::on(stage, [narrowest.min(from), latest], FIRST, FAR_ENDS);
        let (mut width, mut cells, mut work) = (far.width(), FIRST as f64, far.work());
        let mut near = None;
        for _ in 0..3 {
            let wanted = cells * width / WIDTH * 1.2;
            let affordable = cells * libm::sqrt(most_work / work);
            if width <= WIDTH || affordable < 1.1 * cells {
                break;
            }
            let finer = Bounds::on(stage, [narrowest, to], wanted.min(affordable) as usize, ENDS);
            (width, cells, work) = (finer.width(), finer.down.lattice.cells as f64, finer.work());
            near = Some(finer);
        }
        let near = near.unwrap_or_else(|| Bounds::on(stage, [narrowest, to], FIRST, ENDS));
        Ranges { near, far }
    }
}

impl Bounds {
    fn on(stage: &Stage, [narrowest, to]: [f64; 2], cells: usize, ends: f64) -> Bounds {
        let side = |rounding| {
            let mut lattice = Lattice::new(narrowest, to, cells, rounding, ends / stage.calls);
            let law = lattice.stage(stage);
            let hazards = law.hazards();
            Side { lattice, law, hazards }
        };
        Bounds { down: side(Rounding::Down), up: side(Rounding::Up) }
    }

    /// The worst relative width at [`LEVELS`].
    fn width(&self) -> f64 {
        let width = |h: f64| {
            let (lower, upper) = (self.down.time(h), self.up.time(h));
            if lower == upper || upper.is_infinite() { 0.0 } else { (upper - lower) / upper }
        };
        LEVELS.iter().map(|h| width(*h)).fold(0.0, f64::max)
    }

    fn work(&self) -> f64 {
        self.down.lattice.work + self.up.lattice.work
    }
}

impl Side {
    /// The earliest time at which its hazard is `h`, or above it if that is 0.
    pub(super) fn time(&self, h: f64) -> f64 {
        let points = self.lattice.points();
        let least = h.max(f64::MIN_POSITIVE);
        let point = self.hazards[..points].partition_point(|hazard| *hazard < least);
        if point < points || self.is_down() && h <= self.hazards[points] {
            self.lattice.time(point)
        } else {
            f64::INFINITY
        }
    }

    /// Its hazard at `t`.
    pub(super) fn hazard(&self, t: f64) -> f64 {
        let points = self.lattice.points();
        let at_top = t.is_infinite() || self.is_down() && t >= self.lattice.time(points);
        self.hazards[if at_top { points } else { self.lattice.points_by(t) - 1 }]
    }

    pub(super) fn is_down(&self) -> bool {
        self.lattice.rounding == Rounding::Down
    }

    /// Its median, of those that ever come.
    fn median(&self) -> f64 {
        self.time(-libm::log1p(-0.5 * (1.0 - self.law.never)))
    }
}

impl Lattice {
    /// From cells of some width up to a time.
    fn new(narrowest: f64, to: f64, cells: usize, rounding: Rounding, trim: f64) -> Lattice {
        let first = libm::exp2(libm::floor(libm::log2(narrowest)));
        let octaves = libm::ceil(libm::log2(to / cells as f64 / first)).max(0.0) as usize;
        let mut widths = vec![first; 2];
        widths.extend((0..octaves).scan(first, |width, _| {
            *width *= 2.0;
            Some(*width)
        }));
        Lattice { widths, cells, rounding, trim, work: 0.0 }
    }

    fn stage(&mut self, stage: &Stage) -> Rounded {
        let mut all = |parts: &[(u64, Stage)]| -> Vec<(u64, Rounded)> {
            parts.iter().map(|(count, part)| (*count, self.stage(part))).collect()
        };
        match &*stage.node {
            Node::Branch(law) => self.call(Call::Law(law)),
            Node::Fixed(seconds) => self.call(Call::Fixed(*seconds)),
            Node::First { k, parts } => {
                let parts = all(parts);
                self.barrier(*k, &parts)
            }
            Node::Then(parts) => {
                let mut sums: Vec<Rounded> = all(parts)
                    .into_iter()
                    .map(|(count, mut part)| {
                        self.trim(&mut part);
                        self.times(&part, count)
                    })
                    .collect();
                // In pairs: a rounding is not rounded again more often than it must be.
                while sums.len() > 1 {
                    sums = sums.chunks(2).map(|pair| self.sum_of(pair)).collect();
                }
                sums.swap_remove(0)
            }
        }
    }

    fn sum_of(&mut self, pair: &[Rounded]) -> Rounded {
        if let [x, y] = pair { self.sum(x, y) } else { pair[0].clone() }
    }

    fn call(&mut self, call: Call<'_>) -> Rounded {
        self.round(|t| call.hazard(t), call.hazard_at_infinity())
    }
}

/// The times between which the calls of a stage, and their sums, mostly are.
fn span(stage: &Stage, ends: f64) -> (f64, f64) {
    let end = ends / stage.calls;
    let (mut from, mut to) = (f64::INFINITY, 0.0_f64);
    stage.each_call(1.0, &mut |_, call| {
        // What never comes is no reason to look further.
        let most = call.hazard_at_infinity() * (1.0 - ends);
        let median = call.quantile(most.min(LN_2));
        from = from.min(call.quantile(end).max(median * FAR_BELOW));
        to = to.max(call.quantile(most.min(-libm::log(end))).min(median * FAR_ABOVE));
    });
    let to = (to * stage.longest).clamp(1.0 / LATEST, LATEST);
    (from.clamp(1.0 / LATEST, to), to)
}
