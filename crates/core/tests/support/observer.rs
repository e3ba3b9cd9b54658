//! Watches a job from outside, and says which rule a step broke.

use std::sync::Arc;

use fantail_core::job::{
    Action, AttemptId, Cause, Class, Cut, Event, Failure, Job, NotStarted, Outcome, Role, Start, Verdict,
};
use fantail_core::{Attempts, Ledger, LiveDelay, LiveDelaySpec, Plan, Time};

/// Fails the step unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($said:tt)+) => {
        if !$condition {
            return Err(format!($($said)+));
        }
    };
}

#[path = "kept.rs"]
mod kept;
#[path = "turns.rs"]
mod turns;

/// What an attempt is, seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    Idle,
    Asked,
    Running,
    /// Running on, though the job needs it no more.
    Kept,
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
    /// The plan's live delays, as the job was given them.
    live: Vec<Option<Time>>,
    /// The leader that followers wait for.
    leading: Option<u32>,
    /// When they stop waiting, once a leader has started.
    head_start_ends: Option<Time>,
    started_at: Time,
    now: Time,
    ledger: Ledger,
    finished: Option<Verdict>,
}

impl Observer {
    /// Starts a job and checks that it asks for every primary and for nothing else.
    pub(crate) fn start(plan: &Arc<Plan>, now: Time, rotation: u32) -> (Job, Observer, Vec<Action>) {
        let mut actions = Vec::new();
        let live = live(plan);
        let start = Start { now, rotation, live: &live, ..Start::default() };
        let job = Job::start(Arc::clone(plan), start, &mut actions);
        let n = plan.n() as usize;
        let mut observer = Observer {
            plan: Arc::clone(plan),
            seen: vec![Seen::Idle; plan.attempts()],
            outcomes: vec![None; n],
            tried: vec![Vec::new(); n],
            since: vec![now; plan.attempts()],
            live,
            gave_up: vec![false; n],
            leading: plan.leader().map(|leader| leader.branch as u32),
            head_start_ends: None,
            started_at: now,
            now,
            ledger: Ledger::default(),
            finished: None,
        };
        let first = |branch: &u32| {
            let waits = !plan.branches()[*branch as usize].after.is_empty();
            !waits && observer.leading.is_none_or(|leader| leader == *branch)
        };
        let first: Vec<AttemptId> = (0..plan.n()).filter(first).map(AttemptId::primary).collect();
        let asked: Vec<AttemptId> = actions
            .iter()
            .map(|action| match action {
                Action::Ask { attempt, class: Class::First, budgeted: false, .. } => *attempt,
                other => panic!("a job starts with {other:?}"),
            })
            .collect();
        assert_eq!(asked, first, "a job starts by asking for every primary that waits for nothing, in order");
        for primary in first {
            let index = observer.index(primary);
            observer.seen[index] = Seen::Asked;
        }
        (job, observer, actions)
    }

    /// One step of the job; an error says which invariant it broke.
    pub(crate) fn step(&mut self, job: &mut Job, now: Time, events: &[Event]) -> Result<Vec<Action>, String> {
        let before = self.clone();
        self.now = self.now.max(now);
        let overslept = job.wake_at().is_some_and(|at| at < self.now);
        let mut actions = Vec::new();
        job.step(now, &mut events.to_vec(), &mut actions);
        for action in &actions {
            let over = self.finished.is_some() && !self.cancels_kept(*action);
            ensure!(!over, "{action:?} after the finish");
            self.action(*action, events).map_err(|broken| format!("{broken} in {actions:?}"))?;
        }
        self.reported(job, events, &before);
        self.check_slots(job, &before)?;
        self.follow_leader(events, &before);
        self.check_turns(&before, overslept)?;
        self.check_times(job)?;
        self.check_kept(job, &actions, events, &before)?;
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

    /// Whether followers wait for this branch.
    #[allow(dead_code, reason = "not every test that has an observer asks")]
    pub(crate) fn leads(&self, branch: u32) -> bool {
        self.leading == Some(branch)
    }

    fn index(&self, attempt: AttemptId) -> usize {
        self.plan.attempt_index(attempt).expect("the attempt is declared")
    }

    fn action(&mut self, action: Action, events: &[Event]) -> Result<(), String> {
        match action {
            Action::Ask { attempt, class, budgeted, until } => {
                match attempt.role() {
                    Role::Primary => {
                        ensure!(class == Class::First && !budgeted, "asked for a primary as {action:?}");
                    }
                    Role::Copy => self.copy_asked(attempt, class, budgeted, events)?,
                    Role::Failover => self.failover_asked(attempt, class, budgeted)?,
                }
                ensure!(self.outcomes[attempt.branch as usize].is_none(), "asked for a settled branch");
                let seen = self.change(attempt, Seen::Asked);
                ensure!(seen == Seen::Idle, "asked for what was {seen:?}");
                let branch = &self.plan.branches()[attempt.branch as usize];
                let last = match attempt.role() {
                    Role::Primary => branch.deadline,
                    Role::Copy | Role::Failover => branch.last_useful_start(),
                };
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
                ensure!(matches!(seen, Seen::Running | Seen::Kept), "cancelled what was {seen:?}");
                let timeout = self.plan.branches()[attempt.branch as usize].attempt_timeout.is_some();
                let told = events.contains(&Event::Failed(attempt, Failure::TimedOut));
                ensure!(cut != Cut::TimedOut || timeout || told, "timed out without a timeout");
            }
            Action::Keep(attempt) => {
                let seen = self.change(attempt, Seen::Kept);
                ensure!(seen == Seen::Running, "kept what was {seen:?}");
            }
            Action::Finish(verdict) => self.finished = Some(verdict),
        }
        Ok(())
    }

    /// Rule 6: a copy is asked for once, when its delay from the primary's permit has elapsed or an attempt that it
    /// stands in for has failed.
    fn copy_asked(
        &self,
        attempt: AttemptId,
        class: Class,
        budgeted: bool,
        events: &[Event],
    ) -> Result<(), String> {
        let branch = &self.plan.branches()[attempt.branch as usize];
        let delay = branch.delays()[usize::from(attempt.number) - 1];
        ensure!(budgeted == (delay > Time::ZERO), "the budget caps copies after a delay, and no race");
        ensure!(self.plan.holdout() == 0, "a copy in a job that is held out");
        let expected = if branch.required { Class::RequiredCopy } else { Class::OptionalCopy };
        ensure!(class == expected, "asked in class {class:?}");
        let primary = AttemptId::primary(attempt.branch);
        ensure!(self.seen(primary) != Seen::Asked, "a copy was due while the primary queued");
        let elapsed = |delay| self.since[self.index(primary)].saturating_add(delay) <= self.now;
        let due = self.delay(attempt).is_some_and(elapsed);
        let brought_forward = branch.attempt_timeout.is_some()
            || events.iter().any(|event| match *event {
                Event::Failed(other, _) | Event::Refused(other, _) => other.branch == attempt.branch,
                _ => false,
            });
        ensure!(due || brought_forward, "a copy before its delay");
        Ok(())
    }

    /// Rule 5: a failover is asked for when all else is spent, there is a target that was not tried, and a budget pays.
    fn failover_asked(&self, attempt: AttemptId, class: Class, budgeted: bool) -> Result<(), String> {
        ensure!(class == Class::First && budgeted, "asked for a failover in {class:?}");
        let branch = &self.plan.branches()[attempt.branch as usize];
        let tried = self.tried[attempt.branch as usize].len();
        ensure!((1..branch.targets as usize).contains(&tried), "a failover after {tried} targets");
        let held_out = |other: AttemptId| other.role() == Role::Copy && self.plan.holdout() > 0;
        let spent = |other: AttemptId| other == attempt || held_out(other) || self.seen(other) != Seen::Idle;
        ensure!(self.plan.attempts_of(attempt.branch).all(spent), "a failover instead of a copy");
        Ok(())
    }

    fn started(&mut self, attempt: AttemptId, target: u32, events: &[Event]) -> Result<(), String> {
        let seen = self.change(attempt, Seen::Running);
        ensure!(seen == Seen::Asked, "started what was {seen:?}");
        ensure!(events.contains(&Event::Granted(attempt)), "started without a permit");
        if let (Some(leader), Some(_)) = (self.plan.leader(), self.leading) {
            self.head_start_ends.get_or_insert(self.now.saturating_add(leader.head_start));
        }
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
    /// instant, so that it also counts for what was asked in this step, unless that was in consequence of the refusal of
    /// another; a report of an end counts for what ran before.
    fn reported(&mut self, job: &Job, events: &[Event], before: &Observer) {
        for kind in 0..=5 {
            for event in events.iter().filter(|event| kind_of(event) == Some(kind)) {
                let (attempt, was) = match *event {
                    Event::Answered(attempt) | Event::Failed(attempt, _) => (attempt, Seen::Running),
                    Event::Refused(attempt, _) => (attempt, Seen::Asked),
                    Event::Primed(_) | Event::Granted(_) | Event::Dropped => continue,
                };
                let Some(index) = self.plan.attempt_index(attempt) else { continue };
                let settled = job.slot(attempt.branch).is_some_and(|slot| slot.outcome.is_some());
                let in_turn = attempt.number > 0 || before.seen[index] == Seen::Asked || settled;
                let runs = |seen| matches!(seen, Seen::Running | Seen::Kept);
                let counts = match was {
                    Seen::Asked => in_turn && before.finished.is_none() && self.seen[index] == was,
                    _ => runs(before.seen[index]) && runs(self.seen[index]),
                };
                if counts {
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
        ensure!(job.wake_at().is_none_or(|at| self.is_later(at)), "wants to wake at {:?}", job.wake_at());
        if self.finished.is_some() {
            let kept = self.count(Seen::Kept, Role::Primary) > 0;
            ensure!(kept || job.wake_at().is_none(), "a finished job wants to wake");
            return Ok(());
        }
        for branch in 0..self.plan.n() {
            if self.outcomes[branch as usize].is_some() {
                continue;
            }
            ensure!(
                self.deadline(branch).is_none_or(|at| self.is_later(at)),
                "branch {branch} is open at its deadline"
            );
            let primary = self.index(AttemptId::primary(branch));
            for attempt in self.plan.attempts_of(branch) {
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

    /// Rule 1: whether a copy or failover of a branch may still be asked for.
    fn may_start(&self, branch: u32) -> bool {
        let untried =
            (self.plan.branches()[branch as usize].targets as usize) > self.tried[branch as usize].len();
        let may = |attempt: AttemptId| match attempt.role() {
            Role::Primary => false,
            Role::Copy => self.plan.holdout() == 0 && self.seen(attempt) == Seen::Idle,
            Role::Failover => self.seen(attempt) == Seen::Idle && untried,
        };
        let last = self.plan.branches()[branch as usize].last_useful_start();
        let in_time = last.is_none_or(|last| self.now <= self.started_at.saturating_add(last))
            && self.deadline(branch).is_none_or(|at| self.now < at);
        in_time && !self.gave_up[branch as usize] && self.plan.attempts_of(branch).any(may)
    }

    /// How long after the primary's permit a copy is due.
    fn delay(&self, copy: AttemptId) -> Option<Time> {
        let branch = &self.plan.branches()[copy.branch as usize];
        let stated = branch.delays()[usize::from(copy.number) - 1];
        branch.live.map_or(Some(stated), |live| self.live[live])
    }

    /// When the next copy of a branch is due while its primary runs, if it is still of use then.
    fn next_copy_at(&self, branch: u32) -> Option<Time> {
        let declared = &self.plan.branches()[branch as usize];
        let primary = self.index(AttemptId::primary(branch));
        let held_out = self.plan.holdout() > 0;
        let idle =
            |copy: &AttemptId| copy.role() == Role::Copy && !held_out && self.seen(*copy) == Seen::Idle;
        let next = self.plan.attempts_of(branch).find(idle);
        let at = self.since[primary].saturating_add(self.delay(next?)?);
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
            let attempts = self.attempts(branch);
            let running = attempts.contains(&Seen::Running);
            let asked = attempts.contains(&Seen::Asked);
            ensure!(
                slot.outcome.is_none() == (running || asked || known_idle(slot.outcome, attempts)),
                "branch {branch} is {:?} with attempts {attempts:?}",
                slot.outcome
            );
            let failover = self.plan.branches()[branch as usize].failover && attempts.len() > 1;
            let alone = |seen: &[Seen]| !seen.contains(&Seen::Running) && !seen.contains(&Seen::Asked);
            if let (true, [others @ .., Seen::Asked | Seen::Running]) = (failover, attempts) {
                ensure!(alone(others), "branch {branch} failed over beside {others:?}");
            }
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

    /// The branch's attempts: primary, copies, failover.
    fn attempts(&self, branch: u32) -> &[Seen] {
        let first = self.index(AttemptId::primary(branch));
        &self.seen[first..first + self.plan.attempts_of(branch).count()]
    }

    /// Rule 16: what the ledger gained in this step is what was seen in it.
    fn check_ledger(&mut self, job: &Job, actions: &[Action], before: &Observer) -> Result<(), String> {
        let ledger = *job.ledger();
        for (role, called) in Role::ALL.into_iter().zip(["primaries", "copies", "failovers"]) {
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
                let said = |(place, a): &(usize, &Action)| match **a {
                    Action::Cancel(attempt, cut) => {
                        of_role(&attempt)
                            && (cut == Cut::Lost) == lost
                            && !before.kept(attempt, &actions[..*place])
                    }
                    Action::Keep(attempt) => {
                        let answered = self.outcomes[attempt.branch as usize] == Some(Outcome::Answered);
                        of_role(&attempt) && answered == lost
                    }
                    _ => false,
                };
                actions.iter().enumerate().filter(said).count() as u64
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
        let attempts = (0..self.plan.n()).flat_map(|branch| self.plan.attempts_of(branch));
        let of_role = |attempt: &AttemptId| attempt.role() == role && self.seen(*attempt) == seen;
        attempts.filter(of_role).count() as u64
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
                if let Verdict::Failed(Cause::Required(branch) | Cause::TooFew(branch)) = verdict {
                    let outcome = self.outcomes[branch as usize];
                    let follows = outcome == Some(Outcome::NotStarted(NotStarted::Dependency));
                    let late = self.deadline(branch).is_some_and(|at| at <= self.now);
                    ensure!(!follows || late, "failed for branch {branch}, which only followed another");
                }
            }
        }
        Ok(())
    }

    fn count_running(&self) -> u64 {
        Role::ALL.map(|role| self.count(Seen::Running, role)).iter().sum()
    }
}

/// What the live delays of a plan are where nothing was measured.
pub(crate) fn live(plan: &Plan) -> Vec<Option<Time>> {
    let delay = |spec: &LiveDelaySpec| LiveDelay::new(*spec).expect("the plan checks it").delay();
    plan.live_delays().iter().map(delay).collect()
}

/// The order in which reports that end an attempt count, within one instant.
fn kind_of(event: &Event) -> Option<u8> {
    match event {
        Event::Answered(_) => Some(0),
        Event::Failed(_, Failure::Permanent) => Some(1),
        Event::Failed(_, Failure::Retryable) => Some(2),
        Event::Failed(_, Failure::Pushback) => Some(3),
        Event::Failed(_, Failure::TimedOut) => Some(4),
        Event::Refused(..) => Some(5),
        Event::Primed(_) | Event::Granted(_) | Event::Dropped => None,
    }
}

/// Whether a branch waits for its turn.
fn known_idle(outcome: Option<Outcome>, attempts: &[Seen]) -> bool {
    outcome.is_none() && attempts[0] == Seen::Idle
}

/// Lost for a reason of its own, not because the job was over.
fn lost(outcome: Outcome) -> bool {
    use NotStarted::{Dependency, NoPermit, Refused};
    use Outcome::{Failed, Missed, NotStarted as Idle};
    matches!(outcome, Failed | Missed | Idle(NoPermit | Dependency | Refused(_)))
}

fn ends(attempts: &Attempts) -> u64 {
    attempts.won + attempts.lost + attempts.failed + attempts.censored
}
