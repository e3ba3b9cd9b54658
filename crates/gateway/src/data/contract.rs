//! The JSON that clients get, `fantail.job/1`: from a job that has just ended, and from a document that has grown.

use bytes::Bytes;
use fantail::backfill::{Document, DocumentState, SlotState};
use fantail::{AttemptError, Done};
use fantail_core::Time;
use fantail_core::job::{Failure, NotStarted, Outcome, Refusal};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::upstream::UpstreamError;

/// The name and version of the contract.
pub const SCHEMA: &str = "fantail.job/1";

/// A result.
#[derive(Debug, Serialize)]
pub(crate) struct JobBody<'a> {
    pub(crate) schema: &'static str,
    pub(crate) job: &'a str,
    pub(crate) verdict: &'static str,
    pub(crate) data: Answers<'a>,
    pub(crate) incomplete: &'a [Missing],
    pub(crate) fanout: FanoutBody,
}

/// What a problem says of a job that has no result.
#[derive(Debug, Serialize)]
pub(crate) struct FailedBody<'a> {
    pub(crate) schema: &'static str,
    pub(crate) job: &'a str,
    pub(crate) verdict: &'static str,
    pub(crate) incomplete: &'a [Missing],
    pub(crate) fanout: FanoutBody,
}

/// Answers by branch, each as the text that its target sent.
#[derive(Debug, Default)]
pub(crate) struct Answers<'a>(pub(crate) Vec<(&'a str, &'a RawValue)>);

impl Serialize for Answers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// A branch that a result lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub(crate) branch: String,
    pub(crate) outcome: String,
    /// One word: why.
    pub(crate) reason: String,
    /// A sentence, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    pub(crate) waited_s: f64,
    pub(crate) ran_s: f64,
    /// `null`: nothing will fill it in.
    pub(crate) backfill: Option<BackfillBody>,
}

/// How far backfill is with a branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BackfillBody {
    /// `queued`, `leased`, `dead`; `unconfirmed` when the store did not say in time that it is queued; `refused` when
    /// it said that it is not.
    pub(crate) state: String,
    /// Where the document grows.
    #[serde(rename = "self")]
    pub(crate) link: String,
    /// Tries so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tries: Option<u32>,
    /// What the latest try failed with, or why nothing is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl BackfillBody {
    pub(crate) fn new(state: &str, link: &str) -> BackfillBody {
        BackfillBody { state: state.to_owned(), link: link.to_owned(), tries: None, error: None }
    }
}

/// The job in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FanoutBody {
    pub(crate) branches: u32,
    /// Those in `data`.
    pub(crate) answered: u32,
    /// Attempts that started, the hedges among them.
    pub(crate) attempts: u64,
    pub(crate) hedges: u64,
    pub(crate) elapsed_s: f64,
}

impl FanoutBody {
    pub(crate) fn of(done: &Done) -> FanoutBody {
        let ledger = done.ledger();
        FanoutBody {
            branches: done.job().plan().n(),
            answered: done.job().answers(),
            attempts: ledger.total().launched,
            hedges: ledger.copies.launched,
            elapsed_s: done.elapsed().as_secs_f64(),
        }
    }
}

/// The branches that a result, or a failed job, lacks.
pub(crate) fn missing(done: &Done) -> Vec<Missing> {
    let declared = done.job().plan().branches();
    done.incomplete()
        .map(|branch| {
            let slot = done.slot(branch);
            let outcome = done.outcome(branch);
            let error = done.errors(branch).first();
            Missing {
                branch: declared[branch as usize].name.clone(),
                outcome: word(outcome).to_owned(),
                reason: reason(outcome, error).to_owned(),
                detail: error.map(ToString::to_string),
                waited_s: slot.waited.as_secs_f64(),
                ran_s: slot.ran.as_secs_f64(),
                backfill: None,
            }
        })
        .collect()
}

/// Whether time ran out, as opposed to a target that answered with something else.
pub(crate) fn is_timeout(outcome: Outcome, error: Option<&AttemptError>) -> bool {
    match outcome {
        Outcome::Missed
        | Outcome::NotStarted(NotStarted::NoPermit | NotStarted::Refused(Refusal::NoTimeLeft)) => true,
        Outcome::Failed => error.is_some_and(|error| error.failure() == Failure::TimedOut),
        _ => false,
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Failed => "failed",
        Outcome::Missed => "missed",
        Outcome::NotStarted(_) => "not_started",
        Outcome::Unneeded => "unneeded",
        Outcome::Cancelled => "cancelled",
    }
}

fn reason(outcome: Outcome, error: Option<&AttemptError>) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Unneeded => "barrier_met",
        Outcome::Missed => "deadline",
        Outcome::Cancelled | Outcome::NotStarted(NotStarted::JobFailed) => "job_failed",
        Outcome::NotStarted(NotStarted::NoPermit) => "no_permit",
        Outcome::NotStarted(NotStarted::Dependency) => "dependency",
        Outcome::NotStarted(NotStarted::Refused(refusal)) => match refusal {
            Refusal::Budget => "budget",
            Refusal::NoTimeLeft => "no_time_left",
            Refusal::Pushback => "pushback",
            Refusal::Limiter => "limiter",
        },
        Outcome::Failed => {
            error.map_or("error", |error| match error.get_ref().downcast_ref::<UpstreamError>() {
                Some(error) => error.reason(),
                None if error.failure() == Failure::TimedOut => "attempt_timeout",
                None => "error",
            })
        }
    }
}

/// What a document shows now: the body, and what it still lacks. `None` when it was stored by a version that this one
/// can't read.
///
/// `answered` counts what is there now, so that it and `incomplete` still add up; the other numbers are those of the
/// job.
pub(crate) fn grown(document: &Document, link: &str) -> Option<(Bytes, Vec<Missing>)> {
    let mut fanout: FanoutBody = serde_json::from_slice(&document.result).ok()?;
    let mut data = Answers::default();
    let mut incomplete = Vec::new();
    for slot in &document.slots {
        if slot.state == SlotState::Answered {
            data.0.push((&slot.branch, serde_json::from_slice(&slot.body).ok()?));
            continue;
        }
        let mut missing: Missing = serde_json::from_slice(&slot.body).ok()?;
        missing.backfill = (slot.state != SlotState::Excluded).then(|| BackfillBody {
            tries: Some(slot.tries),
            error: slot.error.clone(),
            ..BackfillBody::new(slot.state.as_str(), link)
        });
        incomplete.push(missing);
    }
    fanout.answered = u32::try_from(data.0.len()).ok()?;
    let verdict = if document.state() == DocumentState::Complete { "complete" } else { "partial" };
    let body =
        json(&JobBody { schema: SCHEMA, job: &document.id, verdict, data, incomplete: &incomplete, fanout });
    Some((body, incomplete))
}

/// JSON text of something whose keys are text.
pub(crate) fn json(value: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(value).expect("keys are text and numbers are finite"))
}

/// `Server-Timing` of a job (W3C): how long each answered branch took, waiting included, and all of it, in ms.
///
/// Only the total for plans with more branches than a browser's panel, or a header, has room for.
pub(crate) fn server_timing(done: &Done) -> String {
    const MOST: u32 = 32;
    let ms = |time: Time| time.as_secs_f64() * 1e3;
    let plan = done.job().plan();
    let mut entries = Vec::new();
    if plan.n() <= MOST {
        for (branch, declared) in (0..).zip(plan.branches()) {
            let slot = done.slot(branch);
            if slot.outcome == Some(Outcome::Answered) {
                let took = slot.waited.saturating_add(slot.ran);
                entries.push(format!("{};dur={:.1}", token(&declared.name), ms(took)));
            }
        }
    }
    entries.push(format!("total;dur={:.1}", ms(done.elapsed())));
    entries.join(", ")
}

/// `Fantail-Incomplete`: the names of the branches that a result lacks.
pub(crate) fn incomplete_header(incomplete: &[Missing]) -> String {
    incomplete.iter().map(|missing| token(&missing.branch)).collect::<Vec<_>>().join(", ")
}

/// A name as a token (RFC 9110): what can't be in one is percent-encoded.
fn token(name: &str) -> String {
    const KEPT: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    percent_encoding::utf8_percent_encode(name, KEPT).to_string()
}
