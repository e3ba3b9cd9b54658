//! The figures that have a goal, each beside what a peer takes for it.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fantail_bench::peers::Peer;
use fantail_bench::plans;
use fantail_model::Tables;
use fantail_model::tune::Measure;

fn quantiles(c: &mut Criterion) {
    let (peer, p99) = (Peer::new(0.6), plans::above(0.01));
    let mut group = c.benchmark_group("p99 of all 8");
    let job = plans::solved(&plans::all(8));
    group.bench_function("model", |b| b.iter(|| job.quantile(black_box(p99)).value));
    group.bench_function("statrs", |b| b.iter(|| peer.quantile_of_all(black_box(8), black_box(0.99))));
    group.finish();

    let mut group = c.benchmark_group("p99 of 8 hedged");
    let job = plans::solved(&plans::hedged(8));
    let p95 = plans::call().quantile(plans::above(0.05));
    group.bench_function("model", |b| b.iter(|| job.quantile(black_box(p99)).value));
    group.bench_function("statrs and bisection", |b| {
        b.iter(|| peer.quantile_of_hedged(black_box(8), black_box(0.99), p95));
    });
    group.finish();

    let mut group = c.benchmark_group("p99 of 64 different");
    let share = |i: u64| i as f64 / 64.0;
    let branches: Vec<_> = (0..64).map(|i| (0.5 + share(i), 0.4 + 0.3 * share(i))).collect();
    for (name, k) in [("model, all", 64), ("model, first 60", 60)] {
        let job = plans::solved(&plans::different(k, 64));
        group.bench_function(name, |b| b.iter(|| job.quantile(black_box(p99)).value));
    }
    group.bench_function("statrs and bisection, all", |b| {
        b.iter(|| Peer::quantile_of_different(black_box(&branches), black_box(0.99)));
    });
    group.finish();
}

fn means(c: &mut Criterion) {
    let peer = Peer::new(0.6);
    let mut group = c.benchmark_group("mean of all 100");
    let job = plans::solved(&plans::all(100));
    group.bench_function("model", |b| b.iter(|| black_box(&job).mean().map(|mean| mean.value)));
    group.bench_function("statrs and a grid of 2,001", |b| b.iter(|| peer.mean_of_all(black_box(100))));
    group.finish();
}

fn sweeps(c: &mut Criterion) {
    let mut group = c.benchmark_group("1,000 points of 3 plans");
    group.sample_size(10);
    let plans = plans::sweep(1_000);
    group.bench_function("three quantiles", |b| {
        b.iter(|| black_box(&plans).iter().map(plans::quantiles).sum::<f64>());
    });
    group.bench_function("all that predict prints", |b| {
        b.iter(|| {
            let mut tables = Tables::default();
            black_box(&plans).iter().map(|plan| plans::predicted(plan, &mut tables)).sum::<f64>()
        });
    });
    group.finish();
}

fn tunings(c: &mut Criterion) {
    let mut group = c.benchmark_group("tune five that differ");
    group.sample_size(10);
    for (name, measure) in [("p99", Measure::Quantile(plans::above(0.01))), ("mean", Measure::Mean)] {
        let tuning = plans::tuning(measure, 0.8);
        group.bench_function(name, |b| b.iter(|| black_box(&tuning).run().map(|tuned| tuned.evaluations)));
    }
    group.finish();
}

criterion_group!(goals, quantiles, means, sweeps, tunings);
criterion_main!(goals);
