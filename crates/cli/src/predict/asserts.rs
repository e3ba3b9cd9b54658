//! `--assert`: what every strategy has to keep.

use fantail_model::{Figure, Method, tune};
use fantail_planfile::Goal;

use super::report::Report;
use crate::{number, output};

/// Says which asserts do not hold, with figure and bound; whether there are any. Strategies without figures are not
/// looked at.
pub(super) fn say_what_does_not_hold(report: &Report) -> bool {
    let mut broken = false;
    for strategy in &report.strategies {
        let Ok(figures) = &strategy.outlook else { continue };
        for (goal, figure) in report.asserts.iter().zip(&figures.asserted) {
            if let Some(why) = broken_by(goal, figure) {
                broken = true;
                output::say(&format_args!("error: {}: {goal} does not hold: {why}", strategy.shown()));
            }
        }
    }
    broken
}

/// Why a goal is not met; `None` when it is.
fn broken_by(goal: &Goal, figure: &Result<Figure, String>) -> Option<String> {
    match figure {
        Ok(Figure { value, method: Method::Bounded { lower, upper } }) => {
            // It holds for certain where it does at both bounds.
            let at = [*value, *lower, *upper].into_iter().find(|value| !goal.goal().is_met(*value))?;
            Some(format!("{} is between bounds, one of which is {}", goal.word(), shown(goal, at)))
        }
        Ok(Figure { value, .. }) if goal.goal().is_met(*value) => None,
        Ok(Figure { value, .. }) => Some(format!("{} is {}", goal.word(), shown(goal, *value))),
        Err(why) => Some(format!("{} is not known: {why}", goal.word())),
    }
}

/// The figure, with all its digits when it would look like the bound without them.
fn shown(goal: &Goal, figure: f64) -> String {
    let tune::Goal { measure, bound, .. } = goal.goal();
    let text = number::figure(measure, figure);
    let unit = if measure.is_time() { " s" } else { "" };
    if text == number::figure(measure, bound) { format!("{text} ({figure}{unit})") } else { text }
}
