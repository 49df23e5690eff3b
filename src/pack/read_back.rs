//! Reads a finished archive through the parsers of this crate, and compares each file with its source.

use std::path::Path;

use super::error::{PackError, PackErrorKind};
use super::pack_options::{PackOptions, PackProgress};
use super::pipeline::{PieceDigest, PieceHasher};
use super::planned::{How, PlannedArchive, PlannedFile};
use crate::format::write::NewEntry;
use crate::shown::Shown;
use crate::texture::dds::Texture;
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::vfs::opened_archive::{StoredEntry, stored_entries};
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
    // Its names are compared as bytes, so that no code page matters.
    let opened = OpenOptions { encoding: Some(options.encoding), ..OpenOptions::default() }.open([path]);
    let vfs = opened.map_err(|error| differs(error.to_string()))?;
    let stored = vfs.store().archive(0).ok_or_else(|| differs("it is no archive".to_owned()))?;
    let (_, stored) =
        stored_entries(stored, &vfs.opened().options).map_err(|error| differs(error.to_string()))?;
    let mut found: Vec<Option<VfsFile>> = vec![None; stored.len()];
    for file in vfs.files() {
        let entry = file.entry().entry as usize;
        found[entry] = Some(file);
    }
    if stored.len() != archive.files.len() {
        let planned = archive.files.len();
        return Err(differs(format!("it has {} files instead of {planned}", stored.len())));
    }
    let records = archive.layout.files();
    for (record, stored) in records.iter().zip(&stored) {
        if !has_name(record, stored) {
            return Err(differs(format!("it lacks {}", archive.files[record.id].path.shown())));
        }
    }
    // In the order of the data.
    let order: Vec<(usize, VfsFile)> = archive
        .layout
        .data_order()
        .into_iter()
        .filter_map(|at| Some((records.get(at)?.id, at)))
        .map(|(id, at)| {
            let lacks = || differs(format!("it lacks {}", archive.files[id].path.shown()));
            found.get_mut(at).and_then(Option::take).map(|found| (id, found)).ok_or_else(lacks)
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

/// Whether a record has the planned name and hash. Folders of one hash have one name in a BSA.
fn has_name(planned: &NewEntry, stored: &StoredEntry) -> bool {
    let Some((folder, file)) = &stored.name else { return false };
    let planned_hash = planned.path.hash();
    let whole = match &folder[..] {
        b"" | b"." => file.clone(),
        folder => [folder, b"\\", file].concat(),
    };
    let is_name = whole == planned.path.bytes()
        || folder.eq_ignore_ascii_case(planned.path.folder()) && *file == planned.path.name();
    is_name && stored.hash == planned_hash
}

/// Compares a file of an archive with what was read of its source.
pub(super) fn compare_file(
    file: &PlannedFile,
    digests: &[PieceDigest],
    found: &VfsFile,
) -> Result<(), String> {
    let mut hasher = PieceHasher::of(file);
    found.write_to(&mut hasher).map_err(|error| error.to_string())?;
    if hasher.digests != digests || hasher.beyond > 0 {
        return Err("its bytes differ from those of the source".into());
    }
    let (Some(parts), How::Texture) = (&file.parts, file.how) else { return Ok(()) };
    let mut head = vec![0; HEADER_MAX];
    let len = found.read_at(0, &mut head).map_err(|error| error.to_string())?;
    let header = FileHeader::parse(&head[..len], found.shown_size()).map_err(|error| error.to_string())?;
    if found.size().ok() != Some(header.len + parts.texels) {
        return Err("it has another number of texels than the source".into());
    }
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
