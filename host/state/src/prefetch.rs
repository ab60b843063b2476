//! Asking for a cache line before it is needed.

/// Asks the processor to bring the line that holds `target` near. Changes nothing but time.
#[inline]
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a prefetch reads nothing and cannot fault; the address comes from a reference")]
pub(crate) fn prefetch<T>(target: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: SSE is part of x86_64, and the instruction has no effect on memory or registers.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(target).cast()) }
}

/// Does nothing where the processor has no such instruction that we use.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn prefetch<T>(_target: &T) {}
