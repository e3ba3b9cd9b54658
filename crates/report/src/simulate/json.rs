//! `--format json`: `fantail.simulate/1`, every number in full precision, times in seconds.
//!
//! Nothing in it depends on the clock, the number of threads or the split of the jobs.

use std::collections::BTreeMap;

use fantail_model::sim::Interval;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::figures::{Figure, Id, Report, Row};
use crate::json::{self, Head, Ordered, finite};

pub(super) fn render(report: &Report) -> Vec<u8> {
    let document = Document {
        head: Head { schema: "fantail.simulate/1", n: report.n, latency: report.latency.as_deref() },
        seed: report.seed,
        jobs: &report.ranges,
        confidence: 0.95,
        plans: report.rows.iter().map(Plan).collect(),
    };
    json::render(&document)
}

#[derive(Serialize)]
struct Document<'r> {
    #[serde(flatten)]
    head: Head<'r>,
    seed: u64,
    /// Of each range the first job and the one after the last.
    jobs: &'r [[u64; 2]],
    confidence: f64,
    plans: Vec<Plan<'r>>,
}

/// A plan or a client: its figures by name, then their intervals.
struct Plan<'r>(&'r Row);

impl Serialize for Plan<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &row.name)?;
        if let Some(file) = &row.file {
            map.serialize_entry("file", file)?;
        }
        map.serialize_entry("kind", if row.is_client { "client" } else { "plan" })?;
        map.serialize_entry("method", "simulated")?;
        map.serialize_entry("jobs", &row.jobs)?;
        let blocks = row.blocks.as_ref();
        map.serialize_entry("blocks", &blocks.map(|blocks| blocks.count))?;
        map.serialize_entry("assumes", &assumes(row))?;
        map.serialize_entry("warm_up", &blocks.map(|blocks| blocks.warm_up))?;
        map.serialize_entry("remembers", &blocks.and_then(|blocks| blocks.remembers))?;
        map.serialize_entry("round", &blocks.and_then(|blocks| blocks.round))?;
        map.serialize_entry("piles_up", &blocks.and_then(|blocks| blocks.piles_up))?;
        entries(row, &mut map, &|figure| finite(figure.value.ok()?))?;
        map.serialize_entry("intervals", &Intervals(row))?;
        map.serialize_entry("why_null", &why_null(row))?;
        map.end()
    }
}

/// What its jobs are played by that is not so.
fn assumes(row: &Row) -> Vec<&'static str> {
    let all = [
        (row.beyond_time, "calls that take more than 584 years never end"),
        (row.is_coarse, "times are whole nanoseconds"),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
}

struct Intervals<'r>(&'r Row);

impl Serialize for Intervals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let ends = |figure: &Figure| {
            let Interval { low, high } = figure.interval.filter(|_| figure.value.is_ok())?;
            Some([finite(low), finite(high)])
        };
        entries(self.0, &mut map, &ends)?;
        map.end()
    }
}

/// What `read` says of the figures, those of quantiles and servers in objects of their own.
fn entries<M: SerializeMap, T: Serialize>(
    row: &Row,
    map: &mut M,
    read: &dyn Fn(&Figure) -> Option<T>,
) -> Result<(), M::Error> {
    let group = |of: &dyn Fn(&Id) -> Option<String>| {
        Ordered(row.figures.iter().filter_map(|figure| Some((of(&figure.id)?, read(figure)))).collect())
    };
    let quantiles = |id: &Id| if let Id::Quantile(label) = id { Some(label.clone()) } else { None };
    let servers = |id: &Id| if let Id::Utilisation(name) = id { Some(name.clone()) } else { None };
    map.serialize_entry("quantiles_s", &group(&quantiles))?;
    for figure in &row.figures {
        if let Id::Named(name) = figure.id {
            map.serialize_entry(name, &read(figure))?;
        }
    }
    map.serialize_entry("utilisation", &group(&servers))
}

/// Every figure that is `null`, and why it is.
fn why_null(row: &Row) -> BTreeMap<String, &'static str> {
    let path = |id: &Id| match id {
        Id::Quantile(label) => format!("quantiles_s.{label}"),
        Id::Named(name) => (*name).to_owned(),
        Id::Utilisation(server) => format!("utilisation.{server}"),
    };
    let mut whys = BTreeMap::new();
    for figure in &row.figures {
        match figure.value {
            Ok(value) if value.is_finite() => {}
            Ok(value) if value.is_nan() => {
                whys.insert(path(&figure.id), "nothing to count");
            }
            Ok(_) => {
                whys.insert(path(&figure.id), "infinite");
            }
            Err(why) => {
                whys.insert(path(&figure.id), why);
            }
        }
    }
    whys
}
