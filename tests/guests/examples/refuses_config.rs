//! Refuses every config, at the length that the config says.

use testkit::*;

struct RefusesConfig;

impl Behaviour for RefusesConfig {
    fn open(task: Task) -> Result<(), String> {
        match task.config.as_str() {
            "{\"long\":true}" => Err("x".repeat(1 << 20)),
            "{\"panic\":true}" => panic!("no config at all"),
            config => Err(format!("`{config}` of {}/{} is not for me", task.job, task.operator)),
        }
    }
}

export!(RefusesConfig);
