//! Whether a manifest fits the job of today: one rule for every start, after a crash as well as by hand.
//!
//! # Invariants
//! 1. What the manifest keeps and the job does not know is refused by name, unless it is named as dropped.
//! 2. What the job has and the manifest does not know begins empty.

use std::collections::BTreeSet;

use contract::{Error, Split};
use model::{Blame, OperatorUid, Retry, StateDescriptor};
use protocol::manifest::{Manifest, OperatorState};

use crate::graph::{FunctionNode, JobGraph};
use crate::plan::dead_letters_uid;

/// What may be dropped, as a user names it: `operator`, or `operator/state`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    pub(crate) operators: BTreeSet<OperatorUid>,
    states: BTreeSet<(OperatorUid, String)>,
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
                Some(state) => drops.states.insert((uid, state.to_owned())),
            };
        }
        Ok(drops)
    }
}

/// The manifest without what is dropped.
pub(crate) fn fit(graph: &JobGraph, mut manifest: Manifest, drops: &Drops) -> Result<Manifest, Error> {
    let is_source = |uid: &OperatorUid| graph.sources.iter().any(|node| node.uid == *uid);
    let is_sink = |uid: &OperatorUid| {
        graph.sinks.iter().any(|node| node.uid == *uid) || (graph.dead_letters.is_some() && *uid == dead_letters_uid())
    };
    manifest.sources.retain(|uid, _| is_source(uid));
    manifest.sinks.retain(|uid, _| is_sink(uid));
    manifest.operators.retain(|uid, _| graph.functions.iter().any(|node| node.uid == *uid));
    for node in &graph.functions {
        let Some(known) = manifest.operators.get_mut(&node.uid) else { continue };
        if drops.operators.contains(&node.uid) {
            *known = OperatorState::default();
        } else if !known.parts.is_empty() {
            check_key(node, known)?;
            let declared = node.factory.descriptor().kept_states();
            known.states.iter().try_for_each(|state| fits(&node.uid, state, &declared, drops))?;
        }
    }
    Ok(manifest)
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

fn fits(uid: &OperatorUid, kept: &StateDescriptor, declared: &[StateDescriptor], drops: &Drops) -> Result<(), Error> {
    let refused = |why: String| {
        let message = format!("state `{uid}/{}` of the checkpoint {why}", kept.name);
        Err(Error::new(Blame::Config, Retry::No, message).with_code("E0445"))
    };
    if drops.states.contains(&(uid.clone(), kept.name.clone())) {
        return match declared.iter().find(|state| state.id == kept.id) {
            // Its entries would be taken for those of the other.
            Some(other) => {
                refused(format!("has the id {}, which `{}` has now: expected a new id", kept.id, other.name))
            }
            None => Ok(()),
        };
    }
    match declared.iter().find(|state| state.name == kept.name) {
        None => refused("is not declared any more: expected the state, or its name among those to drop".to_owned()),
        Some(now) if now.kind != kept.kind => {
            refused(format!("is of kind {:?}: expected that kind, found {:?}", kept.kind, now.kind))
        }
        Some(now) if now.id != kept.id => refused(format!("has the id {}: expected it, found {}", kept.id, now.id)),
        Some(_) => Ok(()),
    }
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
