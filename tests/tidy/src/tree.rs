//! The files of the repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What builds and runs leave behind, and what is not ours.
const PASSED_OVER: [&str; 6] = [".git", "target", "out", "dead", "node_modules", "__pycache__"];

/// Our workspaces beside the one at the root. A folder that is any other workspace is a guest in the checkout:
/// a function that somebody began there.
pub const WORKSPACES: [&str; 4] = ["examples", "tests/guests", "bench/guests", "fuzz"];

/// A text file of the repository.
#[derive(Clone, Debug)]
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The text files of the repository.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// In order of their paths.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads every text file below `root`; a file that is not UTF-8 is not a text.
    ///
    /// # Errors
    /// When a folder or a file cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.add(root, root)?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// The files whose path begins with `prefix` and ends with `suffix`.
    pub fn select<'a>(&'a self, prefix: &'a str, suffix: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.starts_with(prefix) && file.path.ends_with(suffix))
    }

    /// The text of one file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    fn add(&mut self, root: &Path, folder: &Path) -> io::Result<()> {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| entry.map(|it| it.path())).collect::<io::Result<_>>()?;
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !PASSED_OVER.contains(&name.as_str()) && !is_foreign(root, &path) {
                    self.add(root, &path)?;
                }
            } else if let Ok(text) = String::from_utf8(fs::read(&path)?) {
                let relative = path.strip_prefix(root).unwrap_or(&path);
                let path = relative.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
                self.files.push(File { path, text });
            }
        }
        Ok(())
    }
}

/// Whether a folder is a workspace that is not ours.
fn is_foreign(root: &Path, folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let is_ours = WORKSPACES.iter().any(|ours| folder == root.join(ours));
    !is_ours && manifest.lines().any(|line| line.trim_end() == "[workspace]")
}
