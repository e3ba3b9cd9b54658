//! Draws that a seed fixes.

/// A stream of draws. Its n-th draw depends on its seed, its name and n alone.
///
/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): enough for a
/// demo, and ten lines. Simulations have draws of their own, which do not depend on the order of events either.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    state: u64,
}

impl Draws {
    pub(super) fn new(seed: u64, name: &str) -> Draws {
        // FNV-1a: streams of different names start far apart.
        let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Draws { state: mix(seed ^ mix(hash)) }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// A number between 0 and 1, neither of them.
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) | 1) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `n`, which is small, so that the bias of the remainder is too.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of a list.
    pub(super) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_fixed_by_its_seed_and_name() {
        let first = |seed, name: &str| Draws::new(seed, name).next();
        assert_eq!(first(1, "type"), first(1, "type"));
        assert_ne!(first(1, "type"), first(2, "type"));
        assert_ne!(first(1, "type"), first(1, "dates"));
    }

    #[test]
    fn uniform_draws_fill_the_interval_evenly() {
        let mut draws = Draws::new(7, "x");
        let mut counts = [0_u32; 10];
        (0..10_000).for_each(|_| counts[(draws.uniform() * 10.0) as usize] += 1);
        // Five standard deviations of a binomial count.
        assert!(counts.iter().all(|count| count.abs_diff(1_000) < 150), "{counts:?}");
    }
}
