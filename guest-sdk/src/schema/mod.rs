//! What values look like, for the host, the UI and offline tools: JSON Schema as text, and the
//! MessagePack bytes that state is kept in.
//!
//! # Invariants
//! 1. A stored value can be read without the function: MessagePack with named fields.
//! 2. Types with a short cut are encoded byte for byte as serde would.

mod codec;
mod types;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;

/// A type that can say what its values look like; made by `#[derive(Schema)]`.
///
/// Needed for what is kept in state and for what [`Json`](crate::Json) reads or writes. The derive
/// follows serde's `rename`, `rename_all`, `default`, `skip` and `transparent`, so that the schema shows
/// the names that are stored.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tidegate::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Visit {
///     page: String,
///     seconds: Option<u32>,
/// }
///
/// assert_eq!(
///     tidegate::schema_text::<Visit>(),
///     r#"{"title":"Visit","type":"object","properties":{"page":{"type":"string"},"seconds":{"anyOf":[{"type":"integer","format":"uint32"},{"type":"null"}]}},"required":["page"]}"#
/// );
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema",
    note = "write `#[derive(Serialize, Deserialize, Schema)]` on the type: what is stored or sent must be readable without the function"
)]
pub trait Schema {
    /// Writes the JSON Schema of the type.
    fn schema(into: &mut SchemaText);

    /// Appends the value as MessagePack.
    #[doc(hidden)]
    fn encode(&self, into: &mut Vec<u8>) -> Result<()>
    where
        Self: Serialize,
    {
        codec::encode(self, into)
    }

    /// Reads a value from MessagePack.
    #[doc(hidden)]
    fn decode(bytes: &[u8]) -> Result<Self>
    where
        Self: Sized + DeserializeOwned,
    {
        codec::decode(bytes)
    }
}

/// The JSON Schema of `T` as text.
#[must_use]
pub fn schema_text<T: Schema + ?Sized>() -> String {
    let mut text = SchemaText { text: String::new(), open: Vec::new() };
    T::schema(&mut text);
    text.text
}

/// A JSON Schema being written.
///
/// ```
/// use tidegate::{Schema, SchemaText};
///
/// /// A type whose schema the derive cannot see.
/// struct Hex;
///
/// impl Schema for Hex {
///     fn schema(into: &mut SchemaText) {
///         into.raw(r#"{"type":"string","pattern":"^[0-9a-f]*$"}"#);
///     }
/// }
/// ```
pub struct SchemaText {
    text: String,
    /// The named types around the one being written, so that a type may contain itself.
    open: Vec<&'static str>,
}

impl SchemaText {
    /// Writes text as it is.
    pub fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes the schema of `T`.
    pub fn nested<T: Schema + ?Sized>(&mut self) {
        T::schema(self);
    }

    /// Writes a named type: its title, then what `body` adds. Inside itself it is its title alone.
    pub fn named(&mut self, name: &'static str, body: impl FnOnce(&mut Self)) {
        self.raw("{\"title\":\"");
        self.raw(name);
        self.raw("\"");
        if !self.open.contains(&name) {
            self.open.push(name);
            self.raw(",");
            body(self);
            self.open.pop();
        }
        self.raw("}");
    }
}
