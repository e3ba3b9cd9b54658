//! Randomness from the system: ids of traces.

/// `N` random bytes.
///
/// # Panics
/// When the system has no randomness, in which case no id is safe.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes
}
