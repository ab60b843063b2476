//! The whole job file: top-level keys, then the operators, then how they hang together.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    BatchLimits, DEFAULT_KEY_GROUPS, DEFAULT_QUEUE_BYTES, JobName, MAX_KEY_GROUPS, MAX_PARALLELISM, OperatorUid,
    Parallelism,
};

use super::check::{At, Check, Keys, list};
use super::codes;
use super::graph::Graph;
use super::places::Places;
use super::problem::{JobFileErrors, Problems};
use super::spec::{JobSpec, OnError, StateBackendKind, StateSpec};
use super::{durability, functions, sinks, sources, tree};

/// The name under which the dead letters of a job appear among its operators.
const RESERVED_UID: &str = "dead-letters";

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// What the operators take from the job unless they say otherwise.
#[derive(Clone, Copy)]
pub(super) struct Defaults {
    pub(super) parallelism: Parallelism,
    pub(super) has_dead_letters: bool,
    pub(super) has_checkpoints: bool,
}

impl JobSpec {
    /// Reads a job file, YAML or JSON, and checks all of it that can be checked without looking at
    /// anything else.
    ///
    /// `file_name` is how messages name the file; the paths in it are relative to its directory.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, JobFileErrors> {
        Self::parse_with(text, file_name, None)
    }

    /// As [`JobSpec::parse`], with another `parallelism` of the job than the file says; operators that
    /// name their own keep it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse_with(text: &str, file_name: &str, parallelism: Option<Parallelism>) -> Result<Self, JobFileErrors> {
        let places = Places::new(file_name, text);
        let mut check = Check { problems: Problems::new(Arc::clone(places.text())), places };
        let root = tree::read(text, &mut check.problems);
        let spec = root.and_then(|root| {
            let at = At { path: String::new(), node: &root, span: 0..0 };
            read_job(&mut check, &at, parallelism)
        });
        match spec {
            Some(spec) if check.problems.is_empty() => Ok(Self { places: check.places, ..spec }),
            _ => Err(check.problems.into_errors(file_name)),
        }
    }
}

fn read_job(check: &mut Check, root: &At<'_>, instead: Option<Parallelism>) -> Option<JobSpec> {
    let mut keys = check.keys(root)?;
    let name = keys.require(check, "name", "a name for the job, such as `orders-dedup`");
    let name = name.and_then(|at| read_job_name(check, &at));
    let parallelism = read_parallelism(check, &mut keys, Parallelism(1));
    let parallelism = instead.unwrap_or(parallelism);
    let key_groups = read_key_groups(check, &mut keys);
    let checkpoint = keys.take(check, "checkpoint").map(|at| durability::read_checkpoint(check, &at));
    let state = keys.take(check, "state").map_or(DEFAULT_STATE, |at| read_state(check, &at, checkpoint.is_some()));
    let restart = durability::read_restart(check, &mut keys, checkpoint.is_some());
    let batch = keys.take(check, "batch").map_or_else(BatchLimits::default, |at| read_batch(check, &at));
    let queue_bytes = keys
        .take(check, "queue_bytes")
        .and_then(|at| check.size_bytes(&at, 64 * KIB..=GIB))
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(DEFAULT_QUEUE_BYTES);
    let dead_letters_at = keys.take(check, "dead_letters");
    let defaults =
        Defaults { parallelism, has_dead_letters: dead_letters_at.is_some(), has_checkpoints: checkpoint.is_some() };

    let mut graph = Graph::default();
    let sources = keys.require(check, "sources", "a mapping of at least one source");
    let sources = sources.map(|at| sources::read(check, &mut graph, &at, defaults)).unwrap_or_default();
    let functions = keys.take(check, "functions");
    let functions = functions.map(|at| functions::read(check, &mut graph, &at, defaults)).unwrap_or_default();
    let sinks = keys.require(check, "sinks", "a mapping of at least one sink (`blackhole: {}` is one)");
    let sinks = sinks.map(|at| sinks::read(check, &mut graph, &at, defaults)).unwrap_or_default();
    let dead_letters = dead_letters_at.and_then(|at| sinks::read_dead_letters(check, &at, defaults));
    keys.finish(check);

    graph.check(check);
    sinks::check_targets(check, &sinks, dead_letters.as_ref());
    functions::check_keys_of_raw_sources(check, &functions, &sources);
    let places = Places::default();
    Some(JobSpec {
        name: name?,
        parallelism,
        key_groups,
        checkpoint,
        restart,
        state,
        batch,
        queue_bytes,
        sources,
        functions,
        sinks,
        dead_letters,
        places,
    })
}

const DEFAULT_STATE: StateSpec = StateSpec { backend: StateBackendKind::Memory };

fn read_job_name(check: &mut Check, at: &At<'_>) -> Option<JobName> {
    let text = check.text(at, "a name of a-z, 0-9 and `-`, such as `orders-dedup`")?;
    JobName::new(text).map_err(|error| bad_name(check, at, text, &error.to_string())).ok()
}

/// The name of an operator, from the key that it stands under.
pub(super) fn read_uid(check: &mut Check, at: &At<'_>, text: &str) -> Option<OperatorUid> {
    if text == RESERVED_UID {
        check.problem(codes::BAD_NAME, at, format!("the name `{text}` is that of the `dead_letters` of the job"));
        return None;
    }
    OperatorUid::new(text).map_err(|error| bad_name(check, at, text, &error.to_string())).ok()
}

fn bad_name(check: &mut Check, at: &At<'_>, text: &str, message: &str) {
    let mut close = String::new();
    for c in text.to_lowercase().chars().take(64) {
        let c = if c == '_' || c == ' ' || c == '.' { '-' } else { c };
        if c == '-' || c.is_ascii_digit() || c.is_ascii_lowercase() {
            close.push(c);
        }
    }
    let help = OperatorUid::new(&close).ok().map(|close| format!("`{close}` would be one"));
    let message =
        if text.len() > 100 { "not a name: longer than 64 characters".to_owned() } else { message.to_owned() };
    check.problem_with_help(codes::BAD_NAME, at, message, help);
}

pub(super) fn read_parallelism(check: &mut Check, keys: &mut Keys<'_>, default: Parallelism) -> Parallelism {
    let given = keys.take(check, "parallelism").and_then(|at| check.integer(&at, 1..=u64::from(MAX_PARALLELISM)));
    given.and_then(|count| u32::try_from(count).ok()).map_or(default, Parallelism)
}

fn read_key_groups(check: &mut Check, keys: &mut Keys<'_>) -> u16 {
    let given = keys.take(check, "key_groups").and_then(|at| check.integer(&at, 1..=u64::from(MAX_KEY_GROUPS)));
    given.and_then(|count| u16::try_from(count).ok()).unwrap_or(DEFAULT_KEY_GROUPS)
}

fn read_state(check: &mut Check, at: &At<'_>, has_checkpoints: bool) -> StateSpec {
    let Some(mut keys) = check.keys(at) else { return DEFAULT_STATE };
    let kinds = [("memory", StateBackendKind::Memory), ("rocksdb", StateBackendKind::RocksDb)];
    let mut spec = DEFAULT_STATE;
    if let Some(at) = keys.take(check, "backend")
        && let Some(backend) = check.choice(&at, &kinds)
    {
        spec.backend = backend;
        if backend == StateBackendKind::RocksDb && !has_checkpoints {
            let message =
                "`rocksdb` needs the job to have `checkpoint`: what a function keeps goes to disk with every one";
            let help = Some("add `checkpoint: {}` to the job".to_owned());
            check.problem_with_help(codes::NEEDS_CHECKPOINT, &at, message.to_owned(), help);
        }
    }
    keys.finish(check);
    spec
}

fn read_batch(check: &mut Check, at: &At<'_>) -> BatchLimits {
    let mut batch = BatchLimits::default();
    let Some(mut keys) = check.keys(at) else { return batch };
    if let Some(rows) = keys.take(check, "max_rows").and_then(|at| check.integer(&at, 1..=65_536)) {
        batch.max_rows = usize::try_from(rows).unwrap_or(batch.max_rows);
    }
    if let Some(bytes) = keys.take(check, "max_bytes").and_then(|at| check.size_bytes(&at, KIB..=64 * MIB)) {
        batch.max_bytes = usize::try_from(bytes).unwrap_or(batch.max_bytes);
    }
    let ages = Duration::ZERO..=Duration::from_secs(10);
    if let Some(age) = keys.take(check, "max_age").and_then(|at| check.duration(&at, ages)) {
        batch.max_age = age;
    }
    keys.finish(check);
    batch
}

/// What becomes of bad records; without a word about it they go to the dead letters if the job has
/// them, else the job fails.
pub(super) fn read_on_error(check: &mut Check, keys: &mut Keys<'_>, defaults: Defaults) -> OnError {
    let default = OnError::default_of(defaults.has_dead_letters);
    let Some(at) = keys.take(check, "on_error") else { return default };
    let words = [("fail", OnError::Fail), ("skip", OnError::Skip), ("dead-letter", OnError::DeadLetter)];
    let Some(chosen) = check.choice(&at, &words) else { return default };
    if chosen == OnError::DeadLetter && !defaults.has_dead_letters {
        let help = "add `dead_letters: { file: { path: ./dead/ } }` to the job".to_owned();
        let message = "`dead-letter` needs the job to have `dead_letters`".to_owned();
        check.problem_with_help(codes::NO_DEAD_LETTERS, &at, message, Some(help));
    }
    chosen
}

/// The one connector of a source or a sink: which, and its options.
pub(super) fn read_connector<'n>(
    check: &mut Check,
    keys: &mut Keys<'n>,
    available: &[&'static str],
    not_yet: &[&'static str],
) -> Option<(&'static str, At<'n>)> {
    let mut found = Vec::new();
    for &name in available {
        found.extend(keys.take(check, name).map(|at| (name, at)));
    }
    let mut refused = Vec::new();
    for &name in not_yet {
        if keys.not_available(check, name, Some(format!("use one of {}", list(available.iter())))) {
            refused.push(name);
        }
    }
    let names: Vec<_> = found.iter().map(|(name, _)| *name).chain(refused.iter().copied()).collect();
    if names.len() != 1 {
        let found_words = if names.is_empty() { "none".to_owned() } else { list(names.iter()) };
        let message = format!("expected exactly one of {}: found {found_words}", list(available.iter()));
        let wanted = if names.is_empty() { available } else { &[] };
        keys.lacks(check, wanted, codes::CONNECTOR_COUNT, message);
    }
    found.into_iter().next()
}

/// A path of the file system.
pub(super) fn read_path(check: &mut Check, at: &At<'_>) -> Option<std::path::PathBuf> {
    let text = check.text(at, "a path")?;
    if text.is_empty() || text.contains('\0') {
        check.problem(codes::WRONG_VALUE, at, format!("expected a path: found {}", at.node.describe()));
        return None;
    }
    Some(text.into())
}
