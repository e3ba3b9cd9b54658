//! The admin port: whether the gateway lives, is ready, and what it has done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use fantail::Limiters;
use fantail::backfill::Store;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::backfill::Queue;
use crate::data::Data;
use crate::live::LiveStatus;
use crate::stats::{Measured, Report};

/// What the admin port tells of.
#[derive(Debug)]
pub(crate) struct Admin {
    pub(crate) data: Arc<Data>,
    pub(crate) limiters: Limiters,
    pub(crate) stopping: CancellationToken,
    pub(crate) started: Instant,
    pub(crate) file: Option<PlanFile>,
}

/// A plan file as it was read.
#[derive(Clone, Debug, Serialize)]
pub struct PlanFile {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl Admin {
    pub(crate) fn router(admin: Arc<Admin>) -> Router {
        Router::new()
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(readyz))
            .route("/status.json", get(status))
            .route("/served.json", get(served))
            .route("/config", get(config))
            .with_state(admin)
    }
}

async fn readyz(State(admin): State<Arc<Admin>>) -> impl IntoResponse {
    if admin.stopping.is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}

/// The plan file.
async fn config(State(admin): State<Arc<Admin>>) -> impl IntoResponse {
    match &admin.file {
        Some(file) => Ok(([(CONTENT_TYPE, "application/toml")], file.text.clone())),
        None => Err((StatusCode::NOT_FOUND, "not known\n")),
    }
}

/// What the lab's page shows beside its own figures: the plan file, and what was measured of its plans.
#[derive(Serialize)]
struct ServedBody {
    file: Option<PlanFile>,
    since_s: f64,
    plans: Vec<Measured>,
}

async fn served(State(admin): State<Arc<Admin>>) -> Json<ServedBody> {
    let plans = admin.data.served.values();
    Json(ServedBody {
        file: admin.file.clone(),
        since_s: admin.started.elapsed().as_secs_f64(),
        plans: plans.map(|served| served.stats.measured(served.plan().name())).collect(),
    })
}

#[derive(Serialize)]
struct Status {
    schema: &'static str,
    uptime_s: f64,
    draining: bool,
    /// Requests that were turned away because too many jobs were running.
    shed: u64,
    /// By name.
    plans: BTreeMap<String, PlanStatus>,
    /// By name.
    limiters: BTreeMap<String, LimiterStatus>,
    /// `null` when no plan has backfill, or the store can't say.
    backfill: Option<BackfillStatus>,
}

#[derive(Serialize)]
struct PlanStatus {
    route: String,
    /// The hedge delays that follow the latency.
    live: Vec<LiveStatus>,
    #[serde(flatten)]
    report: Report,
}

#[derive(Serialize)]
struct LimiterStatus {
    /// The weight of the permits that are out.
    held: u64,
    waiting: usize,
    /// How much longer a server's pushback lasts.
    paused_s: Option<f64>,
}

#[derive(Serialize)]
struct BackfillStatus {
    documents: u64,
    queued: u64,
    leased: u64,
    dead: u64,
}

async fn status(State(admin): State<Arc<Admin>>) -> Json<Status> {
    let data = &admin.data;
    let plans = data.served.values().map(|served| {
        let status = PlanStatus {
            route: served.route.to_string(),
            live: LiveStatus::all(&served.fanout),
            report: served.stats.report(served.plan().holdout() > 0),
        };
        (served.plan().name().to_owned(), status)
    });
    let limiters = data.config.limiters.iter().filter_map(|spec| {
        let limiter = admin.limiters.get(&spec.name)?;
        let status = LimiterStatus {
            held: limiter.held(),
            waiting: limiter.waiting(),
            paused_s: limiter.paused_for().map(|pause| pause.as_secs_f64()),
        };
        Some((spec.name.clone(), status))
    });
    let counts = match data.queue.as_ref().map(Queue::store) {
        Some(store) => store.counts().await.ok(),
        None => None,
    };
    Json(Status {
        schema: "fantail.status/1",
        uptime_s: admin.started.elapsed().as_secs_f64(),
        draining: admin.stopping.is_cancelled(),
        shed: data.shed.get(),
        plans: plans.collect(),
        limiters: limiters.collect(),
        backfill: counts.map(|counts| BackfillStatus {
            documents: counts.documents,
            queued: counts.queued,
            leased: counts.leased,
            dead: counts.dead,
        }),
    })
}
