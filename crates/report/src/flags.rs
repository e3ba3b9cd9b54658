//! What is said of plans beside them, and what is wrong with it.

use std::fmt::Display;

use fantail_model::Dependence;
use fantail_planfile::{Problem, Problems, ShortForm};
use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Words that hold for every plan that is named beside them, each as if it were not given where it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    /// The fewest answers that a result may hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// Which branches a result has to hold: names between commas; of like branches, how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<String>,
    /// How much of the luck of a call is shared, like `job=0.2,branch=0.3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rho: Option<String>,
}

impl Flags {
    /// What attempts share: nothing where nothing is said.
    ///
    /// # Errors
    /// What is wrong with `rho`.
    pub fn shares(&self) -> Result<Dependence, Invalid> {
        self.rho.as_deref().map_or(Ok(Dependence::NONE), rho)
    }

    /// How many like branches are to be required, if that is said.
    ///
    /// # Errors
    /// `required` is no number.
    pub fn count(&self) -> Result<Option<u32>, Invalid> {
        self.required.as_deref().map(count).transpose()
    }

    /// Whether the flags leave alone what a plan states itself.
    ///
    /// # Errors
    /// Flags that say it again, or that do not suit the plan's shape.
    pub fn check(&self, form: &ShortForm) -> Result<(), Invalid> {
        let mut faults = Faults::default();
        let text = form.as_str();
        let mut fault = |what: String| faults.0.push(format!("{what} of `{text}`; expected one of them"));
        if let (Some(_), Some(flag)) = (form.at_least(), self.at_least) {
            fault(format!("--at-least {flag} beside that"));
        }
        if let (Some(_), Ok(Some(required))) = (form.shape(), self.count()) {
            fault(format!("--required {required} beside the shape"));
        }
        if let (Some(_), Some(rho)) = (form.shape(), &self.rho) {
            fault(format!("--rho {rho} beside the shape"));
        }
        faults.none()
    }

    /// What a plan is when it states what the flags do.
    ///
    /// # Errors
    /// What is wrong with it. What is wrong only with the flags is their fault, not the plan's.
    pub fn on<T>(
        &self,
        form: &ShortForm,
        read: impl Fn(&ShortForm) -> Result<T, Problems>,
    ) -> Result<T, Invalid> {
        let (at_least, required) = (self.at_least, self.count()?);
        let with = |at_least: Option<u32>, required: Option<u32>| {
            let form = at_least.map_or_else(|| form.clone(), |at_least| form.with_at_least(at_least));
            read(&required.map_or_else(|| form.clone(), |required| form.with_required(required)))
        };
        let problems = match with(at_least, required) {
            Ok(solved) => return Ok(solved),
            Err(problems) => problems,
        };
        with(None, None).map_err(Invalid::new)?;
        let flags = [
            at_least.map(|count| (format!("--at-least {count}"), with(Some(count), None).is_err())),
            required.map(|count| (format!("--required {count}"), with(None, Some(count)).is_err())),
        ];
        let flags = flags.into_iter().flatten().collect();
        Err(Invalid::new(blamed(flags, &format!("`{}`", form.as_str()), &problems)))
    }
}

/// Problems of flags, each with whether it would be wrong alone, beside what is right without them.
pub(crate) fn blamed(mut flags: Vec<(String, bool)>, with: &str, problems: &Problems) -> String {
    if flags.iter().any(|(_, alone)| *alone) {
        flags.retain(|(_, alone)| *alone);
    }
    let flags: Vec<String> = flags.into_iter().map(|(flag, _)| flag).collect();
    let messages: Vec<&str> = problems.iter().map(Problem::message).collect();
    format!("{} with {with}: {}", flags.join(" and "), messages.join("; "))
}

/// `job=0.2,branch=0.3`: what attempts share, each nothing where it is not stated.
fn rho(text: &str) -> Result<Dependence, Invalid> {
    let refused = |why: &str| {
        Invalid::new(format_args!(
            "--rho {text}: {why}; expected shares from 0 to 1, like job=0.2,branch=0.3"
        ))
    };
    let (mut job, mut branch) = (None, None);
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| refused("a share has a name and a value"))?;
        let share = match name.trim() {
            "job" => &mut job,
            "branch" => &mut branch,
            other => return Err(refused(&format!("`{other}` shares nothing"))),
        };
        if share.is_some() {
            return Err(refused(&format!("`{}` twice", name.trim())));
        }
        let value = value.trim();
        *share = Some(value.parse().map_err(|_| refused(&format!("`{value}` is not a number")))?);
    }
    Dependence::new(job.unwrap_or(0.0), branch.unwrap_or(0.0)).map_err(|error| refused(&error.to_string()))
}

/// How many branches are to be required.
fn count(text: &str) -> Result<u32, Invalid> {
    text.trim().parse().map_err(|_| {
        let expected = "expected how many, a whole number like 3";
        Invalid::new(if text.contains(char::is_alphabetic) {
            format!("--required {text}: branches of -n have no names; {expected}")
        } else {
            format!("--required {text}: {expected}")
        })
    })
}

/// What is wrong, of everything that was given.
#[derive(Default)]
pub(crate) struct Faults(pub(crate) Vec<String>);

impl Faults {
    /// The value, or its error kept for later.
    pub(crate) fn keep<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.0.push(error.to_string())).ok()
    }

    pub(crate) fn none(self) -> Result<(), Invalid> {
        if self.0.is_empty() { Ok(()) } else { Err(Invalid::new(self.0.join("\n\n"))) }
    }
}
