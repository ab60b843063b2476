//! A record given up on, as the JSON document that is kept of it.
//!
//! Bytes are text where they are UTF-8 (`value`), else base64 (`value_base64`); so for keys and header
//! values. `redrive` needs no more than this document to send the record through again.

use model::{EventTime, ModuleDigest, OperatorUid, RecordBatch, SubtaskIndex, TimerClock};
use serde_json::{Map, Value, json};

use crate::failure::Coordinates;

/// What is kept beside the record.
#[derive(Debug)]
pub(crate) struct Verdict<'a> {
    pub(crate) operator: &'a OperatorUid,
    pub(crate) subtask: SubtaskIndex,
    pub(crate) module: Option<ModuleDigest>,
    pub(crate) origin: Option<&'a Coordinates>,
    pub(crate) code: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) message: &'a str,
}

/// The document of a record: row `row` of `batch`. `key` is what it was partitioned by, where known.
pub(crate) fn of_record(batch: &RecordBatch, row: usize, key: Option<&[u8]>, verdict: &Verdict<'_>) -> Vec<u8> {
    let mut document = head(verdict);
    match batch.timestamps.get(row) {
        Some(&time) if time != EventTime::UNKNOWN => document.insert("timestamp".to_owned(), json!(time.0)),
        _ => document.insert("timestamp".to_owned(), Value::Null),
    };
    put(&mut document, "key", key);
    if let Some(keys) = &batch.record_keys {
        put(&mut document, "record_key", keys.get(row));
    }
    let index = u32::try_from(row).unwrap_or(u32::MAX);
    let headers = batch.headers.iter().flat_map(|headers| headers.of_row(index)).map(|(name, value)| {
        let mut header = Map::new();
        put(&mut header, "name", Some(name));
        put(&mut header, "value", value);
        Value::Object(header)
    });
    document.insert("headers".to_owned(), headers.collect());
    put(&mut document, "value", batch.values.get(row));
    Value::Object(document).to_string().into_bytes()
}

/// The document of what never became a record. `length_bytes` is its whole length.
pub(crate) fn of_rejected(bytes: &[u8], length_bytes: u64, verdict: &Verdict<'_>) -> Vec<u8> {
    let mut document = head(verdict);
    document.insert("timestamp".to_owned(), Value::Null);
    document.insert("length_bytes".to_owned(), json!(length_bytes));
    put(&mut document, "value", Some(bytes));
    Value::Object(document).to_string().into_bytes()
}

/// The document of a timer that could not be handled; it is gone, and there is no record to send through again.
pub(crate) fn of_timer(key: &[u8], clock: TimerClock, at: i64, verdict: &Verdict<'_>) -> Vec<u8> {
    let mut document = head(verdict);
    document.insert("timestamp".to_owned(), Value::Null);
    document.insert("timer".to_owned(), json!({ "clock": clock.name(), "at": at }));
    put(&mut document, "key", Some(key));
    put(&mut document, "value", None);
    Value::Object(document).to_string().into_bytes()
}

fn head(verdict: &Verdict<'_>) -> Map<String, Value> {
    let mut document = Map::new();
    let error = json!({ "code": verdict.code, "kind": verdict.kind, "message": verdict.message });
    document.insert("error".to_owned(), error);
    document.insert("operator".to_owned(), json!(verdict.operator.as_str()));
    document.insert("subtask".to_owned(), json!(verdict.subtask.0));
    document.insert("module".to_owned(), json!(verdict.module.map(|digest| digest.to_string())));
    let origin = verdict.origin.map(
        |origin| json!({ "source": origin.source.as_str(), "split": origin.split, "position": origin.position.0 }),
    );
    document.insert("origin".to_owned(), json!(origin));
    document
}

fn put(document: &mut Map<String, Value>, name: &str, bytes: Option<&[u8]>) {
    match bytes.map(|bytes| (bytes, str::from_utf8(bytes))) {
        None => document.insert(name.to_owned(), Value::Null),
        Some((_, Ok(text))) => document.insert(name.to_owned(), json!(text)),
        Some((bytes, Err(_))) => document.insert(format!("{name}_base64"), json!(base64(bytes))),
    };
}

/// RFC 4648 with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: [char; 64] = [
        'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q', 'R', 'S', 'T', 'U', 'V',
        'W', 'X', 'Y', 'Z', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r',
        's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '/',
    ];
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().zip([16, 8, 0]).fold(0u32, |bits, (&byte, shift)| bits | (u32::from(byte) << shift));
        for place in 0..4usize {
            let index = (bits >> (18 - 6 * place)) & 63;
            let symbol = ALPHABET.get(index as usize).copied().filter(|_| place <= three.len());
            text.push(symbol.unwrap_or('='));
        }
    }
    text
}

#[cfg(test)]
mod tests;
