//! A plan in short form, as on a command line: `first:5+hedge:p95+deadline:2.5s`.

mod staged;

use std::collections::BTreeMap;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use fantail_core::plan::PPM;
use fantail_core::{BranchSpec, BudgetSpec, Field, Plan, PlanErrors, PlanSpec, Time, WaitFor};
use fantail_model::{Group, GroupedPlan, Law};

use crate::config::{BranchEntry, EarlierCopy, PlanEntry};
use crate::decimal;
use crate::law::StatedLaw;
use crate::percentile::{looks_like_percentile, percentile};
use crate::problem::{Fault, Problems, did_you_mean, list, quote};
use crate::read::{After, At, Copies, HedgeRule, race, resolve, time_error};
use crate::text::parts;

/// A plan in short form: clauses joined by `+`, at most one of a kind.
///
/// - barrier: `all` (the default), `first:K`, `share:F` with a share like `95%` or `0.95`;
/// - copies: `hedge:p95` after that percentile of the branch's law, `hedge:2.5s` after a time, `race:R` for R attempts
///   at once; branches count as repeatable, and copies are not capped by a budget, as no clause states one. As in a
///   plan file a copy needs the median of the law before the deadline: a percentile later than that is moved to it, a
///   later time is refused;
/// - `deadline:D`;
/// - `at-least:K`, the fewest answers that a result may hold;
/// - shape: `sequential`, one branch after another; `batch:B`, tasks of B branches one after another, side by side;
///   `tree:AxB`, A nodes that wait for B branches each. No plan runs that way: [`ShortForm::staged`] is what is predicted.
///
/// ```
/// use fantail_planfile::{ShortForm, parse_law};
///
/// let law = parse_law("lognormal:median=1s,sigma=0.6")?;
/// let short = ShortForm::parse("first:5+hedge:p95+deadline:6s")?;
/// let entry = short.plan(&vec![law; 8])?;
/// assert_eq!((entry.plan.n(), entry.plan.k()), (8, 5));
/// assert_eq!(entry.plan.branches()[0].delays()[0].to_string(), "2.682937231s");
///
/// let problems = ShortForm::parse("fist:5+hedge:p95").unwrap_err();
/// assert!(problems.to_string().starts_with("strategy:1:1: unknown clause `fist`"));
/// # Ok::<(), fantail_planfile::Problems>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShortForm {
    text: String,
    wait_for: Option<At<WaitFor>>,
    at_least: Option<At<u32>>,
    required: Option<u32>,
    deadline: Option<At<Time>>,
    copies: Option<At<Copies>>,
    shape: Option<At<Shape>>,
}

/// How the branches of a plan in stages follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All one after another.
    Sequential,
    /// Side by side in tasks of so many, which are one after another; 1 or more.
    Batch(u32),
    /// Below a root, nodes with branches of their own; the nodes wait for their branches, the root for the nodes.
    Tree {
        /// How many nodes, 1 or more.
        nodes: u32,
        /// How many branches each has, 1 or more.
        leaves: u32,
    },
}

/// What a clause is about; one of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Barrier,
    Copies,
    Deadline,
    AtLeast,
    /// How the branches follow one another.
    Shape,
}

/// Every clause: its word, its kind, and what follows the colon; nothing follows a word without one.
const CLAUSES: [(&str, Kind, &str); 10] = [
    ("all", Kind::Barrier, ""),
    ("first", Kind::Barrier, "5"),
    ("share", Kind::Barrier, "95%"),
    ("hedge", Kind::Copies, "p95"),
    ("race", Kind::Copies, "2"),
    ("deadline", Kind::Deadline, "2.5s"),
    ("at-least", Kind::AtLeast, "3"),
    ("sequential", Kind::Shape, ""),
    ("batch", Kind::Shape, "10"),
    ("tree", Kind::Shape, "4x8"),
];

impl ShortForm {
    /// Reads a plan in short form.
    ///
    /// # Errors
    /// Everything that is wrong with the text, each at its column.
    pub fn parse(text: &str) -> Result<ShortForm, Problems> {
        let mut short = ShortForm {
            text: text.to_owned(),
            wait_for: None,
            at_least: None,
            required: None,
            deadline: None,
            copies: None,
            shape: None,
        };
        let mut faults = Vec::new();
        let mut stated: BTreeMap<Kind, &str> = BTreeMap::new();
        for (offset, clause) in parts(text, '+') {
            let result = find(clause).and_then(|(word, kind, argument)| match stated.insert(kind, word) {
                Some(other) => {
                    Err((0..clause.len(), format!("`{word}` beside `{other}`; expected one of them")))
                }
                None => short.read(offset, word, argument, clause.len() - argument.len()),
            });
            if let Err((span, message)) = result {
                faults.push(Fault::new(span, message).moved(offset));
            }
        }
        if faults.is_empty() { Ok(short) } else { Err(Problems::locate(SOURCE, text, faults)) }
    }

    /// The text as given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The deadline that it states.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline.as_ref().map(|at| at.value)
    }

    /// The shape that it states; `None` where all branches start at once.
    pub fn shape(&self) -> Option<Shape> {
        self.shape.as_ref().map(|at| at.value)
    }

    /// The same plan in this shape; the text stays as given.
    #[must_use]
    pub fn with_shape(&self, shape: Shape) -> ShortForm {
        let span = self.shape.as_ref().map_or(0..self.text.len(), |at| at.span.clone());
        ShortForm { shape: Some(At { value: shape, span }), ..self.clone() }
    }

    /// The same plan with all branches started at once; the text stays as given.
    #[must_use]
    pub fn without_shape(&self) -> ShortForm {
        ShortForm { shape: None, ..self.clone() }
    }

    /// The same plan with this deadline, whatever it states of one; the text stays as given.
    #[must_use]
    pub fn with_deadline(&self, deadline: Time) -> ShortForm {
        let span = self.deadline.as_ref().map_or(0..self.text.len(), |at| at.span.clone());
        ShortForm { deadline: Some(At { value: deadline, span }), ..self.clone() }
    }

    /// What it waits for.
    pub fn wait_for(&self) -> WaitFor {
        self.wait_for.as_ref().map_or(WaitFor::All, |at| at.value)
    }

    /// The fewest answers that it states.
    pub fn at_least(&self) -> Option<u32> {
        self.at_least.as_ref().map(|at| at.value)
    }

    /// The same plan with this `at_least`, whatever it states of one; the text stays as given.
    #[must_use]
    pub fn with_at_least(&self, at_least: u32) -> ShortForm {
        let span = self.at_least.as_ref().map_or(0..self.text.len(), |at| at.span.clone());
        ShortForm { at_least: Some(At { value: at_least, span }), ..self.clone() }
    }

    /// The same plan with its first `required` branches required and the others optional; the text stays as given.
    ///
    /// ```
    /// use fantail_planfile::{ShortForm, parse_law};
    ///
    /// let law = parse_law("lognormal:median=1s,sigma=0.6")?;
    /// let plan = ShortForm::parse("all+deadline:2s")?.with_required(3).grouped(5, &law)?;
    /// assert_eq!((plan.k, plan.at_least), (5, 3));
    /// assert_eq!((plan.groups[0].count, plan.groups[0].required), (3, true));
    /// assert_eq!((plan.groups[1].count, plan.groups[1].required), (2, false));
    /// # Ok::<(), fantail_planfile::Problems>(())
    /// ```
    #[must_use]
    pub fn with_required(&self, required: u32) -> ShortForm {
        ShortForm { required: Some(required), ..self.clone() }
    }

    /// The plan over branches with these laws, one for each; named as the text.
    ///
    /// # Errors
    /// What does not fit the number of branches or their laws, like `first:9` of eight, each at its column; a shape.
    pub fn plan(&self, laws: &[StatedLaw]) -> Result<PlanEntry, Problems> {
        let plan = self.checked(laws).map_err(|faults| self.problems(faults))?;
        let hedge = self.hedge().map(Arc::new);
        let entry = |StatedLaw { law, fit_error, percentiles }: &StatedLaw| BranchEntry {
            law: Some(law.clone()),
            fit_error: *fit_error,
            percentiles: percentiles.clone(),
            hedge: hedge.clone(),
            earlier: self.earlier(law),
            targets: Vec::new(),
        };
        Ok(PlanEntry { plan, route: None, backfill: None, branches: laws.iter().map(entry).collect() })
    }

    /// The plan over `n` branches of one law, counted instead of listed: a billion cost no more than one.
    ///
    /// ```
    /// use fantail_planfile::{ShortForm, parse_law};
    ///
    /// let law = parse_law("lognormal:median=1s,sigma=0.6")?;
    /// let plan = ShortForm::parse("share:99%+hedge:p95")?.grouped(1_000_000_000, &law)?;
    /// assert_eq!((plan.n(), plan.k), (1_000_000_000, 990_000_000));
    /// # Ok::<(), fantail_planfile::Problems>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ShortForm::plan`].
    #[expect(clippy::missing_panics_doc, reason = "one branch is given one law")]
    pub fn grouped(&self, n: u32, stated: &StatedLaw) -> Result<GroupedPlan, Problems> {
        let k = self.wait_for().answers(n);
        // What does not depend on the number of branches is judged on one of them.
        let one = ShortForm { wait_for: None, at_least: None, required: None, ..self.clone() };
        let mut faults = self.counts(n, k);
        match one.checked(slice::from_ref(stated)) {
            Ok(plan) if faults.is_empty() => {
                let laws = slice::from_ref(&stated.law);
                let (grouped, _) = GroupedPlan::of(&plan, laws).expect("one branch, one law");
                let required = self.required(n);
                let split =
                    |group: Group| {
                        let parts = [(required, true), (n - required, false)];
                        parts.into_iter().filter(|(count, _)| *count > 0).map(move |(count, required)| {
                            Group { count: count.into(), required, ..group.clone() }
                        })
                    };
                Ok(GroupedPlan {
                    groups: grouped.groups.into_iter().flat_map(split).collect(),
                    k: k.into(),
                    at_least: self.fewest(n).into(),
                    deadline: grouped.deadline,
                })
            }
            Ok(_) => Err(self.problems(faults)),
            Err(more) => {
                faults.extend(more);
                Err(self.problems(faults))
            }
        }
    }

    /// The copy of a branch with this law that the deadline moves; `None` where it moves none.
    pub fn earlier(&self, law: &Law) -> Option<EarlierCopy> {
        resolve(&self.hedge()?, Some(law), self.deadline()).ok()?.earlier
    }

    /// What it states of copies.
    pub fn hedge(&self) -> Option<HedgeRule> {
        self.copies.clone().map(HedgeRule::new)
    }

    fn checked(&self, laws: &[StatedLaw]) -> Result<Plan, Vec<Fault>> {
        let deadline = self.deadline.as_ref().map(|at| at.value);
        let rule = self.hedge();
        let mut faults: Vec<Fault> = self.shape.iter().map(predicted_only).collect();
        let mut branches = Vec::new();
        for (i, stated) in laws.iter().enumerate() {
            let copies = rule.as_ref().map(|rule| resolve(rule, Some(&stated.law), deadline)).transpose();
            let copies = copies.unwrap_or_else(|more| {
                faults.extend(more);
                None
            });
            let hedge = copies.map(|resolved| resolved.hedge);
            let required = self.required.map(|required| i < required as usize);
            let name = format!("branch-{i}");
            branches.push(BranchSpec { hedge, required, repeatable: true, ..BranchSpec::new(name) });
        }
        let spec = PlanSpec {
            wait_for: self.wait_for(),
            at_least: self.at_least.as_ref().map(|at| at.value),
            deadline,
            hedge_budget: BudgetSpec { share: PPM, burst: u32::MAX, in_flight: None },
            ..PlanSpec::new(self.text.as_str(), branches)
        };
        let plan = Plan::new(spec).map_err(|errors| faults.extend(self.faults(&errors)));
        plan.ok().filter(|_| faults.is_empty()).ok_or(faults)
    }

    /// How many of `n` branches are required.
    fn required(&self, n: u32) -> u32 {
        self.required.unwrap_or(if self.wait_for() == WaitFor::All { n } else { 0 })
    }

    /// The fewest answers that a result of `n` branches may hold.
    fn fewest(&self, n: u32) -> u32 {
        let unstated = match self.wait_for() {
            WaitFor::All => self.required(n),
            wait_for => wait_for.answers(n),
        };
        self.at_least().unwrap_or(unstated)
    }

    /// What of the counts does not fit `n` branches, of which `k` are waited for.
    fn counts(&self, n: u32, k: u32) -> Vec<Fault> {
        let mut faults = Vec::new();
        if n == 0 {
            faults.push(Fault::new(0..self.text.len(), "got 0 branches, expected at least 1"));
        }
        if let Some(At { span, .. }) = self.wait_for.as_ref().filter(|_| k == 0 || k > n) {
            let message = format!("got {k}, expected 1 to the number of branches, {n}");
            faults.push(Fault::new(span.clone(), message));
        }
        if let Some(required) = self.required.filter(|required| *required > n) {
            let message = format!("got {required} required, expected at most the number of branches, {n}");
            faults.push(Fault::new(0..self.text.len(), message));
        }
        let most = k.min(n);
        if let Some(At { span, value }) = self.at_least.as_ref().filter(|at| at.value > most) {
            let message = format!("got {value}, expected at most what the job waits for, {most}");
            faults.push(Fault::new(span.clone(), message));
        }
        faults
    }

    fn problems(&self, faults: Vec<Fault>) -> Problems {
        Problems::locate(SOURCE, &self.text, faults)
    }

    /// The core's errors at the clauses that they are about.
    fn faults(&self, errors: &PlanErrors) -> Vec<Fault> {
        let fault = |field: &Field, message: String| {
            let span = match field {
                Field::Plan("wait_for") => self.wait_for.as_ref().map(|at| at.span.clone()),
                Field::Plan("at_least") => self.at_least.as_ref().map(|at| at.span.clone()),
                Field::Plan("deadline") => self.deadline.as_ref().map(|at| at.span.clone()),
                Field::Branch { field: "hedge", .. } => self.copies.as_ref().map(|at| at.span.clone()),
                _ => None,
            };
            Fault::new(span.unwrap_or(0..self.text.len()), message)
        };
        errors
            .iter()
            .map(|error| fault(&error.field, format!("got {}, expected {}", error.value, error.expected)))
            .collect()
    }

    /// Reads the argument of a clause, which starts at `at` of it.
    fn read(&mut self, offset: usize, word: &str, argument: &str, at: usize) -> Result<(), Bad> {
        let local = at..at + argument.len();
        let span = offset + local.start..offset + local.end;
        let bad = |message: String| (local.clone(), format!("`{word}`: {message}"));
        let count =
            || argument.parse::<u32>().map_err(|_| bad(format!("{} is not a whole number", quote(argument))));
        let time = || argument.parse().map_err(|error| bad(time_error(argument, &error)));
        match word {
            // The clause itself is the place.
            "all" => self.wait_for = Some(At { value: WaitFor::All, span: offset..offset + at }),
            "first" => self.wait_for = Some(At { value: WaitFor::First(count()?), span }),
            "share" => {
                let share = decimal::share(argument).map_err(bad)?;
                self.wait_for = Some(At { value: WaitFor::Share(share), span });
            }
            "hedge" => {
                let after = if looks_like_percentile(argument) {
                    After::Percentile(percentile(argument).map_err(|fault| bad(fault.message))?)
                } else {
                    After::Fixed(time()?)
                };
                let value = Copies::After(vec![At { value: after, span: span.clone() }]);
                self.copies = Some(At { value, span });
            }
            "race" => self.copies = Some(At { value: race(count()? as usize).map_err(bad)?, span }),
            "deadline" => self.deadline = Some(At { value: time()?, span }),
            "at-least" => self.at_least = Some(At { value: count()?, span }),
            // The clause itself is the place.
            "sequential" => self.shape = Some(At { value: Shape::Sequential, span: offset..offset + at }),
            "batch" => match count()? {
                0 => return Err(bad("got 0, expected 1 or more branches in a task".to_owned())),
                size => self.shape = Some(At { value: Shape::Batch(size), span }),
            },
            "tree" => self.shape = Some(At { value: tree(argument).map_err(bad)?, span }),
            _ => unreachable!("a clause that is known is read"),
        }
        Ok(())
    }
}

fn predicted_only(shape: &At<Shape>) -> Fault {
    Fault::new(shape.span.clone(), "no plan runs in this shape; it is predicted only")
}

/// Reads `AxB`.
fn tree(argument: &str) -> Result<Shape, String> {
    let count = |text: &str| text.parse().ok().filter(|count: &u32| *count > 0);
    let counts = argument.split_once('x').and_then(|(nodes, leaves)| Some((count(nodes)?, count(leaves)?)));
    match counts {
        Some((nodes, leaves)) => Ok(Shape::Tree { nodes, leaves }),
        None => Err(format!("{} is not nodes x branches of each, like 4x8", quote(argument))),
    }
}

/// What the text is in messages.
const SOURCE: &str = "strategy";

/// What is wrong with a clause, at a place in it.
type Bad = (Range<usize>, String);

/// The clause that a text is, with its argument.
fn find(clause: &str) -> Result<(&'static str, Kind, &str), Bad> {
    let (word, argument) = clause.split_once(':').map_or((clause, None), |(word, rest)| (word, Some(rest)));
    let Some(&(word, kind, example)) = CLAUSES.iter().find(|(known, ..)| *known == word) else {
        let words = || CLAUSES.iter().map(|(word, ..)| *word);
        let near = did_you_mean(word, CLAUSES.iter().map(|(word, ..)| *word));
        let message = format!("unknown clause {}; expected {}{near}", quote(word), list(words()));
        return Err((0..word.len(), message));
    };
    match argument {
        None if !example.is_empty() => {
            Err((0..clause.len(), format!("`{word}` of what? expected {word}:{example}")))
        }
        Some(_) if example.is_empty() => Err((word.len()..clause.len(), format!("`{word}` stands alone"))),
        _ => Ok((word, kind, argument.unwrap_or_default())),
    }
}
