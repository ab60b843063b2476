use std::collections::BTreeSet;

use serde_json::Value;

use super::super::JobSpec;
use super::{FULL, parse};

const PAGE: &str = include_str!("../../../../../docs/job-file.md");

fn schema() -> Value {
    serde_json::from_str(&JobSpec::json_schema()).expect("the schema is JSON")
}

/// The object schema at a path of property names; `*` is any name of the user's own.
fn at<'s>(schema: &'s Value, path: &[&str]) -> &'s Value {
    path.iter().fold(follow(schema, schema), |place, name| {
        let next = if *name == "*" { &place["additionalProperties"] } else { &place["properties"][*name] };
        follow(schema, next)
    })
}

/// Goes through references and alternatives to the alternative that is an object with properties.
fn follow<'s>(schema: &'s Value, place: &'s Value) -> &'s Value {
    if let Some(name) = place["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/")) {
        return follow(schema, &schema["$defs"][name]);
    }
    let alternatives = place["anyOf"].as_array().or(place["oneOf"].as_array());
    let object = |alternative: &&Value| follow(schema, alternative)["properties"].is_object();
    match alternatives.and_then(|alternatives| alternatives.iter().find(object)) {
        Some(alternative) => follow(schema, alternative),
        None => place,
    }
}

fn properties(place: &Value) -> BTreeSet<String> {
    place["properties"].as_object().into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

/// The keys that the reader knows at a place: a key like no other is put there, and the refusal lists
/// those that are known.
fn known(marked: &str) -> BTreeSet<String> {
    let told = parse(&marked.replace("HERE", "zzzzzzzzzzzzzzzzzzzz: 1")).expect_err("the key is refused").to_string();
    let list = told.split("known here: ").nth(1).unwrap_or_else(|| panic!("no list of keys in {told}"));
    let list = list.lines().next().unwrap_or_default();
    list.split(", ").map(|key| key.trim_matches('`').to_owned()).collect()
}

#[test]
fn readers_and_schema_name_the_same_keys() {
    let source = "{ file: { path: a }, format: json, HERE }";
    let cases: [(&[&str], &str); 20] = [
        (&[], "HERE"),
        (&["state"], "state: { HERE }"),
        (&["batch"], "batch: { HERE }"),
        (&["checkpoint"], "checkpoint: { HERE }"),
        (&["restart"], "checkpoint: {}\nrestart: { HERE }"),
        (&["sources", "*", "watermark"], "sources: { a: { watermark: { HERE } } }"),
        (&["sources", "*"], &format!("sources: {{ a: {source} }}")),
        (&["sources", "*", "file"], "sources: { a: { file: { HERE } } }"),
        (&["sources", "*", "generator"], "sources: { a: { generator: { HERE } } }"),
        (&["sources", "*", "generator", "keys"], "sources: { a: { generator: { keys: { HERE } } } }"),
        (&["sources", "*", "format"], "sources: { a: { format: { HERE } } }"),
        (&["sources", "*", "format", "csv"], "sources: { a: { format: { csv: { HERE } } } }"),
        (&["sources", "*", "event_time"], "sources: { a: { event_time: { HERE } } }"),
        (&["functions", "*"], "functions: { a: { HERE } }"),
        (&["functions", "*", "limits"], "functions: { a: { limits: { HERE } } }"),
        (&["sinks", "*"], "sinks: { a: { HERE } }"),
        (&["sinks", "*", "file"], "sinks: { a: { file: { HERE } } }"),
        (&["dead_letters"], "dead_letters: { HERE }"),
        (&["dead_letters", "file"], "dead_letters: { file: { HERE } }"),
        (&["sinks", "*", "format", "csv"], "sinks: { a: { format: { csv: { HERE } } } }"),
    ];
    let schema = schema();
    for (path, marked) in cases {
        assert_eq!(properties(at(&schema, path)), known(marked), "at {path:?}");
    }
}

#[test]
fn the_page_explains_every_key() {
    let schema = schema();
    let mut keys = properties(&schema);
    for definition in schema["$defs"].as_object().expect("definitions").values() {
        keys.extend(properties(definition));
        for alternative in definition["oneOf"].as_array().into_iter().flatten() {
            keys.extend(alternative["const"].as_str().map(str::to_owned));
        }
    }
    assert!(keys.len() > 60, "{} keys", keys.len());
    for key in keys {
        assert!(PAGE.contains(&format!("`{key}`")), "docs/job-file.md does not explain `{key}`");
    }
}

#[test]
fn every_object_refuses_keys_that_it_does_not_know() {
    let schema = schema();
    let mut objects = vec![&schema];
    objects.extend(schema["$defs"].as_object().expect("definitions").values().filter(|d| d["properties"].is_object()));
    for object in objects {
        assert_eq!(object["additionalProperties"], Value::Bool(false), "{object}");
        for (name, property) in object["properties"].as_object().into_iter().flatten() {
            assert!(property.to_string().contains("description"), "{name} has no description");
        }
    }
}

#[test]
fn examples_of_the_page_are_right() {
    let blocks: Vec<&str> = PAGE.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let jobs: Vec<&&str> = blocks.iter().filter(|block| block.starts_with("name:")).collect();
    assert!(!jobs.is_empty(), "the page shows a job");
    for job in jobs {
        parse(job).unwrap_or_else(|errors| panic!("{errors}"));
    }
    assert!(parse(FULL).is_ok());
}

#[test]
fn every_code_has_its_page() {
    let codes = include_str!("../codes.rs");
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
    for code in codes.split('"').filter(|text| text.starts_with("E01")) {
        let page = std::fs::read_to_string(format!("{pages}/{code}.md")).unwrap_or_default();
        assert!(page.starts_with(&format!("# {code} ")), "{code} has no page");
    }
}
