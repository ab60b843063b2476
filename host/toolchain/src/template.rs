//! New function crates: what `tidegate new` writes.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;

/// What a new crate begins as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Template {
    /// Lets the first record of each key through.
    #[default]
    Dedup,
    /// Counts in windows of event time.
    Window,
    /// Changes each record on its own.
    Map,
}

impl Template {
    /// Every template.
    pub const ALL: [Self; 3] = [Self::Dedup, Self::Window, Self::Map];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dedup => "dedup",
            Self::Window => "window",
            Self::Map => "map",
        }
    }

    /// The source, the input, what comes out, and the job of the template.
    fn files(self) -> Result<&'static [(&'static str, &'static str)], Error> {
        match self {
            Self::Dedup => Ok(&[
                ("src/lib.rs", include_str!("templates/dedup.rs.txt")),
                ("input.jsonl", include_str!("templates/dedup.jsonl")),
                ("expected.jsonl", include_str!("templates/dedup.expected.jsonl")),
                ("job.yaml", include_str!("templates/dedup.yaml")),
            ]),
            Self::Map => Ok(&[
                ("src/lib.rs", include_str!("templates/map.rs.txt")),
                ("input.jsonl", include_str!("templates/map.jsonl")),
                ("job.yaml", include_str!("templates/map.yaml")),
            ]),
            Self::Window => {
                Err(Error::TemplateNotAvailable { name: self.name(), needs: "functions have no windows and timers" })
            }
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Template {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|template| template.name() == text)
            .ok_or_else(|| Error::NoSuchTemplate { name: text.to_owned(), nearest: nearest(text) })
    }
}

/// The template that begins like `text`.
fn nearest(text: &str) -> Option<&'static str> {
    let first = text.chars().next()?.to_ascii_lowercase();
    Template::ALL.into_iter().map(Template::name).find(|name| name.starts_with(first))
}

/// Where the new crate gets `tidegate-guest` from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdkSource {
    /// A version from the registry.
    Version(String),
    /// A folder; made absolute.
    Path(PathBuf),
    /// A git repository, at a tag or its default branch.
    Git {
        /// The address.
        url: String,
        /// The tag.
        tag: Option<String>,
    },
}

impl SdkSource {
    fn dependency(&self) -> String {
        match self {
            Self::Version(version) => format!("{version:?}"),
            Self::Path(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("{{ path = {:?} }}", path.display().to_string())
            }
            Self::Git { url, tag: Some(tag) } => format!("{{ git = {url:?}, tag = {tag:?} }}"),
            Self::Git { url, tag: None } => format!("{{ git = {url:?} }}"),
        }
    }
}

/// Writes a new function crate called `name` into `parent/name` and returns that folder.
///
/// # Errors
/// A bad name, a folder that holds something already, a template that is not available, or a disk
/// that refuses.
pub fn new_crate(parent: &Path, name: &str, template: Template, sdk: &SdkSource) -> Result<PathBuf, Error> {
    check_name(name)?;
    let files = template.files()?;
    let folder = parent.join(name);
    let taken = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if taken || folder.is_file() {
        return Err(Error::FolderTaken { path: folder });
    }
    let common = [
        ("Cargo.toml", include_str!("templates/Cargo.toml.txt")),
        ("README.md", include_str!("templates/README.md.txt")),
        (".gitignore", "/target\n/out\n"),
    ];
    let fill = |text: &str| {
        text.replace("{name}", name)
            .replace("{module}", &name.replace('-', "_"))
            .replace("{template}", template.name())
            .replace("{dependency}", &sdk.dependency())
    };
    for &(file, text) in common.iter().chain(files) {
        let path = folder.join(file);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
        fs::write(&path, fill(text)).map_err(Error::file("write", &path))?;
    }
    Ok(folder)
}

/// Words that cargo refuses as the name of a package, or that would clash with the SDK's library.
const RESERVED: [&str; 8] = ["build", "deps", "examples", "incremental", "test", "core", "std", "tidegate"];

fn check_name(name: &str) -> Result<(), Error> {
    let bad = |reason| Err(Error::BadName { name: name.to_owned(), reason });
    let mut characters = name.chars();
    match characters.next() {
        None => return bad("it is empty"),
        Some(first) if !first.is_ascii_lowercase() => return bad("expected a lower-case letter first"),
        Some(_) => {}
    }
    if !characters.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-') {
        return bad("expected only lower-case letters, digits and `-`");
    }
    if name.len() > 64 {
        return bad("expected at most 64 characters");
    }
    if RESERVED.contains(&name) {
        return bad("it is reserved");
    }
    Ok(())
}
