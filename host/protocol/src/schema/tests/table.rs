use std::collections::BTreeSet;

use model::{Refresh, StateDescriptor, StateId, StateKind, Ttl, TtlClock};

use crate::schema::{Comparison, Fit, Rule, compare};

fn state(name: &str, schema: &str) -> StateDescriptor {
    StateDescriptor {
        id: StateId(0),
        name: name.to_owned(),
        kind: StateKind::Value,
        schema: schema.to_owned(),
        version: 1,
        ttl: None,
    }
}

fn none() -> BTreeSet<String> {
    BTreeSet::new()
}

fn one(old: &StateDescriptor, new: &StateDescriptor) -> Fit {
    let comparison = compare(std::slice::from_ref(old), std::slice::from_ref(new), &none());
    comparison.states.into_iter().next().unwrap().fit
}

#[track_caller]
fn accepted(old: &str, new: &str) {
    let fit = one(&state("seen", old), &state("seen", new));
    assert_eq!(fit, Fit::Compatible, "{old} -> {new}");
}

#[track_caller]
fn refused(old: &str, new: &str, message: &str) {
    match one(&state("seen", old), &state("seen", new)) {
        Fit::Refused { rule, .. } => assert_eq!(rule.to_string(), message, "{old} -> {new}"),
        fit => panic!("{fit:?}: {old} -> {new}"),
    }
}

const U64: &str = r#"{"type":"integer","format":"uint64"}"#;
const U32: &str = r#"{"type":"integer","format":"uint32"}"#;
const TEXT: &str = r#"{"type":"string"}"#;

fn object(fields: &[(&str, &str)], required: &[&str]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, schema)| format!(r#""{name}":{schema}"#)).collect();
    let required: Vec<_> = required.iter().map(|name| format!(r#""{name}""#)).collect();
    let (fields, required) = (fields.join(","), required.join(","));
    format!(r#"{{"title":"Visit","type":"object","properties":{{{fields}}},"required":[{required}]}}"#)
}

fn optional(schema: &str) -> String {
    format!(r#"{{"anyOf":[{schema},{{"type":"null"}}]}}"#)
}

#[test]
fn the_same_schema_is_the_same() {
    assert_eq!(one(&state("seen", U64), &state("seen", U64)), Fit::Same);
    assert_eq!(one(&state("seen", "not json"), &state("seen", "not json")), Fit::Same);
}

#[test]
fn a_field_may_come_with_a_default_and_go() {
    let page = object(&[("page", TEXT)], &["page"]);
    let both = object(&[("page", TEXT), ("seconds", U32)], &["page"]);
    accepted(&page, &both);
    accepted(&both, &page);
    accepted(&page, &object(&[("page", TEXT), ("seconds", &optional(U32))], &["page"]));
}

#[test]
fn a_new_field_without_a_default_is_refused() {
    let both = object(&[("page", TEXT), ("seconds", U32)], &["page", "seconds"]);
    refused(&object(&[("page", TEXT)], &["page"]), &both, "`seconds` is new and has no default");
}

#[test]
fn a_default_that_stored_values_need_stays() {
    let default = object(&[("page", TEXT)], &[]);
    refused(&default, &object(&[("page", TEXT)], &["page"]), "`page` had a default and has none now");
}

#[test]
fn a_field_that_changes_its_name_is_refused_even_with_a_default() {
    let message = "`page` is gone and `path` of the same type is new: that looks like a new name";
    let path = object(&[("path", TEXT)], &[]);
    refused(&object(&[("page", TEXT)], &["page"]), &path, message);
    accepted(&object(&[("seconds", U32)], &["seconds"]), &path);
}

#[test]
fn a_field_that_was_removed_comes_back_as_what_it_was() {
    let page = object(&[("page", TEXT)], &["page"]);
    let both = object(&[("page", TEXT), ("n", U32)], &["page", "n"]);
    let stored = compare(&[state("seen", &both)], &[state("seen", &page)], &none()).stored().remove(0);
    let again = |schema: &str| one(&stored, &state("seen", &object(&[("page", TEXT), ("n", schema)], &["page"])));
    assert_eq!(again(U32), Fit::Compatible);
    let Fit::Refused { rule, .. } = again(TEXT) else { panic!("old values have a number there") };
    assert_eq!(rule.to_string(), "`n` was `uint32` and is `string` now");
}

#[test]
fn another_type_is_refused_wherever_it_is() {
    refused(U32, U64, "the value was `uint32` and is `uint64` now");
    let inner = |schema: &str| object(&[("visits", &format!(r#"{{"type":"array","items":{schema}}}"#))], &["visits"]);
    refused(&inner(U32), &inner(TEXT), "`visits.[]` was `uint32` and is `string` now");
    refused(&optional(TEXT), TEXT, "the value was optional `string` and is `string` now");
    refused("{}", TEXT, "the value was anything and is `string` now");
    let tuple = |items: &str| format!(r#"{{"type":"array","prefixItems":[{items}],"minItems":2,"maxItems":2}}"#);
    refused(&tuple(&format!("{U32},{U32}")), &tuple(&format!("{U32},{TEXT}")), "`1` was `uint32` and is `string` now");
    let fixed = |length: u32| format!(r#"{{"type":"array","items":{U32},"minItems":{length},"maxItems":{length}}}"#);
    refused(&fixed(2), &fixed(3), "the value was a list of `uint32` and is a list of `uint32` now");
}

#[test]
fn a_type_may_become_optional_or_anything() {
    accepted(TEXT, &optional(TEXT));
    accepted(TEXT, "{}");
    accepted(&optional(TEXT), "{}");
}

#[test]
fn a_type_may_have_another_name_and_be_wrapped() {
    accepted(&object(&[], &[]), &object(&[], &[]).replace("Visit", "Call"));
    accepted(U64, &format!(r#"{{"title":"Count","allOf":[{U64}]}}"#));
}

#[test]
fn variants_may_come_and_not_go() {
    let choice = |variants: &[&str]| format!(r#"{{"title":"Kind","oneOf":[{}]}}"#, variants.join(","));
    let (a, b) = (r#"{"const":"A"}"#, r#"{"const":"B"}"#);
    let b_of = |schema: &str| format!(r#"{{"type":"object","properties":{{"B":{schema}}},"required":["B"]}}"#);
    accepted(&choice(&[a]), &choice(&[b, a]));
    accepted(&choice(&[a, b]), &choice(&[b, a]));
    refused(&choice(&[a, b]), &choice(&[a]), "the variant `B` is gone");
    refused(&choice(&[b]), &choice(&[&b_of(U32)]), "the value was `B` and is `object` now");
    refused(&choice(&[&b_of(U32)]), &choice(&[&b_of(TEXT)]), "`B` was `uint32` and is `string` now");
}

#[test]
fn a_type_that_contains_itself_may_grow() {
    let node = |extra: &str| {
        format!(
            r#"{{"title":"Node","type":"object","properties":{{"next":{{"anyOf":[{{"title":"Node"}},{{"type":"null"}}]}}{extra}}},"required":[]}}"#
        )
    };
    accepted(&node(""), &node(&format!(r#","n":{U32}"#)));
    accepted(&node(""), &node("").replace("Node", "Link"));
    let own = r#"{"title":"Own","allOf":[{"anyOf":[{"title":"Own"},{"type":"null"}]}]}"#;
    accepted(own, &own.replace("Own", "Mine"));
    let other = node("").replacen("Node", "Link", 1);
    refused(&node(""), &other, "`next` was `Node` and is `Node` now");
}

#[test]
fn a_higher_version_is_migrated_and_a_lower_one_refused() {
    let old = StateDescriptor { version: 2, ..state("seen", U32) };
    let at = |version| StateDescriptor { version, ..state("seen", TEXT) };
    assert_eq!(one(&old, &at(3)), Fit::Migrate { from: 2 });
    let Fit::Refused { rule, .. } = one(&old, &at(1)) else { panic!("it is lower") };
    assert_eq!(rule, Rule::VersionFell { from: 2, to: 1 });
    let stored = compare(&[old], &[at(3)], &none()).stored();
    assert_eq!(stored, [at(3)], "after migrate nothing old is left");
}

#[test]
fn neither_shape_nor_entry_keys_change_at_any_version() {
    let map = |keys: &str, version| StateDescriptor {
        kind: StateKind::MapEntries,
        version,
        ..state("seen", &format!(r#"{{"type":"object","propertyNames":{keys},"additionalProperties":{U32}}}"#))
    };
    let Fit::Refused { rule, help } = one(&state("seen", U32), &map(TEXT, 2)) else { panic!("another shape") };
    assert_eq!(rule.to_string(), "it was a value and is a map now");
    assert_eq!(help, "give the new state another name, and name `seen` as one to drop");
    let Fit::Refused { rule, .. } = one(&map(TEXT, 1), &map(U32, 2)) else { panic!("other keys") };
    assert_eq!(rule.to_string(), "its entry keys were `string` and are `uint32` now");
    assert_eq!(one(&map(TEXT, 1), &map(TEXT, 2)), Fit::Migrate { from: 1 });
}

#[test]
fn a_new_state_begins_empty_and_a_removed_one_is_dropped_by_name_alone() {
    let (old, new) = ([state("seen", U32)], [state("last", U32)]);
    let comparison = compare(&old, &new, &none());
    let fits: Vec<_> = comparison.states.iter().map(|state| (state.name.as_str(), &state.fit)).collect();
    assert_eq!(fits[0], ("last", &Fit::New));
    let refusals: Vec<_> = comparison.refusals().collect();
    let help = "keep `seen` in the module, or name it as one to drop";
    assert_eq!(refusals, [("seen", &Rule::Removed, help)]);
    let comparison = compare(&old, &new, &BTreeSet::from(["seen".to_owned()]));
    assert_eq!(comparison.states[1].fit, Fit::Dropped);
    assert!(!comparison.keeps_parts());
}

#[test]
fn dropping_a_list_drops_its_bounds() {
    let list = StateDescriptor { kind: StateKind::Appended, ..state("log", TEXT) };
    let bounds = StateDescriptor { id: StateId(1), ..state("log-bounds", U64) };
    let dropped = |states: &[StateDescriptor]| -> Vec<Fit> {
        let comparison = compare(states, &[], &BTreeSet::from(["log".to_owned()]));
        comparison.states.into_iter().map(|state| state.fit).collect()
    };
    assert_eq!(dropped(&[list, bounds.clone()]), [Fit::Dropped, Fit::Dropped]);
    assert!(matches!(dropped(&[bounds])[..], [Fit::Refused { .. }]), "a state that only has such a name");
}

#[test]
fn numbers_may_change_and_are_mapped_by_name() {
    let numbered = |id: u16, name: &str| StateDescriptor { id: StateId(id), ..state(name, U32) };
    let check = |old: &[StateDescriptor], new: &[StateDescriptor], ids: &[(u16, u16)], keeps: bool| {
        let comparison: Comparison = compare(old, new, &none());
        let expected = ids.iter().map(|(old, new)| (StateId(*old), StateId(*new))).collect();
        assert_eq!((comparison.ids(), comparison.keeps_parts()), (expected, keeps), "{comparison:?}");
    };
    let old = [numbered(0, "a"), numbered(1, "b")];
    check(&old, &old, &[(0, 0), (1, 1)], true);
    check(&old, &[numbered(0, "b"), numbered(1, "a")], &[(0, 1), (1, 0)], false);
    check(&old, &[numbered(0, "a"), numbered(1, "b"), numbered(2, "c")], &[(0, 0), (1, 1)], true);
    check(&old[..1], &[numbered(0, "c"), numbered(1, "a")], &[(0, 1)], false);
}

#[test]
fn the_time_to_live_may_change_and_is_told() {
    let with = |millis: u64| StateDescriptor {
        ttl: Some(Ttl { millis, clock: TtlClock::EventTime, refresh: Refresh::OnWrite }),
        ..state("seen", U32)
    };
    let comparison = compare(&[with(5)], &[with(9)], &none());
    assert_eq!((&comparison.states[0].fit, comparison.states[0].ttl_changed), (&Fit::Same, true));
    assert_eq!(comparison.stored(), [with(9)]);
    assert!(!compare(&[with(5)], &[with(5)], &none()).states[0].ttl_changed);
}

#[test]
fn a_refusal_says_what_to_do() {
    let Fit::Refused { help, .. } = one(&state("seen", U32), &state("seen", TEXT)) else { panic!("it is retyped") };
    assert_eq!(help, "write `#[state(version = 2, migrate = some_function)]` on `seen`");
    let Fit::Refused { rule, .. } = one(&state("seen", "no"), &state("seen", TEXT)) else { panic!("no JSON") };
    assert!(matches!(rule, Rule::Unreadable { which: "stored", .. }));
}
