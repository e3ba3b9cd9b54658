//! Whatever the bytes are, reading them ends in a plan or in problems that can be shown.

use fantail_planfile::{Config, Percentile, Problems, ShortForm, parse_law};
use proptest::prelude::*;
use proptest::sample::Index;

const EXAMPLES: [&str; 4] = [
    include_str!("../../../examples/enrich.toml"),
    include_str!("../../../examples/search.toml"),
    include_str!("../../../examples/read.toml"),
    r#"
[limiter.a]
rate = "20/10s"
burst = 4
[plan."a b"]
route = "PUT /x/{y}/z"
wait_for = "95%"
backfill = { enqueue_timeout = "50ms", ttl = "1h", max_bytes = 0x1000, tries = 3 }
hedge = { after = ["p50", "1s"], warming = '1s', floor = "1ms", cap = "2s", burst = 2, in_flight = 1 }
[plan."a b".each]
count = 3
name = "n{i}"
repeatable = true
latency = """0.9*lognormal:median=1s,sigma=0.5|0.1*pareto:xm=1s,alpha=2"""
targets = ["http://a{i}/{y}", "https://b/{branch}?{query}"]
[plan."a b".branch."ü"]
hedge = { race = 3, distinct = false, min_useful = "1ms" }
"#,
];

/// A change of a file: bytes cut out at a place, and others put in.
type Edit = (Index, usize, Vec<u8>);

/// Words whose loss, doubling or misplacement reaches deeper than random bytes do.
fn insertion() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "\"",
        "'",
        "[",
        "]",
        "{",
        "}",
        "=",
        "\n",
        ",",
        ".",
        "#",
        "\\",
        "\u{feff}",
        "\r\n",
        "p",
        "%",
        "1e999",
        "-1",
        "99999999999",
        "[plan.",
        "[[plan]]",
        "branch",
        "= {}",
        "{i}",
        "\u{1b}[2J",
        "漢",
        "☁\u{fe0f}",
        "\u{301}",
        "\u{0}",
        "inf",
        "\"\"\"",
    ];
    prop_oneof![
        proptest::sample::select(words.map(str::as_bytes).to_vec()).prop_map(<[u8]>::to_vec),
        proptest::collection::vec(any::<u8>(), 0..4),
    ]
}

fn edited(text: &str, edits: &[Edit]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (place, cut, put) in edits {
        let at = place.index(bytes.len() + 1);
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, put.iter().copied());
    }
    bytes
}

/// Problems name places of the text and can be printed on a terminal.
fn check(text: &[u8], problems: &Problems) {
    let lines = String::from_utf8_lossy(text).split('\n').count();
    assert!(problems.iter().len() > 0);
    for problem in problems.iter() {
        assert!((1..=lines).contains(&problem.line()) && problem.column() >= 1, "{problem:?}");
        assert!(!problem.message().contains(char::is_control), "{problem:?}");
        assert!(problem.message().len() < 1_000, "{problem:?}");
    }
    let rendered = problems.to_string();
    assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'), "{rendered:?}");
    assert_eq!(rendered.lines().count(), 4 * problems.iter().len(), "{rendered}");
}

fn load(bytes: &[u8]) {
    match Config::parse("plan.toml", bytes) {
        Ok(config) => assert!(!config.plans.is_empty()),
        Err(problems) => check(bytes, &problems),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_a_config_or_problems(
        example in proptest::sample::select(EXAMPLES.to_vec()),
        edits in proptest::collection::vec((any::<Index>(), 0_usize..12, insertion()), 1..4),
    ) {
        load(&edited(example, &edits));
    }

    #[test]
    fn a_cut_file_is_a_config_or_problems(example in proptest::sample::select(EXAMPLES.to_vec()), at in any::<Index>()) {
        load(&example.as_bytes()[..at.index(example.len())]);
    }

    #[test]
    fn any_bytes_are_a_config_or_problems(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        load(&bytes);
    }

    #[test]
    fn a_damaged_law_or_short_form_is_read_or_refused(
        text in proptest::sample::select(vec![
            "0.9*lognormal:median=1s,sigma=0.5,shift=1ms|0.1*pareto:xm=1s,alpha=2",
            "p50=0.8s,p95=1.5s,p99=2.4s",
            "first:5+hedge:p95+deadline:2.5s+at-least:3",
            "share:95%+race:3",
            "0.5,p99.9,1-1e-12",
        ]),
        edits in proptest::collection::vec((any::<Index>(), 0_usize..4, insertion()), 1..3),
    ) {
        let bytes = edited(text, &edits);
        let text = String::from_utf8_lossy(&bytes);
        let law = parse_law("exponential:mean=1s").expect("a law");
        let results = [
            parse_law(&text).err(),
            ShortForm::parse(&text).and_then(|short| short.plan(&vec![law; 3])).err(),
            Percentile::parse_list(&text).err(),
        ];
        for problems in results.iter().flatten() {
            check(text.as_bytes(), problems);
        }
    }
}
