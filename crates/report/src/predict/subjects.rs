//! What a prediction is about, in words.

use fantail_model::Dependence;
use unicode_width::UnicodeWidthStr;

use super::report::{Report, Strategy};
use super::request::Point;
use crate::{number, text};

/// What the table is about.
pub(crate) fn subjects(report: &Report) -> Vec<String> {
    if let Some(setting) = &report.setting {
        let branches = match setting.n {
            Some(n) => number::count(n.into(), "branch,", "branches, each"),
            None => "Branches, each".to_owned(),
        };
        let ends = [report.strategies.first(), report.strategies.last()];
        let ends: Vec<Point> = ends.into_iter().filter_map(|end| end?.point).collect();
        let sweep = match ends.as_slice() {
            [from, to] => {
                let word = from.variable();
                let labels = Point::labels(&ends);
                if from.value() == to.value() {
                    format!("; {word} {}", labels[0])
                } else {
                    format!("; {word} from {} to {}", labels[0], labels[1])
                }
            }
            _ => String::new(),
        };
        return vec![format!("{branches} {}{sweep}", text::printable(&setting.latency))]
            .into_iter()
            .chain(shared(report))
            .collect();
    }
    let name_width = report.strategies.iter().map(|strategy| strategy.shown.width()).max().unwrap_or(0);
    let line = |strategy: &Strategy| {
        let name = &strategy.shown;
        let padding = " ".repeat(name_width - name.width());
        let description = strategy.description.as_deref().unwrap_or_default();
        format!("{name}{padding}  {description}")
    };
    let lines: Vec<String> = if report.is_sweep() {
        report.curves().into_iter().map(|curve| line(&curve[0])).collect()
    } else {
        report.strategies.iter().map(line).collect()
    };
    lines.into_iter().chain(shared(report)).collect()
}

/// What calls share.
fn shared(report: &Report) -> Option<String> {
    let shares = report.shares;
    let words = format!("Shared luck: {} by a job, {} by a branch", shares.job(), shares.branch());
    (shares != Dependence::NONE).then_some(words)
}
