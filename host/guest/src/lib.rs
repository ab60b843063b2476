//! Sandboxed functions: wasmtime behind the UserFunction seam.
