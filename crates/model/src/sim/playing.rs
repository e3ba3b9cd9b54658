//! A run that is played piece by piece.

use core::ops::Range;

use super::world::World;
use super::{SimError, Simulation, Summary};

/// Jobs of a range that are being played, for whoever may not be kept from other things for long: a page between two frames.
///
/// ```
/// use fantail_core::{BranchSpec, Plan, PlanSpec, Time};
/// use fantail_model::Law;
/// use fantail_model::sim::{Arrivals, Scenario, Server, Simulation};
///
/// let plan = Plan::new(PlanSpec::new("queue", vec![BranchSpec::new("call")]))?;
/// let scenario = Scenario {
///     arrivals: Arrivals::Every(Time::from_secs(2)),
///     servers: vec![Server { slots: Some(1), ..Server::new("pool") }],
///     ..Scenario::default()
/// };
/// let simulation = Simulation::new(plan.into(), vec![Law::exponential(1.0)?], scenario, 7)?;
///
/// let mut playing = simulation.begin(0..1_000);
/// while !playing.play(50)? {
///     // Whatever else there is to do.
/// }
/// assert_eq!(playing.finish(), simulation.run(0..1_000)?);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Playing {
    world: World,
    /// Jobs that don't interact and are not played yet.
    alone: Range<u64>,
    /// Whether others arrive in one world.
    together: bool,
}

impl Playing {
    pub(super) fn new(simulation: Simulation, jobs: Range<u64>) -> Playing {
        let together = simulation.jobs_interact();
        let mut world = World::new(simulation);
        if together {
            world.begin(jobs.clone());
        }
        Playing { world, alone: if together { 0..0 } else { jobs }, together }
    }

    /// Plays so many jobs more, or, where jobs [interact](Simulation::jobs_interact), so many instants at which something
    /// happens, a handful of which are a job; whether all jobs are over then.
    ///
    /// # Errors
    /// [`SimError::TooLong`] when the jobs take longer than [`Time`](fantail_core::Time) counts.
    pub fn play(&mut self, jobs: u64) -> Result<bool, SimError> {
        if self.together {
            return self.world.advance(jobs);
        }
        let end = self.alone.start.saturating_add(jobs).min(self.alone.end);
        self.world.play(self.alone.start..end)?;
        self.alone.start = end;
        Ok(self.alone.is_empty())
    }

    /// What came of the jobs that are over.
    pub fn finish(self) -> Summary {
        self.world.finished()
    }
}
