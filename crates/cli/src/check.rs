//! `fantail check`: what a plan file means, or everything that is wrong with it.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use fantail_core::Branch;
use fantail_planfile::{Config, PlanEntry};

use crate::args::CheckArgs;
use crate::{describe, input, number, output};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let configs = input::configs(&args.files)?;
    let texts: Vec<String> =
        args.files.iter().zip(&configs).map(|(path, config)| understood(path, config)).collect();
    output::print(texts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn understood(path: &Path, config: &Config) -> String {
    let plans = number::count(config.plans.len() as u64, "plan", "plans");
    let limiters = number::count(config.limiters.len() as u64, "limiter", "limiters");
    let mut text = format!("{}: valid, {plans}, {limiters}\n", path.display());
    for limiter in &config.limiters {
        line(&mut text, format_args!("\nlimiter {}: {}", limiter.name, describe::limiter(limiter)));
    }
    for entry in &config.plans {
        let route = entry.route.as_ref().map_or("not served".to_owned(), ToString::to_string);
        line(&mut text, format_args!("\nplan {}: {route}", entry.plan.name()));
        line(&mut text, format_args!("  {}", describe::plan(&entry.plan)));
        line(&mut text, branches(entry).trim_fmt());
    }
    text
}

fn line(text: &mut String, line: impl std::fmt::Display) {
    writeln!(text, "{line}").expect("a string takes every write");
}

/// Neighbours alike in all but name and host, more than this many, share a line.
const SHOWN: usize = 8;

/// Neighbours that are described alike, and where their targets are.
struct Run<'p> {
    branches: Vec<&'p Branch>,
    hosts: Vec<String>,
    cells: Vec<String>,
}

/// One line a branch.
fn branches(entry: &PlanEntry) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    let runs = runs(entry);
    let columns = runs.first().map_or(0, |run| run.cells.len());
    let used: Vec<bool> = (0..columns).map(|i| runs.iter().any(|run| !run.cells[i].is_empty())).collect();
    for Run { branches, hosts, cells } in &runs {
        let middle = || cells.iter().zip(&used).filter(|(_, used)| **used).map(|(cell, _)| cell.clone());
        let mut add = |name: String, host: String| {
            table.add_row(std::iter::once(name).chain(middle()).chain([host]).collect::<Vec<_>>());
        };
        if branches.len() > SHOWN {
            let names = through(branches[0].name.as_str(), branches[branches.len() - 1].name.as_str());
            add(format!("{names} ({})", branches.len()), through(&hosts[0], &hosts[hosts.len() - 1]));
        } else {
            branches.iter().zip(hosts).for_each(|(branch, host)| add(branch.name.clone(), host.clone()));
        }
    }
    if let Some(names) = table.column_mut(0) {
        names.set_padding((2, 1));
    }
    table
}

fn runs(entry: &PlanEntry) -> Vec<Run<'_>> {
    let plan = &entry.plan;
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (branch, more) in plan.branches().iter().zip(&entry.branches) {
        let cells = vec![
            describe::role(branch).to_owned(),
            describe::latency(more.law.as_ref()),
            describe::order(plan, branch),
            describe::copies(branch),
            describe::bounds(plan, branch),
            describe::permits(plan, branch),
        ];
        let host = describe::targets(more);
        match runs.last_mut() {
            Some(run) if run.cells == cells => {
                run.branches.push(branch);
                run.hosts.push(host);
            }
            _ => runs.push(Run { branches: vec![branch], hosts: vec![host], cells }),
        }
    }
    runs
}

/// The first and the last of several.
fn through(first: &str, last: &str) -> String {
    if first == last { first.to_owned() } else { format!("{first} … {last}") }
}
