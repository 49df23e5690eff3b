//! Writes one archive: the data of its files in order, then the tables around it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::pack_options::{PackError, PackErrorKind, PackOptions, PackProgress};
use super::pipeline::{
    self, GAIN_MIN, Limited, Made, Piece, PieceDigest, PieceHasher, PieceLengths, codec, copy, piece_lengths,
};
use super::planned::{How, PlannedArchive, PlannedFile};
use crate::content::BytesKey;
use crate::content::codec::Stream;
use crate::format::write::{Block, NewEntry, NewKind};
use crate::shown::Shown;
use crate::system::once_per_file::OncePerFile;
use crate::system::parallel::try_in_parallel;
use crate::texture::dds::Texture;
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::vfs::file::SharedBytes;
use crate::vfs::opened_archive::{StoredEntry, stored_entries};
use crate::vfs::{OpenOptions, Vfs, VfsFile};

/// Number of bytes of an archive that are copied within it at a time.
const COPY_LEN: u64 = 1 << 20;

/// What was written of an archive.
pub(super) struct Written {
    /// The digests of each file's pieces, by its number in the plan.
    pub(super) digests: Vec<Vec<PieceDigest>>,
    /// Size of the archive in bytes.
    pub(super) size: u64,
    pub(super) stored: usize,
    pub(super) compressed: usize,
    /// Files whose data another file of the archive has.
    pub(super) shared: usize,
}

/// An archive that is being written.
struct Writer<'a> {
    out: BufWriter<&'a File>,
    path: &'a Path,
    /// Where the next data goes, in bytes from the start of the archive.
    at: u64,
    kind: NewKind,
    embeds_names: bool,
    /// Blocks that were written.
    known: HashMap<(PieceDigest, u32, bool), Block>,
}

/// Writes an archive into an empty file.
pub(super) fn write(
    archive: &PlannedArchive,
    options: &PackOptions,
    (file, path): (&File, &Path),
    progress: &PackProgress<'_>,
) -> Result<Written, PackError> {
    let layout = &archive.layout;
    let embeds_names = layout.embeds_names();
    let mut writer = Writer {
        out: BufWriter::with_capacity(1 << 20, file),
        path,
        at: layout.data_start(),
        kind: archive.kind,
        embeds_names,
        known: HashMap::new(),
    };
    let start = writer.at;
    writer.do_io(|out| out.seek(SeekFrom::Start(start)).map(drop))?;
    let order = layout.data_order();
    let ids: Vec<usize> = order.iter().filter_map(|&at| layout.files().get(at)).map(|it| it.id).collect();
    let files: Vec<&PlannedFile> = ids.iter().filter_map(|&id| archive.files.get(id)).collect();
    let mut blocks = vec![Vec::new(); layout.files().len()];
    let mut written = Written {
        digests: vec![Vec::new(); archive.files.len()],
        size: 0,
        stored: 0,
        compressed: 0,
        shared: 0,
    };
    let twins = twins(&files);
    let own: Vec<usize> = (0..files.len()).filter(|&index| twins[index].is_none()).collect();
    let read: Vec<&PlannedFile> = own.iter().map(|&index| files[index]).collect();
    pipeline::run(&read, (archive.kind, options.level, options.threads), |nth, made| {
        let mut made = Some(made);
        // A file, and those behind it that have the bytes of an earlier one.
        for index in own[nth]..own.get(nth + 1).copied().unwrap_or(files.len()) {
            let (file, before) = (files[index], writer.at);
            let placed = match made.take() {
                Some(Made::Pieces(pieces)) => {
                    let digests = pieces.iter().map(|piece| piece.digest).collect();
                    let blocks = pieces.iter().map(|piece| writer.add(file, piece));
                    (blocks.collect::<Result<Vec<_>, _>>()?, digests)
                }
                Some(Made::Large) => {
                    let (block, digest) = writer.add_large(file, options)?;
                    (vec![block], vec![digest])
                }
                None => {
                    let twin = twins[index].unwrap_or(own[nth]);
                    let blocks = blocks[order[twin]].iter();
                    let blocks = blocks.map(|&block| writer.add_again(files[twin], block, file));
                    (blocks.collect::<Result<Vec<_>, _>>()?, written.digests[ids[twin]].clone())
                }
            };
            let is_packed = placed.0.iter().any(|block| block.is_packed);
            written.shared += usize::from(writer.at == before && file.size > 0);
            written.compressed += usize::from(is_packed);
            written.stored += usize::from(!is_packed);
            (blocks[order[index]], written.digests[ids[index]]) = placed;
            progress(file.size);
        }
        Ok(())
    })?;
    let end = writer.at;
    let tables = |what: crate::format::write::TableError| {
        PackError::new(PackErrorKind::Source, format!("{}: {what}", archive.name.shown()))
    };
    let tail = layout.tail().map_err(tables)?;
    let head = layout.head(&blocks, end).map_err(tables)?;
    if head.len() as u64 != layout.data_start() {
        return Err(tables(crate::format::write::TableError::Blocks));
    }
    written.size = end + tail.len() as u64;
    writer.do_io(|out| {
        out.write_all(&tail)?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&head)?;
        out.flush()
    })?;
    Ok(written)
}

/// For each file, an earlier one that has the same bytes and is stored in the same way. Only that one is
/// read.
fn twins(files: &[&PlannedFile]) -> Vec<Option<usize>> {
    let shared = SharedBytes::among(files.iter().map(|file| &file.file));
    let mut firsts = HashMap::new();
    let twin = |(index, file): (usize, &&PlannedFile)| {
        let first = *firsts.entry((shared.key(&file.file)?, file.how)).or_insert(index);
        (first != index).then_some(first)
    };
    files.iter().enumerate().map(twin).collect()
}

impl Writer<'_> {
    fn do_io(&mut self, work: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<(), PackError> {
        work(&mut self.out).map_err(|error| PackError::io(self.path, &error))
    }

    /// What precedes a file's data.
    fn prefix(&self, file: &PlannedFile, size: u32, is_packed: bool) -> Vec<u8> {
        let mut prefix = Vec::new();
        if !matches!(self.kind, NewKind::Tes4(_)) {
            return prefix;
        }
        if self.embeds_names {
            let path = file.stored.bytes();
            prefix.push(path.len() as u8);
            prefix.extend_from_slice(path);
        }
        if is_packed {
            prefix.extend(size.to_le_bytes());
        }
        prefix
    }

    fn add(&mut self, file: &PlannedFile, piece: &Piece) -> Result<Block, PackError> {
        let key = (piece.digest, piece.size, piece.is_packed);
        // Data that follows a name would carry the name of the first file.
        let shares = !self.embeds_names;
        if shares
            && piece.size > 0
            && let Some(block) = self.known.get(&key)
        {
            return Ok(*block);
        }
        let prefix = self.prefix(file, piece.size, piece.is_packed);
        let len = prefix.len() as u64 + piece.bytes.len() as u64;
        self.do_io(|out| out.write_all(&prefix).and_then(|()| out.write_all(&piece.bytes)))?;
        let block = self.block(len, piece.size, piece.is_packed)?;
        if shares {
            self.known.insert(key, block);
        }
        Ok(block)
    }

    /// Adds a file with the bytes of an earlier one. If names are embedded, its data follows its own name.
    fn add_again(
        &mut self,
        earlier: &PlannedFile,
        block: Block,
        file: &PlannedFile,
    ) -> Result<Block, PackError> {
        if !self.embeds_names {
            return Ok(block);
        }
        let start = block.offset + self.prefix(earlier, block.size, block.is_packed).len() as u64;
        let end = block.offset + u64::from(block.len);
        let prefix = self.prefix(file, block.size, block.is_packed);
        self.do_io(|out| {
            out.write_all(&prefix)?;
            // The earlier data may not be in the file yet.
            out.flush()?;
            let (archive, mut at) = (*out.get_ref(), start);
            let mut bytes = vec![0; (end - start).min(COPY_LEN) as usize];
            while at < end {
                let piece = &mut bytes[..(end - at).min(COPY_LEN) as usize];
                archive.read_exact_at(piece, at)?;
                out.write_all(piece)?;
                at += piece.len() as u64;
            }
            Ok(())
        })?;
        self.block(prefix.len() as u64 + (end - start), block.size, block.is_packed)
    }

    /// The block of what was just written.
    fn block(&mut self, len: u64, size: u32, is_packed: bool) -> Result<Block, PackError> {
        let block = Block {
            offset: self.at,
            len: u32::try_from(len).map_err(|_| {
                PackError::new(PackErrorKind::Source, "a file becomes larger than an archive can state")
            })?,
            size,
            is_packed,
        };
        self.at += len;
        Ok(block)
    }

    /// Encodes a file while it is copied, because it is too large to be held in memory. Once it turns out
    /// that it does not become smaller, it is copied again as it is.
    fn add_large(
        &mut self,
        file: &PlannedFile,
        options: &PackOptions,
    ) -> Result<(Block, PieceDigest), PackError> {
        let size = u32::try_from(file.size).unwrap_or(u32::MAX);
        let start = self.at;
        if file.how == How::Compressed {
            let prefix = self.prefix(file, size, true);
            self.do_io(|out| out.write_all(&prefix))?;
            // More bytes are not worth it.
            let most = file.size - GAIN_MIN;
            let mut limited = Limited { out: &mut self.out, left: most, is_longer: false };
            let mut hash = Sha256::new();
            let encoded = encode(file, options, codec(self.kind), &mut limited, &mut hash);
            let (is_longer, len) = (limited.is_longer, most - limited.left);
            if !is_longer {
                encoded?;
                let block = self.block(prefix.len() as u64 + len, size, true)?;
                return Ok((block, hash.finalize().into()));
            }
            self.do_io(|out| out.seek(SeekFrom::Start(start)).map(drop))?;
        }
        let prefix = self.prefix(file, size, false);
        self.do_io(|out| out.write_all(&prefix))?;
        let mut hash = Sha256::new();
        let mut both = Both { out: &mut self.out, hash: &mut hash };
        copy(&file.file, file.size, &mut both)?;
        let block = self.block(prefix.len() as u64 + file.size, size, false)?;
        Ok((block, hash.finalize().into()))
    }
}

fn encode(
    file: &PlannedFile,
    options: &PackOptions,
    codec: crate::format::Codec,
    out: &mut Limited<'_, BufWriter<&File>>,
    hash: &mut Sha256,
) -> Result<(), PackError> {
    let failed =
        |error: io::Error| PackError::new(PackErrorKind::Io, format!("{}: {error}", file.path.shown()));
    let Some(mut stream) = Stream::new(codec, options.level, out).map_err(failed)? else {
        return Err(failed(io::ErrorKind::Unsupported.into()));
    };
    copy(&file.file, file.size, &mut Both { out: &mut stream, hash })?;
    stream.finish().map(drop).map_err(failed)
}

/// Writes and hashes.
struct Both<'o, W> {
    out: &'o mut W,
    hash: &'o mut Sha256,
}

impl<W: Write> Write for Both<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

// Reads a finished archive through the parsers of this crate, and compares each file with its source.

/// Compares an archive with what was read of its sources.
pub(super) fn compare(
    archive: &PlannedArchive,
    digests: &[Vec<PieceDigest>],
    options: &PackOptions,
    path: &Path,
    progress: &PackProgress<'_>,
) -> Result<(), PackError> {
    // Its names are compared as bytes, so that no code page matters.
    let opened = OpenOptions::new().with("encoding", options.encoding.name()).open([path]);
    let compared = opened
        .map_err(|error| error.to_string())
        .and_then(|vfs| compare_with(archive, digests, &vfs, progress));
    compared.map_err(|what| {
        let name = archive.name.shown();
        PackError::new(PackErrorKind::Differs, format!("{name}: not written: read back, {what}"))
    })
}

/// Compares an open archive with what was read of the sources of a planned one. Fails with what differs.
fn compare_with(
    archive: &PlannedArchive,
    digests: &[Vec<PieceDigest>],
    vfs: &Vfs,
    progress: &PackProgress<'_>,
) -> Result<(), String> {
    let stored = vfs.store().archive(0).ok_or("it is not an archive")?;
    let (_, stored) = stored_entries(stored, &vfs.opened().options).map_err(|error| error.to_string())?;
    let mut found: Vec<Option<VfsFile>> = vec![None; stored.len()];
    for file in vfs.files() {
        let entry = file.entry().entry as usize;
        found[entry] = Some(file);
    }
    if stored.len() != archive.files.len() {
        let planned = archive.files.len();
        return Err(format!("it has {} files instead of {planned}", stored.len()));
    }
    let records = archive.layout.files();
    for (record, stored) in records.iter().zip(&stored) {
        if !has_name(record, stored) {
            return Err(format!("it lacks {}", archive.files[record.id].path.shown()));
        }
    }
    // In the order of the data.
    let order: Vec<(usize, VfsFile)> = archive
        .layout
        .data_order()
        .into_iter()
        .filter_map(|at| Some((records.get(at)?.id, at)))
        .map(|(id, at)| {
            let lacks = || format!("it lacks {}", archive.files[id].path.shown());
            found.get_mut(at).and_then(Option::take).map(|found| (id, found)).ok_or_else(lacks)
        })
        .collect::<Result<_, _>>()?;
    let read_back = ReadBack::of(order.iter().map(|(_, found)| found));
    try_in_parallel(order.len(), &|| {}, |index| {
        let (id, found) = &order[index];
        let file = &archive.files[*id];
        let compared = read_back.compare(file, &digests[*id], found);
        progress(file.size);
        compared.map_err(|what| format!("{}: {what}", file.path.shown()))
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

/// The digests of files of an archive that is read back, each made once for all names of the same bytes.
pub(super) struct ReadBack {
    shared: SharedBytes,
    digests: OncePerFile<Result<Vec<PieceDigest>, String>, (BytesKey, PieceLengths)>,
}

impl ReadBack {
    pub(super) fn of<'f>(files: impl IntoIterator<Item = &'f VfsFile>) -> Self {
        Self { shared: SharedBytes::among(files), digests: OncePerFile::default() }
    }

    /// Compares a file of an archive with what was read of its source.
    pub(super) fn compare(
        &self,
        file: &PlannedFile,
        digests: &[PieceDigest],
        found: &VfsFile,
    ) -> Result<(), String> {
        const DIFFERENT: &str = "its bytes differ from those of the source";
        let lengths = piece_lengths(file);
        let of_found = self.digests.of(self.shared.key(found).map(|key| (key, lengths.clone())), || {
            let mut hasher = PieceHasher::new(lengths);
            found.write_to(&mut hasher).map_err(|error| error.to_string())?;
            if hasher.beyond > 0 { Err(DIFFERENT.into()) } else { Ok(hasher.digests) }
        })?;
        if of_found == digests { compare_header(file, found) } else { Err(DIFFERENT.into()) }
    }
}

/// Compares the header that a texture of an archive is shown with.
fn compare_header(file: &PlannedFile, found: &VfsFile) -> Result<(), String> {
    let (Some(parts), How::Texture) = (&file.parts, file.how) else { return Ok(()) };
    // No more than the header, so that no texels are decoded.
    let mut head = vec![0; usize::try_from(parts.texture.header_len()).unwrap_or(0).min(HEADER_MAX)];
    let len = found.read_at(0, &mut head).map_err(|error| error.to_string())?;
    let header =
        FileHeader::parse(&head[..len], found.size_or_estimate()).map_err(|error| error.to_string())?;
    if found.size().ok() != Some(header.len + parts.texels) {
        return Err("its number of texels differs from the source".into());
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pack::Plan;

    #[test]
    fn an_extent_of_many_names_is_decoded_once_and_read_back_once() {
        const SIZE: usize = 200_000;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("mod/meshes")).unwrap();
        let bytes: Vec<u8> = (0..SIZE).map(|at| (at / 7 % 251) as u8).collect();
        for name in 0..30 {
            fs::write(dir.path().join(format!("mod/meshes/{name}.nif")), &bytes).unwrap();
        }
        for (game, name) in [("fallout4", "Mod - Main.ba2"), ("skyrimse", "Mod.bsa")] {
            let options = PackOptions { name: Some("Mod".into()), ..PackOptions::new(game).unwrap() };
            let plan = |source: &Path| {
                let vfs = OpenOptions::new().open([source]).unwrap();
                (Plan::new(&vfs, &options).unwrap(), vfs)
            };
            plan(&dir.path().join("mod")).0.write(&dir.path().join("first")).unwrap();
            let (plan, source) = plan(&dir.path().join("first").join(name));
            let archive = &plan.archives[0];
            let path = dir.path().join("second");
            let file = File::create(&path).unwrap();
            let written = write(archive, &options, (&file, &path), &|_| {}).unwrap();
            assert_eq!((archive.files.len(), written.shared), (30, 29), "{game}");
            assert_eq!(source.store().decoded_bytes(), SIZE as u64, "{game}");
            let read_back = OpenOptions::new().open([&path]).unwrap();
            compare_with(archive, &written.digests, &read_back, &|_| {}).unwrap();
            assert_eq!(read_back.store().decoded_bytes(), SIZE as u64, "{game}");
            assert_eq!(fs::read(&path).unwrap(), fs::read(dir.path().join("first").join(name)).unwrap());
        }
    }
}
