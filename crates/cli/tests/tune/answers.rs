//! What is found, how it is told and what is written.

use serde_json::Value;

use crate::support::{
    CALL, ENRICH, FIVE, Folder, ends, five, json, number, refuses, run, str_of, text, tunes,
};

#[test]
fn three_percentiles_and_goals_make_a_plan() {
    let shown = tunes(&five(&[
        "--goal",
        "p99<2.5s",
        "--goal",
        "failed<0.5%",
        "--goal",
        "complete>95%",
        "--max-extra-requests",
        "5%",
    ]));
    assert_eq!(
        shown.lines().take(9).collect::<Vec<_>>().join("\n"),
        "\
5 branches, each p50=0.8s,p95=1.5s,p99=2.4s
Goals: p99<2.5s, failed<0.5%, complete>95%, extra_requests<=5%

             copy                                 extra   extra
            after       p99  complete  failed  requests    busy
no copies       –    3.79 s     100 %     0 %       0 %     0 %
tuned      1.525s  < 2.50 s     100 %     0 %    +4.7 %  +1.1 %

Cheapest plan that meets the goals: copy after 1.525s; +4.7 % requests."
    );
    for part in [
        "\nWhat a price buys in p99:\n",
        "\nThe tuned plan, if something is other than stated:\n",
        "\nsigma x 1.1 ",
        "\njob share 0.3 ",
        "\nHeld: every branch is required.\n",
        "assuming that branches and copies are independent",
    ] {
        assert!(shown.contains(part), "no {part:?} in:\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

/// What the JSON promises: these keys, and figures that are those of `fantail predict`.
#[test]
fn the_json_is_fantail_tune_1() {
    let tuned = json(&five(&["--goal", "p99<2.5s", "--goal", "extra_requests<=5%"]));
    let keys: Vec<&str> = tuned.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "schema",
        "n",
        "latency",
        "feasible",
        "goals",
        "held",
        "without_copies",
        "as_stated",
        "tuned",
        "frontier",
        "frontier_of",
        "doubts",
        "load_test",
        "advice",
        "assumes",
        "not_included",
        "fit_error",
        "method",
        "evaluations",
        "cut_short",
    ];
    expected.sort_unstable();
    let mut sorted = keys;
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!((&tuned["schema"], &tuned["feasible"]), (&"fantail.tune/1".into(), &true.into()));
    let goal = &tuned["goals"][0];
    assert_eq!(
        (&goal["goal"], &goal["measure"], number(&goal["bound"])),
        (&"p99<2.5s".into(), &"p99".into(), 2.5)
    );
    let entry = &tuned["tuned"];
    assert!(number(&goal["tuned"]) < 2.5 && goal["tuned"] == entry["figures"]["p99_s"]);
    let branches = &entry["branches"][0];
    assert_eq!((number(&branches["count"]), &branches["required"]), (5.0, &true.into()));
    let delay = format!("hedge:{}s", number(&branches["copies_after_s"][0]));
    let predicted =
        json(&["predict", "-n", "5", "--latency", CALL, "--strategy", &delay, "--percentiles", "p99"]);
    let predicted = &predicted["strategies"][0];
    assert_eq!(predicted["quantiles_s"]["p99"], entry["figures"]["p99_s"]);
    for key in ["complete", "partial", "failed", "extra_requests", "extra_busy"] {
        assert_eq!(predicted[key], entry[key], "{key}");
    }
    assert_eq!(tuned["frontier_of"], "p99");
    assert!(tuned["frontier"].as_array().unwrap().len() > 5);
    let doubts = tuned["doubts"].as_array().unwrap();
    let what: Vec<&str> = doubts.iter().map(|doubt| doubt["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["sigma x 0.9", "sigma x 1.1", "job share 0.3", "copies equally slow"]);
    assert_eq!(doubts[0]["missed"], Value::Array(Vec::new()));
    assert_eq!(doubts[3]["missed"], Value::Array(vec!["p99<2.5s".into()]));
    assert_eq!(doubts[3]["figures"]["p99_s"], tuned["without_copies"]["figures"]["p99_s"]);
}

#[test]
fn what_cannot_be_met_is_said_with_the_best_that_can() {
    let args = five(&["--goal", "p99<2.2s", "--max-extra-requests", "5%"]);
    let (shown, stderr) = ends(&args, 3);
    assert_eq!(stderr, "error: no plan was found that meets the goals\n");
    assert!(shown.contains("Infeasible: no plan was found that meets the goals."), "{shown}");
    let tuned = json(&args);
    assert_eq!((&tuned["feasible"], &tuned["tuned"]), (&false.into(), &Value::Null));
    let (p99, extra) = (&tuned["goals"][0], &tuned["goals"][1]);
    assert!((2.45..2.5).contains(&number(&p99["best_with_others"])), "{p99}");
    assert!((0.1..0.2).contains(&number(&extra["best_with_others"])), "{extra}");
    // What is said to be attainable is.
    let bound = format!("p99<={}s", number(&p99["best_with_others"]));
    tunes(&[&FIVE[..], &["--goal", &bound, "--max-extra-requests", "5%"]].concat());
}

#[test]
fn a_written_plan_predicts_what_tune_printed() {
    let folder = Folder::new();
    let out = folder.path("tuned.toml");
    for (start, name) in [(five(&[]), "tuned"), (vec!["tune", ENRICH], "enrich")] {
        let args = [start, vec!["--goal", "failed<0.5%", "--goal", "p99<=2.5s"]].concat();
        let tuned = json(&[args.clone(), vec!["--emit", str_of(&out)]].concat());
        ends(&["check", str_of(&out)], 0);
        let predicted =
            json(&["predict", str_of(&out), "-p", "p99", "--assert", "failed<0.5%", "--assert", "p99<=2.5s"]);
        let (entry, predicted) = (&tuned["tuned"], &predicted["strategies"][0]);
        assert_eq!(
            (&predicted["name"], &predicted["quantiles_s"]["p99"]),
            (&name.into(), &entry["figures"]["p99_s"])
        );
        for key in ["complete", "partial", "failed", "extra_requests", "extra_busy", "cost"] {
            assert_eq!(predicted[key], entry[key], "{name}: {key}");
        }
        let text = std::fs::read_to_string(&out).unwrap();
        assert!(
            text.starts_with("# fantail tune: failed<0.5%, p99<=2.5s\n# fantail tune: predicted "),
            "{text}"
        );
        // Tuned once more, the file says so once.
        ends(&["tune", str_of(&out), "--goal", "failed<0.4%", "--emit", str_of(&out)], 0);
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(text.matches("# fantail tune: ").count(), 2, "{text}");
    }
}

/// The branches of a file give up with its job, later too.
#[test]
fn another_deadline_is_that_of_every_branch() {
    let folder = Folder::new();
    let out = folder.path("tuned.toml");
    let goals = ["--goal", "p99.9<4s", "--goal", "failed<0.1%", "--allow", "deadline"];
    let tuned =
        json(&[&["tune", ENRICH, "--max-copies", "0"], &goals[..], &["--emit", str_of(&out)]].concat());
    assert_eq!(tuned["feasible"], false);
    let tuned = json(&[&["tune", ENRICH], &goals[..], &["--emit", str_of(&out)]].concat());
    let entry = &tuned["tuned"];
    assert!(number(&entry["deadline_s"]) > 3.9, "{entry}");
    let predicted = json(&["predict", str_of(&out), "-p", "p99.9"]);
    let predicted = &predicted["strategies"][0];
    assert_eq!(
        (&predicted["quantiles_s"]["p99.9"], &predicted["failed"]),
        (&entry["figures"]["p99.9_s"], &entry["failed"])
    );
}

#[test]
fn a_file_keeps_what_its_author_wrote() {
    let folder = Folder::new();
    let out = folder.path("tuned.toml");
    let shown = tunes(&["tune", ENRICH, "--goal", "failed<0.5%", "--emit", str_of(&out)]);
    assert!(shown.contains("type, parties and dates: copy after "), "{shown}");
    assert!(
        shown.contains("Held: 3 branches are required, a result holds at least 3 answers, deadline 2.5s,"),
        "{shown}"
    );
    assert!(shown.contains("limiter `llm` never"), "{shown}");
    let (before, after) = (std::fs::read_to_string(ENRICH).unwrap(), std::fs::read_to_string(&out).unwrap());
    let changed = after.lines().filter(|line| !before.lines().any(|old| old == *line));
    let changed: Vec<&str> = changed.filter(|line| !line.starts_with("# fantail tune: ")).collect();
    assert!(
        matches!(changed.as_slice(), [line] if line.starts_with("hedge = { after = \"1.4")),
        "{changed:?}"
    );
}

#[test]
fn a_plan_may_be_all_of_the_output() {
    let folder = Folder::new();
    let args = five(&["--goal", "p99<2.5s"]);
    let out = folder.path("tuned.toml");
    let shown = tunes(&[&args[..], &["--emit", str_of(&out)]].concat());
    let (stdout, stderr) = ends(&[&args[..], &["--emit", "-"]].concat(), 0);
    assert_eq!((stdout, stderr), (std::fs::read_to_string(&out).unwrap(), shown));
    let (stdout, stderr) = ends(&five(&["--goal", "p99<1ms", "--emit", "-"]), 3);
    assert!(stdout.is_empty() && stderr.contains("Infeasible"), "{stdout}{stderr}");
}

/// The second time nothing is left to change but the figures, whatever the line ends.
#[test]
fn a_file_of_another_system_stays_one() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(ENRICH).unwrap();
    let foreign = folder.write("plan.toml", &format!("\u{feff}{}", text.replace('\n', "\r\n")));
    let args = ["tune", str_of(&foreign), "--goal", "failed<0.5%", "--goal", "p99<=2.5s", "--emit"];
    let (first, _) = ends(&[&args[..], &["-"]].concat(), 0);
    assert!(
        first.starts_with("\u{feff}# fantail tune: failed<0.5%, p99<=2.5s\r\n# fantail tune: predicted ")
    );
    assert_eq!(first.matches('\n').count(), first.matches("\r\n").count());
    std::fs::write(&foreign, &first).unwrap();
    assert_eq!(ends(&[&args[..], &["-"]].concat(), 0).0, first);
}

#[test]
fn all_jobs_are_all_of_them() {
    let shown = tunes(&five(&["--goal", "complete>=100%"]));
    assert!(shown.contains("No copies are needed: the plan as stated"), "{shown}");
    let (shown, _) = ends(&five(&["--goal", "complete>=100%", "--strategy", "deadline:1h"]), 3);
    assert!(shown.contains("> 99.999 %"), "{shown}");
}

#[test]
fn what_is_not_copied_is_named() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(ENRICH).unwrap();
    let plan = folder
        .write("plan.toml", &text.replace("dates = {}", "dates = { repeatable = false, hedge = false }"));
    let (shown, _) = ends(&["tune", str_of(&plan), "--goal", "failed<0.5%", "--goal", "p99<=2.4s"], 3);
    assert!(!shown.contains("other branches"), "{shown}");
}

#[test]
fn a_plan_that_is_not_found_is_not_written() {
    let folder = Folder::new();
    let out = folder.path("tuned.toml");
    let args =
        [&FIVE[..], &["--goal", "p99<2.2s", "--max-extra-requests", "5%", "--emit", str_of(&out)]].concat();
    let (_, stderr) = ends(&args, 3);
    assert!(stderr.ends_with("tuned.toml was not written\n"), "{stderr}");
    assert!(!out.exists());
    let nowhere = folder.path("no/such/tuned.toml");
    let args = [&FIVE[..], &["--goal", "p99<2.5s", "--emit", str_of(&nowhere)]].concat();
    let (_, stderr) = ends(&args, 1);
    assert!(stderr.contains("tuned.toml"), "{stderr}");
}

#[test]
fn partial_answers_make_a_deadline_enough() {
    let tuned = json(&five(&[
        "--strategy",
        "first:5+at-least:3",
        "--goal",
        "p99<2.5s",
        "--goal",
        "complete>95%",
        "--goal",
        "failed<0.1%",
    ]));
    let entry = &tuned["tuned"];
    assert_eq!((number(&entry["deadline_s"]), number(&entry["extra_requests"])), (2.49, 0.0));
    assert_eq!((number(&entry["k"]), number(&entry["at_least"])), (5.0, 3.0));
    // The share that five calls complete by a deadline, in closed form: p50 of 0.8 s and so on.
    let deadline = json(&five(&["--goal", "complete>95%", "--allow", "deadline"]));
    assert!((2.385..=2.40).contains(&number(&deadline["tuned"]["deadline_s"])), "{deadline}");
    // Without a word the plan that needs none stays as it is.
    let stated = json(&five(&["--goal", "complete>95%"]));
    assert_eq!((&stated["tuned"]["deadline_s"], &stated["tuned"]["complete"]), (&Value::Null, &1.0.into()));
    let said = "The earliest deadline that keeps the goals is 2.39s (--allow deadline).";
    assert!(stated["advice"].as_array().unwrap().contains(&said.into()), "{stated}");
}

#[test]
fn a_job_that_may_wait_for_fewer_needs_no_copies() {
    let tuned = json(&five(&["--goal", "p99<2s", "--allow", "first:3"]));
    let entry = &tuned["tuned"];
    assert_eq!((number(&entry["k"]), number(&entry["extra_requests"])), (4.0, 0.0));
    assert_eq!(entry["branches"][0]["required"], false);
    let folder = Folder::new();
    let out = folder.path("tuned.toml");
    tunes(&[&five(&["--goal", "p99<2s", "--allow", "first:3"])[..], &["--emit", str_of(&out)]].concat());
    assert!(std::fs::read_to_string(&out).unwrap().contains("wait_for = 4\n"));
    ends(&["predict", str_of(&out), "--assert", "p99<2s"], 0);
}

/// Each advice is computed: it is there when it is so, and not when it is not.
#[test]
fn advice_says_when_the_plan_is_the_wrong_instrument() {
    let folder = Folder::new();
    let slow = |law: &str| {
        let text = format!(
            "[plan.a.defaults]\nrepeatable = true\nlatency = \"lognormal:median=100ms,sigma=0.3\"\n\
             [plan.a.branch]\nx = {{}}\ny = {{}}\nreport = {{ latency = \"{law}\" }}\n"
        );
        folder.write("plan.toml", &text)
    };
    let says = |args: &[&str], part: &str, expected: bool| {
        let shown = text(&run(args).stdout).replace("\n  ", " ");
        assert_eq!(shown.contains(part), expected, "{args:?}: {part:?} in\n{shown}");
    };
    let path = slow("lognormal:median=2s,sigma=0.5");
    let one_long = ["tune", str_of(&path), "--goal", "p99<3s"];
    says(&one_long, "are report: there is little to spread.", true);
    says(
        &one_long,
        "A call for report alone has a p99 of 6.40 s. It is not the fan-out that misses the goal.",
        true,
    );
    slow("lognormal:median=110ms,sigma=0.3");
    let alike = ["tune", str_of(&path), "--goal", "p99<240ms"];
    says(&alike, "there is little to spread", false);
    says(&alike, "It is not the fan-out", false);
    // The stated deadline is what binds.
    let enrich = ["tune", ENRICH, "--goal", "p99<2.5s", "--goal", "failed<0.5%"];
    says(&enrich, "p99 is the deadline itself: without copies 4.3 % of the jobs wait for it.", true);
    says(
        &enrich,
        "With another deadline (--allow deadline) they can be met: type, parties and dates: copy",
        true,
    );
    says(&enrich, "With copies of amounts and summary too they can be met:", true);
    let fewer = five(&["--goal", "p99<2.5s", "--goal", "failed<0.5%", "--max-copies", "0"]);
    says(&fewer, "If a result of 4 answers were of use (`at-least`), they can be met: deadline 2.49s;", true);
    let met = five(&["--goal", "p99<2.5s", "--goal", "failed<0.5%"]);
    says(&met, "they can be met", false);
    says(
        &met,
        "A copy sent after 1.525s has 975ms left before 2.5s, in which 76.9 % of the calls answer.",
        true,
    );
}

#[test]
fn like_branches_may_be_many_or_one() {
    let many = json(&[
        "tune",
        "-n",
        "1000000000",
        "--latency",
        "lognormal:median=10ms,sigma=0.7",
        "--goal",
        "p99<300ms",
    ]);
    assert!(number(&many["tuned"]["figures"]["p99_s"]) < 0.3);
    let one =
        json(&["tune", "-n", "1", "--latency", "lognormal:median=10ms,sigma=0.7", "--goal", "p99<40ms"]);
    assert!(number(&one["tuned"]["extra_requests"]) < 0.08);
    refuses(
        &["tune", "-n", "2000000", "--latency", CALL, "--goal", "p99<20s", "--emit", "/dev/null"],
        &["--emit: got 2000000 branches, a plan file has at most 1000000"],
    );
}

#[test]
fn many_kinds_of_branches_are_told_in_few_words() {
    let folder = Folder::new();
    let branch = |i: u32| format!("b{i} = {{ latency = \"lognormal:median={}ms,sigma=0.6\" }}\n", 10 + i);
    let branches: String = (0..12).map(branch).collect();
    let text = format!("[plan.a.defaults]\nrepeatable = true\n[plan.a.branch]\n{branches}");
    let path = folder.write("plan.toml", &text);
    let shown = tunes(&["tune", str_of(&path), "--goal", "p99<90ms", "--max-copies", "1"]);
    assert!(shown.replace("\n  ", " ").contains("; copies of "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn csv_and_markdown_have_a_line_for_each_plan() {
    let csv = tunes(&five(&["--goal", "p99<2.5s", "--format", "csv"]));
    let mut lines = csv.lines();
    let header = "plan,n,k,at_least,deadline_s,copies_after_s,p99_s,complete,partial,failed,extra_requests,extra_busy,cost";
    assert_eq!(lines.next(), Some(header));
    assert!(lines.next().unwrap().starts_with("no copies,5,5,5,,,3.78"));
    assert!(lines.next().unwrap().starts_with("tuned,5,5,5,,1.525,2.49"));
    assert!(lines.clone().count() > 5 && lines.all(|line| line.starts_with("frontier,5,5,5,,")));
    let md = tunes(&five(&["--goal", "p99<2.5s", "--format", "md"]));
    assert!(
        md.starts_with("| plan | copy after | p99 | extra requests | extra busy |\n| --- | --: |"),
        "{md}"
    );
    assert!(md.contains("\n| tuned | 1.525s | < 2.50 s | +4.7 % | +1.1 % |\n"), "{md}");
}

#[test]
fn wrong_usage_says_what_is_right() {
    refuses(&["tune"], &["--goal <GOAL>"]);
    refuses(&["tune", "--goal", "p99<1s"], &["tune what?", "fantail tune plan.toml --goal 'p99<2.5s'"]);
    refuses(&["tune", "-n", "5", "--goal", "p99<1s"], &["--latency <LAW>"]);
    refuses(&five(&["--goal", "p99>1s"]), &["goal `p99>1s`: tune makes p99 smaller; expected `<`"]);
    refuses(&five(&["--goal", "complete<50%"]), &["tune makes complete larger; expected `>`"]);
    refuses(&five(&["--goal", "p99<1s", "--goal", "p99<=2s"]), &["goal `p99<=2s`: a second bound on p99"]);
    refuses(&five(&["--goal", "faild<1%"]), &["unknown measure `faild`", "did you mean `failed`?"]);
    refuses(&five(&["--max-extra-requests", "5%"]), &["only prices are bounded", "--goal 'p99<2.5s'"]);
    refuses(
        &five(&["--goal", "p99<1s", "--max-extra-requests", "lots"]),
        &["`lots` is not a change, like 5%"],
    );
    refuses(&five(&["--goal", "p99<1s", "--goal", "cost<1"]), &["cost: no branch states a `cost`"]);
    refuses(&five(&["--goal", "p99<1s", "--price", "cost"]), &["cost: no branch states a `cost`"]);
    refuses(
        &five(&["--goal", "p99<1s", "--allow", "deadlines"]),
        &["got `deadlines`, expected `deadline` or `first:K`"],
    );
    refuses(
        &five(&["--goal", "p99<1s", "--allow", "first:6"]),
        &["expected 1 to what the plan waits for, 5"],
    );
    refuses(
        &five(&["--goal", "p99<1s", "--strategy", "fist:5"]),
        &["unknown clause `fist`", "did you mean `first`?"],
    );
    refuses(
        &["tune", ENRICH, "--goal", "p99<1s", "--plan", "enrch"],
        &["no plan `enrch`; expected one of enrich"],
    );
    refuses(&["tune", ENRICH, "-n", "5", "--goal", "p99<1s"], &["-n 5 beside the file "]);
    refuses(&["tune", "--latency", CALL, "--goal", "p99<1s"], &["of how many branches? expected -n <N>"]);
    refuses(&five(&["--plan", "x", "--goal", "p99<3s"]), &["--plan x names a plan of a file"]);
    refuses(
        &five(&["--goal", "p99<3s", "--allow", "first:3", "--allow", "first:4"]),
        &["--allow first:4: a second one of its kind; expected one"],
    );
    refuses(&five(&["--goal", "complete>100%"]), &["no share is more than 100%; expected >=100%"]);
    refuses(&["tune", "no-such.toml", "--goal", "p99<1s"], &["no-such.toml"]);
    let folder = Folder::new();
    let two = folder.write("two.toml", "[plan.a.branch]\nx = {}\n[plan.b.branch]\ny = {}\n");
    refuses(
        &["tune", str_of(&two), "--goal", "p99<1s"],
        &["which of its plans? expected --plan with one of a, b"],
    );
    refuses(
        &["tune", str_of(&two), "--plan", "a", "--goal", "p99<1s"],
        &["plan `a`: a branch states no latency"],
    );
}

#[test]
fn a_plan_whose_gate_one_job_fills_is_not_tuned() {
    let folder = Folder::new();
    let full = folder.write(
        "full.toml",
        "[limiter.x]\ngate = 1\n[plan.a.defaults]\nlimiter = \"x\"\nlatency = \"exponential:mean=1s\"\n\
         [plan.a.each]\ncount = 2\nname = \"b{i}\"\n",
    );
    let (stdout, stderr) = ends(&["tune", str_of(&full), "--goal", "p99<9s"], 1);
    assert!(stdout.is_empty() && stderr.contains("limiter `x` is busy"), "{stderr}");
}
