//! Describes itself with a schema of a megabyte.

use testkit::*;

struct DescribesAtLength;

impl Behaviour for DescribesAtLength {
    fn describe() -> Descriptor {
        let mut descriptor = keyed();
        descriptor.states[0].schema = format!("\"{}\"", "x".repeat(1 << 20));
        descriptor
    }
}

export!(DescribesAtLength);
