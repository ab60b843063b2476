//! Checkpoints as documents for programs.

use model::JobName;
use protocol::manifest::{LogRecord, Manifest};
use serde_json::{Value, json};

use crate::figures::time_text;
use crate::storage::LogEntry;

/// The whole log, oldest first.
pub(crate) fn list(job: &JobName, log: &[LogEntry]) -> Value {
    let mut checkpoints = Vec::new();
    let mut claims = Vec::new();
    let mut unreadable = Vec::new();
    for entry in log {
        match &entry.record {
            Ok(LogRecord::Complete(manifest)) => checkpoints.push(summary(entry, manifest)),
            Ok(LogRecord::Claim(claim)) => claims.push(json!({
                "number": entry.number,
                "generation": claim.generation,
                "lineage": claim.lineage.to_string(),
                "owner": claim.owner,
            })),
            Err(why) => unreadable.push(json!({ "number": entry.number, "why": why })),
        }
    }
    json!({ "job": job, "checkpoints": checkpoints, "claims": claims, "unreadable": unreadable })
}

fn summary(entry: &LogEntry, manifest: &Manifest) -> Value {
    json!({
        "number": entry.number,
        "epoch": manifest.epoch,
        "kind": manifest.kind,
        "lineage": manifest.lineage.to_string(),
        "generation": manifest.generation,
        "parent": manifest.parent,
        "host_clock": time_text(manifest.host_clock.0),
        "state_bytes": state_bytes(manifest),
        "pending_epochs": pending_epochs(manifest),
    })
}

/// One checkpoint, with everything a person may want to know of it.
pub(crate) fn show(entry: &LogEntry, manifest: &Manifest) -> Value {
    let sources = manifest.sources.iter().map(|(uid, source)| {
        let splits = source.splits.iter().map(|split| {
            json!({
                "split": split.name,
                "position": split.position,
                "ended": split.ended,
                "greatest_event_time": time_text(split.greatest_event_time.0),
            })
        });
        json!({ "uid": uid, "splits": splits.collect::<Vec<_>>() })
    });
    let operators = manifest.operators.iter().map(|(uid, operator)| {
        let states = operator.states.iter().map(|state| json!({ "name": state.name, "version": state.version }));
        let parts = operator.parts.iter().map(|part| {
            json!({
                "key_groups": [part.key_groups.first, part.key_groups.end],
                "kind": part.kind,
                "epoch": part.epoch,
                "bytes": part.length_bytes(),
                "objects": part.objects.iter().map(|object| &object.name).collect::<Vec<_>>(),
            })
        });
        json!({
            "uid": uid,
            "module": operator.module.map(|digest| digest.to_string()),
            "states": states.collect::<Vec<_>>(),
            "parts": parts.collect::<Vec<_>>(),
        })
    });
    let sinks = manifest.sinks.iter().map(|(uid, sink)| {
        let pending = sink.pending.iter().map(|pending| {
            json!({
                "epoch": pending.epoch,
                "records": pending.staged.iter().map(|staged| staged.records).sum::<u64>(),
                "bytes": pending.staged.iter().map(|staged| staged.bytes).sum::<u64>(),
            })
        });
        json!({
            "uid": uid,
            "delivery": sink.delivery,
            "published": sink.published,
            "pending": pending.collect::<Vec<_>>(),
        })
    });
    let mut document = summary(entry, manifest);
    let more = json!({
        "job": manifest.job,
        "key_groups": manifest.key_groups,
        "key_hash": manifest.key_hash,
        "watermark": time_text(manifest.watermark.0),
        "rewound": manifest.rewound.map(|from| json!({ "lineage": from.lineage.to_string(), "epoch": from.epoch })),
        "sources": sources.collect::<Vec<_>>(),
        "operators": operators.collect::<Vec<_>>(),
        "sinks": sinks.collect::<Vec<_>>(),
    });
    if let (Value::Object(document), Value::Object(more)) = (&mut document, more) {
        document.extend(more);
    }
    document
}

/// Bytes of the objects that hold keyed state.
pub(crate) fn state_bytes(manifest: &Manifest) -> u64 {
    manifest.operators.values().flat_map(|operator| &operator.parts).map(protocol::manifest::Part::length_bytes).sum()
}

/// How many epochs some sink was not known to have published.
pub(crate) fn pending_epochs(manifest: &Manifest) -> usize {
    let epochs = manifest.sinks.values().flat_map(|sink| &sink.pending).map(|pending| pending.epoch);
    epochs.collect::<std::collections::BTreeSet<_>>().len()
}
