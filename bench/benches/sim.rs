//! The simulator, beside what people write by hand: hedged jobs drawn by a generator, a queue over a binary heap.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fantail_bench::simulated;

/// Of one iteration.
const JOBS: u64 = 10_000;

fn jobs(c: &mut Criterion) {
    let mut group = c.benchmark_group("jobs of 5");
    group.throughput(Throughput::Elements(JOBS)).sample_size(20);
    let plain = simulated::plain(5);
    group.bench_function("plain", |b| b.iter(|| black_box(&plain).run(0..JOBS)));
    let hedged = simulated::hedged(5);
    group.bench_function("hedged", |b| b.iter(|| black_box(&hedged).run(0..JOBS)));
    group.bench_function("hedged, by rand_distr", |b| b.iter(|| simulated::naive_jobs(black_box(JOBS), 7)));
    let budgeted = simulated::budgeted(5);
    group.bench_function("hedged, through the machine", |b| b.iter(|| black_box(&budgeted).run(0..JOBS)));
    group.finish();
}

fn queues(c: &mut Criterion) {
    let mut group = c.benchmark_group("customers of M/M/10");
    group.throughput(Throughput::Elements(JOBS)).sample_size(20);
    let queue = simulated::queue(10);
    group.bench_function("simulated", |b| b.iter(|| black_box(&queue).run(0..JOBS)));
    group.bench_function("a bare heap", |b| b.iter(|| simulated::naive_queue(black_box(JOBS), 10, 7)));
    group.finish();
}

criterion_group!(sim, jobs, queues);
criterion_main!(sim);
