//! Which branches come after which, and which goes first.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::check::Faults;
use super::{BranchSpec, Field, PlanSpec, WaitFor};

/// For each branch those that come after it, one list behind the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dependents {
    /// Where the list of each branch begins, and where the last one ends; empty when no branch comes after another.
    begins: Vec<usize>,
    all: Vec<u32>,
}

impl Dependents {
    /// Of `n` branches, with what each comes `after`; indexes that are none of theirs are left out.
    pub(super) fn new<'a>(n: usize, after: impl Fn(usize) -> &'a Vec<usize>) -> Dependents {
        let edges = || (0..n).flat_map(|branch| after(branch).iter().map(move |first| (*first, branch)));
        if edges().next().is_none() {
            return Dependents { begins: Vec::new(), all: Vec::new() };
        }
        // Counted two places ahead, so that filling the lists moves each beginning to where it belongs.
        let mut begins = alloc::vec![0; n + 2];
        edges().filter(|(first, _)| *first < n).for_each(|(first, _)| begins[first + 2] += 1);
        for place in 2..begins.len() {
            begins[place] += begins[place - 1];
        }
        let mut all = alloc::vec![0; begins[n + 1]];
        for (first, branch) in edges().filter(|(first, _)| *first < n) {
            all[begins[first + 1]] = branch as u32;
            begins[first + 1] += 1;
        }
        begins.truncate(n + 1);
        Dependents { begins, all }
    }

    pub(super) fn none(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn of(&self, branch: u32) -> &[u32] {
        match self.begins.get(branch as usize..) {
            Some([begin, end, ..]) => &self.all[*begin..*end],
            _ => &[],
        }
    }
}

pub(super) fn check(faults: &mut Faults, spec: &PlanSpec) {
    let n = spec.branches.len();
    // Which branch named each one last.
    let mut named_by = alloc::vec![usize::MAX; n];
    for (index, branch) in spec.branches.iter().enumerate() {
        let at = || field(spec, index);
        for first in &branch.after {
            faults.expect(*first < n, at, first, format_args!("an index below {n}"));
            let Some(before) = spec.branches.get(*first) else { continue };
            let twice = core::mem::replace(&mut named_by[*first], index) == index;
            faults.expect(!twice, at, format_args!("`{}` twice", before.name), "every branch once");
            let ok = !is_required(spec, branch) || branch.tolerates_missing || is_required(spec, before);
            let value = format_args!("`{}`, which is optional", before.name);
            faults.expect(ok, at, value, "required branches, or that it tolerates missing");
        }
    }
    for cycle in cycles(spec) {
        let expected = "no branch that comes after itself";
        faults.expect(false, || field(spec, cycle[0]), chain(spec, &cycle), expected);
    }
    if let Some(leader) = spec.leader {
        let at = || Field::Plan("leader");
        faults.expect(leader.branch < n, at, leader.branch, format_args!("an index below {n}"));
        faults.span(|| Field::Plan("head_start"), leader.head_start);
        let first = spec.branches.get(leader.branch).filter(|branch| !branch.after.is_empty());
        if let Some(branch) = first {
            let value = format_args!("`{}`, which comes after others", branch.name);
            faults.expect(false, at, value, "a branch that comes after no other");
        }
    }
}

fn field(spec: &PlanSpec, index: usize) -> Field {
    Field::Branch { index, name: spec.branches[index].name.clone(), field: "after" }
}

fn is_required(spec: &PlanSpec, branch: &BranchSpec) -> bool {
    branch.required.unwrap_or(spec.wait_for == WaitFor::All)
}

/// `a` after `b` after `a`.
fn chain(spec: &PlanSpec, cycle: &[usize]) -> String {
    let names = cycle.iter().chain(&cycle[..1]).map(|index| format!("`{}`", spec.branches[*index].name));
    names.collect::<Vec<String>>().join(" after ")
}

/// Cycles of branches, each one after the next and the last after the first; no branch is in two of them.
fn cycles(spec: &PlanSpec) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy)]
    enum Mark {
        New,
        OnTheWay,
        Done,
    }
    let branches = &spec.branches;
    let mut marks = alloc::vec![Mark::New; branches.len()];
    let mut cycles = Vec::new();
    // Branches, each after the next, and how far their lists were looked at.
    let mut way: Vec<(usize, usize)> = Vec::new();
    for start in 0..branches.len() {
        if matches!(marks[start], Mark::New) {
            marks[start] = Mark::OnTheWay;
            way.push((start, 0));
        }
        while let Some((branch, looked)) = way.last_mut() {
            let Some(first) = branches[*branch].after.get(*looked).copied() else {
                marks[*branch] = Mark::Done;
                way.pop();
                continue;
            };
            *looked += 1;
            match marks.get(first) {
                Some(Mark::New) => {
                    marks[first] = Mark::OnTheWay;
                    way.push((first, 0));
                }
                Some(Mark::OnTheWay) => {
                    let at = way.iter().rposition(|(passed, _)| *passed == first).unwrap_or(0);
                    let cycle: Vec<usize> = way.drain(at..).map(|(passed, _)| passed).collect();
                    for passed in &cycle {
                        marks[*passed] = Mark::Done;
                    }
                    cycles.push(cycle);
                }
                Some(Mark::Done) | None => {}
            }
        }
    }
    cycles
}
