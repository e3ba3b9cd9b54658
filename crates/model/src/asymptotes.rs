//! What extreme-value theory says of the slowest of n, beside the exact value.
//!
//! | symbol | meaning |
//! |---|---|
//! | n | how many independent values the maximum is taken over |
//! | φ, Q | density and upper tail of the standard normal |
//! | b₁ | leading order, `√(2 ln n)` |
//! | b₂ | with the ln ln n term, `b₁ - (ln ln n + ln 4π) / (2 b₁)` |
//! | b | exact centre, `Q(b) = 1/n` |
//! | a | exact scale, `1 / (n φ(b))` |
//! | G | a standard Gumbel value, mean γ = 0.5772…, median `-ln ln 2` |
//!
//! The maximum of n standard normals, less a centre and over a scale, tends to G (Fisher and Tippett, Proc. Cambridge
//! Philosophical Society 24, 1928; Gnedenko, Annals of Mathematics 44, 1943). No choice of constants makes the distance
//! fall faster than 1 / ln n (Hall, Journal of Applied Probability 16, 1979): the textbook's b₂ and 1/b₁ are slower still.

use core::f64::consts::{LN_2, PI};

use crate::moments::Moments;
use crate::order;
use crate::special::{branch_hazard, normal_hazard_rate, normal_quantile};
use crate::{Group, GroupedPlan, Law, LawError, SolveError};

/// Asymptotes of the maximum of n independent values, with the exact mean and median that they stand beside.
///
/// They say how the maximum *scales* with n and are no estimates of it. For log-normal latencies with sigma 1 the leading
/// order overstates the median of the maximum by 92 % at n = 8 and still by 46 % at n = 10^9; the Gumbel median with exact
/// constants is the one that is near, within 0.3 % from n = 16 on for standard normals.
///
/// ```
/// use fantail_model::Asymptotes;
///
/// let slowest = Asymptotes::of_log_normal(10_000, 1.0, 1.0)?;
/// assert_eq!(format!("{:.1}", slowest.leading), "73.1");
/// assert_eq!(format!("{:.1}", slowest.median.exact), "45.2");
/// assert!(slowest.median.gap(slowest.leading) > 0.6);
/// assert!(slowest.median.gap(slowest.median.gumbel).abs() < 0.002);
/// # Ok::<(), fantail_model::SolveError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asymptotes {
    /// How many values.
    pub n: u64,
    /// The value at b₁, the leading order.
    pub leading: f64,
    /// The value at b₂, with the ln ln n term; far from anything for n below 8.
    pub second: f64,
    /// The value at the exact centre b: one of n values is expected beyond it.
    pub centre: f64,
    /// Of the mean.
    pub mean: Estimates,
    /// Of the median.
    pub median: Estimates,
}

/// What the Gumbel law makes of a readout of the maximum, and the readout itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimates {
    /// With the textbook's constants: centre b₂, scale 1/b₁.
    pub textbook: f64,
    /// With the exact constants: centre b, scale a.
    pub gumbel: f64,
    /// The exact value.
    pub exact: f64,
}

impl Estimates {
    /// How far a value is above the exact one, as a share of it: 0.5 is half too much; negative is too little.
    pub fn gap(&self, value: f64) -> f64 {
        (value - self.exact) / self.exact
    }
}

impl Asymptotes {
    /// Of n standard normals, in standard deviations.
    ///
    /// # Errors
    /// [`SolveError::Law`] for an n outside 2 to 10^12.
    pub fn of_normal(n: u64) -> Result<Asymptotes, SolveError> {
        let Constants { b1, b2, b, a } = Constants::new(n)?;
        let Some(Moments { mean, .. }) = order::of_values(n, n, &normal_quantile) else {
            return Err(SolveError::Law(LawError::NotConverged { what: "mean", error: 1.0 }));
        };
        Ok(Asymptotes {
            n,
            leading: b1,
            second: b2,
            centre: b,
            mean: Estimates { textbook: b2 + EULER / b1, gumbel: b + EULER * a, exact: mean },
            median: Estimates {
                textbook: b2 + GUMBEL_MEDIAN / b1,
                gumbel: b + GUMBEL_MEDIAN * a,
                exact: normal_quantile(branch_hazard(LN_2, n, n)),
            },
        })
    }

    /// Of n log-normal latencies, in seconds: `median e^(sigma z)` at each value z of the standard normal.
    ///
    /// The mean of the Gumbel law is taken after the exponential, `E e^(sigma (b + a G)) = e^(sigma b) Γ(1 - sigma a)`,
    /// and is infinite from `sigma a = 1` on, though no log-normal mean is.
    ///
    /// # Errors
    /// [`SolveError::Law`] for an n outside 2 to 10^12, and where [`Law::log_normal`] refuses; an integral that misses its
    /// precision (not seen for any tested).
    pub fn of_log_normal(n: u64, median: f64, sigma: f64) -> Result<Asymptotes, SolveError> {
        let Constants { b1, b2, b, a } = Constants::new(n)?;
        let law = Law::log_normal(median, sigma)?;
        let time = |z: f64| median * libm::exp(sigma * z);
        let gumbel_mean = |centre: f64, scale: f64| {
            let excess = sigma * scale;
            if excess < 1.0 { time(centre) * libm::tgamma(1.0 - excess) } else { f64::INFINITY }
        };
        let job = GroupedPlan::all(Group::new(n, law.clone())).solve()?;
        Ok(Asymptotes {
            n,
            leading: time(b1),
            second: time(b2),
            centre: time(b),
            mean: Estimates {
                textbook: gumbel_mean(b2, 1.0 / b1),
                gumbel: gumbel_mean(b, a),
                exact: job.mean()?.value,
            },
            median: Estimates {
                textbook: time(b2 + GUMBEL_MEDIAN / b1),
                gumbel: time(b + GUMBEL_MEDIAN * a),
                exact: law.inverse_hazard(branch_hazard(LN_2, n, n)),
            },
        })
    }
}

/// Euler's γ, the mean of G.
const EULER: f64 = 0.577_215_664_901_532_9;
/// `-ln ln 2`, the median of G.
const GUMBEL_MEDIAN: f64 = 0.366_512_920_581_664_3;

/// Centres and scale for the maximum of n standard normals.
struct Constants {
    b1: f64,
    b2: f64,
    b: f64,
    a: f64,
}

impl Constants {
    fn new(n: u64) -> Result<Constants, LawError> {
        let count = n as f64;
        LawError::check("n", count, (2..=1_000_000_000_000).contains(&n), "2 to 10^12 values")?;
        let ln = libm::log(count);
        let b1 = libm::sqrt(2.0 * ln);
        let b2 = b1 - (libm::log(ln) + libm::log(4.0 * PI)) / (2.0 * b1);
        // n = 2 is the median: exactly 0, through the side that cancels nothing.
        let b = if n == 2 { 0.0 } else { normal_quantile(ln) };
        // φ(b) / Q(b) with Q(b) = 1/n.
        let a = 1.0 / normal_hazard_rate(b);
        Ok(Constants { b1, b2, b, a })
    }
}
