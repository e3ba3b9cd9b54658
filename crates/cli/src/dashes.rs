//! Figures that are not there: a dash in a table, and a note below it that says why.

/// What is printed where there is no figure.
pub(crate) const NONE: &str = "–";

/// Why there are dashes, each kind once.
#[derive(Default)]
pub(crate) struct Dashes(Vec<Dash>);

/// Dashes of one figure for one reason.
struct Dash {
    figure: String,
    why: String,
    /// Whose.
    names: Vec<String>,
}

impl Dashes {
    /// Notes why there is no such figure of so named a plan.
    pub(crate) fn add(&mut self, figure: &str, name: String, why: &str) {
        match self.0.iter_mut().find(|dash| dash.figure == figure && dash.why == why) {
            Some(dash) if dash.names.contains(&name) => {}
            Some(dash) => dash.names.push(name),
            None => self.0.push(Dash { figure: figure.to_owned(), why: why.to_owned(), names: vec![name] }),
        }
    }

    /// A note for each reason.
    pub(crate) fn notes(self) -> Vec<String> {
        let mut kinds: Vec<(Vec<String>, Dash)> = Vec::new();
        for dash in self.0 {
            match kinds.iter_mut().find(|(_, kind)| kind.why == dash.why && kind.names == dash.names) {
                Some((figures, _)) => figures.push(dash.figure),
                None => kinds.push((vec![dash.figure.clone()], dash)),
            }
        }
        let note = |(figures, Dash { why, names, .. }): (Vec<String>, Dash)| {
            format!("{NONE} {} of {}: {why}.", figures.join(", "), names.join(", "))
        };
        kinds.into_iter().map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Dashes;

    #[test]
    fn figures_that_lack_for_one_reason_share_a_note() {
        let mut dashes = Dashes::default();
        for name in ["a", "b", "a"] {
            dashes.add("cost", name.to_owned(), "unpriced");
            dashes.add("busy", name.to_owned(), "endless");
            dashes.add("requests", name.to_owned(), "endless");
        }
        dashes.add("mean", "b".to_owned(), "endless");
        let notes =
            ["– cost of a, b: unpriced.", "– busy, requests of a, b: endless.", "– mean of b: endless."];
        assert_eq!(dashes.notes(), notes);
    }
}
