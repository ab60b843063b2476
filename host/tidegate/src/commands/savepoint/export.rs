//! `tidegate savepoint export`: the entries of a savepoint as JSON lines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use checkpoint::savepoint::{Operator, Reader};
use clap::Args;
use contract::StateEntry;
use model::{OperatorUid, StateKind, TimerClock, timer_time};
use serde_json::json;

use crate::commands::texts::Out;
use crate::figures::time_text;
use crate::report::CliError;
use crate::savepoints::{bytes_shown, entry_key_shown, value_shown};

/// `tidegate savepoint export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The savepoint.
    pub(super) folder: PathBuf,
    /// Only what this operator keeps.
    #[arg(long, value_name = "UID")]
    operator: Option<String>,
    /// Only the state of this name.
    #[arg(long, value_name = "NAME")]
    state: Option<String>,
}

/// Writes the entries to standard output.
pub(super) fn run(args: &Export) -> Result<ExitCode, CliError> {
    let reader = Reader::open(&args.folder).map_err(contract::Error::from)?;
    let operators = &reader.metadata().operators;
    if let Some(wanted) = &args.operator
        && !operators.keys().any(|uid| uid.as_str() == wanted)
    {
        let names: Vec<&str> = operators.keys().map(OperatorUid::as_str).collect();
        return Err(CliError::usage(format!("--operator {wanted}: the savepoint has no such operator"))
            .with_help(format!("its operators: {}", names.join(", "))));
    }
    check_state(args, operators)?;
    let mut out = Out::new();
    for (uid, operator) in operators {
        if args.operator.as_ref().is_some_and(|wanted| uid.as_str() != wanted) {
            continue;
        }
        let mut entries = reader.entries(uid).map_err(contract::Error::from)?;
        while let Some(entry) = entries.next_entry().map_err(contract::Error::from)? {
            let Some(line) = line(args, uid, operator, &entry) else { continue };
            out.text(&format!("{line}\n"))?;
            if out.is_closed() {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    out.finish()
}

/// Refuses a state that none of the operators has.
fn check_state(args: &Export, operators: &BTreeMap<OperatorUid, Operator>) -> Result<(), CliError> {
    let Some(wanted) = &args.state else { return Ok(()) };
    let is_asked = |uid: &OperatorUid| args.operator.as_ref().is_none_or(|asked| uid.as_str() == asked);
    let asked = operators.iter().filter(|(uid, _)| is_asked(uid));
    let names: Vec<&str> = asked.flat_map(|(_, it)| &it.states).map(|state| state.name.as_str()).collect();
    if names.contains(&wanted.as_str()) {
        return Ok(());
    }
    Err(CliError::usage(format!("--state {wanted}: the savepoint has no such state"))
        .with_help(format!("its states: {}", names.join(", "))))
}

fn line(args: &Export, uid: &OperatorUid, operator: &Operator, entry: &StateEntry<'_>) -> Option<String> {
    let described = operator.states.iter().find(|state| state.id == entry.state);
    let name = described.map(|state| state.name.as_str()).unwrap_or_default();
    if args.state.as_ref().is_some_and(|wanted| wanted != name) {
        return None;
    }
    let timer = TimerClock::of_state(entry.state).and(entry.entry_key).and_then(timer_time);
    let (kind, schema) = described.map_or((StateKind::Value, ""), |state| (state.kind, state.schema.as_str()));
    let mut document = json!({
        "operator": uid,
        "state": name,
        "key": bytes_shown(entry.key),
        "entry_key": entry.entry_key.map(|key| entry_key_shown(kind, schema, key)),
        "value": value_shown(entry.value),
        "written": time_text(entry.written_millis),
    });
    if let (Some(at), Some(document)) = (timer, document.as_object_mut()) {
        document.insert("at".to_owned(), json!(time_text(at)));
    }
    Some(document.to_string())
}
