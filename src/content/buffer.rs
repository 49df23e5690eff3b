//! Each thread's own buffers, so that a read costs no allocation.
//!
//! The transport replies from where the bytes are, and a thread answers one request at a time, so two buffers a thread
//! suffice: packed bytes as they come from an archive, and the answer.

use std::cell::RefCell;

/// Buffers above this many bytes are let go of after use: a thread must not keep the largest texture it ever saw.
const KEPT: usize = 2 << 20;

thread_local! {
    static PACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends `len` bytes of anything for packed data.
pub(super) fn packed<T>(len: usize, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    PACKED.with(|buffer| lend(buffer, len, use_it))
}

/// Lends `len` bytes of anything for an answer.
pub(super) fn answer<T>(len: usize, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    ANSWER.with(|buffer| lend(buffer, len, use_it))
}

fn lend<T>(buffer: &RefCell<Vec<u8>>, len: usize, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    // In use already where an answer is made within an answer; then a fresh buffer does.
    match buffer.try_borrow_mut() {
        Ok(mut buffer) if len <= KEPT => {
            if buffer.len() < len {
                buffer.resize(len, 0);
            }
            use_it(&mut buffer[..len])
        }
        _ => use_it(&mut vec![0; len]),
    }
}
