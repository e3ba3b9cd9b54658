//! `fantail serve`: plans over HTTP, until told to stop.

mod demo;
pub(crate) mod stop;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use fantail_gateway::{Gateway, PlanFile, ServeError, ServeOptions};
use fantail_planfile::Overrides;
use fantail_report::Source;
use tracing_subscriber::EnvFilter;

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::{input, lab, output};
use stop::Stop;

/// The store of a gateway that was not told of another.
const STORE: &str = "fantail.db";

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    log_to_stderr();
    let runtime = tokio::runtime::Runtime::new().context("can't start the runtime")?;
    match &args.file {
        Some(file) => runtime.block_on(serve_file(file, args))?,
        None => runtime.block_on(demo::run(args))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve_file(file: &Path, args: &ServeArgs) -> anyhow::Result<()> {
    let source = input::source(file)?;
    let config = source.config(&Overrides::default())?;
    let routes: Vec<String> = config
        .plans
        .iter()
        .filter_map(|entry| Some(format!("plan {}: {}", entry.plan.name(), entry.route.as_ref()?)))
        .collect();
    let backfills = config.plans.iter().any(|entry| entry.route.is_some() && entry.backfill.is_some());
    let store = args.store.clone().unwrap_or_else(|| PathBuf::from(STORE));
    let stop = Stop::listen()?;
    let options = options(args, store.clone(), &source)?;
    let gateway = Gateway::bind(config, options).await.map_err(refused)?;
    for route in &routes {
        output::say(route);
    }
    if backfills {
        output::say(&format_args!("store: {}", store.display()));
    }
    say_ready(&gateway);
    gateway.serve(stop.wait()).await;
    output::say(&"drained");
    Ok(())
}

fn options(args: &ServeArgs, store: PathBuf, source: &Source) -> anyhow::Result<ServeOptions> {
    let (listen, admin) = (address("--listen", &args.listen)?, address("--admin", &args.admin)?);
    let text = String::from_utf8_lossy(&source.bytes).into_owned();
    let file = Some(PlanFile { name: source.name.clone(), text });
    Ok(ServeOptions { listen, admin, store: Some(store), file, pages: lab::beside(source) })
}

/// The first address that a host and a port stand for.
fn address(option: &str, text: &str) -> anyhow::Result<SocketAddr> {
    let found = text.to_socket_addrs().map(|mut addresses| addresses.next());
    let why = match found {
        Ok(Some(address)) => return Ok(address),
        Ok(None) => "it has no address".to_owned(),
        Err(error) => error.to_string(),
    };
    let expected = "expected HOST:PORT, like 127.0.0.1:8080";
    Err(Failure::invalid(format_args!("{option}: `{text}`: {why}; {expected}")))
}

/// Whoever waits for the line knows by it that connections are taken.
fn say_ready(gateway: &Gateway) {
    output::say(&format_args!("ready: http://{}", gateway.addr()));
    output::say(&format_args!("admin: http://{}", gateway.admin_addr()));
}

/// Why the gateway did not start, with what to do about it.
fn refused(error: ServeError) -> anyhow::Error {
    match &error {
        ServeError::NothingToServe | ServeError::NoStore { .. } => Failure::invalid(error),
        ServeError::Bind { port, source, .. } => {
            let option = if *port == "admin" { "--admin" } else { "--listen" };
            let hint = match source.kind() {
                io::ErrorKind::AddrInUse => {
                    format!("; stop what has it, or choose another: {option} HOST:PORT, port 0 for any")
                }
                _ => format!("; choose another with {option} HOST:PORT"),
            };
            anyhow!("{error}{hint}")
        }
        _ => anyhow!("{error}"),
    }
}

/// What the gateway has to say meanwhile: warnings, or what `RUST_LOG` asks for.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(output::stderr_has_colors())
        .init();
}
