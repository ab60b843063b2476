//! `tidegate explain`: the page of an error code, which is built into the binary.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::args::OutputFormat;
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::report::CliError;

/// Code and page, by rising code.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/error_pages.rs"));

/// `tidegate explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code that a message begins with: `E0403`. All codes are listed unless one is given.
    code: Option<String>,
}

/// Prints the page of a code, or what there is.
pub(crate) fn run(args: &Explain, output: OutputFormat) -> Result<ExitCode, CliError> {
    let Some(wanted) = &args.code else { return list(output) };
    let (code, page) = page_of(wanted).ok_or_else(|| {
        CliError::usage(format!("no error has the code `{wanted}`")).with_help("`tidegate explain` lists the codes")
    })?;
    match output {
        OutputFormat::Human => print(page.as_bytes()),
        OutputFormat::Json => {
            print(json_line(&json!({ "code": code, "title": title(code, page), "page": page }))?.as_bytes())
        }
    }
}

fn list(output: OutputFormat) -> Result<ExitCode, CliError> {
    match output {
        OutputFormat::Human => {
            let lines = PAGES.iter().fold(String::new(), |mut lines, (code, page)| {
                let _infallible = writeln!(lines, "{code}  {}", title(code, page));
                lines
            });
            print(lines.as_bytes())
        }
        OutputFormat::Json => {
            let codes = PAGES.iter().map(|(code, page)| json!({ "code": code, "title": title(code, page) }));
            print(json_line(&json!({ "errors": codes.collect::<Vec<_>>() }))?.as_bytes())
        }
    }
}

/// The page of a code as a person types it: `E0403`, `e0403`, `0403` or `403`.
fn page_of(wanted: &str) -> Option<(&'static str, &'static str)> {
    let digits = wanted.strip_prefix(['E', 'e']).unwrap_or(wanted);
    let code = format!("E{digits:0>4}");
    PAGES.iter().find(|(known, _)| *known == code).copied()
}

/// What a page is called.
fn title<'a>(code: &str, page: &'a str) -> &'a str {
    let line = page.lines().next().unwrap_or_default();
    line.trim_start_matches(['#', ' ']).trim_start_matches(code).trim_start()
}

#[cfg(test)]
mod tests;
