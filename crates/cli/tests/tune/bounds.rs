//! What bounds a plan: budgets, time that copies need, load.

use crate::support::{Folder, ends, five, json, str_of, tunes};

/// Of two attempts at once one is cancelled, or both are served, at servers that are busy for more than half of the time.
#[test]
fn copies_that_the_load_test_says_no_to_are_refused() {
    let file = |cancellation: &str| {
        format!(
            "[plan.search.branch]\nshard = {{}}\n[plan.search.defaults]\nrepeatable = true\n\
             latency = \"lognormal:median=0.6065s,sigma=1\"\n\
             [scenario]\narrivals = \"11/2s\"\n[scenario.server.pool]\nreplicas = 10\nslots = 1\n\
             cancellation = \"{cancellation}\"\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let check = |cancellation: &str, code: i32| {
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, file(cancellation)).unwrap();
        let emitted = folder.path().join("tuned.toml");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fantail"));
        command.arg("tune").arg(&path).args(["--goal", "p99<2.25s", "-f", "json", "--emit"]).arg(&emitted);
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{cancellation}: {stderr}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let tested = &report["load_test"][0];
        let worse = tested["endless"].is_string() || tested["goals"][0]["worse"].as_bool().unwrap();
        assert_eq!(worse, code == 3, "{report}");
        assert_eq!(report["load_test"][1]["load"], 1.2);
        assert_eq!(emitted.exists(), code == 0);
        std::fs::remove_file(&emitted).ok();
        stderr
    };
    check("at once", 0);
    assert!(check("never", 3).contains("copies make p99 worse"));
}

/// Figures of the search know no limiter that jobs meet at; those under load do.
#[test]
fn jobs_that_meet_at_a_limiter_are_told_and_tested() {
    let folder = Folder::new();
    let text = "[scenario]\narrivals = \"1/5s\"\n[limiter.l]\ngate = 2\n[plan.a.branch.x]\nlimiter = \"l\"\n\
                repeatable = true\nlatency = \"lognormal:median=1s,sigma=0.6\"\n";
    let path = folder.write("plan.toml", text);
    let tuned = |goal| ends(&["tune", str_of(&path), "--goal", goal], 0).0;
    let shown = tuned("p99<3s");
    let said = "The scenario says otherwise, which is in no figures but those under its load: jobs meet at limiter `l`.";
    assert!(shown.replace("\n  ", " ").contains(said), "{shown}");
    let line = |shown: &str| {
        shown.lines().find(|line| line.starts_with("At the stated load: p99 ")).unwrap().to_owned()
    };
    assert!(line(&shown).contains(", without copies "), "{shown}");
    // An M/M/1 queue at nine tenths of its load, of which p99 is 46 s and not 4.6 s.
    let gate = "[scenario]\narrivals = \"0.9/s\"\n[limiter.l]\ngate = 1\n[plan.a.branch.x]\nlimiter = \"l\"\n\
                latency = \"exponential:mean=1s\"\n";
    folder.write("plan.toml", gate);
    let shown = tuned("p99<5s");
    assert!(line(&shown).ends_with("; the goal is missed.") && !line(&shown).contains("copies"), "{shown}");
    assert!(shown.contains("At 1.2 times the load: waits would grow without end"), "{shown}");
}

/// A hedge budget is what all copies may cost: a race is no way around it.
#[test]
fn a_stated_budget_is_not_escaped_by_a_race() {
    let folder = Folder::new();
    let file = |extra: &str| {
        let text = format!(
            "[plan.a]\nhedge = {{ after = \"p95\"{extra} }}\n[plan.a.each]\ncount = 5\nname = \"b{{i}}\"\n\
             repeatable = true\nlatency = \"lognormal:median=1s,sigma=0.6\"\n"
        );
        folder.write("plan.toml", &text)
    };
    for (extra, share) in [(", extra = \"0%\"", "0 %"), (", extra = \"10%\"", "10.0 %"), ("", "5.0 %")] {
        let path = file(extra);
        let (shown, _) = ends(&["tune", str_of(&path), "--goal", "p99<2.2s"], 3);
        let shown = shown.replace("\n  ", " ");
        assert!(shown.contains(&format!("at most {share} extra requests, the hedge budget")), "{shown}");
        let named = format!("With a hedge budget above {share} (--max-extra-requests) they can be met: ");
        assert!(shown.contains(&named), "{shown}");
        ends(&["tune", str_of(&path), "--goal", "p99<2.2s", "--max-extra-requests", "200%"], 0);
    }
    // Copies at the start are what a plan may state instead, and then no budget counts them.
    let race = folder.write(
        "race.toml",
        "[plan.a]\nhedge = { race = 2 }\n[plan.a.branch]\nx = { repeatable = true, latency = \"exponential:mean=1s\" }\n",
    );
    tunes(&["tune", str_of(&race), "--goal", "p99<2.4s"]);
}

/// What is written is predicted, and still is where calls are slower than was stated.
#[test]
fn a_written_budget_has_room_for_slower_calls() {
    let folder = Folder::new();
    let (out, slower) = (folder.path("tuned.toml"), folder.path("slower.toml"));
    let call = "lognormal:median=1s,sigma=0.6";
    let base = ["tune", "-n", "5", "--latency", call, "--goal", "p99<3.7s", "--emit", str_of(&out)];
    tunes(&base);
    let text = std::fs::read_to_string(&out).unwrap();
    std::fs::write(&slower, text.replace("median=1s", "median=1.1s")).unwrap();
    tunes(&["predict", str_of(&slower), "--assert", "p99<4.1s"]);
    // Not beyond what is allowed, and then it is told.
    let tuned = json(&five(&["--goal", "p99<2.5s", "--max-extra-requests", "5%"]));
    let advice = tuned["advice"].to_string();
    assert!(
        advice.contains("If calls take 20 % longer, copies for 9.0 % of answers are due: a budget of 5.0 %"),
        "{advice}"
    );
}

/// Copies of exponential calls of mean 1 keep five of them within 2 s by `d = 4 + ln(1 - 0.6^(1/5))`, 1.668 s; where half of
/// the calls have to have time to answer they are sent before 1.307 s.
#[test]
fn a_copy_that_needs_time_says_so() {
    let folder = Folder::new();
    let text = "[plan.a]\ndeadline = \"2s\"\nhedge = { after = \"500ms\", extra = \"100%\" }\n[plan.a.each]\ncount = 5\n\
                name = \"b{i}\"\nrepeatable = true\nlatency = \"exponential:mean=1s\"\n";
    let path = folder.write("plan.toml", text);
    let args = ["tune", str_of(&path), "--max-copies", "1", "--goal"];
    let shown = tunes(&[&args[..], &["failed<=40%"]].concat()).replace("\n  ", " ");
    assert!(shown.contains("Cheapest plan that meets the goals: copy after 1.3s; "), "{shown}");
    let said = "No copy is sent that has less than `min_useful` left before the deadline, 693.147181ms. With next to none \
                of it: copy after 1.6";
    assert!(shown.contains(said), "{shown}");
    let shown = tunes(&[&args[..], &["failed<=20%"]].concat());
    assert!(!shown.contains("min_useful"), "{shown}");
}

/// A percentage of what is infinite is none.
#[test]
fn busy_for_ever_is_no_percentage() {
    let shown = tunes(&["tune", "-n", "3", "--latency", "pareto:xm=1s,alpha=0.9", "--goal", "p99<60s"]);
    assert!(!shown.contains("-100 %"), "{shown}");
    assert!(shown.contains("Without copies branches are busy for ever, on average"), "{shown}");
}

#[test]
fn a_strict_bound_on_time_sets_a_deadline_of_few_digits() {
    let tuned =
        json(&five(&["--strategy", "first:5+at-least:3", "--goal", "p99<4s", "--goal", "complete>99.2%"]));
    let deadline = tuned["tuned"]["deadline_s"].as_f64().map_or(0.0, |deadline| deadline * 1e6);
    assert!((deadline - deadline.round()).abs() < 1e-6, "{tuned}");
}

/// A copy that could be due after its attempt has timed out goes out then, and that is what is said.
#[test]
fn a_copy_is_due_when_its_attempt_times_out() {
    let folder = Folder::new();
    let text = "[plan.a]\ndeadline = \"3s\"\nhedge = { after = \"500ms\", min_useful = \"100ms\", extra = \"50%\" }\n\
                [plan.a.defaults]\nrepeatable = true\n[plan.a.branch]\nfast = { latency = \"exponential:mean=10ms\" }\n\
                g = { latency = \"exponential:mean=400ms\", attempt_timeout = \"1s\" }\n";
    let path = folder.write("plan.toml", text);
    let tuned = json(&["tune", str_of(&path), "--goal", "failed<2%"]);
    let branches = &tuned["tuned"]["branches"];
    assert_eq!(
        (&branches[0]["copies_after_s"], &branches[1]["copies_after_s"]),
        (&vec![0.0; 0].into(), &vec![1.0].into())
    );
}
