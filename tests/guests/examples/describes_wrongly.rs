//! Numbers its outputs wrongly.

use testkit::*;

struct DescribesWrongly;

impl Behaviour for DescribesWrongly {
    fn describe() -> Descriptor {
        Descriptor { outputs: vec![port(3, "out", Vec::new())], ..unkeyed() }
    }
}

export!(DescribesWrongly);
