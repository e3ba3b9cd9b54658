//! Primaries that run on although the job needs them no more, for the sake of what they tell of the latency.

use alloc::vec::Vec;

use super::{Action, AttemptId, AttemptState, Cut, Event, Failure, Job};

/// How a kept attempt came to its end.
#[derive(Clone, Copy)]
pub(super) enum KeptEnd {
    Answered,
    Failed,
    Cut(Cut),
}

impl Job {
    /// Takes in what happened to attempts that were kept; whether the event was about one of them alone.
    pub(super) fn report_kept(&mut self, event: Event, actions: &mut Vec<Action>) -> bool {
        match event {
            Event::Answered(attempt) => self.end_kept(attempt, KeptEnd::Answered, actions),
            Event::Failed(attempt, Failure::TimedOut) => {
                self.end_kept(attempt, KeptEnd::Cut(Cut::TimedOut), actions)
            }
            Event::Failed(attempt, _) => self.end_kept(attempt, KeptEnd::Failed, actions),
            Event::Dropped => {
                let branches = if self.kept() > 0 { self.plan.n() } else { 0 };
                for branch in 0..branches {
                    self.end_kept(AttemptId::primary(branch), KeptEnd::Cut(Cut::JobEnded), actions);
                }
                false
            }
            Event::Primed(_) | Event::Granted(_) | Event::Refused(..) => false,
        }
    }

    /// Ends a kept attempt; `false` when it is none.
    pub(super) fn end_kept(&mut self, attempt: AttemptId, end: KeptEnd, actions: &mut Vec<Action>) -> bool {
        let Some(state) = self.state_mut(attempt) else { return false };
        let AttemptState::Kept { since } = *state else { return false };
        *state = AttemptState::Ended;
        let counts = &mut self.ledger.kept;
        counts.busy = counts.busy.saturating_add(self.now.saturating_sub(since));
        match end {
            KeptEnd::Answered => counts.answered += 1,
            KeptEnd::Failed => counts.failed += 1,
            KeptEnd::Cut(cut) => {
                counts.censored += 1;
                actions.push(Action::Cancel(attempt, cut));
            }
        }
        true
    }
}
