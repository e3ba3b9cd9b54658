//! A run of a limiter, beside the reference or on its own.

use fantail_core::job::Class;
use fantail_core::{Limiter, LimiterSpec, Ticket, Time};

use crate::naive::Naive;

/// What the world does to a limiter. Numbers pick, modulo how many there are, among the tickets there ever were, and rather
/// among live ones.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Ask(Class, u32, Option<u64>),
    Pass(u64),
    /// So many ask, as far as each is granted at once.
    GrantNow(Class, u32, u32),
    /// Time passes until somebody may go.
    Wait,
    Grant,
    GrantAny(usize),
    Withdraw(usize),
    Release(usize),
    GiveBack(usize),
    PushBack(u64),
}

/// Plays the operations to the limiter and to the reference, comparing after each.
pub(crate) fn agree(spec: LimiterSpec, origin: u64, ops: &[Op]) {
    let mut limiter = Limiter::new(spec.clone());
    let mut naive = Naive::new(spec);
    let mut now = Time::from_nanos(origin);
    let mut tickets: Vec<Ticket> = Vec::new();
    for op in ops {
        let choice: Vec<Ticket> = [naive.live(), naive.live(), tickets.clone()].concat();
        let pick = |number: &usize| (!choice.is_empty()).then(|| choice[number % choice.len()]);
        let later = |after: Option<u64>| after.map(|after| now.saturating_add(Time::from_nanos(after)));
        match op {
            Op::Ask(class, weight, until) => {
                let until = later(*until);
                let came = limiter.ask(now, *class, *weight, until);
                assert_eq!(came.err(), naive.refuses(now, *weight, until));
                if let Ok(ticket) = came {
                    assert!(tickets.last().is_none_or(|last| *last < ticket), "tickets are new");
                    naive.ask(ticket, *class, *weight, until);
                    tickets.push(ticket);
                }
            }
            Op::GrantNow(class, weight, n) => {
                tickets.extend(grant_now(&mut limiter, &mut naive, now, (*class, *weight, *n)));
            }
            Op::Pass(nanos) => now = now.saturating_add(Time::from_nanos(*nanos)),
            Op::Wait => now = limiter.next_at(now).unwrap_or(now),
            Op::Grant => {
                if let Some(ticket) = limiter.poll(now) {
                    limiter.grant(now, ticket);
                    naive.grant(now, ticket);
                }
            }
            Op::GrantAny(number) => {
                if let Some(ticket) = pick(number) {
                    limiter.grant(now, ticket);
                    if naive.poll(now) == Some(ticket) {
                        naive.grant(now, ticket);
                    }
                }
            }
            Op::Withdraw(number) => pick(number).into_iter().for_each(|ticket| {
                limiter.withdraw(ticket);
                naive.withdraw(ticket);
            }),
            Op::Release(number) => pick(number).into_iter().for_each(|ticket| {
                limiter.release(ticket);
                naive.release(ticket);
            }),
            Op::GiveBack(number) => pick(number).into_iter().for_each(|ticket| {
                limiter.give_back(ticket);
                naive.give_back(ticket);
            }),
            Op::PushBack(pause) => {
                let pause = Time::from_nanos(*pause);
                let mut left = limiter.push_back(now, pause);
                left.sort_unstable();
                assert_eq!(left, naive.push_back(now, pause));
            }
        }
        same(&mut limiter, &naive, now);
    }
    naive.check_rate();
}

/// Grants at once what the reference says may go, one after another.
fn grant_now(
    limiter: &mut Limiter,
    naive: &mut Naive,
    now: Time,
    (class, weight, n): (Class, u32, u32),
) -> Option<Ticket> {
    let came = limiter.grant_now(now, class, weight, n);
    let (ticket, granted) = came.unwrap_or_else(|| (any_ticket(), 0));
    for i in 0..n {
        if naive.waiting() > 0 || naive.refuses(now, weight, None).is_some() {
            assert!(i >= granted, "somebody waits, or it is refused");
            break;
        }
        naive.ask(ticket, class, weight, None);
        assert_eq!(i < granted, naive.poll(now) == Some(ticket), "of {granted}");
        if i == granted {
            naive.withdraw(ticket);
            break;
        }
        naive.grant(now, ticket);
    }
    came.map(|(ticket, _)| ticket)
}

/// A ticket of another limiter.
fn any_ticket() -> Ticket {
    Limiter::new(LimiterSpec::new("other")).ask(Time::ZERO, Class::First, 1, None).expect("it may wait")
}

fn same(limiter: &mut Limiter, naive: &Naive, now: Time) {
    assert_eq!(limiter.held(), naive.held());
    assert_eq!(limiter.waiting(), naive.waiting());
    assert_eq!(limiter.next(), naive.next());
    assert_eq!(limiter.poll(now), naive.poll(now));
    match limiter.next_at(now) {
        None => assert!(naive.poll(Time::MAX).is_none(), "time alone would help"),
        Some(at) => {
            assert!(naive.poll(at).is_some(), "nobody may go at {at}");
            let before = Time::from_nanos(at.as_nanos().saturating_sub(1));
            assert!(at == now || naive.poll(before).is_none(), "somebody may go before {at}");
        }
    }
}

/// That no order of instants and no stale ticket breaks a limiter, each operation at a time of its own.
pub(crate) fn withstand<'o>(spec: &LimiterSpec, ops: impl IntoIterator<Item = (&'o Op, Time)>) {
    let mut limiter = Limiter::new(spec.clone());
    let mut tickets = Vec::new();
    for (op, now) in ops {
        let pick = |number: &usize| (!tickets.is_empty()).then(|| tickets[number % tickets.len()]);
        match op {
            Op::Ask(class, weight, _) => tickets.extend(limiter.ask(now, *class, *weight, Some(now))),
            Op::GrantNow(class, weight, n) => {
                let granted = limiter.grant_now(now, *class, *weight, *n);
                tickets.extend(granted.into_iter().flat_map(|(ticket, n)| (0..n).map(move |_| ticket)));
            }
            Op::Pass(_) | Op::Wait => drop(limiter.next_at(now)),
            Op::Grant => {
                while let Some(ticket) = limiter.poll(now) {
                    limiter.grant(now, ticket);
                }
            }
            Op::GrantAny(number) => pick(number).into_iter().for_each(|ticket| limiter.grant(now, ticket)),
            Op::Withdraw(number) => pick(number).into_iter().for_each(|ticket| limiter.withdraw(ticket)),
            Op::Release(number) => pick(number).into_iter().for_each(|ticket| limiter.release(ticket)),
            Op::GiveBack(number) => pick(number).into_iter().for_each(|ticket| limiter.give_back(ticket)),
            Op::PushBack(_) => drop(limiter.push_back(now, now)),
        }
        assert!(spec.gate.is_none_or(|gate| limiter.held() <= u64::from(gate)));
    }
    for ticket in tickets {
        limiter.release(ticket);
        limiter.withdraw(ticket);
    }
    assert_eq!((limiter.held(), limiter.waiting()), (0, 0));
}
