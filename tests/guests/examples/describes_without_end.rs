//! Describes itself with more than a descriptor may have: a thousand ports over the same text.

use testkit::*;

struct DescribesWithoutEnd;

impl Behaviour for DescribesWithoutEnd {
    fn describe() -> Descriptor {
        let text = "x".repeat(1 << 14);
        let outputs = (0..1000).map(|id| PortDescriptor { schema: Some(text.clone()), ..port(id, "out", Vec::new()) });
        Descriptor { outputs: outputs.collect(), ..unkeyed() }
    }
}

export!(DescribesWithoutEnd);
