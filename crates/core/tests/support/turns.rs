//! Whose turn it is: rules 11 and 12, seen from outside.

use fantail_core::job::{AttemptId, Event, NotStarted, Outcome};

use super::{Observer, Seen};

impl Observer {
    /// Rule 11: the followers' wait ends with an answer, a word that all is primed, or the head start; when the leader can
    /// no longer answer, somebody takes its place.
    pub(super) fn follow_leader(&mut self, events: &[Event], before: &Observer) {
        let Some(mut leader) = self.leading.filter(|_| before.finished.is_none()) else { return };
        // Before it was cut, which may have been before this step.
        let primes = |event: &Event| match *event {
            Event::Primed(attempt) => {
                let declared = self.plan.attempt_index(attempt).is_some();
                let ran = declared && attempt.branch == leader && before.seen(attempt) == Seen::Running;
                ran && self.cut_at(attempt).is_none_or(|at| at >= self.now)
            }
            _ => false,
        };
        let primed = events.iter().any(primes);
        let over = self.head_start_ends.is_some_and(|at| at <= self.now);
        let new = |branch: &u32| {
            let outcome = self.outcomes[*branch as usize];
            outcome.is_none() && self.seen(AttemptId::primary(*branch)) != Seen::Idle
        };
        if self.outcomes[leader as usize].is_some() {
            leader = (0..self.plan.n()).find(new).unwrap_or(leader);
        }
        let answered = self.outcomes[self.leading.unwrap_or(leader) as usize] == Some(Outcome::Answered);
        self.leading = (!primed && !over && !answered).then_some(leader);
    }

    /// Rules 11 and 12: every open branch has been asked for whose turn it is, and no other; whatever can't have its turn
    /// any more is not open. Who takes a lost leader's place is not told from outside when the driver `overslept`: the
    /// instants that it missed may each have decided something.
    pub(super) fn check_turns(&self, before: &Observer, overslept: bool) -> Result<(), String> {
        if self.finished.is_some() {
            return Ok(());
        }
        let open = |branch: u32| self.outcomes[branch as usize].is_none();
        for (branch, declared) in (0..).zip(self.plan.branches()) {
            let missing = |first: &usize| self.outcomes[*first].is_some_and(|o| o != Outcome::Answered);
            let lacks = !declared.tolerates_missing && declared.after.iter().any(missing);
            let waits = declared.after.iter().any(|first| open(*first as u32));
            let asked = self.seen(AttemptId::primary(branch)) != Seen::Idle;
            if let Some(outcome) = self.outcomes[branch as usize] {
                let follows = outcome == Outcome::NotStarted(NotStarted::Dependency);
                let late = self.deadline(branch).is_some_and(|at| at <= self.now);
                ensure!(!follows || lacks || late, "branch {branch} was not started for nothing");
                ensure!(!asked || !follows, "branch {branch} had its turn");
                continue;
            }
            ensure!(!lacks, "branch {branch} can't have its turn any more");
            ensure!(!asked || !waits, "branch {branch} was asked for before its turn");
            match self.leading {
                None => ensure!(asked || waits, "branch {branch} was not asked for in its turn"),
                Some(leader) => {
                    ensure!(asked == (branch == leader), "{leader} leads, and {branch} is {asked}");
                    let promoted = before.leading != self.leading && !overslept;
                    ensure!(!promoted || waits || branch >= leader, "{branch} should lead before {leader}");
                }
            }
        }
        Ok(())
    }
}
