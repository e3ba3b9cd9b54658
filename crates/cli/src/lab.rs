//! `fantail lab`: the page where the tail can be touched. It stands beside the other pages of the admin port too.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use fantail_gateway::{Page, Pages};
use fantail_report::Source;
use fantail_report::predict::{Report, Words};
use http::HeaderValue;

use crate::args::LabArgs;
use crate::output;
use crate::serve::stop::Stop;
use crate::simulate::play;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// What the page is told where no gateway is behind it.
const NOTHING: &str = "null\n";

pub(crate) fn run(args: &LabArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.save {
        output::write(path, fantail_lab::PAGE.as_bytes())?;
    } else {
        let runtime = tokio::runtime::Runtime::new().context("can't start the runtime")?;
        runtime.block_on(serve(args.port))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(port: u16) -> anyhow::Result<()> {
    let mut stop = Stop::listen()?;
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let pages = Pages::bind(addr, vec![page("/"), json("/served.json", NOTHING.into())]).await;
    let pages = pages.map_err(|error| {
        let hint =
            if error.kind() == io::ErrorKind::AddrInUse { "; choose another, or 0 for any" } else { "" };
        anyhow!("--port {port}: {error}{hint}")
    })?;
    output::print(format!("http://{}/\n", pages.addr()))?;
    pages.serve(stop.first()).await;
    Ok(())
}

fn page(path: &'static str) -> Page {
    let policy = HeaderValue::try_from(fantail_lab::policy()).expect("a policy is plain text");
    Page {
        path,
        content_type: HTML,
        policy: Some(policy),
        body: Bytes::from_static(fantail_lab::PAGE.as_bytes()),
    }
}

fn json(path: &'static str, body: Vec<u8>) -> Page {
    Page { path, content_type: JSON, policy: None, body: body.into() }
}

/// What the admin port serves of a plan file beside its own: the page, and what is predicted.
pub(crate) fn beside(source: &Source) -> Vec<Page> {
    // A file whose plans state no latency is served all the same; there is nothing to predict of it.
    let words = Words { files: vec![source.clone()], ..Words::default() };
    let report = Report::new(&words, &play::silently, |_, _| {});
    let predicted = report.ok().map(|report| json("/predict.json", report.json()));
    std::iter::once(page("/lab")).chain(predicted).collect()
}
