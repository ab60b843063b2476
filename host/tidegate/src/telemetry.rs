//! Log lines on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::args::Global;
use crate::report::CliError;

/// Starts logging as the options say. Called once.
///
/// # Errors
/// When the filter cannot be read.
pub(crate) fn start(global: &Global) -> Result<(), CliError> {
    let filter = EnvFilter::try_new(&global.log).map_err(|error| {
        CliError::usage(format!("--log `{}`: {error}", global.log))
            .with_help("write a level (`warn`, `info`, `debug`) or `target=level` pairs separated by commas")
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    if global.log_json {
        builder.json().init();
    } else {
        builder.with_target(false).init();
    }
    Ok(())
}
