//! `fantail serve --demo`: a gateway with upstreams of its own, predicted, then measured, then left to the user.

mod band;
mod rows;
mod table;

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use fantail_gateway::Gateway;
use fantail_gateway::demo::{Demo, Measured, PLAN, Traffic};
use fantail_model::{Law, Level};
use fantail_planfile::PlanEntry;
use fantail_report::Source;
use fantail_report::text::fold;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use tokio::sync::oneshot;

use super::stop::Stop;
use super::{options, refused, say_ready};
use crate::args::{self, ServeArgs};
use crate::failure;
use crate::{describe, number, output};
use table::DemoTable;

/// What the demo sends to itself: 50 seconds of documents at a rate at which the plan's gate is never full.
const TRAFFIC: Traffic = Traffic { documents: 300, per_second: 6.0, seed: SEED };
/// Latencies and documents are the same in every run; which job meets which latency is not.
const SEED: u64 = 1;
/// A document in the folder of a checkout.
const DOCUMENT: &str = "examples/document.json";

pub(super) async fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let stop = Stop::listen()?;
    let demo = Demo::start(PLAN, SEED).await.map_err(|error| anyhow::anyhow!("{error}"))?;
    let entry = demo.stated.plans.first().context("the demo's file has a plan")?;
    let route = entry.route.as_ref().context("the demo's plan has a route")?.to_string();
    let path = route.trim_start_matches(char::is_alphabetic).trim_start();
    let folder = tempfile::tempdir().context("can't make a temporary folder")?;
    let store = args.store.clone().unwrap_or_else(|| folder.path().join(super::STORE));
    let source = Source { name: "enrich.toml".to_owned(), bytes: PLAN.into() };
    let gateway =
        Gateway::bind(demo.config.clone(), options(args, store, &source)?).await.map_err(refused)?;
    let addr = gateway.addr();
    say_ready(&gateway);

    let (stopped, mut stopping) = oneshot::channel();
    let serve = gateway.serve(async {
        stop.wait().await;
        // A show that is over no longer listens.
        let _ = stopped.send(());
    });
    let show = async {
        tokio::select! {
            shown = show(entry, addr, path, args) => shown.unwrap_or_else(|error| note(&error)),
            _ = &mut stopping => {}
        }
    };
    tokio::join!(serve, show);
    output::say(&"drained");
    Ok(())
}

/// A gateway goes on when what it had to show can't be written.
fn note(error: &anyhow::Error) {
    failure::report(error);
}

async fn show(entry: &PlanEntry, addr: SocketAddr, path: &str, args: &ServeArgs) -> anyhow::Result<()> {
    if args.traffic == args::Traffic::On {
        predict_and_measure(entry, addr, path).await?;
    }
    let body = if Path::new(DOCUMENT).exists() {
        format!("@{DOCUMENT}")
    } else {
        "'{\"text\":\"A signed contract.\"}'".to_owned()
    };
    output::print(format!("Serving until Ctrl-C. Try:\n  curl -s --json {body} http://{addr}{path}\n"))
}

async fn predict_and_measure(entry: &PlanEntry, addr: SocketAddr, path: &str) -> anyhow::Result<()> {
    let table = predict(entry)?;
    let Traffic { documents, per_second, .. } = TRAFFIC;
    let law = entry.branches.first().and_then(|branch| branch.law.as_ref());
    let seconds = documents as f64 / per_second;
    let intro = [
        format!("plan {}: {}", entry.plan.name(), describe::plan(&entry.plan)),
        format!("each call: {}", describe::latency(law)),
        format!(
            "Predicted, then measured: {documents} documents, {per_second} a second at random, in {seconds:.0} s of real time."
        ),
    ];
    output::print(format!("\n{}\n{}\n", paragraph(&intro), table.above()))?;
    let measured = send(addr, path).await;
    let row = rows::measured(&measured).context("no document was answered")?;
    let below = table.below(&format!("measured, {documents} documents"), &row);
    output::print(format!("{below}\n\n{}\n", paragraph(&footnotes(&measured)?)))
}

fn predict(entry: &PlanEntry) -> anyhow::Result<DemoTable> {
    let plan = &entry.plan;
    let laws: Vec<Law> = entry.branches.iter().filter_map(|branch| branch.law.clone()).collect();
    let [all, deadline, hedged] = rows::variants(plan)?;
    let (law, served) = rows::predicted(&hedged, &laws)?;
    let band = rows::band(&law, &served, plan, TRAFFIC.documents as u64);
    let limit = plan.deadline().map(|deadline| format!("{deadline} deadline")).unwrap_or_default();
    let predicted = vec![
        ("wait for all".to_owned(), rows::predicted(&all, &laws)?.1),
        (limit, rows::predicted(&deadline, &laws)?.1),
        ("+ hedged required branches".to_owned(), served),
    ];
    Ok(DemoTable { predicted, band })
}

/// Sends the documents, with a bar on a terminal.
async fn send(addr: SocketAddr, path: &str) -> Measured {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} documents, {eta} left");
    let bar = ProgressBar::new(TRAFFIC.documents as u64)
        .with_style(style.expect("a template that indicatif knows"))
        .with_finish(ProgressFinish::AndClear);
    TRAFFIC.run(addr, path, |_| bar.inc(1)).await
}

/// What the measured rows mean.
fn footnotes(measured: &Measured) -> anyhow::Result<Vec<String>> {
    let mut lines = vec![
        "95 % of such runs: where each figure of a run lies in 95 of 100 runs if the row of the plan that is served holds: order statistics for p50 and p90, binomial for the shares."
            .to_owned(),
        "extra: copies for each call that is not one.".to_owned(),
    ];
    if let Some(overhead) = measured.overhead(Level::MEDIAN, Level::below(0.95)?) {
        let overhead = number::duration(overhead.value);
        lines.push(format!("Times are the client's: with the way there and back, {overhead} in the median."));
    }
    let lost = measured.without_verdict();
    if lost > 0 {
        lines.push(format!("{} got no result.", number::count(lost as u64, "document", "documents")));
    }
    Ok(lines)
}

/// Lines as wide as the terminal.
fn paragraph(lines: &[String]) -> String {
    lines.iter().map(|line| fold(line, output::width(), 2) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use fantail_planfile::Config;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    /// With q = 1.04 % of calls beyond 2.5 s: complete (1 - q)^5, failed 1 - (1 - q)^3, partial what is left.
    #[test]
    fn the_demo_predicts_three_plans_within_80_columns() {
        let config = Config::parse("the demo's plan", PLAN).unwrap();
        let table = predict(&config.plans[0]).unwrap();
        let law = config.plans[0].branches[0].law.as_ref().unwrap();
        let q = law.survival(2.5);
        let [(_, all), (name, deadline), (_, hedged)] = table.predicted.as_slice() else { panic!() };
        assert_eq!((all.complete, all.failed, all.extra), (1.0, 0.0, 0.0));
        assert_eq!(name, "2.5s deadline");
        assert!((deadline.complete - (1.0 - q).powi(5)).abs() < 1e-9, "{deadline:?}");
        assert!((deadline.failed - (1.0 - (1.0 - q).powi(3))).abs() < 1e-9, "{deadline:?}");
        assert!(hedged.failed < deadline.failed / 4.0 && hedged.extra > 0.02, "{hedged:?}");
        let text = format!("{}\n{}", table.above(), table.below("measured, 300 documents", hedged));
        assert_eq!(text.lines().count(), 7);
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        for (low, row, high) in [
            (table.band.low.p50, hedged.p50, table.band.high.p50),
            (table.band.low.p90, hedged.p90, table.band.high.p90),
            (table.band.low.complete, hedged.complete, table.band.high.complete),
            (table.band.low.partial, hedged.partial, table.band.high.partial),
            (table.band.low.failed, hedged.failed, table.band.high.failed),
            (table.band.low.extra, hedged.extra, table.band.high.extra),
        ] {
            assert!(low <= row && row <= high && low < high, "{low} {row} {high}");
        }
    }
}
