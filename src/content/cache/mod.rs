//! Decoded bytes in memory: what is cached, the buffers that have it, and the limits on both.
//!
//! This folder knows neither archives nor files. Its callers say how bytes are read and decoded.

#[expect(clippy::module_inception, reason = "the room has one file")]
mod cache;

pub(crate) use cache::{
    Buffer, Cache, CacheKey, CachedContent, Decoded, DecodedRange, LARGE, MemoryLimit, Reservation, is_used,
    release, zeros,
};
