use std::sync::Arc;

use contract::doubles::{ClosureFactory, MemorySink, MemorySource, probe};
use format::Format;
use model::job::{InputRef, KeySpec, OnError};
use model::{Descriptor, InputId, JobName, OperatorUid, Parallelism};

use super::{Groups, Node};
use crate::graph::{Checked, FunctionInput, FunctionNode, JobGraph, SinkNode, SourceNode, Watermarks};

fn uid(name: &str) -> OperatorUid {
    OperatorUid::new(name).unwrap()
}

fn from(name: &str) -> InputRef {
    InputRef { from: uid(name), output: None }
}

/// A graph of nodes written as `name parallelism: inputs`; `*` marks a keyed function, names that begin
/// with `s` are sources, with `w` sinks.
fn graph(nodes: &[&str]) -> JobGraph {
    let mut graph = JobGraph::new(JobName::new("job").unwrap());
    for node in nodes {
        let (head, inputs) = node.split_once(':').unwrap();
        let (name, parallelism) = head.split_once(' ').unwrap();
        let is_keyed = name.ends_with('*');
        let name = name.trim_end_matches('*');
        let inputs: Vec<InputRef> = inputs.split_whitespace().map(from).collect();
        let parallelism = Parallelism(parallelism.parse().unwrap());
        match name.as_bytes()[0] {
            b's' => graph.sources.push(SourceNode {
                uid: uid(name),
                source: Arc::new(MemorySource::default()),
                format: Format::Raw,
                event_time: None,
                watermark: Watermarks::default(),
                on_error: OnError::Fail,
                parallelism,
            }),
            b'w' => graph.sinks.push(SinkNode {
                uid: uid(name),
                inputs,
                sink: Arc::new(MemorySink::default()),
                format: Format::Json,
                parallelism,
            }),
            _ => graph.functions.push(FunctionNode {
                uid: uid(name),
                inputs: inputs.into_iter().map(|from| FunctionInput { input: InputId(0), from }).collect(),
                key: is_keyed.then_some(KeySpec::WholeValue),
                factory: Arc::new(function(is_keyed)),
                config: "{}".to_owned(),
                on_error: OnError::Fail,
                parallelism,
                state: None,
            }),
        }
    }
    graph
}

fn function(is_keyed: bool) -> ClosureFactory {
    let descriptor = contract::FunctionFactory::descriptor(&probe()).clone();
    ClosureFactory::new(Descriptor { keyed: is_keyed, ..descriptor }, |_| Ok(()))
}

/// The chains of a graph, each as the names of its nodes.
fn chains(nodes: &[&str]) -> Vec<String> {
    let graph = graph(nodes);
    let groups = Groups::new(&Checked::new(&graph).unwrap());
    let name = |node: &Node| match node {
        Node::Source(index) => graph.sources[*index].uid.to_string(),
        Node::Function(index) => graph.functions[*index].uid.to_string(),
        Node::Sink(index) => graph.sinks[*index].uid.to_string(),
    };
    groups.0.iter().map(|group| group.nodes.iter().map(name).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn one_subtask_each_makes_one_chain() {
    assert_eq!(chains(&["s 1:", "f 1: s", "g* 1: f", "w 1: g"]), ["s f g w"]);
}

#[test]
fn a_key_with_several_subtasks_begins_a_chain() {
    assert_eq!(chains(&["s 2:", "f 2: s", "g* 2: f", "w 2: g"]), ["s f", "g w"]);
}

#[test]
fn another_parallelism_begins_a_chain() {
    assert_eq!(chains(&["s 1:", "f 2: s", "w 1: f"]), ["s", "f", "w"]);
}

#[test]
fn what_parts_within_a_chain_meets_within_it() {
    assert_eq!(chains(&["s 1:", "f 1: s", "g 1: s", "w 1: f g"]), ["s f g w"]);
}

#[test]
fn what_comes_from_two_chains_begins_a_third() {
    assert_eq!(chains(&["s 1:", "sb 1:", "f 1: s sb", "w 1: f"]), ["s", "sb", "f w"]);
    assert_eq!(chains(&["s 1:", "f 2: s", "g 1: s", "w 1: f g"]), ["s g", "f", "w"]);
}
