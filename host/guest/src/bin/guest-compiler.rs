//! The child that compiles modules, as a program of its own: for tests and for embedders whose own
//! program cannot be called again.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == guest::compile::CHILD_ARGUMENT) {
        return guest::compile::child_main(arguments);
    }
    ExitCode::from(2)
}
