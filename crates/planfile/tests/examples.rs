//! The plan files of `examples/` and what they are read as.

use fantail_core::{LimiterSpec, Plan, Rate, Time, WaitFor};
use fantail_model::Level;
use fantail_planfile::{Backfill, Captures, Config, PlanEntry};

fn load(name: &str) -> Config {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).expect("the example is there");
    Config::parse(name, bytes).unwrap_or_else(|problems| panic!("{problems}"))
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.branches().iter().map(|branch| branch.name.as_str()).collect()
}

fn url(entry: &PlanEntry, branch: usize, target: usize, path: &str, query: &str) -> String {
    let captures = entry.route.as_ref().expect("a route").capture(path).expect("its path");
    entry.branches[branch].targets[target].expand(&captures, query)
}

#[test]
fn enrich_waits_for_three_of_five_and_hedges_them() {
    let config = load("enrich.toml");
    assert_eq!(
        config.limiters,
        [LimiterSpec {
            gate: Some(50),
            rate: Some(Rate { permits: 6_000, per: Time::from_secs(60), burst: 50 }),
            ..LimiterSpec::new("llm")
        }]
    );
    let [entry] = config.plans.as_slice() else { panic!("one plan") };
    let plan = &entry.plan;
    assert_eq!((plan.name(), plan.wait_for(), plan.at_least()), ("enrich", WaitFor::All, 3));
    assert_eq!(names(plan), ["type", "parties", "dates", "amounts", "summary"]);
    assert_eq!(plan.deadline(), Some(Time::from_millis(2_500)));
    assert_eq!(plan.hedge_budget().share, 50_000);
    assert_eq!(entry.backfill, Some(Backfill::default()));
    for (i, branch) in plan.branches().iter().enumerate() {
        assert_eq!((branch.required, branch.delays().len()), (i < 3, usize::from(i < 3)), "{}", branch.name);
        assert_eq!((branch.limiter, branch.repeatable), (Some(0), true), "{}", branch.name);
    }
    assert_eq!(plan.branches()[4].cost, Some(0.004));
    // A copy after the stated p95, as long as the stated median is left for it.
    let law = entry.branches[0].law.as_ref().unwrap();
    let p95 = Time::from_secs_f64(law.quantile(Level::above(0.05).unwrap())).unwrap();
    let median = Time::from_secs_f64(law.quantile(Level::MEDIAN)).unwrap();
    let hedge = plan.branches()[0].hedge.as_ref().unwrap();
    assert_eq!((hedge.delays.as_slice(), hedge.min_useful), ([p95].as_slice(), median));
    // Served, each of the three goes by what it measures.
    assert_eq!(
        plan.branches().iter().map(|b| b.live).collect::<Vec<_>>(),
        [Some(0), Some(1), Some(2), None, None]
    );
    let live = plan.live_delays()[0];
    assert_eq!((live.quantile.to_string().as_str(), live.warming), ("p95", Some(Time::from_millis(1_500))));
    assert_eq!(live.cap, Time::from_millis(2_500).saturating_sub(median));
    assert_eq!(entry.route.as_ref().unwrap().to_string(), "POST /enrich");
    assert_eq!(url(entry, 1, 0, "/enrich", ""), "http://127.0.0.1:9001/parties");
}

#[test]
fn search_waits_for_sixty_of_64_shards() {
    let config = load("search.toml");
    let entry = &config.plans[0];
    let plan = &entry.plan;
    assert_eq!((plan.n(), plan.k(), plan.at_least(), plan.required()), (64, 60, 48, 0));
    assert_eq!((names(plan)[0], names(plan)[63]), ("shard-0", "shard-63"));
    assert_eq!(url(entry, 63, 0, "/search", "q=a%20b&n=10"), "http://s63.internal:9200/q?q=a%20b&n=10");
    assert_eq!(entry.branches.len(), 64);
    assert_eq!(entry.backfill, None);
}

#[test]
fn read_has_two_targets_for_one_branch() {
    let config = load("read.toml");
    let entry = &config.plans[0];
    let branch = &entry.plan.branches()[0];
    assert_eq!((branch.name.as_str(), branch.targets, branch.repeatable), ("item", 2, true));
    // p95 of a log-normal: 3 ms · e^(0.8 · 1.6448536…) = 11.184… ms, above the floor.
    assert_eq!(branch.delays(), [Time::from_nanos(11_184_123)]);
    let live = entry.plan.live_delays()[branch.live.unwrap()];
    assert_eq!((live.floor, live.warming), (Time::from_millis(5), Some(branch.delays()[0])));
    assert_eq!(url(entry, 0, 1, "/item/a%2F1", ""), "http://r2.internal/item/a%2F1");
}

/// A sketch that the vocabulary was made for, with the key that is not there yet.
#[test]
fn what_is_not_supported_yet_is_refused_where_it_stands() {
    let text = r#"
[plan.search]
route = "GET /search"
wait_for = 60
[plan.search.each]
for_each = "/pages"
count = 64
name = "shard-{i}"
url = "http://s{i}.internal:9200/q?{query}"
"#;
    let problems = Config::parse("plan.toml", text).unwrap_err().to_string();
    assert_eq!(
        problems,
        r#"plan.toml:6:1: `for_each` is not supported yet; leave it out
  |
6 | for_each = "/pages"
  | ^^^^^^^^"#
    );
}

#[test]
fn the_document_is_json_with_a_text() {
    let path = format!("{}/../../examples/document.json", env!("CARGO_MANIFEST_DIR"));
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(document["text"].as_str().is_some_and(|text| text.len() > 500));
}

#[test]
fn a_url_without_parameters_needs_no_request() {
    let config = load("enrich.toml");
    let target = &config.plans[0].branches[0].targets[0];
    assert_eq!(target.expand(&Captures::default(), ""), "http://127.0.0.1:9001/type");
}
