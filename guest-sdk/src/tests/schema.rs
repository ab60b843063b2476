//! Schemas as text, and that they tell what is stored.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::{Schema, schema_text};

fn schema<T: Schema>() -> Json {
    serde_json::from_str(&schema_text::<T>()).unwrap()
}

#[derive(Serialize, Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
struct Named {
    first_name: String,
    #[serde(rename = "n")]
    number: u16,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(skip)]
    #[expect(dead_code, reason = "it is left out of what is stored")]
    cached: u8,
    more: Option<Box<Named>>,
}

#[derive(Serialize, Deserialize, Schema)]
struct Pair(u8, String);

#[derive(Serialize, Deserialize, Schema)]
struct Wrapped(f64);

#[derive(Serialize, Deserialize, Schema)]
#[serde(transparent)]
struct Through {
    inner: bool,
}

#[derive(Serialize, Deserialize, Schema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    OnTime,
    Late { minutes: u32 },
    Moved(String),
}

#[derive(Serialize, Deserialize, Schema)]
struct Generic<T> {
    inner: T,
}

#[test]
fn standard_types_have_schemas() {
    assert_eq!(schema::<u8>(), json!({"type": "integer", "format": "uint8"}));
    assert_eq!(schema::<Option<bool>>(), json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}));
    assert_eq!(schema::<Vec<f32>>(), json!({"type": "array", "items": {"type": "number", "format": "float"}}));
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_eq!(schema::<BTreeMap<String, String>>(), map);
    assert_eq!(schema::<HashMap<String, String>>(), map);
    assert_eq!(
        schema::<(bool, String)>(),
        json!({"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "string"}], "minItems": 2, "maxItems": 2})
    );
    assert_eq!(
        schema::<[bool; 3]>(),
        json!({"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 3})
    );
}

#[test]
fn derived_schemas_follow_serde() {
    assert_eq!(
        schema::<Named>(),
        json!({
            "title": "Named",
            "type": "object",
            "properties": {
                "firstName": {"type": "string"},
                "n": {"type": "integer", "format": "uint16"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "more": {"anyOf": [{"title": "Named"}, {"type": "null"}]},
            },
            "required": ["firstName", "n"],
        })
    );
    assert_eq!(schema::<Wrapped>()["allOf"], json!([{"type": "number", "format": "double"}]));
    assert_eq!(schema::<Pair>()["minItems"], json!(2));
    assert_eq!(schema::<Through>(), json!({"type": "boolean"}));
    assert_eq!(schema::<Generic<Generic<u8>>>()["properties"]["inner"]["title"], json!("Generic"));
    assert_eq!(
        schema::<Kind>()["oneOf"],
        json!([
            {"const": "on-time"},
            {
                "type": "object",
                "properties": {"late": {
                    "type": "object",
                    "properties": {"minutes": {"type": "integer", "format": "uint32"}},
                    "required": ["minutes"],
                }},
                "required": ["late"],
            },
            {
                "type": "object",
                "properties": {"moved": {"allOf": [{"type": "string"}]}},
                "required": ["moved"],
            },
        ])
    );
}

/// The names in a schema are those that are stored.
#[test]
fn stored_values_have_the_names_of_the_schema() {
    let value = Named { first_name: "a".into(), number: 1, tags: vec![], cached: 9, more: None };
    let mut bytes = Vec::new();
    value.encode(&mut bytes).unwrap();
    let stored: BTreeMap<String, Json> = rmp_serde::from_slice(&bytes).unwrap();
    let described = schema::<Named>();
    let described: Vec<_> = described["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(stored.into_keys().collect::<Vec<_>>(), described);

    for (kind, name) in
        [(Kind::OnTime, "on-time"), (Kind::Moved("x".into()), "moved"), (Kind::Late { minutes: 1 }, "late")]
    {
        let mut bytes = Vec::new();
        kind.encode(&mut bytes).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(name), "{bytes:?}");
    }
}
