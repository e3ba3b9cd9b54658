//! Files as people have them, and as nobody should.

#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use fantail_core::Time;
use fantail_samples::{Document, Format, ReadError, Unit};
use proptest::prelude::*;

fn millis(values: &[u64]) -> Vec<Time> {
    values.iter().map(|&value| Time::from_millis(value)).collect()
}

/// Reads `text`, takes the likeliest column in its unit, or in milliseconds where none is said.
#[track_caller]
fn check(text: &str, format: Format, name: &str, expected: &[u64]) -> Vec<String> {
    let document = Document::read(text.as_bytes()).unwrap();
    assert_eq!(document.format(), format, "{text:?}");
    let column = &document.columns()[document.likeliest()];
    assert_eq!(column.name(), name, "{text:?}");
    let samples = column.samples(column.guess().unwrap_or(Unit::Milliseconds));
    assert_eq!(samples.times, millis(expected), "{text:?}");
    samples.refused.iter().map(ToString::to_string).collect()
}

#[test]
fn a_list_may_be_separated_by_anything() {
    for text in [
        "3 1 2",
        "3\n1\n2\n",
        "3, 1, 2",
        "3;1;2",
        "[3, 1, 2]",
        "3,1,2",
        "3, 1\n2",
        "# ms\n\n3\n1 2",
        "3ms 1ms 0.002s",
        "3 ms\n1 ms\n0.002 s",
        "3 ms, 1\u{a0}ms, 2000 µs",
    ] {
        assert_eq!(check(text, Format::List, "", &[3, 1, 2]), [""; 0]);
    }
}

#[test]
fn a_table_is_told_from_a_list_by_its_names_or_its_columns() {
    assert_eq!(check("latency_ms\n3\n1\n", Format::Table, "latency_ms", &[3, 1]), [""; 0]);
    check("id,latency (ms)\n7,3\n8,1\n", Format::Table, "latency (ms)", &[3, 1]);
    check("id;took\n7;3\n8;1\n", Format::Table, "took", &[3, 1]);
    check("id\ttook\n7\t3\n8\t1\n", Format::Table, "took", &[3, 1]);
    check("\u{feff}\"took\",\"why, though\"\r\n3,\"a\nb\"\r\n1,c\r\n", Format::Table, "took", &[3, 1]);
    check("1,30,0\n2,10,0\n", Format::Table, "column 1", &[1, 2]);
    check("1,0.5\n2,0.25\n", Format::Table, "column 1", &[1, 2]);
    check("code,duration_s\n200,0.003\n200,0.001\n", Format::Table, "duration_s", &[3, 1]);
}

#[test]
fn names_say_units_and_times() {
    let guess = |name: &str| {
        let document = Document::read(format!("{name},other\n1,2\n").as_bytes()).unwrap();
        document.columns()[0].guess()
    };
    for (name, unit) in [
        ("latency_ms", Some(Unit::Milliseconds)),
        ("Client latency (ms)", Some(Unit::Milliseconds)),
        ("p99 [µs]", Some(Unit::Microseconds)),
        ("duration.seconds", Some(Unit::Seconds)),
        ("latency_NS", Some(Unit::Nanoseconds)),
        ("wait_min", Some(Unit::Minutes)),
        ("latency", None),
        ("requests", None),
        ("s", None),
        ("bytes", None),
    ] {
        assert_eq!(guess(name), unit, "{name}");
    }
    check("timestamp,calls,latency\n5,5,3\n6,6,1\n", Format::Table, "latency", &[3, 1]);
    check("time,value\n2026-01-01,3\n2026-01-02,1\n", Format::Table, "value", &[3, 1]);
}

#[test]
fn a_column_called_latency_is_the_one_even_where_it_holds_no_number() {
    let refused = check("ts;latency (ms)\n1;120,5\n2;-\n", Format::Table, "latency (ms)", &[]);
    let expected =
        ["line 2: `120,5` is no number; expected decimals with a point", "line 3: `-` is no number"];
    assert_eq!(refused, expected);
}

#[test]
fn commas_that_may_be_decimal_ones_are_refused_with_their_line() {
    for (text, line, shown) in [
        ("0,41 0,39 1,2", 1, "0,41"),
        ("0,41\n0,39\n1,2\n", 1, "0,41"),
        ("# a\n0,41, 0,39\n1,2, 3,4\n", 2, "0,41"),
        ("0,41; 1.5; 3", 1, "0,41"),
        ("1\n1,234 ms\n", 2, "1,234"),
        ("1,234ms 2,345ms", 1, "1,234ms"),
        ("1,234,567 ms", 1, "1,234,567"),
        ("1;120,5\n2;130,7\n", 1, "120,5"),
    ] {
        let expected = ReadError::DecimalComma { line, text: shown.to_owned() };
        assert_eq!(Document::read(text.as_bytes()), Err(expected), "{text:?}");
    }
}

#[test]
fn rows_beyond_the_names_and_quotes_without_an_end_are_refused() {
    for text in ["latency\n0,41\n0,39\n", "id,latency_ms\n1,120,5\n", "a,b\n\"1,2\n3,4\n", "\"a\n1\n2"] {
        assert!(matches!(Document::read(text.as_bytes()), Err(ReadError::NotATable { .. })), "{text:?}");
    }
    check("took,\n3,\n1,,\n", Format::Table, "took", &[3, 1]);
    check("took,size\n3,5\"\n1,7\"\n", Format::Table, "took", &[3, 1]);
}

#[test]
fn cells_that_are_no_latencies_are_refused_one_by_one() {
    let refused =
        check("latency_ms\n3\nNaN\n-1\n# no\n\r\nn/a\n\n1e99\n2y\n1\n", Format::Table, "latency_ms", &[3, 1]);
    let expected = [
        "line 3: `NaN` is no number",
        "line 4: `-1.0` is negative",
        "line 7: `n/a` is no number",
        "line 9: `1e99` ms is more than a year",
        "line 10: `2y` is no number",
    ];
    assert_eq!(refused, expected);
}

#[test]
fn what_holds_no_number_is_refused_whole() {
    assert_eq!(Document::read(b"\xff\xfe1"), Err(ReadError::NotText { at: 0 }));
    for text in ["", " \n", "# 1", "hello", "a,b\nc,d\n"] {
        assert_eq!(Document::read(text.as_bytes()), Err(ReadError::NoNumber), "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(document) = Document::read(&bytes) {
            prop_assert!(document.likeliest() < document.columns().len());
        }
    }

    #[test]
    fn no_text_of_numbers_and_separators_makes_it_panic(text in "[0-9a-z.,;\\-\"\t\r\n# ]{0,120}") {
        if let Ok(document) = Document::read(text.as_bytes()) {
            for column in document.columns() {
                let samples = column.samples(Unit::Milliseconds);
                prop_assert!(samples.times.len() <= column.numbers());
            }
        }
    }

    #[test]
    fn a_damaged_table_is_read_or_refused_at_its_lines(
        text in prop::sample::select(vec![
            "time,latency_ms,status\n1,12.5,200\n2,\"13\",500\n",
            "a\tb\n0.1\t-3\n\n1e-3\tx\n",
            "12\n13.5\nn/a\n# no\n14",
        ]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, any::<Vec<u8>>()), 1..3),
    ) {
        let mut bytes = text.as_bytes().to_vec();
        for (place, cut, put) in &edits {
            let at = place.index(bytes.len() + 1);
            let end = (at + cut).min(bytes.len());
            bytes.splice(at..end, put.iter().copied().take(6));
        }
        let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
        match Document::read(&bytes) {
            Ok(document) => {
                for samples in document.columns().iter().map(|column| column.samples(Unit::Seconds)) {
                    prop_assert!(samples.refused.iter().all(|refused| (1..=lines).contains(&refused.line)));
                }
            }
            Err(ReadError::NotText { at }) => prop_assert!(at < bytes.len()),
            Err(_) => {}
        }
    }

    #[test]
    fn a_list_gives_back_what_was_written(values in prop::collection::vec(0_u64..1_000_000_000, 1..60)) {
        let text: Vec<String> = values.iter().map(ToString::to_string).collect();
        let document = Document::read(text.join("\n").as_bytes()).unwrap();
        prop_assert_eq!(document.columns()[0].samples(Unit::Milliseconds).times, millis(&values));
    }
}
