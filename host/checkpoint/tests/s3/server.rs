//! A server that speaks as much of S3 as a checkpoint store needs, and misbehaves as a test says.
//!
//! It creates an object once, whoever asks at the same time: one lock is held from the look to the write. Tests of the
//! binary use it as well (`host/tidegate/tests/kill`).

#![allow(dead_code, reason = "each crate of tests that has it uses what it needs")]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
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

/// How a request goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It is answered with this status, and nothing is done.
    Status(u16),
    /// It is done, and the server hangs up without an answer.
    AnswerLost,
    /// It is done, and answered with this status.
    WrittenThen(u16),
    /// It is done, and the server hangs up in the middle of the answer.
    CutShort,
}

/// What is wrong with the server as long as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    Sound,
    /// Whoever writes is refused.
    ReadOnly,
    /// Everybody is refused.
    NoRights,
    /// There is no such bucket.
    NoBucket,
    /// A list does not show the newest object of a log.
    HidesNewest,
    /// Of as many requests one goes wrong, in a way of its own each time.
    Flaky(u64),
    /// Whoever writes state waits until it is another condition.
    Holds,
}

#[derive(Clone, Debug)]
struct Object {
    body: Vec<u8>,
    modified: &'static str,
}

/// When objects are dated, unless a test says otherwise: never old, whatever the clock of the machine says.
const YOUNG: &str = "2999-11-30T20:00:00.000Z";
const OLD: &str = "2001-11-30T20:00:00.000Z";

/// What goes wrong where nothing else is said, in turn.
const FLAKES: [Fault; 8] = [
    Fault::Status(500),
    Fault::Status(503),
    Fault::Status(429),
    Fault::AnswerLost,
    Fault::WrittenThen(500),
    Fault::CutShort,
    Fault::WrittenThen(409),
    Fault::WrittenThen(412),
];

#[derive(Debug)]
struct State {
    objects: BTreeMap<String, Object>,
    /// Of the next writes.
    faults: VecDeque<Fault>,
    /// Of the next writes that try nothing out.
    later: VecDeque<Fault>,
    /// How many answers to whoever reads break off.
    cut: u32,
    condition: Condition,
    requests: u64,
    exclusive: Exclusive,
    /// How many writes have looked for each key of a race.
    looks: HashMap<String, u32>,
}

/// The server, and what a test sees of it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    address: String,
    state: Arc<Mutex<State>>,
    /// Rung when a write of a server that looks first has looked, and when its condition changes.
    changed: Arc<Condvar>,
}

struct Request {
    method: String,
    /// Decoded, without the bucket.
    key: String,
    query: HashMap<String, String>,
    is_create: bool,
    /// The first byte that is wanted, and the last.
    range: Option<(usize, usize)>,
    /// What the sender proves who it is with.
    authorization: String,
    body: Vec<u8>,
}

const BUCKET: &str = "flows";

/// Noted among the looks when a write is held.
const HELD: &str = "held";

impl State {
    fn keys(&self) -> Vec<String> {
        self.objects.keys().cloned().collect()
    }
}

impl Server {
    /// Starts a server on a port of its own. It ends with the test's process.
    pub(crate) fn start(exclusive: Exclusive) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = State {
            objects: BTreeMap::new(),
            faults: VecDeque::new(),
            later: VecDeque::new(),
            cut: 0,
            condition: Condition::Sound,
            requests: 0,
            exclusive,
            looks: HashMap::new(),
        };
        let server = Self { address, state: Arc::new(Mutex::new(state)), changed: Arc::new(Condvar::new()) };
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

    /// As [`Server::inject`], of the writes after those that try the store out.
    pub(crate) fn inject_after_probe(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state.lock().unwrap().later.extend(faults);
    }

    /// As many answers to whoever reads break off.
    pub(crate) fn cut_answers(&self, answers: u32) {
        self.state.lock().unwrap().cut = answers;
    }

    /// The bytes of an object.
    pub(crate) fn body(&self, key: &str) -> Vec<u8> {
        self.state.lock().unwrap().objects[key].body.clone()
    }

    /// What is wrong from now on.
    pub(crate) fn set(&self, condition: Condition) {
        self.state.lock().unwrap().condition = condition;
        self.changed.notify_all();
    }

    /// Waits until `is_so` of the keys there are.
    pub(crate) fn wait_for_keys(&self, mut is_so: impl FnMut(&[String]) -> bool) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| !is_so(&state.keys())).unwrap());
    }

    /// Whether somebody waits for a server that holds.
    pub(crate) fn is_held(&self) -> bool {
        self.state.lock().unwrap().looks.contains_key(HELD)
    }

    /// The keys there are.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.state.lock().unwrap().keys()
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> u64 {
        self.state.lock().unwrap().requests
    }

    /// Changes the bytes of an object.
    pub(crate) fn damage(&self, key: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.state.lock().unwrap().objects.get_mut(key).unwrap().body);
    }

    /// Puts an object there, an old one.
    pub(crate) fn add_old(&self, key: &str, body: &[u8]) {
        self.state.lock().unwrap().objects.insert(key.to_owned(), Object { body: body.to_vec(), modified: OLD });
    }

    /// Makes every object an old one.
    pub(crate) fn age(&self) {
        self.state.lock().unwrap().objects.values_mut().for_each(|object| object.modified = OLD);
    }

    /// Removes an object.
    pub(crate) fn lose(&self, key: &str) {
        self.state.lock().unwrap().objects.remove(key).unwrap();
    }

    /// Writes the objects below its prefix into a folder, which has nothing else then.
    pub(crate) fn copy_to(&self, folder: &Path) {
        drop(fs::remove_dir_all(folder));
        for (key, object) in &self.state.lock().unwrap().objects {
            let path = folder.join(key.strip_prefix("some/prefix/").unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &object.body).unwrap();
        }
    }

    /// Answers the requests of a connection until one side hangs up.
    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader) {
            let fault = self.fault(&request);
            let answer = match fault {
                Some(Fault::Status(status)) => Some((status, Vec::new())),
                Some(Fault::WrittenThen(status)) => self.answer(&request).map(|_| (status, Vec::new())),
                Some(Fault::AnswerLost) => self.answer(&request).and(None),
                Some(Fault::CutShort) | None => self.answer(&request),
            };
            let Some((status, mut body)) = answer else { return };
            if status == 403 {
                // As some stores do: they repeat what they did not believe.
                body = format!("<Error><Code>AccessDenied</Code>{}</Error>", request.authorization).into_bytes();
            }
            let range = request.range.filter(|_| status == 206).map_or_else(String::new, |(first, _)| {
                format!("Content-Range: bytes {first}-{}/{}\r\n", first + body.len() - 1, first + body.len())
            });
            let mut bytes = format!(
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nETag: \"1\"\r\n{range}\
                 Last-Modified: Mon, 30 Nov 2026 20:00:00 GMT\r\nContent-Type: application/xml\r\n\r\n",
                body.len()
            )
            .into_bytes();
            bytes.extend(body);
            let is_cut = matches!(fault, Some(Fault::CutShort));
            bytes.truncate(if is_cut { bytes.len() / 2 } else { bytes.len() });
            let mut writer = stream;
            if writer.write_all(&bytes).is_err() || is_cut {
                return;
            }
        }
    }

    /// What goes wrong with a request.
    fn fault(&self, request: &Request) -> Option<Fault> {
        let mut state = self.state.lock().unwrap();
        state.requests += 1;
        let is_write = request.method != "GET";
        match state.condition {
            Condition::ReadOnly if is_write => return Some(Fault::Status(403)),
            Condition::NoRights => return Some(Fault::Status(403)),
            Condition::NoBucket => return Some(Fault::Status(404)),
            Condition::Flaky(every) if state.requests.is_multiple_of(every) => {
                // Only what creates may be told that it exists.
                let flakes = if request.is_create { &FLAKES[..] } else { &FLAKES[..6] };
                let turn = usize::try_from(state.requests / every).unwrap() % flakes.len();
                return Some(flakes[turn]);
            }
            Condition::Holds if is_write && request.key.contains("/state/") => {
                state.looks.insert(HELD.to_owned(), 1);
                self.changed.notify_all();
                state = self.changed.wait_while(state, |state| state.condition == Condition::Holds).unwrap();
            }
            _ => {}
        }
        if request.method == "GET" && state.cut > 0 {
            state.cut -= 1;
            return Some(Fault::CutShort);
        }
        if request.method != "PUT" {
            return None;
        }
        let later = if request.key.contains("/probe/") { None } else { state.later.pop_front() };
        state.faults.pop_front().or(later)
    }

    /// Status and body; `None` hangs up.
    fn answer(&self, request: &Request) -> Option<(u16, Vec<u8>)> {
        match request.method.as_str() {
            "PUT" => Some((if self.write(request) { 200 } else { 412 }, Vec::new())),
            "GET" if request.key.is_empty() => Some((200, self.list(&request.query))),
            "GET" => Some(match (self.state.lock().unwrap().objects.get(&request.key), request.range) {
                (Some(object), Some((first, last))) => {
                    (206, object.body[first..last.saturating_add(1).min(object.body.len())].to_vec())
                }
                (Some(object), None) => (200, object.body.clone()),
                (None, _) => (404, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
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
                self.changed.notify_all();
                Some((200, format!("<DeleteResult>{deleted}</DeleteResult>").into_bytes()))
            }
            "DELETE" => {
                self.state.lock().unwrap().objects.remove(&request.key);
                self.changed.notify_all();
                Some((204, Vec::new()))
            }
            other => panic!("the server does not know {other} {}", request.key),
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
                self.changed.notify_all();
                state = self.changed.wait_while(state, |it| it.looks[&request.key] < 2).unwrap();
            }
            _ => {}
        }
        state.objects.insert(request.key.clone(), Object { body: request.body.clone(), modified: YOUNG });
        self.changed.notify_all();
        true
    }

    fn list(&self, query: &HashMap<String, String>) -> Vec<u8> {
        let prefix = query.get("prefix").map_or("", String::as_str);
        let mut xml = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
        let mut folders = Vec::new();
        let state = self.state.lock().unwrap();
        let hidden = match state.condition {
            Condition::HidesNewest => state.objects.keys().rfind(|key| key.starts_with(prefix)),
            _ => None,
        };
        for (key, object) in state.objects.iter().filter(|(key, _)| Some(*key) != hidden) {
            let Some(rest) = key.strip_prefix(prefix) else { continue };
            if let Some((folder, _)) = rest.split_once('/').filter(|_| query.contains_key("delimiter")) {
                folders.push(format!("{prefix}{folder}/"));
                continue;
            }
            write!(
                xml,
                "<Contents><Key>{key}</Key><Size>{}</Size><ETag>1</ETag>\
                 <LastModified>{}</LastModified></Contents>",
                object.body.len(),
                object.modified
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
    let (mut length, mut is_create, mut range, mut authorization) = (0, false, None, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "if-none-match" => is_create = value.trim() == "*",
            "authorization" => authorization = value.trim().to_owned(),
            "range" => {
                let (first, last) = value.trim().strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                range = Some((first.parse().unwrap(), last.parse().unwrap_or(usize::MAX)));
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let path = path.strip_prefix(&format!("/{BUCKET}")).unwrap_or_else(|| panic!("another bucket: {path}"));
    let query = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query = query.map(|(name, value)| (name.to_owned(), value.replace("%2F", "/"))).collect();
    Some(Request { method, key: path.trim_start_matches('/').to_owned(), query, is_create, range, authorization, body })
}
