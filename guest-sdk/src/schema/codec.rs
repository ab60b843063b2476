//! MessagePack, with serde and with short cuts for primitive values.

use rmp::Marker;
use rmp::decode::{Bytes, RmpRead, read_marker, read_str_from_slice};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Why writing primitives cannot fail.
pub(super) const VEC_GROWS: &str = "writing to a Vec cannot fail";

/// With serde: structs as maps from field names.
pub(super) fn encode<T: Serialize + ?Sized>(value: &T, into: &mut Vec<u8>) -> Result<()> {
    let before = into.len();
    rmp_serde::encode::write_named(into, value).map_err(|error| {
        into.truncate(before);
        Error::new(format!("the value cannot be stored: {error}"))
    })
}

/// With serde.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    rmp_serde::from_slice(bytes)
        .map_err(|error| Error::new(format!("the stored value is not a `{}`: {error}", std::any::type_name::<T>())))
}

pub(super) fn decode_bool(bytes: &[u8]) -> Result<bool> {
    match bytes.first().copied().map(Marker::from_u8) {
        Some(Marker::True) => Ok(true),
        Some(Marker::False) => Ok(false),
        _ => Err(other_type("bool", bytes)),
    }
}

/// A whole number of the type it is compared with, however wide it was written.
macro_rules! decode_integer {
    ($type:ty, $bytes:expr) => {{
        let bytes: &[u8] = $bytes;
        rmp::decode::read_int::<$type, _>(&mut rmp::decode::Bytes::new(bytes))
            .map_err(|_| $crate::schema::codec::other_type(stringify!($type), bytes))
    }};
}
pub(super) use decode_integer;

#[expect(clippy::cast_precision_loss, reason = "serde reads whole numbers as floats in the same way")]
pub(super) fn decode_float(bytes: &[u8], name: &str) -> Result<f64> {
    let mut reader = Bytes::new(bytes);
    let marker = read_marker(&mut reader).map_err(|_| other_type(name, bytes))?;
    let float = match marker {
        Marker::F64 => reader.read_data_f64().ok(),
        Marker::F32 => reader.read_data_f32().ok().map(f64::from),
        _ => decode_integer!(i64, bytes)
            .map(|whole| whole as f64)
            .or_else(|_| decode_integer!(u64, bytes).map(|whole| whole as f64))
            .ok(),
    };
    float.ok_or_else(|| other_type(name, bytes))
}

pub(super) fn decode_text(bytes: &[u8]) -> Result<String> {
    let (text, _) = read_str_from_slice(bytes).map_err(|_| other_type("String", bytes))?;
    Ok(text.to_owned())
}

/// State that was written as another type.
#[cold]
pub(super) fn other_type(expected: &str, bytes: &[u8]) -> Error {
    let found = bytes.first().map(|&first| Marker::from_u8(first));
    Error::new(format!("the stored value is not a `{expected}`: it starts with {found:?}"))
}
