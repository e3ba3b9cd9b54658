//! Cost against the number of branches: alike, and different.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fantail_bench::plans;

fn alike(c: &mut Criterion) {
    let p99 = plans::above(0.01);
    let counts = [1_u64, 10, 100, 1_000, 10_000, 1_000_000, 1_000_000_000];
    let mut group = c.benchmark_group("p99 of n alike");
    for n in counts {
        let all = plans::solved(&plans::all(n));
        group.bench_function(BenchmarkId::new("all", n), |b| b.iter(|| all.quantile(black_box(p99)).value));
        let most = plans::solved(&plans::first((9 * n).div_ceil(10), n));
        group.bench_function(BenchmarkId::new("first 90 %", n), |b| {
            b.iter(|| most.quantile(black_box(p99)).value);
        });
    }
    group.finish();
    let mut group = c.benchmark_group("mean of n alike");
    for n in counts {
        let all = plans::solved(&plans::all(n));
        group.bench_function(BenchmarkId::new("all", n), |b| b.iter(|| black_box(&all).mean()));
        let most = plans::solved(&plans::first((9 * n).div_ceil(10), n));
        group.bench_function(BenchmarkId::new("first 90 %", n), |b| b.iter(|| black_box(&most).mean()));
    }
    group.finish();
}

fn different(c: &mut Criterion) {
    let p99 = plans::above(0.01);
    let mut group = c.benchmark_group("p99 of n different");
    group.sample_size(10);
    for n in [2_u64, 10, 100, 1_000, 10_000] {
        for (name, k) in [("all", n), ("first 90 %", (9 * n).div_ceil(10)), ("first half", n / 2)] {
            let job = plans::solved(&plans::different(k, n));
            group
                .bench_function(BenchmarkId::new(name, n), |b| b.iter(|| job.quantile(black_box(p99)).value));
        }
    }
    group.finish();
    let mut group = c.benchmark_group("mean of n different");
    group.sample_size(10);
    for n in [2_u64, 10, 100, 1_000] {
        for (name, k) in [("all", n), ("first 90 %", (9 * n).div_ceil(10))] {
            let job = plans::solved(&plans::different(k, n));
            group.bench_function(BenchmarkId::new(name, n), |b| b.iter(|| black_box(&job).mean()));
        }
    }
    group.finish();
}

criterion_group!(cost, alike, different);
criterion_main!(cost);
