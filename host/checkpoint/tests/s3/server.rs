//! A server that speaks as much of S3 as a checkpoint store needs, and misbehaves as a test says.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// What the server makes of `If-None-Match: *`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusive {
    /// It creates an object once.
    Honoured,
    /// It does not know the header.
    Ignored,
    /// It looks first and writes then: of two at once both find nothing.
    LooksThenWrites,
}

/// How the next write goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It answers with this status and does nothing.
    Status(u16),
    /// It writes and hangs up without an answer.
    AnswerLost,
    /// It writes and answers with this status.
    WrittenThen(u16),
}

#[derive(Debug)]
struct State {
    objects: BTreeMap<String, Vec<u8>>,
    faults: VecDeque<Fault>,
    exclusive: Exclusive,
    /// How many writes have looked for each key of a race.
    looks: HashMap<String, u32>,
}

/// The server, and what a test sees of it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    address: String,
    state: Arc<Mutex<State>>,
    /// Rung when a write of a server that looks first has looked.
    looked: Arc<Condvar>,
}

struct Request {
    method: String,
    /// Decoded, without the bucket.
    key: String,
    query: HashMap<String, String>,
    is_create: bool,
    body: Vec<u8>,
}

const BUCKET: &str = "flows";

impl Server {
    /// Starts a server on a port of its own. It ends with the test's process.
    pub(crate) fn start(exclusive: Exclusive) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = State { objects: BTreeMap::new(), faults: VecDeque::new(), exclusive, looks: HashMap::new() };
        let server = Self { address, state: Arc::new(Mutex::new(state)), looked: Arc::new(Condvar::new()) };
        let served = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let server = served.clone();
                thread::spawn(move || server.serve(&stream.unwrap()));
            }
        });
        server
    }

    /// A URL with a prefix in its bucket.
    pub(crate) fn url(&self) -> String {
        format!("s3://{BUCKET}/some/prefix?endpoint=http://{}", self.address)
    }

    /// The next writes go wrong so, in order.
    pub(crate) fn inject(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.lock().unwrap().faults.extend(faults);
    }

    /// The keys there are.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.state.lock().unwrap().objects.keys().cloned().collect()
    }

    /// Changes the bytes of an object.
    pub(crate) fn damage(&self, key: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.state.lock().unwrap().objects.get_mut(key).unwrap());
    }

    /// Answers the requests of a connection until one side hangs up.
    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader) {
            let Some((status, body)) = self.answer(&request) else { return };
            let head = format!(
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nETag: \"1\"\r\n\
                 Last-Modified: Mon, 30 Nov 2026 20:00:00 GMT\r\nContent-Type: application/xml\r\n\r\n",
                body.len()
            );
            let mut writer = stream;
            if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(&body)).is_err() {
                return;
            }
        }
    }

    /// Status and body; `None` hangs up.
    fn answer(&self, request: &Request) -> Option<(u16, Vec<u8>)> {
        match request.method.as_str() {
            "PUT" => self.put(request),
            "GET" if request.key.is_empty() => Some((200, self.list(&request.query))),
            "GET" => Some(match self.state.lock().unwrap().objects.get(&request.key) {
                Some(body) => (200, body.clone()),
                None => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            }),
            "POST" if request.query.contains_key("delete") => {
                let mut state = self.state.lock().unwrap();
                let body = String::from_utf8(request.body.clone()).unwrap();
                let mut deleted = String::new();
                for part in body.split("<Key>").skip(1) {
                    let key = part.split("</Key>").next().unwrap();
                    state.objects.remove(key);
                    write!(deleted, "<Deleted><Key>{key}</Key></Deleted>").unwrap();
                }
                Some((200, format!("<DeleteResult>{deleted}</DeleteResult>").into_bytes()))
            }
            "DELETE" => {
                self.state.lock().unwrap().objects.remove(&request.key);
                Some((204, Vec::new()))
            }
            other => panic!("the server does not know {other} {}", request.key),
        }
    }

    fn put(&self, request: &Request) -> Option<(u16, Vec<u8>)> {
        let fault = self.state.lock().unwrap().faults.pop_front();
        if let Some(Fault::Status(status)) = fault {
            return Some((status, Vec::new()));
        }
        let status = if self.write(request) { 200 } else { 412 };
        match fault {
            Some(Fault::AnswerLost) => None,
            Some(Fault::WrittenThen(status)) => Some((status, Vec::new())),
            _ => Some((status, Vec::new())),
        }
    }

    /// Whether the object was written.
    fn write(&self, request: &Request) -> bool {
        let mut state = self.state.lock().unwrap();
        let exists = state.objects.contains_key(&request.key);
        match state.exclusive {
            Exclusive::Honoured | Exclusive::LooksThenWrites if exists && request.is_create => return false,
            Exclusive::LooksThenWrites if request.key.contains("probe") && !request.key.ends_with("-0") => {
                // The first waits for a second that looks too: both find nothing.
                *state.looks.entry(request.key.clone()).or_default() += 1;
                self.looked.notify_all();
                state = self.looked.wait_while(state, |it| it.looks[&request.key] < 2).unwrap();
            }
            _ => {}
        }
        state.objects.insert(request.key.clone(), request.body.clone());
        true
    }

    fn list(&self, query: &HashMap<String, String>) -> Vec<u8> {
        let prefix = query.get("prefix").map_or("", String::as_str);
        let mut xml = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
        let mut folders = Vec::new();
        for (key, body) in &self.state.lock().unwrap().objects {
            let Some(rest) = key.strip_prefix(prefix) else { continue };
            if let Some((folder, _)) = rest.split_once('/').filter(|_| query.contains_key("delimiter")) {
                folders.push(format!("{prefix}{folder}/"));
                continue;
            }
            write!(
                xml,
                "<Contents><Key>{key}</Key><Size>{}</Size><ETag>1</ETag>\
                 <LastModified>2026-11-30T20:00:00.000Z</LastModified></Contents>",
                body.len()
            )
            .unwrap();
        }
        folders.dedup();
        for folder in folders {
            write!(xml, "<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>").unwrap();
        }
        xml.push_str("</ListBucketResult>");
        xml.into_bytes()
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut is_create) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "if-none-match" => is_create = value.trim() == "*",
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let path = path.strip_prefix(&format!("/{BUCKET}")).unwrap_or_else(|| panic!("another bucket: {path}"));
    let query = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query = query.map(|(name, value)| (name.to_owned(), value.replace("%2F", "/"))).collect();
    Some(Request { method, key: path.trim_start_matches('/').to_owned(), query, is_create, body })
}
