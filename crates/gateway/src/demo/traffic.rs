//! Sends documents to a gateway as clients would, and measures what comes back.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::draws::Draws;
use super::measured::{Measured, Reply};
use super::writer;

/// An open loop: documents are sent at random instants, whether or not earlier ones have been answered, as independent
/// clients would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// How many.
    pub documents: usize,
    /// How many a second on average, above zero; the gaps are exponential (a Poisson process).
    pub per_second: f64,
    /// Fixes the gaps and the documents.
    pub seed: u64,
}

impl Traffic {
    /// Sends all documents with `POST` to `path` at the data port `addr`. `on_reply` hears of each reply as it comes.
    ///
    /// Latencies count from the instant at which a document was due, so a sender that falls behind hides nothing.
    pub async fn run(&self, addr: SocketAddr, path: &str, mut on_reply: impl FnMut(&Reply)) -> Measured {
        let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
        let url = format!("http://{addr}{path}");
        let mut gaps = Draws::new(self.seed, "gaps");
        let mut due = Instant::now();
        let mut calls = JoinSet::new();
        let mut measured = Measured::default();
        for number in 0..self.documents {
            let gap = -gaps.uniform().ln() / self.per_second;
            due += Duration::try_from_secs_f64(gap).unwrap_or(Duration::ZERO);
            loop {
                tokio::select! {
                    biased;
                    Some(reply) = calls.join_next(), if !calls.is_empty() => measured.take(reply, &mut on_reply),
                    () = sleep_until(due) => break,
                }
            }
            calls.spawn(send(client.clone(), url.clone(), writer::document(self.seed, number), due));
        }
        while let Some(reply) = calls.join_next().await {
            measured.take(reply, &mut on_reply);
        }
        measured
    }
}

async fn send(
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    document: String,
    due: Instant,
) -> Reply {
    let exchange = async {
        let request = Request::builder()
            .method(Method::POST)
            .uri(url)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(document)))
            .ok()?;
        let response = client.request(request).await.ok()?;
        let status = response.status();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, body))
    };
    let answered = exchange.await;
    let latency = due.elapsed();
    match answered {
        Some((status, body)) => Reply::read(status, &body, latency),
        None => Reply::none(latency),
    }
}
