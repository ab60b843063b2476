//! Starting a job: open everything, then let records flow.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use contract::{Clock, Delivery, Polled, SnapshotStore, SourceReader, StatePart, WriterTask};
use fail::fail_point;
use model::{Epoch, Generation, HostTime, JobName, LineageId, Position, SplitIndex, TtlClock};
use protocol::host_clock::{DEFAULT_JUMP_LIMIT, HostClock};
use protocol::manifest::Part;

use crate::chain::context::{Context, Flow, Stop};
use crate::chain::function::{FunctionOperator, FunctionParts};
use crate::chain::keeping::Keeping;
use crate::chain::logs::LogBook;
use crate::chain::sink::SinkOperator;
use crate::chain::source::SourceHead;
use crate::chain::splits::SplitClocks;
use crate::chain::timers::TimerTable;
use crate::chain::{Chain, Head, Operator};
use crate::control::Control;
use crate::epochs::link::EpochLink;
use crate::graph::{Checked, JobGraph, Settings};
use crate::plan::{ChainSpec, FunctionSpec, HeadSpec, OperatorSpec, SinkSpec, SourceSpec, plan};
use crate::registry::Registry;
use crate::{JobFailure, JobHandle};

/// Starts a job. What is opened on the threads of the job, sinks, functions, tables and splits, fails the
/// job, not this call; no source is read before all of it is open.
///
/// # Errors
/// When the graph breaks a rule, or a source cannot say what its splits are.
pub fn start(graph: &JobGraph, clock: Arc<dyn Clock>) -> Result<JobHandle, contract::Error> {
    let checked = Checked::new(graph)?;
    let splits = graph.sources.iter().map(|node| node.source.splits()).collect::<Result<Vec<_>, _>>()?;
    let (specs, registry) = plan(&checked, splits);
    let shared = Shared {
        control: Arc::new(Control::new(clock, specs.len(), 0)),
        registry: Arc::new(registry),
        job: graph.name.clone(),
        settings: graph.settings,
        durable: None,
    };
    let handle = JobHandle::new(Arc::clone(&shared.control), Arc::clone(&shared.registry), None);
    spawn_all(specs, &shared);
    Ok(handle)
}

/// What every thread of a job is given.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) control: Arc<Control>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) job: JobName,
    pub(crate) settings: Settings,
    /// `None` in a job without checkpoints.
    pub(crate) durable: Option<Durable>,
}

/// What the threads of a job with checkpoints are given.
#[derive(Clone)]
pub(crate) struct Durable {
    pub(crate) link: Arc<EpochLink>,
    pub(crate) objects: Arc<dyn SnapshotStore>,
    pub(crate) restored: Epoch,
    pub(crate) lineage: LineageId,
    pub(crate) generation: Generation,
}

/// Gives each chain its thread.
pub(crate) fn spawn_all(specs: Vec<ChainSpec>, shared: &Shared) {
    for spec in specs {
        spawn(spec, shared.clone());
    }
}

fn spawn(spec: ChainSpec, shared: Shared) {
    let first = spec.first.clone();
    let control = Arc::clone(&shared.control);
    let name = format!("{}/{}", first.operator, first.subtask);
    if let Err(error) = thread::Builder::new().name(name).spawn(move || run(spec, &shared)) {
        let message = format!("start the thread of the subtask: {error}");
        control.fail(JobFailure::host(&first.operator, first.subtask, "E0522", message));
        control.left(None);
    }
}

/// The life of a thread.
fn run(spec: ChainSpec, shared: &Shared) {
    let (operator, subtask) = (spec.first.operator.clone(), spec.first.subtask);
    let span =
        tracing::info_span!("subtask", job = shared.job.as_str(), operator = operator.as_str(), subtask = subtask.0);
    let _in_span = span.enter();
    shared.control.register();
    let lived = catch_unwind(AssertUnwindSafe(|| {
        let chain = open(spec, shared)?;
        if shared.control.opened() { chain.run() } else { Err(Stop::Quiet) }
    }));
    let mut quiet = None;
    match lived {
        Ok(Ok(())) => {}
        Ok(Err(Stop::Failed(failure))) => shared.control.fail(*failure),
        Ok(Err(Stop::Quiet)) => {
            let message = "the subtask ended before its input".to_owned();
            quiet = Some(JobFailure::host(&operator, subtask, "E0521", message));
        }
        Err(panic) => {
            let message = format!("the subtask panicked: {}", text_of(panic.as_ref()));
            shared.control.fail(JobFailure::host(&operator, subtask, "E0520", message));
        }
    }
    shared.control.left(quiet);
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Opens everything that a thread needs, on that thread.
fn open(spec: ChainSpec, shared: &Shared) -> Flow<Chain> {
    let mut operators = Vec::with_capacity(spec.operators.len());
    for operator in spec.operators {
        operators.push(match operator {
            OperatorSpec::Function(function) => open_function(*function, shared)?,
            OperatorSpec::Sink(sink) => open_sink(sink, shared)?,
        });
    }
    let head = match spec.head {
        HeadSpec::Source(source) => Head::Source(open_source(source, shared)?),
        HeadSpec::Gate(gate) => {
            gate.bind();
            Head::Gate(gate)
        }
    };
    let control = Arc::clone(&shared.control);
    let epochs = shared.durable.as_ref().map(|durable| Arc::clone(&durable.link));
    let registry = Arc::clone(&shared.registry);
    let context = Context::new(control, registry, shared.settings.batch, epochs, spec.dead_letters);
    Ok(Chain { head, operators, context })
}

fn open_source(mut spec: SourceSpec, shared: &Shared) -> Flow<SourceHead> {
    spec.lane.open()?;
    let metrics = Arc::clone(&spec.responsible.metrics);
    spec.lane.clocks = spec.clocks.map(|clocks| SplitClocks::new(clocks, spec.watermark, metrics));
    let restored = shared.durable.as_ref().map_or(Epoch(0), |durable| durable.restored);
    let reader: Box<dyn SourceReader> = if spec.splits.is_empty() {
        Box::new(NothingToRead)
    } else {
        spec.source.open(spec.id, spec.splits).map_err(|error| spec.responsible.seam(&error))?
    };
    Ok(SourceHead::new(spec.responsible, spec.id, reader, &spec.format, spec.lane).after(restored))
}

fn open_function(mut spec: FunctionSpec, shared: &Shared) -> Flow<Operator> {
    let function = spec.factory.instantiate(&spec.task).map_err(|error| spec.responsible.seam(&error))?;
    let durable = shared.durable.as_ref();
    let keeping = match (&spec.state, durable) {
        (Some((_, scope)), Some(_)) => Some(Keeping::new(scope.key_groups.clone(), spec.parts.clone())),
        _ => None,
    };
    let mut state = match spec.state {
        Some((backend, scope)) => {
            let opened = match durable.filter(|_| !spec.parts.is_empty()) {
                Some(durable) => backend.restore(scope, &mut fetch(&spec.parts, durable.objects.as_ref())),
                None => backend.open(scope),
            };
            fail_point!("after-restore");
            Some(opened.map_err(|error| spec.responsible.seam(&error))?)
        }
        None => None,
    };
    for lane in spec.outputs.iter_mut().flat_map(|port| &mut port.lanes) {
        lane.open()?;
    }
    let timers = match &mut state {
        Some(state) if spec.factory.descriptor().timers => {
            let restored = TimerTable::restored(state.as_mut()).map_err(|error| spec.responsible.seam(&error))?;
            spec.responsible.metrics.timers_pending.set(restored.len() as u64);
            Some(Box::new(restored))
        }
        _ => None,
    };
    let responsible = spec.responsible;
    let metrics = Arc::clone(&responsible.metrics);
    let logs = LogBook::new(shared.job.clone(), responsible.operator.clone(), responsible.subtask, metrics);
    let states = &spec.factory.descriptor().states;
    let mut ttls = states.iter().filter_map(|state| state.ttl);
    Ok(Operator::Function(Box::new(FunctionOperator::new(FunctionParts {
        responsible,
        function,
        looks_by_event_time: ttls.any(|ttl| ttl.clock == TtlClock::EventTime),
        is_keyed: spec.factory.descriptor().keyed,
        renew_instances: shared.settings.renew_instances,
        outputs: spec.outputs,
        state,
        timers,
        keeping,
        clock: match durable {
            Some(durable) => HostClock::new(durable.link.least_now, DEFAULT_JUMP_LIMIT),
            // Nothing outlives the process: its clock is followed wherever it goes, but never back.
            None => HostClock::new(HostTime(i64::MIN), Duration::MAX),
        },
        logs,
    }))))
}

/// What a table is restored from, an object at a time.
fn fetch<'p>(
    parts: &'p [Part],
    objects: &'p dyn SnapshotStore,
) -> impl Iterator<Item = Result<StatePart, contract::Error>> + 'p {
    parts
        .iter()
        .flat_map(|part| part.objects.iter().map(move |object| (part, object)))
        .map(|(part, object)| Ok(StatePart { key_groups: part.key_groups.clone(), segments: objects.get(object)? }))
}

fn open_sink(spec: SinkSpec, shared: &Shared) -> Flow<Operator> {
    let responsible = spec.responsible;
    let mut task = WriterTask::plain(responsible.subtask, spec.parallelism);
    if let Some(durable) = &shared.durable {
        task.lineage = durable.lineage;
        task.generation = durable.generation;
    }
    let writer = spec.sink.open(&task).map_err(|error| responsible.seam(&error))?;
    let stages = spec.sink.delivery() == Delivery::ExactlyOnce;
    Ok(Operator::Sink(SinkOperator::new(responsible, writer, shared.settings.flush_age, stages)))
}

/// The reader of a subtask that was dealt no split.
struct NothingToRead;

impl SourceReader for NothingToRead {
    fn poll(&mut self, _max_rows: usize, _max_bytes: usize) -> Result<Polled, contract::Error> {
        Ok(Polled::End)
    }

    fn positions(&self) -> Vec<(SplitIndex, Position)> {
        Vec::new()
    }
}
