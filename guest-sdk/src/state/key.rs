//! The keys of the entries of a map.
//!
//! They are kept as bytes that sort as the keys do: text as UTF-8, bytes as they are, unsigned numbers
//! as 8 big-endian bytes, signed ones and timestamps likewise with the top bit flipped, `bool` as one
//! byte. The schema of the map says which, so that they can be shown without the function.

use crate::{Error, Result, Timestamp};

/// What an entry of a [`Map<K, V>`](crate::Map) can be looked up by: a `K`, or what a `K` lends (`&str` for
/// `String`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of an entry",
    note = "use String, Vec<u8>, an integer, bool or Timestamp; look up by &str or &[u8]"
)]
pub trait EntryKey {
    /// Appends the bytes of the key.
    #[doc(hidden)]
    fn append(&self, into: &mut Vec<u8>);
}

/// What can be the `K` of a [`Map<K, V>`](crate::Map), whose page has an example.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key type of a Map",
    note = "use String, Vec<u8>, an integer, bool or Timestamp"
)]
pub trait MapKey: EntryKey + Sized {
    /// What the schema of the map says of its keys.
    #[doc(hidden)]
    const SCHEMA: &'static str;
    /// Reads a key back.
    #[doc(hidden)]
    fn read(bytes: &[u8]) -> Result<Self>;
}

impl EntryKey for [u8] {
    fn append(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(self);
    }
}

impl EntryKey for Vec<u8> {
    fn append(&self, into: &mut Vec<u8>) {
        self.as_slice().append(into);
    }
}

impl MapKey for Vec<u8> {
    const SCHEMA: &'static str = r#"{"type":"string","format":"bytes"}"#;
    fn read(bytes: &[u8]) -> Result<Self> {
        Ok(bytes.to_vec())
    }
}

impl EntryKey for str {
    fn append(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(self.as_bytes());
    }
}

impl EntryKey for String {
    fn append(&self, into: &mut Vec<u8>) {
        self.as_str().append(into);
    }
}

impl MapKey for String {
    const SCHEMA: &'static str = r#"{"type":"string"}"#;
    fn read(bytes: &[u8]) -> Result<Self> {
        String::from_utf8(bytes.to_vec()).map_err(|_| other_type("text", bytes))
    }
}

impl EntryKey for bool {
    fn append(&self, into: &mut Vec<u8>) {
        into.push(u8::from(*self));
    }
}

impl MapKey for bool {
    const SCHEMA: &'static str = r#"{"type":"boolean"}"#;
    fn read(bytes: &[u8]) -> Result<Self> {
        match bytes {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(other_type("a bool", bytes)),
        }
    }
}

impl EntryKey for Timestamp {
    fn append(&self, into: &mut Vec<u8>) {
        self.millis().append(into);
    }
}

impl MapKey for Timestamp {
    const SCHEMA: &'static str = r#"{"type":"integer","format":"timestamp-ms"}"#;
    fn read(bytes: &[u8]) -> Result<Self> {
        i64::read(bytes).map(Timestamp::from_millis)
    }
}

/// The top bit, flipped so that negative numbers come first.
const SIGN: u64 = 1 << 63;

macro_rules! integer_key {
    ($($type:ident $wide:ident $flip:expr, $schema:literal;)*) => {
        $(
            impl EntryKey for $type {
                fn append(&self, into: &mut Vec<u8>) {
                    let wide = (*self as $wide).cast_unsigned_bits() ^ $flip;
                    into.extend_from_slice(&wide.to_be_bytes());
                }
            }

            impl MapKey for $type {
                const SCHEMA: &'static str = $schema;
                fn read(bytes: &[u8]) -> Result<Self> {
                    let bytes_of_u64 = bytes.try_into().map_err(|_| other_type(stringify!($type), bytes))?;
                    let wide = $wide::from_unsigned_bits(u64::from_be_bytes(bytes_of_u64) ^ $flip);
                    $type::try_from(wide).map_err(|_| other_type(stringify!($type), bytes))
                }
            }
        )*
    };
}

/// The bits of a 64-bit number, whatever its sign.
trait Bits {
    fn cast_unsigned_bits(self) -> u64;
    fn from_unsigned_bits(bits: u64) -> Self;
}

impl Bits for u64 {
    fn cast_unsigned_bits(self) -> u64 {
        self
    }
    fn from_unsigned_bits(bits: u64) -> Self {
        bits
    }
}

impl Bits for i64 {
    fn cast_unsigned_bits(self) -> u64 {
        self.cast_unsigned()
    }
    fn from_unsigned_bits(bits: u64) -> Self {
        bits.cast_signed()
    }
}

integer_key! {
    u8 u64 0, r#"{"type":"integer","format":"uint8"}"#;
    u16 u64 0, r#"{"type":"integer","format":"uint16"}"#;
    u32 u64 0, r#"{"type":"integer","format":"uint32"}"#;
    u64 u64 0, r#"{"type":"integer","format":"uint64"}"#;
    i8 i64 SIGN, r#"{"type":"integer","format":"int8"}"#;
    i16 i64 SIGN, r#"{"type":"integer","format":"int16"}"#;
    i32 i64 SIGN, r#"{"type":"integer","format":"int32"}"#;
    i64 i64 SIGN, r#"{"type":"integer","format":"int64"}"#;
}

#[cold]
fn other_type(expected: &str, found: &[u8]) -> Error {
    Error::new(format!("an entry key is not {expected}: it has {} bytes", found.len()))
}
