//! Whatever the bytes are, reading them ends in a plan or in problems that can be shown.

#[path = "support/texts.rs"]
mod texts;

use proptest::prelude::*;
use proptest::sample::Index;
use texts::{load, read};

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

/// Texts that stand on a command line.
const TEXTS: [&str; 13] = [
    "0.9*lognormal:median=1s,sigma=0.5,shift=1ms|0.1*pareto:xm=1s,alpha=2",
    "p50=0.8s,p95=1.5s,p99=2.4e3ms",
    "weibull:shape=0.05,scale=1.29e6 h",
    "first:5+hedge:p95+deadline:2.5s+at-least:3",
    "share:95%+race:3",
    "all+tree:4x8",
    "sequential+first:2+hedge:1e-3s",
    "0.5,p99.9,1-1e-12",
    "p99<=2.5s",
    "extra_requests < 5%",
    "complete>=100%",
    "n=1..1000:4",
    "deadline=0.5s..5s",
];

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
    fn a_damaged_text_of_a_command_line_is_read_or_refused(
        text in proptest::sample::select(TEXTS.to_vec()),
        edits in proptest::collection::vec((any::<Index>(), 0_usize..4, insertion()), 0..3),
    ) {
        read(&String::from_utf8_lossy(&edited(text, &edits)));
    }

    #[test]
    fn any_text_on_a_command_line_is_read_or_refused(text in "\\PC{0,60}", more in "[-+*|:=,.<>%0-9a-zx ]{0,40}") {
        read(&text);
        read(&more);
    }
}
