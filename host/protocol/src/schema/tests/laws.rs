use std::collections::BTreeSet;

use proptest::prelude::*;

use model::{StateDescriptor, StateId, StateKind};

use crate::schema::{Fit, Rule, compare};

use super::types::{Change, Type, any_type, change};

fn described(schema: &str) -> StateDescriptor {
    StateDescriptor {
        id: StateId(0),
        name: "seen".to_owned(),
        kind: StateKind::Value,
        schema: schema.to_owned(),
        version: 1,
        ttl: None,
    }
}

/// What becomes of the state, and what is stored from then on.
fn step(stored: &StateDescriptor, schema: &str) -> (Fit, Option<StateDescriptor>) {
    let comparison = compare(std::slice::from_ref(stored), &[described(schema)], &BTreeSet::new());
    let state = comparison.states.into_iter().next().unwrap();
    (state.fit, state.stored)
}

fn is_optional_in_optional(ty: &Type) -> bool {
    match ty {
        Type::Number | Type::Text => false,
        Type::Optional(inner) => matches!(**inner, Type::Optional(_)) || is_optional_in_optional(inner),
        Type::List(inner) => is_optional_in_optional(inner),
        Type::Pair(a, b) => is_optional_in_optional(a) || is_optional_in_optional(b),
        Type::Struct(fields) => fields.values().any(|(inner, _)| is_optional_in_optional(inner)),
        Type::Choice(variants) => variants.values().flatten().any(is_optional_in_optional),
    }
}

proptest! {
    #[test]
    fn a_module_fits_what_it_wrote(ty in any_type()) {
        let schema = ty.schema();
        let (fit, stored) = step(&described(&schema), &schema);
        prop_assert_eq!(fit, Fit::Same);
        prop_assert_eq!(stored, Some(described(&schema)));
    }

    #[test]
    fn the_newest_module_reads_what_every_module_since_wrote(
        first in any_type(),
        changes in prop::collection::vec(change(), 1..12),
        bits in prop::collection::vec(any::<bool>(), 40),
    ) {
        let mut bits = bits.into_iter().cycle();
        let mut bits = || -> Vec<bool> { bits.by_ref().take(17).collect() };
        let (mut ty, mut stored) = (first.clone(), described(&first.schema()));
        let mut values = vec![first.value(&mut bits().into_iter())];
        for (change, mut skip) in changes {
            let changed = change.apply(&ty, &mut skip);
            if is_optional_in_optional(&changed) {
                continue;
            }
            match step(&stored, &changed.schema()) {
                (Fit::Same | Fit::Compatible, Some(now)) => {
                    ty = changed;
                    let again = step(&now, &ty.schema());
                    prop_assert_eq!(again.1.as_ref(), Some(&now), "taken together once more");
                    stored = now;
                    values.push(ty.value(&mut bits().into_iter()));
                    for value in &values {
                        prop_assert!(ty.reads(value), "{:?} is not read as {:?}\nstored: {}", value, ty, stored.schema);
                    }
                }
                (Fit::Refused { .. }, None) => {}
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    #[test]
    fn a_field_with_a_default_may_be_added_and_removed(ty in any_type(), inner in any_type(), skip in 0usize..3) {
        let add = Change::AddField("zz".to_owned(), inner, true);
        let added = add.apply(&ty, &mut skip.clone());
        let (fit, stored) = step(&described(&ty.schema()), &added.schema());
        prop_assert!(matches!(fit, Fit::Same | Fit::Compatible), "{fit:?}");
        let (fit, _) = step(&stored.unwrap(), &ty.schema());
        prop_assert!(matches!(fit, Fit::Same | Fit::Compatible), "{fit:?}");
    }

    #[test]
    fn a_variant_may_be_added_and_not_removed(ty in any_type(), skip in 0usize..3) {
        let added = Change::AddVariant("zz".to_owned(), None).apply(&ty, &mut skip.clone());
        let (fit, stored) = step(&described(&ty.schema()), &added.schema());
        prop_assert!(matches!(fit, Fit::Same | Fit::Compatible), "{fit:?}");
        if added != ty {
            let (fit, _) = step(&stored.unwrap(), &ty.schema());
            let is_refused = matches!(fit, Fit::Refused { rule: Rule::VariantRemoved { .. }, .. });
            prop_assert!(is_refused, "{fit:?}");
        }
    }

    #[test]
    fn no_description_panics(old in "[\\[\\]{}:,\"a-z0-9]{0,40}", new in "[\\[\\]{}:,\"a-z0-9]{0,40}") {
        let (fit, stored) = step(&described(&old), &new);
        prop_assert_eq!(matches!(fit, Fit::Refused { .. }), stored.is_none());
    }

    #[test]
    fn no_damaged_schema_panics(ty in any_type(), other in any_type(), words in prop::collection::vec(0usize..6, 1..4)) {
        const WORDS: [&str; 6] = ["properties", "required", "oneOf", "anyOf", "type", "items"];
        let mut schema = ty.schema();
        for word in words {
            schema = schema.replacen(WORDS[word], "x-removed", 1);
        }
        for (old, new) in [(schema.clone(), other.schema()), (other.schema(), schema.clone()), (ty.schema(), schema)] {
            let (fit, stored) = step(&described(&old), &new);
            prop_assert_eq!(matches!(fit, Fit::Refused { .. }), stored.is_none());
        }
    }
}
