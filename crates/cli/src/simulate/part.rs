//! Parts of a simulation as files, `fantail.simulate-part/1`, which one machine writes and another merges.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fantail_model::sim::Summary;
use fantail_report::simulate::{Contender, Inputs, Played};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::{input, output};

const SCHEMA: &str = "fantail.simulate-part/1";

/// Jobs of every contender.
#[derive(Serialize, Deserialize)]
pub(super) struct Part {
    schema: String,
    pub(super) inputs: Inputs,
    /// Ranges of job numbers, in order, none next to another.
    pub(super) jobs: Vec<Range<u64>>,
    /// Of each contender: its summary, and that without copies.
    summaries: Vec<(Vec<u64>, Option<Vec<u64>>)>,
}

impl Part {
    pub(super) fn new(inputs: Inputs, jobs: Range<u64>, played: &[Played]) -> Part {
        let words =
            |played: &Played| (played.summary.to_words(), played.plain.as_ref().map(Summary::to_words));
        Part {
            schema: SCHEMA.to_owned(),
            inputs,
            jobs: vec![jobs],
            summaries: played.iter().map(words).collect(),
        }
    }

    pub(super) fn read(path: &Path) -> anyhow::Result<Part> {
        let name = path.display();
        let part: Part = serde_json::from_slice(&input::bytes(path)?)
            .map_err(|error| Failure::invalid(format_args!("{name}: no part of a simulation: {error}")))?;
        if part.schema != SCHEMA {
            let schema = &part.schema;
            return Err(Failure::invalid(format_args!(
                "{name}: got the schema `{schema}`, expected `{SCHEMA}`"
            )));
        }
        if part.jobs.is_empty() || part.jobs.iter().any(|jobs| jobs.start >= jobs.end) {
            return Err(Failure::invalid(format_args!("{name}: has a range without jobs, or no range")));
        }
        if !part.jobs.is_sorted_by(|a, b| a.end <= b.start) {
            return Err(Failure::invalid(format_args!("{name}: has ranges of jobs that overlap or go back")));
        }
        Ok(part)
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        output::write(path, &bytes)
    }

    /// The summaries of these contenders, which its inputs state.
    pub(super) fn played(&self, contenders: &[Contender]) -> anyhow::Result<Vec<Played>> {
        let broken = || Failure::invalid("a part has other summaries than its inputs call for");
        if contenders.len() != self.summaries.len() {
            return Err(broken());
        }
        let mut played = Vec::new();
        for (contender, (words, plain)) in contenders.iter().zip(&self.summaries) {
            let summary = Summary::from_words(&contender.simulation, words).ok_or_else(broken)?;
            let plain = match (&contender.plain, plain) {
                (Some(simulation), Some(words)) => {
                    Some(Summary::from_words(simulation, words).ok_or_else(broken)?)
                }
                (None, None) => None,
                _ => return Err(broken()),
            };
            let stated = self.count();
            for summary in std::iter::once(&summary).chain(&plain) {
                if summary.jobs() != stated {
                    let jobs = summary.jobs();
                    return Err(Failure::invalid(format_args!(
                        "its ranges hold {stated} jobs, a summary of `{}` holds {jobs}",
                        contender.shown
                    )));
                }
            }
            played.push(Played { summary, plain });
        }
        Ok(played)
    }

    /// How many jobs there are. No sum is too large, since ranges do not overlap.
    fn count(&self) -> u64 {
        self.jobs.iter().map(|jobs| jobs.end - jobs.start).sum()
    }

    /// The jobs before and between its ranges.
    pub(super) fn gaps(&self) -> Vec<Range<u64>> {
        let ends = std::iter::once(0).chain(self.jobs.iter().map(|jobs| jobs.end));
        let gaps = ends.zip(&self.jobs).map(|(end, next)| end..next.start);
        gaps.filter(|gap| !gap.is_empty()).collect()
    }
}

/// All of the parts as one; the files name them in errors.
pub(super) fn merged(files: &[PathBuf], parts: Vec<Part>) -> anyhow::Result<Part> {
    let mut parts = parts.into_iter().zip(files);
    let (mut whole, first) = parts.next().expect("at least one file is required");
    let contenders = whole.inputs.contenders()?;
    let mut played = whole.played(&contenders).with_context(|| first.display().to_string())?;
    for (part, file) in parts {
        let (file, first) = (file.display(), first.display());
        if let Some(difference) = part.inputs.difference(&whole.inputs) {
            return Err(Failure::invalid(format_args!(
                "{file}: is of another simulation than {first}: {difference}"
            )));
        }
        let overlaps = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        let twice = part.jobs.iter().find(|mine| whole.jobs.iter().any(|theirs| overlaps(mine, theirs)));
        if let Some(jobs) = twice {
            let Range { start, end } = jobs;
            return Err(Failure::invalid(format_args!(
                "{file}: some of its jobs {start}..{end} are in another file"
            )));
        }
        let more = part.played(&contenders).with_context(|| file.to_string())?;
        for (mine, theirs) in played.iter_mut().zip(more) {
            mine.summary.merge(&theirs.summary);
            if let (Some(mine), Some(theirs)) = (&mut mine.plain, &theirs.plain) {
                mine.merge(theirs);
            }
        }
        whole.jobs.extend(part.jobs);
    }
    whole.jobs.sort_by_key(|jobs| jobs.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for jobs in std::mem::take(&mut whole.jobs) {
        match joined.last_mut() {
            Some(last) if last.end == jobs.start => last.end = jobs.end,
            _ => joined.push(jobs),
        }
    }
    let first = joined[0].clone();
    let mut part = Part::new(whole.inputs, first, &played);
    part.jobs = joined;
    Ok(part)
}
