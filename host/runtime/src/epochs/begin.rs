//! Starting a job with checkpoints: claim, restore, publish what is listed, run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use contract::{CheckpointStore, Clock, Error, Randomness, Sink, SnapshotStore, Split};
use fail::fail_point;
use model::{Blame, Epoch, EventTime, Generation, HostTime, JobName, LineageId, OperatorUid, Retry, StateDescriptor};
use protocol::assignment_of_parts::inherit;
use protocol::coordinator::{Coordinator, Options, Start, SubtaskNumber};
use protocol::host_clock::{DEFAULT_JUMP_LIMIT, HostClock};
use protocol::key_group;
use protocol::manifest::{CheckpointKind, LogRecord, Manifest, Part};
use protocol::ownership::{Content, LineageChoice, LogEntry, Ownership, lineage_of};
use protocol::recovery::{Ledgers, Permissions, Recovery};
use protocol::retention::listed_output;

use super::accept::accept;
use super::driver::{Driver, DriverState, slow_after};
use super::failures::{self, checkpoints_uid};
use super::fit::{Drops, check_splits, fit, judge};
use super::link::EpochLink;
use super::own::{choose, claim, read};
use super::parting::Parting;
use super::publish::PublishingSink;
use super::rewrite::OnRewrite;
use super::shape::Shape;
use super::status::Status;
use super::stock::Stock;
use super::sweep::SweepRules;
use super::work::{Medium, Pool};
use crate::chain::splits::SplitClock;
use crate::control::Control;
use crate::graph::{Checked, JobGraph};
use crate::handle::{EpochsHandle, JobIdentity};
use crate::plan::{ChainSpec, HeadSpec, OperatorSpec, dead_letters_uid, plan};
use crate::start::{Durable, Shared, spawn_all};
use crate::{JobFailure, JobHandle};

/// What makes a job outlive its process.
#[derive(Clone)]
pub struct Durability {
    /// The log of its manifests.
    pub log: Arc<dyn CheckpointStore>,
    /// Where parts of its state lie.
    pub objects: Arc<dyn SnapshotStore>,
    /// For nonces and lineages.
    pub randomness: Arc<dyn Randomness>,
    /// How checkpoints are taken.
    pub options: Options,
    /// Who runs it, for a person: host, process, start.
    pub owner: String,
    /// Most bytes that wait to become durable or visible; at that many, sources do not read on.
    pub backlog_bytes: u64,
    /// How long a job that ends waits for calls of stores and targets that do not return, before it leaves them behind.
    pub parting: Duration,
    /// How many threads upload.
    pub upload_threads: usize,
    /// How many complete checkpoints are kept, at least one.
    pub retain: u32,
    /// State of the last checkpoint that may be dropped, as `operator/state`; `operator` alone for all of it.
    pub drop_state: Vec<String>,
    /// Go on though a target does not know what was published: it is a new one, or was emptied on purpose.
    pub ledger_behind: bool,
    /// Is told how far state is that has to be written anew before the job runs.
    pub on_rewrite: Option<OnRewrite>,
}

impl Durability {
    /// The most output of an ordinary epoch several times over, on a disk of today.
    pub const BACKLOG_BYTES: u64 = 4 << 30;
    /// Uploads wait for a disk or a network, not for a processor.
    pub const UPLOAD_THREADS: usize = 4;

    /// As long as a person waits for a program to end before they kill it.
    pub const PARTING: Duration = Duration::from_secs(10);

    /// The newest, and two to look back at.
    pub const RETAIN: u32 = 3;

    /// With default settings.
    #[must_use]
    pub fn new(
        log: Arc<dyn CheckpointStore>,
        objects: Arc<dyn SnapshotStore>,
        randomness: Arc<dyn Randomness>,
    ) -> Self {
        Self {
            log,
            objects,
            randomness,
            options: Options::default(),
            owner: String::new(),
            backlog_bytes: Self::BACKLOG_BYTES,
            parting: Self::PARTING,
            upload_threads: Self::UPLOAD_THREADS,
            retain: Self::RETAIN,
            drop_state: Vec::new(),
            ledger_behind: false,
            on_rewrite: None,
        }
    }
}

/// Messages that wait for the coordinator, which never waits for who sends them: far above what all subtasks of a wide
/// job hand over at a barrier.
const MOST_MESSAGES: usize = 64 * 1024;

/// Starts a job that outlives its process: it goes on from the newest checkpoint in its log, or begins with
/// nothing where there is none. What is opened and restored on the threads of the job fails the job, not this call.
///
/// # Errors
/// When the graph breaks a rule or does not fit the checkpoint, when log, sources or targets do not answer.
pub fn start_durable(graph: &JobGraph, clock: Arc<dyn Clock>, durability: &Durability) -> Result<JobHandle, Error> {
    let checked = Checked::new(graph)?;
    let splits = graph.sources.iter().map(|node| node.source.splits()).collect::<Result<Vec<_>, _>>()?;
    let ground = recover(graph, &splits, durability)?;
    let (mut specs, registry) = plan(&checked, splits);
    resume(&mut specs, &ground.last);
    let shape = Shape::of(graph, &ground.stored);
    let (to_coordinator, messages) = sync_channel(MOST_MESSAGES);
    let Ground { last, lineage, restored, ownership, publishers, .. } = ground;
    let generation = ownership.generation();
    let first_epoch_after = last.epoch;
    let link = EpochLink::new(last.epoch, last.host_clock, durability.backlog_bytes, to_coordinator);
    let medium = Medium {
        log: Arc::clone(&durability.log),
        objects: Arc::clone(&durability.objects),
        link: Arc::new(link),
        parting: Arc::new(Parting::new(Arc::clone(&clock), durability.parting)),
        control: Arc::new(Control::new(clock, specs.len(), 1)),
        rules: SweepRules { retain: durability.retain, generation },
        claims: Arc::default(),
    };
    let (link, control, registry) = (Arc::clone(&medium.link), Arc::clone(&medium.control), Arc::new(registry));
    let start = Start {
        subtasks: shape.subtasks(),
        sinks: shape.staging_sinks().map(|sink| pending_epochs(&last, &sink.uid)).collect(),
        first_epoch: Epoch(last.epoch.0 + 1),
    };
    let status = Status::new(shape.clone(), control.elapsed());
    let driver = Driver {
        coordinator: Coordinator::new(durability.options.clone(), start),
        messages,
        pool: Pool::new(durability.upload_threads, &medium).map_err(|error| no_thread(&error))?,
        sinks: start_publishing(publishers, &medium)?,
        medium,
        slow_after: slow_after(durability.options.timeout),
        clock: HostClock::new(last.host_clock, DEFAULT_JUMP_LIMIT),
        stock: Stock::new(shape.clone(), generation, last, parts_of(&specs, &shape)),
        registry: Arc::clone(&registry),
        randomness: Arc::clone(&durability.randomness),
        status: Arc::clone(&status),
        ownership,
        state: DriverState::default(),
    };
    let identity = JobIdentity { lineage, generation, restored };
    let epochs = EpochsHandle { status, link: Arc::clone(&link), identity };
    let handle = JobHandle::new(Arc::clone(&control), Arc::clone(&registry), Some(epochs));
    lead(driver, &control);
    let objects = Arc::clone(&durability.objects);
    let durable = Durable { link, objects, restored: first_epoch_after, lineage, generation };
    let job = graph.name.clone();
    spawn_all(specs, &Shared { control, registry, job, settings: graph.settings, durable: Some(durable) });
    Ok(handle)
}

/// What a job stands on when it starts.
struct Ground {
    ownership: Ownership,
    lineage: LineageId,
    /// What it goes on from; before the first manifest, one that says nothing.
    last: Manifest,
    restored: Option<Epoch>,
    /// How the values of each function look that another module may have stored.
    stored: BTreeMap<OperatorUid, Vec<StateDescriptor>>,
    publishers: Publishers,
}

/// Claims the job, and finds what it goes on from.
fn recover(graph: &JobGraph, splits: &[Vec<Split>], durability: &Durability) -> Result<Ground, Error> {
    let drops = Drops::parse(&durability.drop_state)?;
    check_before_claim(graph, splits, durability)?;
    let randomness = durability.randomness.as_ref();
    let lineage = LineageChoice::Continue(LineageId(randomness.draw()));
    let (mut ownership, entries) = claim(durability.log.as_ref(), randomness, &graph.name, &durability.owner, lineage)?;
    fail_point!("after-claim");
    let lineage = lineage_of(&entries).unwrap_or(ownership.lineage());
    let mut publishers = open_publishers(graph, lineage)?;
    let mut ledgers = Ledgers::new();
    for (uid, publisher) in &mut publishers {
        ledgers.insert(uid.clone(), publisher.last_published()?);
    }
    let permissions =
        Permissions { rewind: None, ledger_behind: durability.ledger_behind, drop: drops.operators.clone() };
    let mut stored = BTreeMap::new();
    let (last, restored) = match choose(&entries, graph, &ledgers, &permissions)? {
        Recovery::Begin => (blank(&graph.name, lineage, ownership.generation(), graph.settings.key_groups), None),
        Recovery::Resume(resume) => {
            if !resume.passed_over.is_empty() {
                tracing::warn!(passed_over = ?resume.passed_over, "newer records of the log cannot be read");
            }
            let mut fitted = fit(graph, resume.manifest, &drops)?;
            let manifest = &mut fitted.manifest;
            check_splits(graph, splits, manifest)?;
            for (uid, sink) in &mut manifest.sinks {
                sink.pending = resume.publish_first.get(uid).cloned().unwrap_or_default();
                // What only the target knew is noted: an epoch published just before the end of the last incarnation.
                sink.published = sink.published.max(ledgers.get(uid).copied().flatten());
            }
            stored = fitted.stored();
            let epoch = fitted.manifest.epoch;
            (accept(graph, &fitted, &mut ownership, durability)?, Some(epoch))
        }
    };
    discard_orphans(&mut publishers, &entries, ownership.generation())?;
    Ok(Ground { ownership, lineage, last, restored, stored, publishers })
}

/// Refuses what does not fit the newest checkpoint as long as whoever runs the job is not disturbed by it.
fn check_before_claim(graph: &JobGraph, splits: &[Vec<Split>], durability: &Durability) -> Result<(), Error> {
    let entries = read(durability.log.as_ref())?;
    let newest = entries.iter().rev().find_map(|entry| match &entry.content {
        Content::Record(LogRecord::Complete(manifest)) => Some(manifest),
        _ => None,
    });
    let Some(newest) = newest else { return Ok(()) };
    let fitted = judge(graph, newest, &durability.drop_state)?;
    check_splits(graph, splits, &fitted.manifest)
}

/// Gives each publisher its thread.
fn start_publishing(publishers: Publishers, medium: &Medium) -> Result<Vec<PublishingSink>, Error> {
    let mut sinks = Vec::new();
    for (at, (uid, publisher)) in publishers.into_iter().enumerate() {
        let (link, control) = (Arc::clone(&medium.link), Arc::clone(&medium.control));
        let parting = Arc::clone(&medium.parting);
        let started = PublishingSink::start(at, uid, publisher, link, control, parting);
        sinks.push(started.map_err(|error| no_thread(&error))?);
    }
    Ok(sinks)
}

/// Gives the coordinator its thread.
fn lead(mut driver: Driver, control: &Arc<Control>) {
    let leaves = Arc::clone(control);
    let led = thread::Builder::new().name("checkpoints".to_owned()).spawn(move || {
        let led = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| driver.run()));
        if led.is_err() {
            let message = "the thread of the checkpoints panicked".to_owned();
            leaves.fail(JobFailure::host(&checkpoints_uid(), model::SubtaskIndex(0), "E0520", message));
        }
        // It waits for its threads, of which one that goes on trying ends only when the job stops.
        drop(driver);
        leaves.left(None);
    });
    if let Err(error) = led {
        let message = format!("start the thread of the checkpoints: {error}");
        control.fail(failures::failure("E0522", Blame::Host, Retry::RestoreFirst, message));
        control.left(None);
    }
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::new(Blame::Host, Retry::Backoff, format!("start a thread for checkpoints: {error}")).with_code("E0522")
}

/// What comes before the first manifest.
fn blank(job: &JobName, lineage: LineageId, generation: Generation, key_groups: u16) -> Manifest {
    Manifest {
        job: job.clone(),
        lineage,
        generation,
        epoch: Epoch(0),
        parent: None,
        kind: CheckpointKind::Periodic,
        rewound: None,
        key_groups,
        key_hash: key_group::ALGORITHM.to_owned(),
        host_clock: HostTime(i64::MIN),
        watermark: EventTime::UNKNOWN,
        sources: BTreeMap::new(),
        operators: BTreeMap::new(),
        sinks: BTreeMap::new(),
    }
}

/// A sink that stages, and what publishes for it.
type Publishers = Vec<(OperatorUid, Box<dyn contract::Publisher>)>;

/// The publishers of the sinks that stage, in the coordinator's order.
fn open_publishers(graph: &JobGraph, lineage: LineageId) -> Result<Publishers, Error> {
    let mut publishers = Vec::new();
    let sinks = graph.sinks.iter().map(|node| (node.uid.clone(), Arc::clone(&node.sink)));
    let letters = graph.dead_letters.iter().map(|sink| (dead_letters_uid(), Arc::clone(sink)));
    let stages = |sink: &Arc<dyn Sink>| sink.delivery() == contract::Delivery::ExactlyOnce;
    for (uid, sink) in sinks.chain(letters).filter(|(_, sink)| stages(sink)) {
        let Some(publisher) = sink.publisher(lineage)? else {
            let message = format!("sink `{uid}` promises exactly-once and has no publisher");
            return Err(Error::new(Blame::Host, Retry::No, message).with_code("E0521"));
        };
        publishers.push((uid, publisher));
    }
    Ok(publishers)
}

/// Removes what earlier incarnations staged and no manifest of the log lists.
fn discard_orphans(publishers: &mut Publishers, entries: &[LogEntry], ours: Generation) -> Result<(), Error> {
    let listed = listed_output(entries);
    for (uid, publisher) in publishers {
        let listed = listed.get(uid).map(Vec::as_slice).unwrap_or_default();
        let removed = publisher.discard_orphans(listed, ours)?;
        if removed > 0 {
            tracing::info!(operator = uid.as_str(), removed, "removed staged output that no manifest lists");
        }
    }
    Ok(())
}

fn pending_epochs(manifest: &Manifest, sink: &OperatorUid) -> Vec<Epoch> {
    let pending = manifest.sinks.get(sink).into_iter().flat_map(|sink| &sink.pending);
    pending.map(|pending| pending.epoch).collect()
}

/// Lets sources and functions go on where the manifest says.
fn resume(specs: &mut [ChainSpec], manifest: &Manifest) {
    for spec in specs {
        if let HeadSpec::Source(source) = &mut spec.head {
            let known = manifest.sources.get(&source.responsible.operator);
            let known = known.map(|source| source.splits.as_slice()).unwrap_or_default();
            let mut clocks = Vec::with_capacity(source.splits.len());
            for assignment in &mut source.splits {
                let state = known.iter().find(|state| state.name == assignment.split.name);
                if let Some(state) = state {
                    assignment.position = Some(state.position);
                    assignment.identity.clone_from(&state.identity);
                }
                let greatest = state.map_or(EventTime::UNKNOWN, |state| state.greatest_event_time);
                let ended = state.is_some_and(|state| state.ended);
                clocks.push(SplitClock { split: assignment.split.index, greatest, ended });
            }
            source.clocks = Some(clocks);
        }
        for operator in &mut spec.operators {
            if let OperatorSpec::Function(function) = operator
                && let Some((_, scope)) = &function.state
                && let Some(known) = manifest.operators.get(&function.responsible.operator)
            {
                function.parts = inherit(&known.parts, &scope.key_groups);
            }
        }
    }
}

/// What the subtasks of functions are restored from.
fn parts_of(specs: &[ChainSpec], shape: &Shape) -> BTreeMap<SubtaskNumber, Vec<Part>> {
    let operators = specs.iter().flat_map(|spec| &spec.operators);
    let functions = operators.filter_map(|operator| match operator {
        OperatorSpec::Function(function) => Some(function),
        OperatorSpec::Sink(_) => None,
    });
    let numbered = functions.filter_map(|function| {
        let responsible = &function.responsible;
        Some((shape.number_of(&responsible.operator, responsible.subtask)?, function.parts.clone()))
    });
    numbered.collect()
}
