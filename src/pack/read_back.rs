//! Reads a finished archive through the parsers of this crate, and compares each file with its source.

use std::path::Path;

use super::error::{PackError, PackErrorKind};
use super::pack_options::{PackOptions, PackProgress};
use super::piece::{PieceDigest, PieceHasher};
use super::planned::{How, PlannedArchive, PlannedFile};
use crate::shown::Shown;
use crate::texture::dds::Texture;
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::vfs::parallel::try_in_parallel;
use crate::vfs::{OpenOptions, VfsFile};

/// Compares an archive with what was read of its sources.
pub(super) fn compare(
    archive: &PlannedArchive,
    digests: &[Vec<PieceDigest>],
    options: &PackOptions,
    path: &Path,
    progress: &PackProgress<'_>,
) -> Result<(), PackError> {
    let differs = |what: String| {
        let name = archive.name.shown();
        PackError::new(PackErrorKind::Differs, format!("{name}: not written: read back, {what}"))
    };
    let opened = OpenOptions { encoding: Some(options.encoding), ..OpenOptions::default() }.open([path]);
    let vfs = opened.map_err(|error| differs(error.to_string()))?;
    let files = vfs.files().count();
    if files != archive.files.len() {
        return Err(differs(format!("it has {files} files instead of {}", archive.files.len())));
    }
    // In the order of the data.
    let order: Vec<(usize, VfsFile)> = archive
        .layout
        .data_order()
        .into_iter()
        .filter_map(|at| archive.layout.files().get(at))
        .map(|file| {
            let path = options.encoding.decode(file.path.bytes()).map(|path| path.into_owned());
            let found = path.and_then(|path| vfs.file(&path));
            let planned = &archive.files[file.id];
            let lacks = || differs(format!("it lacks {}", planned.path.shown()));
            found.map(|found| (file.id, found)).ok_or_else(lacks)
        })
        .collect::<Result<_, _>>()?;
    try_in_parallel(order.len(), &|| {}, |index| {
        let (id, found) = &order[index];
        let file = &archive.files[*id];
        let compared = compare_file(file, &digests[*id], found);
        progress(file.size);
        compared.map_err(|what| differs(format!("{}: {what}", file.path.shown())))
    })
    .map(drop)
}

fn compare_file(file: &PlannedFile, digests: &[PieceDigest], found: &VfsFile) -> Result<(), String> {
    let mut hasher = PieceHasher::of(file);
    found.write_to(&mut hasher).map_err(|error| error.to_string())?;
    if hasher.digests != digests || hasher.beyond > 0 {
        return Err("its bytes differ from those of the source".into());
    }
    let (Some(parts), How::Texture) = (&file.parts, file.how) else { return Ok(()) };
    let mut head = vec![0; HEADER_MAX];
    let len = found.read_at(0, &mut head).map_err(|error| error.to_string())?;
    let header = FileHeader::parse(&head[..len]).map_err(|error| error.to_string())?;
    let stated = Texture { mips: parts.texture.mips.max(1), ..parts.texture };
    // A header without the DX10 extension states some formats by masks.
    let is_equal = match header.texture() {
        Some(texture) => texture == stated,
        None => {
            (header.width, header.height, header.mips, header.cube)
                == (stated.width.into(), stated.height.into(), stated.mips.into(), stated.cube)
        }
    };
    if is_equal { Ok(()) } else { Err("its header states another texture".into()) }
}
