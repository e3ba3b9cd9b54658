//! What holds of any text that is read.

use fantail_planfile::{Config, Goal, Percentile, Problems, ShortForm, Sweep, parse_law, rewrite};

/// Reads a text as everything that it may be.
pub(crate) fn read(text: &str) {
    let law = parse_law("exponential:mean=1s").expect("a law");
    let short = ShortForm::parse(text);
    let results = [
        parse_law(text).err(),
        short.clone().and_then(|short| short.plan(&vec![law.clone(); 3])).err(),
        short.clone().and_then(|short| short.grouped(3, &law)).err(),
        short.and_then(|short| short.staged(&[(3, law)], None)).err(),
        Percentile::parse_list(text).err(),
        Goal::parse(text).err(),
        Sweep::parse(text).err(),
    ];
    for problems in results.iter().flatten() {
        check(text.as_bytes(), problems);
    }
    // What is printed of a text is read as the same.
    for percentile in Percentile::parse_list(text).into_iter().flatten() {
        assert_eq!(Percentile::parse(percentile.label()), Ok(percentile));
    }
    if let Ok(goal) = Goal::parse(text) {
        assert_eq!(Goal::parse(&goal.to_string()), Ok(goal));
    }
}

/// Reads bytes as a plan file.
pub(crate) fn load(bytes: &[u8]) {
    match Config::parse("plan.toml", bytes) {
        Ok(config) => {
            assert!(!config.plans.is_empty());
            // What states a plan already is not changed to state it.
            let text = str::from_utf8(bytes).expect("a plan file is text");
            for entry in &config.plans {
                assert_eq!(rewrite("plan.toml", text, &entry.plan).as_deref(), Ok(text));
            }
        }
        Err(problems) => check(bytes, &problems),
    }
}

/// Problems name places of the text and can be printed on a terminal.
fn check(text: &[u8], problems: &Problems) {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(problems.iter().len() > 0);
    for problem in problems.iter() {
        let line = lines.get(problem.line() - 1).unwrap_or_else(|| panic!("{problem:?}"));
        // The end of a line is a place too.
        assert!((1..=line.chars().count() + 1).contains(&problem.column()), "{problem:?}");
        assert!(!problem.message().contains(char::is_control), "{problem:?}");
        assert!(problem.message().len() < 1_000, "{problem:?}");
    }
    let rendered = problems.to_string();
    assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'), "{rendered:?}");
    assert_eq!(rendered.lines().count(), 4 * problems.iter().len(), "{rendered}");
}
