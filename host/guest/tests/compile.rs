//! Compilation in a child, within limits, and the cache.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

#[path = "behaviour/kit.rs"]
mod kit;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guest::compile::ChildProgram;
use guest::{CompileLimits, Compiler, Error, Sandbox, SandboxOptions};
use kit::{check_error, component};
use model::Blame;

fn child_program() -> ChildProgram {
    ChildProgram { path: PathBuf::from(env!("CARGO_BIN_EXE_guest-compiler")) }
}

fn no_program() -> ChildProgram {
    ChildProgram { path: PathBuf::from("/no/such/compiler") }
}

fn sandbox_with(compiler: Compiler) -> Sandbox {
    Sandbox::new(&SandboxOptions { max_instances: 4, ..SandboxOptions::default() }, compiler).unwrap()
}

fn load(compiler: Compiler, bytes: &[u8]) -> Result<(), Error> {
    sandbox_with(compiler).load(bytes).map(drop)
}

/// A component with a core module of a million additions in it, which nobody instantiates.
fn heavy() -> Vec<u8> {
    let mut body = vec![0u8];
    for _ in 0..1_000_000 {
        body.extend([0x20, 0, 0x20, 0, 0x6a, 0x21, 0]);
    }
    body.extend([0x20, 0, 0x0b]);
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    section(1, &[1, 0x60, 1, 0x7f, 1, 0x7f], &mut module);
    section(3, &[4, 0, 0, 0, 0], &mut module);
    let mut code = vec![4];
    for _ in 0..4 {
        leb128(body.len(), &mut code);
        code.extend(&body);
    }
    section(10, &code, &mut module);
    let mut bytes = component("echo");
    section(1, &module, &mut bytes);
    bytes
}

fn section(id: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(id);
    leb128(content.len(), out);
    out.extend_from_slice(content);
}

fn leb128(mut value: usize, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The one file in a cache folder.
fn only_file(folder: &Path) -> PathBuf {
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn what_a_child_compiles_runs_with_and_without_fuel() {
    let bytes = component("echo");
    for fuel in [true, false] {
        let compiler = Compiler::in_child(child_program(), CompileLimits::default());
        let sandbox = Sandbox::new(&SandboxOptions { fuel, ..SandboxOptions::default() }, compiler).unwrap();
        let factory = guest::GuestFactory::new(sandbox.load(&bytes).unwrap(), kit::tight()).unwrap();
        kit::check_works(&mut factory.open(&kit::task("{}")).unwrap());
    }
}

#[test]
fn a_component_that_is_not_valid_is_refused_with_the_compilers_reason() {
    let mut bytes = component("echo");
    section(1, b"\0asm\x01\0\0\0\x01\x02\xff\xff", &mut bytes);
    for compiler in [Compiler::in_process(), Compiler::in_child(child_program(), CompileLimits::default())] {
        let error = load(compiler, &bytes).unwrap_err();
        check_error(&error, "E0206", &["not valid"]);
        assert_eq!(error.blame(), Blame::Guest);
    }
}

#[test]
fn proposals_that_functions_do_not_need_are_off() {
    let proposals: [(&str, u8, &[u8]); 5] = [
        ("64-bit memory", 5, &[1, 4, 0]),
        ("two memories", 5, &[2, 0, 0, 0, 0]),
        ("shared memory", 5, &[1, 3, 1, 1]),
        ("garbage-collected types", 1, &[1, 0x5f, 0]),
        ("pages of one byte", 5, &[1, 8, 0, 0]),
    ];
    for (name, id, content) in proposals {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        section(id, content, &mut module);
        let mut bytes = component("echo");
        section(1, &module, &mut bytes);
        let error = load(Compiler::in_process(), &bytes).expect_err(name);
        assert_eq!(error.code(), "E0206", "{name}: {error}");
    }
}

#[test]
fn a_compiler_that_takes_too_much_memory_costs_a_child() {
    let limits = CompileLimits { memory_bytes: 256 << 20, ..CompileLimits::default() };
    let error = load(Compiler::in_child(child_program(), limits), &heavy()).unwrap_err();
    check_error(&error, "E0211", &["memory", "256 MiB"]);
}

#[test]
fn a_compiler_that_takes_too_much_processor_time_costs_a_child() {
    let limits = CompileLimits { cpu: Duration::from_secs(1), memory_bytes: 64 << 30, ..CompileLimits::default() };
    let error = load(Compiler::in_child(child_program(), limits), &heavy()).unwrap_err();
    check_error(&error, "E0211", &["processor time", "1 s"]);
}

#[cfg(unix)]
#[test]
fn a_child_that_never_ends_is_killed_when_its_time_is_up() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stuck");
    fs::write(&path, "#!/bin/sh\nwhile :; do :; done\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let limits = CompileLimits { wall: Duration::from_millis(50), ..CompileLimits::default() };
    let error = load(Compiler::in_child(ChildProgram { path }, limits), &component("echo")).unwrap_err();
    check_error(&error, "E0211", &["wall-clock time"]);
}

#[test]
fn a_child_that_is_no_compiler_is_the_hosts_fault() {
    for (program, part) in [("/no/such/compiler", "No such file"), ("/bin/false", "exit status: 1")] {
        let program = ChildProgram { path: PathBuf::from(program) };
        let error = load(Compiler::in_child(program, CompileLimits::default()), &component("echo")).unwrap_err();
        check_error(&error, "E0212", &[part]);
        assert_eq!(error.blame(), Blame::Host);
    }
}

#[test]
fn a_module_compiled_before_needs_no_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let bytes = component("echo");
    load(Compiler::in_process().with_cache(&cache).unwrap(), &bytes).unwrap();
    let without = || Compiler::in_child(no_program(), CompileLimits::default()).with_cache(&cache).unwrap();
    load(without(), &bytes).unwrap();
    check_error(&load(without(), &component("probe")).unwrap_err(), "E0212", &[]);
}

#[test]
fn code_for_another_engine_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let bytes = component("echo");
    load(Compiler::in_process().with_cache(&cache).unwrap(), &bytes).unwrap();
    let without_fuel = SandboxOptions { fuel: false, max_instances: 4, ..SandboxOptions::default() };
    let compiler = Compiler::in_child(no_program(), CompileLimits::default()).with_cache(&cache).unwrap();
    let sandbox = Sandbox::new(&without_fuel, compiler).unwrap();
    check_error(&sandbox.load(&bytes).unwrap_err(), "E0212", &[]);
}

#[test]
fn a_cache_file_that_is_damaged_is_a_miss_and_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let bytes = component("echo");
    let compiler = || Compiler::in_process().with_cache(&cache).unwrap();
    load(compiler(), &bytes).unwrap();
    let path = only_file(&cache);
    let whole = fs::read(&path).unwrap();
    let flip = |at: usize| {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        damaged
    };
    let damages = [
        Vec::new(),
        whole[..40].to_vec(),
        whole[..whole.len() - 1].to_vec(),
        flip(0),
        flip(20),
        flip(whole.len() / 2),
        b"#!/bin/sh\necho a foreign file that is longer than the header of ours\n".to_vec(),
    ];
    for damaged in damages {
        fs::write(&path, &damaged).unwrap();
        let without = Compiler::in_child(no_program(), CompileLimits::default()).with_cache(&cache).unwrap();
        check_error(&load(without, &bytes).unwrap_err(), "E0212", &[]);
        load(compiler(), &bytes).unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), whole.len(), "it was written anew");
    }
}

#[test]
fn a_file_under_the_name_of_another_module_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let compiler = || Compiler::in_process().with_cache(&cache).unwrap();
    load(compiler(), &component("echo")).unwrap();
    let echo = only_file(&cache);
    load(compiler(), &component("probe")).unwrap();
    let probe = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).find(|path| *path != echo).unwrap();
    fs::copy(&echo, &probe).unwrap();
    let without = Compiler::in_child(no_program(), CompileLimits::default()).with_cache(&cache).unwrap();
    check_error(&load(without, &component("probe")).unwrap_err(), "E0212", &[]);
}

#[cfg(unix)]
#[test]
fn a_cache_file_that_others_may_write_is_a_miss_and_is_written_anew() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let bytes = component("echo");
    let compiler = || Compiler::in_process().with_cache(&cache).unwrap();
    load(compiler(), &bytes).unwrap();
    let path = only_file(&cache);
    for mode in [0o620, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let without = || Compiler::in_child(no_program(), CompileLimits::default()).with_cache(&cache).unwrap();
        check_error(&load(without(), &bytes).unwrap_err(), "E0212", &[]);
        load(compiler(), &bytes).unwrap();
        load(without(), &bytes).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_may_write_is_no_cache() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o777, 0o770, 0o720, 0o702] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = Compiler::in_process().with_cache(folder.path()).unwrap_err();
        check_error(&error, "E0220", &["others may write"]);
    }
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    check_error(&Compiler::in_process().with_cache(&file).unwrap_err(), "E0220", &["not a folder"]);
}

#[test]
fn an_instance_more_than_there_is_room_for_is_refused_until_one_goes() {
    let sandbox = sandbox_with(Compiler::in_process());
    let factory = guest::GuestFactory::new(sandbox.load(&component("echo")).unwrap(), kit::tight()).unwrap();
    let mut functions: Vec<_> = (0..4).map(|_| factory.open(&kit::task("{}")).unwrap()).collect();
    let error = factory.open(&kit::task("{}")).unwrap_err();
    check_error(&error, "E0217", &[]);
    assert_eq!(error.blame(), Blame::Host);
    functions.pop();
    kit::check_works(&mut factory.open(&kit::task("{}")).unwrap());
}
