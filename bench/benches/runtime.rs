//! Processor time of a fan-out on one thread, beside what people write by hand.
//!
//! Criterion shows the time of a job, and as *elements* its branches.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use fantail_bench::clock::ThreadTime;
use fantail_bench::fanouts::{self, ByHand, NARROW, WIDE, Work};
use fantail_core::{End, Sketch, Time};
use tokio::runtime::{Builder, Runtime};

/// Runs a fan-out again and again in one task.
macro_rules! measure {
    ($group:expr, $runtime:expr, $name:expr, $job:expr) => {
        $group.bench_function($name, |b| {
            b.iter_custom(|iterations| {
                $runtime.block_on(async {
                    let start = ThreadTime::now();
                    for _ in 0..iterations {
                        black_box($job.await);
                    }
                    ThreadTime::since(start)
                })
            });
        });
    };
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
}

fn fan_outs(c: &mut Criterion<ThreadTime>) {
    for work in Work::ALL {
        for k in [5, 100, 1_000, 10_000, 100_000] {
            let mut group = c.benchmark_group(format!("{work:?}, {k} branches"));
            group.throughput(Throughput::Elements(k)).sample_size(10);
            group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
            peers(&mut group, work, k);
            let runtime = runtime();
            let (bare, guarded) = (fanouts::bare(k), fanouts::guarded(k, WIDE));
            measure!(group, runtime, "fantail, no policy", fanouts::by_fantail(&bare, work));
            measure!(group, runtime, "fantail", fanouts::by_fantail(&guarded, work));
            group.finish();
        }
    }
}

fn peers(group: &mut BenchmarkGroup<'_, ThreadTime>, work: Work, k: u64) {
    let runtime = runtime();
    measure!(group, runtime, "join_all", fanouts::by_join_all(work, k));
    measure!(group, runtime, "FuturesUnordered", fanouts::by_futures_unordered(work, k));
    measure!(group, runtime, "JoinSet", fanouts::by_join_set(work, k));
    let mut tower = runtime.block_on(async { fanouts::tower_service(work) });
    measure!(group, runtime, "tower", fanouts::by_tower(&mut tower, k));
    // What is ready costs the square of k beyond tokio's budget for one poll: minutes for the most branches.
    if k <= 10_000 {
        let (gate, by_hand) = (fanouts::semaphore(WIDE), ByHand::new(WIDE));
        let mut shared = runtime.block_on(async { fanouts::tower_shared(work) });
        measure!(group, runtime, "tower, shared through a buffer", fanouts::by_tower(&mut shared, k));
        measure!(group, runtime, "semaphore, timeout", fanouts::by_semaphore(&gate, work, k));
        measure!(group, runtime, "governor, semaphore, timeout, hedge", by_hand.job(work, k));
    }
}

/// Where a job's branches wait for each other: a gate of ten. Tower's service is not among them, since whoever waits for it
/// to be ready does not poll the calls that it waits for.
fn narrow(c: &mut Criterion<ThreadTime>) {
    for (work, k) in [(Work::Ready, 100), (Work::Yields, 100), (Work::Yields, 1_000)] {
        let mut group = c.benchmark_group(format!("{work:?}, {k} branches, a gate of {NARROW}"));
        group.throughput(Throughput::Elements(k)).sample_size(10);
        let runtime = runtime();
        let (gate, by_hand) = (fanouts::semaphore(NARROW), ByHand::new(NARROW));
        measure!(group, runtime, "semaphore, timeout", fanouts::by_semaphore(&gate, work, k));
        measure!(group, runtime, "governor, semaphore, timeout, hedge", by_hand.job(work, k));
        let guarded = fanouts::guarded(k, NARROW);
        measure!(group, runtime, "fantail", fanouts::by_fantail(&guarded, work));
        group.finish();
    }
}

/// What a primary costs in the sketch: to be counted as one that runs, and then as one that answered.
fn sketch(c: &mut Criterion<ThreadTime>) {
    let mut sketch = Sketch::new(Sketch::HALF_LIFE).expect("the default half-life is one");
    let mut now = Time::ZERO;
    let mut measure = |name, ends: bool| {
        c.bench_function(name, |b| {
            b.iter_custom(|iterations| {
                let start = ThreadTime::now();
                for i in 0..iterations {
                    now = now.saturating_add(Time::from_micros(100));
                    let primary = sketch.start(now);
                    if ends {
                        // Of 1 to 100 ms.
                        let latency = Time::from_micros(1_000 + i * 7_919 % 99_000);
                        sketch.record(primary, now.saturating_add(latency), End::Answered);
                    }
                }
                ThreadTime::since(start)
            });
        });
    };
    measure("sketch: a start and its record", true);
    measure("sketch: a start", false);
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(ThreadTime);
    targets = sketch, narrow, fan_outs
}
criterion_main!(benches);
