//! Accepts connections and serves a router on them, until it is told to stop.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// How long a client may take to send the head of a request, on a kept connection too.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long accepting rests when the system is out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound port.
///
/// Not `axum::serve`: that sets no timeout for the head of a request and no bound for draining.
#[derive(Debug)]
pub(crate) struct Listener {
    inner: TcpListener,
    addr: SocketAddr,
}

impl Listener {
    pub(crate) async fn bind(addr: SocketAddr) -> io::Result<Listener> {
        let inner = TcpListener::bind(addr).await?;
        let addr = inner.local_addr()?;
        Ok(Listener { inner, addr })
    }

    /// The address, with the port that was free when port 0 was asked for.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Serves until `stop`; then accepts nothing more and lets the requests in flight finish, for `drain` at most.
    pub(crate) async fn serve(self, router: Router, stop: CancellationToken, drain: Duration) {
        let graceful = GracefulShutdown::new();
        let cut = CancellationToken::new();
        let _cut_at_the_end = cut.clone().drop_guard();
        loop {
            tokio::select! {
                accepted = self.inner.accept() => match accepted {
                    Ok((stream, _)) => spawn(stream, router.clone(), &graceful, cut.clone()),
                    Err(error) => {
                        tracing::warn!(%error, addr = %self.addr, "can't accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                () = stop.cancelled() => break,
            }
        }
        drop(self.inner);
        if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
            tracing::warn!(addr = %self.addr, ?drain, "connections were still busy and are cut");
        }
    }
}

fn spawn(stream: TcpStream, router: Router, graceful: &GracefulShutdown, cut: CancellationToken) {
    // A small answer must not wait for the acknowledgement of an earlier one.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection is gone already");
        return;
    }
    let watcher = graceful.watcher();
    tokio::spawn(async move {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        builder.http2().timer(TokioTimer::new());
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        tokio::select! {
            ended = watcher.watch(connection) => if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            },
            () = cut.cancelled() => {}
        }
    });
}
