//! The archives: one of each layout and codec, written anew for each generation.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::contents::{self, Generation};
use crate::support::tes4::{EMBEDDED, FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Parts, Tes3, Tes4, Tes4File, ba2, write_sparse};

/// A kind of archive.
#[derive(Debug)]
pub(crate) struct Kind {
    /// File name. The stems differ, because `--layout per-archive` names folders after them.
    pub(crate) file_name: &'static str,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    Tes3,
    Tes4 { version: u32, flags: u32 },
    General { version: u32, method: u32 },
    Textures { version: u32, method: u32 },
}

/// All archives in load order.
pub(crate) const KINDS: [Kind; 9] = [
    Kind { file_name: "tes3.bsa", layout: Layout::Tes3 },
    Kind { file_name: "v103-zlib.bsa", layout: Layout::Tes4 { version: 103, flags: PACKED } },
    Kind { file_name: "v104-stored.bsa", layout: Layout::Tes4 { version: 104, flags: 0 } },
    Kind { file_name: "v104-zlib.bsa", layout: Layout::Tes4 { version: 104, flags: PACKED | EMBEDDED } },
    Kind { file_name: "v105-lz4.bsa", layout: Layout::Tes4 { version: 105, flags: PACKED | EMBEDDED } },
    Kind { file_name: "gnrl-zlib.ba2", layout: Layout::General { version: 1, method: ba2::METHOD_ZLIB } },
    Kind { file_name: "gnrl-lz4.ba2", layout: Layout::General { version: 3, method: ba2::METHOD_LZ4 } },
    Kind { file_name: "dx10-zlib.ba2", layout: Layout::Textures { version: 1, method: ba2::METHOD_ZLIB } },
    Kind { file_name: "dx10-lz4.ba2", layout: Layout::Textures { version: 3, method: ba2::METHOD_LZ4 } },
];

/// Builds a generation of the archive with this index.
pub(crate) fn generation(seed: u64, archive: usize, number: u64) -> Arc<Generation> {
    Arc::new(Generation::new(seed, archive, KINDS[archive].has_textures(), number))
}

/// The content of a file of an archive, or of the loose folder, which is the layer above the archives.
pub(crate) fn data(seed: u64, layer: usize, number: u64, index: u64) -> Vec<u8> {
    let has_textures = KINDS.get(layer).is_some_and(Kind::has_textures);
    contents::File::new(seed, layer, has_textures, number, index).data
}

impl Kind {
    fn has_textures(&self) -> bool {
        matches!(self.layout, Layout::Textures { .. })
    }

    /// Builds the archive in pieces. One file in seven is stored if the others are packed, and the reverse.
    pub(crate) fn parts(&self, generation: &Generation) -> Parts {
        let files = generation.files.iter().map(|file| (file.index % 7 == 6, &**file));
        match self.layout {
            Layout::Tes3 => files
                .fold(Tes3::new(), |archive, (_, file)| archive.file(stored_path(file), file.data.clone()))
                .build_parts(),
            Layout::Tes4 { version, flags } => {
                let archive = Tes4::new(version).flags(FOLDER_NAMES | FILE_NAMES | flags);
                let add = |archive: Tes4, (is_other, file): (bool, &contents::File)| {
                    let entry = Tes4File::new(&file.name, file.data.clone());
                    archive.add(&file.folder, if is_other { entry.toggle() } else { entry })
                };
                files.fold(archive, add).build_parts()
            }
            Layout::General { version, method } => {
                let add = |archive: Ba2, (is_other, file): (bool, &contents::File)| {
                    let chunk = if is_other || file.data.is_empty() {
                        Chunk::stored(file.data.clone())
                    } else {
                        packed(method, &file.data)
                    };
                    archive.add(Ba2File::general(stored_path(file)).chunk(chunk))
                };
                files.fold(Ba2::general(version).method(method), add).build_parts()
            }
            Layout::Textures { version, method } => files
                .fold(Ba2::textures(version).method(method), |archive, (is_other, file)| {
                    archive.add(texture(file, method, is_other))
                })
                .build_parts(),
        }
    }
}

fn stored_path(file: &contents::File) -> String {
    format!("{}\\{}", file.folder, file.name)
}

fn packed(method: u32, data: &[u8]) -> Chunk {
    if method == ba2::METHOD_LZ4 { Chunk::lz4(data) } else { Chunk::zlib(data) }
}

/// Splits a texture into chunks as the game's tools do: one for each mip of 512 texels and more,
/// and one for the rest.
fn texture(file: &contents::File, method: u32, is_stored: bool) -> Ba2File {
    let texture = file.texture.expect("archives of textures hold textures");
    let mips = texture.mips();
    let alone = (0..mips.len()).take_while(|mip| texture.side >> mip >= 512).count().min(3);
    let mut rest = &file.data[file.data.len() - mips.iter().sum::<usize>()..];
    let mut chunk = |first: usize, last: usize| {
        let (data, after) = rest.split_at(mips[first..=last].iter().sum());
        rest = after;
        let chunk = if is_stored { Chunk::stored(data) } else { packed(method, data) };
        chunk.mips(first as u16, last as u16)
    };
    let head = ba2::Texture::new(texture.format, texture.side, texture.side, mips.len() as u8);
    let entry =
        (0..alone).fold(Ba2File::texture(stored_path(file), head), |entry, mip| entry.chunk(chunk(mip, mip)));
    entry.chunk(chunk(alone, mips.len() - 1))
}

/// Writes an archive with an mtime that is hours ago and differs between generations. A later write
/// then always changes the mtime.
pub(crate) fn write(path: &Path, parts: &Parts, number: u64) -> io::Result<()> {
    write_sparse(path, parts)?;
    let hours_ago = SystemTime::now() - Duration::from_secs(36_000) + Duration::from_secs(number);
    File::options().write(true).open(path)?.set_modified(hours_ago)
}
