//! Which branches the names in `after` and `leader` stand for.

use fantail_core::{BranchSpec, Leader};

use super::branch::Group;
use super::plan::PlanDraft;
use super::reader::{At, Reader};
use crate::problem::{did_you_mean, quote};

/// What the names stand for.
pub(super) struct Found {
    pub(super) leader: Option<Leader>,
    /// Whether every name is that of a branch.
    pub(super) all: bool,
}

/// Gives every branch what it comes after. Names that no branch has are noted.
pub(super) fn resolve(
    reader: &mut Reader<'_>,
    draft: &PlanDraft<'_>,
    groups: &[Group<'_>],
    group_of: &[usize],
    specs: &mut [BranchSpec],
) -> Found {
    let mut all = true;
    let names = Names { groups, group_of };
    let mut find = |reader: &mut Reader<'_>, specs: &[BranchSpec], name: &At<&str>, key: &str| {
        let found = names.find(specs, name.value);
        if found.is_empty() {
            all = false;
            let near = did_you_mean(name.value, specs.iter().map(|spec| spec.name.as_str()));
            let message = format!("`{key}`: no branch is named {}{near}", quote(name.value));
            reader.fault(name.span.clone(), message);
        }
        found
    };
    for (index, group) in groups.iter().enumerate() {
        let Some(after) = &group.keys.after else { continue };
        let mut first = Vec::new();
        for name in &after.value {
            first.extend(find(reader, specs, name, "after"));
        }
        for (spec, _) in specs.iter_mut().zip(group_of).filter(|(_, group)| **group == index) {
            spec.after.clone_from(&first);
        }
    }
    let leader = draft.leader.as_ref().and_then(|leader| {
        let branch = *find(reader, specs, &leader.branch, "leader").first()?;
        if specs[branch].name != leader.branch.value {
            let message = format!("`leader`: {} is many branches; expected one", quote(leader.branch.value));
            reader.fault(leader.branch.span.clone(), message);
        }
        Some(Leader { branch, head_start: leader.head_start.value })
    });
    Found { leader, all }
}

struct Names<'d, 'a> {
    groups: &'d [Group<'a>],
    /// The group of each branch.
    group_of: &'d [usize],
}

impl Names<'_, '_> {
    /// The branches that a name stands for: one, or all of `each` by its `name` as it is written.
    fn find(&self, specs: &[BranchSpec], name: &str) -> Vec<usize> {
        let of_each = |branch: &usize| self.groups[self.group_of[*branch]].names.label() == name;
        let named = |branch: &usize| specs[*branch].name == name;
        (0..specs.len()).filter(|branch| named(branch) || of_each(branch)).collect()
    }
}
