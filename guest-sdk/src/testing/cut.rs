//! Cutting fields and keys out of JSON, as the engine does, by means of `serde_json`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::bindings::types::{Cells, Field, FieldColumn, FieldKind};

/// Appends one field of a record; says why where the record is bad.
pub(super) fn cut(value: Option<&[u8]>, field: &Field, into: &mut FieldColumn) -> Result<(), String> {
    let place = format!("field `{}` at {}", field.name, field.path);
    let value = value.ok_or_else(|| format!("{place}: the record has no value"))?;
    let text = std::str::from_utf8(value).map_err(|_| format!("{place}: the value is not UTF-8"))?;
    let found = find(text, &field.path).map_err(|error| format!("{place}: the value is not JSON: {error}"))?;
    match found.filter(|raw| raw.get() != "null") {
        Some(raw) => append(raw.get(), field.kind, into)
            .map_err(|expected| format!("{place}: expected {expected}, found {}", raw.get())),
        None if field.required => Err(format!("{place} is missing")),
        None => {
            into.push_absent();
            Ok(())
        }
    }
}

/// The key of a record: the text of a string, the raw text of a number or boolean.
pub(super) fn key(value: Option<&[u8]>, path: &str) -> Result<Vec<u8>, String> {
    let text = value.and_then(|value| std::str::from_utf8(value).ok()).ok_or("the key is cut out of text")?;
    let raw =
        find(text, path).map_err(|error| error.to_string())?.ok_or_else(|| format!("the key at {path} is missing"))?;
    match raw.get().as_bytes().first() {
        Some(b'"') => {
            serde_json::from_str::<String>(raw.get()).map(String::into_bytes).map_err(|error| error.to_string())
        }
        Some(b'{' | b'[' | b'n') | None => Err(format!("the key at {path} is {}", raw.get())),
        Some(_) => Ok(raw.get().as_bytes().to_vec()),
    }
}

/// What a JSON pointer leads to.
fn find<'a>(text: &'a str, path: &str) -> serde_json::Result<Option<&'a RawValue>> {
    let mut at: &RawValue = serde_json::from_str(text)?;
    for name in path.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let inner = match at.get().as_bytes().first() {
            Some(b'{') => serde_json::from_str::<BTreeMap<String, &RawValue>>(at.get())?.remove(&name),
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(at.get())?;
                name.parse().ok().and_then(|index: usize| items.get(index).copied())
            }
            _ => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// Appends a cell; says what was expected where the text is of another kind.
fn append(text: &str, kind: FieldKind, into: &mut FieldColumn) -> Result<(), &'static str> {
    match &mut into.cells {
        Cells::Texts(cells) if kind == FieldKind::Json => cells.push(text.as_bytes()),
        Cells::Texts(cells) => {
            let text: String = serde_json::from_str(text).map_err(|_| "a text")?;
            cells.push(text.as_bytes());
        }
        Cells::Integers(cells) => cells.push(serde_json::from_str(text).map_err(|_| "a whole number of 64 bits")?),
        Cells::Floats(cells) => cells.push(serde_json::from_str(text).map_err(|_| "a number")?),
        Cells::Booleans(cells) => {
            cells.push(u8::from(serde_json::from_str::<bool>(text).map_err(|_| "true or false")?));
        }
    }
    into.mark_present();
    Ok(())
}

/// Appends the one cell of `from`.
pub(super) fn copy(from: &FieldColumn, into: &mut FieldColumn) {
    if from.present.first() == Some(&0) {
        into.push_absent();
        return;
    }
    match (&from.cells, &mut into.cells) {
        (Cells::Texts(from), Cells::Texts(into)) => into.push(from.get(0)),
        (Cells::Integers(from), Cells::Integers(into)) => into.extend(from.first()),
        (Cells::Floats(from), Cells::Floats(into)) => into.extend(from.first()),
        (Cells::Booleans(from), Cells::Booleans(into)) => into.extend(from.first()),
        _ => panic!("`Record::fields` was given another struct than `type In = Fields<…>` of the function"),
    }
    into.mark_present();
}
