//! What pays for copies, and what for failovers.

use fantail_core::job::Role;
use fantail_core::{Budget, Plan};

/// The budgets of a plan, with nothing in them at first.
pub(super) struct Budgets {
    hedges: Budget,
    failovers: Budget,
}

impl Budgets {
    pub(super) fn new(plan: &Plan) -> Budgets {
        Budgets { hedges: Budget::new(plan.hedge_budget()), failovers: Budget::new(plan.failover_budget()) }
    }

    /// What pays for attempts of this role.
    pub(super) fn of(&mut self, role: Role) -> &mut Budget {
        match role {
            Role::Failover => &mut self.failovers,
            Role::Primary | Role::Copy => &mut self.hedges,
        }
    }

    /// A primary answered.
    pub(super) fn earn(&mut self) {
        self.hedges.earn();
        self.failovers.earn();
    }
}
