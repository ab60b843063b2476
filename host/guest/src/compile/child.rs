//! The child process that compiles, from both sides.
//!
//! # Protocol
//! Arguments: [`CHILD_ARGUMENT`], `fuel` or `no-fuel`, bytes of address space, seconds of processor time.
//! The component stands on the standard input, a plain file. On success the exit code is 0 and the code is
//! on the standard output; on a component that does not compile it is [`REFUSED`] and the reason is on the
//! standard error. Anything else is a limit or a broken child.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use wasmtime::Engine;

use crate::engine::{Purpose, config};
use crate::{CompileLimits, Error};

/// The first argument that makes a program the child: it then calls [`child_main`] with the rest.
pub const CHILD_ARGUMENT: &str = "compile-module-for-parent";

/// Exit code of a child whose component does not compile.
const REFUSED: u8 = 3;

/// Most of what a child says that goes into an error.
const SAID_BYTES: u64 = 4 << 10;

/// Largest code read from a child.
const CODE_BYTES: u64 = 1 << 30;

/// A program that compiles when called with [`CHILD_ARGUMENT`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildProgram {
    /// The program.
    pub path: PathBuf,
}

impl ChildProgram {
    /// The program that is running, even if its file was replaced since.
    ///
    /// # Errors
    /// When the system does not say which it is.
    pub fn current() -> io::Result<Self> {
        let own = PathBuf::from("/proc/self/exe");
        let path = if own.exists() { own } else { std::env::current_exe()? };
        Ok(Self { path })
    }
}

/// Compiles in a child.
pub(super) fn compile(
    program: &ChildProgram,
    limits: &CompileLimits,
    fuel: bool,
    component: &[u8],
) -> Result<Vec<u8>, Error> {
    let broken = |error: io::Error| Error::CompilerBroken { program: program.path.clone(), reason: error.to_string() };
    let mut said = tempfile::tempfile().map_err(broken)?;
    let mut child = start(program, limits, fuel, component, &said).map_err(broken)?;
    let Some(code) = code_of(&mut child, limits).map_err(broken)? else {
        return Err(Error::wall_clock(limits.wall));
    };
    let status = child.wait().map_err(broken)?;
    if status.success() {
        return Ok(code);
    }
    said.rewind().map_err(broken)?;
    let mut text = Vec::new();
    said.take(SAID_BYTES).read_to_end(&mut text).map_err(broken)?;
    Err(verdict(program, limits, status, String::from_utf8_lossy(&text).trim()))
}

fn start(
    program: &ChildProgram,
    limits: &CompileLimits,
    fuel: bool,
    component: &[u8],
    said: &File,
) -> io::Result<Child> {
    let mut input = tempfile::tempfile()?;
    input.write_all(component)?;
    input.rewind()?;
    Command::new(&program.path)
        .arg(CHILD_ARGUMENT)
        .arg(if fuel { "fuel" } else { "no-fuel" })
        .arg(limits.memory_bytes.to_string())
        .arg(limits.cpu.as_secs().max(1).to_string())
        .env_clear()
        .stdin(Stdio::from(input))
        .stdout(Stdio::piped())
        .stderr(Stdio::from(said.try_clone()?))
        .spawn()
}

/// As [`read_code`]; where no code comes, neither a process nor a zombie is left.
fn code_of(child: &mut Child, limits: &CompileLimits) -> io::Result<Option<Vec<u8>>> {
    let code = read_code(child, limits);
    if !matches!(code, Ok(Some(_))) {
        let ended = child.kill().and_then(|()| child.wait());
        // What went wrong first is what to tell.
        if code.is_ok() {
            ended?;
        }
    }
    code
}

/// What the child writes until it ends; `None` when its time is up before.
fn read_code(child: &mut Child, limits: &CompileLimits) -> io::Result<Option<Vec<u8>>> {
    let stdout = child.stdout.take().ok_or_else(|| io::Error::other("the child has no standard output"))?;
    let (done, result) = mpsc::channel();
    let reader = thread::Builder::new().name("compiled-code".to_owned()).spawn(move || {
        let mut code = Vec::new();
        let read = stdout.take(CODE_BYTES).read_to_end(&mut code).map(|_| code);
        // Nobody waits any more when time was up.
        done.send(read).ok();
    })?;
    match result.recv_timeout(limits.wall) {
        Ok(code) => {
            reader.join().map_err(|_| io::Error::other("the reader of the child panicked"))?;
            code.map(Some)
        }
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the reader of the child panicked")),
    }
}

/// Why a child did not succeed.
fn verdict(program: &ChildProgram, limits: &CompileLimits, status: ExitStatus, said: &str) -> Error {
    let memory =
        || Error::CompileLimit { what: "memory", limit: format!("{} MiB of address space", limits.memory_bytes >> 20) };
    // What the allocator of the standard library says before it aborts, and what the system says to mmap.
    if said.contains("memory allocation of") || said.contains("Cannot allocate memory") {
        return memory();
    }
    if status.code() == Some(i32::from(REFUSED)) {
        return Error::Invalid { reason: said.to_owned() };
    }
    if is_out_of_time(status) {
        return Error::CompileLimit { what: "processor time", limit: format!("{} s", limits.cpu.as_secs()) };
    }
    let said = if said.is_empty() { "it said nothing" } else { said };
    Error::CompilerBroken { program: program.path.clone(), reason: format!("{status}: {said}") }
}

#[cfg(unix)]
fn is_out_of_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn is_out_of_time(_: ExitStatus) -> bool {
    false
}

/// The child's side: takes the arguments after [`CHILD_ARGUMENT`], limits itself, compiles the standard
/// input and writes the code to the standard output.
pub fn child_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run_child(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // Where even this cannot be said, the exit code still is.
            writeln!(io::stderr(), "{reason}").ok();
            ExitCode::from(REFUSED)
        }
    }
}

fn run_child(arguments: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let mut arguments = arguments.into_iter();
    let fuel = arguments.next().as_deref() == Some(OsStr::new("fuel"));
    let mut number = |what: &str| {
        let text = arguments.next().unwrap_or_default();
        text.to_string_lossy().parse::<u64>().map_err(|error| format!("{what} `{}`: {error}", text.display()))
    };
    limit_self(number("bytes of memory")?, number("seconds of processor time")?).map_err(|error| error.to_string())?;
    let mut component = Vec::new();
    io::stdin().read_to_end(&mut component).map_err(|error| error.to_string())?;
    let engine = Engine::new(&config(&Purpose::Compile, fuel)).map_err(|error| format!("{error:#}"))?;
    let code = engine.precompile_component(&component).map_err(|error| format!("{error:#}"))?;
    let mut stdout = io::stdout();
    stdout.write_all(&code).and_then(|()| stdout.flush()).map_err(|error| error.to_string())
}

#[cfg(unix)]
fn limit_self(memory_bytes: u64, cpu_seconds: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |resource, soft, hard| setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) });
    limit(Resource::As, memory_bytes, memory_bytes)?;
    // The signal of the soft limit names the cause; the hard one a second later cannot be caught.
    limit(Resource::Cpu, cpu_seconds, cpu_seconds.saturating_add(1))?;
    limit(Resource::Core, 0, 0)?;
    Ok(())
}

#[cfg(not(unix))]
fn limit_self(_: u64, _: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
