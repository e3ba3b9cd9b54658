//! The loop closed: jobs that send a copy at the p95 of what the jobs before them measured.

use std::f64::consts::TAU;
use std::future::pending;
use std::time::Duration;

use fantail::{Fanout, Limiters};
use fantail_core::{BranchSpec, Estimate, Hedge, LiveDelaySpec, Plan, PlanSpec, Quantile, Sketch, Time};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// 5 ms apart, of latencies that are about 100 ms: twenty and more run at a time.
const APART: Duration = Duration::from_millis(5);
const UNIT: f64 = 0.1;

/// A plan of one branch, whose copy is due at its live p95; nothing while that is not known.
fn hedged(deadline: Option<Time>) -> Fanout {
    let p95 = Quantile::from_ppm(950_000).unwrap();
    let hedge = Some(Hedge::after(Time::from_millis(300)));
    let branch = BranchSpec { hedge, live: Some(0), repeatable: true, ..BranchSpec::new("b") };
    let live_delays = vec![LiveDelaySpec::new(p95)];
    let spec = PlanSpec { live_delays, deadline, ..PlanSpec::new("live", vec![branch]) };
    Fanout::new(Plan::new(spec).unwrap(), &Limiters::default())
}

/// Runs so many jobs, whose attempts take `law` of a number within (0, 1) and the job's; looks at the plan after each
/// start. How many copies there were.
async fn run(
    fanout: &Fanout,
    jobs: u64,
    seed: u64,
    law: impl Fn(u64, f64, f64) -> Option<Duration>,
    mut look: impl FnMut(u64),
) -> u64 {
    let mut running = JoinSet::new();
    let mut copies = 0;
    for number in 0..jobs {
        let latencies = [0, 1].map(|attempt| {
            let uniform = |purpose| uniform(seed << 40 | number << 2 | attempt << 1 | purpose);
            law(if attempt == 0 { number } else { 0 }, uniform(0), uniform(1))
        });
        let fanout_of_job = fanout.clone();
        running.spawn(async move {
            let mut job = fanout_of_job.job();
            let _answer = job.required("b", |attempt| async move {
                match latencies[usize::from(attempt.number())] {
                    Some(latency) => sleep(latency).await,
                    None => pending().await,
                }
                Ok(())
            });
            match job.join().await {
                Ok(done) => done.ledger().copies.launched,
                Err(fantail::JoinError::Failed(failed)) => failed.ledger().copies.launched,
                Err(error) => panic!("{error}"),
            }
        });
        sleep(APART).await;
        while let Some(ended) = running.try_join_next() {
            copies += ended.unwrap();
        }
        look(number + 1);
    }
    while let Some(ended) = running.join_next().await {
        copies += ended.unwrap();
    }
    copies
}

/// The p95 every five half-lives, when nothing is known any more of what it was. `slope` is how steep the law is at its
/// p95, `t f(t)`: the standard error of the share below, over it, is that of the quantile.
async fn check(law: impl Fn(f64, f64) -> f64, truth: f64, slope: f64) {
    const JOBS: u64 = 40_000;
    // (Σw)² / Σw² of weights that halve every half-life.
    let effective = 2.0 * f64::from(Sketch::HALF_LIFE) / 2_f64.ln();
    let bound = (3.0 * (0.95 * 0.05 / effective).sqrt() / slope).max(0.05);
    let fanout = hedged(None);
    let latency = |_, u, v| Some(Duration::from_secs_f64(UNIT * law(u, v)));
    let look = |number: u64| {
        if number.is_multiple_of(10_000) {
            let delay = fanout.live_delay(0).unwrap();
            let Estimate::Estimable(p95) = delay.estimate() else { panic!("{delay:?} after {number}") };
            let off = p95.as_secs_f64() / (UNIT * truth) - 1.0;
            println!("off by {off} after {number}, at most {bound}");
            assert!(off.abs() <= bound, "off by {off} after {number}");
        }
    };
    let copies = run(&fanout, JOBS, 1, latency, look).await;
    let share = copies as f64 / JOBS as f64;
    println!("{share} copies a job");
    assert!((0.043..=0.057).contains(&share), "{share} copies a job");
}

#[tokio::test(start_paused = true)]
async fn of_exponential_latencies_the_live_p95_stays_true_and_copies_are_a_twentieth() {
    check(|u, _| -u.ln(), 20_f64.ln(), 0.05 * 20_f64.ln()).await;
}

#[tokio::test(start_paused = true)]
async fn of_log_normal_latencies_the_live_p95_stays_true_and_copies_are_a_twentieth() {
    // z = Φ⁻¹(0.95), and its density. Box and Muller 1958.
    let (z, density) = (1.644_853_626_951_472_7_f64, 0.103_135_640_376_134_5);
    let normal = |u: f64, v: f64| (-2.0 * u.ln()).sqrt() * (TAU * v).cos();
    check(|u, v| normal(u, v).exp(), z.exp(), density).await;
}

#[tokio::test(start_paused = true)]
async fn when_a_tenth_hang_the_live_p95_is_soon_not_known_and_the_delay_within_its_cap() {
    let half_life = u64::from(Sketch::HALF_LIFE);
    let cap = Time::from_secs(1);
    let fanout = hedged(Some(cap));
    let latency = |number, u: f64, v| {
        let hangs = number >= 5 * half_life && v < 0.1;
        (!hangs).then(|| Duration::from_secs_f64(UNIT * -u.ln()))
    };
    let mut noticed = None;
    let look = |number: u64| {
        let delay = fanout.live_delay(0).unwrap();
        assert!(delay.delay().is_none_or(|delay| delay <= cap), "{delay:?}");
        if number > 5 * half_life && matches!(delay.estimate(), Estimate::NotEstimable { .. }) {
            noticed.get_or_insert(number - 5 * half_life);
        }
        let known = matches!(delay.estimate(), Estimate::Estimable(_));
        assert!(number < 7 * half_life || !known, "{delay:?} after {number}");
        assert!(number != 5 * half_life || known, "{delay:?} after {number}");
    };
    run(&fanout, 10 * half_life, 2, latency, look).await;
    let noticed = noticed.expect("it is noticed") as f64 / half_life as f64;
    println!("noticed after {noticed} half-lives");
    assert!(noticed <= 1.2, "noticed after {noticed} half-lives");
}

/// A number within (0, 1), from a counter (`SplitMix64`: Steele, Lea and Flood 2014).
fn uniform(counter: u64) -> f64 {
    let mut z = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (((z ^ z >> 31) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}
