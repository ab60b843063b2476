//! Who takes part in the checkpoints of a job.

use std::collections::BTreeMap;

use contract::Delivery;
use model::{ModuleDigest, OperatorUid, StateDescriptor, SubtaskIndex};
use protocol::coordinator::SubtaskNumber;

use crate::graph::JobGraph;
use crate::plan::dead_letters_uid;

/// A subtask that hands over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) operator: OperatorUid,
    pub(crate) subtask: SubtaskIndex,
}

/// A function as manifests know it.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) uid: OperatorUid,
    pub(crate) module: Option<ModuleDigest>,
    pub(crate) states: Vec<StateDescriptor>,
    /// What its records are partitioned by.
    pub(crate) key: Option<String>,
}

/// A sink as manifests know it.
#[derive(Clone, Debug)]
pub(crate) struct SinkShape {
    pub(crate) uid: OperatorUid,
    pub(crate) delivery: Delivery,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    members: Vec<Member>,
    numbers: BTreeMap<(OperatorUid, SubtaskIndex), SubtaskNumber>,
    /// How many of the members read.
    pub(crate) source_subtasks: usize,
    pub(crate) functions: Vec<Function>,
    /// The sinks, dead letters last.
    pub(crate) sinks: Vec<SinkShape>,
}

impl Shape {
    /// `stored` says how values look that functions did not write all by themselves.
    pub(crate) fn of(graph: &JobGraph, stored: &BTreeMap<OperatorUid, Vec<StateDescriptor>>) -> Self {
        let sources = graph.sources.iter().map(|node| (node.uid.clone(), node.parallelism.0));
        let functions = graph.functions.iter().map(|node| (node.uid.clone(), node.parallelism.0));
        let sinks = graph.sinks.iter().map(|node| (node.uid.clone(), node.parallelism.0));
        let letters = graph.dead_letters.iter().map(|_| (dead_letters_uid(), 1));
        let all = sources.chain(functions).chain(sinks).chain(letters);
        let members: Vec<Member> = all
            .flat_map(|(operator, parallelism)| {
                (0..parallelism).map(move |at| Member { operator: operator.clone(), subtask: SubtaskIndex(at) })
            })
            .collect();
        let numbers = (0u32..).zip(&members);
        let numbers = numbers.map(|(at, member)| ((member.operator.clone(), member.subtask), SubtaskNumber(at)));
        let sinks = graph.sinks.iter().map(|node| (node.uid.clone(), node.sink.delivery()));
        let letters = graph.dead_letters.iter().map(|sink| (dead_letters_uid(), sink.delivery()));
        Self {
            numbers: numbers.collect(),
            members,
            source_subtasks: graph.sources.iter().map(|node| node.parallelism.0 as usize).sum(),
            functions: graph
                .functions
                .iter()
                .map(|node| Function {
                    uid: node.uid.clone(),
                    module: node.factory.digest(),
                    states: stored.get(&node.uid).cloned().unwrap_or_else(|| node.factory.descriptor().kept_states()),
                    key: node.key.as_ref().map(ToString::to_string),
                })
                .collect(),
            sinks: sinks.chain(letters).map(|(uid, delivery)| SinkShape { uid, delivery }).collect(),
        }
    }

    pub(crate) fn subtasks(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn number_of(&self, operator: &OperatorUid, subtask: SubtaskIndex) -> Option<SubtaskNumber> {
        self.numbers.get(&(operator.clone(), subtask)).copied()
    }

    pub(crate) fn member(&self, number: SubtaskNumber) -> Option<&Member> {
        self.members.get(number.0 as usize)
    }

    /// The sinks that stage, in the order of the coordinator's numbers.
    pub(crate) fn staging_sinks(&self) -> impl Iterator<Item = &SinkShape> {
        self.sinks.iter().filter(|sink| sink.delivery == Delivery::ExactlyOnce)
    }
}
