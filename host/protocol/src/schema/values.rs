//! Which changes of a type leave stored values readable.
//!
//! The schemas are those that the SDK makes: structs, tuples, lists, maps, optional types, enums by the name of
//! their variant, and plain types. Any other schema is taken as a whole: it is the same, or it is another type.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::schema::Rule;

/// Where a stored schema notes the fields that were removed from a struct and that older values still have.
pub const REMOVED: &str = "x-removed";

/// The schema of everything that is stored once values of `new` are written beside those of `old`.
pub(super) fn taken_together(old: &str, new: &str) -> Result<String, Rule> {
    if old == new {
        return Ok(old.to_owned());
    }
    let parsed = |which, text| {
        serde_json::from_str::<Value>(text).map_err(|error| Rule::Unreadable { which, why: error.to_string() })
    };
    let (old_value, new_value) = (parsed("stored", old)?, parsed("new", new)?);
    let merged = Walk::default().merge(&old_value, &new_value)?;
    Ok(if merged == old_value { old.to_owned() } else { merged.to_string() })
}

/// Whether the entry keys of a map are of the same type.
pub(super) fn same_entry_keys(old: &str, new: &str) -> Result<(), Rule> {
    let keys = |text: &str| {
        let schema = serde_json::from_str::<Value>(text).unwrap_or_default();
        schema.get("propertyNames").map(plain)
    };
    let (from, to) = (keys(old), keys(new));
    if from == to {
        return Ok(());
    }
    let text = |keys: Option<Value>| keys.map_or("of no known type".to_owned(), |keys| name_of(&keys));
    Err(Rule::EntryKeys { from: text(from), to: text(to) })
}

/// What a schema says a value is.
enum Shape<'a> {
    /// One of the types around it, by its title.
    Outer(&'a str),
    Anything,
    Optional(&'a Value),
    Struct(&'a Map<String, Value>),
    List {
        items: &'a Value,
        bounds: [Option<&'a Value>; 2],
    },
    Tuple(&'a Vec<Value>),
    Dictionary(&'a Value),
    Choice(&'a Vec<Value>),
    Plain,
}

fn shape(schema: &Value) -> Shape<'_> {
    let Some(object) = schema.as_object() else { return Shape::Plain };
    let has_type = |name: &str| object.get("type").is_some_and(|found| found == name);
    match object.get("title").and_then(Value::as_str) {
        _ if object.is_empty() => return Shape::Anything,
        Some(title) if object.len() == 1 => return Shape::Outer(title),
        _ => {}
    }
    if let Some([inner, null]) = object.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
        && *null == json!({ "type": "null" })
    {
        return Shape::Optional(inner);
    }
    if let Some(variants) = object.get("oneOf").and_then(Value::as_array) {
        return Shape::Choice(variants);
    }
    if has_type("object") {
        if object.get("properties").is_some_and(Value::is_object) {
            return Shape::Struct(object);
        }
        return object.get("additionalProperties").map_or(Shape::Plain, Shape::Dictionary);
    }
    if has_type("array") {
        if let Some(items) = object.get("prefixItems").and_then(Value::as_array) {
            return Shape::Tuple(items);
        }
        let bounds = [object.get("minItems"), object.get("maxItems")];
        return object.get("items").map_or(Shape::Plain, |items| Shape::List { items, bounds });
    }
    Shape::Plain
}

/// What a struct with one unnamed field holds; it is stored as that.
fn wrapped(schema: &Value) -> Option<&Value> {
    match schema.get("allOf")?.as_array()?.as_slice() {
        [inner] => Some(inner),
        _ => None,
    }
}

/// A walk through two schemas at a time.
#[derive(Default)]
struct Walk {
    /// From the outermost field to the one at hand.
    path: Vec<String>,
    /// The titles of the types around, old and new.
    open: Vec<(Option<String>, Option<String>)>,
}

impl Walk {
    fn merge(&mut self, old: &Value, new: &Value) -> Result<Value, Rule> {
        let title = |schema: &Value| schema.get("title").and_then(Value::as_str).map(ToOwned::to_owned);
        self.open.push((title(old), title(new)));
        let merged = self.merge_shapes(old, new);
        self.open.pop();
        merged
    }

    fn merge_shapes(&mut self, old: &Value, new: &Value) -> Result<Value, Rule> {
        if let Some(inner) = wrapped(new) {
            return Ok(with(new, "allOf", json!([self.merge(old, inner)?])));
        }
        if let Some(inner) = wrapped(old) {
            return self.merge(inner, new);
        }
        match (shape(old), shape(new)) {
            (_, Shape::Anything) => Ok(new.clone()),
            (Shape::Outer(from), Shape::Outer(to)) if self.is_open(from, to) => Ok(new.clone()),
            (Shape::Optional(from), Shape::Optional(to)) => self.optional(from, to),
            (_, Shape::Optional(to)) => self.optional(old, to),
            (Shape::Struct(from), Shape::Struct(to)) => self.structs(from, to),
            (Shape::List { items: from, bounds: before }, Shape::List { items: to, bounds: after })
                if before == after =>
            {
                Ok(with(new, "items", self.inside("[]", from, to)?))
            }
            (Shape::Tuple(from), Shape::Tuple(to)) if from.len() == to.len() => self.tuples(from, to, new),
            (Shape::Dictionary(from), Shape::Dictionary(to))
                if old.get("propertyNames").map(plain) == new.get("propertyNames").map(plain) =>
            {
                Ok(with(new, "additionalProperties", self.inside("{}", from, to)?))
            }
            (Shape::Choice(from), Shape::Choice(to)) => self.choices(from, to, new),
            (Shape::Plain, Shape::Plain) if plain(old) == plain(new) => Ok(new.clone()),
            _ => Err(Rule::TypeChanged { path: self.place(), from: name_of(old), to: name_of(new) }),
        }
    }

    fn optional(&mut self, old: &Value, new: &Value) -> Result<Value, Rule> {
        Ok(json!({ "anyOf": [self.merge(old, new)?, { "type": "null" }] }))
    }

    fn tuples(&mut self, old: &[Value], new: &[Value], whole: &Value) -> Result<Value, Rule> {
        let items = old.iter().zip(new).enumerate();
        let merged = items.map(|(index, (old, new))| self.inside(&index.to_string(), old, new));
        Ok(with(whole, "prefixItems", Value::Array(merged.collect::<Result<_, _>>()?)))
    }

    fn structs(&mut self, old: &Map<String, Value>, new: &Map<String, Value>) -> Result<Value, Rule> {
        let (before, after) = (fields(old, "properties"), fields(new, "properties"));
        let mut removed = fields(old, REMOVED);
        self.check_renamed(&before, &after, &removed)?;
        let mut merged = Map::new();
        for (name, schema) in &after {
            let is_required = is_required_by(new, name);
            let field = match (before.get(name).copied(), removed.remove(name)) {
                (Some(_), _) if is_required && !is_required_by(old, name) => {
                    return Err(Rule::DefaultTaken { path: self.place_of(name) });
                }
                (None, _) if is_required => return Err(Rule::FieldWithoutDefault { path: self.place_of(name) }),
                (Some(stored), _) | (None, Some(stored)) => self.inside(name, stored, schema)?,
                (None, None) => (*schema).clone(),
            };
            merged.insert((*name).to_owned(), field);
        }
        removed.extend(before.into_iter().filter(|(name, _)| !after.contains_key(name)));
        let mut whole = new.clone();
        whole.insert("properties".to_owned(), Value::Object(merged));
        if !removed.is_empty() {
            let removed = removed.into_iter().map(|(name, schema)| (name.to_owned(), schema.clone()));
            whole.insert(REMOVED.to_owned(), Value::Object(removed.collect()));
        }
        Ok(Value::Object(whole))
    }

    /// Whether a field is gone and one that was never there has its type.
    fn check_renamed(
        &mut self,
        before: &BTreeMap<&str, &Value>,
        after: &BTreeMap<&str, &Value>,
        removed: &BTreeMap<&str, &Value>,
    ) -> Result<(), Rule> {
        let gone = before.iter().filter(|(name, _)| !after.contains_key(*name));
        let is_new = |name: &str| !before.contains_key(name) && !removed.contains_key(name);
        for (from, old) in gone {
            let mut new = after.iter().filter(|(name, _)| is_new(name));
            if let Some((to, _)) = new.find(|(_, new)| self.inside(from, old, new).is_ok()) {
                return Err(Rule::FieldRenamed { from: self.place_of(from), to: self.place_of(to) });
            }
        }
        Ok(())
    }

    fn choices(&mut self, old: &[Value], new: &[Value], whole: &Value) -> Result<Value, Rule> {
        let mut merged = Vec::new();
        for variant in new {
            let name = variant_name(variant);
            let stored = old.iter().find(|stored| variant_name(stored) == name);
            merged.push(match stored {
                Some(stored) => self.merge(stored, variant)?,
                None => variant.clone(),
            });
        }
        let is_there = |stored: &&Value| new.iter().any(|variant| variant_name(variant) == variant_name(stored));
        match old.iter().find(|stored| !is_there(stored)) {
            Some(gone) => Err(Rule::VariantRemoved { path: self.place_of(variant_name(gone).unwrap_or("?")) }),
            None => Ok(with(whole, "oneOf", Value::Array(merged))),
        }
    }

    fn inside(&mut self, step: &str, old: &Value, new: &Value) -> Result<Value, Rule> {
        self.path.push(step.to_owned());
        let merged = self.merge(old, new);
        self.path.pop();
        merged
    }

    /// Whether the two names stand for the same pair of types around. The innermost of that name is meant.
    fn is_open(&self, old: &str, new: &str) -> bool {
        let around = self.open.split_last().map_or(&[][..], |(_, around)| around);
        let pairs = around.iter().rev().filter_map(|(from, to)| Some((from.as_deref()?, to.as_deref()?)));
        let mut named = pairs.filter(|(from, to)| *from == old || *to == new);
        named.next() == Some((old, new))
    }

    fn place(&self) -> String {
        if self.path.is_empty() { "the value".to_owned() } else { format!("`{}`", self.path.join(".")) }
    }

    fn place_of(&self, name: &str) -> String {
        let steps = self.path.iter().map(String::as_str).chain([name]);
        format!("`{}`", steps.collect::<Vec<_>>().join("."))
    }
}

fn fields<'a>(schema: &'a Map<String, Value>, under: &str) -> BTreeMap<&'a str, &'a Value> {
    let fields = schema.get(under).and_then(Value::as_object).into_iter().flatten();
    fields.map(|(name, schema)| (name.as_str(), schema)).collect()
}

fn is_required_by(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|required| required.iter().any(|it| it == name))
}

fn with(schema: &Value, key: &str, value: Value) -> Value {
    let mut whole = schema.as_object().cloned().unwrap_or_default();
    whole.insert(key.to_owned(), value);
    Value::Object(whole)
}

/// A variant without fields is its name, one with fields an object with its name as the only key.
fn variant_name(variant: &Value) -> Option<&str> {
    let by_key = || variant.get("properties")?.as_object()?.keys().next().map(String::as_str);
    variant.get("const").and_then(Value::as_str).or_else(by_key)
}

/// The schema without its title, which is a name for people.
fn plain(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description");
    }
    schema
}

/// A short name of a type, for messages.
fn name_of(schema: &Value) -> String {
    if let Some(inner) = wrapped(schema) {
        return name_of(inner);
    }
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    match shape(schema) {
        Shape::Anything => "anything".to_owned(),
        Shape::Optional(inner) => format!("optional {}", name_of(inner)),
        Shape::List { items, .. } => format!("a list of {}", name_of(items)),
        Shape::Tuple(items) => format!("a tuple of {}", items.len()),
        Shape::Dictionary(values) => format!("a map to {}", name_of(values)),
        Shape::Outer(title) => format!("`{title}`"),
        Shape::Struct(_) | Shape::Choice(_) | Shape::Plain => {
            let name = text("title").or_else(|| text("format")).or_else(|| text("type")).or_else(|| text("const"));
            name.map_or_else(|| schema.to_string(), |name| format!("`{name}`"))
        }
    }
}
