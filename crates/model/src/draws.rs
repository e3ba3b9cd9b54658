//! Keyed random draws: a draw is a function of the seed and of what it is for.
//!
//! So nothing that a simulation does or leaves out shifts a draw: not the number of branches, not the plan, not the order
//! of events, not the split of the jobs among threads. Two plans under one seed meet the same latencies.
//!
//! Draws are turned into times by inversion: one uniform number is one latency, and a longer draw is a longer latency under
//! every law. Of a mixture a second uniform number picks the part, and the part is inverted.
//!
//! One block of the generator makes two draws, for an even branch and the odd one after it.

use crate::special::normal_quantile;

/// What a draw is for; draws for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// How long an attempt takes.
    Latency = 0,
    /// How long after the one before a job arrives.
    Arrival = 1,
    /// What all attempts of a job have in common.
    Job = 2,
    /// What all attempts of a branch have in common.
    Branch = 3,
    /// How large the job is.
    Size = 4,
    /// Whether an attempt ends in an error.
    Fate = 5,
    /// Which replica serves an attempt.
    Replica = 6,
    /// How long a client thinks before it starts the job.
    Think = 7,
    /// What the job is a sample of.
    Sample = 8,
    /// Which part of a mixture an attempt takes the time of.
    Part = 9,
}

/// What a draw is about: a job, or a branch of it, or an attempt, or one try of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) job: u64,
    pub(crate) branch: u32,
    pub(crate) attempt: u8,
    pub(crate) retry: u16,
}

impl Subject {
    pub(crate) fn job(job: u64) -> Subject {
        Subject { job, branch: 0, attempt: 0, retry: 0 }
    }
}

/// The draws of one seed.
///
/// Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
/// The key is the seed. The counter is, from its first word on, the job's low and high half, half the branch's number, and
/// in the last word the attempt (bits 24 to 31), the purpose (16 to 23) and the retry (0 to 15). The first two words that
/// come of it are for the even branch, the others for the odd one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draws {
    key: [u32; 2],
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws { key: halves(seed) }
    }

    /// A unit exponential, the hazard at which an attempt answers: precise for long latencies, up to `53 ln 2`.
    pub(crate) fn exponential(self, subject: Subject, purpose: Purpose) -> f64 {
        -libm::log(self.uniform(subject, purpose))
    }

    /// A standard normal that grows with [`Draws::exponential`].
    pub(crate) fn normal(self, subject: Subject, purpose: Purpose) -> f64 {
        normal_quantile(self.exponential(subject, purpose))
    }

    /// A whole number below `below`, which is above zero, each equally often to within `2^-32`.
    pub(crate) fn below(self, below: u32, subject: Subject, purpose: Purpose) -> u32 {
        ((u64::from(self.word(subject, purpose)) * u64::from(below)) >> 32) as u32
    }

    /// A word, each equally often.
    pub(crate) fn word(self, subject: Subject, purpose: Purpose) -> u32 {
        let [word, _] = self.words(subject, purpose);
        word as u32
    }

    /// A uniform number between 0 and 1, neither of them: an odd multiple of `2^-53`.
    pub(crate) fn uniform(self, subject: Subject, purpose: Purpose) -> f64 {
        let [high, low] = self.words(subject, purpose);
        unit(high, low)
    }

    /// [`Draws::uniform`] of the jobs from `subject.job` on, for the even branch of `subject` and the odd one after it.
    pub(crate) fn uniforms<const JOBS: usize>(
        self,
        subject: Subject,
        purpose: Purpose,
        into: [&mut [f64; JOBS]; 2],
    ) {
        let counters: [_; JOBS] = core::array::from_fn(|i| {
            counter(Subject { job: subject.job.wrapping_add(i as u64), ..subject }, purpose)
        });
        let [a, b, c, d] = philox(across(&counters), self.key);
        for (uniforms, (high, low)) in into.into_iter().zip([(a, b), (c, d)]) {
            for i in 0..JOBS {
                uniforms[i] = unit(high[i], low[i]);
            }
        }
    }

    fn words(self, subject: Subject, purpose: Purpose) -> [u64; 2] {
        let [[a], [b], [c], [d]] = philox(across(&[counter(subject, purpose)]), self.key);
        if subject.branch.is_multiple_of(2) { [a, b] } else { [c, d] }
    }
}

fn counter(subject: Subject, purpose: Purpose) -> [u32; 4] {
    let Subject { job, branch, attempt, retry } = subject;
    let [job_low, job_high] = halves(job);
    [job_low, job_high, branch / 2, u32::from(attempt) << 24 | (purpose as u32) << 16 | u32::from(retry)]
}

/// From the upper and the lower half of a word.
fn unit(high: u64, low: u64) -> f64 {
    const ONE: u64 = 1023 << 52;
    // A number from 1 up to 2 with 52 digits, which is exact in what follows.
    let digits = f64::from_bits(ONE | (high << 32 | low) >> 12);
    digits - 1.0 + 0.5 * f64::EPSILON
}

/// The low and the high half.
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// The words of each block beside those of the others.
fn across<const BLOCKS: usize>(blocks: &[[u32; 4]; BLOCKS]) -> [[u64; BLOCKS]; 4] {
    core::array::from_fn(|word| core::array::from_fn(|block| blocks[block][word].into()))
}

/// Blocks of the generator side by side, in words of 32 bits that have room for their products: a compiler makes vectors
/// of them.
fn philox<const BLOCKS: usize>(mut counters: [[u64; BLOCKS]; 4], key: [u32; 2]) -> [[u64; BLOCKS]; 4] {
    const ROUNDS: u32 = 10;
    const LOW: u64 = u32::MAX as u64;
    let [a, b, c, d] = &mut counters;
    for i in 0..BLOCKS {
        let mut words = [a[i], b[i], c[i], d[i]];
        for round in 0..ROUNDS {
            let even = key[0].wrapping_add(round.wrapping_mul(0x9E37_79B9));
            let odd = key[1].wrapping_add(round.wrapping_mul(0xBB67_AE85));
            let (first, second) = ((words[0] & LOW) * 0xD251_1F53, (words[2] & LOW) * 0xCD9E_8D57);
            words = [
                second >> 32 ^ words[1] ^ u64::from(even),
                second & LOW,
                first >> 32 ^ words[3] ^ u64::from(odd),
                first & LOW,
            ];
        }
        [a[i], b[i], c[i], d[i]] = words;
    }
    counters
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// `tests/kat_vectors` of Random123 1.14.0, rows `philox4x32 10`.
    #[test]
    fn philox_gives_the_published_answers() {
        let check = |counter: [u32; 4], key, answer: [u32; 4]| {
            let found = philox(across(&[counter; 3]), key);
            assert_eq!(found, answer.map(|word| [u64::from(word); 3]));
        };
        check([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        check([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        check(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        );
    }

    #[test]
    fn every_part_of_the_key_and_of_the_counter_makes_another_draw() {
        let places = [
            (7, 1, 2, 3, 4, Purpose::Latency),
            (7 | 1 << 32, 1, 2, 3, 4, Purpose::Latency),
            (8, 1, 2, 3, 4, Purpose::Latency),
            (7, 1 | 1 << 32, 2, 3, 4, Purpose::Latency),
            (7, 2, 2, 3, 4, Purpose::Latency),
            (7, 1, 3, 3, 4, Purpose::Latency),
            (7, 1, 2, 4, 4, Purpose::Latency),
            (7, 1, 2, 3, 5, Purpose::Latency),
            (7, 1, 2, 3, 4, Purpose::Arrival),
        ];
        let draw = |(seed, job, branch, attempt, retry, purpose): (u64, u64, u32, u8, u16, Purpose)| {
            let subject = Subject { job, branch, attempt, retry };
            Draws::new(seed).uniform(subject, purpose).to_bits()
        };
        let drawn: BTreeSet<u64> = places.into_iter().map(draw).collect();
        assert_eq!(drawn.len(), places.len());
    }

    #[test]
    fn many_draws_at_once_are_those_of_one_at_a_time() {
        let (draws, job) = (Draws::new(7), (1 << 32) - 3);
        let (mut even, mut odd) = ([0.0; 8], [0.0; 8]);
        let subject = Subject { job, branch: 6, attempt: 2, retry: 1 };
        draws.uniforms(subject, Purpose::Part, [&mut even, &mut odd]);
        for (i, drawn) in (job..).zip(even.into_iter().zip(odd)) {
            let one = |branch| draws.uniform(Subject { job: i, branch, ..subject }, Purpose::Part);
            assert_eq!(drawn, (one(6), one(7)));
        }
    }

    #[test]
    fn uniform_draws_lie_evenly_between_the_ends() {
        const CELLS: usize = 64;
        const JOBS: u64 = 64_000;
        let mut cells = [0_u32; CELLS];
        for job in 0..JOBS {
            let uniform = Draws::new(1).uniform(Subject::job(job), Purpose::Latency);
            assert!(uniform > 0.0 && uniform < 1.0);
            cells[(uniform * CELLS as f64) as usize] += 1;
        }
        let expected = JOBS as f64 / CELLS as f64;
        let off = |n: &u32| f64::from(*n) - expected;
        let chi_square: f64 = cells.iter().map(|n| off(n) * off(n) / expected).sum();
        // 63 degrees of freedom: with a chance of 1e-6 a fair generator is outside.
        assert!((22.0..140.0).contains(&chi_square), "{chi_square}");
    }
}
