//! Running other programs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// What a person may set for the builds of this workspace, and keeps.
const KEPT: [&str; 3] = ["CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "RUSTFLAGS"];

/// The root of the workspace.
pub(crate) fn root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("find the current folder")?;
    // cargo sets the folder of this crate when it runs it; a binary called by hand looks around itself.
    let start = std::env::var_os("CARGO_MANIFEST_DIR").map_or(here, PathBuf::from);
    let root = start.ancestors().find(|folder| folder.join("wit/flow.wit").is_file());
    root.map(Path::to_path_buf).with_context(|| format!("find the workspace above `{}`", start.display()))
}

/// A cargo at `folder`, that does not know it is called from one.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = toolchain::cargo();
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Shows a command as it would be typed.
pub(crate) fn typed(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command, its output passed through.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", typed(command));
    let status = command.status().with_context(|| format!("run `{}`", typed(command)))?;
    ensure!(status.success(), "`{}` ended with {status}", typed(command));
    Ok(())
}

/// Runs a command and gives each line of its standard output to `see`, after printing it. Returns
/// whether it ended well.
pub(crate) fn run_seeing(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    println!("$ {}", typed(command));
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("run `{}`", typed(command)))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.with_context(|| format!("read the output of `{}`", typed(command)))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            see(&line);
        }
    }
    Ok(child.wait().with_context(|| format!("wait for `{}`", typed(command)))?.success())
}

/// Runs a command and returns its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    println!("$ {}", typed(command));
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("run `{}`", typed(command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}\n{}", typed(command), output.status, String::from_utf8_lossy(&output.stdout));
    }
    String::from_utf8(output.stdout).with_context(|| format!("read the output of `{}`", typed(command)))
}

/// Where cargo puts what it builds for the workspace at `folder`.
pub(crate) fn target_directory(folder: &Path) -> Result<PathBuf> {
    let output = cargo(folder)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("run `cargo metadata`")?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("read `cargo metadata`")?;
    let directory = metadata.get("target_directory").and_then(serde_json::Value::as_str);
    Ok(PathBuf::from(directory.context("find `target_directory` in what `cargo metadata` said")?))
}

/// Whether a program is on the path.
pub(crate) fn has(program: impl AsRef<OsStr>) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program.as_ref()).is_file())
}
