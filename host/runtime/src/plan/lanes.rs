//! The lanes and edges of one output, as one subtask has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use format::{Decoder, Encoder, Format, WHOLE_VALUE};
use model::job::{KeySpec, OnError};
use model::{FieldSpec, InputId, Parallelism, SubtaskIndex};
use protocol::key_group::Assignment;

use super::{Node, Planner};
use crate::chain::assign::Assigner;
use crate::chain::context::Responsible;
use crate::chain::edge::{Edge, EdgeKey};
use crate::chain::lane::{CutUse, Lane};
use crate::chain::outlet::{Exchange, Outlet, Target};
use crate::cuts::{ConsumerCuts, CutPlan};
use crate::graph::{Consumer, FunctionNode, Producer};
use crate::metrics::SubtaskMetrics;

impl Planner<'_> {
    /// The lanes of an output; a source has exactly one. `source` answers for records without event time.
    pub(super) fn lanes(
        &mut self,
        producer: Producer,
        subtask: SubtaskIndex,
        source: Option<&Responsible>,
    ) -> Vec<Lane> {
        let fields = self.declared_fields(producer).to_vec();
        let by_format = self.consumers_by_format(producer, !fields.is_empty());
        let mut lanes = Vec::new();
        for (format, consumers) in by_format {
            let event_time = match producer {
                Producer::Source(index) => {
                    self.checked.graph.sources.get(index).and_then(|node| node.event_time.as_ref())
                }
                Producer::Function(..) => None,
            };
            let plan = CutPlan::new(self.checked.graph, event_time, &consumers);
            let is_cut = !plan.cuts().is_empty();
            let decoder = is_cut.then(|| Decoder::new(&format, plan.cuts()).expect("the graph was checked"));
            let encoder = (!fields.is_empty()).then(|| Encoder::new(&format, &fields).expect("the graph was checked"));
            let uses = uses_of(&plan.consumers);
            let edges = consumers.iter().zip(plan.consumers).zip(uses);
            let edges = edges
                .map(|((consumer, cuts), (fields, key))| self.edge(producer, *consumer, subtask, cuts, fields, key))
                .collect();
            let time = plan.time.zip(source.cloned());
            lanes.push(Lane { encoder, decoder, time, clocks: None, edges });
        }
        lanes
    }

    fn declared_fields(&self, producer: Producer) -> &[FieldSpec] {
        let Producer::Function(index, output) = producer else { return &[] };
        let node = self.checked.graph.functions.get(index);
        let port = node.and_then(|node| node.factory.descriptor().output(output));
        port.map_or(&[], |port| port.fields.as_slice())
    }

    /// Who reads the output in which encoding: sinks may ask for one of their own where the host encodes.
    fn consumers_by_format(&self, producer: Producer, host_encodes: bool) -> Vec<(Format, Vec<Consumer>)> {
        let own = self.checked.format_of(producer).clone();
        let consumers = self.checked.consumers_of(producer);
        let mut by_format: Vec<(Format, Vec<Consumer>)> = Vec::new();
        if matches!(producer, Producer::Source(_)) {
            by_format.push((own.clone(), Vec::new()));
        }
        for consumer in consumers {
            let format = match consumer {
                Consumer::Sink(index) if host_encodes => {
                    self.checked.graph.sinks.get(*index).map_or_else(|| own.clone(), |sink| sink.format.clone())
                }
                _ => own.clone(),
            };
            match by_format.iter_mut().find(|(known, _)| *known == format) {
                Some((_, consumers)) => consumers.push(*consumer),
                None => by_format.push((format, vec![*consumer])),
            }
        }
        by_format
    }

    fn edge(
        &mut self,
        producer: Producer,
        consumer: Consumer,
        subtask: SubtaskIndex,
        cuts: ConsumerCuts,
        fields: Vec<CutUse>,
        key: Option<CutUse>,
    ) -> Edge {
        match consumer {
            Consumer::Sink(index) => {
                let graph = self.checked.graph;
                let node = &graph.sinks.get(index).expect("consumers are nodes of the graph");
                let metrics = self.metrics(&node.uid, SubtaskMetrics::default());
                let consumer =
                    Responsible { operator: node.uid.clone(), subtask, module: None, policy: OnError::Fail, metrics };
                let target = self.target(producer, Node::Sink(index), InputId(0), node.parallelism, subtask, false);
                Edge { consumer, key: EdgeKey::None, cuts, fields, target }
            }
            Consumer::Function(index, input) => {
                let graph = self.checked.graph;
                let node = graph.functions.get(index).expect("consumers are nodes of the graph");
                // What it assigns counts as well.
                let metrics = self.metrics(&node.uid, SubtaskMetrics::for_function(node.factory.descriptor()));
                let consumer = Responsible {
                    operator: node.uid.clone(),
                    subtask,
                    module: node.factory.digest(),
                    policy: node.on_error,
                    metrics,
                };
                let is_keyed = node.factory.descriptor().keyed;
                let key = self.edge_key(index, node, key, &consumer);
                let target = self.target(producer, Node::Function(index), input, node.parallelism, subtask, is_keyed);
                Edge { consumer, key, cuts, fields, target }
            }
        }
    }

    fn edge_key(&self, index: usize, node: &FunctionNode, cut: Option<CutUse>, consumer: &Responsible) -> EdgeKey {
        if node.factory.descriptor().assigns
            && let Some(task) = self.task(index, consumer.subtask)
        {
            return EdgeKey::Assigned(Box::new(Assigner::new(
                Arc::clone(&node.factory),
                task,
                Arc::clone(&consumer.metrics),
            )));
        }
        match (&node.key, cut) {
            (Some(KeySpec::RecordKey), _) => EdgeKey::RecordKey,
            (Some(KeySpec::WholeValue), _) => EdgeKey::WholeValue,
            (Some(KeySpec::Field(path)), _) if path == WHOLE_VALUE => EdgeKey::WholeValue,
            (Some(KeySpec::Field(_)), Some(cut)) => EdgeKey::Cut(cut),
            _ => EdgeKey::None,
        }
    }

    fn target(
        &mut self,
        producer: Producer,
        to: Node,
        input: InputId,
        parallelism: Parallelism,
        subtask: SubtaskIndex,
        is_keyed: bool,
    ) -> Target {
        let from = match producer {
            Producer::Source(index) => Node::Source(index),
            Producer::Function(index, _) => Node::Function(index),
        };
        let (from_group, _) = self.groups.place_of(from);
        let (group, place) = self.groups.place_of(to);
        if group == from_group {
            return Target::Local { operator: self.operator_index(group, place), input };
        }
        let senders = self.groups.0.get(from_group).map_or(0, |group| group.parallelism);
        let mut outlets: Vec<Outlet> = Vec::new();
        if parallelism.0 == 1 {
            outlets.push(Outlet::new(self.queue_to(group, 0, input)));
        } else if !is_keyed && parallelism.0 == senders {
            outlets.push(Outlet::new(self.queue_to(group, subtask.0, input)));
        } else {
            outlets.extend((0..parallelism.0).map(|to| Outlet::new(self.queue_to(group, to, input))));
        }
        if is_keyed && parallelism.0 > 1 {
            let owners = Assignment::new(self.checked.graph.settings.key_groups, parallelism);
            return Target::Exchange(Exchange::new(outlets, owners.expect("the graph was checked").owners()));
        }
        match outlets.pop() {
            Some(only) if outlets.is_empty() => Target::Forward(only),
            last => {
                outlets.extend(last);
                // Senders begin with different receivers.
                Target::Rotate { outlets, next: subtask.0 as usize }
            }
        }
    }

    /// The place of a node among the operators of its chain, which do not count a source.
    fn operator_index(&self, group: usize, place: usize) -> usize {
        let nodes = self.groups.0.get(group).map_or(&[][..], |group| group.nodes.as_slice());
        nodes.iter().take(place).filter(|node| !matches!(node, Node::Source(_))).count()
    }
}

/// The cuts that each consumer uses, fields first, then the key; the last user of a cut is marked.
fn uses_of(consumers: &[ConsumerCuts]) -> Vec<(Vec<CutUse>, Option<CutUse>)> {
    let mut left: BTreeMap<usize, usize> = BTreeMap::new();
    for cut in consumers.iter().flat_map(|cuts| cuts.fields.iter().chain(&cuts.key)) {
        *left.entry(*cut).or_default() += 1;
    }
    let mut use_once = |cut: usize| {
        let users = left.entry(cut).or_default();
        *users = users.saturating_sub(1);
        CutUse { cut, is_last: *users == 0 }
    };
    consumers
        .iter()
        .map(|cuts| {
            let fields = cuts.fields.iter().map(|cut| use_once(*cut)).collect();
            (fields, cuts.key.map(&mut use_once))
        })
        .collect()
}
