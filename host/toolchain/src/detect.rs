//! Which compiler builds guests on this machine.
//!
//! A compiler that ships a standard library for the target is used as it is. Without one, a compiler
//! that has the source of its own standard library will do, with a linker: Debian's `rustc-web` and
//! `rust-web-src` are such a pair, where nothing can be downloaded for the usual compiler.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::env::clean;

/// The target every guest is built for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Where Debian's packages put the compiler.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Chooses between the ways by hand: `shipped` or `source`.
pub const PREFERENCE_VARIABLE: &str = "TIDEGATE_WASM_STD";

/// A compiler on this machine, as far as the target is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// How to call it: `rustc`, or a path.
    pub program: PathBuf,
    /// `1.96.0`.
    pub version: String,
    /// The major version of its LLVM, where it says so: a linker of another may not read its objects.
    pub llvm: Option<u32>,
    /// Whether a standard library for the target came with it.
    pub has_std: bool,
    /// Whether the source of its standard library is there.
    pub has_source: bool,
}

/// What the decision rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The compilers found, the usual one first.
    pub compilers: Vec<Compiler>,
    /// A linker for the target, needed only where the standard library is built from source.
    pub linker: Option<PathBuf>,
    /// Whether the usual compiler is managed by rustup.
    pub rustup: bool,
    /// Whether this is a machine with Debian's package manager.
    pub apt: bool,
}

/// Which way to take where several are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// A shipped standard library before one from source.
    #[default]
    Any,
    /// Only a shipped one.
    Shipped,
    /// Only from source.
    Source,
}

impl Preference {
    fn from_environment() -> Result<Self, Error> {
        let found = std::env::var_os(PREFERENCE_VARIABLE);
        Self::parse(found.as_deref().map(OsStr::to_string_lossy).as_deref().unwrap_or_default())
    }

    /// The preference that is written so; nothing means either way.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "" => Ok(Self::Any),
            "shipped" => Ok(Self::Shipped),
            "source" => Ok(Self::Source),
            _ => Err(Error::NoSuchPreference { found: text.to_owned() }),
        }
    }
}

/// Where the standard library of a guest comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StandardLibrary {
    /// With the compiler.
    Shipped,
    /// Built by cargo, linked by `linker`.
    FromSource {
        /// The linker.
        linker: PathBuf,
    },
}

/// A way to build guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasmToolchain {
    /// How to call the compiler: `rustc`, or a path.
    pub rustc: PathBuf,
    /// Its version.
    pub version: String,
    /// Where the standard library comes from.
    pub standard_library: StandardLibrary,
}

impl fmt::Display for WasmToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rustc.display(), self.version)?;
        match &self.standard_library {
            StandardLibrary::Shipped => write!(f, ", standard library for {TARGET} as shipped"),
            StandardLibrary::FromSource { linker } => {
                write!(f, ", standard library for {TARGET} from source, linked by {}", linker.display())
            }
        }
    }
}

impl WasmToolchain {
    /// The way to build guests in the current folder.
    ///
    /// # Errors
    /// [`Error::NoToolchain`], which says what to install.
    pub fn detect() -> Result<Self, Error> {
        Self::detect_in(Path::new("."))
    }

    /// The way to build the guest in `folder`, whose tool-chain file, if it has one, is obeyed.
    ///
    /// # Errors
    /// [`Error::NoToolchain`], which says what to install.
    pub fn detect_in(folder: &Path) -> Result<Self, Error> {
        decide(&Facts::probe(folder), Preference::from_environment()?)
    }

    /// The arguments for `cargo build`, after the subcommand.
    #[must_use]
    pub fn cargo_arguments(&self) -> Vec<String> {
        let mut arguments = vec!["--target".to_owned(), TARGET.to_owned()];
        arguments.push("--config".to_owned());
        arguments.push(format!(r#"target.{TARGET}.rustflags=["-C","target-feature=+simd128,+bulk-memory"]"#));
        if let StandardLibrary::FromSource { linker } = &self.standard_library {
            arguments.push("--config".to_owned());
            arguments.push(format!("target.{TARGET}.linker={:?}", linker.display().to_string()));
            arguments.push("-Zbuild-std=std,panic_abort".to_owned());
        }
        arguments
    }

    /// Sets what cargo has to find in its environment; for a command made by [`crate::cargo`].
    pub fn apply_environment(&self, command: &mut Command) {
        if self.rustc != Path::new("rustc") {
            command.env("RUSTC", &self.rustc);
        }
        if matches!(self.standard_library, StandardLibrary::FromSource { .. }) {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
    }
}

/// Chooses a compiler, or says what is missing.
///
/// # Errors
/// [`Error::NoToolchain`] when no way is open.
pub fn decide(facts: &Facts, preference: Preference) -> Result<WasmToolchain, Error> {
    let way = |compiler: &Compiler, standard_library| WasmToolchain {
        rustc: compiler.program.clone(),
        version: compiler.version.clone(),
        standard_library,
    };
    if preference != Preference::Source
        && let Some(compiler) = facts.compilers.iter().find(|compiler| compiler.has_std)
    {
        return Ok(way(compiler, StandardLibrary::Shipped));
    }
    if preference != Preference::Shipped
        && let Some(linker) = &facts.linker
        && let Some(compiler) = facts.compilers.iter().find(|compiler| compiler.has_source)
    {
        return Ok(way(compiler, StandardLibrary::FromSource { linker: linker.clone() }));
    }
    Err(Error::NoToolchain { found: describe(facts, preference), steps: steps(facts) })
}

fn describe(facts: &Facts, preference: Preference) -> String {
    let mut parts: Vec<String> = facts
        .compilers
        .iter()
        .map(|compiler| {
            let has = |it: bool| if it { "with" } else { "without" };
            format!(
                "{} {} {} a standard library for it and {} the source of one",
                compiler.program.display(),
                compiler.version,
                has(compiler.has_std),
                has(compiler.has_source)
            )
        })
        .collect();
    if facts.compilers.is_empty() {
        parts.push("no rustc on the path".to_owned());
    }
    if facts.compilers.iter().any(|compiler| compiler.has_source) && facts.linker.is_none() {
        parts.push("no rust-lld or wasm-ld to link with".to_owned());
    }
    match preference {
        Preference::Any => {}
        Preference::Shipped => parts.push(format!("{PREFERENCE_VARIABLE}=shipped")),
        Preference::Source => parts.push(format!("{PREFERENCE_VARIABLE}=source")),
    }
    parts.join("; ")
}

/// What to do, one line each, the simplest first.
fn steps(facts: &Facts) -> String {
    let mut steps = Vec::new();
    if facts.rustup {
        steps.push(format!("run: rustup target add {TARGET}"));
    }
    let packages = facts.debian_packages();
    if facts.apt && !packages.is_empty() {
        steps.push(format!("run as root: apt-get install {}", packages.join(" ")));
    }
    if steps.is_empty() {
        steps.push(format!("install Rust with rustup, then run: rustup target add {TARGET}"));
    }
    format!("  {}", steps.join("\n  or "))
}

impl Facts {
    /// Debian's packages that are missing for a standard library from source.
    #[must_use]
    pub fn debian_packages(&self) -> Vec<String> {
        let Some(compiler) = self.compilers.iter().find(|compiler| compiler.has_source) else {
            // Which linker belongs to that compiler shows when it is there.
            return vec!["rustc-web".to_owned(), "rust-web-src".to_owned()];
        };
        match (&self.linker, compiler.llvm) {
            (Some(_), _) => Vec::new(),
            (None, Some(major)) => vec![format!("lld-{major}")],
            (None, None) => vec!["lld".to_owned()],
        }
    }

    /// Looks at this machine, as seen from `folder`.
    #[must_use]
    pub fn probe(folder: &Path) -> Self {
        let mut sysroots = Vec::new();
        let mut compilers = Vec::new();
        for program in ["rustc", DEBIAN_RUSTC] {
            if let Some((compiler, sysroot)) = probe_compiler(Path::new(program), folder)
                && !sysroots.contains(&sysroot)
            {
                compilers.push(compiler);
                sysroots.push(sysroot);
            }
        }
        let llvm = compilers.iter().find(|compiler| compiler.has_source).and_then(|compiler| compiler.llvm);
        Self {
            compilers,
            linker: find_linker(&sysroots, llvm),
            rustup: on_path("rustup").is_some(),
            apt: on_path("apt-get").is_some(),
        }
    }
}

fn probe_compiler(program: &Path, folder: &Path) -> Option<(Compiler, PathBuf)> {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(program);
        clean(&mut command);
        let output = command.args(arguments).current_dir(folder).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let said = ask(&["--version", "--verbose"])?;
    let field = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let version = field("release")?.to_owned();
    let llvm = field("LLVM version").and_then(|version| version.split('.').next()?.parse().ok());
    let printed = ask(&["--target", TARGET, "--print", "sysroot", "--print", "target-libdir"])?;
    let mut lines = printed.lines();
    let sysroot = PathBuf::from(lines.next()?);
    let libraries = PathBuf::from(lines.next()?);
    let has_std = fs::read_dir(libraries)
        .map(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-")))
        .unwrap_or(false);
    let has_source = sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml").is_file();
    Some((Compiler { program: program.to_path_buf(), version, llvm, has_std, has_source }, sysroot))
}

/// The `rust-lld` that came with a compiler, or one of the names that Debian and LLVM use: that of the
/// compiler's own LLVM first, since an older one may not read what the compiler writes.
fn find_linker(sysroots: &[PathBuf], llvm: Option<u32>) -> Option<PathBuf> {
    let bundled = sysroots.iter().flat_map(|sysroot| {
        let hosts = fs::read_dir(sysroot.join("lib/rustlib")).into_iter().flatten().flatten();
        hosts.map(|host| host.path().join("bin/rust-lld"))
    });
    // `is_file` follows links: Debian may leave a `rust-lld` that points to a package not installed.
    bundled.into_iter().find(|path| path.is_file()).or_else(|| {
        let own = llvm.map(|major| format!("wasm-ld-{major}"));
        let newer = (llvm.unwrap_or(14)..40).rev().map(|major| format!("wasm-ld-{major}"));
        let names = own.into_iter().chain(newer).chain(["rust-lld".to_owned(), "wasm-ld".to_owned()]);
        names.into_iter().find_map(|name| on_path(&name))
    })
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}
