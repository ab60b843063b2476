//! A function of a version of the world that is newer than this one.

wit_bindgen::generate!({
    inline: "
        package tidegate:flow@0.2.0;
        interface function { describe: func() -> string; }
        world operator { export function; }
    ",
});

struct Newer;

impl exports::tidegate::flow::function::Guest for Newer {
    fn describe() -> String {
        "newer".into()
    }
}

export!(Newer);
