//! Names of jobs, and what tells an upstream that two requests are one.

use std::fmt;
use std::str::FromStr;

/// Names a job across processes. Text: 32 hexadecimal digits.
///
/// By default a job gets the next of a row that starts at random for each [`Fanout`](crate::Fanout): unique, but whoever
/// knows one can guess the next. Where the plan has backfill, whose documents are read by their job's id, it is random.
///
/// ```
/// use fantail::JobId;
///
/// let job = JobId::from(0xb1d);
/// assert_eq!(job.to_string(), "00000000000000000000000000000b1d");
/// assert_eq!(job.to_string().parse(), Ok(job));
/// assert_eq!(job.key(3).to_string(), "00000000000000000000000000000b1d-3");
/// assert_ne!(JobId::random(), JobId::random());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(u128);

impl JobId {
    /// One that nobody can guess.
    ///
    /// # Panics
    /// When the system has no randomness.
    pub fn random() -> JobId {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has randomness");
        JobId(u128::from_le_bytes(bytes))
    }

    /// The key of a branch of this job.
    pub fn key(self, branch: u32) -> IdempotencyKey {
        IdempotencyKey { job: self, branch }
    }

    /// A word that this id alone decides, evenly, and ids in a row as if by chance (splitmix64: Steele, Lea & Flood, "Fast
    /// splittable pseudorandom number generators", OOPSLA 2014).
    pub(crate) fn word(self) -> u32 {
        let mut bits = (self.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits >> 32) as u32
    }

    /// The one that comes `n` later in the row.
    pub(crate) fn after(self, n: u64) -> JobId {
        JobId(self.0.wrapping_add(u128::from(n)))
    }
}

impl From<u128> for JobId {
    fn from(id: u128) -> JobId {
        JobId(id)
    }
}

impl From<JobId> for u128 {
    fn from(id: JobId) -> u128 {
        id.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for JobId {
    type Err = InvalidJobId;

    fn from_str(text: &str) -> Result<JobId, InvalidJobId> {
        let hex = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let id = hex.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        id.map(JobId).ok_or_else(|| InvalidJobId(text.to_owned()))
    }
}

/// A text that names no job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidJobId(String);

impl fmt::Display for InvalidJobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no job id: that is 32 digits from 0 to f", self.0)
    }
}

impl std::error::Error for InvalidJobId {}

/// What all attempts for one branch of one job have in common. Its text is fit for a header `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    job: JobId,
    branch: u32,
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.job, self.branch)
    }
}
