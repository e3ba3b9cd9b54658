//! What a person reads when a plan file is wrong.

use fantail_planfile::Config;

/// The problems of `text`, one a line: `line:column: message`.
fn problems(text: &str) -> String {
    match Config::parse("plan.toml", text) {
        Ok(_) => "none".to_owned(),
        Err(problems) => problems
            .iter()
            .map(|problem| format!("{}:{}: {}", problem.line(), problem.column(), problem.message()))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

#[test]
fn show() {
    for text in [
        "[plan.a]\ndeadlin = \"2s\"\ndeadline = \"2.5\"\nwait_for = 6\n[plan.a.branch]\nb = {}\nc = {}\nb = {}\n",
        "[plan.a]\nroute = \"POST /a\"\ndeadline = 2.5s\nhedge = { after = p95 }\n[plan.a.branch]\nb = {url=\"http://h/\"}\nc = {}\n",
        "[plan.a]\nroute = \"POST /a\"\nhedge = {after=\"p95\"}\n[plan.a.defaults]\nlatency = \"lognormal:median=1,sigma=x\"\nurl=\"http://h/{brnch}\"\n[plan.a.branch]\nb = {}\nc = {limiter = \"x\"}\nd={limitr=1,hedge=false}",
        "[plan.a]\ndeadline=\"1s\"\nhedge = {after=\"1.5s\"}\n[plan.a.each]\ncount=5\nname=\"x\"\n",
        "[plan.a]\ndeadline=\"1s\"\nhedge = {after=\"0.5s\"}\n[plan.a.each]\ncount=5\nname=\"x{i}\"\ndeadline=\"2s\"\n",
        "",
        "[plan]",
        "plan = 1",
        "a\0b",
        "[plan.a]\nobserve = \"1%\"\n[plan.a.each]\nfor_each=\"/x\"\ncount=1\nname=\"{i}\"",
    ] {
        println!("-----\n{text}\n");
        if let Err(p) = Config::parse("plan.toml", text) {
            println!("{p}");
        } else {
            println!("OK")
        }
    }
    println!("{}", problems(""));
}
