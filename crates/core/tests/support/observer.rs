//! Watches a job from outside, and says which rule a step broke.

use std::sync::Arc;

use fantail_core::job::{
    Action, AttemptId, Cause, Class, Cut, Event, Failure, Job, NotStarted, Outcome, Role, Verdict,
};
use fantail_core::{Attempts, Ledger, Plan, Time};

/// Fails the step unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($said:tt)+) => {
        if !$condition {
            return Err(format!($($said)+));
        }
    };
}

/// What an attempt is, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    Idle,
    Asked,
    Running,
    Over,
}

/// Follows a job by its events and actions alone.
#[derive(Clone, Debug)]
pub(crate) struct Observer {
    plan: Arc<Plan>,
    /// By [`Plan::attempt_index`].
    seen: Vec<Seen>,
    outcomes: Vec<Option<Outcome>>,
    /// The targets that each branch has tried, in order.
    tried: Vec<Vec<u32>>,
    /// When each attempt started, by [`Plan::attempt_index`].
    since: Vec<Time>,
    /// Which branches were told that another try is hopeless or unwelcome.
    gave_up: Vec<bool>,
    started_at: Time,
    now: Time,
    ledger: Ledger,
    finished: Option<Verdict>,
}

impl Observer {
    /// Starts a job and checks that it asks for every primary and for nothing else.
    pub(crate) fn start(plan: &Arc<Plan>, now: Time, rotation: u32) -> (Job, Observer, Vec<Action>) {
        let mut actions = Vec::new();
        let job = Job::start(Arc::clone(plan), now, rotation, &mut actions);
        let n = plan.n() as usize;
        let mut observer = Observer {
            plan: Arc::clone(plan),
            seen: vec![Seen::Idle; plan.attempts()],
            outcomes: vec![None; n],
            tried: vec![Vec::new(); n],
            since: vec![now; plan.attempts()],
            gave_up: vec![false; n],
            started_at: now,
            now,
            ledger: Ledger::default(),
            finished: None,
        };
        assert_eq!(actions.len(), n, "a job starts by asking for every primary");
        for (action, branch) in actions.iter().zip(0..) {
            let primary = AttemptId::primary(branch);
            let asks = matches!(action, Action::Ask { attempt, class: Class::First, budgeted: false, .. }
                if *attempt == primary);
            assert!(asks, "a job starts by asking for every primary, in order: {action:?}");
            let index = observer.index(primary);
            observer.seen[index] = Seen::Asked;
        }
        (job, observer, actions)
    }

    /// One step of the job; an error says which invariant it broke.
    pub(crate) fn step(&mut self, job: &mut Job, now: Time, events: &[Event]) -> Result<Vec<Action>, String> {
        let before = self.clone();
        self.now = self.now.max(now);
        let mut actions = Vec::new();
        job.step(now, &mut events.to_vec(), &mut actions);
        for action in &actions {
            ensure!(self.finished.is_none(), "{action:?} after the finish");
            self.action(*action, events).map_err(|broken| format!("{broken} in {actions:?}"))?;
        }
        self.reported(events, &before);
        self.check_slots(job, &before)?;
        self.check_times(job)?;
        self.check_ledger(job, &actions, &before)?;
        ensure!(self.finished == job.verdict(), "said {:?}, holds {:?}", self.finished, job.verdict());
        if before.finished.is_none() {
            self.check_verdict(job, events)?;
        }
        Ok(actions)
    }

    /// What an attempt is now.
    pub(crate) fn seen(&self, attempt: AttemptId) -> Seen {
        self.seen[self.index(attempt)]
    }

    fn index(&self, attempt: AttemptId) -> usize {
        self.plan.attempt_index(attempt).expect("the attempt is declared")
    }

    fn action(&mut self, action: Action, events: &[Event]) -> Result<(), String> {
        match action {
            Action::Ask { attempt, class, budgeted, until } => {
                self.asked(attempt, class, budgeted, events)?;
                let last = self.plan.branches()[attempt.branch as usize].last_useful_start();
                ensure!(
                    until == last.map(|last| self.started_at.saturating_add(last)),
                    "asked until {until:?}"
                );
            }
            Action::Withdraw(attempt) => {
                let seen = self.change(attempt, Seen::Over);
                ensure!(seen == Seen::Asked, "withdrew what was {seen:?}");
            }
            Action::Start { attempt, target, until } => {
                self.started(attempt, target, events)?;
                ensure!(until == self.cut_at(attempt), "told to run until {until:?}");
            }
            Action::Cancel(attempt, cut) => {
                let seen = self.change(attempt, Seen::Over);
                ensure!(seen == Seen::Running, "cancelled what was {seen:?}");
                let timeout = self.plan.branches()[attempt.branch as usize].attempt_timeout.is_some();
                let told = events.contains(&Event::Failed(attempt, Failure::TimedOut));
                ensure!(cut != Cut::TimedOut || timeout || told, "timed out without a timeout");
            }
            Action::Finish(verdict) => self.finished = Some(verdict),
        }
        Ok(())
    }

    /// Rule 6: a copy is asked for once, when its delay from the primary's permit has elapsed or an attempt that it
    /// stands in for has failed.
    fn asked(
        &mut self,
        attempt: AttemptId,
        class: Class,
        budgeted: bool,
        events: &[Event],
    ) -> Result<(), String> {
        let branch = &self.plan.branches()[attempt.branch as usize];
        ensure!(attempt.role() == Role::Copy, "asked for a primary again");
        let delay = branch.delays()[usize::from(attempt.number) - 1];
        ensure!(budgeted == (delay > Time::ZERO), "the budget caps copies after a delay, and no race");
        let expected = if branch.required { Class::RequiredCopy } else { Class::OptionalCopy };
        ensure!(class == expected, "asked in class {class:?}");
        ensure!(self.outcomes[attempt.branch as usize].is_none(), "asked for a settled branch");
        let primary = AttemptId::primary(attempt.branch);
        ensure!(self.seen(primary) != Seen::Asked, "a copy was due while the primary queued");
        let due = self.since[self.index(primary)].saturating_add(delay) <= self.now;
        let brought_forward = branch.attempt_timeout.is_some()
            || events.iter().any(|event| match *event {
                Event::Failed(other, _) | Event::Refused(other, _) => other.branch == attempt.branch,
                _ => false,
            });
        ensure!(due || brought_forward, "a copy before its delay");
        let seen = self.change(attempt, Seen::Asked);
        ensure!(seen == Seen::Idle, "asked for what was {seen:?}");
        Ok(())
    }

    fn started(&mut self, attempt: AttemptId, target: u32, events: &[Event]) -> Result<(), String> {
        let seen = self.change(attempt, Seen::Running);
        ensure!(seen == Seen::Asked, "started what was {seen:?}");
        ensure!(events.contains(&Event::Granted(attempt)), "started without a permit");
        let targets = self.plan.branches()[attempt.branch as usize].targets;
        ensure!(target < targets, "target {target} of {targets}");
        let index = self.index(attempt);
        self.since[index] = self.now;
        let last = self.plan.branches()[attempt.branch as usize].last_useful_start();
        let too_late = last.is_some_and(|last| self.now > self.started_at.saturating_add(last));
        ensure!(!too_late || attempt.role() == Role::Primary, "a copy of no use was started");
        let tried = &mut self.tried[attempt.branch as usize];
        ensure!(
            !tried.contains(&target) || tried.len() >= targets as usize,
            "a target twice, another untried"
        );
        tried.push(target);
        Ok(())
    }

    fn change(&mut self, attempt: AttemptId, seen: Seen) -> Seen {
        let index = self.index(attempt);
        std::mem::replace(&mut self.seen[index], seen)
    }

    /// What was reported as done or refused is over, unless an action said so already. A refusal comes last in its
    /// instant, so that it also counts for what was asked in this step; a report of an end counts for what ran before.
    fn reported(&mut self, events: &[Event], before: &Observer) {
        if before.finished.is_some() {
            return;
        }
        for kind in 0..=4 {
            for event in events.iter().filter(|event| kind_of(event) == Some(kind)) {
                let (attempt, was) = match *event {
                    Event::Answered(attempt) | Event::Failed(attempt, _) => (attempt, Seen::Running),
                    Event::Refused(attempt, _) => (attempt, Seen::Asked),
                    Event::Granted(_) | Event::Dropped => continue,
                };
                let Some(index) = self.plan.attempt_index(attempt) else { continue };
                let counts = was == Seen::Asked || before.seen[index] == was;
                if counts && self.seen[index] == was {
                    self.seen[index] = Seen::Over;
                    let hopeless = matches!(event, Event::Failed(_, Failure::Permanent | Failure::Pushback));
                    self.gave_up[attempt.branch as usize] |= hopeless;
                }
            }
        }
    }

    /// When a running attempt is to be cut: its timeout or the branch's deadline.
    fn cut_at(&self, attempt: AttemptId) -> Option<Time> {
        let branch = &self.plan.branches()[attempt.branch as usize];
        let since = self.since[self.index(attempt)];
        let timeout = branch.attempt_timeout.map(|timeout| since.saturating_add(timeout));
        [timeout, self.deadline(attempt.branch)].into_iter().flatten().min()
    }

    fn deadline(&self, branch: u32) -> Option<Time> {
        let after = self.plan.branches()[branch as usize].deadline?;
        Some(self.started_at.saturating_add(after))
    }

    /// Rules 3, 5 and 6: nothing runs on past its time, and nothing that is due was forgotten.
    fn check_times(&self, job: &Job) -> Result<(), String> {
        if self.finished.is_some() {
            ensure!(job.wake_at().is_none(), "a finished job wants to wake");
            return Ok(());
        }
        ensure!(job.wake_at().is_none_or(|at| self.is_later(at)), "wants to wake at {:?}", job.wake_at());
        for (branch, declared) in (0..).zip(self.plan.branches()) {
            if self.outcomes[branch as usize].is_some() {
                continue;
            }
            ensure!(
                self.deadline(branch).is_none_or(|at| self.is_later(at)),
                "branch {branch} is open at its deadline"
            );
            let primary = self.index(AttemptId::primary(branch));
            for number in 0..=declared.delays().len() as u8 {
                let attempt = AttemptId { branch, number };
                let running = self.seen(attempt) == Seen::Running;
                let cut_at = self.cut_at(attempt);
                ensure!(
                    !running || cut_at.is_none_or(|at| self.is_later(at)),
                    "{attempt:?} runs past its time"
                );
                let wake = job.wake_at();
                ensure!(
                    !running || cut_at.is_none_or(|at| wake.is_some_and(|wake| wake <= at)),
                    "{attempt:?} is cut late"
                );
            }
            let wants = self.next_copy_at(branch).filter(|_| self.seen[primary] == Seen::Running);
            let wake = job.wake_at();
            ensure!(
                wants.is_none_or(|at| self.is_later(at) && wake.is_some_and(|wake| wake <= at)),
                "a copy of branch {branch} was due at {wants:?}"
            );
        }
        Ok(())
    }

    /// Whether an instant is yet to come; [`Time::MAX`] always is.
    fn is_later(&self, at: Time) -> bool {
        at > self.now || at == Time::MAX
    }

    /// Rule 1: whether a declared copy of a branch may still be asked for.
    fn may_start(&self, branch: u32) -> bool {
        let first = self.index(AttemptId::primary(branch));
        let copies = self.plan.branches()[branch as usize].delays().len();
        let last = self.plan.branches()[branch as usize].last_useful_start();
        let in_time = last.is_none_or(|last| self.now <= self.started_at.saturating_add(last))
            && self.deadline(branch).is_none_or(|at| self.now < at);
        in_time
            && !self.gave_up[branch as usize]
            && self.seen[first + 1..=first + copies].contains(&Seen::Idle)
    }

    /// When the next copy of a branch is due while its primary runs, if it is still of use then.
    fn next_copy_at(&self, branch: u32) -> Option<Time> {
        let declared = &self.plan.branches()[branch as usize];
        let primary = self.index(AttemptId::primary(branch));
        let next = declared.delays().iter().zip(primary + 1..).find(|(_, i)| self.seen[*i] == Seen::Idle);
        let at = self.since[primary].saturating_add(*next?.0);
        let gave_up = self.gave_up[branch as usize];
        let last = declared.last_useful_start().map(|last| self.started_at.saturating_add(last));
        (!gave_up && last.is_none_or(|last| at.max(self.now) <= last)).then_some(at)
    }

    /// Rule 1: one slot a branch, one outcome, for good; and an outcome leaves nothing running.
    fn check_slots(&mut self, job: &Job, before: &Observer) -> Result<(), String> {
        for branch in 0..self.plan.n() {
            let slot = job.slot(branch).ok_or("a branch has no slot")?;
            let known = self.outcomes[branch as usize];
            let in_time = self.deadline(branch).is_none_or(|at| self.now <= at);
            ensure!(
                known == slot.outcome || slot.outcome != Some(Outcome::Answered) || in_time,
                "branch {branch} answered after its deadline"
            );
            ensure!(before.finished.is_none() || known == slot.outcome, "an outcome after the finish");
            ensure!(known.is_none() || known == slot.outcome, "{known:?} became {:?}", slot.outcome);
            self.outcomes[branch as usize] = slot.outcome;
            let tried = self.tried[branch as usize].len();
            ensure!(slot.attempts as usize == tried, "{} attempts, but {tried} started", slot.attempts);
            let copies = self.plan.branches()[branch as usize].delays().len() as u8;
            let first = self.index(AttemptId::primary(branch));
            let attempts = &self.seen[first..=first + usize::from(copies)];
            let running = attempts.contains(&Seen::Running);
            let asked = attempts.contains(&Seen::Asked);
            ensure!(
                slot.outcome.is_none() == (running || asked),
                "branch {branch} is {:?} with attempts {attempts:?}",
                slot.outcome
            );
            let copies_asked = attempts[1..].contains(&Seen::Asked);
            ensure!(!self.gave_up[branch as usize] || !copies_asked, "an unwelcome copy of branch {branch}");
            let newly = known.is_none().then_some(slot.outcome).flatten();
            ensure!(
                newly != Some(Outcome::Failed) || !self.may_start(branch),
                "branch {branch} failed while a copy may start"
            );
            ensure!(
                slot.winner.is_some() == (slot.outcome == Some(Outcome::Answered)),
                "a winner is an answer: {slot:?}"
            );
            let started = match slot.outcome {
                Some(Outcome::Answered | Outcome::Failed | Outcome::Missed | Outcome::Cancelled) => tried > 0,
                Some(Outcome::NotStarted(_)) => tried == 0,
                Some(Outcome::Unneeded) | None => true,
            };
            ensure!(started, "{:?} with {tried} attempts started", slot.outcome);
        }
        Ok(())
    }

    /// Rule 16: what the ledger gained in this step is what was seen in it.
    fn check_ledger(&mut self, job: &Job, actions: &[Action], before: &Observer) -> Result<(), String> {
        let ledger = *job.ledger();
        for (role, called) in [(Role::Primary, "primaries"), (Role::Copy, "copies")] {
            let (old, new) = (self.ledger.of(role), ledger.of(role));
            let of_role = |attempt: &AttemptId| attempt.role() == role;
            let starts =
                actions.iter().filter(|a| matches!(a, Action::Start { attempt, .. } if of_role(attempt)));
            let launched = starts.count() as u64;
            ensure!(new.launched - old.launched == launched, "{called}: {launched} started, {new:?}");
            let running = self.count(Seen::Running, role);
            let ended = before.count(Seen::Running, role) + launched - running;
            ensure!(ends(new) - ends(old) == ended, "{called}: {ended} ended, {new:?} after {old:?}");
            ensure!(new.running() == running, "{called}: {running} run, {new:?}");
            let cut = |lost: bool| {
                let said = |a: &&Action| matches!(a, Action::Cancel(attempt, cut) if of_role(attempt) && (*cut == Cut::Lost) == lost);
                actions.iter().filter(said).count() as u64
            };
            ensure!(new.lost - old.lost == cut(true), "{called}: lost {new:?}");
            ensure!(new.censored - old.censored == cut(false), "{called}: censored {new:?}");
            let won = |o: &Observer| o.won(role, job);
            ensure!(new.won - old.won == won(self) - won(before), "{called}: won {new:?}");
        }
        self.ledger = ledger;
        Ok(())
    }

    fn count(&self, seen: Seen, role: Role) -> u64 {
        let branches = self.plan.branches().iter();
        let numbers = branches.flat_map(|branch| 0..=branch.delays().len());
        let of_role = |number: usize| (number == 0) == (role == Role::Primary);
        self.seen.iter().zip(numbers).filter(|(s, number)| **s == seen && of_role(*number)).count() as u64
    }

    fn won(&self, role: Role, job: &Job) -> u64 {
        let answered = (0..self.plan.n()).filter(|b| self.outcomes[*b as usize] == Some(Outcome::Answered));
        let winners = answered.filter_map(|b| job.slot(b)?.winner);
        winners.filter(|winner| winner.role() == role).count() as u64
    }

    /// Rule 2, stated anew from the outcomes.
    fn check_verdict(&self, job: &Job, events: &[Event]) -> Result<(), String> {
        ensure!(self.finished == job.verdict(), "said {:?}, holds {:?}", self.finished, job.verdict());
        let count = |wanted: fn(Option<Outcome>) -> bool| {
            self.outcomes.iter().filter(|outcome| wanted(**outcome)).count() as u32
        };
        let answered = count(|o| o == Some(Outcome::Answered));
        let open = count(|o| o.is_none());
        let stopped =
            count(|o| matches!(o, Some(Outcome::Cancelled | Outcome::NotStarted(NotStarted::JobFailed))));
        let unneeded = count(|o| o == Some(Outcome::Unneeded));
        ensure!(job.answers() == answered, "counts {} answers of {answered}", job.answers());
        let required =
            || self.plan.branches().iter().zip(&self.outcomes).filter(|(branch, _)| branch.required);
        let all_required = required().all(|(_, outcome)| *outcome == Some(Outcome::Answered));
        let required_lost = required().any(|(_, outcome)| outcome.is_some_and(lost));
        let met = all_required && answered >= self.plan.k();
        let too_few = answered + open + stopped < self.plan.at_least();
        match job.verdict() {
            None => ensure!(
                !met && !required_lost && !too_few && open > 0 && stopped + unneeded == 0,
                "the job should be over: {:?}",
                self.outcomes
            ),
            Some(verdict) => {
                ensure!(open == 0 && self.count_running() == 0, "finished with something open");
                let expected = match verdict {
                    Verdict::Complete => met && stopped == 0,
                    Verdict::Partial => {
                        let enough = all_required && answered >= self.plan.at_least();
                        !met && enough && stopped + unneeded == 0
                    }
                    Verdict::Failed(Cause::Required(branch)) => {
                        let is_required = self.plan.branches()[branch as usize].required;
                        is_required && self.outcomes[branch as usize].is_some_and(lost) && unneeded == 0
                    }
                    Verdict::Failed(Cause::TooFew(branch)) => {
                        let tipped = self.outcomes[branch as usize].is_some_and(lost);
                        tipped && too_few && !required_lost && unneeded == 0
                    }
                    Verdict::Failed(Cause::Dropped) => {
                        let told = events.contains(&Event::Dropped) || stopped == 0;
                        told && !met && !required_lost && !too_few && unneeded == 0
                    }
                };
                ensure!(expected, "{verdict:?} from {:?}", self.outcomes);
            }
        }
        Ok(())
    }

    fn count_running(&self) -> u64 {
        self.count(Seen::Running, Role::Primary) + self.count(Seen::Running, Role::Copy)
    }
}

/// The order in which reports that end an attempt count, within one instant.
fn kind_of(event: &Event) -> Option<u8> {
    match event {
        Event::Answered(_) => Some(0),
        Event::Failed(_, Failure::Permanent) => Some(1),
        Event::Failed(_, Failure::Retryable) => Some(2),
        Event::Failed(_, Failure::Pushback | Failure::TimedOut) => Some(3),
        Event::Refused(..) => Some(4),
        Event::Granted(_) | Event::Dropped => None,
    }
}

/// Lost for a reason of its own, not because the job was over.
fn lost(outcome: Outcome) -> bool {
    use Outcome::{Failed, Missed, NotStarted as Idle};
    matches!(outcome, Failed | Missed | Idle(NotStarted::NoPermit | NotStarted::Refused(_)))
}

fn ends(attempts: &Attempts) -> u64 {
    attempts.won + attempts.lost + attempts.failed + attempts.censored
}
