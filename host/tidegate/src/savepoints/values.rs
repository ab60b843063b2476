//! Keys and values of state as JSON, without the code that wrote them.
//!
//! Values are MessagePack; what JSON has no word for, bytes and keys that are no text, is shown in words: bytes as
//! `{"hex": "…"}`. What is no MessagePack is bytes.

use std::fmt;

use model::StateKind;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

/// A value of state.
pub(crate) fn value_shown(bytes: &[u8]) -> Value {
    let mut reader = rmp_serde::Deserializer::new(std::io::Cursor::new(bytes));
    match Shown::deserialize(&mut reader) {
        Ok(Shown(value)) if reader.position() == bytes.len() as u64 => value,
        _ => hex(bytes),
    }
}

/// Bytes that are often text.
pub(crate) fn bytes_shown(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => Value::String(text.to_owned()),
        _ => hex(bytes),
    }
}

/// The key of an entry: a number in a list, by the schema in a map where it is one.
pub(crate) fn entry_key_shown(kind: StateKind, schema: &str, bytes: &[u8]) -> Value {
    let number = <[u8; 8]>::try_from(bytes).ok();
    if let (StateKind::Appended, Some(index)) = (kind, number) {
        return json!(u64::from_be_bytes(index));
    }
    let schema = serde_json::from_str::<Value>(schema).ok();
    let keys = schema.as_ref().and_then(|schema| schema.get("propertyNames"));
    let said = |name: &str| keys.and_then(|keys| keys.get(name)).and_then(Value::as_str).unwrap_or_default();
    match number.map(u64::from_be_bytes) {
        Some(number) if said("type") == "integer" && said("format").starts_with("uint") => json!(number),
        // Signed ones sort by their bytes, with the top bit flipped.
        Some(number) if said("type") == "integer" => json!((number ^ (1 << 63)).cast_signed()),
        _ => bytes_shown(bytes),
    }
}

fn hex(bytes: &[u8]) -> Value {
    json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() })
}

/// Anything, as JSON shows it.
struct Shown(Value);

impl<'de> Deserialize<'de> for Shown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(json!(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(json!(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // What JSON has no number for is written as its text.
        Ok(if value.is_finite() { json!(value) } else { json!(value.to_string()) })
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(hex(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Shown(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((Shown(key), Shown(value))) = entries.next_entry()? {
            let key = match key {
                Value::String(text) => text,
                other => other.to_string(),
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_as_the_json_it_is_like() {
        let value = json!({ "name": "ada", "age": 36, "tags": ["a", null, true, -1.5] });
        let bytes = rmp_serde::to_vec_named(&value).expect("it can be written");
        assert_eq!(value_shown(&bytes), value);
    }

    #[test]
    fn what_json_has_no_word_for_is_written_in_words() {
        assert_eq!(value_shown(&[0xc4, 2, 0xff, 0x00]), json!({ "hex": "ff00" }));
        assert_eq!(value_shown(&[0x81, 0x07, 0x01]), json!({ "7": 1 }));
    }

    #[test]
    fn what_is_no_value_is_shown_as_bytes() {
        for bytes in [&b""[..], &[0xc1], &[0x01, 0x02], &[0x92, 0x01]] {
            assert!(value_shown(bytes).get("hex").is_some(), "{bytes:?}");
        }
    }

    #[test]
    fn keys_are_text_where_they_are_and_bytes_where_not() {
        assert_eq!(bytes_shown(b"order-7"), json!("order-7"));
        assert_eq!(bytes_shown(b"a\0b"), json!({ "hex": "610062" }));
        assert_eq!(entry_key_shown(StateKind::Appended, "{}", &3_u64.to_be_bytes()), json!(3));
        assert_eq!(entry_key_shown(StateKind::MapEntries, "{}", b"red"), json!("red"));
        let keys = |format: &str| format!(r#"{{"propertyNames":{{"type":"integer","format":"{format}"}}}}"#);
        let shown =
            |format: &str, bits: u64| entry_key_shown(StateKind::MapEntries, &keys(format), &bits.to_be_bytes());
        assert_eq!(shown("uint64", 7), json!(7));
        assert_eq!(shown("int64", (1 << 63) - 7), json!(-7));
    }
}
