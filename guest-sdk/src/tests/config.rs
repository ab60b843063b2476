//! What the job file says, and how it is refused.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::prelude::*;
use crate::testing::Harness;

#[derive(Config, Debug, PartialEq)]
struct Settings {
    window: Duration,
    #[config(default = 3)]
    attempts: u8,
    #[config(default)]
    names: Vec<String>,
    mode: Option<Mode>,
    #[config(name = "per-page")]
    per_page: Option<BTreeMap<String, Limits>>,
}

#[derive(Config, Debug, PartialEq)]
enum Mode {
    DropStale,
    #[config(name = "all")]
    KeepEverything,
}

#[derive(Config, Debug, PartialEq)]
struct Limits {
    most: i64,
}

fn refused(json: &str) -> String {
    Settings::from_json(json).unwrap_err().to_string()
}

#[test]
fn everything_given_is_read() {
    let json = r#"{"window": "1h 30m", "attempts": 9, "names": ["a"], "mode": "all", "per-page": {"/": {"most": -1}}}"#;
    let expected = Settings {
        window: Duration::from_secs(5400),
        attempts: 9,
        names: vec!["a".to_owned()],
        mode: Some(Mode::KeepEverything),
        per_page: Some(BTreeMap::from([("/".to_owned(), Limits { most: -1 })])),
    };
    assert_eq!(Settings::from_json(json).unwrap(), expected);
}

#[test]
fn what_is_left_out_has_its_default() {
    let settings = Settings::from_json(r#"{"window": "7d", "mode": null}"#).unwrap();
    assert_eq!((settings.attempts, settings.names.len(), settings.mode), (3, 0, None));
}

#[test]
fn what_is_wrong_is_named_with_place_and_expectation() {
    assert_eq!(refused("{}"), "config: `window` is missing: expected a duration such as `90s` or `7d`");
    assert_eq!(refused(r#"{"window": 7}"#), "config.window is 7: expected a duration such as `90s` or `7d`");
    assert!(refused(r#"{"window": "7 moons"}"#).starts_with("config.window is `7 moons`: expected a duration such as"));
    assert_eq!(
        refused(r#"{"window": "7d", "attempts": 256}"#),
        "config.attempts is 256: expected a whole number from 0 to 255"
    );
    assert_eq!(refused(r#"{"window": "7d", "names": ["a", 1]}"#), "config.names[1] is 1: expected a text");
    assert_eq!(
        refused(r#"{"window": "7d", "per-page": {"/": {"most": true}}}"#),
        "config.per-page./.most is true: expected a whole number"
    );
    assert_eq!(refused("[]"), "config is []: expected an object");
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    assert_eq!(refused(r#"{"window": "7d", "atempts": 1}"#), "config: unknown key `atempts`: did you mean `attempts`?");
    assert_eq!(
        refused(r#"{"window": "7d", "colour": 1}"#),
        "config: unknown key `colour`: known are `window`, `attempts`, `names`, `mode`, `per-page`"
    );
    assert_eq!(
        refused(r#"{"window": "7d", "per-page": {"/": {"mots": 1}}}"#),
        "config.per-page./: unknown key `mots`: did you mean `most`?"
    );
}

#[test]
fn a_word_that_is_not_one_of_them_is_refused_with_the_nearest() {
    assert_eq!(
        refused(r#"{"window": "7d", "mode": "drop-stal"}"#),
        "config.mode is `drop-stal`: expected `drop-stale`"
    );
    assert_eq!(
        refused(r#"{"window": "7d", "mode": "whatever"}"#),
        "config.mode is `whatever`: expected one of `drop-stale`, `all`"
    );
}

#[tidegate::function]
struct Plain;

impl Unkeyed for Plain {
    type In = Bytes;
    type Out = ();

    fn on_record(&mut self, _: &[u8], _: &mut Context<Self>) -> Result {
        Ok(())
    }
}

#[tidegate::function]
struct Checked {
    #[config]
    settings: Settings,
}

impl Unkeyed for Checked {
    type In = Bytes;
    type Out = ();

    fn open(&mut self, task: &Task) -> Result {
        if self.settings.attempts == 0 {
            bail!("{}: `attempts` must not be 0", task.operator);
        }
        Ok(())
    }

    fn on_record(&mut self, _: &[u8], _: &mut Context<Self>) -> Result {
        Ok(())
    }
}

#[test]
fn a_function_without_config_refuses_one() {
    assert!(Harness::<Plain>::new().open().is_ok());
    let error = Harness::<Plain>::new().config(r#"{"a": 1}"#).open().unwrap_err().to_string();
    assert!(error.starts_with("config: the function takes none"), "{error}");
}

#[test]
fn open_refuses_what_is_read_but_makes_no_sense() {
    let error = Harness::<Checked>::new().config(r#"{"window": "1s", "attempts": 0}"#).open().unwrap_err();
    assert_eq!(error.to_string(), "function: `attempts` must not be 0");
}
