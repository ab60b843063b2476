//! What a state can break.

use model::StateKind;

/// The rule that a state breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// A value, a map and a list are stored in other ways.
    #[error("it was {} and is {} now", kind_text(*from), kind_text(*to))]
    KindChanged {
        /// What is stored.
        from: StateKind,
        /// What the module has.
        to: StateKind,
    },
    /// The module is older than the one that wrote the state.
    #[error("it has version {from} and the module knows version {to}: expected the same or a higher one")]
    VersionFell {
        /// What is stored.
        from: u32,
        /// What the module has.
        to: u32,
    },
    /// The keys of the entries of a map.
    #[error("its entry keys were {from} and are {to} now")]
    EntryKeys {
        /// What is stored.
        from: String,
        /// What the module has.
        to: String,
    },
    /// Values that are there have no such field.
    #[error("{path} is new and has no default")]
    FieldWithoutDefault {
        /// The field.
        path: String,
    },
    /// Values that are there may lack the field.
    #[error("{path} had a default and has none now")]
    DefaultTaken {
        /// The field.
        path: String,
    },
    /// One field is gone and another one of the same type is new: what was in the first would be lost.
    #[error("{from} is gone and {to} of the same type is new: that looks like a new name")]
    FieldRenamed {
        /// The field that is gone.
        from: String,
        /// The field that is new.
        to: String,
    },
    /// Values that are there are of another type.
    #[error("{path} was {from} and is {to} now")]
    TypeChanged {
        /// Where in the value.
        path: String,
        /// What is stored.
        from: String,
        /// What the module has.
        to: String,
    },
    /// Values that are there may be of the variant.
    #[error("the variant {path} is gone")]
    VariantRemoved {
        /// The variant.
        path: String,
    },
    /// A description is no JSON.
    #[error("the schema of its {which} values is no JSON: {why}")]
    Unreadable {
        /// "stored" or "new".
        which: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The module has no such state.
    #[error("the module does not have it")]
    Removed,
}

impl Rule {
    /// Names its page.
    pub const CODE: &'static str = "E0630";

    /// What to do about the state `name`, which is stored in `version`.
    pub(super) fn help(&self, name: &str, version: u32) -> String {
        let next = version.saturating_add(1);
        let migrate = format!("write `#[state(version = {next}, migrate = some_function)]` on `{name}`");
        match self {
            Self::KindChanged { .. } | Self::EntryKeys { .. } => {
                format!("give the new state another name, and name `{name}` as one to drop")
            }
            Self::VersionFell { from, .. } => {
                format!("use a module that knows version {from} of `{name}`, or go back to a checkpoint before it")
            }
            Self::FieldWithoutDefault { path } | Self::DefaultTaken { path } => {
                format!("write `#[serde(default)]` on {path}, or {migrate}")
            }
            Self::FieldRenamed { from, to } => {
                format!(
                    "{migrate}; if {to} has nothing to do with {from}, remove the one and add the other in two steps"
                )
            }
            Self::TypeChanged { .. } | Self::Unreadable { .. } => migrate,
            Self::VariantRemoved { path } => format!("keep {path}, or {migrate}"),
            Self::Removed => format!("keep `{name}` in the module, or name it as one to drop"),
        }
    }
}

fn kind_text(kind: StateKind) -> &'static str {
    match kind {
        StateKind::Value => "a value",
        StateKind::MapEntries => "a map",
        StateKind::Appended => "a list",
    }
}
