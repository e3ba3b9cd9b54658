//! What jobs of the same branches have in common, however many there are: found once along a sweep over n.
//!
//! | symbol | meaning |
//! |---|---|
//! | F | P(one branch has answered by t) |
//! | c | median of one branch |
//!
//! The slowest of n has `P(T <= t) = F^n`, so `E T = c + ∫_c^∞ (1 - F^n) dt - ∫_0^c F^n dt`, and `E (T - c)²` likewise with the
//! weight `2 |t - c|`. Kept are `ln F` at the nodes of fixed panels, which end where the branch's law is not smooth and at
//! hazards one apart: the step of `F^n` is about that wide, at a hazard of `ln n`. Each n then costs an exponential a node,
//! and its own estimate of the error says whether the panels were fine enough for it.

use alloc::vec::Vec;
use core::f64::consts::LN_2;

use super::job_law::{Figure, JobLaw};
use super::member::Member;
use super::{Cancellation, Prices, SolveError};
use crate::Law;
use crate::moments::{Moments, thinned};
use crate::numeric::{RULE, nodes};
use crate::order::Profile;
use crate::special::complement;

/// What was found of branches, for further jobs of the same ones.
///
/// ```
/// use fantail_model::{Group, GroupedPlan, Law, Tables};
///
/// let mut tables = Tables::default();
/// let call = Law::log_normal(1.0, 0.6)?;
/// let mean = |n: u64, tables: &mut Tables| {
///     let job = GroupedPlan::all(Group { delays: vec![2.7], ..Group::new(n, call.clone()) }).solve()?;
///     let (mean, _) = job.mean_and_sd_from(tables)?;
///     assert!((mean.value / job.mean()?.value - 1.0).abs() < 1e-10);
///     Ok::<_, fantail_model::SolveError>(mean.value)
/// };
/// assert!(mean(8, &mut tables)? < mean(9, &mut tables)?);
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tables {
    branches: Vec<Branch>,
}

/// More branches than these are not kept.
const MOST_KEPT: usize = 64;

#[derive(Clone, Debug)]
struct Branch {
    law: Law,
    starts: Vec<f64>,
    expires: f64,
    /// None where it does not suit.
    table: Option<Table>,
    /// Seconds that attempts run until the branch answers or gives up.
    busy: Option<f64>,
    /// Of one attempt alone; `None` until it is asked for, and where it does not suit.
    profile: Option<Profile>,
    profiled: bool,
}

#[derive(Clone, Debug)]
struct Table {
    centre: f64,
    /// From 0 on; the centre is where two of them meet.
    panels: Vec<Panel>,
}

#[derive(Clone, Debug)]
struct Panel {
    late: bool,
    /// `ln F` at its end.
    end: f64,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    ln_answered: f64,
    /// Of Kronrod's rule and of Gauss's.
    weights: [f64; 2],
    /// Distance from the centre.
    off: f64,
}

impl JobLaw {
    /// [`JobLaw::mean_and_sd`], with what was found before of jobs of other numbers of the same branches.
    ///
    /// # Errors
    /// As for [`JobLaw::mean`].
    pub fn mean_and_sd_from(&self, tables: &mut Tables) -> Result<(Figure, Figure), SolveError> {
        let Moments { mean, variance } = match self.moments_in(tables) {
            Some(moments) => moments,
            None => self.moments()?,
        };
        Ok((Figure::exact(mean), Figure::exact(libm::sqrt(variance))))
    }

    /// [`JobLaw::prices`], likewise.
    ///
    /// # Errors
    /// As for [`JobLaw::prices`].
    pub fn prices_from(&self, cancellation: Cancellation, tables: &mut Tables) -> Result<Prices, SolveError> {
        self.prices_with(cancellation, Some(tables))
    }

    /// The mean and the variance of like branches without copies, and of all of those with copies; others have no quicker way.
    fn moments_in(&self, tables: &mut Tables) -> Option<Moments> {
        let (member, k, n) = self.alike()?;
        if let Some(profile) = tables.profile(self) {
            return if n == 1 { None } else { profile.moments(k, n) };
        }
        if k < n
            || member.starts.len() == 1
            || self.end().is_finite()
            || member.law.tail_index() < f64::INFINITY
        {
            return None;
        }
        tables.branch(member).table.as_ref()?.slowest_of(n as f64)
    }

    /// The busy time of one branch of a group, where nothing but the branch itself decides it.
    pub(super) fn busy_in(
        &self,
        group: usize,
        tables: &mut Tables,
        find: impl FnOnce() -> Result<f64, SolveError>,
    ) -> Result<f64, SolveError> {
        let branch = tables.branch(&self.members[group]);
        if let Some(busy) = branch.busy {
            return Ok(busy);
        }
        let busy = find()?;
        branch.busy = Some(busy);
        Ok(busy)
    }
}

impl Tables {
    /// The values of the one kind of branches that a job without copies or bounds of time has.
    pub(super) fn profile(&mut self, job: &JobLaw) -> Option<&mut Profile> {
        let (member, ..) = job.alike()?;
        let plain = member.starts.len() == 1 && job.end().is_infinite();
        let known = plain.then(|| self.branch(member))?;
        if !known.profiled {
            known.profiled = true;
            known.profile = Profile::new(&known.law);
        }
        known.profile.as_mut()
    }

    fn branch(&mut self, member: &Member) -> &mut Branch {
        let same = |branch: &Branch| {
            branch.starts == member.starts && branch.expires == member.expires && branch.law == member.law
        };
        let index = self.branches.iter().position(same).unwrap_or_else(|| {
            self.branches.truncate(MOST_KEPT - 1);
            self.branches.push(Branch {
                law: member.law.clone(),
                starts: member.starts.clone(),
                expires: member.expires,
                table: Table::new(&member.law),
                busy: None,
                profile: None,
                profiled: false,
            });
            self.branches.len() - 1
        });
        &mut self.branches[index]
    }
}

impl Table {
    /// `None` where an answer may never come, or times are out of the ordinary.
    fn new(law: &Law) -> Option<Table> {
        /// Hazards at which panels end, beside those one apart.
        const EARLY: [f64; 8] = [1e-13, 1e-9, 1e-6, 1e-4, 3e-3, 0.03, 0.15, 0.4];
        const LATE: [f64; 6] = [30.0, 40.0, 55.0, 75.0, 100.0, 140.0];
        let hazards = EARLY.into_iter().chain((1..=26).map(f64::from)).chain(LATE);
        let centre = law.inverse_hazard(LN_2);
        let mut stops: Vec<f64> = hazards.map(|h| law.inverse_hazard(h)).collect();
        let last = stops[stops.len() - 1];
        if !(centre > 0.0 && last.is_finite()) {
            return None;
        }
        law.kinks(&mut stops);
        stops.extend([law.inverse_hazard(0.0), centre]);
        stops.retain(|t| *t <= last);
        let mut stops = thinned(stops);
        stops.insert(0, 0.0);
        let panel = |pair: &[f64]| {
            let node = |(i, (t, weight)): (usize, (f64, f64))| {
                // The quotient of the two weights is that of the rule.
                let (_, kronrod, gauss) = RULE[i.div_ceil(2)];
                Node {
                    ln_answered: -complement(law.hazard(t)),
                    weights: [weight, weight * (gauss / kronrod)],
                    off: (t - centre).abs(),
                }
            };
            let end = -complement(law.hazard(pair[1]));
            Panel {
                late: pair[0] >= centre,
                end,
                nodes: nodes(pair[0], pair[1]).enumerate().map(node).collect(),
            }
        };
        let panels = stops.windows(2).map(panel).collect();
        Some(Table { centre, panels })
    }

    /// Mean and variance of the slowest of n; `None` where the panels are too coarse for it.
    fn slowest_of(&self, n: f64) -> Option<Moments> {
        /// Of an integral.
        const PRECISION: f64 = 1e-11;
        /// What `F^n` is nothing below, as a logarithm.
        const NOTHING: f64 = -50.0;
        let (mut sums, mut errors, mut last) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        for panel in &self.panels {
            if !panel.late && n * panel.end < NOTHING {
                continue;
            }
            let mut found = [[0.0; 3]; 2];
            for node in &panel.nodes {
                let ln = n * node.ln_answered;
                let value = if panel.late { -libm::expm1(ln) } else { libm::exp(ln) };
                let (early, late) = if panel.late { (0.0, value) } else { (value, 0.0) };
                for (sums, weight) in found.iter_mut().zip(node.weights) {
                    sums[0] += weight * early;
                    sums[1] += weight * late;
                    sums[2] += weight * value * node.off;
                }
            }
            let [kronrod, gauss] = found;
            for i in 0..3 {
                let off = (kronrod[i] - gauss[i]).abs();
                sums[i] += kronrod[i];
                errors[i] += if off == 0.0 {
                    0.0
                } else {
                    off * libm::sqrt(200.0 * 200.0 * 200.0 * off / kronrod[i]).min(1.0)
                };
            }
            last = kronrod;
        }
        let [below, above, square] = sums;
        let total = [below + above, below + above, square];
        let precise = (0..3).all(|i| errors[i] + last[i] <= PRECISION * total[i]);
        let off = above - below;
        let (mean, variance) = (self.centre + off, 2.0 * square - off * off);
        (precise && variance > 1e-6 * square).then_some(Moments { mean, variance })
    }
}
