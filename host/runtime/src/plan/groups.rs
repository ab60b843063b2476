//! Which operators run in one thread.
//!
//! An operator joins the chain of those it reads when all of them are in that one chain and no record
//! would change its subtask on the way: equal parallelism, and no key or only one subtask.

use crate::graph::{Checked, Consumer, Producer};

/// A node of the graph by its place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    /// A source.
    Source(usize),
    /// A function.
    Function(usize),
    /// A sink.
    Sink(usize),
}

/// Nodes that are chained, upstream first. The first is the head's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) nodes: Vec<Node>,
    pub(crate) parallelism: u32,
}

/// The chains of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups(pub(crate) Vec<Group>);

impl Groups {
    pub(crate) fn new(checked: &Checked<'_>) -> Self {
        let graph = checked.graph;
        let mut groups = Self(Vec::new());
        for (index, node) in graph.sources.iter().enumerate() {
            groups.begin(Node::Source(index), node.parallelism.0);
        }
        for &index in &checked.order {
            if let Some(node) = graph.functions.get(index) {
                let is_keyed = node.factory.descriptor().keyed;
                groups.place(Node::Function(index), node.parallelism.0, is_keyed, checked);
            }
        }
        for (index, node) in graph.sinks.iter().enumerate() {
            groups.place(Node::Sink(index), node.parallelism.0, false, checked);
        }
        groups
    }

    /// Where a node is: its chain, and its place there.
    #[expect(clippy::expect_used, reason = "every node is placed before anybody asks")]
    pub(crate) fn place_of(&self, node: Node) -> (usize, usize) {
        let mut places = self.0.iter().enumerate().filter_map(|(group, members)| {
            let at = members.nodes.iter().position(|member| *member == node)?;
            Some((group, at))
        });
        places.next().expect("every node of a checked graph is in a chain")
    }

    fn begin(&mut self, node: Node, parallelism: u32) {
        self.0.push(Group { nodes: vec![node], parallelism });
    }

    fn place(&mut self, node: Node, parallelism: u32, is_keyed: bool, checked: &Checked<'_>) {
        let mut upstream = producers_of(node, checked).into_iter().map(|from| self.place_of(from).0);
        let first = upstream.next();
        let joins = first.filter(|first| {
            let is_one = upstream.all(|other| other == *first);
            let same = self.0.get(*first).is_some_and(|group| group.parallelism == parallelism);
            is_one && same && (!is_keyed || parallelism == 1)
        });
        match joins.and_then(|group| self.0.get_mut(group)) {
            Some(group) => group.nodes.push(node),
            None => self.begin(node, parallelism),
        }
    }
}

/// The nodes that a node reads.
fn producers_of(node: Node, checked: &Checked<'_>) -> Vec<Node> {
    let reads = |consumer: &Consumer| match (consumer, node) {
        (Consumer::Function(index, _), Node::Function(of)) | (Consumer::Sink(index), Node::Sink(of)) => *index == of,
        _ => false,
    };
    let edges = checked.consumers.iter().filter(|(_, consumers)| consumers.iter().any(reads));
    edges
        .map(|(producer, _)| match producer {
            Producer::Source(index) => Node::Source(*index),
            Producer::Function(index, _) => Node::Function(*index),
        })
        .collect()
}
