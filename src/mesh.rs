//! The names of other files in meshes and materials: NIF, BGSM, BGEM, and Starfield's loose MAT.
//!
//! Nothing here parses a whole file. A NIF, BGSM or BGEM stores each name as a 32-bit little-endian length
//! and that many bytes; some writers count a NUL at the end. So a name is found by its extension, and its
//! length proves it. A MAT is JSON.
//!
//! The scan found 1,863 of 1,863 names in 334 public NIFs, and 80 of 80 in 17 BGSM and BGEM files, and no
//! false one:
//!
//! | game | first line | version, user version, Bethesda's version |
//! |---|---|---|
//! | Morrowind | `NetImmerse File Format` | 4.0.0.2 |
//! | Oblivion | `Gamebryo File Format` | 20.0.0.5 |
//! | Fallout 3, New Vegas | `Gamebryo File Format` | 20.2.0.7, 11, 34 |
//! | Skyrim, Skyrim SE | `Gamebryo File Format` | 20.2.0.7, 12, 83 and 100 |
//! | Fallout 4, Fallout 76 | `Gamebryo File Format` | 20.2.0.7, 12, 130 to 155 |
//! | Starfield | `Gamebryo File Format` | 20.2.0.7, 12, 172 and 173 |
//!
//! Starfield's NIFs name their geometry without an extension. It follows three numbers, of which the third is
//! 64 (`BSMesh` in nif.xml; NifSkope adds `geometries/` and `.mesh`).

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::{self, Display};
use std::io::{self, Read};

use crate::kinds::{self, DDS, GEOMETRIES, KindOfFile, MATERIALS, MESH, MESHES, TEXTURES, What};
use crate::limits::{MESH_NAME_MAX, MESH_NAMES_MAX};

/// What a file is that names others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A mesh.
    Nif {
        /// Whether it is of Morrowind's time, which its first line shows.
        is_old: bool,
        /// Bethesda's version, such as 100 for Skyrim SE; 0 if there is none.
        bethesda: u32,
    },
    /// A material of Fallout 4 or 76: BGSM or BGEM.
    Material,
    /// A loose material of Starfield, which is JSON.
    JsonMaterial,
}

impl FileKind {
    /// Whether the game can have the file's materials in its compiled database, which bsafs does not read.
    pub fn has_compiled_materials(self) -> bool {
        matches!(self, Self::Nif { bethesda: STARFIELD.., .. })
    }

    /// Whether the file is a mesh of Morrowind's time.
    pub fn is_old(self) -> bool {
        matches!(self, Self::Nif { is_old: true, .. })
    }
}

/// Bethesda's version of the first meshes whose geometry is in files of its own.
const STARFIELD: u32 = 170;

/// What a name is a name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameKind {
    /// A mesh's material.
    Material,
    /// The vertices of a Starfield mesh.
    Geometry,
    /// A picture.
    Texture,
    /// Another mesh, a morph or a behaviour. Many of these are only names of nodes.
    Other,
}

/// Whether [`scan`] reads files of a name.
pub fn is_scanned(name: &[u8]) -> bool {
    kinds::is(name, &[What::Mesh, What::Material])
}

/// A name of another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// What it names.
    pub kind: NameKind,
    /// The bytes as they are stored, without a NUL at the end.
    pub stored: Vec<u8>,
}

/// What [`scan`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// What the file is.
    pub kind: FileKind,
    /// The names, once each, ignoring case, in the order of the file.
    pub names: Vec<NamedFile>,
}

/// Why the names of a file are not known.
#[derive(Debug)]
#[non_exhaustive]
pub enum MeshError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file is neither a mesh nor a material.
    Unknown,
    /// The file has more than [`MESH_NAMES_MAX`] names.
    TooManyNames,
    /// The file ends before its content does.
    CutOff,
}

impl Display for MeshError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(out),
            Self::Unknown => out.write_str("it is neither a mesh (NIF) nor a material (BGSM, BGEM, MAT)"),
            Self::TooManyNames => write!(out, "it has more than {MESH_NAMES_MAX} names"),
            Self::CutOff => out.write_str("it is cut off; get the file or its archive again"),
        }
    }
}

impl std::error::Error for MeshError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Unknown | Self::TooManyNames | Self::CutOff => None,
        }
    }
}

/// Finds the names of other files in a mesh or a material. The file is read once, from its beginning, with
/// little memory.
///
/// ```
/// let mut nif = b"Gamebryo File Format, Version 20.2.0.7\n".to_vec();
/// nif.extend([0; 4]);
/// nif.extend(17_u32.to_le_bytes());
/// nif.extend(br"textures\iron.dds");
/// let found = bsafs::mesh::scan(&nif[..])?;
/// assert_eq!(found.names[0].stored, br"textures\iron.dds");
/// # Ok::<(), bsafs::mesh::MeshError>(())
/// ```
///
/// # Errors
/// The file cannot be read, is of another kind, ends too early, or has too many names.
pub fn scan(mut file: impl Read) -> Result<Scanned, MeshError> {
    // Most files are short, and a new buffer would cost more than to search them.
    thread_local!(static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let mut window = Window { buffer: BUFFER.take(), end: 0, scanned: 0, len: 0, is_last: false };
    window.buffer.resize(STEP + KEPT, 0);
    let found = window.names(&mut file);
    BUFFER.set(window.buffer);
    found
}

/// The paths below the data folder at which the engine searches for a name, in its order. Each is in lower
/// case and has `/` between its names. The stored name may be relative to the data folder, to `textures`,
/// `materials` or `geometries`, or an absolute path on the machine of an artist. The engine drops what is
/// before an inner `textures`, as in `Data Files\textures` (OpenMW, components/misc/resourcehelpers.cpp).
/// `is_old` is that of the mesh.
pub fn paths(name: &NamedFile, is_old: bool) -> Vec<Vec<u8>> {
    let folder = match name.kind {
        NameKind::Texture => TEXTURES,
        NameKind::Material => MATERIALS,
        NameKind::Geometry => GEOMETRIES,
        NameKind::Other => MESHES,
    };
    let folder = folder.as_bytes();
    let folded = name.stored.to_ascii_lowercase();
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in folded.split(|byte| matches!(byte, b'/' | b'\\')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let is_absolute = parts.first().is_some_and(|first| first.ends_with(b":"));
    let last =
        |wanted: &[u8]| parts.iter().rposition(|part| *part == wanted).filter(|at| at + 1 < parts.len());
    if parts.first() != Some(&folder) {
        let below = parts.windows(2).rposition(|pair| pair == [b"data", folder]);
        let below = below.or_else(|| last(b"data").filter(|at| is_absolute || *at == 0));
        let first = || parts.iter().position(|part| *part == folder).filter(|at| at + 1 < parts.len());
        let is_texture = name.kind == NameKind::Texture;
        let begin = below.map(|data| data + 1).or_else(|| last(folder).filter(|_| is_absolute));
        let begin = begin.or_else(|| first().filter(|_| is_texture));
        parts.drain(..begin.unwrap_or_default());
    }
    // Morrowind's book art is beside the textures (OpenMW, components/misc/resourcehelpers.cpp).
    let has_folder = parts.first().is_some_and(|first| *first == folder || is_old && *first == b"bookart");
    if !has_folder || parts.len() == 1 {
        parts.insert(0, folder);
    }
    let path = parts.join(&b'/');
    if name.kind == NameKind::Geometry && kind_of_name(&path).is_none() {
        return vec![[&path, &b"."[..], MESH.as_bytes()].concat()];
    }
    if name.kind != NameKind::Texture {
        return vec![path];
    }
    // Bethesda converted all textures to DDS, but not their names in meshes.
    let as_dds = |path: &[u8]| [path.get(..path.len() - 3).unwrap_or_default(), DDS.as_bytes()].concat();
    let mut paths = vec![as_dds(&path), path.clone()];
    if is_old {
        // The engine then searches for the file's name alone (OpenMW, as above).
        let alone = [folder, b"/", parts.last().copied().unwrap_or_default()].concat();
        paths.extend([as_dds(&alone), alone]);
    }
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    paths
}

/// What a path is a name of, by its extension.
pub fn kind_of_name(name: &[u8]) -> Option<NameKind> {
    kinds::kind_of(name).filter(|kind| kind.is_named).map(name_kind)
}

fn name_kind(kind: &KindOfFile) -> NameKind {
    match kind.what {
        What::Texture | What::Picture => NameKind::Texture,
        What::Material => NameKind::Material,
        What::Geometry => NameKind::Geometry,
        _ => NameKind::Other,
    }
}

/// The kind of a file, from its first bytes.
fn kind_of(bytes: &[u8]) -> Option<FileKind> {
    if bytes.starts_with(b"BGSM") || bytes.starts_with(b"BGEM") {
        return Some(FileKind::Material);
    }
    let is_gamebryo = bytes.starts_with(b"Gamebryo File Format");
    if is_gamebryo || bytes.starts_with(b"NetImmerse File Format") {
        let line = bytes.iter().take(LINE_MAX).position(|byte| *byte == b'\n')?;
        let number = |at: usize| {
            let found = bytes.get(line + 1 + at..)?.first_chunk::<4>();
            found.map(|bytes| u32::from_le_bytes(*bytes))
        };
        let version = number(0).unwrap_or_default();
        // The version, the byte order, the user version, the number of blocks, and then Bethesda's version.
        let bethesda = if version >= 0x1402_0007 { number(13).unwrap_or_default() } else { 0 };
        return Some(FileKind::Nif { is_old: !is_gamebryo, bethesda });
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    (text.first() == Some(&b'{')).then_some(FileKind::JsonMaterial)
}

/// Where a mesh or a material ends, as far as its beginning shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// More follows this many bytes.
    After(u64),
    /// After this many bytes, the numbers of some of its blocks follow, of which it has so many.
    RootsAt(u64, u32),
    /// It ends with the numbers of some of its blocks, of which it has so many.
    Roots(u32),
    /// The bytes end within the header.
    InHeader,
    /// The bytes do not begin as every such file that is known.
    Unknown,
}

/// Where a file ends, by its first bytes: all of them, or at least [`STEP`].
fn ending(kind: FileKind, bytes: &[u8]) -> Ending {
    let mut reader = Cursor { bytes, at: 0 };
    let ending = match kind {
        FileKind::Nif { .. } => reader.nif_ending(),
        FileKind::Material => reader.material_ending(),
        FileKind::JsonMaterial => Ok(Ending::Unknown),
    };
    match ending {
        Ok(ending) => ending,
        // A header that is longer than a step is not followed.
        Err(Stop::EndOfBytes) if bytes.len() < STEP => Ending::InHeader,
        Err(Stop::EndOfBytes | Stop::Implausible) => Ending::Unknown,
    }
}

/// Why a header is not read further.
enum Stop {
    EndOfBytes,
    Implausible,
}

/// Reads a header.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    fn take(&mut self, len: usize) -> Result<&'b [u8], Stop> {
        let end = self.at.checked_add(len).ok_or(Stop::Implausible)?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::EndOfBytes)?;
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, Stop> {
        Ok(self.take(2)?.first_chunk().map_or(0, |it| u16::from_le_bytes(*it)))
    }

    fn u32(&mut self) -> Result<u32, Stop> {
        Ok(self.take(4)?.first_chunk().map_or(0, |it| u32::from_le_bytes(*it)))
    }

    /// A text of `len` bytes, or its beginning if the bytes end within it.
    fn text(&mut self, len: usize, most: usize) -> Result<&'b [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let there = rest.get(..len).unwrap_or(rest);
        let is_text = |bytes: &[u8]| {
            let end = bytes.strip_suffix(b"\0").unwrap_or(bytes);
            end.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\r' | b'\n'))
        };
        if len > most || !is_text(there) {
            return Err(Stop::Implausible);
        }
        self.take(len)
    }

    /// The name of a type of blocks, behind its length.
    fn block_type(&mut self) -> Result<(), Stop> {
        let len = self.u32()? as usize;
        let name = self.text(len, TYPE_MAX)?;
        let is_name = name.first().is_some_and(u8::is_ascii_alphabetic);
        if is_name { Ok(()) } else { Err(Stop::Implausible) }
    }

    /// A NIF states the length of each block since version 20.2.0.7 (nif.xml, `Header` and `Footer`). Older
    /// ones end in the numbers of their roots.
    fn nif_ending(&mut self) -> Result<Ending, Stop> {
        let line = self.bytes.iter().take(LINE_MAX).position(|byte| *byte == b'\n');
        self.at = line.ok_or(Stop::Implausible)? + 1;
        let version = self.u32()?;
        if version == MORROWIND {
            let blocks = self.u32()?;
            if blocks > 0 {
                self.block_type()?;
            }
            return Ok(Ending::Roots(blocks));
        }
        if !matches!(version, OBLIVION_FIRST..=OBLIVION_LAST | SIZED) {
            return Err(Stop::Implausible);
        }
        if self.byte()? != 1 {
            return Err(Stop::Implausible);
        }
        let (user, blocks) = (self.u32()?, self.u32()?);
        if version == SIZED || user >= 3 {
            let bethesda = self.u32()?;
            // The author, a number or a script, another script, and the path of a project.
            self.short_text()?;
            if bethesda > 130 { self.u32().map(drop) } else { self.short_text() }?;
            self.short_text()?;
            if bethesda >= 103 {
                self.short_text()?;
            }
        }
        let types = self.u16()?;
        for _ in 0..types {
            self.block_type()?;
        }
        for _ in 0..blocks {
            if self.u16()? & 0x7fff >= types {
                return Err(Stop::Implausible);
            }
        }
        if version != SIZED {
            self.u32()?;
            return Ok(Ending::Roots(blocks));
        }
        let mut end = 0_u64;
        for _ in 0..blocks {
            end += u64::from(self.u32()?);
        }
        let (strings, longest) = (self.u32()?, self.u32()?);
        for _ in 0..strings {
            let len = self.u32()?;
            if len > longest {
                return Err(Stop::Implausible);
            }
            self.take(len as usize)?;
        }
        let groups = self.u32()?;
        self.take(groups as usize * 4)?;
        Ok(Ending::RootsAt(end + self.at as u64, blocks))
    }

    fn short_text(&mut self) -> Result<(), Stop> {
        let len = self.byte()?;
        self.text(len.into(), 255).map(drop)
    }

    /// A BGSM or BGEM has at least four names at a place that its version decides (NifSkope, `Material`).
    fn material_ending(&mut self) -> Result<Ending, Stop> {
        self.at = 4;
        let version = self.u32()?;
        let numbers = 49 + if version < 10 { 5 } else { 1 } + 1 + usize::from(version >= 6);
        if version > MATERIAL_VERSION_MAX {
            return Err(Stop::Implausible);
        }
        self.take(numbers)?;
        for _ in 0..MATERIAL_NAMES {
            let len = self.u32()? as usize;
            self.text(len, MESH_NAME_MAX)?;
        }
        Ok(Ending::After(self.at as u64))
    }
}

/// Whether a NIF of so many blocks ends in the number of its roots and their numbers. `bytes` are its last
/// ones.
fn has_roots(bytes: &[u8], blocks: u32) -> bool {
    let words: Vec<u32> = (bytes.rchunks_exact(4).take(ROOTS_MAX + 1))
        .map(|word| word.first_chunk().map_or(0, |it| u32::from_le_bytes(*it)))
        .collect();
    let is_root = |word: &u32| *word < blocks || *word == u32::MAX;
    // Only a mesh without blocks has no root.
    (0..words.len())
        .take_while(|roots| words.iter().take(*roots).all(is_root))
        .any(|roots| words[roots] as usize == roots && (roots > 0 || blocks == 0))
}

/// Whether a file ends within a name: its last bytes are text, and a larger length stands before them.
fn ends_in_name(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| (b' '..0x7f).contains(byte);
    let text = bytes.iter().rev().take_while(|byte| is_text(byte)).count();
    // The length can end in a byte that is a letter, too, but its upper bytes are 0.
    let Some(stated) = length_before(bytes, bytes.len() - text) else { return false };
    text >= CUT_NAME_MIN && stated > text && stated <= MESH_NAME_MAX
}

/// Number of bytes of text from which on the end of a file may be a name that is cut off.
const CUT_NAME_MIN: usize = 4;
/// The version of Morrowind's meshes.
const MORROWIND: u32 = 0x0400_0002;
/// The versions of Oblivion's meshes.
const OBLIVION_FIRST: u32 = 0x1400_0004;
const OBLIVION_LAST: u32 = 0x1400_0005;
/// The version of later meshes, which state the lengths of their blocks.
const SIZED: u32 = 0x1402_0007;
/// Maximum length of the name of a type of blocks, in bytes.
const TYPE_MAX: usize = 128;
/// Maximum number of roots that are searched for. Nearly all meshes have one.
const ROOTS_MAX: usize = 256;
/// The last version of materials that is known.
const MATERIAL_VERSION_MAX: u32 = 22;
/// Number of names that every material has.
const MATERIAL_NAMES: usize = 4;

/// Maximum length of the first line of a NIF.
const LINE_MAX: usize = 128;
/// Number of bytes that are read at a time.
const STEP: usize = 1 << 18;
/// Number of bytes that stay in the window for the next step: a name, its length, and [`AFTER`].
const KEPT: usize = 2 * MESH_NAME_MAX + 64;

/// The names that were found.
#[derive(Default)]
struct NameSet {
    all: Vec<NamedFile>,
    seen: HashSet<Vec<u8>>,
}

impl NameSet {
    fn add(&mut self, kind: NameKind, stored: &[u8]) -> Result<(), MeshError> {
        let file = stored.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default();
        let stem = file.rsplitn(2, |byte| *byte == b'.').last().unwrap_or_default();
        // An empty slot of a material can be called `null`.
        let is_empty = stem.is_empty() || stem.eq_ignore_ascii_case(b"null");
        let is_name = !is_empty && stored.len() <= MESH_NAME_MAX;
        if !is_name || !self.seen.insert(stored.to_ascii_lowercase()) {
            return Ok(());
        }
        if self.all.len() >= MESH_NAMES_MAX {
            return Err(MeshError::TooManyNames);
        }
        self.all.push(NamedFile { kind, stored: stored.to_owned() });
        Ok(())
    }
}

/// The part of a file that is in memory: the beginning of a buffer.
struct Window {
    buffer: Vec<u8>,
    /// The end of the part.
    end: usize,
    /// How many of the bytes were scanned before the last step.
    scanned: usize,
    /// Number of bytes that were read.
    len: u64,
    is_last: bool,
}

impl Window {
    /// Reads a file step by step, and finds its names.
    fn names(&mut self, file: &mut impl Read) -> Result<Scanned, MeshError> {
        self.fill(file)?;
        let kind = kind_of(self.bytes()).ok_or(MeshError::Unknown)?;
        let ending = ending(kind, self.bytes());
        let mut names = NameSet::default();
        let mut json = JsonStrings::default();
        loop {
            match kind {
                FileKind::JsonMaterial => {
                    json.scan(self.bytes().get(self.scanned..).unwrap_or_default(), &mut names)?;
                }
                FileKind::Nif { bethesda, .. } => self.scan(bethesda >= STARFIELD, &mut names)?,
                FileKind::Material => self.scan(false, &mut names)?,
            }
            if self.is_last {
                let is_cut = match (kind, ending) {
                    (FileKind::JsonMaterial, _) => json.depth != 0 || json.string.is_some(),
                    (_, Ending::After(end)) => self.len <= end,
                    (_, Ending::RootsAt(at, blocks)) => !self.has_roots_at(at, blocks),
                    (_, Ending::Roots(blocks)) => !has_roots(self.bytes(), blocks),
                    (_, Ending::InHeader) => names.all.is_empty(),
                    (_, Ending::Unknown) => false,
                };
                if is_cut || kind != FileKind::JsonMaterial && ends_in_name(self.bytes()) {
                    return Err(MeshError::CutOff);
                }
                return Ok(Scanned { kind, names: names.all });
            }
            self.fill(file)?;
        }
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.end).unwrap_or_default()
    }

    /// Reads the next step, and keeps the end of the step before.
    fn fill(&mut self, file: &mut impl Read) -> Result<(), MeshError> {
        let kept = self.end.min(KEPT);
        self.buffer.copy_within(self.end - kept..self.end, 0);
        (self.scanned, self.end) = (kept, kept);
        let full = kept + STEP;
        while let Some(rest) = self.buffer.get_mut(self.end..full).filter(|rest| !rest.is_empty()) {
            match file.read(rest) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(MeshError::Io(error)),
            }
        }
        self.is_last = self.end < full;
        self.len += (self.end - self.scanned) as u64;
        Ok(())
    }

    /// Whether the numbers of roots are at an offset in the file. `self` has the last bytes of the file.
    fn has_roots_at(&self, at: u64, blocks: u32) -> bool {
        // If these bytes begin later, more than the roots follows.
        let Some(within) = at.checked_sub(self.len - self.bytes().len() as u64) else { return true };
        let rest = usize::try_from(within).ok().and_then(|within| self.bytes().get(within..));
        let Some((roots, rest)) = rest.and_then(<[u8]>::split_first_chunk) else { return false };
        let roots = u32::from_le_bytes(*roots);
        roots > blocks || rest.len() / 4 >= roots as usize
    }

    /// Adds each name that ends in this step. The last bytes are left for the next step, because what follows
    /// a name belongs to its proof.
    fn scan(&self, has_geometry: bool, names: &mut NameSet) -> Result<(), MeshError> {
        let bytes = self.bytes();
        let end = if self.is_last { bytes.len() } else { bytes.len().saturating_sub(AFTER) };
        let begin = self.scanned.saturating_sub(AFTER);
        let sign = if has_geometry { b'@' } else { b'.' };
        let mut from = begin;
        while let Some(at) = next_of([b'.', sign], bytes.get(..end).unwrap_or_default(), from) {
            if bytes.get(at) == Some(&b'.') {
                if let Some((kind, stored)) = name_around(bytes, at) {
                    names.add(kind, stored)?;
                }
            } else if let Some(stored) = geometry_at(bytes, at) {
                names.add(NameKind::Geometry, stored)?;
            }
            from = at + 1;
        }
        Ok(())
    }
}

/// The position of the first of two bytes, from a position on. Both are rare, so most blocks have neither,
/// and the compiler compares a whole block at once.
fn next_of(wanted: [u8; 2], bytes: &[u8], from: usize) -> Option<usize> {
    const BLOCK: usize = 32;
    let is_wanted = |byte: &u8| *byte == wanted[0] || *byte == wanted[1];
    let mut at = from;
    for block in bytes.get(from..)?.chunks(BLOCK) {
        if block.iter().fold(false, |found, byte| found | is_wanted(byte)) {
            return Some(at + block.iter().position(is_wanted)?);
        }
        at += block.len();
    }
    None
}

/// Number of bytes behind a dot or a number that a name may need: an extension, or a length and a name.
const AFTER: usize = MESH_NAME_MAX + 8;

/// The name whose last dot is at `dot`, if its length proves it.
fn name_around(bytes: &[u8], dot: usize) -> Option<(NameKind, &[u8])> {
    let after = bytes.get(dot + 1..)?;
    let named = kinds::KINDS.iter().filter(|kind| kind.is_named);
    let endings = named.flat_map(|kind| kind.endings.iter().map(move |ending| (ending, kind)));
    endings.into_iter().find_map(|(extension, kind)| {
        let is_it = after.get(..extension.len())?.eq_ignore_ascii_case(extension.as_bytes());
        // The length of a name is below 65,536, so the byte before a name is 0, and there is none in it.
        let before = bytes.get(dot.saturating_sub(MESH_NAME_MAX)..dot).filter(|_| is_it)?;
        let start = dot - before.iter().rev().position(|byte| *byte == 0)?;
        let end = dot + 1 + extension.len();
        let stored = bytes.get(start..end)?;
        let stated = length_before(bytes, start)?;
        let has_nul = bytes.get(end) == Some(&0);
        let is_stated = stated == stored.len() || has_nul && stated == stored.len() + 1;
        (is_stated && stored.len() <= MESH_NAME_MAX).then_some((name_kind(kind), stored))
    })
}

/// The name of the geometry behind a number 64 at `at`, whose neighbours prove it: the number of indices,
/// which make triangles, and that of vertices come before, and a length follows.
fn geometry_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let number = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|it| u32::from_le_bytes(*it));
    let (indices, vertices) = (number(at.checked_sub(8)?)?, number(at.checked_sub(4)?)?);
    let (flags, length) = (number(at)?, number(at + 4)? as usize);
    let is_proved = flags == 64 && indices % 3 == 0 && vertices <= 1 << 16;
    let stored =
        bytes.get(at + 8..)?.get(..length).filter(|_| is_proved && (1..=MESH_NAME_MAX).contains(&length))?;
    let is_text = stored.iter().all(|byte| !byte.is_ascii_control());
    (is_text && kind_of_name(stored).is_none()).then_some(stored)
}

/// The length that is stored before a position.
fn length_before(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at.checked_sub(4)?..at)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

/// Finds the strings of a JSON text, step by step.
#[derive(Default)]
struct JsonStrings {
    /// The string so far, without its quotes; `None` outside of strings.
    string: Option<Vec<u8>>,
    is_escaped: bool,
    /// Number of objects and lists that are open.
    depth: i64,
}

impl JsonStrings {
    fn scan(&mut self, bytes: &[u8], names: &mut NameSet) -> Result<(), MeshError> {
        for &byte in bytes {
            match (&mut self.string, byte) {
                (None, b'"') => self.string = Some(Vec::new()),
                (None, b'{' | b'[') => self.depth += 1,
                (None, b'}' | b']') => self.depth -= 1,
                (None, _) => {}
                (Some(_), b'"') if !self.is_escaped => {
                    let string = self.string.take().unwrap_or_default();
                    // What ends in another way names an object of the material.
                    if let Some(kind @ NameKind::Texture) = kind_of_name(&string) {
                        names.add(kind, &string)?;
                    }
                }
                (Some(string), _) => {
                    let is_backslash = byte == b'\\';
                    if self.is_escaped || !is_backslash {
                        // A longer string is no name. Its beginning is kept, and its end is not.
                        if string.len() <= MESH_NAME_MAX {
                            string.push(byte);
                        }
                    }
                    self.is_escaped = is_backslash && !self.is_escaped;
                }
            }
        }
        Ok(())
    }
}
