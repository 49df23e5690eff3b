//! Any bytes as one archive, or as two archives in one tree, with any options of the command line.
//!
//! An input is the fields of [`Plan`] with numbers in little-endian order, the list of `--names`,
//! and the archive.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]

use std::io::Write;
use std::path::Path;

use bsafs::content::{Store, TextureForm};
use bsafs::format::EntryId;
use bsafs::format::encoding::Encoding;

use super::pipeline::{Opening, Scope, check_content, open};

/// Code pages with letters of one byte and of several, and UTF-8.
const ENCODINGS: [&str; 8] = ["1252", "utf-8", "932", "936", "gb18030", "950", "949", "1251"];

/// Largest file that is copied, in bytes. Chunks that share their data make large files of small archives.
const COPY_MAX: u64 = 8 << 20;

/// The choices that the first bytes of an input make.
#[derive(Clone, Copy)]
struct Plan {
    /// Bits, from [`Plan::FORCE`] to [`Plan::LEARN`].
    flags: u8,
    /// An index into [`ENCODINGS`].
    encoding: u8,
    /// The form of textures. 0: default, 1: DDS, 2: raw, 3: compatible DDS, 4: uncompressed.
    textures: u8,
    /// XORed into one byte of the second archive.
    xor_byte: u8,
    /// Offset of that byte.
    xor_offset: u32,
    /// Bytes per read; [`read`] adds a part of the file's size.
    step: u16,
    /// Length of the list of names, in bytes.
    names_len: u16,
}

impl Plan {
    /// `--force`
    const FORCE: u8 = 1;
    /// `--salvage`
    const SALVAGE: u8 = 2;
    /// `--layout per-archive`
    const PER_ARCHIVE: u8 = 4;
    /// The archive is a second layer too, with one byte changed by [`Plan::xor_byte`].
    const TWICE: u8 = 8;
    /// The store learns all sizes at once, as for a listing.
    const LEARN: u8 = 16;

    fn new(bytes: [u8; 12]) -> Self {
        let [flags, encoding, textures, xor_byte, a, b, c, d, e, f, g, h] = bytes;
        let (xor_offset, step) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]));
        let names_len = u16::from_le_bytes([g, h]);
        Self { flags, encoding, textures, xor_byte, xor_offset, step, names_len }
    }

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn opening(self, names: &[u8]) -> Opening<'_> {
        let encoding = Encoding::from_label(ENCODINGS[usize::from(self.encoding) % ENCODINGS.len()]);
        // Inputs of the corpus choose the first four by these numbers.
        let textures = [
            TextureForm::Default,
            TextureForm::Dds,
            TextureForm::Raw,
            TextureForm::Compatible,
            TextureForm::Rgba,
        ];
        Opening {
            force: self.has(Self::FORCE),
            encoding: encoding.unwrap(),
            names,
            textures: textures[usize::from(self.textures) % textures.len()],
            per_archive: self.has(Self::PER_ARCHIVE),
            salvage: self.has(Self::SALVAGE),
        }
    }
}

/// Opens an input and reads its files. Returns the number of entries, or `None` if the archive is refused.
///
/// # Panics
/// If an invariant does not hold.
pub fn run(input: &[u8]) -> Option<usize> {
    let (&plan, rest) = input.split_first_chunk()?;
    let plan = Plan::new(plan);
    let (names, archive) = rest.split_at(rest.len().min(plan.names_len.into()));
    let first = file_of(archive);
    let second = plan.has(Plan::TWICE).then(|| {
        let mut changed = archive.to_vec();
        let at = plan.xor_offset as usize % archive.len().max(1);
        changed.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= plan.xor_byte);
        file_of(&changed)
    });
    let paths: Vec<&Path> =
        std::iter::once(first.path()).chain(second.as_ref().map(|it| it.path())).collect();
    read(&paths, plan, names)
}

fn read(paths: &[&Path], plan: Plan, names: &[u8]) -> Option<usize> {
    let (opening, scope) = (plan.opening(names), Scope::FUZZED);
    let opened = open(paths, &opening, &scope)?;
    for name in names.split(|&byte| byte == b'\n') {
        // If the archive stores no name for a file, the hash of the requested path finds the file.
        let is_unnamed = opened.tree.resolve_unnamed(name).is_some();
        assert!(!is_unnamed || opened.tree.has_unnamed() && opened.tree.resolve(name).is_some());
        opened.tree.may_hold_unnamed(name);
    }
    let store = &opened.store;
    for file in opened.files(&scope) {
        check_copy(store, file, u32::from(plan.step) + 1 + (store.file(file).size_or_estimate() >> 6) as u32);
        check_content(store, file);
        let salvaged = store.file(file).take_salvaged();
        assert!(opening.salvage || salvaged.is_none(), "a file was salvaged without --salvage");
        assert!(store.file(file).take_salvaged().is_none(), "a salvaged file was reported twice");
    }
    if plan.has(Plan::LEARN) {
        let together = open(paths, &opening, &scope)?;
        let learnt = together.store.learn_sizes(opened.files(&scope));
        // How these show a texture depends on its header, which may be damaged.
        let needs_headers = matches!(opening.textures, TextureForm::Rgba | TextureForm::Compatible);
        assert!(learnt.is_ok() || needs_headers, "{learnt:?}");
        for file in opened.files(&scope) {
            assert_eq!(
                together.store.file(file).size_or_estimate(),
                store.file(file).size_or_estimate(),
                "{file:?}: learn_sizes gives another size"
            );
        }
    }
    Some(opened.in_scope.iter().map(Vec::len).sum())
}

/// A copied file must be as long as its size says, and have the bytes that reads of `step` bytes give.
fn check_copy(store: &Store, file: EntryId, step: u32) {
    if store.file(file).size_or_estimate() > COPY_MAX {
        return;
    }
    let mut copied = Vec::new();
    let is_copied = store.file(file).copy_to(&mut copied);
    assert_eq!(is_copied.is_ok(), store.file(file).check().is_ok(), "{is_copied:?}");
    let Ok(len) = is_copied else { return };
    assert_eq!(
        (len, store.file(file).size_or_estimate()),
        (copied.len() as u64, len),
        "the copy, its reported length and the size differ"
    );
    let mut rest = &copied[..];
    while !rest.is_empty() {
        let (piece, others) = rest.split_at(rest.len().min(step as usize));
        let offset = len - rest.len() as u64;
        let is_same = store.file(file).read_at(offset, step).map(|bytes| *bytes == *piece);
        assert!(
            is_same.is_ok_and(|is_same| is_same),
            "{step} bytes at {offset} of {file:?} differ from its copy"
        );
        rest = others;
    }
}

/// Writes bytes to a new file, because an open archive relies on its file staying unchanged.
fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}
