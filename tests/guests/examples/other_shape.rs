//! Exports a function interface of our name and version, with other types.

wit_bindgen::generate!({
    inline: "
        package tidegate:flow@0.1.0;
        interface function { describe: func() -> string; }
        world operator { export function; }
    ",
});

struct Impostor;

impl exports::tidegate::flow::function::Guest for Impostor {
    fn describe() -> String {
        "trust me".into()
    }
}

export!(Impostor);
