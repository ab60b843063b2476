//! `tidegate schema`, `completions` and `man`: texts made from the code.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::Cli;
use crate::report::CliError;

/// Prints the JSON Schema of the job file.
pub(crate) fn schema() -> Result<ExitCode, CliError> {
    print(format!("{}\n", model::job::JobSpec::json_schema()).as_bytes())
}

/// Prints shell completions.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<ExitCode, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut text);
    print(&text)
}

/// Prints the manual page.
pub(crate) fn man() -> Result<ExitCode, CliError> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut text)
        .map_err(|error| CliError::failed(format!("write the manual page: {error}")))?;
    print(&text)
}

/// Writes to standard output; a reader that went away is no failure.
pub(crate) fn print(text: &[u8]) -> Result<ExitCode, CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(CliError::failed(format!("write standard output: {error}"))),
    }
}
