//! Spans of time as text and as floats.

use fantail_core::Time;
use proptest::prelude::*;

#[test]
fn texts_are_read_exactly() {
    for (text, nanos) in [
        ("0s", 0),
        ("1ns", 1),
        ("1us", 1_000),
        ("1µs", 1_000),
        ("1ms", 1_000_000),
        ("1s", 1_000_000_000),
        ("1m", 60_000_000_000),
        ("1min", 60_000_000_000),
        ("1h", 3_600_000_000_000),
        ("2.5s", 2_500_000_000),
        (" 2.5 s ", 2_500_000_000),
        (".5s", 500_000_000),
        ("5.s", 5_000_000_000),
        ("0.1s", 100_000_000),
        ("0.000000001s", 1),
        ("0.0000000019s", 1),
        ("1.000000000000000000000000000001s", 1_000_000_000),
        ("0.0000000000003h", 1),
        ("0.00000000000028h", 1),
        ("0.99999999999999999999999999999999h", 3_599_999_999_999),
        ("1h\u{a0}", 3_600_000_000_000),
        ("8760h", 31_536_000_000_000_000),
        ("00012ms", 12_000_000),
        ("9007199.254740993s", 9_007_199_254_740_993),
        ("1e3s", 1_000_000_000_000),
        ("1.29E+2 ms", 129_000_000),
        ("1.00e-6s", 1_000),
        ("12.345e1s", 123_450_000_000),
        ("12345e-4s", 1_234_500_000),
        ("1e-99999999999s", 0),
        ("0e99s", 0),
    ] {
        assert_eq!(text.parse(), Ok(Time::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn what_is_no_span_is_said_with_what_was_expected() {
    let units = "use ns, us, ms, s, min or h";
    let number = "is not a duration: write a number with a unit, like 2.5s";
    let negative = "is negative: a duration is at least 0s";
    let long = "is too long: a duration is at most 365 days";
    for (text, said) in [
        ("2.5", "`2.5` has no unit: write 2.5s or 2.5ms".to_owned()),
        ("0", "`0` has no unit: write 0s or 0ms".to_owned()),
        (" 7 ", "`7` has no unit: write 7s or 7ms".to_owned()),
        ("5sec", format!("`5sec` has the unknown unit `sec`: {units}")),
        ("5 S", format!("`5 S` has the unknown unit `S`: {units}")),
        ("1es", format!("`1es` has the unknown unit `es`: {units}")),
        ("1e3", "`1e3` has no unit: write 1e3s or 1e3ms".to_owned()),
        ("1e15s", format!("`1e15s` {long}")),
        ("1e99999999999s", format!("`1e99999999999s` {long}")),
        ("2,5s", format!("`2,5s` has the unknown unit `,5s`: {units}")),
        ("5s5s", format!("`5s5s` has the unknown unit `s5s`: {units}")),
        ("5μs", format!("`5μs` has the unknown unit `μs`: {units}")),
        ("", format!("`` {number}")),
        ("s", format!("`s` {number}")),
        (".", format!("`.` {number}")),
        (".s", format!("`.s` {number}")),
        ("1.2.3s", format!("`1.2.3s` {number}")),
        ("+5s", format!("`+5s` {number}")),
        ("nan", format!("`nan` {number}")),
        ("inf s", format!("`inf s` {number}")),
        ("٣s", format!("`٣s` {number}")),
        ("-5s", format!("`-5s` {negative}")),
        ("-0s", format!("`-0s` {negative}")),
        ("8760.0000000000003h", format!("`8760.0000000000003h` {long}")),
        ("8761h", format!("`8761h` {long}")),
        ("99999999999999999999s", format!("`99999999999999999999s` {long}")),
        ("18446744073709551615ns", format!("`18446744073709551615ns` {long}")),
        ("18446744073709551616ns", format!("`18446744073709551616ns` {long}")),
    ] {
        assert_eq!(text.parse::<Time>().unwrap_err().to_string(), said);
    }
}

#[test]
fn spans_are_shown_in_the_largest_unit_that_fits() {
    for (nanos, text) in [
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (1_000, "1µs"),
        (1_001, "1.001µs"),
        (1_500_000, "1.5ms"),
        (2_500_000_000, "2.5s"),
        (1_000_000_001, "1.000000001s"),
        (3_600_000_000_000, "3600s"),
        (u64::MAX - 1, "18446744073.709551614s"),
        (u64::MAX, "never"),
    ] {
        assert_eq!(Time::from_nanos(nanos).to_string(), text);
    }
    assert_eq!(format!("[{:>8}|{:<6}]", Time::from_millis(5), Time::ZERO), "[     5ms|0s    ]");
}

#[test]
fn floats_are_rounded_to_the_nanosecond_or_refused() {
    for (secs, nanos) in [
        (0.0, 0),
        (-0.0, 0),
        (1e-9, 1),
        (0.4e-9, 0),
        (0.6e-9, 1),
        (2.5, 2_500_000_000),
        (f64::MIN_POSITIVE, 0),
    ] {
        assert_eq!(Time::from_secs_f64(secs), Ok(Time::from_nanos(nanos)), "{secs}");
    }
    assert_eq!(Time::from_secs_f64(31_536_000.0), Ok(Time::LONGEST));
    for (secs, said) in [
        (f64::NAN, "`NaN` is not a duration: write a number with a unit, like 2.5s"),
        (-1.0, "`-1` is negative: a duration is at least 0s"),
        (-f64::INFINITY, "`-inf` is negative: a duration is at least 0s"),
        (f64::INFINITY, "`inf` is too long: a duration is at most 365 days"),
        (31_536_001.0, "`31536001` is too long: a duration is at most 365 days"),
    ] {
        assert_eq!(Time::from_secs_f64(secs).unwrap_err().to_string(), said);
    }
}

#[test]
fn sums_and_differences_saturate() {
    assert_eq!(Time::MAX.saturating_add(Time::from_nanos(1)), Time::MAX);
    assert_eq!(Time::ZERO.saturating_sub(Time::from_nanos(1)), Time::ZERO);
    assert_eq!(Time::from_secs(u64::MAX), Time::MAX);
    assert_eq!(Time::from_millis(u64::MAX), Time::MAX);
    assert_eq!(Time::from_micros(u64::MAX), Time::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_reads_back(nanos in 0..=Time::LONGEST.as_nanos(), small in 0..3_000_000_000_u64) {
        for time in [nanos, small].map(Time::from_nanos) {
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }

    #[test]
    fn seconds_as_floats_come_back_to_double_precision(nanos in 0..=Time::LONGEST.as_nanos()) {
        let time = Time::from_nanos(nanos);
        let back = Time::from_secs_f64(time.as_secs_f64()).unwrap();
        // Three roundings, each of half a unit in the last place.
        prop_assert!(back.as_nanos().abs_diff(nanos) <= nanos >> 51);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,12}", number in "[0-9.]{0,40}(e[-+]?[0-9]{1,20})?", unit in "[a-zµ ]{0,4}") {
        let _ = text.parse::<Time>();
        let _ = format!("{number}{unit}").parse::<Time>();
    }

    #[test]
    fn decimals_of_seconds_are_cut_below_a_nanosecond(whole in 0..31_536_000_u64, digits in "[0-9]{0,30}") {
        let text = format!("{whole}.{digits}s");
        let nanos: String = digits.chars().chain("000000000".chars()).take(9).collect();
        let nanos = whole * 1_000_000_000 + nanos.parse::<u64>().unwrap();
        prop_assert_eq!(text.parse(), Ok(Time::from_nanos(nanos)));
    }
}
