//! Whether a manifest fits the job of today: one rule for every start, after a crash as well as by hand, from a
//! checkpoint as well as from a savepoint.
//!
//! # Invariants
//! 1. What the manifest keeps and the job does not know is refused by name, unless it is named as dropped.
//! 2. What the job has and the manifest does not know begins empty.
//! 3. States are compared here and nowhere else, by [`protocol::schema`]; nothing is changed before all of it fits.

use std::collections::{BTreeMap, BTreeSet};

use contract::{Error, Split};
use model::{Blame, ObjectNumber, OperatorUid, Retry, StateDescriptor};
use protocol::manifest::{LogRecord, Manifest, OperatorState};
use protocol::ownership::{Content, LogEntry};
use protocol::recovery::{Ledgers, Permissions};
use protocol::schema::{Comparison, Rule, compare};

use super::own::choose;
use crate::graph::{FunctionNode, JobGraph};
use crate::plan::dead_letters_uid;

/// A manifest that fits the job of today.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Without what is dropped. State that does not stay as it is has the descriptors it was stored with.
    pub(super) manifest: Manifest,
    /// What becomes of the state of each function that the manifest keeps some of.
    pub(super) states: BTreeMap<OperatorUid, Comparison>,
}

impl Fitted {
    /// How the values of each function look that are stored from now on.
    pub(super) fn stored(&self) -> BTreeMap<OperatorUid, Vec<StateDescriptor>> {
        self.states.iter().map(|(uid, comparison)| (uid.clone(), comparison.stored())).collect()
    }
}

/// What may be dropped, as a user names it: `operator`, or `operator/state`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) operators: BTreeSet<OperatorUid>,
    states: BTreeMap<OperatorUid, BTreeSet<String>>,
}

impl Drops {
    pub(crate) fn parse(named: &[String]) -> Result<Self, Error> {
        let mut drops = Self::default();
        for text in named {
            let (uid, state) = text.split_once('/').map_or((text.as_str(), None), |(uid, state)| (uid, Some(state)));
            let uid = OperatorUid::new(uid).map_err(|error| {
                let message = format!("`{text}` to be dropped: {error}; expected `operator` or `operator/state`");
                Error::new(Blame::Config, Retry::No, message).with_code("E0445")
            })?;
            match state {
                None => drops.operators.insert(uid),
                Some(state) => drops.states.entry(uid).or_default().insert(state.to_owned()),
            };
        }
        Ok(drops)
    }
}

/// Whether a job can go on from `manifest`, before anything is claimed, opened or written. `drop_state` names what may
/// be dropped: `operator/state`, or `operator` alone. Parts that list no objects stand for state that is to come.
///
/// # Errors
/// What does not fit, by name, with the rule and what to do.
pub fn judge(graph: &JobGraph, manifest: &Manifest, drop_state: &[String]) -> Result<Fitted, Error> {
    let drops = Drops::parse(drop_state)?;
    let content = Content::Record(LogRecord::Complete(Box::new(manifest.clone())));
    let permissions = Permissions { drop: drops.operators.clone(), ..Permissions::default() };
    // Targets are asked later, by who owns the job: here none has published anything.
    choose(&[LogEntry { number: ObjectNumber(0), content }], graph, &Ledgers::new(), &permissions)?;
    fit(graph, manifest.clone(), &drops)
}

/// The manifest without what is dropped, and what becomes of the states in it.
pub(super) fn fit(graph: &JobGraph, mut manifest: Manifest, drops: &Drops) -> Result<Fitted, Error> {
    let is_source = |uid: &OperatorUid| graph.sources.iter().any(|node| node.uid == *uid);
    let is_sink = |uid: &OperatorUid| {
        graph.sinks.iter().any(|node| node.uid == *uid) || (graph.dead_letters.is_some() && *uid == dead_letters_uid())
    };
    manifest.sources.retain(|uid, _| is_source(uid));
    manifest.sinks.retain(|uid, _| is_sink(uid));
    manifest.operators.retain(|uid, _| graph.functions.iter().any(|node| node.uid == *uid));
    let mut states = BTreeMap::new();
    let mut refusals = Vec::new();
    for node in &graph.functions {
        let Some(known) = manifest.operators.get_mut(&node.uid) else { continue };
        if drops.operators.contains(&node.uid) || known.parts.is_empty() {
            *known = OperatorState::default();
            continue;
        }
        check_key(node, known)?;
        let dropped = drops.states.get(&node.uid).cloned().unwrap_or_default();
        let comparison = compare(&known.states, &node.factory.descriptor().kept_states(), &dropped);
        let refused = comparison.refusals().map(|(state, rule, help)| Refused::new(&node.uid, state, rule, help));
        refusals.extend(refused);
        if comparison.ids().is_empty() {
            *known = OperatorState::default();
        } else {
            states.insert(node.uid.clone(), comparison);
        }
    }
    match refusals.is_empty() {
        true => Ok(Fitted { manifest, states }),
        false => Err(refuse(&refusals)),
    }
}

/// A state that cannot go on, in words.
struct Refused {
    why: String,
    help: String,
}

impl Refused {
    fn new(uid: &OperatorUid, state: &str, rule: &Rule, help: &str) -> Self {
        Self { why: format!("state `{uid}/{state}`: {rule}"), help: help.to_owned() }
    }
}

fn refuse(refusals: &[Refused]) -> Error {
    let joined = |text: fn(&Refused) -> &str| refusals.iter().map(text).collect::<Vec<_>>().join("; ");
    let message = format!("the job cannot go on with what is stored: {}", joined(|refused| &refused.why));
    let error = Error::new(Blame::Config, Retry::No, message).with_code(Rule::CODE);
    error.with_help(joined(|refused| &refused.help))
}

/// State lies under keys: by another one, a record would meet the state of a stranger.
fn check_key(node: &FunctionNode, known: &OperatorState) -> Result<(), Error> {
    let now = node.key.as_ref().map(ToString::to_string);
    let (Some(kept), Some(now)) = (&known.key, now) else { return Ok(()) };
    if *kept == now {
        return Ok(());
    }
    let message = format!(
        "function `{}` keeps state by `{kept}`: expected that key, found `{now}`; give it back, or name `{}` among those to drop",
        node.uid, node.uid
    );
    Err(Error::new(Blame::Config, Retry::No, message).with_code("E0447"))
}

/// Refuses a split with records that were not read and that is gone.
pub(crate) fn check_splits(graph: &JobGraph, splits: &[Vec<Split>], manifest: &Manifest) -> Result<(), Error> {
    for (node, splits) in graph.sources.iter().zip(splits) {
        let known = manifest.sources.get(&node.uid).into_iter().flat_map(|source| &source.splits);
        let gone = |name: &str| !splits.iter().any(|split| split.name == name);
        if let Some(split) = known.filter(|split| !split.ended).find(|split| gone(&split.name)) {
            let message = format!(
                "source `{}` no longer has the split `{}`, which was read up to position {}: expected the rest of it",
                node.uid, split.name, split.position
            );
            return Err(Error::new(Blame::External, Retry::No, message).with_code("E0446"));
        }
    }
    Ok(())
}
