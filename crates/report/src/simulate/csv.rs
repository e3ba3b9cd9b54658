//! `--format csv`: one line a plan, each figure with the ends of its interval, times in seconds.
//!
//! An infinite number is `inf`, one that there is none of is empty.

use super::figures::{Figure, Id, Report};
use crate::MEMORY;

pub(super) fn render(report: &Report) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Servers differ from file to file; all others are the same for all.
    let mut columns: Vec<(&Id, bool)> = Vec::new();
    for figure in report.rows.iter().flat_map(|row| &row.figures) {
        if !columns.iter().any(|(id, _)| **id == figure.id) {
            columns.push((&figure.id, figure.interval.is_some()));
        }
    }
    let mut header: Vec<String> = ["name", "file", "kind", "jobs", "blocks"].map(str::to_owned).to_vec();
    for (id, interval) in &columns {
        let name = match id {
            Id::Quantile(label) => format!("{label}_s"),
            Id::Named(name) => (*name).to_owned(),
            Id::Utilisation(server) => format!("utilisation_{server}"),
        };
        if *interval {
            header.extend([name.clone(), format!("{name}_low"), format!("{name}_high")]);
        } else {
            header.push(name);
        }
    }
    writer.write_record(&header).expect(MEMORY);
    for row in &report.rows {
        let mut record = vec![row.name.clone(), row.file.clone().unwrap_or_default()];
        record.push(if row.is_client { "client" } else { "plan" }.to_owned());
        record.push(row.jobs.to_string());
        record.push(row.blocks.as_ref().map(|blocks| blocks.count.to_string()).unwrap_or_default());
        for (id, interval) in &columns {
            let figure = row.figures.iter().find(|figure| figure.id == **id);
            let number = |number: Option<f64>| {
                number.filter(|number| !number.is_nan()).map(|number| number.to_string()).unwrap_or_default()
            };
            record.push(number(figure.and_then(|figure| figure.value.ok())));
            if *interval {
                let ends = figure.and_then(|figure: &Figure| figure.interval);
                record.push(number(ends.map(|ends| ends.low)));
                record.push(number(ends.map(|ends| ends.high)));
            }
        }
        writer.write_record(&record).expect(MEMORY);
    }
    writer.into_inner().expect(MEMORY)
}
