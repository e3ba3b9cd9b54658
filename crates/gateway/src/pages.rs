//! Documents that somebody else made, served as they are.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};
use tokio_util::sync::CancellationToken;

use crate::listener::Listener;

/// A document at a path.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where it is, like `/lab`.
    pub path: &'static str,
    /// What it is, like `text/html; charset=utf-8`.
    pub content_type: HeaderValue,
    /// What a browser may do with it; `None` for what is no page of its own.
    pub policy: Option<HeaderValue>,
    /// What it holds.
    pub body: Bytes,
}

/// A port that serves pages and nothing else.
///
/// ```
/// use fantail_gateway::{Page, Pages};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let page = Page { path: "/", content_type: "text/plain".parse()?, policy: None, body: "hello\n".into() };
/// let pages = Pages::bind("127.0.0.1:0".parse()?, vec![page]).await?;
/// println!("http://{}", pages.addr());
/// // In a program: a future that ends on SIGTERM or Ctrl-C.
/// pages.serve(async {}).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pages {
    listener: Listener,
    router: Router,
}

impl Pages {
    /// Binds the port; port 0 is any that is free.
    ///
    /// # Errors
    /// What the system says: a port in use, say.
    pub async fn bind(addr: SocketAddr, pages: Vec<Page>) -> io::Result<Pages> {
        Ok(Pages { listener: Listener::bind(addr).await?, router: router(pages) })
    }

    /// The address, with the port that was free when port 0 was asked for.
    pub fn addr(&self) -> SocketAddr {
        self.listener.addr()
    }

    /// Serves until `stop` ends.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let stopping = CancellationToken::new();
        let stop = async {
            stop.await;
            stopping.cancel();
        };
        tokio::join!(self.listener.serve(self.router, stopping.clone(), Duration::ZERO), stop);
    }
}

/// Each page at its path.
pub(crate) fn router(pages: Vec<Page>) -> Router {
    pages.into_iter().fold(Router::new(), |router, Page { path, content_type, policy, body }| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type);
        // What is served follows the program and its plans, and changes with them.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.extend(policy.map(|policy| (CONTENT_SECURITY_POLICY, policy)));
        let router = router.route(path, get(move || async move { (headers, body) }));
        // With a slash at its end what it asks for would be looked for below it.
        if path == "/" {
            return router;
        }
        let whole = Redirect::permanent(&format!("..{path}"));
        router.route(&format!("{path}/"), get(move || async move { whole }))
    })
}
