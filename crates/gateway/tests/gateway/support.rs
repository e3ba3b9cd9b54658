//! A gateway under test, and a client.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use fantail_gateway::{Gateway, ServeError, ServeOptions};
use fantail_planfile::Config;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A body that every plan of these tests takes.
pub(crate) const DOCUMENT: &str = "{\"text\": \"between A and B\"}";

/// A gateway that serves until it is told to stop.
pub(crate) struct Serving {
    pub(crate) addr: SocketAddr,
    pub(crate) admin: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
    client: TestClient,
}

/// A real HTTP client with kept connections.
#[derive(Clone)]
pub(crate) struct TestClient(Client<HttpConnector, Full<Bytes>>);

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// The plan `enrich` with these lines of its own, this URL, and these branches.
pub(crate) fn enrich(lines: &str, url: &str, branches: &str) -> String {
    plan("enrich", lines, url, branches)
}

/// A plan that answers `POST /<name>`.
pub(crate) fn plan(name: &str, lines: &str, url: &str, branches: &str) -> String {
    format!(
        "[plan.{name}]\nroute = \"POST /{name}\"\n{lines}\n\
         [plan.{name}.defaults]\nurl = \"{url}\"\nrepeatable = true\n\
         [plan.{name}.branch]\n{branches}\n"
    )
}

pub(crate) fn config(plan: &str) -> Config {
    Config::parse("test.toml", plan).unwrap_or_else(|problems| panic!("{problems}\n{plan}"))
}

pub(crate) async fn bind(plan: &str, store: Option<&Path>) -> Result<Gateway, ServeError> {
    bind_config(config(plan), store).await
}

async fn bind_config(config: Config, store: Option<&Path>) -> Result<Gateway, ServeError> {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let options =
        ServeOptions { listen: any, admin: any, store: store.map(Path::to_owned), ..ServeOptions::default() };
    Gateway::bind(config, options).await
}

impl Serving {
    pub(crate) async fn start(plan: &str, store: Option<&Path>) -> Serving {
        Serving::of(config(plan), store).await
    }

    pub(crate) async fn of(config: Config, store: Option<&Path>) -> Serving {
        Serving::run(bind_config(config, store).await.unwrap())
    }

    pub(crate) fn run(gateway: Gateway) -> Serving {
        let (addr, admin) = (gateway.addr(), gateway.admin_addr());
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(gateway.serve(async {
            // A dropped sender stops it too.
            let _ = stopped.await;
        }));
        Serving { addr, admin, stop: Some(stop), task, client: TestClient::new() }
    }

    pub(crate) fn client(&self) -> TestClient {
        self.client.clone()
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> Reply {
        self.send(Method::POST, path, &[], body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, &[], Bytes::new()).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        self.client.send(self.addr, method, path, headers, body).await.unwrap()
    }

    pub(crate) async fn get_admin(&self, path: &str) -> Reply {
        self.client.send(self.admin, Method::GET, path, &[], Bytes::new()).await.unwrap()
    }

    /// Asks for a document until `wanted`, which it must come to be.
    pub(crate) async fn document(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1_000 {
            let document = self.get(path).await.json();
            if wanted(&document) {
                return document;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{path} never came to what was expected: {}", self.get(path).await.text);
    }

    /// Tells it to stop, as SIGTERM does, without waiting for the end.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
    }

    /// Waits for the end of a drain.
    pub(crate) async fn ended(mut self) {
        self.stop();
        self.task.await.unwrap();
    }
}

impl TestClient {
    pub(crate) fn new() -> TestClient {
        TestClient(Client::builder(TokioExecutor::new()).build_http())
    }

    pub(crate) async fn send(
        &self,
        addr: SocketAddr,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Reply, hyper_util::client::legacy::Error> {
        let mut request = Request::builder().method(method).uri(format!("http://{addr}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.0.request(request.body(Full::new(body.into())).unwrap()).await?;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        })
    }
}

/// Waits until something that another task does has happened.
pub(crate) async fn until(what: &str, happened: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if happened() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never happened: {what}");
}
