//! `fantail serve` as a process: its ports, its signals, its exit codes.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "the helpers of tests may panic as tests do")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything here takes; a test that waits for so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);
const DOCUMENT: &str = include_str!("../../../examples/document.json");

/// A running `fantail serve`, killed when dropped.
struct Server {
    child: Child,
    stderr: Receiver<String>,
    data: SocketAddr,
    admin: SocketAddr,
}

impl Server {
    /// Starts it on free ports and waits until it is ready.
    fn start(args: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fantail"))
            .arg("serve")
            .args(args)
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, stderr) = mpsc::channel();
        let pipe = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || pipe.lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
        let none = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut server = Server { child, stderr, data: none, admin: none };
        server.data = server.line("ready: http://").parse().unwrap();
        server.admin = server.line("admin: http://").parse().unwrap();
        server
    }

    /// What follows `prefix` in the next line on stderr that begins so.
    fn line(&self, prefix: &str) -> String {
        loop {
            let line =
                self.stderr.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no {prefix:?} on stderr"));
            if let Some(rest) = line.strip_prefix(prefix) {
                return rest.to_owned();
            }
        }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// The exit code and all of stdout.
    fn end(mut self) -> (Option<i32>, String) {
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), stdout)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one request; the response comes with [`response`].
fn send(addr: SocketAddr, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

/// Status and body.
fn response(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The response to a document: a job, whatever its verdict.
fn job(stream: TcpStream) -> Value {
    let (status, body) = response(stream);
    let job: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    assert_eq!(job["schema"], "fantail.job/1", "{body}");
    assert_eq!(status == 200, job["verdict"] != "failed", "{status}: {body}");
    job
}

#[test]
fn the_demo_needs_nothing_else_and_answers_documents() {
    let server = Server::start(&["--demo", "--traffic", "off"]);
    let job = job(send(server.data, "POST", "/enrich", DOCUMENT));
    assert_eq!(job["fanout"]["branches"], 5);
    let answered = job["fanout"]["answered"].as_u64().unwrap() as usize;
    assert_eq!(answered + job["incomplete"].as_array().unwrap().len(), 5);
    assert_eq!(response(send(server.admin, "GET", "/readyz", "")).0, 200);
    server.signal("TERM");
    let data = server.data;
    let (code, stdout) = server.end();
    assert_eq!(code, Some(0));
    assert!(stdout.contains("curl -s --json "), "{stdout}");
    assert!(stdout.contains(&format!(" http://{data}/enrich\n")), "{stdout}");
}

/// A server whose only target is a listener of the test, which answers when the test likes.
fn with_own_target() -> (Server, TcpListener, tempfile::TempDir) {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    let url = format!("http://{}/", target.local_addr().unwrap());
    std::fs::write(&file, format!("[plan.a]\nroute = \"POST /a\"\n[plan.a.branch]\nb.url = \"{url}\"\n"))
        .unwrap();
    (Server::start(&[file.to_str().unwrap()]), target, folder)
}

/// Takes a call, with its whole request.
fn call(target: &TcpListener) -> TcpStream {
    let (mut stream, _) = target.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"{}") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        request.extend(byte);
    }
    stream
}

#[test]
fn a_signal_lets_the_job_in_flight_finish() {
    for signal in ["TERM", "INT"] {
        let (server, target, _folder) = with_own_target();
        let waiting = send(server.data, "POST", "/a", "{}");
        let mut upstream = call(&target);
        server.signal(signal);
        server.line("draining");
        upstream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue").unwrap();
        let job = job(waiting);
        assert_eq!((&job["verdict"], &job["data"]["b"]), (&"complete".into(), &true.into()));
        assert_eq!(server.end().0, Some(0), "{signal}");
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let (server, target, _folder) = with_own_target();
    let _waiting = send(server.data, "POST", "/a", "{}");
    let _upstream = call(&target);
    server.signal("INT");
    server.line("draining");
    server.signal("INT");
    assert_eq!(server.end().0, Some(130));
}

#[test]
fn a_port_in_use_is_a_failure_that_says_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (option, other) in [("--listen", "--admin"), ("--admin", "--listen")] {
        let output = Command::new(env!("CARGO_BIN_EXE_fantail"))
            .args(["serve", "--demo", option, &taken, other, "127.0.0.1:0"])
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        for part in [&*taken, "in use", &format!("choose another: {option} HOST:PORT")] {
            assert!(stderr.contains(part), "no {part:?} in {stderr}");
        }
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    }
}
