//! Known defects of the other readers.

use crate::Outcome;

/// A defect of an oracle, and the files that it affects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Name of the oracle that has the defect.
    pub(crate) oracle: &'static str,
    /// A part of the names of the affected archives.
    pub(crate) archive: &'static str,
    /// The end of the affected files' normalised names; empty for all files.
    pub(crate) file: &'static str,
    /// How the oracle reads these files.
    pub(crate) outcome: Outcome,
    /// Why the defect is the oracle's and not bsafs's.
    pub(crate) reason: &'static str,
}

/// All known defects. If several rows apply to a file, the first one counts.
pub(crate) const KNOWN_DEFECTS: &[Row] = &[
    Row {
        oracle: "ba2",
        archive: "empty files",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it panics at a packed entry that ends before its size",
    },
    Row {
        oracle: "ba2",
        archive: "tes3 without names",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it reads hashes as name offsets; archives of the Xbox have no names",
    },
    Row {
        oracle: "dream_archive",
        archive: "tes3 without names",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it reads hashes as name offsets; archives of the Xbox have no names",
    },
    Row {
        oracle: "dream_archive",
        archive: "xbox 360 hashes",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it does not implement archives of the Xbox 360",
    },
    Row {
        oracle: "dream_archive",
        archive: "empty files",
        file: "packed and no size word.txt",
        outcome: Outcome::Fails,
        reason: "it reads a size although no bytes are left",
    },
    Row {
        oracle: "dream_archive",
        archive: "empty files",
        file: "size word and no stream.txt",
        outcome: Outcome::Fails,
        reason: "it reads a stream from a file that has no bytes",
    },
    Row {
        oracle: "dream_archive",
        archive: "dx10 ",
        file: ".dds",
        outcome: Outcome::DdsDepth,
        reason: "it writes a depth of 0, but DirectXTex writes 1",
    },
    Row {
        oracle: "dream_archive",
        archive: "xbox.bsa",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it does not implement archives of the Xbox 360",
    },
    Row {
        oracle: "dream_archive",
        archive: "xmem.bsa",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it does not implement archives of the Xbox 360",
    },
    Row {
        oracle: "dream_archive",
        archive: "fo4_dds_test",
        file: ".dds",
        outcome: Outcome::DdsDepth,
        reason: "it writes a depth of 0, but DirectXTex writes 1",
    },
    Row {
        oracle: "dream_archive",
        archive: "Blank - Textures",
        file: ".dds",
        outcome: Outcome::DdsDepth,
        reason: "it writes a depth of 0, but DirectXTex writes 1",
    },
    Row {
        oracle: "ba2",
        archive: "xmem.bsa",
        file: "",
        outcome: Outcome::Fails,
        reason: "it decodes XMem as zlib",
    },
    Row {
        oracle: "ba2",
        archive: "tes3 one hash",
        file: "abcdefgh/zyxwvuts.nif",
        outcome: Outcome::Differs,
        reason: "if files share a hash, it keeps the first name and the last content",
    },
    Row {
        oracle: "ba2",
        archive: "tes3 one hash",
        file: "ebcdafgh/zyxwvuts.nif",
        outcome: Outcome::Misses,
        reason: "if files share a hash, it keeps the first name and the last content",
    },
    Row {
        oracle: "ba2",
        archive: "v105 one hash",
        file: "xairdyj_d.txt",
        outcome: Outcome::Differs,
        reason: "if files share a hash, it keeps the first name and the last content",
    },
    Row {
        oracle: "ba2",
        archive: "v105 one hash",
        file: "xzssdab_d.txt",
        outcome: Outcome::Misses,
        reason: "if files share a hash, it keeps the first name and the last content",
    },
    Row {
        oracle: "ba2",
        archive: "gnrl one hash",
        file: "ynhsxmfw.txt",
        outcome: Outcome::Differs,
        reason: "if files share a hash, it keeps the first name and the last content",
    },
    Row {
        oracle: "ba2",
        archive: "gnrl one hash",
        file: "jsjjhoiw.txt",
        outcome: Outcome::Misses,
        reason: "if files share a hash, it keeps the first name and the last content",
    },
    Row {
        oracle: "ba2",
        archive: "gnmf ",
        file: "",
        outcome: Outcome::Fails,
        reason: "it lists textures of the PlayStation 4 but cannot read them",
    },
    Row {
        oracle: "ba2",
        archive: "xbox one tiled",
        file: "textures/tiled.dds",
        outcome: Outcome::Differs,
        reason: "it writes a PC header for tiled texels of the Xbox One",
    },
    Row {
        oracle: "ba2",
        archive: "arena.bsa",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it does not implement archives of Arena",
    },
    Row {
        oracle: "ba2",
        archive: "daggerfall ",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it does not implement archives of Daggerfall",
    },
    Row {
        oracle: "dream_archive",
        archive: "gnmf ",
        file: "",
        outcome: Outcome::Fails,
        reason: "it lists textures of the PlayStation 4 but cannot read them",
    },
    Row {
        oracle: "dream_archive",
        archive: "xbox one tiled",
        file: "textures/tiled.dds",
        outcome: Outcome::Differs,
        reason: "it writes a PC header for tiled texels of the Xbox One",
    },
    Row {
        oracle: "dream_archive",
        archive: "arena.bsa",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it does not implement archives of Arena",
    },
    Row {
        oracle: "dream_archive",
        archive: "daggerfall ",
        file: "",
        outcome: Outcome::Refuses,
        reason: "it does not implement archives of Daggerfall",
    },
    Row {
        oracle: "dream_archive",
        archive: "xbox one tiled",
        file: "textures/plain.dds",
        outcome: Outcome::DdsDepth,
        reason: "it writes a depth of 0, but DirectXTex writes 1",
    },
];
