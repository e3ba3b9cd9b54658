//! Where a script is played to the runtime.

use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use fantail::{Attempt, AttemptError, Done, Fanout, JoinError, Limiters, Note, Observer, Permit};
use fantail_core::job::{AttemptId, Cause, Class, Cut, Failure, Slot, Verdict};
use fantail_core::{Ledger, Plan, Time};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use crate::report::Trace;
use crate::script::{Happening, Script};

/// What came of the script: what was started and dropped, and when; the verdict; and, unless the job was dropped, what
/// became of the branches and the ledger.
pub(crate) async fn play(script: &Script) -> String {
    let limiters = Limiters::default();
    let fanout = Fanout::new((*script.plan).clone(), &limiters);
    prepare(&fanout, script).await;

    let stage = Arc::new(Stage::new(script));
    let fanout = fanout.observed(Arc::clone(&stage) as Arc<dyn Observer>);
    let mut job = fanout.job();
    let actor = Arc::clone(&stage);
    let _answers = job.each(move |attempt| actor.call(&attempt));
    job.observe();
    let mut job = pin!(job.join());
    let mut others = pin!(stage.others(&limiters));
    let joined = poll_fn(|task| {
        let dropped = others.as_mut().poll(task);
        match job.as_mut().poll(task) {
            Poll::Ready(joined) => Poll::Ready(Some(joined)),
            // Only now: what the others hold is free where the job is gone.
            Poll::Pending => dropped.map(|_held| None),
        }
    })
    .await;
    let Some(joined) = joined else {
        job.set(fanout.job().join());
        return stage.dropped();
    };
    let done = match &joined {
        Ok(done) => done,
        Err(JoinError::Failed(failed)) => failed,
        Err(error) => panic!("{}: {error}", script.title),
    };
    stage.finished(done);
    if done.ledger().kept.running() > 0 {
        let held = async {
            let _held = others.await;
            pending::<()>().await;
        };
        tokio::select! { biased; () = held => {}, () = stage.observed.notified() => {} }
    }
    stage.report(done)
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

/// Starts a job in which only the branch that goes first may answer, at once, and drops it.
async fn start_and_drop(fanout: &Fanout, answers: bool) {
    let first = fanout.plan().branches().iter().position(|branch| branch.after.is_empty());
    let first = fanout.plan().leader().map(|leader| leader.branch).or(first);
    let mut job = fanout.job();
    let _answers = job.each(move |attempt| {
        let answers = answers && Some(attempt.branch() as usize) == first;
        async move { if answers { Ok(()) } else { pending().await } }
    });
    job.observe();
    let mut job = pin!(job.join());
    poll_fn(|task: &mut Context<'_>| {
        let _ = job.as_mut().poll(task);
        Poll::Ready(())
    })
    .await;
}

/// Where a script is played.
struct Stage {
    script: Script,
    origin: Instant,
    trace: Arc<Mutex<Trace>>,
    /// What the job came to cost once nothing ran that it kept, and that it did.
    ledger: Mutex<Option<Ledger>>,
    observed: Notify,
}

impl Observer for Stage {
    fn note(&self, _: &Plan, note: Note<'_>) {
        match note {
            Note::Kept(attempt) => {
                let now = self.now();
                self.trace(|trace, plan| trace.keep(plan, now, attempt));
            }
            Note::Observed(job) => {
                *self.ledger.lock().expect("nothing panics while it notes") = Some(*job.ledger());
                self.observed.notify_one();
            }
            _ => {}
        }
    }
}

impl Stage {
    fn new(script: &Script) -> Stage {
        Stage {
            script: script.clone(),
            origin: Instant::now(),
            trace: Arc::default(),
            ledger: Mutex::default(),
            observed: Notify::new(),
        }
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
        let mine = |(at, happening): &&(Time, Happening)| !over(*at) && attempt_of(*happening) == Some(id);
        let mut timeline: Vec<_> = self
            .script
            .timeline
            .iter()
            .filter(mine)
            .map(|(at, happening)| (self.instant(*at), *happening))
            .collect();
        // What it signals in the instant of its end comes first.
        timeline.sort_by_key(|(at, happening)| (*at, !matches!(happening, Happening::Primes(_))));
        let attempt = attempt.clone();
        let on_drop = OnDrop {
            attempt: id,
            origin: self.origin,
            plan: Arc::clone(&self.script.plan),
            trace: Some(Arc::clone(&self.trace)),
        };
        async move {
            let on_drop = on_drop;
            for (at, happening) in timeline {
                sleep_until(at).await;
                if let Happening::Primes(_) = happening {
                    attempt.primed();
                } else {
                    on_drop.ended();
                    return end_of(happening);
                }
            }
            pending().await
        }
    }

    /// What others do to the limiters; ready when the job is to be dropped, with what they hold.
    async fn others(&self, limiters: &Limiters) -> Vec<VecDeque<Permit>> {
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
                _ => return held,
            }
        }
        pending().await
    }

    fn dropped(&self) -> String {
        let now = self.now();
        self.trace(|trace, plan| trace.finish(plan, now, Verdict::Failed(Cause::Dropped)));
        let trace = self.trace.lock().expect("nothing panics while it traces");
        let open = Slot { outcome: None, winner: None, attempts: 0, waited: Time::ZERO, ran: Time::ZERO };
        trace.report(&self.script.plan, |_| open, &Ledger::default())
    }

    fn finished(&self, done: &Done) {
        let now = self.now();
        assert_eq!(done.elapsed(), now, "{}", self.script.title);
        self.trace(|trace, plan| trace.finish(plan, now, done.verdict()));
    }

    fn report(&self, done: &Done) -> String {
        let trace = self.trace.lock().expect("nothing panics while it traces");
        let ledger = self.ledger.lock().expect("nothing panics while it notes");
        trace.report(&self.script.plan, |branch| done.slot(branch), ledger.as_ref().unwrap_or(done.ledger()))
    }
}

/// The attempt that the happening ends.
pub(crate) fn attempt_of(happening: Happening) -> Option<AttemptId> {
    match happening {
        Happening::Answers(attempt)
        | Happening::Primes(attempt)
        | Happening::Fails(attempt, _)
        | Happening::PushesBack(attempt, _) => Some(attempt),
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
