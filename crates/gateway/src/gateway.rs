//! The gateway: bound, serving, draining.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fantail::Limiters;
use fantail_planfile::Config;
use fantail_stores::{OpenError, SqliteStore};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::admin::{Admin, PlanFile};
use crate::backfill::Queue;
use crate::data::{Data, MAX_JOBS, Served};
use crate::listener::Listener;
use crate::pages::{self, Page};
use crate::stats::Counter;
use crate::upstream::Upstream;

/// How long a drain waits for jobs in flight; then their connections are cut.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a gateway listens and what it keeps.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The data port. Default: `127.0.0.1:8080`. Port 0 is any that is free.
    pub listen: SocketAddr,
    /// The admin port. Default: `127.0.0.1:9901`. It tells what the gateway does to whoever asks, so it is on loopback.
    pub admin: SocketAddr,
    /// The file of the backfill queue. Default: none, which only a file without backfill can do with.
    pub store: Option<PathBuf>,
    /// The plan file, for the admin port to show. Default: none.
    pub file: Option<PlanFile>,
    /// What the admin port serves beside its own. Default: nothing. A path that is its own, or there twice, panics.
    pub pages: Vec<Page>,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        ServeOptions {
            listen: loopback(8080),
            admin: loopback(9901),
            store: None,
            file: None,
            pages: Vec::new(),
        }
    }
}

/// Why a gateway can't be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// No plan of the file has a route.
    NothingToServe,
    /// A plan has backfill, but no store was named.
    NoStore {
        /// The plan.
        plan: String,
    },
    /// The store can't be opened.
    Store(OpenError),
    /// A port can't be bound: another process has it, say.
    Bind {
        /// What it is for: `data` or `admin`.
        port: &'static str,
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::NothingToServe => {
                f.write_str("nothing to serve: no plan has a `route`, like route = \"POST /enrich\"")
            }
            ServeError::NoStore { plan } => {
                write!(f, "plan `{plan}` has backfill, so a store is needed: name a file for it")
            }
            ServeError::Store(source) => source.fmt(f),
            ServeError::Bind { port, addr, source } => {
                write!(f, "can't bind the {port} port {addr}: {source}")
            }
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServeError::Store(source) => Some(source),
            ServeError::Bind { source, .. } => Some(source),
            ServeError::NothingToServe | ServeError::NoStore { .. } => None,
        }
    }
}

/// A gateway with its ports bound and its store open. [`Gateway::serve`] runs it.
///
/// Connections that come in between wait in the system's queue, so a client that has been told of the address is never
/// refused.
///
/// ```
/// use fantail_gateway::{Gateway, ServeOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = fantail_planfile::Config::parse("plan.toml", r#"
///     [plan.read]
///     route = "GET /item/{id}"
///     [plan.read.branch.item]
///     url = "http://127.0.0.1:9001/{id}"
/// "#)?;
/// let any: std::net::SocketAddr = "127.0.0.1:0".parse()?;
/// let options = ServeOptions { listen: any, admin: any, ..ServeOptions::default() };
/// let gateway = Gateway::bind(config, options).await?;
/// println!("ready: http://{}", gateway.addr());
/// // In a program: a future that ends on SIGTERM or Ctrl-C.
/// gateway.serve(async {}).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gateway {
    data: Arc<Data>,
    limiters: Limiters,
    listener: Listener,
    admin_listener: Listener,
    file: Option<PlanFile>,
    pages: Vec<Page>,
}

impl Gateway {
    /// Opens the store and binds both ports.
    ///
    /// # Errors
    /// Nothing to serve, no store though a plan needs one, a store that can't be opened, a port in use.
    pub async fn bind(config: Config, options: ServeOptions) -> Result<Gateway, ServeError> {
        let limiters = Limiters::default();
        let entries = || config.plans.iter().filter(|entry| entry.route.is_some());
        if entries().next().is_none() {
            return Err(ServeError::NothingToServe);
        }
        let needs_store = entries().find(|entry| entry.backfill.is_some());
        let store = match (needs_store, &options.store) {
            (None, _) => None,
            (Some(entry), None) => return Err(ServeError::NoStore { plan: entry.plan.name().to_owned() }),
            (Some(_), Some(path)) => Some(SqliteStore::open(path).map_err(ServeError::Store)?),
        };
        let listener = bind("data", options.listen).await?;
        let admin_listener = bind("admin", options.admin).await?;
        let served: Vec<Arc<Served>> =
            entries().filter_map(|entry| Served::new(entry, &limiters)).map(Arc::new).collect();
        let upstream = Upstream::new();
        let data = Data {
            queue: store.map(|store| Queue::new(store, &served, &upstream)),
            served: served.into_iter().map(|served| (served.plan().name().to_owned(), served)).collect(),
            upstream,
            places: Semaphore::new(MAX_JOBS),
            shed: Counter::default(),
            config,
        };
        let ServeOptions { file, pages, .. } = options;
        Ok(Gateway { data: Arc::new(data), limiters, listener, admin_listener, file, pages })
    }

    /// The address of the data port, with the port that was free when port 0 was asked for.
    pub fn addr(&self) -> SocketAddr {
        self.listener.addr()
    }

    /// The address of the admin port.
    pub fn admin_addr(&self) -> SocketAddr {
        self.admin_listener.addr()
    }

    /// Serves until `stop` ends, then drains: `/readyz` says 503, nothing more is accepted, jobs in flight finish within
    /// [`DRAIN_TIMEOUT`] and are answered, running backfill tries are handed back to the store, and the store is closed.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let stopping = CancellationToken::new();
        let stopped = CancellationToken::new();
        let admin = Arc::new(Admin {
            data: Arc::clone(&self.data),
            limiters: self.limiters,
            stopping: stopping.clone(),
            started: Instant::now(),
            file: self.file,
        });
        let admin = Admin::router(admin).merge(pages::router(self.pages));
        // The admin port outlives the data port, so that a drain can be watched.
        let admin = self.admin_listener.serve(admin, stopped.clone(), Duration::ZERO);
        let data = self.listener.serve(Data::router(Arc::clone(&self.data)), stopping.clone(), DRAIN_TIMEOUT);
        let backfill = async {
            if let Some(queue) = &self.data.queue {
                queue.run(stopping.cancelled()).await;
            }
        };
        let work = async {
            tokio::join!(data, backfill);
            stopped.cancel();
        };
        let stop = async {
            stop.await;
            tracing::info!("draining");
            stopping.cancel();
        };
        tokio::join!(admin, work, stop);
    }
}

async fn bind(port: &'static str, addr: SocketAddr) -> Result<Listener, ServeError> {
    Listener::bind(addr).await.map_err(|source| ServeError::Bind { port, addr, source })
}
