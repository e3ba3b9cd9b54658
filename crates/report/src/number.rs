//! Numbers as people read them.

use fantail_model::tune::Measure;

/// Units of time with their seconds, the shortest first.
pub(crate) const UNITS: [(&str, f64); 6] =
    [("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3_600.0)];

/// Below this many of a unit the next one is not used yet: `599 s`, `10.0 min`.
const MOST: [f64; 5] = [1e3, 1e3, 1e3, 600.0, 600.0];

/// A time in seconds with three significant digits: `812 ms`, `2.09 s`, `∞`.
pub fn duration(seconds: f64) -> String {
    let (number, unit) = parts(seconds);
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// A time in seconds with six significant digits: `10.3730 s`.
pub fn precise(seconds: f64) -> String {
    if !seconds.is_finite() {
        return duration(seconds);
    }
    let (name, scale) = unit(seconds);
    let number = seconds / scale;
    let decimals = (5 - libm::log10(number.abs().max(1.0)).floor() as i32).max(0) as usize;
    if number < 1e6 { format!("{number:.decimals$} {name}") } else { format!("{number:.5e} {name}") }
}

/// Times for one column, their units below each other.
pub fn durations(seconds: &[f64]) -> Vec<String> {
    let parts: Vec<_> = seconds.iter().map(|&seconds| parts(seconds)).collect();
    let unit_width = parts.iter().map(|(_, unit)| unit.chars().count()).max().unwrap_or(0);
    parts.into_iter().map(|(number, unit)| format!("{number} {unit:unit_width$}")).collect()
}

/// The unit that suits a time in seconds, with its own seconds.
pub fn unit(seconds: f64) -> (&'static str, f64) {
    // What is shown is what chooses the unit: 999.9 ms are 1.00 s.
    let seconds = rounded(seconds.abs());
    let fits = |(&(_, scale), most): (&(&str, f64), &f64)| rounded(seconds / scale) < *most;
    UNITS.iter().zip(&MOST).find(|pair| fits(*pair)).map_or(UNITS[UNITS.len() - 1], |(unit, _)| *unit)
}

fn parts(seconds: f64) -> (String, &'static str) {
    if !seconds.is_finite() {
        return ("∞".to_owned(), "");
    }
    let (unit, scale) = if seconds == 0.0 { ("s", 1.0) } else { unit(seconds) };
    (significant(seconds / scale), unit)
}

/// To three significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().expect("a float that was just printed")
}

/// A number with three significant digits.
fn significant(value: f64) -> String {
    let value = rounded(value);
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let digits_before = libm::log10(magnitude).floor() as i32 + 1;
    let decimals = (3 - digits_before).max(0) as usize;
    format!("{value:.decimals$}")
}

/// An amount of money: `0.004`.
pub fn amount(value: f64) -> String {
    if !value.is_finite() {
        return "∞".to_owned();
    }
    let digits = significant(value);
    if digits.contains('.') && !digits.contains('e') {
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        digits
    }
}

/// A chance or share as a percentage, with as many decimals as show how far it is from 0 and 100: `95.1 %`, `99.984 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let to_end = percent.abs().min((100.0 - percent).abs());
    if to_end == 0.0 {
        return format!("{percent:.0} %");
    }
    if to_end < 1e-3 {
        return if percent.abs() < 1.0 { format!("{percent:.1e} %") } else { "> 99.999 %".to_owned() };
    }
    // Two significant digits of the distance to the nearer end, but at least one decimal.
    let decimals = (1 - libm::log10(to_end).floor() as i32).max(1) as usize;
    format!("{percent:.decimals$} %")
}

/// A relative change, none where it is what rounding leaves of none.
pub fn settled(share: f64) -> f64 {
    if share.abs() < 1e-12 { 0.0 } else { share }
}

/// A relative change: `+5.0 %`.
pub fn change(share: f64) -> String {
    if share.is_infinite() {
        return "∞".to_owned();
    }
    let share = settled(share);
    let sign = if share > 0.0 { "+" } else { "" };
    let percent = 100.0 * share;
    let magnitude = percent.abs();
    if magnitude == 0.0 {
        "0 %".to_owned()
    } else if magnitude >= 1.0 {
        format!("{sign}{percent:.1} %")
    } else {
        format!("{sign}{} %", significant_two(percent))
    }
}

/// A number below 1 with two significant digits.
fn significant_two(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude < 1e-6 {
        return format!("{value:.1e}");
    }
    let decimals = (1 - libm::log10(magnitude).floor() as i32).max(1) as usize;
    format!("{value:.decimals$}")
}

/// What a goal is about, with its unit.
pub fn figure(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Quantile(_) | Measure::Mean => duration(value),
        Measure::Complete | Measure::Partial | Measure::Failed => percent(value),
        Measure::ExtraRequests | Measure::ExtraBusy => change(value),
        Measure::Cost => amount(value),
    }
}

/// What lies between two numbers with their units, the unit left out where it is that of both: `5.36–5.63`.
pub fn range(low: &str, high: &str) -> String {
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((low, unit)), Some((high, same))) if unit == same => format!("{low}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// The same where nothing else says the unit: `5.36–5.63 s`, `≥ 5.36 s`.
pub fn span(low: &str, high: &str) -> String {
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        // Where even the low end is that near to all of it, the high one says no more.
        _ if low == high || low.starts_with('>') => low.to_owned(),
        _ if high == "∞" => format!("≥ {low}"),
        (Some((_, unit)), Some((_, same))) if unit == same => format!("{} {unit}", range(low, high)),
        _ => range(low, high),
    }
}

/// Numbers that are swept, in one unit and with as many decimals as tell them apart, so that they are lined up; none
/// where that takes too many.
pub fn steps(values: &[f64], unit: (&str, f64)) -> Option<Vec<String>> {
    /// How far a label may be from its value, as a share of the way to the next.
    const OFF: f64 = 0.01;
    /// The same as a share of the value.
    const OFF_ITSELF: f64 = 0.005;
    const MOST_DECIMALS: usize = 4;
    let (name, scale) = unit;
    let scaled: Vec<f64> = values.iter().map(|value| value / scale).collect();
    let gaps = scaled.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let gap = gaps.fold(f64::INFINITY, f64::min);
    let label = |value: &f64, decimals: usize| format!("{value:.decimals$}");
    let suits = |decimals: &usize| {
        scaled.iter().all(|value| {
            let off = (label(value, *decimals).parse::<f64>().unwrap_or(f64::NAN) - value).abs();
            off <= (OFF * gap).min(OFF_ITSELF * value.abs())
        })
    };
    let decimals = (0..=MOST_DECIMALS).find(suits)?;
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    Some(scaled.iter().map(|value| format!("{}{name}", label(value, decimals))).collect())
}

/// `1 branch`, `5 branches`: a count with the word it counts.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A whole number, its thousands apart where it has more than four digits: `1,000,000`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if digits.len() > 4 && i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_three_digits_and_the_unit_that_suits_them() {
        let check = |seconds, text| assert_eq!(duration(seconds), text, "{seconds:e}");
        check(0.0, "0 s");
        check(1.0, "1.00 s");
        check(2.0949, "2.09 s");
        check(0.8, "800 ms");
        check(0.999_6, "1.00 s");
        check(0.099_96, "100 ms");
        check(12.34, "12.3 s");
        check(599.4, "599 s");
        check(600.0, "10.0 min");
        check(36_000.0, "10.0 h");
        check(31_536_000.0, "8760 h");
        check(1.234e-5, "12.3 µs");
        check(1e-9, "1.00 ns");
        check(1e-15, "1.00e-6 ns");
        check(3.6e12, "1.00e9 h");
        check(f64::INFINITY, "∞");
    }

    #[test]
    fn the_durations_of_a_column_have_their_units_below_each_other() {
        assert_eq!(durations(&[0.812, 2.0]), ["812 ms", "2.00 s "]);
        assert_eq!(durations(&[1.5, 2.0]), ["1.50 s", "2.00 s"]);
    }

    #[test]
    fn a_percentage_shows_how_far_it_is_from_none_and_all() {
        let check = |share, text| assert_eq!(percent(share), text, "{share:e}");
        check(0.0, "0 %");
        check(1.0, "100 %");
        check(0.0773, "7.7 %");
        check(0.5, "50.0 %");
        check(0.9512, "95.1 %");
        check(0.999_84, "99.984 %");
        check(0.000_16, "0.016 %");
        check(3e-12, "3.0e-10 %");
        check(1.0 - 3e-12, "> 99.999 %");
    }

    #[test]
    fn a_change_has_its_sign() {
        let check = |share, text| assert_eq!(change(share), text, "{share:e}");
        check(0.05, "+5.0 %");
        check(-0.011, "-1.1 %");
        check(0.0, "0 %");
        check(4.4e-16, "0 %");
        check(-4.4e-16, "0 %");
        check(2e-12, "+2.0e-10 %");
        check(0.000_51, "+0.051 %");
        check(1.0, "+100.0 %");
        check(f64::INFINITY, "∞");
    }

    #[test]
    fn an_amount_has_no_digits_that_say_nothing() {
        let check = |value, text| assert_eq!(amount(value), text, "{value:e}");
        check(0.004, "0.004");
        check(12.0, "12");
        check(1_234.0, "1230");
        check(0.012_34, "0.0123");
    }

    #[test]
    fn a_span_says_its_unit_once() {
        let check = |low, high, text| assert_eq!(span(low, high), text);
        check("5.36 s", "5.63 s", "5.36–5.63 s");
        check("812 ms", "1.20 s", "812 ms–1.20 s");
        check("5.36 s", "∞", "≥ 5.36 s");
        check("95.1 %", "95.1 %", "95.1 %");
        check("> 99.999 %", "100 %", "> 99.999 %");
    }

    #[test]
    fn what_is_swept_has_one_unit_and_the_decimals_that_tell_it_apart() {
        let check = |values: &[f64], unit, labels: &[&str]| {
            assert_eq!(
                steps(values, unit).as_deref(),
                Some(&labels.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
                "{values:?}"
            );
        };
        check(&[0.5, 1.0, 5.0], ("s", 1.0), &["0.5 s", "1.0 s", "5.0 s"]);
        check(&[1.0, 2.0], ("s", 1.0), &["1 s", "2 s"]);
        check(&[0.5, 0.5 + 4.5 / 7.0], ("s", 1.0), &["0.50 s", "1.14 s"]);
        check(&[0.2, 0.4 - 0.2 / 3.0], ("", 1.0), &["0.200", "0.333"]);
        check(&[2.0], ("s", 1.0), &["2 s"]);
        assert_eq!(steps(&[1e-9, 5.0], ("s", 1.0)), None);
    }

    #[test]
    fn counts_are_grouped_and_agree_with_their_word() {
        let check = |n, text| assert_eq!(count(n, "branch", "branches"), text);
        check(1, "1 branch");
        check(8, "8 branches");
        check(1_000, "1000 branches");
        check(1_000_000_000, "1,000,000,000 branches");
    }
}
