//! What a sink writes where the job file does not say it: what flows into it.
//!
//! # Words
//! - *carried*: the format of what leaves an output: a source's own; JSON where a function declares its fields
//!   or their schema; else what the function reads, since that is what it forwards
//! - *certain*: carried whatever the function does; a function that declares nothing may also make values of
//!   its own, in any format

use std::collections::BTreeMap;

use crate::{Descriptor, OperatorUid};

use super::spec::{CsvSpec, FormatSpec, FunctionSpec, InputRef, JobSpec, SinkSpec};

impl JobSpec {
    /// The format of every sink: what the file says; else that of what flows into it where that is one format;
    /// else JSON. The dead letters are not among them: they are JSON.
    #[must_use]
    pub fn sink_formats(&self, descriptors: &BTreeMap<OperatorUid, Descriptor>) -> BTreeMap<OperatorUid, FormatSpec> {
        let mut flow = Flow::new(self, descriptors);
        self.sinks.iter().map(|sink| (sink.uid.clone(), flow.format_of(sink))).collect()
    }
}

/// What is carried where.
pub(super) struct Flow<'s> {
    spec: &'s JobSpec,
    descriptors: &'s BTreeMap<OperatorUid, Descriptor>,
    /// What the functions read that were looked at.
    read: BTreeMap<OperatorUid, FormatSpec>,
}

/// The format of what leaves an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) format: FormatSpec,
    pub(super) is_certain: bool,
    /// Whether the host encodes it, in the format that each sink asks for.
    pub(super) is_encoded: bool,
}

impl<'s> Flow<'s> {
    pub(super) fn new(spec: &'s JobSpec, descriptors: &'s BTreeMap<OperatorUid, Descriptor>) -> Self {
        Self { spec, descriptors, read: BTreeMap::new() }
    }

    /// The format of a sink.
    pub(super) fn format_of(&mut self, sink: &SinkSpec) -> FormatSpec {
        match &sink.format {
            Some(format) => format.clone(),
            None => self.common(&sink.from).map_or(FormatSpec::Json, as_written),
        }
    }

    /// What an input carries.
    pub(super) fn carried(&mut self, input: &InputRef) -> Carried {
        if let Some(source) = self.spec.sources.iter().find(|source| source.uid == input.from) {
            return Carried { format: source.format.clone(), is_certain: true, is_encoded: false };
        }
        let port = self.descriptors.get(&input.from).and_then(|it| it.output(input.resolve(it)?));
        match (port, self.spec.function(&input.from)) {
            (Some(port), _) if !port.fields.is_empty() => {
                Carried { format: FormatSpec::Json, is_certain: true, is_encoded: true }
            }
            (Some(port), _) if port.schema.is_some() => {
                Carried { format: FormatSpec::Json, is_certain: true, is_encoded: false }
            }
            (_, Some(function)) => Carried { format: self.read(function), is_certain: false, is_encoded: false },
            (_, None) => Carried { format: FormatSpec::Raw, is_certain: false, is_encoded: false },
        }
    }

    /// The one format that a function reads; raw where it reads several.
    fn read(&mut self, function: &FunctionSpec) -> FormatSpec {
        if let Some(format) = self.read.get(&function.uid) {
            return format.clone();
        }
        let inputs: Vec<InputRef> = function.inputs.iter().flat_map(|input| input.from.iter().cloned()).collect();
        let format = self.common(&inputs).unwrap_or(FormatSpec::Raw);
        self.read.insert(function.uid.clone(), format.clone());
        format
    }

    fn common(&mut self, inputs: &[InputRef]) -> Option<FormatSpec> {
        let mut formats = inputs.iter().map(|input| self.carried(input).format);
        let first = formats.next()?;
        formats.all(|format| format == first).then_some(first)
    }
}

/// What is read as a sink writes it: without a header line.
fn as_written(format: FormatSpec) -> FormatSpec {
    match format {
        FormatSpec::Csv(csv) => FormatSpec::Csv(CsvSpec { header: false, ..csv }),
        other => other,
    }
}

/// Whether values of `carried` cannot be what a sink of `wanted` writes. Raw values may be anything.
pub(super) fn differ(carried: &FormatSpec, wanted: &FormatSpec) -> bool {
    match (carried, wanted) {
        (FormatSpec::Raw, _) | (_, FormatSpec::Raw) | (FormatSpec::Json, FormatSpec::Json) => false,
        (FormatSpec::Csv(one), FormatSpec::Csv(other)) => {
            let both_named = !one.columns.is_empty() && !other.columns.is_empty();
            one.delimiter != other.delimiter || (both_named && one.columns != other.columns)
        }
        (FormatSpec::Json, FormatSpec::Csv(_)) | (FormatSpec::Csv(_), FormatSpec::Json) => true,
    }
}

/// A format as a message names it.
pub(super) fn name(format: &FormatSpec) -> String {
    match format {
        FormatSpec::Json => "`json`".to_owned(),
        FormatSpec::Raw => "`raw`".to_owned(),
        FormatSpec::Csv(csv) => {
            let delimiter = char::from(csv.delimiter).escape_default();
            let columns = if csv.columns.is_empty() {
                String::new()
            } else {
                format!(" and the columns `{}`", super::tree::shorten(&csv.columns.join(",")))
            };
            format!("`csv` with the delimiter `{delimiter}`{columns}")
        }
    }
}
