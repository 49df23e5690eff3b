//! Faults of a payload: harmless quirks, errors, and their wording.

use std::fmt;

use crate::format::Codec;
use crate::note::NoteCode;

/// A fault of a payload that leaves every declared byte intact: something else is missing or superfluous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quirk {
    /// The payload stops after the last byte, without the end mark or checksum that should follow.
    Unended,
    /// As [`Quirk::Unended`], because the archive ends there.
    CutEnd,
    /// Bytes follow the end of the stream.
    Trailing,
    /// The stream holds more bytes than declared, and the rest was dropped. Its checksums, if any, are right.
    Longer,
    /// The payload is raw deflate, without zlib's header and checksum.
    RawDeflate,
    /// The payload is packed by another method than the archive states, or is not packed. Its bytes prove
    /// that.
    Other(Codec),
    /// The stated length passes the end of the archive, but the stream is whole.
    PastEnd,
    /// The stated length leaves out the embedded name or the size in front of the stream. What follows
    /// completes the stream.
    LeavesOutPrefix,
    /// The stated unpacked size includes the embedded name. The stream states its own size, and ends there.
    SizeWithName,
    /// The archive states that the file begins with its name, but no name is there.
    Unnamed,
    /// The file begins with its name, which the archive does not state.
    Named,
    /// The archive states that the file begins with its unpacked size, but no possible size is there.
    Unsized,
}

/// What is wrong with a file whose stream is longer than its size.
pub(crate) const LONGER: &str = "its stream holds more bytes than declared; the rest is left out";

impl Quirk {
    /// Whether bytes are lost: those of the file beyond its declared size, or those at the archive's end.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Longer | Self::CutEnd)
    }

    /// The code of a note about it.
    pub fn code(self) -> NoteCode {
        match self {
            Self::Unended | Self::CutEnd => NoteCode::StreamUnended,
            Self::Trailing => NoteCode::StreamTrailing,
            Self::Longer => NoteCode::StreamLonger,
            Self::RawDeflate | Self::Other(_) => NoteCode::CodecOther,
            Self::PastEnd | Self::LeavesOutPrefix | Self::SizeWithName => NoteCode::LengthWrong,
            Self::Unnamed | Self::Named => NoteCode::NameFlagWrong,
            Self::Unsized => NoteCode::SizeMissing,
        }
    }
}

impl fmt::Display for Quirk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unended => "the end mark or the checksum is missing",
            Self::CutEnd => "the end of its stream lies beyond the end of the archive",
            Self::Trailing => "bytes follow the end of the stream",
            Self::Longer => LONGER,
            Self::RawDeflate => "the stream is raw deflate without a zlib header",
            Self::Other(Codec::Stored) => "it is stored, although the archive marks it as packed",
            Self::Other(Codec::Zlib) => "it is packed with zlib, which the archive does not state",
            Self::Other(Codec::Lz4Frame) => "it is packed as an LZ4 frame, which the archive does not state",
            Self::Other(_) => "it is packed as an LZ4 block, which the archive does not state",
            Self::PastEnd => "its stated length passes the end of the archive, but its data is whole",
            Self::LeavesOutPrefix => "its stated length leaves out its embedded name or size",
            Self::SizeWithName => {
                "its stated unpacked size includes its embedded name; its stream states its own size"
            }
            Self::Unnamed => "the archive states that it begins with its name, but no name is there",
            Self::Named => "it begins with its name, which the archive does not state; the name is left out",
            Self::Unsized => "its unpacked size is missing, so it is shown as stored",
        })
    }
}

/// Why a payload cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes contradict themselves, or end too early.
    Corrupt(String),
    /// All bytes were decoded, but a checksum contradicts them, or the stream is damaged after them.
    Suspect(String),
    /// The bytes may be sound, but their form is not supported.
    Unsupported(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Corrupt(what) | Self::Suspect(what) | Self::Unsupported(what)) = self;
        f.write_str(what)
    }
}

impl std::error::Error for DecodeError {}

/// The error of a stream that ends before all bytes of `out` are decoded.
pub(super) fn ends_early(stream: &str, decoded: usize, out: &[u8]) -> DecodeError {
    DecodeError::Corrupt(format!("the {stream} ends after {decoded} of {} bytes", out.len()))
}

/// The error of a stream that contradicts itself. [`DecodeError::Suspect`] if the contradiction is after the
/// last byte of `out`, otherwise [`DecodeError::Corrupt`].
pub(super) fn damaged(stream: &str, decoded: usize, out: &[u8], reason: impl fmt::Display) -> DecodeError {
    let size = out.len();
    let what = format!("the {stream} is damaged after {decoded} of {size} bytes: {reason}");
    if decoded < size { DecodeError::Corrupt(what) } else { DecodeError::Suspect(what) }
}

/// Describes a checksum that contradicts the bytes. Both values have `digits` hexadecimal digits.
pub(super) fn contradiction(
    stream: &str,
    checksum: &str,
    digits: usize,
    stored: u32,
    computed: u32,
) -> String {
    format!(
        "the {stream} is damaged: its {checksum} is {stored:0digits$X}, but its data has {computed:0digits$X}"
    )
}

/// Describes a stream that is longer than declared, without a checksum that proves its bytes.
pub(super) fn unproven(stream: &str, out: &[u8]) -> String {
    format!("the {stream} holds more than the declared {} bytes and has no checksum at its end", out.len())
}

/// Shows a payload's first four bytes.
pub(super) struct Start<'a>(pub(super) &'a [u8]);

impl fmt::Display for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("first bytes")?;
        self.0.iter().take(4).try_for_each(|byte| write!(f, " {byte:02x}"))
    }
}
