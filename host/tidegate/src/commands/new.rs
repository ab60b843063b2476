//! `tidegate new`: a function crate to start from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use toolchain::{SdkSource, Template};

use crate::args::{New, OutputFormat};
use crate::commands::run::json_line;
use crate::commands::texts::print;
use crate::report::CliError;

/// The SDK beside the sources this binary was built from; gone where the binary was installed.
const SDK_BESIDE_SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-sdk");

/// Writes the crate.
pub(crate) fn run(args: &New, output: OutputFormat) -> Result<ExitCode, CliError> {
    let template = Template::from_str(&args.template)?;
    let folder = toolchain::new_crate(Path::new("."), &args.name, template, &sdk_source(args.sdk.as_deref())?)?;
    match output {
        OutputFormat::Human => {
            let compare = match template {
                Template::Dedup => {
                    "  tidegate test --key /id --event-time /at:ms --input input.jsonl --expect expected.jsonl    # whatever the batches\n"
                }
                Template::Map | Template::Window => "",
            };
            let text = format!(
                "made `{0}` from the template `{template}`\n\nnext:\n  cd {0}\n  cargo test               # the function alone, natively\n  \
                 tidegate run job.yaml    # builds it and runs it over input.jsonl\n{compare}",
                folder.display(),
            );
            print(text.as_bytes())
        }
        OutputFormat::Json => {
            let document = serde_json::json!({ "folder": folder, "template": template.name() });
            print(json_line(&document)?.as_bytes())
        }
    }
}

fn sdk_source(given: Option<&Path>) -> Result<SdkSource, CliError> {
    if let Some(folder) = given {
        if !folder.join("Cargo.toml").is_file() {
            return Err(CliError::usage(format!("--sdk `{}`: no Cargo.toml there", folder.display()))
                .with_help("name the folder of the crate `tidegate-guest`"));
        }
        return Ok(SdkSource::Path(folder.to_owned()));
    }
    let beside = PathBuf::from(SDK_BESIDE_SOURCES);
    Ok(match beside.canonicalize() {
        Ok(folder) => SdkSource::Path(folder),
        Err(_) => SdkSource::Version(env!("CARGO_PKG_VERSION").to_owned()),
    })
}
