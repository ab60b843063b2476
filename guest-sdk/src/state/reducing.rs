//! One value per key that every new one is merged into.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::bindings::types::StateDescriptor;
use crate::function::Declared;
use crate::state::{State, Storable, Value};
use crate::{Result, Schema, SchemaText};

/// How two values become one.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tidegate::prelude::*;
///
/// #[derive(Serialize, Deserialize, Schema)]
/// struct Span {
///     from: Timestamp,
///     to: Timestamp,
/// }
///
/// impl Reduce for Span {
///     fn reduce(&mut self, other: Self) {
///         self.from = self.from.min(other.from);
///         self.to = self.to.max(other.to);
///     }
/// }
/// ```
pub trait Reduce {
    /// Merges `other` into this one. The order of merging must not matter.
    fn reduce(&mut self, other: Self);
}

/// One value per key that every new one is merged into.
///
/// ```
/// use tidegate::prelude::*;
///
/// #[derive(Fields)]
/// struct Bid {
///     price: i64,
/// }
///
/// /// Lets a bid through when it is the highest so far.
/// #[tidegate::function]
/// struct Highest {
///     #[state]
///     highest: Reducing<Max<i64>>,
/// }
///
/// impl Keyed for Highest {
///     type In = Fields<Bid>;
///     type Out = Forward;
///
///     fn on_record(&mut self, bid: Bid, cx: &mut Context<Self>) -> Result {
///         let before = self.highest.get()?.copied();
///         if before != Some(*self.highest.add(Max(bid.price))?) {
///             cx.forward();
///         }
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let bids = [5, 3, 8].map(|price| Record::json(&format!(r#"{{"price": {price}}}"#)).key("lot"));
/// assert_eq!(Harness::<Highest>::new().run(bids).main().len(), 2);
/// ```
pub struct Reducing<T> {
    value: Value<T>,
}

impl<T: Storable + Reduce> Reducing<T> {
    /// Merges `value` in, and gives what holds then.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn add(&mut self, value: T) -> Result<&T> {
        self.value.merge(value, T::reduce)
    }

    /// What all values so far were merged into; `None` where there was none.
    ///
    /// # Errors
    /// When what is stored is not a `T`.
    pub fn get(&mut self) -> Result<Option<&T>> {
        self.value.get()
    }

    /// Forgets the value.
    pub fn clear(&mut self) {
        self.value.clear();
    }
}

through_its_parts!([T: Storable] Reducing<T>: value);

impl<T: Storable> State for Reducing<T> {
    type Stored = T;

    fn create(declared: Declared) -> Self {
        Self { value: Value::create(declared) }
    }
    fn describe(declared: Declared, into: &mut Vec<StateDescriptor>) {
        Value::<T>::describe(declared, into);
    }
}

/// A wrapper that says how its value is merged; stored like the value itself.
macro_rules! reducer {
    ($(#[$doc:meta])* $name:ident, [$($bounds:tt)*], $reduce:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name<T>(pub T);

        impl<T: $($bounds)*> Reduce for $name<T> {
            fn reduce(&mut self, other: Self) {
                let reduce: fn(&mut T, T) = $reduce;
                reduce(&mut self.0, other.0);
            }
        }

        impl<T: Schema> Schema for $name<T> {
            fn schema(into: &mut SchemaText) {
                T::schema(into);
            }
        }
    };
}

reducer! {
    /// Adds.
    ///
    /// ```
    /// use tidegate::prelude::*;
    ///
    /// let mut sum = Sum(2);
    /// sum.reduce(Sum(3));
    /// assert_eq!(sum, Sum(5));
    /// ```
    Sum, [AddAssign], |sum, other| *sum += other
}
reducer! {
    /// Keeps the smaller.
    ///
    /// ```
    /// use tidegate::prelude::*;
    ///
    /// let mut min = Min(2.5);
    /// min.reduce(Min(1.5));
    /// assert_eq!(min, Min(1.5));
    /// ```
    Min, [PartialOrd], |min, other| if other < *min { *min = other }
}
reducer! {
    /// Keeps the larger.
    ///
    /// ```
    /// use tidegate::prelude::*;
    ///
    /// let mut max = Max(2.5);
    /// max.reduce(Max(1.5));
    /// assert_eq!(max, Max(2.5));
    /// ```
    Max, [PartialOrd], |max, other| if other > *max { *max = other }
}
