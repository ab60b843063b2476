//! The paths of all cuts as one tree, made once.
//!
//! # Invariants
//! 1. Nodes are numbered in preorder: the nodes below node `n` are `n + 1 .. n.below_end`.
//! 2. Two cuts with the same path share a node.

use crate::pointer;
use crate::{Cut, CutError, WHOLE_VALUE};

/// A place in documents that a path names or leads through.
#[derive(Debug)]
pub(super) struct Node {
    /// The members and elements a path leads to.
    pub(super) children: Vec<Child>,
    /// The end of the nodes below this one.
    pub(super) below_end: usize,
}

/// A step down.
#[derive(Debug)]
pub(super) struct Child {
    /// The name of the member.
    pub(super) name: Box<[u8]>,
    /// The number of the element, where the name can be one.
    pub(super) element: Option<u64>,
    /// Where it leads.
    pub(super) node: usize,
}

/// The tree, and the node of each cut.
#[derive(Debug)]
pub(super) struct Plan {
    /// The nodes; the first is the whole document.
    pub(super) nodes: Vec<Node>,
    /// The node of each cut.
    pub(super) places: Vec<usize>,
}

impl Node {
    /// Where the member `name` leads.
    #[inline]
    pub(super) fn member(&self, name: &[u8]) -> Option<usize> {
        self.children.iter().find(|child| *child.name == *name).map(|child| child.node)
    }

    /// Where the element `index` leads.
    #[inline]
    pub(super) fn element(&self, index: u64) -> Option<usize> {
        self.children.iter().find(|child| child.element == Some(index)).map(|child| child.node)
    }
}

impl Plan {
    /// The plan of `cuts`.
    ///
    /// # Errors
    /// When a path is not a pointer.
    pub(super) fn new(cuts: &[Cut]) -> Result<Self, CutError> {
        let mut paths = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let steps = if cut.path == WHOLE_VALUE { Vec::new() } else { pointer::steps(&cut.path)? };
            paths.push(steps);
        }
        let mut plan = Self { nodes: Vec::new(), places: vec![0; cuts.len()] };
        let all: Vec<usize> = (0..cuts.len()).collect();
        plan.add(&paths, &all, 0);
        Ok(plan)
    }

    /// Adds the node that the first `depth` steps of the paths `cuts` lead to, and all below it.
    #[expect(clippy::indexing_slicing, reason = "cuts number paths; a node was pushed before it is filled")]
    fn add(&mut self, paths: &[Vec<String>], cuts: &[usize], depth: usize) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node { children: Vec::new(), below_end: 0 });
        let mut names: Vec<&str> = Vec::new();
        for &cut in cuts {
            match paths[cut].get(depth) {
                None => self.places[cut] = node,
                Some(name) if names.contains(&name.as_str()) => {}
                Some(name) => names.push(name),
            }
        }
        for name in names {
            let below: Vec<usize> =
                cuts.iter().copied().filter(|&cut| paths[cut].get(depth).is_some_and(|step| step == name)).collect();
            let child = self.add(paths, &below, depth + 1);
            let element = pointer::element(name);
            self.nodes[node].children.push(Child { name: name.as_bytes().into(), element, node: child });
        }
        self.nodes[node].below_end = self.nodes.len();
        node
    }
}
