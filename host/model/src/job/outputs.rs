//! What can be checked only when it is known what the functions are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Descriptor, OperatorUid, PortDescriptor, Ttl, TtlClock};

use super::check::{list, nearest};
use super::codes;
use super::formats::{Flow, differ, name};
use super::problem::{JobFileErrors, Problems};
use super::spec::{FunctionSpec, InputRef, JobSpec, SinkSpec};
use super::tree::shorten;

impl JobSpec {
    /// Checks the job against what its functions say of themselves: outputs and inputs by name, and
    /// keys where they are needed and only there. Functions without a descriptor are passed over.
    ///
    /// # Errors
    /// Everything that does not fit.
    pub fn check_outputs(&self, descriptors: &BTreeMap<OperatorUid, Descriptor>) -> Result<(), JobFileErrors> {
        let mut fit = Fit { spec: self, descriptors, problems: Problems::new(Arc::clone(self.places.text())) };
        for function in &self.functions {
            for input in &function.inputs {
                let path = match &input.name {
                    None => format!("functions.{}.input", function.uid),
                    Some(name) => format!("functions.{}.inputs.{}", function.uid, shorten(name)),
                };
                fit.check_refs(&path, &input.from);
            }
            if let Some(descriptor) = descriptors.get(&function.uid) {
                fit.check_key(function, descriptor);
                fit.check_key_groups(function, descriptor);
                fit.check_inputs(function, descriptor);
                fit.check_event_time(function, descriptor);
            }
        }
        let mut flow = Flow::new(self, descriptors);
        for sink in &self.sinks {
            fit.check_refs(&format!("sinks.{}.input", sink.uid), &sink.from);
            fit.check_format(sink, &mut flow);
        }
        if fit.problems.is_empty() { Ok(()) } else { Err(fit.problems.into_errors(self.file_name())) }
    }
}

struct Fit<'s> {
    spec: &'s JobSpec,
    descriptors: &'s BTreeMap<OperatorUid, Descriptor>,
    problems: Problems,
}

impl Fit<'_> {
    fn add(&mut self, code: &'static str, path: &str, message: String, help: Option<String>) {
        let (path, span) = self.spec.places.find(path);
        self.problems.add_with_help(code, &path, span, message, help);
    }

    fn check_refs(&mut self, path: &str, refs: &[InputRef]) {
        let mut seen = BTreeSet::new();
        for (index, input) in refs.iter().enumerate() {
            let Some(descriptor) = self.descriptors.get(&input.from) else { continue };
            if let Some(output) = input.resolve(descriptor) {
                if !seen.insert((&input.from, output)) {
                    self.refuse_twice(&format!("{path}[{index}]"), input, descriptor);
                }
                continue;
            }
            let (message, help) = match &input.output {
                None => (format!("function `{}` has no outputs", input.from), None),
                Some(name) => {
                    let message = format!("function `{}` has no output `{}`", input.from, shorten(name));
                    (message, help_with_ports(name, &descriptor.outputs, "its outputs"))
                }
            };
            self.add(codes::UNKNOWN_OUTPUT, &format!("{path}[{index}]"), message, help);
        }
    }

    /// What is sure to flow into a sink must be what the sink writes.
    fn check_format(&mut self, sink: &SinkSpec, flow: &mut Flow<'_>) {
        let wanted = flow.format_of(sink);
        for (index, input) in sink.from.iter().enumerate() {
            let carried = flow.carried(input);
            if !carried.is_certain || carried.is_encoded || !differ(&carried.format, &wanted) {
                continue;
            }
            let from = match &input.output {
                None => input.from.to_string(),
                Some(output) => format!("{}.{}", input.from, shorten(output)),
            };
            let message = format!(
                "records of `{from}` are {}, and the sink writes {}: a sink does not convert what it is given",
                name(&carried.format),
                name(&wanted)
            );
            let (path, help) = match &sink.format {
                Some(_) => (format!("sinks.{}.format", sink.uid), "remove `format`, or give the source's"),
                None => (format!("sinks.{}.input[{index}]", sink.uid), "give each format a sink of its own"),
            };
            self.add(codes::FORMAT_MISMATCH, &path, message, Some(help.to_owned()));
        }
    }

    /// `dedup` and `dedup.out` are one output where `out` is the first.
    fn refuse_twice(&mut self, path: &str, input: &InputRef, descriptor: &Descriptor) {
        let from = &input.from;
        let first = descriptor.outputs.first().map_or("", |port| port.name.as_str());
        let message =
            format!("`{from}` and `{from}.{first}` are one output and stand together: its records would be read twice");
        self.add(codes::NAME_TWICE, path, message, Some("remove one of them".to_owned()));
    }

    /// Each subtask of a keyed function owns at least one key group; others have no need of any.
    fn check_key_groups(&mut self, function: &FunctionSpec, descriptor: &Descriptor) {
        let (uid, groups, parallelism) = (&function.uid, self.spec.key_groups, function.parallelism);
        if !descriptor.keyed || parallelism.0 <= u32::from(groups) {
            return;
        }
        let own = format!("functions.{uid}.parallelism");
        let path = if self.spec.places.find(&own).0 == own { own } else { "parallelism".to_owned() };
        let message = format!(
            "function `{uid}` keeps state by key: expected a parallelism of at most `key_groups` ({groups}), because each subtask owns at least one: found {parallelism}"
        );
        let help = "lower the `parallelism`, or raise `key_groups` before the first start".to_owned();
        self.add(codes::OUT_OF_RANGE, &path, message, Some(help));
    }

    fn check_key(&mut self, function: &FunctionSpec, descriptor: &Descriptor) {
        let uid = &function.uid;
        let wants_key = descriptor.keyed && !descriptor.assigns;
        match &function.key {
            None if wants_key => {
                let message = format!("function `{uid}` keeps state by key, and no `key` is given");
                let help = "add `key: /path/of/a/field`, `key: $key` or `key: $value`".to_owned();
                self.add(codes::KEY_MISMATCH, &format!("functions.{uid}"), message, Some(help));
            }
            Some(_) if !wants_key => {
                let why = if descriptor.assigns { "gives its keys itself" } else { "has no use for a key" };
                let message = format!("function `{uid}` {why}, and a `key` is given");
                let help = Some("remove `key`".to_owned());
                self.add(codes::KEY_MISMATCH, &format!("functions.{uid}.key"), message, help);
            }
            _ => {}
        }
    }

    /// State that expires by event time needs records that have one: every record of a source without is bad.
    fn check_event_time(&mut self, function: &FunctionSpec, descriptor: &Descriptor) {
        let by_event_time = |ttl: Ttl| ttl.clock == TtlClock::EventTime;
        let mut mortal = descriptor.states.iter().filter(|state| state.ttl.is_some_and(by_event_time));
        let Some(state) = mortal.next().filter(|_| !descriptor.assigns) else { return };
        let inputs = function.inputs.iter().flat_map(|input| &input.from);
        let mut sources = inputs.filter_map(|input| self.spec.sources.iter().find(|source| source.uid == input.from));
        let Some(source) = sources.find(|source| source.event_time.is_none()) else { return };
        let message = format!(
            "state `{}` of function `{}` expires by event time, and the source has no `event_time`",
            state.name, function.uid
        );
        let help = Some("say where the time stands: `event_time: { field: /ts, unit: ms }`".to_owned());
        self.add(codes::MISSING, &format!("sources.{}", source.uid), message, help);
    }

    fn check_inputs(&mut self, function: &FunctionSpec, descriptor: &Descriptor) {
        let uid = &function.uid;
        let is_named = function.inputs.iter().any(|input| input.name.is_some());
        if !is_named && descriptor.inputs.len() > 1 {
            let names = list(descriptor.inputs.iter().map(|port| &port.name));
            let message = format!("function `{uid}` has several inputs: {names}");
            let help = Some("say which is which: `inputs: { NAME: … }`".to_owned());
            self.add(codes::INPUT_MISMATCH, &format!("functions.{uid}.input"), message, help);
            return;
        }
        for input in &function.inputs {
            if let (Some(name), None) = (&input.name, input.resolve(descriptor)) {
                let message = format!("function `{uid}` has no input `{}`", shorten(name));
                let help = help_with_ports(name, &descriptor.inputs, "its inputs");
                self.add(codes::INPUT_MISMATCH, &format!("functions.{uid}.inputs.{}", shorten(name)), message, help);
            }
        }
        for port in &descriptor.inputs {
            if is_named && !function.inputs.iter().any(|input| input.name.as_ref() == Some(&port.name)) {
                let message = format!("input `{}` of function `{uid}` is not connected", port.name);
                self.add(codes::INPUT_MISMATCH, &format!("functions.{uid}.inputs"), message, None);
            }
        }
    }
}

fn help_with_ports(name: &str, ports: &[PortDescriptor], what: &str) -> Option<String> {
    let names = || ports.iter().map(|port| port.name.as_str());
    match nearest(name, names()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if ports.is_empty() => None,
        None => Some(format!("{what}: {}", list(names()))),
    }
}
