//! The scripts of the job machine, played to the runtime under tokio's paused clock: it does what the machine does.

#[allow(dead_code, reason = "the runtime shows no queues")]
#[path = "../../core/tests/support/report.rs"]
mod report;
#[path = "../../core/tests/support/script.rs"]
mod script;

use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use fantail::{Attempt, AttemptError, Done, Fanout, JoinError, Limiters, Permit};
use fantail_core::job::{AttemptId, Cause, Class, Cut, Failure, Slot, Verdict};
use fantail_core::{Ledger, Plan, Time};
use report::Trace;
use script::{Happening, Script};
use tokio::time::{Instant, sleep, sleep_until};

/// Scripts of instants between two ticks of tokio's timer, which are a millisecond apart.
const BETWEEN_TICKS: [&str; 1] = ["an answer a nanosecond after the deadline is too late"];

/// Plays every script of a file; lists all that came out otherwise.
async fn check(file: &str, text: &str) {
    let mut wrong = Vec::new();
    for script in Script::all(text) {
        if BETWEEN_TICKS.contains(&script.title.as_str()) {
            continue;
        }
        let came = comparable(&script, &play(&script).await);
        let expected = comparable(&script, &script.expected);
        if came != expected {
            let (came, expected) = (came.join("\n"), expected.join("\n"));
            wrong.push(format!("== {}\nexpected\n{expected}\ncame\n{came}\n", script.title));
        }
    }
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
}

macro_rules! files {
    ($($test:ident: $file:literal;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $test() {
                check($file, include_str!(concat!("../../core/tests/scenarios/", $file))).await;
            }
        )+

        #[test]
        fn every_file_of_scripts_has_a_test() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/scenarios");
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!([$($file),+].contains(&name.as_str()), "no test plays {name}");
            }
        }
    };
}

files! {
    rule_1_every_branch_ends_with_one_outcome: "rule_01_slots.txt";
    rule_2_the_barrier_gives_the_verdict: "rule_02_barrier.txt";
    rule_3_one_instant_has_an_order: "rule_03_instant.txt";
    rule_4_the_cause_is_the_root: "rule_04_causes.txt";
    rule_5_a_branch_is_won_by_its_first_answer: "rule_05_branch.txt";
    rule_6_permits_are_asked_for: "rule_06_permits.txt";
    rule_7_the_budget_caps_copies: "rule_07_budget.txt";
    rule_9_limiters_are_shared: "rule_09_limiter.txt";
    rule_13_losers_are_dropped_first: "rule_13_losers.txt";
    rule_14_one_deadline_flows_down: "rule_14_deadline.txt";
    rule_16_the_ledger_sums: "rule_16_ledger.txt";
    cases_from_public_reports: "cases.txt";
}

/// What came of the script: what was started and dropped, and when; the verdict; and, unless the job was dropped, what
/// became of the branches and the ledger.
async fn play(script: &Script) -> String {
    let limiters = Limiters::default();
    let fanout = Fanout::new((*script.plan).clone(), &limiters);
    prepare(&fanout, script).await;

    let stage = Stage::new(script);
    let mut job = fanout.job();
    let _answers = job.each(|attempt| stage.call(&attempt));
    let mut job = pin!(job.join());
    let mut others = pin!(stage.others(&limiters));
    let joined = poll_fn(|task| {
        let dropped = others.as_mut().poll(task).is_ready();
        match job.as_mut().poll(task) {
            Poll::Ready(joined) => Poll::Ready(Some(joined)),
            Poll::Pending if dropped => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    let Some(joined) = joined else {
        job.set(fanout.job().join());
        return stage.dropped();
    };
    stage.finished(match &joined {
        Ok(done) => done,
        Err(JoinError::Failed(failed)) => failed,
        Err(error) => panic!("{}: {error}", script.title),
    })
}

/// Brings the budget's credit and the choice of targets to where the script begins.
async fn prepare(fanout: &Fanout, script: &Script) {
    let share = script.plan.hedge_budget().share.max(1);
    let earning = (script.credit * 1_000_000).div_ceil(share);
    for _ in 0..earning {
        start_and_drop(fanout, true).await;
        // Until every rate is full again.
        sleep(Duration::from_secs(3_600)).await;
    }
    let turns = script.plan.branches().iter().map(|branch| branch.targets).product::<u32>();
    for _ in 0..(script.rotation % turns + turns - earning % turns) % turns {
        start_and_drop(fanout, false).await;
    }
    sleep(Duration::from_secs(3_600)).await;
}

/// Starts a job in which only the first branch may answer, at once, and drops it.
async fn start_and_drop(fanout: &Fanout, answers: bool) {
    let mut job = fanout.job();
    let _answers =
        job.each(
            |attempt| async move { if answers && attempt.branch() == 0 { Ok(()) } else { pending().await } },
        );
    let mut job = pin!(job.join());
    poll_fn(|task: &mut Context<'_>| {
        let _ = job.as_mut().poll(task);
        Poll::Ready(())
    })
    .await;
}

/// Where a script is played.
struct Stage<'s> {
    script: &'s Script,
    origin: Instant,
    trace: Arc<Mutex<Trace>>,
}

impl Stage<'_> {
    fn new(script: &Script) -> Stage<'_> {
        Stage { script, origin: Instant::now(), trace: Arc::default() }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.origin.elapsed().as_nanos() as u64)
    }

    fn instant(&self, at: Time) -> Instant {
        self.origin + Duration::from_nanos(at.as_nanos())
    }

    fn trace(&self, add: impl FnOnce(&mut Trace, &Plan)) {
        add(&mut self.trace.lock().expect("nothing panics while it traces"), &self.script.plan);
    }

    /// What the script has happen to the attempt once it runs, if anything.
    fn call(&self, attempt: &Attempt) -> impl Future<Output = Result<(), AttemptError>> + use<> {
        let id = AttemptId { branch: attempt.branch(), number: attempt.number() };
        let now = self.now();
        let until =
            attempt.time_left().map(|left| now.saturating_add(Time::from_nanos(left.as_nanos() as u64)));
        self.trace(|trace, plan| trace.start(plan, now, id, attempt.target(), until));
        // What happens at the instant of a permit is over when the permit comes, but for the start of the job.
        let over = |at: Time| at < now || at == now && now > Time::ZERO;
        let mut timeline = self.script.timeline.iter();
        let end = timeline.find(|(at, happening)| !over(*at) && attempt_of(*happening) == Some(id));
        let end = end.map(|(at, happening)| (self.instant(*at), *happening));
        let on_drop = OnDrop {
            attempt: id,
            origin: self.origin,
            plan: Arc::clone(&self.script.plan),
            trace: Some(Arc::clone(&self.trace)),
        };
        async move {
            let on_drop = on_drop;
            let Some((at, happening)) = end else { return pending().await };
            sleep_until(at).await;
            on_drop.ended();
            end_of(happening)
        }
    }

    /// What others do to the limiters; ready when the job is to be dropped.
    async fn others(&self, limiters: &Limiters) {
        let plan = &self.script.plan;
        let mut held: Vec<VecDeque<Permit>> = plan.limiters().iter().map(|_| VecDeque::new()).collect();
        for (at, happening) in &self.script.timeline {
            if !matches!(happening, Happening::Holds(..) | Happening::Frees(_) | Happening::Drops) {
                continue;
            }
            if *at > Time::ZERO {
                sleep_until(self.instant(*at)).await;
            }
            match *happening {
                Happening::Holds(index, weight) => {
                    let limiter = limiters.get(&plan.limiters()[index].name).expect("it is in the plan");
                    let permit = limiter.acquire(Class::First, weight, None).await;
                    held[index].push_back(permit.expect("it is within the capacity"));
                }
                Happening::Frees(index) => drop(held[index].pop_front()),
                _ => return,
            }
        }
        pending::<()>().await;
    }

    fn dropped(&self) -> String {
        let now = self.now();
        self.trace(|trace, plan| trace.finish(plan, now, Verdict::Failed(Cause::Dropped)));
        let trace = self.trace.lock().expect("nothing panics while it traces");
        let open = Slot { outcome: None, winner: None, attempts: 0, waited: Time::ZERO, ran: Time::ZERO };
        trace.report(&self.script.plan, |_| open, &Ledger::default())
    }

    fn finished(&self, done: &Done) -> String {
        let now = self.now();
        assert_eq!(done.elapsed(), now, "{}", self.script.title);
        self.trace(|trace, plan| trace.finish(plan, now, done.verdict()));
        let trace = self.trace.lock().expect("nothing panics while it traces");
        trace.report(&self.script.plan, |branch| done.slot(branch), done.ledger())
    }
}

/// The attempt that the happening ends.
fn attempt_of(happening: Happening) -> Option<AttemptId> {
    match happening {
        Happening::Answers(attempt) | Happening::Fails(attempt, _) | Happening::PushesBack(attempt, _) => {
            Some(attempt)
        }
        Happening::Holds(..) | Happening::Frees(_) | Happening::Drops => None,
    }
}

/// What the attempt comes to by the happening that ends it.
fn end_of(happening: Happening) -> Result<(), AttemptError> {
    match happening {
        Happening::Fails(_, Failure::Permanent) => Err(AttemptError::permanent("err")),
        Happening::Fails(..) => Err(AttemptError::retryable("retry")),
        Happening::PushesBack(_, pause) => {
            Err(AttemptError::pushback("push", Some(Duration::from_nanos(pause.as_nanos()))))
        }
        _ => Ok(()),
    }
}

/// Traces that an attempt was dropped before its end.
struct OnDrop {
    attempt: AttemptId,
    origin: Instant,
    plan: Arc<Plan>,
    trace: Option<Arc<Mutex<Trace>>>,
}

impl OnDrop {
    fn ended(mut self) {
        self.trace = None;
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(trace) = &self.trace {
            let now = Time::from_nanos(self.origin.elapsed().as_nanos() as u64);
            let mut trace = trace.lock().expect("nothing panics while it traces");
            trace.cancel(&self.plan, now, self.attempt, Cut::JobEnded);
        }
    }
}

/// Lines of the text without what the runtime does not show: who queues; why an attempt was dropped; that one which ended
/// at that very instant was to be dropped; and, when the job was dropped, what became of the branches.
fn comparable(script: &Script, text: &str) -> Vec<String> {
    let was_dropped = text.contains("failed: dropped");
    let mut lines = Vec::new();
    for line in report::without_queues(text).lines() {
        match line.split_once(": ").filter(|_| line.starts_with("at ")) {
            None if was_dropped => {}
            None => lines.push(line.to_owned()),
            Some((at, items)) => {
                for item in items.split("; ") {
                    lines.extend(each(item).into_iter().map(|one| format!("{at}: {one}")));
                }
            }
        }
    }
    let ended: Vec<String> = script
        .timeline
        .iter()
        .filter_map(|(at, happening)| {
            let id = attempt_of(*happening)?;
            let branch = &script.plan.branches()[id.branch as usize].name;
            let number = if id.number == 0 { String::new() } else { format!(".{}", id.number) };
            Some(format!("at {at}: drop {branch}{number}"))
        })
        .collect();
    lines.retain(|line| !ended.contains(line));
    lines
}

/// `start a, b until 5ms` is `start a until 5ms` and `start b until 5ms`; a drop is one for whatever reason.
fn each(item: &str) -> Vec<String> {
    let Some((verb @ ("start" | "drop"), rest)) = item.split_once(' ') else { return vec![item.to_owned()] };
    let end = [" at target", " until", " ("].iter().filter_map(|mark| rest.find(mark)).min();
    let (names, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let rest = if verb == "drop" { "" } else { rest };
    names.split(", ").flat_map(expand).map(|name| format!("{verb} {name}{rest}")).collect()
}

/// `x2..x4` is `x2`, `x3`, `x4`; anything else is itself.
fn expand(names: &str) -> Vec<String> {
    let Some((first, last)) = names.split_once("..") else { return vec![names.to_owned()] };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |name: &str| name[stem.len()..].parse::<u32>().expect("a range is of numbered names");
    (number(first)..=number(last)).map(|number| format!("{stem}{number}")).collect()
}
