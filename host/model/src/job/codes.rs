//! The codes of what can be wrong with a job file; each has a page `docs/errors/E####.md`.

pub(super) const SYNTAX: &str = "E0101";
pub(super) const TOO_LARGE: &str = "E0102";
pub(super) const UNKNOWN_KEY: &str = "E0103";
pub(super) const KEY_TWICE: &str = "E0104";
pub(super) const MISSING: &str = "E0105";
pub(super) const NOT_AVAILABLE: &str = "E0106";
pub(super) const WRONG_VALUE: &str = "E0107";
pub(super) const OUT_OF_RANGE: &str = "E0108";
pub(super) const BAD_NAME: &str = "E0109";
pub(super) const NAME_TWICE: &str = "E0110";
pub(super) const UNKNOWN_INPUT: &str = "E0111";
pub(super) const CYCLE: &str = "E0112";
pub(super) const BAD_PATH: &str = "E0113";
pub(super) const CONNECTOR_COUNT: &str = "E0114";
pub(super) const NO_DEAD_LETTERS: &str = "E0115";
pub(super) const UNREAD_SOURCE: &str = "E0116";
pub(super) const UNSUPPORTED: &str = "E0117";
pub(super) const UNKNOWN_OUTPUT: &str = "E0118";
pub(super) const KEY_MISMATCH: &str = "E0119";
pub(super) const INPUT_MISMATCH: &str = "E0120";
pub(super) const SAME_TARGET: &str = "E0121";
pub(super) const NEEDS_CHECKPOINT: &str = "E0122";
pub(super) const NEEDS_DIRECTORY: &str = "E0123";
pub(super) const FORMAT_MISMATCH: &str = "E0124";
pub(super) const NO_SUCH_PATH: &str = "E0125";
