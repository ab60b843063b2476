//! What can be checked only where the files are: that what the job reads is there.

use std::path::Path;
use std::sync::Arc;

use super::codes;
use super::problem::{JobFileErrors, Problems};
use super::spec::{JobSpec, SourceConnector};

impl JobSpec {
    /// Checks that the modules and files that the job reads exist, all of them at once. `exists` looks.
    ///
    /// # Errors
    /// Everything that is missing, with its place in the job file.
    pub fn check_paths(&self, exists: impl Fn(&Path) -> bool) -> Result<(), JobFileErrors> {
        let mut problems = Problems::new(Arc::clone(self.places.text()));
        let mut look = |at: &str, what: &str, path: &Path, help: &str| {
            let resolved = self.resolve(path);
            if !exists(&resolved) {
                let (at, span) = self.places.find(at);
                let message = format!("{what} `{}` does not exist", resolved.display());
                problems.add_with_help(codes::NO_SUCH_PATH, &at, span, message, Some(help.to_owned()));
            }
        };
        for source in &self.sources {
            if let SourceConnector::File(file) = &source.connector {
                let at = format!("sources.{}.file.path", source.uid);
                look(&at, "the path", &file.path, "paths are relative to the directory of the job file");
            }
        }
        for function in &self.functions {
            let help = "name a component file (`tidegate build` makes one) or the folder of a function crate";
            look(&format!("functions.{}.module", function.uid), "the module", &function.module, help);
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.into_errors(self.file_name())) }
    }
}
