//! How often extents are decoded, how many bytes that reads, and how many are cached.

use std::sync::Barrier;
use std::thread;

use super::Opened;
use crate::support::content::{Xorshift, noise, texels, text};
use crate::support::tes4::{FILE_NAMES, FOLDER_NAMES, PACKED};
use crate::support::{Ba2, Ba2File, Chunk, Tes4, Tes4File, ba2, pack, samples};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn zlib_archive() -> Tes4 {
    Tes4::new(104).flags(FOLDER_NAMES | FILE_NAMES | PACKED)
}

/// 64 MiB that compress well and are quick to make.
fn large() -> Vec<u8> {
    text(1, MIB as usize).repeat(64)
}

fn large_archive(content: &[u8]) -> Vec<u8> {
    let file = Tes4File::new("large.bin", content).stream(pack::zlib_level(content, 1));
    zlib_archive().add("f", file).build()
}

#[test]
fn eight_simultaneous_readers_decode_an_extent_once() {
    let content = texels(1, MIB as usize);
    let archive = zlib_archive().file("f", "a.bin", &content[..]).build();
    for round in 0..10 {
        let opened = Opened::one(&archive);
        let barrier = Barrier::new(8);
        thread::scope(|scope| {
            for thread in 0..8 {
                let (opened, barrier, content) = (&opened, &barrier, &content);
                scope.spawn(move || {
                    let at = 600_000 + 1000 * thread;
                    barrier.wait();
                    let bytes = opened.read("f/a.bin", at as u64, 4096).unwrap();
                    assert!(bytes == content[at..at + 4096]);
                });
            }
        });
        assert_eq!(opened.store.decoded_bytes(), MIB, "round {round}");
    }
}

#[test]
fn a_large_entry_read_in_sequence_is_decoded_once() {
    let content = large();
    let opened = Opened::with_cache(&large_archive(&content), 16 * MIB);
    for (n, piece) in content.chunks(128 * KIB as usize).enumerate() {
        let at = n as u64 * 128 * KIB;
        let is_equal =
            opened.store.file(opened.id("f/large.bin")).read_at(at, 128 << 10).map(|bytes| *bytes == *piece);
        assert!(is_equal.unwrap(), "at {at}");
    }
    assert_eq!(opened.store.decoded_bytes(), 64 * MIB, "a part of the entry was decoded twice");
    assert_eq!(opened.store.cached_bytes(), (64 * MIB, 16 * MIB));
}

#[test]
fn a_large_entry_read_at_random_by_four_threads_is_decoded_once() {
    let content = large();
    let opened = Opened::with_cache(&large_archive(&content), 16 * MIB);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (opened, content) = (&opened, &content);
            scope.spawn(move || {
                let mut random = Xorshift::new(thread);
                for _ in 0..200 {
                    let at = 128 * KIB + random.next() % (63 * MIB);
                    let bytes = opened.read("f/large.bin", at, 4096).unwrap();
                    assert!(bytes == content[at as usize..at as usize + 4096], "at {at}");
                }
            });
        }
    });
    assert_eq!(opened.store.decoded_bytes(), 64 * MIB);
}

#[test]
fn a_read_at_the_beginning_decodes_only_a_prefix() {
    let content = texels(2, 16 * MIB as usize);
    let hard = noise(3, 16 * MIB as usize);
    let general =
        |method, chunk| Ba2::general(3).method(method).add(Ba2File::general("f/a.bin").chunk(chunk)).build();
    let stream = |packed| Tes4File::new("a.bin", &content[..]).stream(packed);
    let flags = FOLDER_NAMES | FILE_NAMES | PACKED;
    let zlib = pack::zlib_level(&content, 1);
    let cases = [
        ("zlib", zlib_archive().add("f", stream(zlib.clone())).build(), &content),
        (
            "lz4 frame",
            Tes4::new(105).flags(flags).add("f", stream(pack::lz4_frame(&content))).build(),
            &content,
        ),
        ("ba2 zlib", general(ba2::METHOD_ZLIB, Chunk::packed(zlib, content.len())), &content),
        ("lz4 block", general(ba2::METHOD_LZ4, Chunk::lz4(&content)), &content),
        ("zlib of noise", general(ba2::METHOD_ZLIB, Chunk::packed(pack::zlib(&hard), hard.len())), &hard),
    ];
    for (kind, archive, content) in cases {
        let opened = Opened::one(&archive);
        for (offset, len) in [(0, 4096), (0, 16 << 10), (40 << 10, 24 << 10)] {
            let before = (opened.store.decoded_bytes(), opened.store.bytes_read());
            assert!(
                opened.read("f/a.bin", offset, len).unwrap() == content[offset as usize..][..len as usize]
            );
            let decoded = opened.store.decoded_bytes() - before.0;
            let read = opened.store.bytes_read() - before.1;
            let (end, most) = (offset + u64::from(len), 64 * KIB);
            assert!((end..=most).contains(&decoded), "{kind}: {decoded} bytes decoded for {end}");
            assert!(read <= 3 * most, "{kind}: {read} bytes read for {end}");
        }
        assert_eq!(opened.store.cached_bytes().0, 0, "{kind}: a prefix was cached");
        assert!(opened.read("f/a.bin", 40 << 10, (24 << 10) + 1).is_ok());
        assert_eq!(
            opened.store.cached_bytes().0,
            16 * MIB,
            "{kind}: a longer read did not decode the whole entry"
        );
    }
}

#[test]
fn a_second_read_of_a_small_entry_decodes_the_whole_entry() {
    let content = texels(5, 200_000);
    let opened = Opened::one(&zlib_archive().file("f", "a.bin", &content[..]).build());
    assert!(opened.read("f/a.bin", 0, 16 << 10).unwrap() == content[..16 << 10]);
    assert_eq!(opened.store.decoded_bytes(), 16 * KIB);
    // In a small entry, a second read decodes the whole entry, because the reader seems to go on.
    assert!(opened.read("f/a.bin", 16 << 10, 32 << 10).unwrap() == content[16 << 10..48 << 10]);
    assert_eq!(opened.store.decoded_bytes(), 16 * KIB + 200_000);
    // A prefix is decoded alone only if it is at most a quarter of the entry.
    let opened = Opened::one(&zlib_archive().file("f", "a.bin", &content[..40_000]).build());
    assert!(opened.read("f/a.bin", 0, 16 << 10).unwrap() == content[..16 << 10]);
    assert_eq!(opened.store.decoded_bytes(), 40_000);
}

#[test]
fn a_file_of_several_extents_read_in_sequence_is_decoded_once() {
    let chunks = [texels(6, 700_000), texels(7, 350_000), texels(8, 90_000)];
    let file =
        chunks.iter().fold(Ba2File::general("f/a.bin"), |file, chunk| file.chunk(Chunk::zlib(chunk.clone())));
    let opened = Opened::one(&Ba2::general(1).add(file).build());
    let content = chunks.concat();
    for (n, piece) in content.chunks(128 << 10).enumerate() {
        let at = n as u64 * 128 * KIB;
        assert!(opened.read("f/a.bin", at, 128 << 10).unwrap() == piece, "at {at}");
    }
    assert_eq!(opened.store.decoded_bytes(), content.len() as u64, "a prefix of an extent was decoded alone");
}

#[test]
fn a_mip_at_the_start_of_a_later_extent_is_decoded_alone() {
    let chunks = [texels(6, 700_000), texels(7, 350_000)];
    let file =
        chunks.iter().fold(Ba2File::general("f/a.bin"), |file, chunk| file.chunk(Chunk::zlib(chunk.clone())));
    let archive = Ba2::general(1).add(file).build();
    let opened = Opened::one(&archive);
    assert!(opened.read("f/a.bin", 700_000, 262_144).unwrap() == chunks[1][..262_144]);
    assert_eq!((opened.store.decoded_bytes(), opened.store.cached_bytes().0), (262_144, 0));
    let opened = Opened::one(&archive);
    assert!(opened.read("f/a.bin", 700_001, 10).unwrap() == chunks[1][1..11]);
    assert_eq!(
        opened.store.decoded_bytes(),
        350_000,
        "a read after the first byte must decode the whole extent"
    );
}

#[test]
fn repeated_reads_of_a_raw_deflate_extent_decode_it_once() {
    let chunks = [texels(6, 700_000), texels(7, 350_000)];
    let raw = |chunk: &Vec<u8>| Chunk::packed(pack::deflate(chunk), chunk.len());
    let file = chunks.iter().fold(Ba2File::general("f/a.bin"), |file, chunk| file.chunk(raw(chunk)));
    let opened = Opened::one(&Ba2::general(1).add(file).build());
    for _ in 0..5 {
        assert!(opened.read("f/a.bin", 700_000, 512).unwrap() == chunks[1][..512]);
    }
    assert_eq!(opened.store.decoded_bytes(), 350_000);
}

#[test]
fn fully_read_and_stored_extents_are_not_cached() {
    let content = text(4, 300_000);
    let archive = zlib_archive()
        .file("f", "packed.txt", &content[..])
        .add("f", Tes4File::new("stored.txt", &content[..]).toggle())
        .build();
    let opened = Opened::one(&archive);
    assert!(opened.whole("f/packed.txt").unwrap() == content);
    assert_eq!(opened.store.decoded_bytes(), 300_000);
    let read = opened.store.bytes_read();
    assert!(opened.read("f/stored.txt", 1000, 5000).unwrap() == content[1000..6000]);
    assert_eq!(opened.store.bytes_read() - read, 5000, "more bytes were read than requested");
    assert_eq!(opened.store.decoded_bytes(), 300_000);
    assert_eq!(opened.store.cached_bytes().0, 0);
}

#[test]
fn the_cache_returns_to_its_budget_after_many_readers() {
    const FILES: u64 = 40;
    let content = |n: u64| texels(n, 100_000 + 5_000 * n as usize);
    let archive =
        (0..FILES).fold(zlib_archive(), |it, n| it.file("f", format!("{n}.bin"), content(n))).build();
    let opened = Opened::with_cache(&archive, MIB);
    thread::scope(|scope| {
        for thread in 0..4 {
            let opened = &opened;
            scope.spawn(move || {
                let mut random = Xorshift::new(thread + 9);
                for _ in 0..150 {
                    let n = random.next() % FILES;
                    let at = 1 + random.next() as usize % 90_000;
                    let bytes = opened.read(&format!("f/{n}.bin"), at as u64, 4096).unwrap();
                    assert!(bytes == content(n)[at..at + 4096], "{n} at {at}");
                }
            });
        }
    });
    // The store expects all readers to return, so it decodes each file once, although they do not
    // all fit into the cache.
    let decoded: u64 = (0..FILES).map(|n| content(n).len() as u64).sum();
    assert!(opened.store.decoded_bytes() <= decoded + 600 * 64 * KIB, "files were decoded several times");
    assert!(opened.store.cached_bytes().0 > MIB && opened.store.needs_trim());
    while opened.store.cached_bytes().0 > MIB {
        opened.store.trim();
        thread::yield_now();
    }
    let (held, budget) = opened.store.cached_bytes();
    assert!(held <= budget && budget == MIB && held > MIB / 2, "{held} of {budget} bytes");
}

#[test]
fn the_size_of_a_texture_is_known_without_a_read() {
    let mut seen = 0;
    for sample in samples().iter().filter(|sample| sample.name.ends_with(".ba2")) {
        let opened = Opened::one(&sample.bytes);
        for (path, content) in &sample.files {
            assert_eq!(opened.store.file(opened.id(path)).size_or_estimate(), content.len() as u64, "{path}");
            seen += 1;
        }
        assert_eq!(opened.store.bytes_read(), 0, "{}", sample.name);
    }
    assert!(seen > 60, "{seen} files");
}

#[test]
fn the_size_of_a_packed_entry_costs_one_small_read() {
    let archive = zlib_archive().file("f", "a.txt", text(1, 50_000)).build();
    let opened = Opened::one(&archive);
    for _ in 0..3 {
        assert_eq!(opened.store.file(opened.id("f/a.txt")).size_or_estimate(), 50_000);
    }
    let read = opened.store.bytes_read();
    assert!((1..=274).contains(&read), "{read} bytes read");
}

#[test]
fn sizes_asked_for_in_order_cost_one_read_for_several_small_files() {
    let cut = Tes4File::new("1.txt", text(1, 5_000)).no_size_word().stream(vec![1; 3]);
    let archive = zlib_archive().file("f", "0.txt", text(1, 100)).add("f", cut);
    let archive = archive.file("f", "2.txt", noise(1, 20_000)).file("f", "3.txt", text(2, 100)).build();
    let opened = Opened::one(&archive);
    let known = |path| opened.store.file(opened.id(path)).size_if_known();
    opened.store.learn_sizes([opened.id("f/0.txt")]).unwrap();
    assert_eq!(known("f/0.txt"), Some(100));
    assert!(opened.store.file(opened.id("f/1.txt")).is_size_lost(), "a damaged file between others");
    assert_eq!((known("f/2.txt"), known("f/3.txt")), (Some(20_000), None), "the last one is too far");
    assert!(opened.store.bytes_read() < 1_000, "{} bytes read", opened.store.bytes_read());
    let opened = Opened::one(&archive);
    opened.store.learn_sizes([opened.id("f/1.txt")]).unwrap();
    assert_eq!(
        opened.store.file(opened.id("f/2.txt")).size_if_known(),
        None,
        "the file before was not asked for"
    );
}

#[test]
fn an_extent_that_was_read_to_its_end_is_evicted_first() {
    let content = texels(7, 700 * KIB as usize);
    let archive = zlib_archive()
        .file("f", "a.bin", &content[..])
        .file("f", "b.bin", &noise(8, 700 * KIB as usize)[..])
        .build();
    let opened = Opened::one(&archive);
    for at in (0..content.len() as u64).step_by(128 << 10) {
        opened.read("f/a.bin", at, 128 << 10).unwrap();
    }
    opened.read("f/b.bin", 300 * KIB, 4096).unwrap();
    assert_eq!(
        opened.store.cached_bytes().0,
        700 * KIB,
        "an extent that was read to its end is still cached"
    );
}
