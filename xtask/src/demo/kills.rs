//! The second half of the demo: the job is killed at random points, started again, and nothing is missing or
//! there twice.
//!
//! The flights of the example are flown many times over, each time with ids and times of their own, so that the
//! job lasts. What must come out is computed here, by a model that knows nothing of the engine: the first delivery
//! of every id, and a later one only if its time to live is over.

use std::collections::HashMap;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use console::style;
use sha2::{Digest, Sha256};

use super::lines_below;

/// How often the flights are flown: seconds of work, and far more than what one checkpoint covers.
const COPIES: u64 = 80;
/// How often the job is killed.
const KILLS: u64 = 3;
/// How much of the output is committed when the job is killed, in per mille: from this, and so much more at most. So
/// the last kill leaves room for what is read until it comes.
const KILL_FROM: [u64; KILLS as usize] = [0, 250, 500];
const KILL_WITHIN: u64 = 200;
/// From the first flight of a copy to the first of the next: the flights span three months, and state lives a week.
const COPY_MILLIS: u64 = 100 * 24 * 3_600_000;
/// How long the function remembers an id, from its own source.
const TTL_MILLIS: u64 = 7 * 24 * 3_600_000;
/// How long output is waited for before the job counts as stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// Set to repeat a run.
const SEED: &str = "TIDEGATE_SEED";

/// Kills the job, starts it again, and returns what to print; an error if the output is not what the model says.
pub(super) fn run_and_check(root: &Path, tidegate: &Path, folder: &Path) -> Result<String> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove `{}`", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("make `{}`", folder.display()))?;
    let seed = seed()?;
    println!("seed {seed} (set {SEED} to repeat it)");
    let input = fs::read_to_string(root.join("examples/dedup/input/flights.jsonl")).context("read the flights")?;
    let (records, expected) = write_input(&input, &folder.join("flights.jsonl"))?;
    fs::write(folder.join("job.yaml"), job_file(root)?).context("write the job file")?;

    let mut random = Random(seed);
    let job = Job { tidegate: tidegate.to_owned(), folder: folder.to_owned() };
    let bytes = expected.iter().map(|line| line.len() as u64 + 1).sum::<u64>();
    for (kill, from) in (1..).zip(KILL_FROM) {
        let share = from + random.below(KILL_WITHIN);
        let then = Duration::from_millis(random.below(50));
        job.kill_after(bytes * share / 1000, then, kill)?;
    }
    job.run_to_end()?;
    let found = lines_below(&folder.join("clean"))?;
    compare(&expected, &found)?;
    let digest: String = digest(&found).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!(
        "{}  killed with SIGKILL {KILLS} times and started again: {records} records in, {} lines committed\n         \
         each of them is one that the model lets through, and none is missing or there twice: sha256 {digest}…",
        style("checked").green().bold(),
        found.len(),
    ))
}

/// A seed that a person gave, or one that the system draws.
fn seed() -> Result<u64> {
    match std::env::var(SEED) {
        Ok(text) => text.parse().with_context(|| format!("{SEED}: expected a whole number, found `{text}`")),
        Err(_) => {
            let file = Path::new("/proc/sys/kernel/random/uuid");
            let text = fs::read_to_string(file).unwrap_or_else(|_| std::process::id().to_string());
            let digest = Sha256::digest(text.as_bytes());
            Ok(digest.iter().take(4).fold(0, |seed, byte| seed << 8 | u64::from(*byte)))
        }
    }
}

/// Splitmix64: the same numbers for the same seed, for ever.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// Writes the flights of every copy. Returns how many records there are, and the lines that must come out, sorted.
fn write_input(flights: &str, path: &Path) -> Result<(u64, Vec<Vec<u8>>)> {
    let mut out = BufWriter::new(fs::File::create(path).context("make the input")?);
    let mut model = Model::default();
    let mut records = 0;
    for copy in 0..COPIES {
        for line in flights.lines() {
            let (line, id, delivered_at) = of_copy(line, copy)?;
            writeln!(out, "{line}").context("write the input")?;
            model.deliver(line, id, delivered_at);
            records += 1;
        }
    }
    out.flush().context("write the input")?;
    let mut expected = model.expected;
    expected.sort_unstable();
    Ok((records, expected))
}

/// A flight with the id and the time of a copy.
fn of_copy(line: &str, copy: u64) -> Result<(String, String, u64)> {
    let broken = || format!("find `id` and `delivered_at` in `{line}`");
    let (before_id, rest) = line.split_once("\"id\":\"").with_context(broken)?;
    let (id, rest) = rest.split_once('"').with_context(broken)?;
    let (between, rest) = rest.split_once("\"delivered_at\":").with_context(broken)?;
    let (time, rest) = rest.split_once(',').with_context(broken)?;
    let time = time.parse::<u64>().with_context(broken)? + copy * COPY_MILLIS;
    let id = format!("{id}-{copy}");
    Ok((format!("{before_id}\"id\":\"{id}\"{between}\"delivered_at\":{time},{rest}"), id, time))
}

/// What the function does, in a dozen lines that share nothing with it.
#[derive(Default)]
struct Model {
    seen: HashMap<String, u64>,
    expected: Vec<Vec<u8>>,
}

impl Model {
    fn deliver(&mut self, line: String, id: String, delivered_at: u64) {
        let is_repeat = self.seen.get(&id).is_some_and(|first| delivered_at < first + TTL_MILLIS);
        if !is_repeat {
            self.seen.insert(id, delivered_at);
            self.expected.push(line.into_bytes());
        }
    }
}

fn job_file(root: &Path) -> Result<String> {
    let module = root.join("examples/dedup/guest");
    let module = serde_json::to_string(module.to_str().context("the path of the repository is UTF-8")?)?;
    Ok(format!(
        "name: flights-dedup\nparallelism: 2\nbatch: {{ max_rows: 128 }}\ncheckpoint: {{ interval: 100ms }}\nsources:\n  flights:\n    file: {{ path: ./flights.jsonl }}\n    event_time: {{ field: /delivered_at, unit: ms }}\n    watermark: {{ max_out_of_orderness: 90days }}\nfunctions:\n  dedup:\n    input: flights\n    key: /id\n    module: {module}\nsinks:\n  clean:\n    input: dedup\n    file: {{ path: ./clean }}\ndead_letters: {{ file: {{ path: ./dead }} }}\n"
    ))
}

struct Job {
    tidegate: PathBuf,
    folder: PathBuf,
}

impl Job {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.tidegate);
        command.args(["run", "job.yaml", "--quiet"]).current_dir(&self.folder).stdin(Stdio::null());
        command.env_remove("TIDEGATE_STORAGE");
        command
    }

    /// Bytes of the files that a reader sees.
    fn committed_bytes(&self) -> u64 {
        let files = fs::read_dir(self.folder.join("clean")).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
    }

    /// Whether somebody has claimed the job.
    fn is_claimed(&self) -> bool {
        let log = fs::read_dir(self.folder.join(".tidegate/jobs/flights-dedup/log"));
        log.is_ok_and(|mut records| records.next().is_some())
    }

    /// Runs the job until so many bytes are committed, and `then` a little longer.
    fn kill_after(&self, bytes: u64, then: Duration, kill: u64) -> Result<()> {
        let mut child = self.command().stdout(Stdio::null()).spawn().context("start the job")?;
        let waited = self.wait_for(&mut child, bytes, then);
        let killed = child.kill();
        let status = child.wait().context("wait for the killed job")?;
        waited?;
        killed.context("kill the job")?;
        ensure!(!status.success(), "the job had ended before it was killed: nothing was shown");
        let committed = self.committed_bytes();
        println!("kill {kill} of {KILLS}: SIGKILL {then:?} after {bytes} bytes were committed; {committed} are now");
        Ok(())
    }

    fn wait_for(&self, child: &mut Child, bytes: u64, then: Duration) -> Result<()> {
        let mut looks = 0_u32;
        let look = Duration::from_millis(5);
        while !self.is_claimed() || self.committed_bytes() < bytes {
            if let Some(status) = child.try_wait().context("look at the job")? {
                bail!("the job ended with {status} before {bytes} bytes were committed");
            }
            ensure!(look * looks < PATIENCE, "the job committed nothing more within {PATIENCE:?}");
            std::thread::park_timeout(look);
            looks += 1;
        }
        std::thread::park_timeout(then);
        Ok(())
    }

    fn run_to_end(&self) -> Result<()> {
        let status = self.command().status().context("start the job")?;
        ensure!(status.success(), "the job ended with {status}");
        Ok(())
    }
}

fn compare(expected: &[Vec<u8>], found: &[Vec<u8>]) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let mut counts: HashMap<&[u8], i64> = HashMap::new();
    for line in expected {
        *counts.entry(line).or_default() -= 1;
    }
    for line in found {
        *counts.entry(line).or_default() += 1;
    }
    let missing = counts.values().filter(|count| **count < 0).count();
    let too_many = counts.values().filter(|count| **count > 0).count();
    let some = counts.iter().filter(|(_, count)| **count != 0).take(3);
    let some: Vec<String> = some.map(|(line, count)| format!("{count:+}: {}", String::from_utf8_lossy(line))).collect();
    bail!("{missing} lines are missing and {too_many} are there too often, such as\n  {}", some.join("\n  "));
}

fn digest(lines: &[Vec<u8>]) -> Vec<u8> {
    let mut digest = Sha256::new();
    for line in lines {
        digest.update(line);
        digest.update(b"\n");
    }
    digest.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"id":"a","delivered_at":1000,"delay":66}"#;

    #[test]
    fn every_copy_has_ids_and_times_of_its_own() {
        let (line, id, time) = of_copy(LINE, 2).unwrap();
        assert_eq!((id.as_str(), time), ("a-2", 1000 + 2 * COPY_MILLIS));
        assert_eq!(line, format!("{{\"id\":\"a-2\",\"delivered_at\":{time},\"delay\":66}}"));
        assert!(of_copy("{}", 0).is_err());
    }

    #[test]
    fn the_model_drops_repeats_within_the_time_to_live_and_no_others() {
        let mut model = Model::default();
        let times = [0, 1, TTL_MILLIS - 1, TTL_MILLIS, TTL_MILLIS + 1, 2 * TTL_MILLIS];
        for time in times {
            model.deliver(time.to_string(), "a".to_owned(), time);
        }
        model.deliver("b".to_owned(), "b".to_owned(), 1);
        let expected = [0, TTL_MILLIS, 2 * TTL_MILLIS].map(|time| time.to_string().into_bytes());
        assert_eq!(model.expected[..3], expected);
        assert_eq!(model.expected[3], b"b");
    }

    #[test]
    fn a_loss_and_a_repeat_do_not_make_up_for_each_other() {
        let lines = |text: &str| text.split(' ').map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>();
        assert!(compare(&lines("a b"), &lines("a b")).is_ok());
        let error = compare(&lines("a b"), &lines("a a")).unwrap_err().to_string();
        assert!(error.contains("1 lines are missing and 1 are there too often"), "{error}");
    }

    #[test]
    fn the_same_seed_draws_the_same_numbers() {
        let draw = |seed| (0..8).map(|_| Random(seed).below(1000)).collect::<Vec<_>>();
        assert_eq!(draw(7), draw(7));
        let mut random = Random(7);
        assert!((0..8).map(|_| random.below(1000)).collect::<std::collections::BTreeSet<_>>().len() > 4);
    }
}
