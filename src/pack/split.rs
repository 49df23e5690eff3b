//! Splits files among several archives, if one would be too large for the game.

use super::error::{PackError, PackErrorKind};
use super::pack_options::PackOptions;
use super::pipeline::{self, Made};
use super::planned::{How, PlannedFile};
use super::rules::Game;
use super::verdict::plugin_of_table;
use crate::format::write::{NewArchive, NewEntry, NewKind, NewTexture};
use crate::shown::Shown;

impl Game {
    /// The largest archive in bytes.
    pub(super) fn size_max(&self, options: &PackOptions) -> u64 {
        options.size_max.unwrap_or(self.size_max)
    }
}

/// The files of each archive. They stay in their order.
///
/// Only if the files could be too large for one archive uncompressed, they are compressed once to learn their
/// sizes, and again when the archives are written. So a plan is the same with and without `--dry-run`, and
/// what compression saves splits nothing. Sharing of equal data is not counted: tools that change an archive
/// may undo it.
pub(super) fn split(
    kind: NewKind,
    files: Vec<PlannedFile>,
    options: &PackOptions,
) -> Result<Vec<Vec<PlannedFile>>, PackError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let max = options.game.size_max(options);
    let tables: Vec<u64> = files.iter().map(|file| table_bytes(kind, file)).collect();
    // What cannot be compressed is stored, except for textures, which grow by at most so much.
    let bounds = files.iter().map(|file| match file.how {
        How::Texture => file.size + file.size / 128 + 1024,
        _ => file.size,
    });
    let bounds: Vec<u64> = bounds.zip(&tables).map(|(bound, table)| bound + table).collect();
    if bounds.iter().sum::<u64>() <= max {
        return Ok(vec![files]);
    }
    // A plugin finds its tables of texts in its own archive, and the first one is.
    let (first, others): (Vec<_>, Vec<_>) =
        files.into_iter().zip(bounds.into_iter().zip(tables)).partition(|it| is_table(&it.0));
    let (files, (bounds, tables)): (Vec<_>, (Vec<_>, Vec<_>)) = first.into_iter().chain(others).unzip();
    let mut sizes: Vec<u64> = bounds;
    if files.iter().any(|file| file.how != How::Stored) {
        measure(kind, &files, options, &tables, &mut sizes)?;
    }
    if let Some(at) = sizes.iter().position(|size| *size > max) {
        let path = files[at].path.shown();
        let what = format!("{path}: it takes {} bytes, but an archive has at most {max}", sizes[at]);
        return Err(PackError::new(PackErrorKind::Source, what));
    }
    let mut archives: Vec<Vec<PlannedFile>> = Vec::new();
    let mut used = u64::MAX;
    for (file, size) in files.into_iter().zip(sizes) {
        if used.saturating_add(size) > max {
            archives.push(Vec::new());
            used = 0;
        }
        used += size;
        archives.last_mut().into_iter().for_each(|archive| archive.push(file.clone()));
    }
    Ok(archives)
}

fn is_table(file: &PlannedFile) -> bool {
    plugin_of_table(&file.path).is_some()
}

/// Number of bytes that a file takes besides its data, at most.
fn table_bytes(kind: NewKind, file: &PlannedFile) -> u64 {
    let texture = file.parts.as_ref().map(|parts| NewTexture {
        dds: parts.texture,
        chunks: parts.chunks.iter().map(|chunk| chunk.mips).collect(),
    });
    NewArchive::table_bytes(kind, &NewEntry { id: 0, path: file.stored.clone(), texture })
}

/// Compresses all files that are not stored, to learn their sizes.
fn measure(
    kind: NewKind,
    files: &[PlannedFile],
    options: &PackOptions,
    tables: &[u64],
    sizes: &mut [u64],
) -> Result<(), PackError> {
    let unsure: Vec<usize> = (0..files.len()).filter(|&at| files[at].how != How::Stored).collect();
    let chosen: Vec<&PlannedFile> = unsure.iter().map(|&at| &files[at]).collect();
    pipeline::run(&chosen, (kind, options.level, options.threads), |index, made| {
        if let Made::Pieces(pieces) = made {
            let at = unsure[index];
            let packed: u64 = pieces.iter().map(|piece| piece.bytes.len() as u64 + 4).sum();
            sizes[at] = packed + tables[at];
        }
        Ok(())
    })
}
