//! The bytes of a read, where they are: in a buffer of their own or in the cache. They are sent from there.

use std::ops::Deref;

use crate::content::cache::{Buffer, DecodedRange};
use crate::content::error::Reason;

/// Bytes of a file. They must be dropped before this thread reads more, because those of a large extent keep
/// their share of the limited memory.
#[derive(Debug)]
pub struct FileBytes<'s> {
    place: Place<'s>,
    is_cut: bool,
}

#[derive(Debug)]
enum Place<'s> {
    /// There are no bytes.
    Empty,
    /// The first bytes of a buffer, as many as the number says.
    Buffer(Buffer, usize),
    Cache(DecodedRange<'s, Reason>),
}

impl<'s> FileBytes<'s> {
    /// No bytes, because the file has none in this range.
    pub(crate) const EMPTY: Self = Self { place: Place::Empty, is_cut: false };

    /// The first `len` bytes of a buffer.
    pub(crate) fn in_buffer(buffer: Buffer, len: usize) -> Self {
        Self { place: Place::Buffer(buffer, len), is_cut: false }
    }

    pub(crate) fn in_cache(bytes: DecodedRange<'s, Reason>) -> Self {
        Self { place: Place::Cache(bytes), is_cut: false }
    }

    /// Sets [`FileBytes::is_cut`].
    pub(crate) fn with_cut(self, is_cut: bool) -> Self {
        Self { is_cut, ..self }
    }

    /// Whether a loose file ends with these bytes, but was longer when it was statted.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl Deref for FileBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.place {
            Place::Empty => &[],
            Place::Buffer(buffer, len) => &buffer[..*len],
            Place::Cache(bytes) => bytes,
        }
    }
}
