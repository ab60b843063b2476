//! Which cuts a decoder makes for everybody who reads one output: their union, so that a value is
//! parsed once.

use format::{Cut, CutKind, WHOLE_VALUE};
use model::job::KeySpec;

use crate::graph::{Consumer, EventTimeCut, FunctionNode, JobGraph};

/// The cuts to make in the records of one output.
#[derive(Clone, Debug, Default)]
pub(crate) struct CutPlan {
    cuts: Vec<Cut>,
    /// Where the event time is among the cuts.
    pub(crate) time: Option<usize>,
    /// What each consumer takes, in their order.
    pub(crate) consumers: Vec<ConsumerCuts>,
}

/// What one consumer takes of the cuts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConsumerCuts {
    /// The partition key.
    pub(crate) key: Option<usize>,
    /// The fields of its input, in their order.
    pub(crate) fields: Vec<usize>,
}

impl ConsumerCuts {
    /// Whether it takes `cut`.
    pub(crate) fn takes(&self, cut: usize) -> bool {
        self.key == Some(cut) || self.fields.contains(&cut)
    }

    /// Whether it needs the value to be readable at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.key.is_none() && self.fields.is_empty()
    }
}

impl CutPlan {
    pub(crate) fn new(graph: &JobGraph, event_time: Option<&EventTimeCut>, consumers: &[Consumer]) -> Self {
        let mut plan = Self::default();
        plan.time = event_time
            .map(|time| plan.want(Cut { path: time.path.clone(), kind: CutKind::Time(time.unit), required: true }));
        for consumer in consumers {
            let cuts = match consumer {
                Consumer::Sink(_) => ConsumerCuts::default(),
                Consumer::Function(index, input) => match graph.functions.get(*index) {
                    Some(node) => plan.for_function(node, *input),
                    None => ConsumerCuts::default(),
                },
            };
            plan.consumers.push(cuts);
        }
        plan
    }

    /// Every cut, each once.
    pub(crate) fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    fn for_function(&mut self, node: &FunctionNode, input: model::InputId) -> ConsumerCuts {
        let key = match &node.key {
            Some(KeySpec::Field(path)) if path != WHOLE_VALUE => {
                Some(self.want(Cut { path: path.clone(), kind: CutKind::Key, required: true }))
            }
            _ => None,
        };
        let port = node.factory.descriptor().input(input);
        let fields = port.map_or(&[][..], |port| port.fields.as_slice());
        let fields = fields.iter().map(|field| {
            self.want(Cut { path: field.path.clone(), kind: CutKind::Field(field.kind), required: field.required })
        });
        ConsumerCuts { fields: fields.collect(), key }
    }

    /// The place of `cut` among the cuts.
    fn want(&mut self, cut: Cut) -> usize {
        if let Some(index) = self.cuts.iter().position(|known| *known == cut) {
            return index;
        }
        self.cuts.push(cut);
        self.cuts.len() - 1
    }
}
