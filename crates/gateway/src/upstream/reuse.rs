//! Tells whether a connection had carried a request before.
//!
//! A server may close an idle connection in the very moment in which a request is sent on it. The request then fails
//! though nothing is wrong, and only a connection that was used before can be hit by that.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::{Extensions, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use pin_project_lite::pin_project;
use tower_service::Service;

/// A connector whose connections know whether they were used.
#[derive(Clone, Debug)]
pub(super) struct Tracking<C>(pub(super) C);

/// Whether a connection has carried a response. Clones are of the same connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Used(Arc<AtomicBool>);

impl Used {
    /// Notes that the connection that a response came over works.
    pub(super) fn mark(response: &Extensions) {
        if let Some(used) = response.get::<Used>() {
            used.0.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a connection has carried a response before.
    pub(super) fn is_marked(connection: &Connected) -> bool {
        let mut extras = Extensions::new();
        connection.get_extras(&mut extras);
        extras.get::<Used>().is_some_and(|used| used.0.load(Ordering::Relaxed))
    }
}

impl<C> Service<Uri> for Tracking<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
{
    type Response = Tracked<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Tracked<C::Response>, C::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move { Ok(Tracked { stream: connecting.await?, used: Used::default() }) })
    }
}

pin_project! {
    /// A connection that knows whether it was used.
    #[derive(Debug)]
    pub(super) struct Tracked<S> {
        #[pin]
        stream: S,
        used: Used,
    }
}

impl<S: Connection> Connection for Tracked<S> {
    fn connected(&self) -> Connected {
        self.stream.connected().extra(self.used.clone())
    }
}

impl<S: Read> Read for Tracked<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_read(cx, buf)
    }
}

impl<S: Write> Write for Tracked<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.project().stream.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().stream.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().stream.poll_shutdown(cx)
    }
}
