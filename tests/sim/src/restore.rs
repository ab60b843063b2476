//! How a host comes to own the job, and to stand where a manifest says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use contract::doubles::MapBackend;
use contract::{CheckpointStore, Nonce, SnapshotStore, StateBackend, StatePart, StateScope};
use model::{
    Epoch, JobName, KeyGroup, KeyGroupRange, LineageId, OperatorUid, Parallelism, StateDescriptor, StateKind,
    SubtaskIndex,
};
use protocol::alignment::Alignment;
use protocol::assignment_of_parts::inherit;
use protocol::coordinator::{Coordinator, Fact, Options, Start};
use protocol::key_group::{ALGORITHM, Assignment};
use protocol::manifest::{self, LogRecord, Manifest, Part};
use protocol::ownership::{ClaimStep, Claiming, Content, LineageChoice, LogEntry, Outcome, Ownership};
use protocol::recovery::{self, Ledgers, Permissions, Recovery};

use crate::bugs::Bug;
use crate::host::Host;
use crate::oracle::Violation;
use crate::tasks::{COUNT, Counter, Reader};
use crate::world::Surroundings;

/// Key groups of the job.
pub(crate) const KEY_GROUPS: u16 = 8;

pub(crate) fn job() -> JobName {
    JobName::new("counts").expect("it is a name")
}

pub(crate) fn uid(text: &str) -> OperatorUid {
    OperatorUid::new(text).expect("it is a name")
}

/// The state that a counter declares.
pub(crate) fn states() -> Vec<StateDescriptor> {
    let schema = r#"{"type":"integer"}"#.to_owned();
    vec![StateDescriptor { id: COUNT, name: "count".to_owned(), kind: StateKind::Value, schema, version: 1, ttl: None }]
}

/// The records of the log, as they can be read. `None`: the medium did not answer.
fn read_log(log: &dyn CheckpointStore) -> Option<Vec<LogEntry>> {
    let mut entries = Vec::new();
    for number in log.list().ok()? {
        let content = match log.read(number) {
            Ok(Some(object)) => match manifest::decode(&object.body) {
                Ok(record) => Content::Record(record),
                Err(error) => Content::Damaged(error.to_string()),
            },
            Ok(None) => continue,
            Err(_) => return None,
        };
        entries.push(LogEntry { number, content });
    }
    Some(entries)
}

/// Claims the job. `None`: the medium did not answer, and the host gives up.
fn claim(around: &mut Surroundings) -> Result<Option<(Ownership, Vec<LogEntry>)>, Violation> {
    let lineage = LineageChoice::Continue(LineageId(around.rng.draw()));
    let mut claiming = Claiming::new(job(), format!("host {}", around.hosts_started), lineage);
    loop {
        let Some(entries) = read_log(&around.log) else { return Ok(None) };
        let refused = |error: protocol::ownership::Error| Violation::Refused { why: error.to_string() };
        let (number, claim) = claiming.propose(&entries).map_err(refused)?;
        let body = manifest::encode(&LogRecord::Claim(claim));
        let nonce = Nonce(u128::from(around.rng.draw()) << 64 | u128::from(around.rng.draw()));
        let mut attempts = 0;
        let step = loop {
            let outcome = around.log.create(number, nonce, &body).map_or(Outcome::Unknown, Outcome::from);
            match claiming.after_create(outcome) {
                ClaimStep::CreateAgain if attempts > 20 => return Ok(None),
                ClaimStep::CreateAgain => attempts += 1,
                step => break step,
            }
        };
        match step {
            ClaimStep::Own(ownership) => return Ok(Some((ownership, entries))),
            ClaimStep::ReadAgain | ClaimStep::CreateAgain => {}
        }
    }
}

/// A host that stands where the newest manifest says, at a parallelism that is drawn anew. `None`: it crashed, or gave
/// up, on the way.
pub(crate) fn start(around: &mut Surroundings) -> Result<Option<Host>, Violation> {
    around.hosts_started += 1;
    let Some((ownership, entries)) = claim(around)? else { return Ok(None) };
    if !around.is_calm && around.rng.once_in(10) {
        return Ok(None);
    }
    let bug = around.bug;
    let lineage = ownership.lineage();
    let mut ledgers = Ledgers::new();
    if bug != Some(Bug::SkipLedger) {
        ledgers.insert(uid("sink"), around.target.last_published(lineage));
    }
    let wanted = recovery::Job {
        name: job(),
        key_groups: KEY_GROUPS,
        key_hash: ALGORITHM.to_owned(),
        sources: BTreeSet::from([uid("source")]),
        operators: BTreeSet::from([uid("count")]),
        sinks: BTreeSet::from([uid("sink")]),
        publishing: BTreeSet::from([uid("sink")]),
    };
    let recovered = recovery::choose(&entries, &wanted, &ledgers, &Permissions::default())
        .map_err(|refusal| Violation::Refused { why: refusal.to_string() })?;
    let (manifest, pending, first_epoch) = match recovered {
        Recovery::Begin => (None, Vec::new(), Epoch(1)),
        Recovery::Resume(resume) => {
            let first_epoch = resume.first_epoch();
            let pending = resume.publish_first.get(&uid("sink")).cloned().unwrap_or_default();
            (Some(resume.manifest), if bug == Some(Bug::ForgetPending) { Vec::new() } else { pending }, first_epoch)
        }
    };
    let parallelism = Parallelism(1 + u32::try_from(around.rng.below(3)).unwrap_or(0));
    check_there(around, manifest.as_ref())?;
    let Some(counters) = counters(around, manifest.as_ref(), parallelism) else { return Ok(None) };
    let readers = readers(around, manifest.as_ref());
    let subtasks = u32::try_from(readers.len() + counters.len()).unwrap_or(u32::MAX);
    let options = Options {
        interval: Some(Duration::from_millis(200)),
        timeout: Duration::from_millis(150),
        min_pause: Duration::from_millis(20),
        create_again_after: Duration::from_millis(30),
        ..Options::default()
    };
    let sinks = vec![pending.iter().map(|pending| pending.epoch).collect()];
    let coordinator = Coordinator::new(options, Start { subtasks, sinks, first_epoch });
    let mut host = Host {
        number: around.hosts_started,
        next_number: ownership.next_number().map_err(|fenced| Violation::Refused { why: fenced.to_string() })?,
        ownership,
        coordinator,
        started: around.now,
        published: ledgers.get(&uid("sink")).copied().flatten(),
        parent: manifest.as_ref().map(|manifest| manifest.epoch),
        pending,
        readers,
        counters,
        uploads: Vec::new(),
        handed: BTreeMap::new(),
        creating: None,
        publishes: VecDeque::new(),
        said_ended: false,
        is_over: None,
    };
    host.tell(around, Fact::Started);
    Ok(Some(host))
}

/// What a manifest lists is there, whether or not the medium answers now.
fn check_there(around: &Surroundings, manifest: Option<&Manifest>) -> Result<(), Violation> {
    let names = around.objects.names();
    let operators = manifest.into_iter().flat_map(|manifest| manifest.operators.values());
    let mut objects = operators.flat_map(|operator| &operator.parts).flat_map(|part| &part.objects);
    match objects.find(|object| !names.contains(&object.name)) {
        Some(object) => Err(Violation::StateGone { name: object.name.clone() }),
        None => Ok(()),
    }
}

fn readers(around: &Surroundings, manifest: Option<&Manifest>) -> Vec<Reader> {
    let position = |split: usize| {
        let source = manifest.and_then(|manifest| manifest.sources.get(&uid("source")));
        let known = source.and_then(|source| source.splits.iter().find(|known| known.name == split.to_string()));
        known.map_or(0, |known| usize::try_from(known.position.0).unwrap_or(usize::MAX))
    };
    (0..around.input.splits.len()).map(|split| Reader { position: position(split), ..Reader::default() }).collect()
}

fn counters(around: &Surroundings, manifest: Option<&Manifest>, parallelism: Parallelism) -> Option<Vec<Counter>> {
    let assignment = Assignment::new(KEY_GROUPS, parallelism).expect("few subtasks, more groups");
    let all = KeyGroupRange { first: KeyGroup(0), end: KeyGroup(KEY_GROUPS) };
    let listed: &[Part] =
        manifest.and_then(|manifest| manifest.operators.get(&uid("count"))).map_or(&[], |operator| &operator.parts);
    let mut counters = Vec::new();
    for subtask in 0..parallelism.0 {
        let range = assignment.range_of(SubtaskIndex(subtask));
        let mut parts = inherit(listed, &range);
        if around.bug == Some(Bug::RestoreWholeParts) {
            parts = listed.iter().map(|part| Part { key_groups: all.clone(), ..part.clone() }).collect();
        }
        let scope = StateScope {
            operator: uid("count"),
            key_groups: range.clone(),
            key_group_count: KEY_GROUPS,
            states: states(),
        };
        let mut restored = parts.iter().map(|part| {
            let mut segments = Vec::new();
            for object in &part.objects {
                segments.extend(around.objects.get(object)?);
            }
            Ok(StatePart { key_groups: part.key_groups.clone(), segments })
        });
        // The medium may not answer; then this start is given up, as after a crash.
        let state = MapBackend.restore(scope, &mut restored).ok()?;
        let inputs = around.input.splits.len();
        counters.push(Counter {
            range,
            state,
            alignment: Alignment::new(inputs),
            channels: vec![VecDeque::new(); inputs],
            output: Vec::new(),
            parts,
            last_snapshot: Epoch(0),
        });
    }
    Some(counters)
}
