//! A chain: a head that reads or receives, and operators that run one after the other in one thread.
//!
//! # Flow
//! The head brings a batch; every operator it reaches may put batches for others of the chain on
//! [`Context::pending`], which are handled in order before the head is asked again. Nothing waits in
//! between, so what is in flight inside a chain is bounded by what one batch becomes.
//!
//! # Invariants
//! 1. A barrier passes the operators as the end does: each gets it after everything before it was handled,
//!    upstream first; the dead letters get it last.
//! 2. A watermark passes them likewise: each operator fires the timers that are due before who reads it hears of it.
//! 3. When the head has ended, each operator is closed after everything for it was handled, upstream
//!    first: end of input is the last thing that any consumer sees.

pub(crate) mod assign;
pub(crate) mod barriers;
pub(crate) mod context;
pub(crate) mod edge;
pub(crate) mod emits;
pub(crate) mod function;
pub(crate) mod gate;
pub(crate) mod keeping;
pub(crate) mod lane;
pub(crate) mod logs;
pub(crate) mod outlet;
pub(crate) mod sink;
pub(crate) mod slots;
pub(crate) mod source;
pub(crate) mod splits;
pub(crate) mod timers;
mod times;

use std::sync::Arc;
use std::time::Duration;

use model::{EventTime, InputId, RecordBatch};

use self::context::{Context, Delivery, Flow, Responsible, Stop};
use self::function::FunctionOperator;
use self::gate::{Arrived, Gate};
use self::sink::SinkOperator;
use self::source::{Next, Progress, SourceHead};
use crate::metrics::SubtaskMetrics;

/// Where the records of a chain come from.
pub(crate) enum Head {
    /// It reads them.
    Source(SourceHead),
    /// It receives them for its first operator.
    Gate(Gate),
}

/// An operator of a chain.
pub(crate) enum Operator {
    /// Runs a function.
    Function(Box<FunctionOperator>),
    /// Writes.
    Sink(SinkOperator),
}

/// See the module.
pub(crate) struct Chain {
    pub(crate) head: Head,
    pub(crate) operators: Vec<Operator>,
    pub(crate) context: Context,
}

impl Chain {
    /// Runs to the end of input, or until it or the job stops.
    pub(crate) fn run(mut self) -> Flow {
        // What was read before a restore is known before anything is read after it.
        self.raise()?;
        loop {
            if self.context.control.is_stopped() {
                return Err(Stop::Quiet);
            }
            let is_over = match &self.head {
                Head::Source(_) => self.read()?,
                Head::Gate(_) => self.receive()?,
            };
            if is_over {
                return self.close();
            }
        }
    }

    /// One step of a chain that reads. True at its end.
    fn read(&mut self) -> Flow<bool> {
        let Head::Source(source) = &mut self.head else { return Ok(true) };
        match source.next(&self.context) {
            Next::Poll => {}
            Next::Barrier(epoch) => {
                self.inject(epoch)?;
                return Ok(false);
            }
            Next::Rest => {
                self.rest(source::LONGEST_REST)?;
                return Ok(false);
            }
            Next::End => return Ok(true),
        }
        let Head::Source(source) = &mut self.head else { return Ok(true) };
        let watch = Watch::start(&self.context);
        let progress = source.poll(&mut self.context)?;
        watch.stop(&source.responsible.metrics, &self.context);
        match progress {
            Progress::End => {
                self.raise()?;
                return Ok(self.context.epochs.is_none());
            }
            Progress::Some => {
                self.drain()?;
                self.raise()?;
                self.tick(false)?;
            }
            Progress::Idle(rest) => {
                self.raise()?;
                self.rest(rest)?;
            }
        }
        Ok(false)
    }

    /// Lets the watermark of a source go on, where event time has.
    fn raise(&mut self) -> Flow {
        let Head::Source(source) = &mut self.head else { return Ok(()) };
        match source.raise(&self.context) {
            Some(watermark) => self.rise(watermark),
            None => Ok(()),
        }
    }

    /// Nothing before `watermark` follows: each operator fires its timers before it says so itself.
    fn rise(&mut self, watermark: EventTime) -> Flow {
        self.drain()?;
        for at in 0..self.operators.len() {
            if let Some(Operator::Function(function)) = self.operators.get_mut(at) {
                function.rise(watermark);
            }
            self.drain()?;
            if let Some(Operator::Function(function)) = self.operators.get_mut(at) {
                function.pass_watermark(&self.context);
            }
        }
        Ok(())
    }

    /// Waits until it is woken, something is due, or `rest` is over.
    fn rest(&mut self, rest: Duration) -> Flow {
        self.tick(true)?;
        let timeout = self.due_in().map_or(rest, |due| due.min(rest));
        self.wait(|_| {
            std::thread::park_timeout(timeout);
        });
        self.tick(false)
    }

    /// One step of a chain that receives. True at its end.
    fn receive(&mut self) -> Flow<bool> {
        let Head::Gate(gate) = &mut self.head else { return Ok(true) };
        match gate.take(&self.context)? {
            Arrived::End => return Ok(true),
            Arrived::Batch(input, batch) => {
                let (bytes, began) = (batch.weight_bytes(), self.context.elapsed());
                self.deliver(0, input, batch)?;
                self.drain()?;
                self.tick(false)?;
                let took = self.context.elapsed().saturating_sub(began);
                if let Head::Gate(gate) = &mut self.head {
                    gate.note(bytes, took);
                }
            }
            Arrived::Watermark(watermark) => {
                self.rise(watermark)?;
                self.tick(false)?;
            }
            Arrived::Barrier(barrier, since) => self.pass(barrier, since)?,
            Arrived::Nothing => {
                self.tick(true)?;
                let timeout = self.due_in();
                self.wait(|chain| {
                    if let Head::Gate(gate) = &chain.head {
                        gate.wait(timeout, &chain.context);
                    }
                });
                self.tick(false)?;
            }
            Arrived::Unexpected(message) => {
                return Err(self.first_responsible().map_or(Stop::Quiet, |first| first.broken(message)));
            }
        }
        Ok(false)
    }

    /// Handles everything that waits inside the chain, timers that are due among it.
    fn drain(&mut self) -> Flow {
        loop {
            while let Some(Delivery { operator, input, batch }) = self.context.pending.pop_front() {
                self.deliver(operator, input, batch)?;
            }
            if !self.fire()? {
                return Ok(());
            }
        }
    }

    /// Fires a batch of timers of the first operator that has some which are due. False: none has.
    fn fire(&mut self) -> Flow<bool> {
        for operator in &mut self.operators {
            let Operator::Function(function) = operator else { continue };
            let Some(clock) = function.due_clock() else { continue };
            // Timers may go on firing for long.
            if self.context.control.is_stopped() {
                return Err(Stop::Quiet);
            }
            let watch = Watch::start(&self.context);
            function.fire(clock, &mut self.context)?;
            watch.stop(&function.responsible.metrics, &self.context);
            return Ok(true);
        }
        Ok(false)
    }

    fn deliver(&mut self, operator: usize, input: InputId, batch: RecordBatch) -> Flow {
        let count = self.operators.len();
        let Some(operator) = self.operators.get_mut(operator) else {
            let message = format!("a batch came for operator {operator} of a chain of {count}");
            return Err(self.first_responsible().map_or(Stop::Quiet, |first| first.broken(message)));
        };
        let watch = Watch::start(&self.context);
        match operator {
            Operator::Function(function) => function.process(input, batch, &mut self.context)?,
            Operator::Sink(sink) => sink.process(&batch, &mut self.context)?,
        }
        watch.stop(&operator.responsible().metrics, &self.context);
        Ok(())
    }

    /// Sends and flushes what is due.
    fn tick(&mut self, is_idle: bool) -> Flow {
        for operator in &mut self.operators {
            if let Operator::Function(function) = operator {
                function.look_at_clock(&self.context);
            }
        }
        self.drain()?;
        let now = self.context.elapsed();
        if let Head::Source(source) = &mut self.head {
            source.tick(now, is_idle, &mut self.context)?;
        }
        for operator in &mut self.operators {
            match operator {
                Operator::Function(function) => function.tick(now, is_idle, &mut self.context)?,
                Operator::Sink(sink) => sink.tick(now)?,
            }
        }
        self.context.tick(now, is_idle)
    }

    /// How long until a sink wants to be flushed, or a timer to be looked at.
    fn due_in(&self) -> Option<Duration> {
        let now = self.context.elapsed();
        let dues = self.operators.iter().filter_map(|operator| match operator {
            Operator::Sink(sink) => sink.due().map(|due| due.saturating_sub(now)),
            Operator::Function(function) => function.due_in(),
        });
        dues.min()
    }

    /// Waits, and counts the time as idle for every operator of the chain.
    fn wait(&mut self, wait: impl FnOnce(&Self)) {
        let started = self.context.elapsed();
        wait(self);
        let waited = self.context.elapsed().saturating_sub(started);
        let head = match &self.head {
            Head::Source(source) => Some(&source.responsible),
            Head::Gate(_) => None,
        };
        for responsible in head.into_iter().chain(self.operators.iter().map(Operator::responsible)) {
            responsible.metrics.idle.add_time(waited);
        }
    }

    fn close(mut self) -> Flow {
        self.drain()?;
        if let Head::Source(source) = &mut self.head {
            source.close(&mut self.context)?;
            self.drain()?;
        }
        for at in 0..self.operators.len() {
            if let Some(operator) = self.operators.get_mut(at) {
                match operator {
                    Operator::Function(function) => function.close(&mut self.context)?,
                    Operator::Sink(sink) => sink.close(&mut self.context)?,
                }
            }
            self.drain()?;
        }
        self.context.close()
    }

    fn first_responsible(&self) -> Option<&Responsible> {
        self.operators.first().map(Operator::responsible)
    }
}

impl Operator {
    pub(crate) fn responsible(&self) -> &Responsible {
        match self {
            Self::Function(function) => &function.responsible,
            Self::Sink(sink) => &sink.responsible,
        }
    }
}

/// Measures how long an operator works, and how long it waits for full queues meanwhile.
struct Watch {
    started: Duration,
    blocked: Duration,
}

impl Watch {
    fn start(context: &Context) -> Self {
        Self { started: context.elapsed(), blocked: context.blocked }
    }

    fn stop(self, metrics: &Arc<SubtaskMetrics>, context: &Context) {
        let blocked = context.blocked.saturating_sub(self.blocked);
        let spent = context.elapsed().saturating_sub(self.started);
        metrics.backpressured.add_time(blocked);
        metrics.busy.add_time(spent.saturating_sub(blocked));
    }
}
