//! Migrates values of version 1 by adding `+`; other versions it refuses, and for state 9 it loses one.

use testkit::*;

struct Migrates;

impl Behaviour for Migrates {
    fn describe() -> Descriptor {
        keyed()
    }

    fn migrate(state: u16, from_version: u32, values: Column) -> Result<Column, String> {
        if from_version != 1 {
            return Err(format!("version {from_version} is unknown"));
        }
        let kept = values.ends.len().saturating_sub(usize::from(state == 9));
        Ok(column((0..kept).map(|index| [item(&values, index), b"+"].concat())))
    }
}

export!(Migrates);
