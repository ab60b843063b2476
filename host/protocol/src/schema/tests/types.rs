//! Types as the SDK describes them, their values, and how serde reads the one as the other.

use std::collections::BTreeMap;

use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Number,
    Text,
    Optional(Box<Type>),
    List(Box<Type>),
    Pair(Box<Type>, Box<Type>),
    /// By name, its type and whether it has a default.
    Struct(BTreeMap<String, (Type, bool)>),
    /// By name, what it carries.
    Choice(BTreeMap<String, Option<Type>>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stored {
    Null,
    Number,
    Text,
    List(Vec<Stored>),
    Map(BTreeMap<String, Stored>),
    Variant(String, Option<Box<Stored>>),
}

impl Type {
    /// What the SDK writes.
    pub(super) fn schema(&self) -> String {
        match self {
            Self::Number => r#"{"type":"integer","format":"uint32"}"#.to_owned(),
            Self::Text => r#"{"type":"string"}"#.to_owned(),
            Self::Optional(inner) => format!(r#"{{"anyOf":[{},{{"type":"null"}}]}}"#, inner.schema()),
            Self::List(inner) => format!(r#"{{"type":"array","items":{}}}"#, inner.schema()),
            Self::Pair(a, b) => {
                format!(r#"{{"type":"array","prefixItems":[{},{}],"minItems":2,"maxItems":2}}"#, a.schema(), b.schema())
            }
            Self::Struct(fields) => {
                let field = |(name, (inner, _)): (&String, &(Self, bool))| format!(r#""{name}":{}"#, inner.schema());
                let properties: Vec<_> = fields.iter().map(field).collect();
                let is_required =
                    |(_, (inner, default)): &(&String, &(Self, bool))| !default && !matches!(inner, Self::Optional(_));
                let required: Vec<_> =
                    fields.iter().filter(is_required).map(|(name, _)| format!(r#""{name}""#)).collect();
                let (properties, required) = (properties.join(","), required.join(","));
                format!(r#"{{"title":"S","type":"object","properties":{{{properties}}},"required":[{required}]}}"#)
            }
            Self::Choice(variants) => {
                let variant = |(name, carried): (&String, &Option<Self>)| match carried {
                    None => format!(r#"{{"const":"{name}"}}"#),
                    Some(inner) => format!(
                        r#"{{"type":"object","properties":{{"{name}":{{"allOf":[{}]}}}},"required":["{name}"]}}"#,
                        inner.schema()
                    ),
                };
                let variants: Vec<_> = variants.iter().map(variant).collect();
                format!(r#"{{"title":"C","oneOf":[{}]}}"#, variants.join(","))
            }
        }
    }

    /// A value of the type, with as much in it as `bits` says.
    pub(super) fn value(&self, bits: &mut impl Iterator<Item = bool>) -> Stored {
        let mut more = || bits.next().unwrap_or(true);
        match self {
            Self::Number => Stored::Number,
            Self::Text => Stored::Text,
            Self::Optional(_) if !more() => Stored::Null,
            Self::Optional(inner) => inner.value(bits),
            Self::List(_) if !more() => Stored::List(vec![]),
            Self::List(inner) => Stored::List(vec![inner.value(bits)]),
            Self::Pair(a, b) => Stored::List(vec![a.value(bits), b.value(bits)]),
            Self::Struct(fields) => {
                let field = |(name, (inner, _)): (&String, &(Self, bool))| (name.clone(), inner.value(bits));
                Stored::Map(fields.iter().map(field).collect())
            }
            Self::Choice(variants) => {
                let last = variants.len() - 1;
                let pick = (0..last).find(|_| more()).unwrap_or(last);
                let (name, carried) = variants.iter().nth(pick).expect("the pick is one of them");
                Stored::Variant(name.clone(), carried.as_ref().map(|inner| Box::new(inner.value(bits))))
            }
        }
    }

    /// Whether serde reads `value` as this type.
    pub(super) fn reads(&self, value: &Stored) -> bool {
        match (self, value) {
            (Self::Optional(_), Stored::Null) | (Self::Number, Stored::Number) | (Self::Text, Stored::Text) => true,
            (Self::Optional(inner), value) => inner.reads(value),
            (Self::List(inner), Stored::List(items)) => items.iter().all(|item| inner.reads(item)),
            (Self::Pair(a, b), Stored::List(items)) => {
                matches!(&items[..], [first, second] if a.reads(first) && b.reads(second))
            }
            (Self::Struct(fields), Stored::Map(stored)) => fields.iter().all(|(name, (inner, default))| {
                let is_absent_read = *default || matches!(inner, Self::Optional(_));
                stored.get(name).map_or(is_absent_read, |value| inner.reads(value))
            }),
            (Self::Choice(variants), Stored::Variant(name, carried)) => match (variants.get(name), carried) {
                (Some(None), None) => true,
                (Some(Some(inner)), Some(carried)) => inner.reads(carried),
                _ => false,
            },
            _ => false,
        }
    }
}

/// A change of a type, anywhere in it.
#[derive(Clone, Debug)]
pub(super) enum Change {
    AddField(String, Type, bool),
    RemoveField(usize),
    TakeDefault,
    AddVariant(String, Option<Type>),
    RemoveVariant(usize),
    MakeOptional,
    Retype(Type),
}

impl Change {
    /// The type after the change, made at the first fitting place after `skip` others; the same type if there is none.
    pub(super) fn apply(&self, to: &Type, skip: &mut usize) -> Type {
        if let Some(changed) = self.here(to) {
            if *skip == 0 {
                *skip = usize::MAX;
                return changed;
            }
            *skip = skip.saturating_sub(1);
        }
        match to {
            Type::Number | Type::Text => to.clone(),
            Type::Optional(inner) => Type::Optional(Box::new(self.apply(inner, skip))),
            Type::List(inner) => Type::List(Box::new(self.apply(inner, skip))),
            Type::Pair(a, b) => Type::Pair(Box::new(self.apply(a, skip)), Box::new(self.apply(b, skip))),
            Type::Struct(fields) => {
                let field = |(name, (inner, default)): (&String, &(Type, bool))| {
                    (name.clone(), (self.apply(inner, skip), *default))
                };
                Type::Struct(fields.iter().map(field).collect())
            }
            Type::Choice(variants) => {
                let variant = |(name, carried): (&String, &Option<Type>)| {
                    (name.clone(), carried.as_ref().map(|inner| self.apply(inner, skip)))
                };
                Type::Choice(variants.iter().map(variant).collect())
            }
        }
    }

    fn here(&self, to: &Type) -> Option<Type> {
        match (self, to) {
            (Self::AddField(name, inner, default), Type::Struct(fields)) if !fields.contains_key(name) => {
                let mut fields = fields.clone();
                fields.insert(name.clone(), (inner.clone(), *default));
                Some(Type::Struct(fields))
            }
            (Self::RemoveField(which), Type::Struct(fields)) if !fields.is_empty() => {
                let mut fields = fields.clone();
                let name = fields.keys().nth(which % fields.len()).cloned()?;
                fields.remove(&name);
                Some(Type::Struct(fields))
            }
            (Self::TakeDefault, Type::Struct(fields)) => Some(Type::Struct(
                fields.iter().map(|(name, (inner, _))| (name.clone(), (inner.clone(), false))).collect(),
            )),
            (Self::AddVariant(name, carried), Type::Choice(variants)) if !variants.contains_key(name) => {
                let mut variants = variants.clone();
                variants.insert(name.clone(), carried.clone());
                Some(Type::Choice(variants))
            }
            (Self::RemoveVariant(which), Type::Choice(variants)) if variants.len() > 1 => {
                let mut variants = variants.clone();
                let name = variants.keys().nth(which % variants.len()).cloned()?;
                variants.remove(&name);
                Some(Type::Choice(variants))
            }
            (Self::MakeOptional, to) if !matches!(to, Type::Optional(_)) => Some(Type::Optional(Box::new(to.clone()))),
            (Self::Retype(new), _) => Some(new.clone()),
            _ => None,
        }
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-d]"
}

pub(super) fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::Number), Just(Type::Text)];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            // Rust has no null in null: serde would read `None` for both.
            1 => inner.clone().prop_map(|inner| match inner {
                Type::Optional(_) => inner,
                inner => Type::Optional(Box::new(inner)),
            }),
            1 => boxed().prop_map(Type::List),
            1 => (boxed(), boxed()).prop_map(|(a, b)| Type::Pair(a, b)),
            4 => prop::collection::btree_map(name(), (inner.clone(), any::<bool>()), 0..4).prop_map(Type::Struct),
            2 => prop::collection::btree_map(name(), prop::option::of(inner.clone()), 1..4).prop_map(Type::Choice),
        ]
    })
}

pub(super) fn change() -> impl Strategy<Value = (Change, usize)> {
    let change = prop_oneof![
        6 => (name(), any_type(), prop::bool::weighted(0.8))
            .prop_map(|(name, inner, default)| Change::AddField(name, inner, default)),
        4 => any::<usize>().prop_map(Change::RemoveField),
        1 => Just(Change::TakeDefault),
        4 => (name(), prop::option::of(any_type())).prop_map(|(name, carried)| Change::AddVariant(name, carried)),
        1 => any::<usize>().prop_map(Change::RemoveVariant),
        2 => Just(Change::MakeOptional),
        1 => any_type().prop_map(Change::Retype),
    ];
    (change, 0usize..4)
}
