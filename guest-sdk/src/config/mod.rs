//! What the job file says under `config`, as a typed struct.
//!
//! # Invariants
//! 1. Everything wrong is found before the first record: unknown keys, missing keys, wrong values.
//! 2. A message names the place (`config.limits.window`), what was expected and what was found.

mod value;

use serde_json::{Map, Value};

use crate::{Error, Result};

pub use value::ConfigValue;

/// A struct that is filled from the `config` of the job file; made by `#[derive(Config)]`.
///
/// # The derive
/// Each field is a key of the same name. A field is required unless it is an `Option` or has
/// `#[config(default)]` or `#[config(default = expression)]` (in quotes it is read like a text in the
/// job file: `default = "7d"`); `#[config(name = "…")]` gives the key another name. Types: `bool`, integers, floats, `String`, [`Duration`](std::time::Duration) (as
/// `"90s"`, `"7d"`), `Option`, `Vec`, `BTreeMap<String, _>`, structs with `#[derive(Config)]`, and enums
/// with it whose variants are words (`OnWrite` is `on-write`).
///
/// ```
/// use std::time::Duration;
/// use tidegate::prelude::*;
///
/// #[derive(Config)]
/// struct Settings {
///     window: Duration,
///     #[config(default = 100)]
///     limit: u32,
///     #[config(default = "1h")]
///     pause: Duration,
///     unit: Option<Unit>,
/// }
///
/// #[derive(Config, PartialEq, Debug)]
/// enum Unit {
///     Metres,
///     NauticalMiles,
/// }
///
/// let settings = Settings::from_json(r#"{"window": "90s", "unit": "nautical-miles"}"#)?;
/// assert_eq!(settings.window, Duration::from_secs(90));
/// assert_eq!(settings.limit, 100);
/// assert_eq!(settings.pause, Duration::from_secs(3600));
/// assert_eq!(settings.unit, Some(Unit::NauticalMiles));
///
/// let error = Settings::from_json(r#"{"windw": "90s"}"#).err().unwrap();
/// assert_eq!(error.to_string(), "config: unknown key `windw`: did you mean `window`?");
/// # Ok::<(), tidegate::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be filled from a job file",
    note = "write `#[derive(Config)]` on the struct"
)]
pub trait Config: ConfigValue {
    /// Reads the JSON object that the job file has under `config`.
    ///
    /// # Errors
    /// When the object does not fit, with place, expectation and finding.
    fn from_json(text: &str) -> Result<Self> {
        let text = if text.trim().is_empty() { "{}" } else { text };
        let value: Value = serde_json::from_str(text)?;
        Self::read(&value, "config")
    }
}

/// Refuses a configuration of a function that takes none.
#[doc(hidden)]
pub fn no_config(text: &str) -> Result<()> {
    match text.trim() {
        "" | "{}" | "null" => Ok(()),
        _ => Err(Error::new(
            "config: the function takes none: leave `config` out of the job file, \
             or give the function a field with `#[config]`",
        )),
    }
}

/// An object being read key by key.
#[doc(hidden)]
pub struct Object<'a> {
    keys: &'a Map<String, Value>,
    place: &'a str,
}

impl<'a> Object<'a> {
    /// Checks that `value` is an object without keys other than `known`.
    pub fn open(value: &'a Value, place: &'a str, known: &[&str]) -> Result<Self> {
        let Value::Object(keys) = value else {
            return Err(mismatch(place, "an object", value));
        };
        match keys.keys().find(|key| !known.contains(&key.as_str())) {
            Some(unknown) => Err(unknown_key(place, unknown, known)),
            None => Ok(Self { keys, place }),
        }
    }

    /// The value of a required key.
    pub fn required<T: ConfigValue>(&self, name: &str) -> Result<T> {
        self.optional(name)?.map_or_else(
            || {
                T::missing().ok_or_else(|| {
                    Error::new(format!("{}: `{name}` is missing: expected {}", self.place, T::expected()))
                })
            },
            Ok,
        )
    }

    /// The value of a key that may be absent.
    pub fn optional<T: ConfigValue>(&self, name: &str) -> Result<Option<T>> {
        self.keys.get(name).map(|value| T::read(value, &format!("{}.{name}", self.place))).transpose()
    }
}

/// The variant that a word stands for.
#[doc(hidden)]
pub fn word(value: &Value, place: &str, known: &[&str]) -> Result<usize> {
    let text = value.as_str().ok_or_else(|| mismatch(place, &one_of(known), value))?;
    known.iter().position(|word| *word == text).ok_or_else(|| {
        let hint = nearest(text, known).map_or_else(|| one_of(known), |near| format!("`{near}`"));
        Error::new(format!("{place} is `{text}`: expected {hint}"))
    })
}

/// The words of an enum, to say what was expected.
#[doc(hidden)]
#[must_use]
pub fn one_of(known: &[&str]) -> String {
    format!("one of {}", list(known))
}

/// A value of another type than expected.
pub(crate) fn mismatch(place: &str, expected: &str, found: &Value) -> Error {
    Error::new(format!("{place} is {}: expected {expected}", shortened(found)))
}

fn unknown_key(place: &str, unknown: &str, known: &[&str]) -> Error {
    let hint = match nearest(unknown, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("known are {}", list(known)),
    };
    Error::new(format!("{place}: unknown key `{unknown}`: {hint}"))
}

/// The known word that is closest to `word`, if any is close.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |near: &&str| strsim::damerau_levenshtein(word, near);
    let near = known.iter().copied().min_by_key(distance)?;
    (distance(&near) <= 1 + word.chars().count() / 3).then_some(near)
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// A value as it is shown in a message.
fn shortened(value: &Value) -> String {
    const MOST: usize = 40;
    let text = value.to_string();
    if text.chars().count() <= MOST {
        return text;
    }
    text.chars().take(MOST).chain("…".chars()).collect()
}
