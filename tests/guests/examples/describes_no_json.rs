//! Has a state whose schema is no JSON.

use testkit::*;

struct DescribesNoJson;

impl Behaviour for DescribesNoJson {
    fn describe() -> Descriptor {
        let mut descriptor = keyed();
        descriptor.states[1].schema = "{broken".into();
        descriptor
    }
}

export!(DescribesNoJson);
