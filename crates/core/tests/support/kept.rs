//! What runs on in observed jobs: the second half of rule 8, and its exception to rule 13, seen from outside.
//!
//! Plans of tests observe all of their jobs or none, and hold out all or none.

use fantail_core::job::{Action, AttemptId, Cut, Event, Job, Outcome, Role, Verdict};

use super::{Observer, Seen};

impl Observer {
    /// Whether the action drops an attempt that was kept.
    pub(super) fn cancels_kept(&self, action: Action) -> bool {
        matches!(action, Action::Cancel(attempt, _) if self.seen(attempt) == Seen::Kept)
    }

    /// Whether the attempt was kept before, or is by these actions.
    pub(super) fn kept(&self, attempt: AttemptId, actions: &[Action]) -> bool {
        self.seen(attempt) == Seen::Kept || actions.contains(&Action::Keep(attempt))
    }

    /// In observed jobs, and in no others, every primary that is not needed runs on, to its own end or its time.
    pub(super) fn check_kept(
        &self,
        job: &Job,
        actions: &[Action],
        events: &[Event],
        before: &Observer,
    ) -> Result<(), String> {
        let observed = self.plan.observe() > 0;
        ensure!(job.is_observed() == observed, "observed: {}", job.is_observed());
        ensure!(job.is_held_out() == (self.plan.holdout() > 0), "held out: {}", job.is_held_out());
        let failed = matches!(self.finished, Some(Verdict::Failed(_)));
        for (place, action) in actions.iter().enumerate() {
            match *action {
                Action::Keep(attempt) => {
                    let outcome = self.outcomes[attempt.branch as usize];
                    let not_needed = matches!(outcome, Some(Outcome::Answered | Outcome::Unneeded));
                    ensure!(observed && not_needed, "kept, though its branch is {outcome:?}");
                    ensure!(attempt.role() == Role::Primary, "kept a {:?}", attempt.role());
                    let won = job.slot(attempt.branch).is_some_and(|slot| slot.winner == Some(attempt));
                    ensure!(!won, "kept the winner {attempt:?}");
                }
                Action::Cancel(attempt, cut) if before.kept(attempt, &actions[..place]) => {
                    let dropped = events.contains(&Event::Dropped);
                    let why = matches!(cut, Cut::Deadline | Cut::TimedOut) || dropped && cut == Cut::JobEnded;
                    ensure!(why, "kept, then cut as {cut:?}");
                }
                Action::Cancel(attempt, Cut::Lost | Cut::JobEnded) => {
                    let may = !observed || attempt.role() != Role::Primary || failed;
                    ensure!(may, "an observed job dropped {attempt:?}");
                }
                _ => {}
            }
        }
        for primary in (0..self.plan.n()).map(AttemptId::primary) {
            let (cut_at, wake) = (self.cut_at(primary), job.wake_at());
            let in_time = cut_at.is_some_and(|at| self.is_later(at) && wake.is_some_and(|wake| wake <= at));
            let kept = self.seen(primary) == Seen::Kept;
            ensure!(
                !kept || in_time || self.now == cut_at.unwrap_or(self.now),
                "{primary:?} is kept past its time"
            );
        }
        self.check_kept_ledger(job, actions, events, before)
    }

    fn check_kept_ledger(
        &self,
        job: &Job,
        actions: &[Action],
        events: &[Event],
        before: &Observer,
    ) -> Result<(), String> {
        let (old, new) = (before.ledger.kept, job.ledger().kept);
        let all = || actions.iter().enumerate();
        let kept = all().filter(|(_, action)| matches!(action, Action::Keep(_))).count() as u64;
        let cut = |(place, action): &(usize, &Action)| matches!(**action, Action::Cancel(attempt, _) if before.kept(attempt, &actions[..*place]));
        let censored = all().filter(cut).count() as u64;
        let runs = self.count(Seen::Kept, Role::Primary);
        let ended = before.count(Seen::Kept, Role::Primary) + kept - runs;
        let declared = |attempt| self.plan.attempt_index(attempt).is_some();
        let told = |event: &&Event| matches!(**event, Event::Answered(attempt) if declared(attempt) && before.kept(attempt, actions));
        let answers = events.iter().filter(told).count() as u64;
        ensure!(new.kept - old.kept == kept, "{kept} kept: {new:?} after {old:?}");
        ensure!(new.running() == runs && job.kept() == runs, "{runs} kept ones run: {new:?}");
        ensure!(new.censored - old.censored == censored, "{censored} kept ones cut: {new:?} after {old:?}");
        ensure!(
            new.answered - old.answered <= answers,
            "{answers} kept ones answered: {new:?} after {old:?}"
        );
        let ends = (new.answered + new.failed + new.censored) - (old.answered + old.failed + old.censored);
        ensure!(ends == ended, "{ended} kept ones ended: {new:?} after {old:?}");
        ensure!(kept + ended + before.count(Seen::Kept, Role::Primary) > 0 || new == old, "kept: {new:?}");
        Ok(())
    }
}
