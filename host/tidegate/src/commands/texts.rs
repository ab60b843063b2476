//! `tidegate schema`, `completions` and `man`: texts made from the code.

use std::io::{BufWriter, StdoutLock, Write};
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
    let mut out = Out::new();
    out.bytes(text)?;
    out.finish()
}

/// Standard output, written piece by piece. A reader that went away is no failure: what comes then goes nowhere.
pub(crate) struct Out {
    out: BufWriter<StdoutLock<'static>>,
    is_closed: bool,
}

impl Out {
    pub(crate) fn new() -> Self {
        Self { out: BufWriter::new(std::io::stdout().lock()), is_closed: false }
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<(), CliError> {
        self.bytes(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        if self.is_closed {
            return Ok(());
        }
        let written = self.out.write_all(bytes);
        self.noted(written)
    }

    /// Whether the reader went away.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Writes what is held back.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn finish(mut self) -> Result<ExitCode, CliError> {
        if !self.is_closed {
            let flushed = self.out.flush();
            self.noted(flushed)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn noted(&mut self, written: std::io::Result<()>) -> Result<(), CliError> {
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => self.is_closed = true,
            Err(error) => return Err(CliError::failed(format!("write standard output: {error}"))),
            Ok(()) => {}
        }
        Ok(())
    }
}
