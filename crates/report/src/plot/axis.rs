//! Axes: where a value lies, and which values have labels.

use crate::number;

/// A range of values along one side of a panel.
pub struct Axis {
    /// What its values are of.
    pub label: String,
    /// How they are spaced.
    pub scale: Scale,
    /// What they are.
    pub unit: Unit,
    /// The value at its start, finite.
    pub from: f64,
    /// That at its end, finite and another.
    pub to: f64,
}

/// How values are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By factors; values are above zero.
    Log,
    /// Shares of jobs that are left, 1 at the start; each factor of ten is one more nine of those that are not.
    Nines,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Time,
    /// From 0 to 1, as a percentage.
    Share,
    /// A plain number.
    Number,
    /// A whole number.
    Count,
}

/// A labelled value.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where it is on the axis.
    pub at: f64,
    /// What is written there.
    pub label: String,
}

impl Axis {
    /// An axis over a range that holds all `values` that are finite, from 0 where `from_zero`; `None` when there are none.
    pub fn over(
        label: &str,
        scale: Scale,
        unit: Unit,
        values: impl IntoIterator<Item = f64>,
    ) -> Option<Axis> {
        let fits = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let (low, high) = values
            .into_iter()
            .filter(fits)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let (from, to) = match scale {
            Scale::Linear if low == high => {
                (low.min(0.0), if high > 0.0 { high } else { low.min(0.0) + 1.0 })
            }
            Scale::Log | Scale::Nines if low == high => (low / 2.0, high * 2.0),
            _ => (low, high),
        };
        let (from, to) = if scale == Scale::Nines { (to, from) } else { (from, to) };
        Some(Axis { label: label.to_owned(), scale, unit, from, to })
    }

    /// Where a value lies, 0 at the start and 1 at the end; NaN where it has no place.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.bent(self.from), self.bent(self.to));
        (self.bent(value) - low) / (high - low)
    }

    fn bent(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => libm::log(value),
            Scale::Nines => -libm::log(value),
        }
    }

    /// At most about `most` labelled values.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => self.linear(most),
            Scale::Log => self.log(most),
            Scale::Nines => self.nines(most),
        }
    }

    /// At most about `most` labelled values whose labels keep apart: each takes a share of the axis, a gap included.
    pub fn ticks_apart(&self, most: usize, share: impl Fn(&str) -> f64) -> Vec<Tick> {
        let apart = |ticks: &[Tick]| {
            ticks.windows(2).all(|pair| {
                let needed = f64::midpoint(share(&pair[0].label), share(&pair[1].label));
                self.place(pair[1].at) - self.place(pair[0].at) >= needed
            })
        };
        (1..=most.max(1)).rev().map(|most| self.ticks(most)).find(|ticks| apart(ticks)).unwrap_or_default()
    }

    fn holds(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.place(value))
    }

    /// Multiples of 1, 2 or 5 times a power of ten; of times, of the unit that suits the longest.
    fn linear(&self, most: usize) -> Vec<Tick> {
        let largest = self.from.abs().max(self.to.abs());
        let (name, scale) = match self.unit {
            Unit::Time if largest < LONG => number::unit(largest),
            Unit::Time => ("s", 1.0),
            Unit::Share => ("%", 0.01),
            Unit::Number | Unit::Count => ("", 1.0),
        };
        // Of long numbers a power of ten is the same for all.
        let power = libm::log10(largest / scale * (1.0 + 1e-9)).floor() as i32;
        let power = if (-4..6).contains(&power) { 0 } else { power };
        let scale = scale * 10_f64.powi(power);
        let (from, to) = (self.from / scale, self.to / scale);
        let least = (to - from) / most.max(1) as f64;
        let step = step(if self.unit == Unit::Count && power == 0 { least.max(1.0) } else { least });
        let decimals = (-libm::log10(step * (1.0 + 1e-9)).floor()).max(0.0) as usize;
        let count = ((to / step + 1e-9).floor() - (from / step - 1e-9).ceil()) as usize + 1;
        let first = (from / step - 1e-9).ceil();
        (0..count)
            .map(|i| {
                // Adding zero makes a zero of a negative one.
                let multiple = (first + i as f64) * step + 0.0;
                let digits = match (multiple, power) {
                    (0.0, _) => "0".to_owned(),
                    (_, 0) => format!("{multiple:.decimals$}"),
                    _ => format!("{multiple:.decimals$}·10{}", superscript(power)),
                };
                Tick { at: multiple * scale, label: join(digits.replace('-', "−"), name) }
            })
            .collect()
    }

    /// Powers of ten, with 2 and 5 between them where there is room.
    fn log(&self, most: usize) -> Vec<Tick> {
        let decades = (libm::log10(self.from).floor() as i32, libm::log10(self.to).ceil() as i32);
        let at = |mantissas: &[f64], every: i32| -> Vec<f64> {
            let powers = (decades.0..=decades.1).filter(|power| power.rem_euclid(every) == 0);
            powers
                .flat_map(|power| mantissas.iter().map(move |mantissa| mantissa * 10_f64.powi(power)))
                .filter(|value| self.holds(*value))
                .collect()
        };
        let choices: [&[f64]; 2] = [&[1.0, 2.0, 5.0], &[1.0, 3.0]];
        let dense = choices.into_iter().map(|mantissas| at(mantissas, 1)).find(|values| values.len() <= most);
        // All powers of a float are within a thousand.
        let sparse = || (1..1_000).map(|every| at(&[1.0], every)).find(|values| values.len() <= most.max(2));
        let values = dense.or_else(sparse).unwrap_or_default();
        if values.len() < 2 {
            return self.linear(most).into_iter().filter(|tick| tick.at > 0.0).collect();
        }
        values.into_iter().map(|value| Tick { at: value, label: self.word(value) }).collect()
    }

    /// 0 %, 90 %, 99 % and so on; the median where there is room.
    fn nines(&self, most: usize) -> Vec<Tick> {
        let last = (-libm::log10(self.to) + 1e-9).floor().max(0.0) as usize;
        let every = last.div_ceil(most.max(2) - 1).max(1);
        let mut ticks: Vec<Tick> = (0..=last)
            .step_by(every)
            .map(|nines| Tick { at: libm::pow(0.1, nines as f64), label: nines_label(nines) })
            .collect();
        if last <= 5 {
            ticks.insert(1, Tick { at: 0.5, label: "50 %".to_owned() });
        }
        ticks.retain(|tick| self.holds(tick.at));
        ticks
    }

    /// A value that has one digit.
    fn word(&self, value: f64) -> String {
        let (name, scale) = match self.unit {
            // Minutes and hours are no powers of ten.
            Unit::Time if (1e-9..100.0).contains(&value) => number::unit(value),
            Unit::Time => ("s", 1.0),
            Unit::Share => ("%", 0.01),
            Unit::Number | Unit::Count => ("", 1.0),
        };
        let value = value / scale;
        let digits = if (1e-4..1e5).contains(&value) {
            let decimals = (-libm::log10(value * (1.0 + 1e-9)).floor()).max(0.0) as usize;
            format!("{value:.decimals$}")
        } else {
            let power = libm::log10(value * (1.0 + 1e-9)).floor() as i32;
            let mantissa = (value / 10_f64.powi(power)).round();
            let power = superscript(power);
            if mantissa == 1.0 { format!("10{power}") } else { format!("{mantissa}·10{power}") }
        };
        join(digits, name)
    }
}

/// From here on, in seconds, times on an axis are powers of ten of a second, not many hours.
const LONG: f64 = 3.6e8;

/// A step of 1, 2 or 5 times a power of ten, at least `least`.
fn step(least: f64) -> f64 {
    let power = 10_f64.powi(libm::log10(least).floor() as i32);
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|mantissa| mantissa * power)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(10.0 * power)
}

fn join(digits: String, unit: &str) -> String {
    if unit.is_empty() { digits } else { format!("{digits} {unit}") }
}

/// 0 %, 90 %, 99 %, 99.9 %: a share with so many nines.
fn nines_label(nines: usize) -> String {
    match nines {
        0 => "0 %".to_owned(),
        1 => "90 %".to_owned(),
        2 => "99 %".to_owned(),
        _ => format!("99.{} %", "9".repeat(nines - 2)),
    }
}

fn superscript(power: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        _ => char::from_u32('⁰' as u32 + u32::from(c) - u32::from('0')).unwrap_or(c),
    };
    power.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, unit: Unit, from: f64, to: f64) -> Vec<String> {
        let axis = Axis { label: String::new(), scale, unit, from, to };
        axis.ticks(7).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_numbers_that_people_would_choose() {
        assert_eq!(
            labels(Scale::Linear, Unit::Time, 0.0, 3.2),
            ["0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s"]
        );
        assert_eq!(
            labels(Scale::Linear, Unit::Time, -0.1, 0.25),
            ["−100 ms", "−50 ms", "0 ms", "50 ms", "100 ms", "150 ms", "200 ms", "250 ms"]
        );
        assert_eq!(
            labels(Scale::Linear, Unit::Share, 0.0, 1.0),
            ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
        );
        assert_eq!(
            labels(Scale::Log, Unit::Number, 1.0, 1_000.0),
            ["1", "3", "10", "30", "100", "300", "1000"]
        );
        assert_eq!(labels(Scale::Log, Unit::Number, 1.0, 1e9), ["1", "100", "10000", "10⁶", "10⁸"]);
        assert_eq!(
            labels(Scale::Log, Unit::Time, 0.02, 3.0),
            ["20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s", "2 s"]
        );
        assert_eq!(
            labels(Scale::Nines, Unit::Share, 1.0, 1e-4),
            ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]
        );
    }

    #[test]
    fn long_numbers_share_a_power_of_ten() {
        let linear = |unit, from, to| labels(Scale::Linear, unit, from, to);
        assert_eq!(
            linear(Unit::Time, -1e28, 2.2e28),
            ["−1.0·10²⁸ s", "−0.5·10²⁸ s", "0 s", "0.5·10²⁸ s", "1.0·10²⁸ s", "1.5·10²⁸ s", "2.0·10²⁸ s"]
        );
        assert_eq!(
            linear(Unit::Number, 0.0, 2.5e-27),
            ["0", "0.5·10⁻²⁷", "1.0·10⁻²⁷", "1.5·10⁻²⁷", "2.0·10⁻²⁷", "2.5·10⁻²⁷"]
        );
        assert_eq!(linear(Unit::Count, 5.0, 7.0), ["5", "6", "7"]);
        assert_eq!(
            labels(Scale::Log, Unit::Time, 1e-13, 3e9),
            ["10⁻¹² s", "10 ns", "100 µs", "1 s", "10000 s", "10⁸ s"]
        );
    }

    #[test]
    fn labels_keep_apart() {
        for (scale, unit, from, to) in [
            (Scale::Linear, Unit::Time, 0.999_998, 1.000_004),
            (Scale::Linear, Unit::Time, 0.0, 1e300),
            (Scale::Linear, Unit::Number, 0.0, 1e-300),
            (Scale::Log, Unit::Time, 1e-300, 1e300),
            (Scale::Log, Unit::Count, 1.0, 1e9),
            (Scale::Nines, Unit::Share, 1.0, 1e-9),
        ] {
            let axis = Axis { label: String::new(), scale, unit, from, to };
            for columns in [10.0, 30.0, 100.0] {
                let share = |label: &str| (label.chars().count() + 1) as f64 / columns;
                let ticks = axis.ticks_apart(9, share);
                let starts = ticks.iter().map(|tick| axis.place(tick.at) - share(&tick.label) / 2.0);
                let ends = ticks.iter().map(|tick| axis.place(tick.at) + share(&tick.label) / 2.0);
                assert!(starts.skip(1).zip(ends).all(|(start, end)| start >= end - 1e-9), "{ticks:?}");
                assert!(
                    !ticks.is_empty() && ticks.iter().all(|tick| tick.label.chars().count() < 14),
                    "{ticks:?}"
                );
            }
        }
    }

    #[test]
    fn a_value_has_its_place_on_every_scale() {
        let place = |scale, value| {
            Axis { label: String::new(), scale, unit: Unit::Number, from: 1.0, to: 100.0 }.place(value)
        };
        assert!((place(Scale::Log, 10.0) - 0.5).abs() < 1e-15);
        assert_eq!(place(Scale::Linear, 1.0), 0.0);
        let nines =
            Axis { label: String::new(), scale: Scale::Nines, unit: Unit::Share, from: 1.0, to: 1e-4 };
        assert!((nines.place(0.01) - 0.5).abs() < 1e-15);
        assert_eq!(nines.place(0.0), f64::INFINITY);
    }
}
