//! A function that is a closure over turns, and the one that the compliance suite knows.

use std::fmt;
use std::sync::Arc;

use model::{
    Column, Descriptor, EventTime, MetricDescriptor, MetricId, MetricKind, ModuleDigest, OptionalColumn, OutputId,
    PortDescriptor, StateId, Values,
};

use crate::{
    Emit, Error, Failure, FailureKind, FunctionFactory, LogLevel, LogLine, ProcessError, Task, Turn, UserFunction,
};

type Process = Arc<dyn Fn(&mut Turn) -> Result<(), ProcessError> + Send + Sync>;
type Migrate = Arc<dyn Fn(StateId, u32, &Column) -> Result<Column, ProcessError> + Send + Sync>;
type Assign = Arc<dyn Fn(&Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> + Send + Sync>;

/// A function made of closures. It keeps nothing between turns.
#[derive(Clone)]
pub struct ClosureFactory {
    descriptor: Descriptor,
    process: Process,
    assign: Option<Assign>,
    migrate: Option<Migrate>,
    fails_to_open: Option<String>,
}

impl ClosureFactory {
    /// A function that does `process` with every turn.
    #[must_use]
    pub fn new(
        descriptor: Descriptor,
        process: impl Fn(&mut Turn) -> Result<(), ProcessError> + Send + Sync + 'static,
    ) -> Self {
        Self { descriptor, process: Arc::new(process), assign: None, migrate: None, fails_to_open: None }
    }

    /// Assigns keys and times by `assign`.
    #[must_use]
    pub fn assigning(
        mut self,
        assign: impl Fn(&Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> + Send + Sync + 'static,
    ) -> Self {
        self.descriptor.assigns = true;
        self.assign = Some(Arc::new(assign));
        self
    }

    /// Rewrites values of older versions of its states by `migrate`.
    #[must_use]
    pub fn migrating(
        mut self,
        migrate: impl Fn(StateId, u32, &Column) -> Result<Column, ProcessError> + Send + Sync + 'static,
    ) -> Self {
        self.migrate = Some(Arc::new(migrate));
        self
    }

    /// Refuses to be instantiated.
    #[must_use]
    pub fn failing_to_open(self, message: &str) -> Self {
        Self { fails_to_open: Some(message.to_owned()), ..self }
    }
}

impl fmt::Debug for ClosureFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosureFactory").field("descriptor", &self.descriptor).finish_non_exhaustive()
    }
}

impl FunctionFactory for ClosureFactory {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn digest(&self) -> Option<ModuleDigest> {
        None
    }

    fn instantiate(&self, _task: &Task) -> Result<Box<dyn UserFunction>, Error> {
        if let Some(message) = &self.fails_to_open {
            return Err(Error::new(model::Blame::Guest, model::Retry::No, message.clone()));
        }
        Ok(Box::new(Closure { factory: self.clone(), is_fresh: true }))
    }
}

struct Closure {
    factory: ClosureFactory,
    is_fresh: bool,
}

impl UserFunction for Closure {
    fn process(&mut self, turn: &mut Turn) -> Result<(), ProcessError> {
        self.is_fresh = false;
        (self.factory.process)(turn)
    }

    fn assign(&mut self, values: &Values) -> Result<(OptionalColumn, Vec<EventTime>), ProcessError> {
        self.is_fresh = false;
        match &self.factory.assign {
            Some(assign) => assign(values),
            None => Err(ProcessError::Function(Failure {
                kind: FailureKind::Contract,
                row: None,
                message: "the function does not assign".to_owned(),
            })),
        }
    }

    fn migrate(&mut self, state: StateId, from_version: u32, values: &Column) -> Result<Column, ProcessError> {
        self.is_fresh = false;
        match &self.factory.migrate {
            Some(migrate) => migrate(state, from_version, values),
            None => Err(ProcessError::Function(Failure {
                kind: FailureKind::Rejected,
                row: None,
                message: format!("the function does not say how to read version {from_version} of state {state}"),
            })),
        }
    }

    fn renew(&mut self) -> Result<(), Error> {
        self.is_fresh = true;
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    fn fuel_used(&self) -> u64 {
        0
    }
}

/// What a port of a name is that declares no fields.
#[must_use]
pub fn port(id: u16, name: &str) -> PortDescriptor {
    PortDescriptor { id, name: name.to_owned(), fields: Vec::new(), schema: None }
}

/// The function that [`crate::compliance::function`] runs: unkeyed, one input, one output, one counter
/// `seen`. For each record in order: `reject` is given up on with the message `told to`, `trap` stops it
/// abnormally; a value that begins with `log ` is logged without that word at level info; every other
/// record is forwarded and counted.
#[must_use]
pub fn probe() -> ClosureFactory {
    let descriptor = Descriptor {
        inputs: vec![port(0, "in")],
        outputs: vec![port(0, "out")],
        wants_values: true,
        metrics: vec![MetricDescriptor { name: "seen".to_owned(), kind: MetricKind::Counter }],
        ..Descriptor::default()
    };
    ClosureFactory::new(descriptor, |turn| {
        let mut rows = Vec::new();
        for (row, value) in (0u32..).zip(turn.batch.records.values.iter()) {
            let value = value.unwrap_or_default();
            let fail = |kind, message: &str| {
                Err(ProcessError::Function(Failure { kind, row: Some(row), message: message.to_owned() }))
            };
            match value {
                b"reject" => return fail(FailureKind::Rejected, "told to"),
                b"trap" => return fail(FailureKind::Trap, "told to"),
                _ => {}
            }
            if let Some(text) = value.strip_prefix(b"log ") {
                let message = String::from_utf8_lossy(text).into_owned();
                turn.staged.logs.push(LogLine { level: LogLevel::Info, row: Some(row), message });
            } else {
                rows.push(row);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer than 2^52 rows")]
        turn.staged.metrics.push((MetricId(0), rows.len() as f64));
        turn.staged.emits.push(Emit::Forward { output: OutputId(0), rows });
        Ok(())
    })
}
