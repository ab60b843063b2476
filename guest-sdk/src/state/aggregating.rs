//! An accumulator per key that takes one type and answers with another.

use crate::Result;
use crate::bindings::types::StateDescriptor;
use crate::function::Declared;
use crate::state::{State, Storable, Value};

/// How values are gathered, and what is read out.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tidegate::prelude::*;
///
/// struct Mean;
///
/// #[derive(Default, Serialize, Deserialize, Schema)]
/// struct Totals {
///     sum: f64,
///     count: u64,
/// }
///
/// impl Aggregate for Mean {
///     type Input = f64;
///     type Accumulator = Totals;
///     type Output = f64;
///
///     fn add(totals: &mut Totals, value: f64) {
///         totals.sum += value;
///         totals.count += 1;
///     }
///
///     fn output(totals: &Totals) -> f64 {
///         totals.sum / totals.count as f64
///     }
/// }
/// # let mut totals = Totals::default();
/// # Mean::add(&mut totals, 1.0);
/// # Mean::add(&mut totals, 2.0);
/// # assert_eq!(Mean::output(&totals), 1.5);
/// ```
pub trait Aggregate {
    /// What is added.
    type Input;
    /// What is kept; its default stands for nothing added.
    type Accumulator: Storable + Default;
    /// What is read out.
    type Output;

    /// Adds one.
    fn add(accumulator: &mut Self::Accumulator, input: Self::Input);

    /// Reads out.
    fn output(accumulator: &Self::Accumulator) -> Self::Output;
}

/// An accumulator per key.
///
/// ```
/// use tidegate::prelude::*;
///
/// # use serde::{Deserialize, Serialize};
/// # struct Mean;
/// # #[derive(Default, Serialize, Deserialize, Schema)]
/// # struct Totals { sum: f64, count: u64 }
/// # impl Aggregate for Mean {
/// #     type Input = f64;
/// #     type Accumulator = Totals;
/// #     type Output = f64;
/// #     fn add(totals: &mut Totals, value: f64) { totals.sum += value; totals.count += 1; }
/// #     fn output(totals: &Totals) -> f64 { totals.sum / totals.count as f64 }
/// # }
/// #[derive(Fields)]
/// struct Reading {
///     celsius: f64,
/// }
///
/// #[tidegate::function]
/// struct Means {
///     #[state]
///     mean: Aggregating<Mean>, // `Mean` is the example of the trait `Aggregate`
/// }
///
/// impl Keyed for Means {
///     type In = Fields<Reading>;
///     type Out = Fields<Reading>;
///
///     fn on_record(&mut self, reading: Reading, cx: &mut Context<Self>) -> Result {
///         let celsius = self.mean.add(reading.celsius)?;
///         cx.emit(&Reading { celsius });
///         Ok(())
///     }
/// }
///
/// # use tidegate::testing::{Harness, Record};
/// let readings = [20.0, 22.0].map(|celsius| Record::json(&format!(r#"{{"celsius": {celsius}}}"#)).key("roof"));
/// assert_eq!(Harness::<Means>::new().run(readings).main()[1].field::<f64>("celsius"), 21.0);
/// ```
pub struct Aggregating<A: Aggregate> {
    value: Value<A::Accumulator>,
}

impl<A: Aggregate> Aggregating<A> {
    /// Adds one, and reads out.
    ///
    /// # Errors
    /// When what is stored is not the accumulator.
    pub fn add(&mut self, input: A::Input) -> Result<A::Output> {
        let accumulator = self.value.update(|accumulator| A::add(accumulator, input))?;
        Ok(A::output(accumulator))
    }

    /// Reads out; `None` where nothing was added.
    ///
    /// # Errors
    /// When what is stored is not the accumulator.
    pub fn get(&mut self) -> Result<Option<A::Output>> {
        Ok(self.value.get()?.map(A::output))
    }

    /// Forgets what was added.
    pub fn clear(&mut self) {
        self.value.clear();
    }
}

through_its_parts!([A: Aggregate] Aggregating<A>: value);

impl<A: Aggregate> State for Aggregating<A> {
    type Stored = A::Accumulator;

    fn create(declared: Declared) -> Self {
        Self { value: Value::create(declared) }
    }
    fn describe(declared: Declared, into: &mut Vec<StateDescriptor>) {
        Value::<A::Accumulator>::describe(declared, into);
    }
}
