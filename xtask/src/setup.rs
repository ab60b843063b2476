//! What a machine needs beyond cargo: a compiler for `wasm32-unknown-unknown`.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use toolchain::{Facts, TARGET, WasmToolchain};

use crate::shell::{has, root, run};
use crate::stages::{Outcome, Stages};

/// How long a download by rustup may take before the next way is tried, seconds. The component is
/// about 25 MB.
const RUSTUP_LIMIT_SECONDS: &str = "300";

/// `cargo xtask setup`.
pub(crate) fn command() -> Result<()> {
    let mut stages = Stages::default();
    stages.run("setup", stage);
    stages.finish("setup")
}

/// Makes sure that guests can be built; says which way.
pub(crate) fn stage() -> Result<Outcome> {
    let folder = root()?;
    let before = match WasmToolchain::detect_in(&folder) {
        Ok(found) => return Ok(Outcome::Done(format!("nothing to install: {found}"))),
        Err(missing) => missing,
    };
    println!("{before}");
    let facts = Facts::probe(&folder);
    let mut tried = Vec::new();
    for way in [install_with_rustup, install_with_apt] {
        if let Err(error) = way(&facts) {
            tried.push(format!("{error:#}"));
            continue;
        }
        match WasmToolchain::detect_in(&folder) {
            Ok(found) => return Ok(Outcome::Done(format!("installed: {found}"))),
            Err(still) => tried.push(still.to_string()),
        }
    }
    bail!("no compiler for {TARGET} could be installed ({}); {before}", tried.join("; "));
}

fn install_with_rustup(facts: &Facts) -> Result<()> {
    if !facts.rustup {
        bail!("no rustup");
    }
    println!("installing the standard library for {TARGET} with rustup");
    // A network that swallows connections must not hold the setup for ever.
    let mut command = if has("timeout") {
        let mut limited = Command::new("timeout");
        limited.args([RUSTUP_LIMIT_SECONDS, "rustup"]);
        limited
    } else {
        Command::new("rustup")
    };
    command.args(["target", "add", TARGET]).current_dir(root()?).stdin(Stdio::null());
    run(&mut command).context("install it with rustup")
}

fn install_with_apt(facts: &Facts) -> Result<()> {
    if !facts.apt {
        bail!("no apt-get");
    }
    let packages = facts.debian_packages();
    if !is_root() {
        bail!("not root: run `apt-get install {}` as root", packages.join(" "));
    }
    println!("installing {} with apt-get", packages.join(", "));
    apt_install(&packages).context("install Debian's compiler for the target")?;
    // Only now it is known which linker reads what that compiler writes.
    let linker = Facts::probe(&root()?).debian_packages();
    if linker.is_empty() {
        return Ok(());
    }
    apt_install(&linker).context("install its linker")
}

/// Installs Debian's packages; only root can.
pub(crate) fn apt_install(packages: &[impl AsRef<OsStr>]) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command
    };
    run(&mut apt(&["update", "--quiet"])).context("read the package lists")?;
    run(apt(&["install", "--yes", "--quiet", "--no-install-recommends"]).args(packages))
}

pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
