//! A number per key.

use crate::bindings::types::StateDescriptor;
use crate::function::Declared;
use crate::state::{State, Value};
use crate::{Error, Result};

/// A number per key, 0 where nothing was added.
///
/// For a number that only operators look at, see [`Count`](crate::Count).
///
/// ```
/// use tidegate::prelude::*;
///
/// /// Lets every third record of a key through.
/// #[tidegate::function]
/// struct EveryThird {
///     #[state]
///     records: Counter,
/// }
///
/// impl Keyed for EveryThird {
///     type In = KeyOnly;
///     type Out = Forward;
///
///     fn on_record(&mut self, _: (), cx: &mut Context<Self>) -> Result {
///         if self.records.add(1)? % 3 == 0 {
///             cx.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let mut third = Harness::<EveryThird>::new();
/// assert_eq!(third.run((0..7).map(|_| Record::text("x").key("k"))).main().len(), 2);
/// assert_eq!(third.state("records").value::<i64>(b"k"), Some(7));
/// ```
pub struct Counter {
    value: Value<i64>,
}

impl Counter {
    /// Adds `amount`, which may be negative, and gives the new number.
    ///
    /// # Errors
    /// When the number would not fit 64 bits.
    #[inline]
    pub fn add(&mut self, amount: i64) -> Result<i64> {
        let now = self.get()?;
        let next =
            now.checked_add(amount).ok_or_else(|| Error::new(format!("counter at {now} cannot take {amount}")))?;
        self.value.set(next);
        Ok(next)
    }

    /// The number.
    ///
    /// # Errors
    /// When what is stored is not a number.
    #[inline]
    pub fn get(&mut self) -> Result<i64> {
        Ok(self.value.get()?.copied().unwrap_or(0))
    }

    /// Starts again from 0.
    pub fn clear(&mut self) {
        self.value.clear();
    }
}

through_its_parts!([] Counter: value);

impl State for Counter {
    type Stored = i64;

    fn create(declared: Declared) -> Self {
        Self { value: Value::create(declared) }
    }
    fn describe(declared: Declared, into: &mut Vec<StateDescriptor>) {
        Value::<i64>::describe(declared, into);
    }
}
