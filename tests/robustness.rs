//! Damaged archives through the whole pipeline: cut short anywhere, any byte of the tables changed,
//! counts of up to 2^64, hostile names.
//!
//! Tables, which include the names at the end of a BA2, are cut and changed at every byte. Each byte gets
//! one other value in the first sample of each format, version and kind, and up to three in the header of
//! the first of each format and kind. With `BSAFS_ALL`, which `scripts/check --all` sets, it gets up to three
//! in all of these, and the other samples are cut and changed, too. Data is a thousand times as long, so only
//! every [`STRIDE`]th byte of it is tested.
//!
//! The submodules are the bodies of the fuzz targets (tests/fuzz).

mod all_options;
mod codec;
mod game;
mod options;
mod pipeline;
mod settings;
mod texture;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bsafs::format::{self, Extent};
use pipeline::{Scope, limits, run};

use crate::support::{Ba2, Sample, Tes3, Tes4, samples, seeds, tiler};

/// Distance between bytes of data that are changed, in bytes. It is a prime, so that nothing in the
/// data has it as its period.
const STRIDE: usize = 200_003;

/// Length of the part that has the header of an archive and its first records, in bytes.
const HEADER: usize = 256;

/// An archive on the disk. Tests damage and restore it in turn.
struct Target {
    name: String,
    /// Whether this is the first sample of its format, version and kind.
    is_first: bool,
    /// Whether this is the first sample of its format and kind, of any version.
    is_first_of_kind: bool,
    bytes: Vec<u8>,
    /// The extents before any damage.
    extents: Vec<Extent>,
    path: PathBuf,
    file: File,
    _folder: tempfile::TempDir,
}

impl Target {
    fn new(sample: Sample, is_first: bool, is_first_of_kind: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        std::fs::write(&path, &sample.bytes).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let extents: Vec<_> = format::parse(&sample.bytes, &limits()).unwrap().extents().collect();
        let Sample { name, bytes, .. } = sample;
        Self { name, is_first, is_first_of_kind, bytes, extents, path, file, _folder: folder }
    }

    /// Every offset in the tables, and some in the data.
    fn offsets(&self) -> Vec<usize> {
        let len = self.bytes.len();
        let data =
            self.extents.iter().filter(|extent| extent.packed > 0).map(|extent| extent.offset as usize);
        let names = match self.bytes.first_chunk::<24>() {
            Some([b'B', b'T', b'D', b'X', .., a, b, c, d, _, _, _, _]) => {
                u32::from_le_bytes([*a, *b, *c, *d]) as usize
            }
            _ => len,
        };
        let data = data.min().unwrap_or(len);
        (0..data).chain((data..names).step_by(STRIDE)).chain(names..len).collect()
    }

    /// The offsets that this run tries: those of the first sample of a version, and all with `BSAFS_ALL`.
    fn offsets_to_try(&self) -> Vec<usize> {
        let is_tried = self.is_first || is_all();
        if is_tried { self.offsets() } else { Vec::new() }
    }

    /// Replaces the bytes from `at` on, runs the pipeline, and restores the bytes.
    fn run_with(&self, at: usize, bytes: &[u8]) {
        self.file.write_all_at(bytes, at as u64).unwrap();
        let end = at + bytes.len();
        run(&self.path, &Scope { undamaged: &self.extents, damaged: at as u64..end as u64, ..Scope::ALL });
        self.file.write_all_at(&self.bytes[at..end], at as u64).unwrap();
    }
}

fn is_all() -> bool {
    std::env::var_os("BSAFS_ALL").is_some()
}

/// Calls `damage` with every sample, on one thread for each processor. A panic names the sample.
fn for_every_sample(damage: impl Fn(&Target) + Sync) {
    let samples = samples();
    let kind = |sample: &Sample| {
        let about = format::parse(&sample.bytes, &limits()).unwrap().about;
        ((about.format, about.kind), about.version)
    };
    let kinds: Vec<_> = samples.iter().map(kind).collect();
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(sample) = samples.get(n) else { break };
                    let target = Target::new(
                        sample.clone(),
                        !kinds[..n].contains(&kinds[n]),
                        !kinds[..n].iter().any(|it| it.0 == kinds[n].0),
                    );
                    let files = run(&target.path, &Scope::ALL);
                    assert_eq!(files, Some(sample.files.len()), "{}", target.name);
                    let name = target.name.clone();
                    let damaged = std::panic::AssertUnwindSafe(|| damage(&target));
                    assert!(std::panic::catch_unwind(damaged).is_ok(), "{name}");
                }
            });
        }
    });
}

#[test]
fn an_archive_cut_anywhere_is_refused_or_read_without_a_panic() {
    for_every_sample(|target| {
        for len in target.offsets_to_try().into_iter().rev() {
            let len = len as u64;
            target.file.set_len(len).unwrap();
            run(&target.path, &Scope { undamaged: &target.extents, damaged: len..u64::MAX, ..Scope::ALL });
        }
    });
}

#[test]
fn an_archive_with_any_byte_changed_causes_no_panic() {
    for_every_sample(|target| {
        for at in target.offsets_to_try() {
            let old = target.bytes[at];
            let is_thorough = target.is_first_of_kind && at < HEADER || target.is_first && is_all();
            let values = [!old, 0, 0xFF];
            if is_thorough {
                let others = values.into_iter().filter(|new| *new != old);
                others.for_each(|new| target.run_with(at, &[new]));
            } else if let Some(new) = values.into_iter().cycle().skip(at % 3).find(|new| *new != old) {
                target.run_with(at, &[new]);
            }
        }
    });
}

#[test]
fn an_archive_with_huge_counts_or_offsets_causes_no_panic() {
    for_every_sample(|target| {
        let len = target.bytes.len() as u32;
        // Fields of the header and of the first records are at multiples of four in all formats.
        for at in (4..100).step_by(4).filter(|_| target.is_first) {
            for number in [0x7FFF_FFFF, 0x8000_0000, u32::MAX, len - 1, len, len + 1] {
                target.run_with(at, &number.to_le_bytes());
            }
            target.run_with(at, &u64::MAX.to_le_bytes());
        }
    });
}

/// Runs the pipeline on an archive in memory.
fn run_on(bytes: &[u8]) -> Option<usize> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    run(file.path(), &Scope::ALL)
}

#[test]
fn headers_with_the_largest_counts_and_no_tables_are_refused() {
    let most = u32::MAX.to_le_bytes();
    let tes4 = |version: u8, flags: u8| {
        let words =
            [*b"BSA\0", [version, 0, 0, 0], [36, 0, 0, 0], [flags, 1, 0, 0], most, most, most, most, most];
        words.concat()
    };
    let ba2 = |version: u8, kind: &[u8; 4]| {
        [*b"BTDX", [version, 0, 0, 0], *kind, most, most, most, most, most, most].concat()
    };
    let mut headers = vec![
        [[0, 1, 0, 0], most, most].concat(),
        [[0, 1, 0, 0], [0xF8, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0x1F]].concat(),
    ];
    for version in [103, 104, 105] {
        headers.extend([0, 1, 2, 3, 7].map(|flags| tes4(version, flags)));
    }
    for version in [1, 2, 3, 7, 8] {
        headers.extend([ba2(version, b"GNRL"), ba2(version, b"DX10")]);
    }
    for header in headers {
        for more in [0, 1, 100, 10_000] {
            let bytes = [&header[..], &vec![0; more]].concat();
            assert_eq!(run_on(&bytes), None, "{header:?} and {more} zeros");
        }
    }
}

/// An empty folder takes 16 bytes in an archive, and must not take more memory than its name.
#[test]
fn a_million_empty_folders_have_no_files() {
    let mut bytes = Tes4::new(104).flags(0).folder_count(1 << 20).build();
    bytes.resize(36 + (16 << 20), 0);
    assert_eq!(run_on(&bytes), Some(0));
}

/// Stored names: `..`, absolute and empty paths, control characters, undefined bytes, duplicates.
fn hostile_names() -> Vec<Vec<u8>> {
    let deep = b"d\\".repeat(100);
    let mut names: Vec<Vec<u8>> = [
        &b"..\\..\\..\\etc\\passwd"[..],
        b"/etc/passwd",
        b"..",
        b".",
        b"",
        b"\\",
        b"a\\..\\b",
        b"a/./b",
        b"C:\\windows\\system.ini",
        b"C:",
        b"a\\b:c",
        b"\x01\x1F\x7F.txt",
        b"line\nbreak\r.txt",
        b"\x81\x8D\x8F\x90\x9D.dds",
        b"Mar\xEDa.fuz",
        b"twin.TXT",
        b"Twin.txt",
        b"twin.txt",
        b"twin (2).txt",
        b"folder",
        b"folder\\file",
        b"FOLDER",
        b"trailing \\dots. . .\\ x",
        b"CON\\nul.txt",
        b"%2E%2E\\%00",
        b".hidden\\...",
        "\u{202E}gnp.exe".as_bytes(),
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    names.push([&deep[..], b"file.txt"].concat());
    names.push([&deep[..], b"other.txt"].concat());
    names.push([&[b'x'; 250][..], b".extension"].concat());
    names.push([&[b'\x02'; 200][..], b".dds"].concat());
    names
}

#[test]
fn hostile_names_become_valid_file_names() {
    let all = || hostile_names().into_iter().enumerate();
    let count = hostile_names().len();
    let long = vec![b'y'; 60_000];
    let tes3 = all().fold(Tes3::new(), |archive, (n, name)| archive.file(name, [n as u8]));
    assert_eq!(run_on(&tes3.file(&long, b"x").build()), Some(count + 1));
    let ba2 = all().fold(Ba2::general(1), |archive, (n, name)| archive.file(name, [n as u8]));
    assert_eq!(run_on(&ba2.file(&long, b"x").build()), Some(count + 1));
    for version in [103, 104, 105] {
        let files = all().fold(Tes4::new(version), |archive, (n, name)| archive.file("f", name, [n as u8]));
        assert_eq!(run_on(&files.file("f", &long, b"x").build()), Some(count + 1), "{version}");
        // The length byte of a folder's name also counts its NUL.
        let folders = all()
            .filter(|(_, name)| name.len() < 255)
            .fold(Tes4::new(version), |archive, (n, name)| archive.file(name, "file", [n as u8]));
        assert_eq!(run_on(&folders.build()), Some(count - 1), "{version}");
    }
}

/// Runs each fuzz target on its seeds, and checks that each seed gets as far as it should.
#[test]
fn the_seeds_of_every_fuzz_target_pass_the_first_check() {
    let folder = tempfile::tempdir().unwrap();
    let mut counts = BTreeMap::new();
    for seed in seeds() {
        // Some seeds are refused on purpose.
        let is_accepted = !seed.name.starts_with("refused") || seed.target != "options";
        let is_far = run_target(seed.target, &seed.bytes, folder.path());
        let is_unknown = seed.target == "parse" && seed.name.starts_with("unknown");
        assert!(is_far == is_accepted || is_unknown, "{}: {}", seed.target, seed.name);
        *counts.entry(seed.target).or_insert(0) += 1;
    }
    assert!(counts.len() == 11 && counts.values().all(|&count| count > 10), "{counts:?}");
}

/// Runs each fuzz target on small inputs that `scripts/fuzz --keep` chose, because together they
/// reach most of the code.
#[test]
fn the_kept_inputs_of_every_fuzz_target_pass() {
    let folder = tempfile::tempdir().unwrap();
    let mut counts = BTreeMap::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/inputs");
    for target in seeds().iter().map(|seed| seed.target).collect::<BTreeSet<_>>() {
        for input in std::fs::read_dir(kept.join(target)).unwrap() {
            run_target(target, &std::fs::read(input.unwrap().path()).unwrap(), folder.path());
            *counts.entry(target).or_insert(0) += 1;
        }
    }
    assert!(counts.len() == 11 && counts.values().all(|&count| count > 10), "{counts:?}");
}

/// Runs a fuzz target. Returns whether the input gets as far as a good one should: it is parsed,
/// decoded, accepted, or has values.
fn run_target(target: &str, bytes: &[u8], folder: &Path) -> bool {
    match target {
        "parse" => run_on(bytes).is_some(),
        "deep" => all_options::run(bytes).is_some_and(|files| files > 0),
        "codec" => codec::run(bytes),
        "texture" => texture::run(bytes) > 0,
        "options" => options::run(bytes, folder),
        "plugin" => game::plugin(bytes) > 0,
        "ini" => game::ini(bytes) > 0,
        "vdf" => settings::vdf(bytes) > 0,
        "yaml" => settings::yaml(bytes) > 0,
        "qsettings" => settings::qsettings(bytes) > 0,
        "openmw" => settings::openmw(bytes) > 0,
        target => panic!("there is no fuzz target {target}"),
    }
}

#[test]
fn damaged_plugins_and_settings_files_cause_no_panic() {
    for seed in seeds() {
        let run: fn(&[u8]) -> usize = match seed.target {
            "plugin" => game::plugin,
            "ini" => game::ini,
            "vdf" => settings::vdf,
            "yaml" => settings::yaml,
            "qsettings" => settings::qsettings,
            "openmw" => settings::openmw,
            _ => continue,
        };
        let mut bytes = seed.bytes.clone();
        for at in 0..bytes.len() {
            run(&seed.bytes[..at]);
            for new in [0, b'\n', b'"', b'[', b'=', 0xFF] {
                bytes[at] = new;
                run(&bytes);
            }
            bytes[at] = seed.bytes[at];
        }
    }
}
