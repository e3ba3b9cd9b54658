//! Keyed random draws: a draw is a function of the seed and of what it is for.
//!
//! So nothing that a simulation does or leaves out shifts a draw: not the number of branches, not the plan, not the order
//! of events, not the split of the jobs among threads. Two plans under one seed meet the same latencies.
//!
//! Draws are turned into times by inversion: one uniform number is one latency, whatever the law, and a longer draw is a
//! longer latency under every law. Rejection (the ziggurat) would be faster for some laws; its retries have their place
//! in the counter.

/// What a draw is for; draws for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// How long an attempt takes.
    Latency = 0,
    /// How long after the one before a job arrives.
    Arrival = 1,
}

/// The draws of one seed.
///
/// Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
/// The key is the seed. The counter is, from its first word on, the job's low and high half, the branch, and in the last
/// word the attempt (bits 24 to 31), the purpose (16 to 23) and the retry (0 to 15, always 0 under inversion).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draws {
    key: [u32; 2],
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws { key: halves(seed) }
    }

    /// A unit exponential, the hazard at which an attempt answers: precise for long latencies, up to `53 ln 2`.
    pub(crate) fn exponential(self, job: u64, branch: u32, attempt: u8, purpose: Purpose) -> f64 {
        -libm::log(self.uniform(job, branch, attempt, purpose))
    }

    /// A uniform number between 0 and 1, neither of them: an odd multiple of `2^-53`.
    fn uniform(self, job: u64, branch: u32, attempt: u8, purpose: Purpose) -> f64 {
        let [job_low, job_high] = halves(job);
        let rest = u32::from(attempt) << 24 | (purpose as u32) << 16;
        let [high, low, ..] = philox([job_low, job_high, branch, rest], self.key);
        let bits = u64::from(high) << 32 | u64::from(low);
        ((bits >> 11) | 1) as f64 / (1_u64 << 53) as f64
    }
}

/// The low and the high half.
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const ROUNDS: usize = 10;
    for _ in 0..ROUNDS {
        let [low_0, high_0] = halves(u64::from(counter[0]) * 0xD251_1F53);
        let [low_1, high_1] = halves(u64::from(counter[2]) * 0xCD9E_8D57);
        counter = [high_1 ^ counter[1] ^ key[0], low_1, high_0 ^ counter[3] ^ key[1], low_0];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// `tests/kat_vectors` of Random123 1.14.0, rows `philox4x32 10`.
    #[test]
    fn philox_gives_the_published_answers() {
        let check = |counter, key, answer| assert_eq!(philox(counter, key), answer);
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
            (7, 1, 2, 3, Purpose::Latency),
            (7 | 1 << 32, 1, 2, 3, Purpose::Latency),
            (8, 1, 2, 3, Purpose::Latency),
            (7, 1 | 1 << 32, 2, 3, Purpose::Latency),
            (7, 2, 2, 3, Purpose::Latency),
            (7, 1, 3, 3, Purpose::Latency),
            (7, 1, 2, 4, Purpose::Latency),
            (7, 1, 2, 3, Purpose::Arrival),
        ];
        let draw = |(seed, job, branch, attempt, purpose): (u64, u64, u32, u8, Purpose)| {
            Draws::new(seed).uniform(job, branch, attempt, purpose).to_bits()
        };
        let drawn: BTreeSet<u64> = places.into_iter().map(draw).collect();
        assert_eq!(drawn.len(), places.len());
    }

    #[test]
    fn uniform_draws_lie_evenly_between_the_ends() {
        const CELLS: usize = 64;
        const JOBS: u64 = 64_000;
        let mut cells = [0_u32; CELLS];
        for job in 0..JOBS {
            let uniform = Draws::new(1).uniform(job, 0, 0, Purpose::Latency);
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
