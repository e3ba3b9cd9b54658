//! `--format text`: what was found, for people.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use fantail_model::tune::Measure;
use fantail_planfile::Goal;
use fantail_report::text::fold;
use unicode_width::UnicodeWidthStr;

use super::columns::{Column, NONE, columns, goal_columns};
use super::report::{Report, missed};
use super::request::Origin;
use super::{load_test, words};
use crate::{describe, number, output};

/// Renders for a terminal of `width` columns.
pub(super) fn render(report: &Report, width: usize) -> String {
    let mut text = String::new();
    for line in subjects(report) {
        add(&mut text, &line, width);
    }
    text.push('\n');
    let (names, rows): (Vec<&str>, Vec<_>) = report.named().into_iter().unzip();
    table(&mut text, &column("", names), columns(report, &rows), width);
    text.push('\n');
    add(&mut text, &verdict(report), width);
    if report.choice.is_none() {
        text.push('\n');
        attainable(&mut text, report, width);
    }
    if report.frontier.len() > 1 {
        text.push('\n');
        add(&mut text, &format!("What a price buys{}:", frontier_of(report)), width);
        let rows: Vec<_> = report.frontier.iter().collect();
        let mut columns = columns(report, &rows);
        let first = columns.remove(0);
        table(&mut text, &first, columns, width);
    }
    if !report.doubts.is_empty() {
        text.push('\n');
        add(&mut text, "The tuned plan, if something is other than stated:", width);
        doubts(&mut text, report, width);
    }
    if !report.load_test.is_empty() {
        let jobs = number::count(load_test::JOBS, "job", "jobs");
        let seed = load_test::SEED;
        text.push('\n');
        add(
            &mut text,
            &format!(
                "The tuned plan under the scenario's load, simulated: {jobs}, seed {seed}; in parentheses where the figure \
                 lies with 95 % confidence."
            ),
            width,
        );
        for line in report.load_test.iter().flat_map(|tested| tested.lines(&report.request.goals)) {
            add(&mut text, &line, width);
        }
    }
    text.push('\n');
    for line in report.advice.iter().chain(&notes(report)) {
        add(&mut text, line, width);
    }
    text
}

fn add(text: &mut String, line: &str, width: usize) {
    writeln!(text, "{}", fold(line, width, 2)).expect("a string takes every write");
}

/// What is tuned, and for what.
fn subjects(report: &Report) -> Vec<String> {
    let request = &report.request;
    let subject = match &request.origin {
        Origin::Like { n, latency, strategy } => {
            let branches = number::count((*n).into(), "branch,", "branches, each");
            let from = if strategy == "all" { String::new() } else { format!("; from {strategy}") };
            format!("{branches} {latency}{from}")
        }
        Origin::File(stated) => format!("{}  {}", stated.plan.name(), describe::plan(&stated.plan)),
    };
    let goals: Vec<&str> = request.goals.iter().map(Goal::as_str).collect();
    vec![subject, format!("Goals: {}", goals.join(", "))]
}

/// What was found, in a sentence.
fn verdict(report: &Report) -> String {
    match &report.choice {
        Some(row) if missed(&report.request.goals, &report.plain.figures).0.is_empty() => {
            format!("No copies are needed: {}.", words::plan(&report.request, &row.job))
        }
        Some(row) => {
            format!("Cheapest plan that meets the goals: {}.", words::plan(&report.request, &row.job))
        }
        None => "Infeasible: no plan was found that meets the goals. The best of each:".to_owned(),
    }
}

/// The best that can be had of each goal.
fn attainable(text: &mut String, report: &Report, width: usize) {
    let goals = &report.request.goals;
    let cells = |value: &dyn Fn(usize) -> Option<f64>| -> Vec<String> {
        let cell = |(i, goal): (usize, &Goal)| {
            value(i).map_or(NONE.to_owned(), |value| number::figure(goal.goal().measure, value))
        };
        goals.iter().enumerate().map(cell).collect()
    };
    let mut columns = vec![
        Column { header: "no\ncopies".to_owned(), cells: cells(&|i| report.plain.figures[i]) },
        Column {
            header: "best with\nothers met".to_owned(),
            cells: cells(&|i| report.attainable[i].with_others),
        },
    ];
    if goals.len() > 1 {
        let alone = cells(&|i| report.attainable[i].alone);
        columns.push(Column { header: "best with\nprices met".to_owned(), cells: alone });
    }
    table(text, &column("goal", goals.iter().map(Goal::as_str).collect()), columns, width);
}

/// What the plans of the frontier are better in.
fn frontier_of(report: &Report) -> String {
    let goal = report.request.goals.iter().find(|goal| goal.goal().measure == report.frontier_of);
    goal.map(|goal| format!(" in {}", goal.word())).unwrap_or_default()
}

fn doubts(text: &mut String, report: &Report, width: usize) {
    let goals = &report.request.goals;
    let names = report.doubts.iter().map(|doubt| doubt.what.as_str()).collect();
    let rows: Vec<&[Option<f64>]> = report.doubts.iter().map(|doubt| doubt.figures.as_slice()).collect();
    let mut columns = goal_columns(goals, &rows);
    let kept = rows.iter().map(|figures| match missed(goals, figures) {
        (missed, true) if missed.is_empty() => "yes".to_owned(),
        (missed, false) if missed.is_empty() => "not known".to_owned(),
        _ => "no".to_owned(),
    });
    columns.push(Column { header: "goals\nmet".to_owned(), cells: kept.collect() });
    table(text, &column("", names), columns, width);
}

/// What was held and what the figures take for granted.
fn notes(report: &Report) -> Vec<String> {
    let mut notes = vec![format!("Held: {}.", held(report).join(", "))];
    if let Some(error) = report.request.fit_error {
        let through = if error < 1e-6 {
            "goes through them".to_owned()
        } else {
            format!("is at most {} off", number::percent(error))
        };
        notes.push(format!(
            "Latencies given by percentiles: the fitted law {through}, and alone decides what lies beyond the last."
        ));
    }
    if report.is_busy_for_ever() {
        notes.push(
            "Without copies branches are busy for ever, on average: there is no extra busy time to tell."
                .to_owned(),
        );
    }
    if report.cut_short {
        notes.push(format!("{CUT_SHORT}."));
    }
    notes.push(format!(
        "Figures are exact, assuming that {}. {} were solved.",
        report.assumes.join(", that "),
        number::count(report.evaluations, "plan", "plans")
    ));
    if !report.left_out.is_empty() {
        let left_out = report.left_out.join("; ");
        notes.push(format!(
            "The scenario says otherwise, which is in no figures but those under its load: {left_out}."
        ));
    }
    notes
}

/// What a search that takes long does.
const CUT_SHORT: &str = "It takes long to judge a plan like this: the search ended before all were tried, and a cheaper one may be among them";

/// What the search left as it was stated.
pub(super) fn held(report: &Report) -> Vec<String> {
    let tuning = &report.request.tuning;
    let (plan, levers) = (&tuning.plan, &tuning.levers);
    let required: u64 = plan.groups.iter().filter(|group| group.required).map(|group| group.count).sum();
    let mut held = vec![match required {
        1 if plan.n() == 1 => "the only branch is required".to_owned(),
        0 => "no branch is required".to_owned(),
        all if all == plan.n() && all > 1 => "every branch is required".to_owned(),
        some => format!("{} required", number::count(some, "branch is", "branches are")),
    }];
    if levers.least_k == plan.k && plan.k < plan.n() {
        held.push(format!("the first {} are waited for", plan.k));
    }
    if required < plan.n() {
        held.push(format!("a result holds at least {}", number::count(plan.at_least, "answer", "answers")));
    }
    if !levers.deadline && plan.deadline.is_finite() {
        held.push(format!("deadline {}", words::time(plan.deadline)));
    }
    let bounds_loss = |goal: &Goal| matches!(goal.goal().measure, Measure::Complete | Measure::Failed);
    if plan.deadline.is_infinite() && !report.request.goals.iter().any(bounds_loss) {
        held.push("no deadline".to_owned());
    }
    let not_hedged = (0..plan.groups.len()).filter(|group| !levers.hedged[*group]);
    let names: Vec<String> = not_hedged.map(|group| report.request.label(group)).collect();
    if !names.is_empty() {
        held.push(format!("no copies of {}", words::some_of(&names)));
    }
    if levers.most_extra.is_finite() {
        held.push(format!("at most {} extra requests, the hedge budget", number::percent(levers.most_extra)));
    } else if levers.budget.is_finite() {
        held.push(format!("copies after a delay for at most {} of answers", number::percent(levers.budget)));
    }
    held
}

fn column(header: &str, cells: Vec<&str>) -> Column {
    Column { header: header.to_owned(), cells: cells.into_iter().map(str::to_owned).collect() }
}

/// Tables below each other as far as `width` needs, each beginning with the first column.
fn table(text: &mut String, first: &Column, columns: Vec<Column>, width: usize) {
    let room = width.saturating_sub(column_width(first));
    let mut blocks: Vec<Vec<Column>> = Vec::new();
    let mut used = usize::MAX;
    for column in columns {
        let needed = column_width(&column) + GAP;
        used = used.saturating_add(needed);
        match blocks.last_mut() {
            Some(block) if used <= room => block.push(column),
            _ => {
                used = needed;
                blocks.push(vec![column]);
            }
        }
    }
    for (i, block) in blocks.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        side_by_side(text, first, block);
    }
}

/// Blanks between columns.
const GAP: usize = 2;

fn column_width(column: &Column) -> usize {
    let cells = column.cells.iter().map(|cell| cell.width());
    cells.chain(column.header.lines().map(UnicodeWidthStr::width)).max().unwrap_or(0)
}

/// Rows under a first column that is aligned to the left; nothing but blanks between.
fn side_by_side(text: &mut String, first: &Column, columns: &[Column]) {
    let all = || std::iter::once(first).chain(columns);
    let lines = all().map(|column| column.header.lines().count()).max().unwrap_or(1);
    let mut table = Table::new();
    table.load_style(NOTHING);
    let above = |column: &Column| "\n".repeat(lines - column.header.lines().count().max(1)) + &column.header;
    table.set_header(all().map(above).collect::<Vec<_>>());
    for i in 0..first.cells.len() {
        table.add_row(all().map(|column| column.cells[i].clone()).collect::<Vec<_>>());
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { GAP as u16 }, 0));
        column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    for (i, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let line = if i < lines { output::strong(line) } else { line.to_owned() };
        writeln!(text, "{line}").expect("a string takes every write");
    }
}
