//! Buffers of each thread, so that a read costs no allocation.
//!
//! A reply is sent from where the bytes are, and a thread answers one request at a time, so that two buffers a thread
//! suffice: packed bytes as they are read from an archive, and the answer.

use std::cell::RefCell;

use super::large::Buffer;
use super::memory::Share;
use crate::limits::THREAD_BUFFER_MAX;

thread_local! {
    static PACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `use_it` with a buffer of `len` bytes for packed data; its content is unspecified. `share` is its share of the
/// memory, where it is longer than [`THREAD_BUFFER_MAX`].
pub(super) fn packed<T>(len: usize, share: Option<Share>, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    PACKED.with(|buffer| with_buffer(buffer, len, share, use_it))
}

/// The same for an answer.
pub(super) fn answer<T>(len: usize, share: Option<Share>, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    ANSWER.with(|buffer| with_buffer(buffer, len, share, use_it))
}

fn with_buffer<T>(
    buffer: &RefCell<Vec<u8>>,
    len: usize,
    share: Option<Share>,
    use_it: impl FnOnce(&mut [u8]) -> T,
) -> T {
    // In use already where an answer is made within an answer.
    match buffer.try_borrow_mut() {
        Ok(mut buffer) if len <= THREAD_BUFFER_MAX => {
            if buffer.len() < len {
                buffer.resize(len, 0);
            }
            use_it(&mut buffer[..len])
        }
        _ => use_it(&mut Buffer::new(len, share)),
    }
}
