//! Checkpoints as documents for programs.

use model::{JobName, ObjectNumber};
use protocol::manifest::Manifest;
use serde_json::{Value, json};

use super::{Line, Listed};
use crate::figures::time_text;

/// The whole log, oldest first.
pub(super) fn list(job: &JobName, listed: &Listed) -> Value {
    let claims = listed.claims.iter().map(|(number, claim)| {
        json!({
            "number": number,
            "generation": claim.generation,
            "lineage": claim.lineage.to_string(),
            "owner": claim.owner,
        })
    });
    let unreadable = listed.unreadable.iter().map(|(number, why)| json!({ "number": number, "why": why }));
    json!({
        "job": job,
        "checkpoints": listed.checkpoints.iter().map(summary).collect::<Vec<_>>(),
        "claims": claims.collect::<Vec<_>>(),
        "unreadable": unreadable.collect::<Vec<_>>(),
    })
}

fn summary(line: &Line) -> Value {
    json!({
        "number": line.number,
        "epoch": line.epoch,
        "kind": line.kind,
        "lineage": line.lineage.to_string(),
        "generation": line.generation,
        "parent": line.parent,
        "host_clock": time_text(line.host_clock.0),
        "state_bytes": line.state_bytes,
        "pending_epochs": line.pending_epochs,
    })
}

/// One checkpoint, with everything a person may want to know of it.
pub(super) fn show(number: ObjectNumber, manifest: &Manifest) -> Value {
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
    let mut document = summary(&Line::of(number, manifest));
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
