//! A target whose answers are scripted, down to the bytes on its socket.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a target does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// 200 with this JSON text.
    Json(&'static str),
    /// This status, these header lines, this body.
    Status(u16, &'static str, &'static str),
    /// Nothing, until the gateway closes the connection.
    Never,
    /// Another reply, after a while.
    After(Duration, &'static Reply),
    /// A head that promises more bytes than come, then the end of the connection.
    Cut,
    /// The end of the connection in place of an answer.
    Close,
    /// A body of this many bytes, of which `Content-Length` tells or not.
    Huge { bytes: usize, told: bool },
}

/// A request that a target got.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) branch: String,
    /// `POST /type?x HTTP/1.1`
    pub(crate) line: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

#[derive(Debug, Default)]
struct Log {
    seen: Vec<Seen>,
    /// Connections that the gateway closed before they were answered.
    closed_early: usize,
    /// Bytes of huge bodies that the gateway took.
    taken: usize,
}

/// Decides by branch and by how often that branch was asked before.
type Script = dyn Fn(&str, usize) -> Reply + Send + Sync;

/// A server that answers every path by a script.
pub(crate) struct Upstream {
    addr: SocketAddr,
    log: Arc<Mutex<Log>>,
    task: JoinHandle<()>,
}

impl Upstream {
    pub(crate) async fn start(script: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let script: Arc<Script> = Arc::new(script);
        let task = tokio::spawn(accept(listener, Arc::clone(&log), script));
        Upstream { addr, log, task }
    }

    /// The URL template of its branches.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/{{branch}}?{{query}}", self.addr)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().seen.clone()
    }

    pub(crate) fn seen_of(&self, branch: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.branch == branch).collect()
    }

    pub(crate) fn closed_early(&self) -> usize {
        self.log.lock().unwrap().closed_early
    }

    pub(crate) fn taken(&self) -> usize {
        self.log.lock().unwrap().taken
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, log: Arc<Mutex<Log>>, script: Arc<Script>) {
    // Dropped with the set: connections end when the upstream does.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (log, script) = (Arc::clone(&log), Arc::clone(&script));
        connections.spawn(async move {
            // An error is a gateway that closed the connection, which is what many of these tests are about.
            let _ = serve(stream, &log, &*script).await;
        });
    }
}

async fn serve(mut stream: TcpStream, log: &Mutex<Log>, script: &Script) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(seen) = read_request(&mut stream, &mut buffer).await? {
        let before = {
            let mut log = log.lock().unwrap();
            let before = log.seen.iter().filter(|other| other.branch == seen.branch).count();
            log.seen.push(seen.clone());
            before
        };
        let mut reply = script(&seen.branch, before);
        while let Reply::After(delay, next) = reply {
            if !stays_open(&mut stream, &mut buffer, delay).await {
                log.lock().unwrap().closed_early += 1;
                return Ok(());
            }
            reply = next.clone();
        }
        match reply {
            Reply::After(..) => unreachable!("delays have been waited for"),
            Reply::Json(json) => answer(&mut stream, 200, "", json.as_bytes()).await?,
            Reply::Status(status, headers, body) => {
                answer(&mut stream, status, headers, body.as_bytes()).await?;
            }
            Reply::Never => {
                stays_open(&mut stream, &mut buffer, Duration::from_secs(3_600)).await;
                log.lock().unwrap().closed_early += 1;
                return Ok(());
            }
            Reply::Cut => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half\": ").await?;
                return Ok(());
            }
            Reply::Close => return Ok(()),
            Reply::Huge { bytes, told } => return huge(&mut stream, log, bytes, told).await,
        }
    }
    Ok(())
}

/// Whether the connection is still open after `wait`.
async fn stays_open(stream: &mut TcpStream, buffer: &mut Vec<u8>, wait: Duration) -> bool {
    tokio::select! {
        read = stream.read_buf(buffer) => read.is_ok_and(|bytes| bytes > 0),
        () = tokio::time::sleep(wait) => true,
    }
}

async fn answer(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {status} Scripted\r\n{headers}content-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).await
}

async fn huge(stream: &mut TcpStream, log: &Mutex<Log>, bytes: usize, told: bool) -> std::io::Result<()> {
    let length = if told { format!("content-length: {bytes}\r\n") } else { String::new() };
    stream.write_all(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{length}\r\n\"").as_bytes()).await?;
    let chunk = vec![b'x'; 1 << 16];
    for _ in 0..bytes.div_ceil(chunk.len()) {
        stream.write_all(&chunk).await?;
        log.lock().unwrap().taken += chunk.len();
    }
    Ok(())
}

/// The next request of a connection; `None` at its end.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Seen>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    while buffer.len() < end + 4 + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body = String::from_utf8(buffer[end + 4..end + 4 + length].to_vec()).unwrap();
    buffer.drain(..end + 4 + length);
    let path = line.split(' ').nth(1).unwrap().trim_start_matches('/');
    let branch = path.split('?').next().unwrap().to_owned();
    Ok(Some(Seen { branch, line, headers, body }))
}
