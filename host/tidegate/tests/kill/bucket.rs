//! The storage is a bucket: the same promises, on a store that is away, slow, refuses, lies and loses.

use std::process::{Child, Command, Output};

use protocol::manifest::LogRecord;

use crate::kit::{LINES, PACE, SLOW, World, kill, said};
use crate::oracle;
use crate::server::{Condition, Exclusive, Server};

mod collecting;
mod faults;
mod kills;
mod looking;

/// Who we are to the server: nobody may read it anywhere.
const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// Where a job lies in the bucket.
const PLACE: &str = "some/prefix/jobs/flights";

/// A world whose storage is a bucket. A copy of the bucket is where the storage of other worlds is, so that the same
/// eyes look at it.
struct Bucket {
    world: World,
    server: Server,
}

impl Bucket {
    fn new(seed: u64) -> Self {
        Self::with_checkpoints(seed, "interval: 10ms")
    }

    fn with_checkpoints(seed: u64, checkpoint: &str) -> Self {
        Self { world: World::with_checkpoints(seed, checkpoint), server: Server::start(Exclusive::Honoured) }
    }

    fn append(&mut self) {
        self.world.append(LINES);
    }

    fn command(&self, points: &str, more: &[&str]) -> Command {
        let mut command = self.world.command(points, more);
        self.signed(&mut command);
        command
    }

    /// Another command of the binary.
    fn other(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(arguments).current_dir(self.world.path("."));
        self.signed(&mut command);
        silent(command.output().expect("the binary starts"))
    }

    fn signed(&self, command: &mut Command) {
        command.env("TIDEGATE_STORAGE", self.server.url());
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
        for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_ALLOW_HTTP", "AWS_SESSION_TOKEN"] {
            command.env_remove(name);
        }
    }

    fn spawn(&self, points: &str, more: &[&str]) -> Child {
        self.command(points, more).spawn().expect("the binary starts")
    }

    /// Looks at the bucket as at a folder.
    fn look(&self) {
        self.server.copy_to(&self.world.path(".tidegate"));
        self.world.check_hidden();
        self.world.check_listed();
    }

    /// Runs with points armed. Says whether one of them ended it.
    fn run_armed(&self, points: &str, more: &[&str]) -> bool {
        let ended = silent(self.command(points, more).output().expect("the binary starts"));
        let was_killed = std::os::unix::process::ExitStatusExt::signal(&ended.status) == Some(9);
        assert!(was_killed || ended.status.success(), "{points}: {}", said(&ended));
        self.look();
        was_killed
    }

    /// Runs to the end of the input.
    fn finish(&self, more: &[&str]) -> Output {
        let ended = silent(self.command("", more).output().expect("the binary starts"));
        assert!(ended.status.success(), "{}", said(&ended));
        self.look();
        ended
    }

    /// Runs to the end of the input, and panics unless what is committed is the model's.
    fn finish_and_check(&mut self) {
        self.append();
        self.finish(&[]);
        self.world.check();
    }

    /// Runs, which must be refused, with nothing becoming visible. Returns what was said.
    fn refused(&self) -> String {
        let before = oracle::visible(&self.world.path("out"));
        let ended = silent(self.command("", &[]).output().expect("the binary starts"));
        assert!(!ended.status.success(), "it must not start");
        assert_eq!(oracle::visible(&self.world.path("out")), before);
        said(&ended)
    }

    /// A process that has had a few checkpoints and has not ended.
    fn running(&mut self) -> Child {
        self.world.append(8 * LINES);
        let mut child = self.spawn(SLOW, &[]);
        let records = self.records();
        assert!(World::wait_for(&mut child, || self.records() > records + 3), "it ended too early");
        child
    }

    /// How many objects the log has.
    fn records(&self) -> usize {
        self.server.keys().iter().filter(|key| key.starts_with(&format!("{PLACE}/log/"))).count()
    }

    /// The keys of state.
    fn state(&self) -> Vec<String> {
        self.server.keys().into_iter().filter(|key| key.starts_with(&format!("{PLACE}/state/"))).collect()
    }
}

/// What a process said, in which no secret is.
fn silent(ended: Output) -> Output {
    for text in [&ended.stdout, &ended.stderr].map(|bytes| String::from_utf8_lossy(bytes)) {
        assert!(!text.contains(KEY) && !text.contains(SECRET), "a secret is printed: {text}");
    }
    ended
}
