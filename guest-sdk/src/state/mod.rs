//! What a function keeps for each key.
//!
//! A state is a field of the function with `#[state]`; it always speaks of the key of the current
//! record. Reads see earlier writes of the same batch. The state is asked for at its first use in a
//! batch, for all keys of the batch at once where it is one value per key; what was written leaves
//! once, at the end of the batch, and takes effect if the whole batch succeeded.
//!
//! | type | keeps per key |
//! |---|---|
//! | [`Value<T>`] | one value |
//! | [`List<T>`] | values in the order they came |
//! | [`Map<K, V>`] | values under keys of their own |
//! | [`Reducing<T>`] | one value that every new one is merged into |
//! | [`Aggregating<A>`] | an accumulator that takes one type and answers with another |
//! | [`Counter`] | a number |
//!
//! # What `#[state]` takes
//! - `ttl = "7d"`: how long an entry lives, as number and unit (`ms`, `s`, `m`, `h`, `d`, `w`).
//! - `clock = "event-time"` (default) or `"processing-time"`: what decides that it has passed.
//! - `refresh = "on-create"`, `"on-write"` (default) or `"on-read"`: what starts it anew.
//!
//!   An entry is there for the records of a key whose time, by that clock, is before that of its write and
//!   the time to live together; for later ones it is not. By event time nothing else decides that: not
//!   when the record came, nor what else was in its batch. A record without an event time sees everything,
//!   and what it writes is gone for records that have one.
//! - `name = "…"`: the identity of the state for ever; the name of the field where left out.
//! - `version = 2` and `migrate = function`: see [`Stored`].

/// Makes a state take part in batches through the fields it is made of, in their order.
macro_rules! through_its_parts {
    ([$($generics:tt)*] $state:ty: $($part:ident),+) => {
        impl<$($generics)*> $crate::function::Part for $state {
            fn begin_batch(&mut self, slots: usize) {
                $($crate::function::Part::begin_batch(&mut self.$part, slots);)+
            }
            #[inline]
            fn select(&mut self, at: $crate::function::Row) {
                $($crate::function::Part::select(&mut self.$part, at);)+
            }
            fn finish_batch(&mut self) -> ::std::result::Result<(), $crate::error::Flaw> {
                $($crate::function::Part::finish_batch(&mut self.$part)?;)+
                Ok(())
            }
        }
    };
}

mod aggregating;
mod counter;
mod entries;
mod key;
mod list;
mod map;
mod mark;
mod reducing;
mod value;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::types::StateDescriptor;
use crate::function::{Declared, Part};
use crate::{Error, Result, Schema};

pub use aggregating::{Aggregate, Aggregating};
pub use counter::Counter;
pub use key::{EntryKey, MapKey};
pub use list::List;
pub use map::Map;
pub use reducing::{Max, Min, Reduce, Reducing, Sum};
pub use value::Value;

/// What can be kept in state: serde writes and reads it, and it says what it looks like.
///
/// Implemented for every type with `#[derive(Serialize, Deserialize, Schema)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be kept in state",
    note = "write `#[derive(Serialize, Deserialize, Schema)]` on the type"
)]
pub trait Storable: Schema + Serialize + DeserializeOwned + 'static {}

impl<T: Schema + Serialize + DeserializeOwned + 'static> Storable for T {}

/// A kind of state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind of state",
    label = "`#[state]` needs a kind of state",
    note = "use Value<T>, List<T>, Map<K, V>, Reducing<T>, Aggregating<A> or Counter"
)]
pub trait State: Part {
    /// What is stored.
    type Stored: Storable;
    /// How many numbers it takes.
    #[doc(hidden)]
    const IDS: u16 = 1;

    #[doc(hidden)]
    fn create(declared: Declared) -> Self;
    #[doc(hidden)]
    fn describe(declared: Declared, into: &mut Vec<StateDescriptor>);
}

/// A stored value of an older version of a state.
///
/// When the meaning of what is stored changes, raise `version` and say how to read the older ones.
/// (Where serde's own rules suffice, such as a new field with `#[serde(default)]`, neither is needed.)
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tidegate::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema, Debug, PartialEq)]
/// struct Total {
///     cents: i64,
/// }
///
/// fn to_cents(stored: Stored<'_>) -> Result<Total> {
///     match stored.version() {
///         1 => Ok(Total { cents: (stored.decode::<f64>()? * 100.0).round() as i64 }),
///         other => bail!("version {other} of `total` is unknown"),
///     }
/// }
///
/// #[tidegate::function]
/// struct Totals {
///     #[state(version = 2, migrate = to_cents)]
///     total: Value<Total>,
/// }
/// #
/// # impl Keyed for Totals {
/// #     type In = KeyOnly;
/// #     type Out = ();
/// #     fn on_record(&mut self, _: (), _: &mut Context<Self>) -> Result {
/// #         self.total.get()?;
/// #         Ok(())
/// #     }
/// # }
///
/// # use tidegate::testing::Harness;
/// let totals = Harness::<Totals>::new();
/// assert_eq!(totals.migrated::<f64, Total>("total", 1, &12.5), Total { cents: 1250 });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    version: u32,
    bytes: &'a [u8],
}

impl<'a> Stored<'a> {
    /// The version of the state that wrote the value.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The value as it was then.
    ///
    /// # Errors
    /// When the value is not a `T`.
    pub fn decode<T: Schema + DeserializeOwned>(&self) -> Result<T> {
        T::decode(self.bytes)
    }

    /// The value as MessagePack.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Rewrites a stored value with the function given by `migrate`.
#[doc(hidden)]
pub fn migrate_with<T: Storable>(
    rewrite: impl FnOnce(Stored<'_>) -> Result<T>,
    version: u32,
    bytes: &[u8],
    into: &mut Vec<u8>,
) -> Result<()> {
    rewrite(Stored { version, bytes })?.encode(into)
}

/// The answer for a state without `migrate`.
#[doc(hidden)]
pub fn no_migration(name: &str, version: u32, from_version: u32) -> Result<()> {
    Err(Error::new(format!(
        "state `{name}` has version {version} and does not say how to read version {from_version}: \
         write `#[state(version = {version}, migrate = some_function)]`"
    )))
}

/// The answer for a number that no state has.
#[doc(hidden)]
pub fn no_such_state(id: u16) -> Result<()> {
    Err(Error::new(format!("the function has no state with the number {id}")))
}
