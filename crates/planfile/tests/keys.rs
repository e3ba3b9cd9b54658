//! The list of keys against the reader: what is documented loads, and nothing documented is ignored.

use fantail_planfile::keys::{KEYS, Key, Scope};
use fantail_planfile::{Config, Problems};

/// A file that states `example` in a table of `scope`.
fn document(scope: Scope, example: &str) -> String {
    let plan = "[plan.x]\nroute = \"GET /x\"\n";
    let deadline = "[plan.x]\ndeadline = \"10s\"\n";
    let branch = "[plan.x.branch.b]\nrepeatable = true\n";
    let url = "url = \"http://127.0.0.1:9001/\"\n";
    let limiter = "[limiter.llm]\ngate = 10\n";
    match scope {
        Scope::File => format!("{example}\n{deadline}{branch}"),
        Scope::Limiter => format!("[limiter.l]\n{example}\n{plan}{branch}{url}"),
        Scope::Plan => format!("[plan.x]\n{example}\n[plan.x.branch.b]\n"),
        Scope::Backfill => format!("[plan.x.backfill]\n{example}\n{branch}optional = true\n"),
        Scope::Failover => {
            let targets = "targets = [\"http://a/\", \"http://b/\"]\n";
            format!("[plan.x.failover]\n{example}\n{branch}{targets}")
        }
        Scope::Leader => {
            let named = if example.starts_with("branch") { "" } else { "branch = \"b\"\n" };
            let timed = if example.starts_with("head_start") { "" } else { "head_start = \"1s\"\n" };
            format!("[plan.x.leader]\n{named}{timed}{example}\n{branch}")
        }
        Scope::Hedge => format!("[plan.x.hedge]\n{example}\n{branch}{two}", two = two_targets(example)),
        Scope::BranchHedge => {
            format!("{branch}{two}[plan.x.branch.b.hedge]\n{example}\n", two = two_targets(example))
        }
        Scope::Defaults => format!(
            "{limiter}{deadline}[plan.x.defaults]\n{example}\n{branch2}",
            branch2 = "[plan.x.branch.b]\n"
        ),
        Scope::Each => {
            let count = if example.starts_with("count") { "" } else { "count = 1\n" };
            let name = if example.starts_with("name") { "" } else { "name = \"b-{i}\"\n" };
            format!("{limiter}{deadline}[plan.x.each]\n{count}{name}{example}\n[plan.x.branch.a]\n")
        }
        Scope::Branch => {
            format!("{limiter}{deadline}[plan.x.branch.b]\n{example}\n[plan.x.branch.a]\n")
        }
        Scope::Scenario => format!("[plan.x.branch.b]\n[scenario]\n{example}\n"),
        Scope::Arrivals => format!("[plan.x.branch.b]\n[scenario.arrivals]\n{example}\n"),
        Scope::Shares => format!("[plan.x.branch.b]\n[scenario.shares]\n{example}\n"),
        Scope::Server => format!("[plan.x.branch.b]\n[scenario.server.s]\n{example}\n"),
        Scope::Slow => format!("[plan.x.branch.b]\n[scenario.server.s.slow]\n{example}\n"),
        Scope::Client => format!("[plan.x.branch.b]\n[scenario.client.c]\n{example}\n"),
        _ => panic!("a document for {scope:?}"),
    }
}

fn two_targets(example: &str) -> &'static str {
    if example.contains("distinct") { "targets = [\"http://a/\", \"http://b/\"]\n" } else { "" }
}

fn load(text: &str) -> Result<Config, Problems> {
    Config::parse("plan.toml", text)
}

fn each_key(check: impl Fn(&Key, Scope)) {
    for key in KEYS {
        for &scope in key.scopes {
            check(key, scope);
        }
    }
}

#[test]
fn every_documented_key_loads_in_every_table_that_may_hold_it() {
    each_key(|key, scope| {
        let text = document(scope, key.example);
        let loaded = load(&text);
        assert!(loaded.is_ok(), "{} in {}:\n{text}\n{}", key.name, scope.place(), loaded.unwrap_err());
    });
}

/// A date is no value of any key, so a key that takes one is a key that nobody reads.
#[test]
fn every_documented_key_is_read() {
    each_key(|key, scope| {
        let stated = key.example.lines().find(|line| line.starts_with(key.name));
        let stated = stated.unwrap_or_else(|| panic!("the example of {} states it", key.name));
        let bad = document(scope, &key.example.replacen(stated, &format!("{} = 1979-05-27", key.name), 1));
        let line = bad.lines().position(|line| line.ends_with("1979-05-27")).map(|line| line + 1);
        let problems = load(&bad).expect_err(&bad);
        let found = problems.iter().any(|p| Some(p.line()) == line && p.message().contains(key.name));
        assert!(found, "{} in {}:\n{bad}\n{problems}", key.name, scope.place());
    });
}

#[test]
fn no_table_documents_a_key_twice() {
    for key in KEYS {
        for &scope in key.scopes {
            assert_eq!(
                scope.keys().filter(|other| other.name == key.name).count(),
                1,
                "{} in {scope:?}",
                key.name
            );
        }
    }
}
