//! What can go wrong between a crate and a component.

use std::io;
use std::path::PathBuf;

/// Why there is no component.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No compiler on this machine can build for the target. `steps` says what would change that.
    #[error("no compiler for wasm32-unknown-unknown: {found}\n{steps}")]
    NoToolchain {
        /// What was looked at, and what was missing.
        found: String,
        /// What to do, one line each.
        steps: String,
    },
    /// The variable that chooses a way by hand has a value that names none.
    #[error("{}=`{found}`: expected `shipped` or `source`", crate::detect::PREFERENCE_VARIABLE)]
    NoSuchPreference {
        /// Its value.
        found: String,
    },
    /// The path names no crate that cargo can read.
    #[error("`{path}` is not a crate: {reason}")]
    NotACrate {
        /// What was asked for.
        path: PathBuf,
        /// What cargo or the file system said.
        reason: String,
    },
    /// The path names a workspace in which more than one package could be meant.
    #[error(
        "`{path}` is a workspace with several packages: {}; name one of them, or give the path of its folder",
        list(packages)
    )]
    SeveralPackages {
        /// What was asked for.
        path: PathBuf,
        /// Those it could be.
        packages: Vec<String>,
    },
    /// The workspace has no package of that name.
    #[error("`{path}` has no package `{package}`; it has {}", list(packages))]
    NoSuchPackage {
        /// What was asked for.
        path: PathBuf,
        /// The name asked for.
        package: String,
        /// Those there are.
        packages: Vec<String>,
    },
    /// The package is a crate, but makes no module.
    #[error(
        "package `{package}` makes no module: its library has the crate types {}, expected `cdylib`; add to its Cargo.toml: [lib] crate-type = [\"cdylib\", \"rlib\"]",
        list(found)
    )]
    NoCdylib {
        /// The package.
        package: String,
        /// The crate types of its library; `none` where it has no library.
        found: Vec<String>,
    },
    /// The compiler refused the crate. `diagnostics` is empty where they were printed as they came.
    #[error("package `{package}` does not compile for wasm32-unknown-unknown{}{diagnostics}", if diagnostics.is_empty() { "" } else { "\n" })]
    CompileFailed {
        /// The package.
        package: String,
        /// What the compiler said.
        diagnostics: String,
    },
    /// The module provides no function: it says nothing of a world, or only what it imports.
    #[error(
        "the module of `{module}` provides no function: expected one of the world `{}`; depend on `tidegate-guest` and write the function with `#[tidegate::function]`",
        crate::component::WORLD
    )]
    NoWorld {
        /// The package or file.
        module: String,
    },
    /// The module was made for another world.
    #[error(
        "the module of `{module}` provides `{found}`, expected the world `{}`; build it with the `tidegate-guest` that belongs to this tidegate",
        crate::component::WORLD
    )]
    ForeignWorld {
        /// The package or file.
        module: String,
        /// What it provides instead.
        found: String,
    },
    /// The module cannot be made a component: it imports or lacks something.
    #[error("the module of `{module}` cannot be made a component: {reason}")]
    NotComponentizable {
        /// The package or file.
        module: String,
        /// What the encoder found.
        reason: String,
    },
    /// A program cannot be started.
    #[error("run `{program}`: {source}")]
    CannotRun {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A file or folder cannot be read or written.
    #[error("{action} `{path}`: {source}")]
    File {
        /// What was tried: `read`, `write`, `create`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A new crate cannot have this name.
    #[error("`{name}` cannot be the name of a crate: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The folder of the new crate exists and holds something.
    #[error("`{path}` exists and is not empty; choose another name or remove it")]
    FolderTaken {
        /// The folder.
        path: PathBuf,
    },
    /// No template has this name.
    #[error("no template `{name}`; there are dedup, map{}", nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    NoSuchTemplate {
        /// The name.
        name: String,
        /// The nearest that exists.
        nearest: Option<&'static str>,
    },
    /// The template needs something that does not exist yet.
    #[error("the template `{name}` is not available yet: {needs}; there are dedup, map")]
    TemplateNotAvailable {
        /// The name.
        name: &'static str,
        /// What it needs.
        needs: &'static str,
    },
}

impl Error {
    /// The code of its page `docs/errors/E####.md`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoToolchain { .. } | Self::NoSuchPreference { .. } => "E0250",
            Self::NotACrate { .. } => "E0251",
            Self::SeveralPackages { .. } | Self::NoSuchPackage { .. } => "E0252",
            Self::NoCdylib { .. } => "E0253",
            Self::CompileFailed { .. } => "E0254",
            Self::NoWorld { .. } => "E0255",
            Self::ForeignWorld { .. } => "E0256",
            Self::NotComponentizable { .. } => "E0257",
            Self::CannotRun { .. } => "E0258",
            Self::File { .. } => "E0259",
            Self::BadName { .. } | Self::FolderTaken { .. } => "E0260",
            Self::NoSuchTemplate { .. } | Self::TemplateNotAvailable { .. } => "E0261",
        }
    }

    pub(crate) fn file(action: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { action, path, source }
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
