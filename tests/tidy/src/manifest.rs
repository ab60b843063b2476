//! What a `Cargo.toml` says of dependencies.

use toml::{Table, Value};

/// The dependencies of a crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The package's name; empty for a workspace without a package.
    pub name: String,
    /// Names of the packages it depends on, of any kind (build, dev, per target), sorted.
    pub dependencies: Vec<String>,
    /// Of `dependencies`, those that only tests see.
    pub for_tests: Vec<String>,
    /// Names in `[workspace.dependencies]` that are not paths, sorted.
    pub workspace_dependencies: Vec<String>,
    /// Of `dependencies`, those that are given by a path.
    pub by_path: Vec<String>,
    /// Whether it takes the lints of the workspace.
    pub has_workspace_lints: bool,
}

const FOR_TESTS: &str = "dev-dependencies";
const KINDS: [&str; 3] = ["dependencies", "build-dependencies", FOR_TESTS];

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When it is not TOML; the text says where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let mut manifest = Self::default();
        let name = table.get("package").and_then(|it| it.get("name")).and_then(Value::as_str);
        manifest.name = name.unwrap_or_default().to_owned();
        let lints = table.get("lints").and_then(|it| it.get("workspace")).and_then(Value::as_bool);
        manifest.has_workspace_lints = lints.unwrap_or(false);
        manifest.collect(&table);
        for target in table.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values) {
            if let Some(target) = target.as_table() {
                manifest.collect(target);
            }
        }
        let workspace = table.get("workspace").and_then(|it| it.get("dependencies")).and_then(Value::as_table);
        for (name, value) in workspace.into_iter().flatten() {
            if value.get("path").is_none() {
                manifest.workspace_dependencies.push(package_of(name, value));
            }
        }
        for list in [&mut manifest.dependencies, &mut manifest.workspace_dependencies, &mut manifest.by_path] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(manifest)
    }

    fn collect(&mut self, table: &Table) {
        for kind in KINDS {
            for (name, value) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let package = package_of(name, value);
                if value.get("path").is_some() {
                    self.by_path.push(package.clone());
                }
                if kind == FOR_TESTS && !self.dependencies.contains(&package) {
                    self.for_tests.push(package.clone());
                }
                self.dependencies.push(package);
            }
        }
    }
}

/// The package behind a dependency that may have been renamed.
fn package_of(name: &str, value: &Value) -> String {
    value.get("package").and_then(Value::as_str).unwrap_or(name).to_owned()
}
