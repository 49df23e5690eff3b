//! The other readers: the crates `ba2` and `dream_archive`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ba2::prelude::*;
use ba2::{Borrowed, ByteSlice as _, FileFormat, fo4, guess_format, tes3, tes4};

/// A file's bytes, or why it cannot be read.
pub(crate) type Other = Result<Vec<u8>, String>;
type Listing = Result<Vec<(Vec<u8>, Other)>, String>;

/// Another reader.
pub(crate) struct Oracle {
    pub(crate) name: &'static str,
    /// Reads every file of an archive, by its [`key`], or says why it cannot open the archive.
    pub(crate) read: fn(&[u8]) -> Listing,
}

/// All oracles.
pub(crate) const ORACLES: [Oracle; 2] =
    [Oracle { name: "ba2", read: read_ba2 }, Oracle { name: "dream_archive", read: read_dream }];

/// The key that matches files of two readers: the normalised name, or the hashes if there is no name.
///
/// A normalised name is in lower case, with `/` for `\`, without separators at its ends and without
/// `.` as a folder.
pub(crate) fn key(name: &[u8], folder_hash: u64, file_hash: u64) -> Vec<u8> {
    let parts = name.split(|&byte| byte == b'/' || byte == b'\\').filter(|part| !matches!(*part, b"" | b"."));
    let key = parts.collect::<Vec<_>>().join(&b'/').to_ascii_lowercase();
    if key.is_empty() { format!("#{folder_hash:016x}#{file_hash:016x}").into_bytes() } else { key }
}

/// Runs `work` and turns a panic into an error, without printing it.
pub(crate) fn quietly<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    result.unwrap_or_else(|_| Err("it panicked".into()))
}

/// Reads one file and turns a panic into an error. [`quietly`] silences the panic.
fn each(work: impl FnOnce() -> Other) -> Other {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it panicked".into()))
}

fn text(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

fn read_ba2(bytes: &[u8]) -> Listing {
    match guess_format(&mut &bytes[..]) {
        Some(FileFormat::TES3) => {
            let archive = tes3::Archive::read(Borrowed(bytes)).map_err(text)?;
            let file = |(key_of, file): (&tes3::ArchiveKey<'_>, &tes3::File<'_>)| {
                (key(key_of.name(), 0, key_of.hash().numeric()), Ok(file.as_bytes().to_vec()))
            };
            Ok(archive.iter().map(file).collect())
        }
        Some(FileFormat::TES4) => {
            let (archive, options) = tes4::Archive::read(Borrowed(bytes)).map_err(text)?;
            let options = tes4::FileCompressionOptions::from(&options);
            let mut files = Vec::new();
            for (folder, directory) in &archive {
                for (name, file) in directory {
                    let path = [folder.name().as_bytes(), b"\\", name.name().as_bytes()].concat();
                    let path = if name.name().is_empty() { Vec::new() } else { path };
                    let key = key(&path, folder.hash().numeric(), name.hash().numeric());
                    files.push((key, each(|| ba2_tes4(file, &options))));
                }
            }
            Ok(files)
        }
        Some(FileFormat::FO4) => {
            let (archive, options) = fo4::Archive::read(Borrowed(bytes)).map_err(text)?;
            let file = |(name, file): (&fo4::ArchiveKey<'_>, &fo4::File<'_>)| {
                let hash = name.hash();
                let file_hash = u64::from(hash.file) << 32 | u64::from(hash.extension);
                (key(name.name(), hash.directory.into(), file_hash), each(|| ba2_fo4(file, &options)))
            };
            Ok(archive.iter().map(file).collect())
        }
        None => Err("unknown format".into()),
    }
}

fn ba2_tes4(file: &tes4::File<'_>, options: &tes4::FileCompressionOptions) -> Other {
    let mut out = Vec::new();
    file.write(&mut out, options).map_err(text)?;
    Ok(out)
}

/// Reads a file of a BA2. LZ4 chunks need a buffer of their decoded size: ba2 decodes nothing into
/// an empty one.
fn ba2_fo4(file: &fo4::File<'_>, options: &fo4::ArchiveOptions) -> Other {
    let write = fo4::FileWriteOptions::from(options);
    let chunk_options = fo4::ChunkCompressionOptions::from(options);
    let is_lz4 = options.compression_format() == fo4::CompressionFormat::LZ4;
    let mut plain = fo4::File::default();
    plain.header = file.header.clone();
    let mut pieces = Vec::new();
    for chunk in file {
        let mut piece = match chunk.decompressed_len() {
            None => chunk.as_bytes().to_vec(),
            Some(len) => {
                let mut out = if is_lz4 { vec![0; len] } else { Vec::new() };
                chunk.decompress_into(&mut out, &chunk_options).map_err(text)?;
                out
            }
        };
        pieces.append(&mut piece);
    }
    plain.push(fo4::Chunk::from_decompressed(pieces.into_boxed_slice()));
    let mut out = Vec::new();
    plain.write(&mut out, &write).map_err(text)?;
    Ok(out)
}

fn read_dream(bytes: &[u8]) -> Listing {
    use dream_archive::Archive;
    Ok(match Archive::from_slice(bytes).map_err(text)? {
        Archive::Tes3Bsa(archive) => {
            let file = |entry| each(|| archive.read_entry(entry).map_err(text));
            archive.entries().iter().map(|it| (key(it.path(), 0, it.hash()), file(it))).collect()
        }
        Archive::Tes4Bsa(archive) => {
            let file = |entry| each(|| archive.read_entry(entry).map_err(text));
            let name = |entry: &dream_archive::bsa::tes4::Entry| {
                let path = entry.path().map_or(Vec::new(), |path| path.to_vec());
                key(&path, entry.folder_hash().numeric(), entry.file_hash().numeric())
            };
            archive.entries().iter().map(|it| (name(it), file(it))).collect()
        }
        Archive::BA2(archive) => {
            let file = |entry| each(|| archive.read_entry(entry).map_err(text));
            let name = |entry: &dream_archive::ba2::Entry| {
                let hash = entry.hash();
                let file_hash = u64::from(hash.file) << 32 | u64::from(hash.extension);
                key(entry.name(), hash.directory.into(), file_hash)
            };
            archive.entries().iter().map(|it| (name(it), file(it))).collect()
        }
    })
}
