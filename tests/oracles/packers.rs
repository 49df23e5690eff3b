//! What packing costs without `bsafs pack`, for `scripts/bench-packing`.
//!
//!   packers encode zlib|lz4-frame|lz4-block FOLDER   encodes each file on one thread; prints the seconds
//!   packers ba2 tes4|gnrl|dx10 FOLDER ARCHIVE        packs a folder with the crate `ba2`, at its defaults
//!
//! The crate leaves threads to its caller. This caller has one for each processor, as bsafs has.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a run that fails says so and ends"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ba2::prelude::*;
use ba2::{fo4, tes4};
use bsafs::content::codec::{Encoder, Level};
use bsafs::format::Codec;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["encode", codec, folder] => encode(codec, Path::new(folder)),
        ["ba2", "tes4", folder, archive] => pack_tes4(Path::new(folder), Path::new(archive)),
        ["ba2", "gnrl", folder, archive] => {
            pack_fo4(Path::new(folder), Path::new(archive), fo4::Format::GNRL)
        }
        ["ba2", "dx10", folder, archive] => {
            pack_fo4(Path::new(folder), Path::new(archive), fo4::Format::DX10)
        }
        _ => panic!("usage: packers encode CODEC FOLDER | packers ba2 KIND FOLDER ARCHIVE"),
    }
}

/// Prints how long the encoder of `bsafs pack --level normal` takes, without reading and writing.
fn encode(codec: &str, folder: &Path) {
    let codec = match codec {
        "zlib" => Codec::Zlib,
        "lz4-frame" => Codec::Lz4Frame,
        _ => Codec::Lz4Block,
    };
    let mut encoder = Encoder::new(codec, Level::Normal);
    let (mut out, mut encoded, mut time) = (Vec::new(), 0, Duration::ZERO);
    for path in files(folder) {
        let bytes = fs::read(path).unwrap();
        out.clear();
        let start = Instant::now();
        encoder.encode(&bytes, &mut out).unwrap();
        time += start.elapsed();
        encoded += out.len().min(bytes.len());
    }
    println!("{:.2} s, {encoded} bytes", time.as_secs_f64());
}

fn pack_tes4(folder: &Path, archive: &Path) {
    let options = tes4::FileCompressionOptions::builder().version(tes4::Version::SSE).build();
    let made = on_all_processors(files(folder), |path| {
        tes4::File::from_decompressed(fs::read(path).unwrap().into_boxed_slice()).compress(&options).unwrap()
    });
    let mut folders: BTreeMap<PathBuf, Vec<(tes4::DirectoryKey<'_>, tes4::File<'_>)>> = BTreeMap::new();
    for (path, file) in made {
        let path = path.strip_prefix(folder).unwrap().to_owned();
        let name = path.file_name().unwrap().to_str().unwrap();
        let key = tes4::DirectoryKey::from(name.as_bytes().to_vec());
        folders.entry(path.parent().unwrap().to_owned()).or_default().push((key, file));
    }
    let packed: tes4::Archive<'_> = folders
        .into_iter()
        .map(|(path, files)| {
            let key = tes4::ArchiveKey::from(path.to_str().unwrap().as_bytes().to_vec());
            (key, files.into_iter().collect::<tes4::Directory<'_>>())
        })
        .collect();
    let flags = tes4::ArchiveFlags::DIRECTORY_STRINGS
        | tes4::ArchiveFlags::FILE_STRINGS
        | tes4::ArchiveFlags::COMPRESSED;
    let options = tes4::ArchiveOptions::builder()
        .version(tes4::Version::SSE)
        .flags(flags)
        .types(tes4::ArchiveTypes::MESHES)
        .build();
    packed.write(&mut std::io::BufWriter::new(fs::File::create(archive).unwrap()), &options).unwrap();
}

fn pack_fo4(folder: &Path, archive: &Path, format: fo4::Format) {
    let options = fo4::FileReadOptions::builder()
        .format(format)
        .compression_result(ba2::CompressionResult::Compressed)
        .build();
    let made = on_all_processors(files(folder), |path| fo4::File::read(path, &options).unwrap());
    let packed: fo4::Archive<'_> = made
        .into_iter()
        .map(|(path, file)| {
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            (fo4::ArchiveKey::from(name.into_bytes()), file)
        })
        .collect();
    let options = fo4::ArchiveOptions::builder().format(format).build();
    packed.write(&mut std::io::BufWriter::new(fs::File::create(archive).unwrap()), &options).unwrap();
}

/// All files below a folder, in the order of their paths.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let list = if entry.file_type().unwrap().is_dir() { &mut folders } else { &mut found };
            list.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Calls a function for each path, on a thread for each processor.
fn on_all_processors<T: Send>(paths: Vec<PathBuf>, make: impl Fn(&Path) -> T + Sync) -> Vec<(PathBuf, T)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            made.push((path.clone(), make(path)));
        }
        made
    };
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}
