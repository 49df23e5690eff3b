//! The archive flags of the TES4 family (FORMATS.md 1.2).

pub(super) const FOLDER_NAMES: u32 = 0x001;
pub(super) const FILE_NAMES: u32 = 0x002;
pub(super) const COMPRESSED: u32 = 0x004;
pub(super) const XBOX_360: u32 = 0x040;
/// Versions 104 and 105 only. All of Bethesda's v103 archives set this flag and embed no names.
pub(super) const EMBEDDED_NAMES: u32 = 0x100;
/// Version 104 only.
pub(super) const XMEM: u32 = 0x200;

/// Flags and their names in listings.
pub(super) const NAMES: [(u32, &str); 11] = [
    (FOLDER_NAMES, "folder names"),
    (FILE_NAMES, "file names"),
    (COMPRESSED, "compressed by default"),
    (0x008, "retain folder names"),
    (0x010, "retain file names"),
    (0x020, "retain name offsets"),
    (XBOX_360, "Xbox 360"),
    (0x080, "retain strings at start-up"),
    (EMBEDDED_NAMES, "embedded file names"),
    (XMEM, "XMem codec"),
    (0x400, "unknown 0x400"),
];
