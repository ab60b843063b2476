//! Schemas of the types of the standard library.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::time::Duration;

use super::codec::{self, VEC_GROWS};
use super::{Schema, SchemaText};
use crate::{Result, Timestamp};
use rmp::encode;

/// A primitive: its schema, and how it is written and read without serde.
macro_rules! primitive {
    ($type:ty, $schema:expr, $encode:expr, $decode:expr) => {
        impl Schema for $type {
            fn schema(into: &mut SchemaText) {
                into.raw($schema);
            }
            #[inline]
            fn encode(&self, into: &mut Vec<u8>) -> Result<()> {
                let write: fn(&mut Vec<u8>, &$type) = $encode;
                write(into, self);
                Ok(())
            }
            #[inline]
            fn decode(bytes: &[u8]) -> Result<Self> {
                $decode(bytes)
            }
        }
    };
}

macro_rules! integers {
    ($($type:ident $wide:ident $write:ident $format:literal),* $(,)?) => {
        $(primitive!(
            $type,
            concat!(r#"{"type":"integer","format":""#, $format, r#""}"#),
            |into, value| {
                encode::$write(into, *value as $wide).expect(VEC_GROWS);
            },
            |bytes| codec::decode_integer!($type, bytes)
        );)*
    };
}

integers!(
    i8 i64 write_sint "int8",
    i16 i64 write_sint "int16",
    i32 i64 write_sint "int32",
    i64 i64 write_sint "int64",
    isize i64 write_sint "int64",
    u8 u64 write_uint "uint8",
    u16 u64 write_uint "uint16",
    u32 u64 write_uint "uint32",
    u64 u64 write_uint "uint64",
    usize u64 write_uint "uint64",
);

primitive!(
    bool,
    r#"{"type":"boolean"}"#,
    |into, value| encode::write_bool(into, *value).expect(VEC_GROWS),
    codec::decode_bool
);
primitive!(
    f64,
    r#"{"type":"number","format":"double"}"#,
    |into, value| encode::write_f64(into, *value).expect(VEC_GROWS),
    |bytes| codec::decode_float(bytes, "f64")
);
primitive!(
    f32,
    r#"{"type":"number","format":"float"}"#,
    |into, value| encode::write_f32(into, *value).expect(VEC_GROWS),
    |bytes| codec::decode_float(bytes, "f32").map(narrow)
);
primitive!(
    String,
    r#"{"type":"string"}"#,
    |into, value| encode::write_str(into, value).expect(VEC_GROWS),
    codec::decode_text
);
primitive!(
    Timestamp,
    r#"{"type":"integer","format":"timestamp-ms"}"#,
    |into, value| {
        encode::write_sint(into, value.millis()).expect(VEC_GROWS);
    },
    |bytes| codec::decode_integer!(i64, bytes).map(Timestamp::from_millis)
);

#[expect(clippy::cast_possible_truncation, reason = "serde narrows floats in the same way")]
fn narrow(wide: f64) -> f32 {
    wide as f32
}

/// A type whose values serde writes, with a schema made of text and of the schemas of its parts.
macro_rules! composed {
    ([$($generics:tt)*] $type:ty, |$into:ident| $body:block) => {
        impl<$($generics)*> Schema for $type {
            fn schema($into: &mut SchemaText) $body
        }
    };
}

fn list<T: Schema + ?Sized>(into: &mut SchemaText) {
    into.raw(r#"{"type":"array","items":"#);
    into.nested::<T>();
    into.raw("}");
}

fn text_map<V: Schema + ?Sized>(into: &mut SchemaText) {
    into.raw(r#"{"type":"object","additionalProperties":"#);
    into.nested::<V>();
    into.raw("}");
}

composed!([] str, |into| { into.raw(r#"{"type":"string"}"#) });
composed!([] char, |into| { into.raw(r#"{"type":"string","minLength":1,"maxLength":1}"#) });
composed!([](), |into| { into.raw(r#"{"type":"null"}"#) });
composed!([] serde_json::Value, |into| { into.raw("{}") });
composed!([] Duration, |into| {
    into.raw(r#"{"title":"Duration","type":"object","properties":{"secs":"#);
    into.nested::<u64>();
    into.raw(r#","nanos":"#);
    into.nested::<u32>();
    into.raw(r#"},"required":["secs","nanos"]}"#);
});
composed!([T: Schema + ?Sized] &T, |into| { into.nested::<T>() });
composed!([T: Schema + ?Sized] Box<T>, |into| { into.nested::<T>() });
composed!([T: Schema] Option<T>, |into| {
    into.raw(r#"{"anyOf":["#);
    into.nested::<T>();
    into.raw(r#",{"type":"null"}]}"#);
});
composed!([T: Schema] [T], |into| { list::<T>(into) });
composed!([T: Schema] Vec<T>, |into| { list::<T>(into) });
composed!([T: Schema] VecDeque<T>, |into| { list::<T>(into) });
composed!([T: Schema] BTreeSet<T>, |into| { list::<T>(into) });
composed!([T: Schema, S: BuildHasher] HashSet<T, S>, |into| { list::<T>(into) });
composed!([K: Schema, V: Schema] BTreeMap<K, V>, |into| { text_map::<V>(into) });
composed!([K: Schema, V: Schema, S: BuildHasher] HashMap<K, V, S>, |into| { text_map::<V>(into) });
composed!([T: Schema, const N: usize] [T; N], |into| {
    into.raw(r#"{"type":"array","items":"#);
    into.nested::<T>();
    let length = N.to_string();
    for bound in [r#","minItems":"#, r#","maxItems":"#] {
        into.raw(bound);
        into.raw(&length);
    }
    into.raw("}");
});

/// A tuple.
macro_rules! tuple {
    ($length:literal $first:ident $($rest:ident)*) => {
        composed!([$first: Schema $(, $rest: Schema)*] ($first, $($rest,)*), |into| {
            into.raw(r#"{"type":"array","prefixItems":["#);
            into.nested::<$first>();
            $(
                into.raw(",");
                into.nested::<$rest>();
            )*
            into.raw(concat!(r#"],"minItems":"#, $length, r#","maxItems":"#, $length, "}"));
        });
    };
}

tuple!(1 A);
tuple!(2 A B);
tuple!(3 A B C);
tuple!(4 A B C D);
tuple!(5 A B C D E);
tuple!(6 A B C D E F);
tuple!(7 A B C D E F G);
tuple!(8 A B C D E F G H);
