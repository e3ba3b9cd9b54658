//! `--assert`: what every strategy has to keep.

use fantail_model::{Figure, Method, tune};
use fantail_planfile::Goal;

use crate::{number, output};
use fantail_report::predict::Report;

/// Says which asserts do not hold or cannot be told, with figure and bound; whether there are any. Strategies without figures are not
/// looked at.
pub(super) fn say_what_does_not_hold(report: &Report) -> bool {
    let mut broken = false;
    for strategy in &report.strategies {
        let Ok(figures) = &strategy.outlook else { continue };
        for (goal, figure) in report.asserts.iter().zip(&figures.asserted) {
            if let Some(why) = broken_by(goal, figure) {
                broken = true;
                output::say(&format_args!("error: {}: {goal} {why}", strategy.shown));
            }
        }
    }
    broken
}

/// That a goal is not met, or that it cannot be told, and why; `None` when it is met.
fn broken_by(goal: &Goal, figure: &Result<Figure, String>) -> Option<String> {
    match figure {
        Ok(Figure { value, method: Method::Bounded { lower, upper } }) => {
            // It holds for certain where it does at both bounds.
            let at = [*value, *lower, *upper].into_iter().find(|value| !goal.goal().is_met(*value))?;
            Some(format!(
                "does not hold: {} is between bounds, one of which is {}",
                goal.word(),
                shown(goal, at)
            ))
        }
        Ok(Figure { value, method: Method::Simulated { low, high } }) => {
            let [met, at_low, at_high] = [*value, *low, *high].map(|value| goal.goal().is_met(value));
            let measured = format!(
                "{} is {} of simulated jobs, from {} to {} with 95 % confidence",
                goal.word(),
                shown(goal, *value),
                shown(goal, *low),
                shown(goal, *high)
            );
            match (met, at_low, at_high) {
                (true, true, true) => None,
                (false, false, false) if low.is_finite() => Some(format!("does not hold: {measured}")),
                _ => Some(format!("cannot be told: {measured}; more --jobs narrow that")),
            }
        }
        Ok(Figure { value, .. }) if goal.goal().is_met(*value) => None,
        Ok(Figure { value, .. }) => {
            Some(format!("does not hold: {} is {}", goal.word(), shown(goal, *value)))
        }
        Err(why) => Some(format!("does not hold: {} is not known: {why}", goal.word())),
    }
}

/// The figure, with all its digits when it would look like the bound without them.
fn shown(goal: &Goal, figure: f64) -> String {
    let tune::Goal { measure, bound, .. } = goal.goal();
    let text = number::figure(measure, figure);
    let unit = if measure.is_time() { " s" } else { "" };
    if text == number::figure(measure, bound) { format!("{text} ({figure}{unit})") } else { text }
}
