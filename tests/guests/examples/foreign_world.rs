//! A component of another world: it exports something, but no function.

wit_bindgen::generate!({
    inline: "
        package acme:tools@1.0.0;
        interface greeter { greet: func() -> string; }
        world tool { export greeter; }
    ",
});

struct Tool;

impl exports::acme::tools::greeter::Guest for Tool {
    fn greet() -> String {
        "hello".into()
    }
}

export!(Tool);
