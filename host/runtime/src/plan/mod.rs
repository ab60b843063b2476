//! From a checked graph to one specification per thread, with the queues between them.

mod groups;
mod lanes;

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::{FunctionFactory, Sink, Source, Split, SplitAssignment, StateBackend, StateScope, Task};
use format::Format;
use model::job::OnError;
use model::{
    EventTime, InputId, KeyGroup, KeyGroupRange, OperatorUid, Parallelism, SourceId, StreamElement, SubtaskIndex,
};
use protocol::key_group::Assignment;
use protocol::manifest::Part;

pub(crate) use self::groups::{Groups, Node};
use crate::chain::context::Responsible;
use crate::chain::emits::OutputPort;
use crate::chain::gate::{Gate, Inlet};
use crate::chain::lane::Lane;
use crate::chain::outlet::Outlet;
use crate::chain::splits::SplitClock;
use crate::graph::{Checked, DEAD_LETTERS_UID, JobGraph, Producer, Watermarks};
use crate::metrics::{OperatorKind, SubtaskMetrics};
use crate::queue::{Sender, Signal, queue};
use crate::registry::Registry;

/// One thread: what it is made of, before anything is opened.
pub(crate) struct ChainSpec {
    /// Who answers for what is nobody's in particular: its first operator.
    pub(crate) first: Responsible,
    pub(crate) head: HeadSpec,
    pub(crate) operators: Vec<OperatorSpec>,
    pub(crate) dead_letters: Option<Outlet>,
}

/// Where its records come from.
pub(crate) enum HeadSpec {
    /// It reads them.
    Source(SourceSpec),
    /// It receives them.
    Gate(Gate),
}

/// A subtask of a source.
pub(crate) struct SourceSpec {
    pub(crate) responsible: Responsible,
    pub(crate) id: SourceId,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) splits: Vec<SplitAssignment>,
    pub(crate) format: Format,
    pub(crate) watermark: Watermarks,
    /// Where the event-time clocks of its splits stood; `None` where nobody asks for them.
    pub(crate) clocks: Option<Vec<SplitClock>>,
    pub(crate) lane: Lane,
}

/// A subtask of an operator behind the head.
pub(crate) enum OperatorSpec {
    /// Runs a function.
    Function(Box<FunctionSpec>),
    /// Writes.
    Sink(SinkSpec),
}

/// A subtask of a function.
pub(crate) struct FunctionSpec {
    pub(crate) responsible: Responsible,
    pub(crate) factory: Arc<dyn FunctionFactory>,
    pub(crate) task: Task,
    pub(crate) state: Option<(Arc<dyn StateBackend>, StateScope)>,
    /// What its state is restored from, in order.
    pub(crate) parts: Vec<Part>,
    pub(crate) outputs: Vec<OutputPort>,
}

/// A subtask of a sink.
pub(crate) struct SinkSpec {
    pub(crate) responsible: Responsible,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) parallelism: Parallelism,
}

/// Makes the specifications. `splits` are those of each source, in the order of the graph.
pub(crate) fn plan(checked: &Checked<'_>, splits: Vec<Vec<Split>>) -> (Vec<ChainSpec>, Registry) {
    let mut planner = Planner {
        checked,
        groups: Groups::new(checked),
        registry: registry_for(checked.graph, splits),
        arrivals: BTreeMap::new(),
        inlets: BTreeMap::new(),
        letters: (Arc::default(), Vec::new()),
    };
    let specs = planner.specs();
    (specs, planner.registry)
}

struct Planner<'a> {
    checked: &'a Checked<'a>,
    groups: Groups,
    registry: Registry,
    /// Where the subtasks of each chain wait.
    arrivals: BTreeMap<(usize, u32), Arc<Signal>>,
    /// What arrives at the subtasks of each chain.
    inlets: BTreeMap<(usize, u32), Vec<Inlet>>,
    /// The same for the dead letters.
    letters: (Arc<Signal>, Vec<Inlet>),
}

impl Planner<'_> {
    fn specs(&mut self) -> Vec<ChainSpec> {
        let mut parts = Vec::new();
        for group in 0..self.groups.0.len() {
            let parallelism = self.groups.0.get(group).map_or(0, |group| group.parallelism);
            for subtask in 0..parallelism {
                parts.push((group, subtask, self.chain(group, SubtaskIndex(subtask))));
            }
        }
        let mut specs = Vec::with_capacity(parts.len() + 1);
        for (group, subtask, part) in parts {
            let (first, source, operators) = part;
            let is_sinks_alone =
                source.is_none() && operators.iter().all(|operator| matches!(operator, OperatorSpec::Sink(_)));
            let dead_letters = if is_sinks_alone { None } else { self.letter_outlet() };
            let head = match source {
                Some(source) => HeadSpec::Source(source),
                None => {
                    let inlets = self.inlets.remove(&(group, subtask)).unwrap_or_default();
                    HeadSpec::Gate(Gate::new(inlets, self.arrival(group, subtask)))
                }
            };
            specs.push(ChainSpec { first, head, operators, dead_letters });
        }
        specs.extend(self.dead_letters());
        specs
    }

    /// One subtask of a chain: who is first, its source if it has one, and its other operators.
    fn chain(&mut self, group: usize, subtask: SubtaskIndex) -> (Responsible, Option<SourceSpec>, Vec<OperatorSpec>) {
        let nodes = self.groups.0.get(group).map(|group| group.nodes.clone()).unwrap_or_default();
        let mut source = None;
        let mut operators = Vec::new();
        for node in nodes {
            match node {
                Node::Source(index) => source = self.source(index, subtask),
                Node::Function(index) => {
                    operators.extend(self.function(index, subtask).map(|spec| OperatorSpec::Function(Box::new(spec))));
                }
                Node::Sink(index) => operators.extend(self.sink(index, subtask).map(OperatorSpec::Sink)),
            }
        }
        let first = match (&source, operators.first()) {
            (Some(source), _) => source.responsible.clone(),
            (None, Some(OperatorSpec::Function(function))) => function.responsible.clone(),
            (None, Some(OperatorSpec::Sink(sink))) => sink.responsible.clone(),
            (None, None) => unreachable!("a chain has at least one node"),
        };
        (first, source, operators)
    }

    fn source(&mut self, index: usize, subtask: SubtaskIndex) -> Option<SourceSpec> {
        let node = self.checked.graph.sources.get(index)?;
        let metrics = self.metrics(&node.uid, SubtaskMetrics::default());
        let responsible =
            Responsible { operator: node.uid.clone(), subtask, module: None, policy: node.on_error, metrics };
        let dealt = self.registry.splits(index).iter().enumerate();
        let dealt = dealt.filter(|(place, _)| place % node.parallelism.0 as usize == subtask.0 as usize);
        let splits: Vec<SplitAssignment> = dealt
            .map(|(_, split)| SplitAssignment { split: split.clone(), position: None, identity: Vec::new() })
            .collect();
        let begins = |assignment: &SplitAssignment| SplitClock {
            split: assignment.split.index,
            greatest: EventTime::UNKNOWN,
            ended: false,
        };
        let clocks = node.watermark.are_declared().then(|| splits.iter().map(begins).collect());
        let lane = self.lanes(Producer::Source(index), subtask, Some(&responsible)).pop();
        Some(SourceSpec {
            responsible,
            id: SourceId(u16::try_from(index).ok()?),
            source: Arc::clone(&node.source),
            splits,
            format: node.format.clone(),
            watermark: node.watermark,
            clocks,
            lane: lane.unwrap_or_default(),
        })
    }

    fn function(&mut self, index: usize, subtask: SubtaskIndex) -> Option<FunctionSpec> {
        let graph = self.checked.graph;
        let node = graph.functions.get(index)?;
        let descriptor = node.factory.descriptor();
        let metrics = self.metrics(&node.uid, SubtaskMetrics::for_function(descriptor));
        let responsible = Responsible {
            operator: node.uid.clone(),
            subtask,
            module: node.factory.digest(),
            policy: node.on_error,
            metrics,
        };
        let outputs = descriptor.outputs.iter().map(|port| OutputPort {
            name: port.name.clone(),
            declared_fields: port.fields.len(),
            lanes: self.lanes(Producer::Function(index, model::OutputId(port.id)), subtask, None),
        });
        let outputs = outputs.collect();
        let assignment = Assignment::new(graph.settings.key_groups, node.parallelism).ok();
        let all = KeyGroupRange { first: KeyGroup(0), end: KeyGroup(graph.settings.key_groups) };
        let scope = StateScope {
            operator: node.uid.clone(),
            key_groups: assignment.map_or(all, |assignment| assignment.range_of(subtask)),
            key_group_count: graph.settings.key_groups,
            states: descriptor.kept_states(),
        };
        let state = node.state.as_ref().filter(|_| descriptor.keyed).map(|backend| (Arc::clone(backend), scope));
        let task = self.task(index, subtask)?;
        Some(FunctionSpec { responsible, factory: Arc::clone(&node.factory), task, state, parts: Vec::new(), outputs })
    }

    fn task(&self, function: usize, subtask: SubtaskIndex) -> Option<Task> {
        let node = self.checked.graph.functions.get(function)?;
        Some(Task {
            job: self.checked.graph.name.clone(),
            operator: node.uid.clone(),
            subtask,
            parallelism: node.parallelism,
            config: node.config.clone(),
        })
    }

    fn sink(&mut self, index: usize, subtask: SubtaskIndex) -> Option<SinkSpec> {
        let node = self.checked.graph.sinks.get(index)?;
        let metrics = self.metrics(&node.uid, SubtaskMetrics::default());
        let responsible =
            Responsible { operator: node.uid.clone(), subtask, module: None, policy: OnError::Fail, metrics };
        Some(SinkSpec { responsible, sink: Arc::clone(&node.sink), parallelism: node.parallelism })
    }

    /// The chain that writes dead letters, for a job that has them.
    fn dead_letters(&mut self) -> Option<ChainSpec> {
        let sink = self.checked.graph.dead_letters.as_ref()?;
        let uid = dead_letters_uid();
        let metrics = self.metrics(&uid, SubtaskMetrics::default());
        let responsible =
            Responsible { operator: uid, subtask: SubtaskIndex(0), module: None, policy: OnError::Fail, metrics };
        let (arrival, inlets) = std::mem::take(&mut self.letters);
        let spec = SinkSpec { responsible: responsible.clone(), sink: Arc::clone(sink), parallelism: Parallelism(1) };
        Some(ChainSpec {
            first: responsible,
            head: HeadSpec::Gate(Gate::new(inlets, arrival)),
            operators: vec![OperatorSpec::Sink(spec)],
            dead_letters: None,
        })
    }

    fn letter_outlet(&mut self) -> Option<Outlet> {
        self.checked.graph.dead_letters.as_ref()?;
        let (sender, receiver) = queue(self.checked.graph.settings.queue_bytes, Arc::clone(&self.letters.0));
        self.letters.1.push(Inlet { receiver, input: InputId(0) });
        Some(Outlet::new(sender))
    }

    /// Counts for an operator.
    fn metrics(&mut self, uid: &OperatorUid, metrics: SubtaskMetrics) -> Arc<SubtaskMetrics> {
        let metrics = Arc::new(metrics);
        self.registry.add_metrics(uid, Arc::clone(&metrics));
        metrics
    }

    fn arrival(&mut self, group: usize, subtask: u32) -> Arc<Signal> {
        Arc::clone(self.arrivals.entry((group, subtask)).or_default())
    }

    /// A queue into a subtask of a chain.
    fn queue_to(&mut self, group: usize, subtask: u32, input: InputId) -> Sender<StreamElement> {
        let arrival = self.arrival(group, subtask);
        let (sender, receiver) = queue(self.checked.graph.settings.queue_bytes, arrival);
        self.inlets.entry((group, subtask)).or_default().push(Inlet { receiver, input });
        sender
    }
}

/// The name of the dead letters among operators.
pub(crate) fn dead_letters_uid() -> OperatorUid {
    OperatorUid::new(DEAD_LETTERS_UID).expect("the constant is a name")
}

fn registry_for(graph: &JobGraph, splits: Vec<Vec<Split>>) -> Registry {
    let mut registry = Registry::default();
    for (node, splits) in graph.sources.iter().zip(splits) {
        registry.add_operator(node.uid.clone(), OperatorKind::Source, node.parallelism);
        registry.add_source(node.uid.clone(), splits);
    }
    for node in &graph.functions {
        registry.add_operator(node.uid.clone(), OperatorKind::Function, node.parallelism);
    }
    for node in &graph.sinks {
        registry.add_operator(node.uid.clone(), OperatorKind::Sink, node.parallelism);
    }
    if graph.dead_letters.is_some() {
        registry.add_operator(dead_letters_uid(), OperatorKind::DeadLetters, Parallelism(1));
    }
    registry
}

#[cfg(test)]
mod tests;
