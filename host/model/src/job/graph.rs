//! How the operators of a job hang together: names, inputs, cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::OperatorUid;

use super::check::{At, Check, nearest};
use super::codes;
use super::spec::InputRef;
use super::tree::shorten;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorKind {
    Source,
    Function,
    Sink,
}

impl OperatorKind {
    fn noun(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Function => "function",
            Self::Sink => "sink",
        }
    }
}

struct Operator {
    name: String,
    kind: OperatorKind,
    path: String,
    span: Range<usize>,
}

struct Edge {
    from: String,
    has_output: bool,
    to: String,
    path: String,
    span: Range<usize>,
}

/// The operators and edges as they are written, right or wrong.
#[derive(Default)]
pub(super) struct Graph {
    operators: Vec<Operator>,
    edges: Vec<Edge>,
}

/// `dedup`, `dedup.late`, or a list of such.
pub(super) fn read_refs(check: &mut Check, graph: &mut Graph, at: &At<'_>, reader: &str) -> Vec<InputRef> {
    let mut refs: Vec<InputRef> = Vec::new();
    for item in check.one_or_many(at) {
        let Some(text) = check.text(&item, "the name of a source or a function, such as `dedup` or `dedup.late`")
        else {
            continue;
        };
        let (from, output) = match text.split_once('.') {
            Some((from, output)) => (from, Some(output)),
            None => (text, None),
        };
        graph.edges.push(Edge {
            from: from.to_owned(),
            has_output: output.is_some(),
            to: reader.to_owned(),
            path: item.path.clone(),
            span: item.span.clone(),
        });
        // A name that is no name names nothing: the graph's own check says so.
        let Ok(from) = OperatorUid::new(from) else { continue };
        let input = InputRef { from, output: output.map(str::to_owned) };
        if refs.contains(&input) {
            let message = format!("`{}` stands twice: its records would be read twice", shorten(text));
            check.problem(codes::NAME_TWICE, &item, message);
            continue;
        }
        refs.push(input);
    }
    refs
}

impl Graph {
    pub(super) fn add(&mut self, name: &str, kind: OperatorKind, at: &At<'_>) {
        let operator = Operator { name: name.to_owned(), kind, path: at.path.clone(), span: at.span.clone() };
        self.operators.push(operator);
    }

    pub(super) fn check(&self, check: &mut Check) {
        let by_name = self.check_names(check);
        self.check_inputs(check, &by_name);
        self.check_sources_are_read(check);
        self.check_cycles(check);
    }

    fn check_names(&self, check: &mut Check) -> BTreeMap<&str, OperatorKind> {
        let mut by_name: BTreeMap<&str, &Operator> = BTreeMap::new();
        for operator in &self.operators {
            if let Some(first) = by_name.get(operator.name.as_str()) {
                let message = format!(
                    "the name `{}` is taken by `{}`: sources, functions and sinks share one set of names",
                    shorten(&operator.name),
                    first.path
                );
                check.problems.add(codes::NAME_TWICE, &operator.path, operator.span.clone(), message);
                continue;
            }
            by_name.insert(&operator.name, operator);
        }
        by_name.into_iter().map(|(name, operator)| (name, operator.kind)).collect()
    }

    fn check_inputs(&self, check: &mut Check, by_name: &BTreeMap<&str, OperatorKind>) {
        for edge in &self.edges {
            if check.problems.is_full() {
                break;
            }
            let (code, message, help) = match by_name.get(edge.from.as_str()) {
                Some(OperatorKind::Function) => continue,
                Some(OperatorKind::Source) if !edge.has_output => continue,
                Some(OperatorKind::Source) => {
                    let help = format!("write `{}`", edge.from);
                    (codes::UNKNOWN_OUTPUT, format!("source `{}` has no named outputs", edge.from), Some(help))
                }
                Some(OperatorKind::Sink) => {
                    let message = format!("`{}` is a sink: nothing can be read from it", edge.from);
                    (codes::UNKNOWN_INPUT, message, None)
                }
                None => {
                    let readable =
                        by_name.iter().filter(|(_, kind)| **kind != OperatorKind::Sink).map(|(name, _)| *name);
                    let help = nearest(&edge.from, readable).map(|near| format!("did you mean `{near}`?"));
                    let message = format!("there is no source or function `{}`", shorten(&edge.from));
                    (codes::UNKNOWN_INPUT, message, help)
                }
            };
            check.problems.add_with_help(code, &edge.path, edge.span.clone(), message, help);
        }
    }

    fn check_sources_are_read(&self, check: &mut Check) {
        let read: BTreeSet<&str> = self.edges.iter().map(|edge| edge.from.as_str()).collect();
        for operator in &self.operators {
            if operator.kind == OperatorKind::Source && !read.contains(operator.name.as_str()) {
                let message = format!(
                    "nothing reads the {} `{}`: its records would go nowhere",
                    operator.kind.noun(),
                    shorten(&operator.name)
                );
                let help = format!("give a function or a sink `input: {}`, or remove it", shorten(&operator.name));
                check.problems.add_with_help(
                    codes::UNREAD_SOURCE,
                    &operator.path,
                    operator.span.clone(),
                    message,
                    Some(help),
                );
            }
        }
    }

    /// Takes away the operators that read nothing that is left, until none is: what stays is on a cycle
    /// or behind one. Then follows edges backwards, which must come round.
    fn check_cycles(&self, check: &mut Check) {
        let (mut names, mut twice) = (BTreeSet::new(), BTreeSet::new());
        for operator in &self.operators {
            if !names.insert(operator.name.as_str()) {
                twice.insert(operator.name.as_str());
            }
        }
        let mut left: BTreeMap<&str, Vec<&Edge>> = BTreeMap::new();
        for edge in &self.edges {
            // With a name twice it is not known who reads.
            if !twice.contains(edge.to.as_str()) {
                left.entry(edge.to.as_str()).or_default().push(edge);
            }
        }
        loop {
            let before = left.len();
            let names: Vec<&str> = left.keys().copied().collect();
            left.retain(|_, edges| {
                edges.retain(|edge| names.binary_search(&edge.from.as_str()).is_ok());
                !edges.is_empty()
            });
            if left.len() == before && left.keys().copied().eq(names) {
                break;
            }
        }
        while let Some((&start, _)) = left.first_key_value() {
            let mut trail: Vec<&Edge> = Vec::new();
            let mut at = start;
            while let Some(edge) = left.get_mut(at).and_then(Vec::pop) {
                trail.push(edge);
                at = &edge.from;
                if let Some(first) = trail.iter().position(|edge| edge.to == at) {
                    report_cycle(check, trail.get(first..).unwrap_or_default());
                    break;
                }
            }
            for edge in &trail {
                left.remove(edge.to.as_str());
            }
            left.remove(start);
        }
    }
}

/// `trail` goes against the records: each edge is read by the one before it.
fn report_cycle(check: &mut Check, trail: &[&Edge]) {
    let Some(last) = trail.last() else { return };
    let mut names: Vec<&str> = trail.iter().rev().map(|edge| edge.from.as_str()).collect();
    names.push(&last.from);
    let message = format!("the records would go round for ever: {}", names.join(" → "));
    check.problems.add(codes::CYCLE, &last.path, last.span.clone(), message);
}
