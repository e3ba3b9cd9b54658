//! The signals that end a server.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output;

/// What a shell reports of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// SIGTERM and Ctrl-C, listened to from the moment this is made.
pub(crate) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    pub(crate) fn listen() -> anyhow::Result<Stop> {
        let listen = |kind| signal(kind).context("can't listen for signals");
        Ok(Stop { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Ends at the first of them.
    pub(crate) async fn first(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Ends at the first of them. A Ctrl-C after that ends the process at once.
    pub(crate) async fn wait(mut self) {
        self.first().await;
        output::say(&"draining: jobs in flight finish; Ctrl-C ends them at once");
        tokio::spawn(async move {
            self.interrupt.recv().await;
            std::process::exit(INTERRUPTED);
        });
    }
}
