//! `--format csv` and `md`: one line a plan.

use super::columns::columns;
use super::report::{Report, Row};

/// The plans with their names: those of the frontier come last.
fn rows(report: &Report) -> Vec<(&'static str, &Row)> {
    let frontier = report.frontier.iter().map(|row| ("frontier", row));
    report.named().into_iter().chain(frontier).collect()
}

/// Numbers in full precision, times in seconds; what there is no number of is empty.
pub(super) fn csv(report: &Report) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let goals = report.request.goals.iter().map(|goal| goal.word().to_owned());
    let before = ["plan", "n", "k", "at_least", "deadline_s", "copies_after_s"].map(str::to_owned);
    let after = ["complete", "partial", "failed", "extra_requests", "extra_busy", "cost"];
    let asked: Vec<(usize, String)> =
        goals.enumerate().filter(|(_, name)| !after.contains(&name.as_str())).collect();
    let names = asked.iter().map(|(_, name)| format!("{name}_s"));
    writer.write_record(before.into_iter().chain(names).chain(after.map(str::to_owned)))?;
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (name, row) in rows(report) {
        let plan = row.job.plan();
        let copies: Vec<String> = plan
            .groups
            .iter()
            .map(|group| group.delays.iter().map(f64::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        let mut record = vec![name.to_owned()];
        record.extend([plan.n(), plan.k, plan.at_least].map(|count| count.to_string()));
        record.push(number(Some(plan.deadline).filter(|deadline| deadline.is_finite())));
        record.push(copies.join("; "));
        record.extend(asked.iter().map(|(i, _)| number(row.figures[*i])));
        let prices = [Some(row.extra_requests), row.extra_busy, row.cost];
        record
            .extend([row.complete, row.partial, row.failed].map(Some).into_iter().chain(prices).map(number));
        writer.write_record(record)?;
    }
    Ok(writer.into_inner()?)
}

/// A Markdown table, as people read numbers.
pub(super) fn markdown(report: &Report) -> Vec<u8> {
    let (names, rows): (Vec<&str>, Vec<&Row>) = rows(report).into_iter().unzip();
    let columns = columns(report, &rows);
    let line = |first: &str, cells: &mut dyn Iterator<Item = String>| {
        format!("| {first} | {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut text = line("plan", &mut columns.iter().map(|column| column.header.replace('\n', " ")));
    text += &line("---", &mut columns.iter().map(|_| "--:".to_owned()));
    for (i, name) in names.iter().enumerate() {
        text += &line(name, &mut columns.iter().map(|column| column.cells[i].trim_end().to_owned()));
    }
    text.into_bytes()
}
