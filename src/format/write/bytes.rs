//! Tables of a new archive, byte by byte. Numbers are little-endian.

use super::block::TableError;

#[derive(Debug, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(super) fn u16(&mut self, number: u16) {
        self.bytes(&number.to_le_bytes());
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// A number that must fit into 32 bits.
    pub(super) fn word(&mut self, number: impl TryInto<u32>) -> Result<(), TableError> {
        self.u32(number.try_into().map_err(|_| TableError::TooLarge)?);
        Ok(())
    }
}

pub(super) fn len(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
