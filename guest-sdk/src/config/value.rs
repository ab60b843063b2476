//! The types a value in the job file may have.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::mismatch;
use crate::{Error, Result};

/// A type that a value in the job file can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a job file",
    note = "use bool, an integer, a float, String, Duration, Option, Vec, BTreeMap<String, _>, or a type with `#[derive(Config)]`"
)]
pub trait ConfigValue: Sized {
    /// What a value of the type looks like, for messages.
    fn expected() -> String;

    /// Reads a value that stands at `place`.
    ///
    /// # Errors
    /// When it is of another type.
    fn read(value: &Value, place: &str) -> Result<Self>;

    /// What stands for an absent key; `None` where the key is required.
    #[must_use]
    fn missing() -> Option<Self> {
        None
    }
}

macro_rules! plain {
    ($($type:ty, $expected:literal, $read:expr;)*) => {
        $(impl ConfigValue for $type {
            fn expected() -> String {
                $expected.to_owned()
            }
            fn read(value: &Value, place: &str) -> Result<Self> {
                let read: fn(&Value) -> Option<$type> = $read;
                read(value).ok_or_else(|| mismatch(place, $expected, value))
            }
        })*
    };
}

plain! {
    bool, "true or false", Value::as_bool;
    String, "a text", |value| value.as_str().map(str::to_owned);
    f64, "a number", Value::as_f64;
    u8, "a whole number from 0 to 255", |value| value.as_u64()?.try_into().ok();
    u16, "a whole number from 0 to 65535", |value| value.as_u64()?.try_into().ok();
    u32, "a whole number from 0 to 4294967295", |value| value.as_u64()?.try_into().ok();
    u64, "a whole number from 0", Value::as_u64;
    usize, "a whole number from 0", |value| value.as_u64()?.try_into().ok();
    i32, "a whole number from -2147483648 to 2147483647", |value| value.as_i64()?.try_into().ok();
    i64, "a whole number", Value::as_i64;
}

impl ConfigValue for Duration {
    fn expected() -> String {
        "a duration such as `90s` or `7d`".to_owned()
    }
    fn read(value: &Value, place: &str) -> Result<Self> {
        let text = value.as_str().ok_or_else(|| mismatch(place, &Self::expected(), value))?;
        humantime::parse_duration(text)
            .map_err(|error| Error::new(format!("{place} is `{text}`: expected {}: {error}", Self::expected())))
    }
}

impl<T: ConfigValue> ConfigValue for Option<T> {
    fn expected() -> String {
        T::expected()
    }
    fn read(value: &Value, place: &str) -> Result<Self> {
        if value.is_null() { Ok(None) } else { T::read(value, place).map(Some) }
    }
    fn missing() -> Option<Self> {
        Some(None)
    }
}

impl<T: ConfigValue> ConfigValue for Vec<T> {
    fn expected() -> String {
        format!("a list, each item {}", T::expected())
    }
    fn read(value: &Value, place: &str) -> Result<Self> {
        let items = value.as_array().ok_or_else(|| mismatch(place, "a list", value))?;
        items.iter().enumerate().map(|(index, item)| T::read(item, &format!("{place}[{index}]"))).collect()
    }
}

impl<T: ConfigValue> ConfigValue for BTreeMap<String, T> {
    fn expected() -> String {
        format!("an object, each value {}", T::expected())
    }
    fn read(value: &Value, place: &str) -> Result<Self> {
        let keys = value.as_object().ok_or_else(|| mismatch(place, "an object", value))?;
        keys.iter().map(|(key, value)| Ok((key.clone(), T::read(value, &format!("{place}.{key}"))?))).collect()
    }
}
