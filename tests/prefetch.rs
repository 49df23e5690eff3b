//! Files are decoded before a program that reads in order asks for them. Tested without a kernel.

use std::fs;

use bsafs::OpenOptions;
use bsafs::fs::{FileSystem, Presentation, ReadTarget};
use bsafs::tree::Kind;
use tempfile::TempDir;

use crate::support::content::{noise, texels};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes4, ba2};

/// Length of each file.
const LEN: usize = 40_000;
const LEN_BYTES: u64 = LEN as u64;

/// A file system without threads that decode ahead.
struct Served {
    fs: FileSystem,
    _folder: TempDir,
}

impl Served {
    fn new(archive: &Ba2, cache_size: u64) -> Self {
        Self::serving(&archive.build(), cache_size)
    }

    fn serving(archive: &[u8], cache_size: u64) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("archive");
        fs::write(&path, archive).unwrap();
        let vfs = OpenOptions::new().cache_size(cache_size).open([path]).unwrap();
        Self { fs: FileSystem::new(vfs, Presentation::default()), _folder: folder }
    }

    /// Eight files in four folders. Their numbers are in the order of a listing.
    fn eight_files() -> Self {
        let paths = ["a/0", "a/1", "a/2", "b/3", "b/4", "b/c/5", "d/6", "d/7"];
        let file = |path: &&str| Ba2File::general(path.replace('/', "\\")).chunk(Chunk::zlib(texels(1, LEN)));
        Self::new(&paths.iter().map(file).fold(Ba2::general(1), Ba2::add), 64 << 20)
    }

    fn read(&self, path: &str, offset: u64, len: u32) {
        let view = self.fs.view();
        let node = view.tree().resolve(path.as_bytes()).unwrap();
        // The kernel asks for the size of a file before it reads.
        let Kind::File(entry) = view.tree().kind(node) else { panic!("{path} is a folder") };
        view.store().file(entry).size_or_estimate();
        let ino = view.tree().ino(node);
        ReadTarget::find(view, ino).unwrap().read(offset, len).unwrap();
    }

    fn read_whole(&self, path: &str) {
        self.read(path, 0, 128 << 10);
    }

    /// Bytes decoded so far, after all that waits was decoded.
    fn decoded(&self) -> u64 {
        self.fs.prefetch();
        self.fs.view().store().decoded_bytes()
    }
}

#[test]
fn after_three_files_in_order_the_next_ones_are_decoded_in_all_folders() {
    let served = Served::eight_files();
    served.read_whole("a/0");
    served.read_whole("a/1");
    assert_eq!(served.decoded(), 2 * LEN_BYTES);
    served.read_whole("a/2");
    assert_eq!(served.decoded(), 8 * LEN_BYTES);
    for path in ["b/3", "b/4", "b/c/5", "d/6", "d/7"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 8 * LEN_BYTES, "a file was decoded twice");
}

#[test]
fn reading_parts_of_files_decodes_no_other_files() {
    let served = Served::eight_files();
    let paths = ["a/0", "a/1", "a/2", "b/3", "b/4"];
    for path in paths {
        served.read(path, 0, 4096);
    }
    for path in paths {
        served.read(path, LEN_BYTES - 100, 4096);
    }
    assert_eq!(served.decoded(), 5 * LEN_BYTES);
}

#[test]
fn reading_files_in_another_order_decodes_no_other_files() {
    let served = Served::eight_files();
    for path in ["a/2", "a/1", "a/0", "d/6", "b/4", "b/c/5"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 6 * LEN_BYTES);
}

#[test]
fn a_program_that_leaves_the_order_has_nothing_more_decoded() {
    let served = Served::eight_files();
    for path in ["a/0", "a/1", "a/2", "d/7"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 4 * LEN_BYTES);
}

#[test]
fn two_programs_that_read_in_order_are_followed_side_by_side() {
    let served = Served::eight_files();
    for path in ["a/0", "b/4", "a/1", "b/c/5", "d/6"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 6 * LEN_BYTES);
}

/// Two folders of six files, whose data lies in the opposite order of their names.
fn twelve_files() -> Served {
    let paths = (0..12).rev().map(|number| format!("{}\\{}", ["e", "f"][number / 6], number % 6));
    let file = |path: String| Ba2File::general(path).chunk(Chunk::zlib(texels(1, LEN)));
    Served::new(&paths.map(file).fold(Ba2::general(1), Ba2::add), 64 << 20)
}

#[test]
fn a_program_that_sorts_has_the_next_files_by_name_decoded() {
    let served = twelve_files();
    for path in ["e/0", "e/1"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 2 * LEN_BYTES);
    served.read_whole("e/2");
    assert_eq!(served.decoded(), 6 * LEN_BYTES, "the rest of the folder");
    for path in ["e/3", "e/4", "e/5"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 6 * LEN_BYTES);
    // It goes on in the same way in the next folder.
    served.read_whole("f/0");
    assert_eq!(served.decoded(), 12 * LEN_BYTES);
}

#[test]
fn a_program_that_sorts_one_folder_may_read_the_next_one_as_it_is_listed() {
    let served = twelve_files();
    for path in ["f/0", "f/1", "f/2", "f/3", "f/4", "f/5"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 6 * LEN_BYTES);
    for path in ["e/5", "e/4"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 8 * LEN_BYTES);
    served.read_whole("e/3");
    assert_eq!(served.decoded(), 12 * LEN_BYTES);
}

#[test]
fn at_most_half_of_the_cache_is_decoded_ahead() {
    let paths: Vec<String> = (0..40).map(|number| format!("f\\{number:02}")).collect();
    let file = |path: &String| Ba2File::general(path).chunk(Chunk::zlib(texels(1, LEN)));
    let served = Served::new(&paths.iter().map(file).fold(Ba2::general(1), Ba2::add), 1 << 20);
    for path in ["f/00", "f/01", "f/02"] {
        served.read_whole(path);
    }
    let ahead = (1 << 19) / LEN_BYTES;
    assert_eq!(served.decoded(), (3 + ahead) * LEN_BYTES);
    for number in 3..11 {
        served.read_whole(&format!("f/{number:02}"));
    }
    // The room is refilled once half of it is empty.
    assert_eq!(served.decoded(), (3 + ahead + 7) * LEN_BYTES);
}

#[test]
fn a_long_read_of_a_texture_has_its_next_chunks_decoded() {
    let side = 512;
    let chunk = |mip| Chunk::zlib(texels(mip, 1 << 18)).mips(0, 0);
    let head = ba2::Texture::new(87, side, side, 1);
    let texture = (0..4).map(chunk).fold(Ba2File::texture("t\\a.dds", head), Ba2File::chunk);
    let served = Served::new(&Ba2::textures(1).add(texture), 64 << 20);
    served.read("t/a.dds", 0, 16 << 10);
    assert!(served.decoded() < 1 << 18);
    let before = served.decoded();
    served.read("t/a.dds", 16 << 10, 128 << 10);
    assert_eq!(served.decoded() - before, 1 << 20);
}

#[test]
fn files_of_unknown_size_take_no_more_than_half_of_the_cache() {
    let archive = Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
    let small = |archive: Tes4, name| archive.file("a", name, texels(1, LEN));
    let archive = ["0", "1", "2"].into_iter().fold(archive, small);
    // 5 MB, most of them zeros, are packed into 25 KB, and only their data states the size.
    let bytes: Vec<u8> = noise(1, 20_000).into_iter().chain(std::iter::repeat_n(0, 4_980_000)).collect();
    let large = |archive: Tes4, name| archive.file("b", name, &bytes[..]);
    let archive = ["3", "4", "5", "6"].into_iter().fold(archive, large);
    let served = Served::serving(&archive.build(), 16 << 20);
    for path in ["a/0", "a/1", "a/2"] {
        served.read_whole(path);
    }
    assert_eq!(served.decoded(), 3 * LEN_BYTES + 5_000_000);
}

#[test]
fn files_that_decode_faster_than_a_thread_wakes_are_not_decoded_ahead() {
    let decoded = |version, len| {
        let archive = Tes4::new(version).flags(FOLDER_NAMES | FILE_NAMES | PACKED);
        let file = |archive: Tes4, name| archive.file("a", name, texels(1, len));
        let archive = ["0", "1", "2", "3"].into_iter().fold(archive, file);
        let served = Served::serving(&archive.build(), 64 << 20);
        for path in ["a/0", "a/1", "a/2"] {
            served.read_whole(path);
        }
        served.decoded() / len as u64
    };
    // Version 104 is packed with zlib, 105 with LZ4, which decodes several times as fast.
    assert_eq!(decoded(104, 20_000), 3);
    assert_eq!(decoded(104, 120_000), 4);
    assert_eq!(decoded(105, LEN), 3);
    assert_eq!(decoded(105, 120_000), 4);
}
