//! The rules of a graph, and what follows from them: who consumes what, in which order, in which format.

use std::collections::{BTreeMap, BTreeSet};

use format::{Decoder, Encoder, Format};
use model::job::{InputRef, KeySpec};
use model::{Descriptor, InputId, MAX_PARALLELISM, OperatorUid, OutputId, Parallelism};
use protocol::key_group::Assignment;

use super::{Error, FunctionNode, JobGraph};
use crate::cuts::CutPlan;

/// What produces records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Producer {
    /// A source, by its place.
    Source(usize),
    /// An output of a function, by its place.
    Function(usize, OutputId),
}

/// What consumes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Consumer {
    /// An input of a function, by its place.
    Function(usize, InputId),
    /// A sink, by its place.
    Sink(usize),
}

/// A graph that can be planned.
#[derive(Debug)]
pub(crate) struct Checked<'a> {
    pub(crate) graph: &'a JobGraph,
    /// The consumers of every producer, in the order of the graph.
    pub(crate) consumers: BTreeMap<Producer, Vec<Consumer>>,
    /// The functions, each after those it reads.
    pub(crate) order: Vec<usize>,
    /// The format of every output of every function.
    pub(crate) formats: BTreeMap<Producer, Format>,
}

impl<'a> Checked<'a> {
    pub(crate) fn new(graph: &'a JobGraph) -> Result<Self, Error> {
        check_names(graph)?;
        check_parallelism(graph)?;
        let mut checked = Self { graph, consumers: BTreeMap::new(), order: Vec::new(), formats: BTreeMap::new() };
        checked.connect()?;
        for node in &graph.functions {
            check_function(node)?;
        }
        checked.sort()?;
        checked.find_formats();
        checked.check_cuts()?;
        Ok(checked)
    }

    /// Every consumer of an output; none where nobody reads it.
    pub(crate) fn consumers_of(&self, producer: Producer) -> &[Consumer] {
        self.consumers.get(&producer).map_or(&[], Vec::as_slice)
    }

    /// The format of what an output carries.
    pub(crate) fn format_of(&self, producer: Producer) -> &Format {
        self.formats.get(&producer).unwrap_or(&Format::Raw)
    }

    /// Every producer there is, sources first.
    pub(crate) fn producers(&self) -> Vec<Producer> {
        let sources = (0..self.graph.sources.len()).map(Producer::Source);
        let outputs = self.graph.functions.iter().enumerate().flat_map(|(index, node)| {
            node.factory.descriptor().outputs.iter().map(move |port| Producer::Function(index, OutputId(port.id)))
        });
        sources.chain(outputs).collect()
    }

    fn connect(&mut self) -> Result<(), Error> {
        for (index, node) in self.graph.functions.iter().enumerate() {
            for edge in &node.inputs {
                let producer = self.resolve(&node.uid, &edge.from)?;
                self.consumers.entry(producer).or_default().push(Consumer::Function(index, edge.input));
            }
        }
        for (index, node) in self.graph.sinks.iter().enumerate() {
            if node.inputs.is_empty() {
                return Err(Error::NotConnected { uid: node.uid.clone(), what: "its input".to_owned() });
            }
            for from in &node.inputs {
                let producer = self.resolve(&node.uid, from)?;
                self.consumers.entry(producer).or_default().push(Consumer::Sink(index));
            }
        }
        Ok(())
    }

    fn resolve(&self, uid: &OperatorUid, reference: &InputRef) -> Result<Producer, Error> {
        let no_such_output = |outputs: String| Error::NoSuchOutput {
            uid: uid.clone(),
            from: reference.from.clone(),
            output: reference.output.clone().unwrap_or_else(|| "(main)".to_owned()),
            outputs,
        };
        if let Some(index) = self.graph.sources.iter().position(|node| node.uid == reference.from) {
            return match &reference.output {
                None => Ok(Producer::Source(index)),
                Some(_) => Err(no_such_output("its records alone".to_owned())),
            };
        }
        let Some((index, node)) = self.graph.functions.iter().enumerate().find(|(_, node)| node.uid == reference.from)
        else {
            return Err(Error::NoSuchNode { uid: uid.clone(), from: reference.from.clone() });
        };
        let descriptor = node.factory.descriptor();
        match reference.resolve(descriptor) {
            Some(output) => Ok(Producer::Function(index, output)),
            None => Err(no_such_output(names(descriptor.outputs.iter().map(|port| port.name.as_str())))),
        }
    }

    /// Orders the functions so that each comes after those it reads.
    fn sort(&mut self) -> Result<(), Error> {
        let mut waiting: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.graph.functions.len()];
        for (producer, consumers) in &self.consumers {
            for consumer in consumers {
                if let (Producer::Function(from, _), Consumer::Function(to, _)) = (producer, consumer)
                    && let Some(upstream) = waiting.get_mut(*to)
                {
                    upstream.insert(*from);
                }
            }
        }
        while self.order.len() < waiting.len() {
            let settled: BTreeSet<usize> = self.order.iter().copied().collect();
            let ready = waiting.iter().enumerate().find(|(index, upstream)| {
                !settled.contains(index) && upstream.iter().all(|from| settled.contains(from))
            });
            let Some((index, _)) = ready else {
                let left = self.graph.functions.iter().enumerate().filter(|(index, _)| !settled.contains(index));
                return Err(Error::Cycle { path: names(left.map(|(_, node)| node.uid.as_str())) });
            };
            self.order.push(index);
        }
        Ok(())
    }

    /// What an output carries: JSON where the function declares its fields or their schema, else what
    /// the function reads, since that is what it forwards; raw where it reads different formats.
    fn find_formats(&mut self) {
        for (index, node) in self.graph.sources.iter().enumerate() {
            self.formats.insert(Producer::Source(index), node.format.clone());
        }
        for index in self.order.clone() {
            let Some(node) = self.graph.functions.get(index) else { continue };
            let mut read = self.consumers.iter().filter(|(_, consumers)| {
                consumers.iter().any(|consumer| matches!(consumer, Consumer::Function(to, _) if *to == index))
            });
            let first = read.next().map(|(producer, _)| self.format_of(*producer).clone());
            let same = read.all(|(producer, _)| Some(self.format_of(*producer)) == first.as_ref());
            let inherited = first.filter(|_| same).unwrap_or(Format::Raw);
            for port in &node.factory.descriptor().outputs {
                let is_described = !port.fields.is_empty() || port.schema.is_some();
                let format = if is_described { Format::Json } else { inherited.clone() };
                self.formats.insert(Producer::Function(index, OutputId(port.id)), format);
            }
        }
    }

    fn check_cuts(&self) -> Result<(), Error> {
        for producer in self.producers() {
            let from = self.uid_of(producer);
            for consumer in self.consumers_of(producer) {
                let plan = CutPlan::new(self.graph, None, &[*consumer]);
                let refused =
                    |cause| Error::Cut { uid: self.consumer_uid(*consumer).clone(), from: from.clone(), cause };
                Decoder::new(self.format_of(producer), plan.cuts()).map_err(refused)?;
            }
            self.check_encoders(producer)?;
        }
        for node in &self.graph.sources {
            let plan = CutPlan::new(self.graph, node.event_time.as_ref(), &[]);
            let refused = |cause| Error::Cut { uid: node.uid.clone(), from: node.uid.clone(), cause };
            Decoder::new(&node.format, plan.cuts()).map_err(refused)?;
        }
        Ok(())
    }

    fn check_encoders(&self, producer: Producer) -> Result<(), Error> {
        let Producer::Function(index, output) = producer else { return Ok(()) };
        let Some(node) = self.graph.functions.get(index) else { return Ok(()) };
        let Some(port) = node.factory.descriptor().output(output) else { return Ok(()) };
        if port.fields.is_empty() {
            return Ok(());
        }
        let refused = |cause| Error::Encode { uid: node.uid.clone(), output: port.name.clone(), cause };
        Encoder::new(self.format_of(producer), &port.fields).map_err(refused)?;
        for consumer in self.consumers_of(producer) {
            if let Consumer::Sink(sink) = consumer
                && let Some(sink) = self.graph.sinks.get(*sink)
            {
                Encoder::new(&sink.format, &port.fields).map_err(refused)?;
            }
        }
        Ok(())
    }

    #[expect(clippy::indexing_slicing, reason = "producers are made from the places of nodes")]
    fn uid_of(&self, producer: Producer) -> &OperatorUid {
        match producer {
            Producer::Source(index) => &self.graph.sources[index].uid,
            Producer::Function(index, _) => &self.graph.functions[index].uid,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "consumers are made from the places of nodes")]
    fn consumer_uid(&self, consumer: Consumer) -> &OperatorUid {
        match consumer {
            Consumer::Function(index, _) => &self.graph.functions[index].uid,
            Consumer::Sink(index) => &self.graph.sinks[index].uid,
        }
    }
}

/// The name under which dead letters appear as an operator.
pub(crate) const DEAD_LETTERS_UID: &str = "dead-letters";

fn uids(graph: &JobGraph) -> impl Iterator<Item = (&OperatorUid, Parallelism)> {
    let sources = graph.sources.iter().map(|node| (&node.uid, node.parallelism));
    let functions = graph.functions.iter().map(|node| (&node.uid, node.parallelism));
    let sinks = graph.sinks.iter().map(|node| (&node.uid, node.parallelism));
    sources.chain(functions).chain(sinks)
}

fn check_names(graph: &JobGraph) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for (uid, _) in uids(graph) {
        if uid.as_str() == DEAD_LETTERS_UID {
            return Err(Error::Name { uid: uid.clone(), why: "that of the dead letters of the job" });
        }
        if !seen.insert(uid) {
            return Err(Error::Name { uid: uid.clone(), why: "that of another operator" });
        }
    }
    Ok(())
}

fn check_parallelism(graph: &JobGraph) -> Result<(), Error> {
    for (uid, parallelism) in uids(graph) {
        if parallelism.0 == 0 || parallelism.0 > MAX_PARALLELISM {
            return Err(Error::Parallelism { uid: uid.clone(), parallelism, most: MAX_PARALLELISM });
        }
    }
    for node in graph.functions.iter().filter(|node| node.factory.descriptor().keyed) {
        Assignment::new(graph.settings.key_groups, node.parallelism)
            .map_err(|cause| Error::KeyGroups { uid: node.uid.clone(), cause })?;
    }
    Ok(())
}

fn check_function(node: &FunctionNode) -> Result<(), Error> {
    let descriptor = node.factory.descriptor();
    for edge in &node.inputs {
        if descriptor.input(edge.input).is_none() {
            let inputs = names(descriptor.inputs.iter().map(|port| port.name.as_str()));
            return Err(Error::NoSuchInput { uid: node.uid.clone(), input: edge.input, inputs });
        }
    }
    for port in &descriptor.inputs {
        if !node.inputs.iter().any(|edge| edge.input.0 == port.id) {
            return Err(Error::NotConnected { uid: node.uid.clone(), what: format!("its input `{}`", port.name) });
        }
    }
    if (!descriptor.states.is_empty() || descriptor.timers) && node.state.is_none() {
        return Err(Error::NoStateBackend { uid: node.uid.clone() });
    }
    check_key(node, descriptor)
}

fn check_key(node: &FunctionNode, descriptor: &Descriptor) -> Result<(), Error> {
    let refused = |why| Err(Error::Key { uid: node.uid.clone(), why });
    match (&node.key, descriptor.keyed, descriptor.assigns) {
        (None, true, false) => refused("is keyed: it needs a `key`"),
        (Some(_), false, _) => refused("is not keyed: it takes no `key`"),
        (Some(_), true, true) => refused("assigns keys itself: it takes no `key`"),
        (Some(KeySpec::Field(path)), true, false) if path.is_empty() => refused("has an empty `key`"),
        _ => Ok(()),
    }
}

fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}
