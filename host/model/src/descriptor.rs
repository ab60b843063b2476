//! What a function declares of itself: its inputs, outputs, state and metrics.
//!
//! A descriptor is asked for once, at upload, and stored with the module; planning, validation and
//! the UI use the stored answer.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{FieldSpec, InputId, MetricId, OutputId, PointerError, StateId, TimerClock, pointer_steps};

/// Which clock decides expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TtlClock {
    /// The event time of the record that looks.
    EventTime,
    /// The host's checkpointed clock.
    ProcessingTime,
}

/// What starts the time to live anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refresh {
    /// Nothing: it counts from the first write.
    OnCreate,
    /// Every write.
    OnWrite,
    /// Every read and every write.
    OnRead,
}

/// How long an entry lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ttl {
    /// Milliseconds.
    pub millis: u64,
    /// Which clock decides.
    pub clock: TtlClock,
    /// What starts it anew.
    pub refresh: Refresh,
}

/// The shape of a piece of keyed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateKind {
    /// One value per key.
    Value,
    /// Many values per key, each under an entry key.
    MapEntries,
    /// A list that grows at its end, under 8-byte big-endian indexes.
    Appended,
}

/// One piece of keyed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateDescriptor {
    /// What calls use.
    pub id: StateId,
    /// Its identity for ever.
    pub name: String,
    /// Its shape.
    pub kind: StateKind,
    /// A JSON text that describes the values.
    pub schema: String,
    /// Rises when the meaning of the values changes.
    pub version: u32,
    /// `None`: entries live until deleted.
    pub ttl: Option<Ttl>,
}

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortDescriptor {
    /// Inputs and outputs are numbered 0, 1, 2 … in order.
    pub id: u16,
    /// Its name; `dedup.late` in a job file is the output `late` of the operator `dedup`.
    pub name: String,
    /// Typed fields that the host cuts out (input) or encodes (output).
    pub fields: Vec<FieldSpec>,
    /// A JSON text that describes the values; `None` where they are opaque bytes.
    pub schema: Option<String>,
}

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricKind {
    /// It is added to.
    Counter,
    /// It is set.
    Gauge,
}

/// A metric of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricDescriptor {
    /// Its name.
    pub name: String,
    /// How it behaves.
    pub kind: MetricKind,
}

/// What a function is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are the independent flags of the guest contract")]
pub struct Descriptor {
    /// Inputs, by [`InputId`].
    pub inputs: Vec<PortDescriptor>,
    /// Outputs, by [`OutputId`]; the first is the main output.
    pub outputs: Vec<PortDescriptor>,
    /// Keyed state.
    pub states: Vec<StateDescriptor>,
    /// Whether records are partitioned by key.
    pub keyed: bool,
    /// Whether it reads whole values.
    pub wants_values: bool,
    /// Whether it reads headers.
    pub wants_headers: bool,
    /// Whether it gives key and event time itself.
    pub assigns: bool,
    /// Whether it sets timers.
    #[serde(default)]
    pub timers: bool,
    /// Metrics, by [`MetricId`].
    pub metrics: Vec<MetricDescriptor>,
}

/// Why a descriptor is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorError {
    /// Ports are numbered otherwise than 0, 1, 2 …
    #[error("{what} {index} has the id {id}: expected {index}")]
    PortId {
        /// "input" or "output".
        what: &'static str,
        /// Its place in the list.
        index: usize,
        /// The id it has.
        id: u16,
    },
    /// A name is empty, too long, has other characters, or stands twice.
    #[error("{what} `{name}`: {why}")]
    Name {
        /// What bears the name.
        what: &'static str,
        /// The name, cut to a sane length.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// A state id stands twice.
    #[error("state `{name}` has the id {id}, which another state has too")]
    StateIdTwice {
        /// The second state with the id.
        name: String,
        /// The id.
        id: StateId,
    },
    /// State without keys.
    #[error("state `{name}` needs a keyed function")]
    StateWithoutKey {
        /// The state.
        name: String,
    },
    /// A state with an id that is the host's own.
    #[error("state `{name}` has the id {id}: expected one below {}", StateId::FIRST_RESERVED)]
    StateIdReserved {
        /// The state.
        name: String,
        /// The id.
        id: StateId,
    },
    /// Timers without keys.
    #[error("timers need a keyed function")]
    TimersWithoutKey,
    /// Too many of something.
    #[error("{count} {what}: at most {most} are allowed")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many may be.
        most: usize,
    },
    /// A field path is not a JSON pointer.
    #[error("field `{name}` of {what}: path `{path}` is not a JSON pointer: expected `/name` or `/outer/inner`, {why}")]
    Path {
        /// "an input" or "an output".
        what: &'static str,
        /// The field.
        name: String,
        /// Its path.
        path: String,
        /// The rule it breaks.
        why: PointerError,
    },
    /// Not at least one input.
    #[error("a function has at least one input")]
    NoInput,
}

impl Descriptor {
    /// Most inputs, outputs, states or metrics of one function: far above any we have seen, and small
    /// enough that per-port tables need no thought.
    pub const MAX_PORTS: usize = 64;
    /// Most fields of one port.
    pub const MAX_FIELDS: usize = 256;
    /// Longest name, in bytes.
    pub const MAX_NAME_BYTES: usize = 64;

    /// Checks what a stranger's function says of itself.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn check(&self) -> Result<(), DescriptorError> {
        if self.inputs.is_empty() {
            return Err(DescriptorError::NoInput);
        }
        check_ports("input", &self.inputs)?;
        check_ports("output", &self.outputs)?;
        check_count("states", self.states.len(), Self::MAX_PORTS)?;
        check_count("metrics", self.metrics.len(), Self::MAX_PORTS)?;
        check_names("state", self.states.iter().map(|state| state.name.as_str()))?;
        check_names("metric", self.metrics.iter().map(|metric| metric.name.as_str()))?;
        let mut ids = BTreeSet::new();
        for state in &self.states {
            if !ids.insert(state.id) {
                return Err(DescriptorError::StateIdTwice { name: state.name.clone(), id: state.id });
            }
            if state.id >= StateId::FIRST_RESERVED {
                return Err(DescriptorError::StateIdReserved { name: state.name.clone(), id: state.id });
            }
            if !self.keyed {
                return Err(DescriptorError::StateWithoutKey { name: state.name.clone() });
            }
        }
        if self.timers && !self.keyed {
            return Err(DescriptorError::TimersWithoutKey);
        }
        Ok(())
    }

    /// All that is kept for it by key: its states, and those that hold its timers.
    #[must_use]
    pub fn kept_states(&self) -> Vec<StateDescriptor> {
        let mut states = self.states.clone();
        if self.timers {
            states.extend(TimerClock::ALL.map(TimerClock::state));
        }
        states
    }

    /// The state with the id `id`.
    #[must_use]
    pub fn state(&self, id: StateId) -> Option<&StateDescriptor> {
        self.states.iter().find(|state| state.id == id)
    }

    /// The input with the id `id`.
    #[must_use]
    pub fn input(&self, id: InputId) -> Option<&PortDescriptor> {
        self.inputs.get(usize::from(id.0))
    }

    /// The output with the id `id`.
    #[must_use]
    pub fn output(&self, id: OutputId) -> Option<&PortDescriptor> {
        self.outputs.get(usize::from(id.0))
    }

    /// The output called `name`.
    #[must_use]
    pub fn output_named(&self, name: &str) -> Option<OutputId> {
        self.outputs.iter().find(|port| port.name == name).map(|port| OutputId(port.id))
    }

    /// The metric with the id `id`.
    #[must_use]
    pub fn metric(&self, id: MetricId) -> Option<&MetricDescriptor> {
        self.metrics.get(usize::from(id.0))
    }
}

fn check_count(what: &'static str, count: usize, most: usize) -> Result<(), DescriptorError> {
    if count > most {
        return Err(DescriptorError::TooMany { what, count, most });
    }
    Ok(())
}

fn check_names<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), DescriptorError> {
    let mut seen = BTreeSet::new();
    for name in names {
        let broken =
            |why| DescriptorError::Name { what, name: name.chars().take(Descriptor::MAX_NAME_BYTES).collect(), why };
        if name.is_empty() {
            return Err(broken("a name is not empty"));
        }
        if name.len() > Descriptor::MAX_NAME_BYTES {
            return Err(broken("a name has at most 64 bytes"));
        }
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            return Err(broken("a name is made of letters, digits, `_` and `-`"));
        }
        if !seen.insert(name) {
            return Err(broken("a name stands once"));
        }
    }
    Ok(())
}

fn check_ports(what: &'static str, ports: &[PortDescriptor]) -> Result<(), DescriptorError> {
    check_count(if what == "input" { "inputs" } else { "outputs" }, ports.len(), Descriptor::MAX_PORTS)?;
    check_names(what, ports.iter().map(|port| port.name.as_str()))?;
    for (index, port) in ports.iter().enumerate() {
        if usize::from(port.id) != index {
            return Err(DescriptorError::PortId { what, index, id: port.id });
        }
        check_count("fields of one port", port.fields.len(), Descriptor::MAX_FIELDS)?;
        check_names("field", port.fields.iter().map(|field| field.name.as_str()))?;
        for field in &port.fields {
            pointer_steps(&field.path).map_err(|why| DescriptorError::Path {
                what,
                name: field.name.clone(),
                path: field.path.clone(),
                why,
            })?;
        }
    }
    Ok(())
}
