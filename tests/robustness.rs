//! Damage of every kind, all the way through: archives cut short at any length, any byte of any table replaced,
//! counts beyond all measure, and names that mean harm.
//!
//! LayerTables (for BA2 the names at its end too) are cut and changed at every byte, and in one sample of each version
//! changed to each of three others; data, which are a thousand times as long, at every [`STRIDE`]th.

mod pipeline;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use bsafs::format::{self, Extent};
use pipeline::{Doubt, limits, survive};

use crate::support::{Ba2, Sample, Tes3, Tes4, samples};

/// Distance of the bytes of data that are tried; a prime, so that nothing in the data keeps step with it.
const STRIDE: usize = 200_003;

/// An archive on the disk that is damaged and mended in turn.
struct Patient {
    name: String,
    /// Whether it is the first sample of its format, version and kind.
    is_first: bool,
    bytes: Vec<u8>,
    sound: Vec<Extent>,
    path: PathBuf,
    file: File,
    _folder: tempfile::TempDir,
}

impl Patient {
    fn new(sample: Sample, is_first: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("patient");
        std::fs::write(&path, &sample.bytes).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let sound: Vec<_> = format::parse(&sample.bytes, &limits()).unwrap().extents().collect();
        Self { name: sample.name, is_first, bytes: sample.bytes, sound, path, file, _folder: folder }
    }

    /// Every place in the tables, and a few in the data.
    fn places(&self) -> Vec<usize> {
        let len = self.bytes.len();
        let data = self.sound.iter().filter(|extent| extent.packed > 0).map(|extent| extent.offset as usize);
        let names = match self.bytes.first_chunk::<24>() {
            Some([b'B', b'T', b'D', b'X', .., a, b, c, d, _, _, _, _]) => {
                u32::from_le_bytes([*a, *b, *c, *d]) as usize
            }
            _ => len,
        };
        let data = data.min().unwrap_or(len);
        (0..data).chain((data..names).step_by(STRIDE)).chain(names..len).collect()
    }

    /// Replaces bytes from `at` on, for the time of a look.
    fn with(&self, at: usize, bytes: &[u8]) {
        self.file.write_all_at(bytes, at as u64).unwrap();
        let end = at + bytes.len();
        survive(&self.path, &Doubt { sound: &self.sound, bytes: at as u64..end as u64 });
        self.file.write_all_at(&self.bytes[at..end], at as u64).unwrap();
    }
}

/// Gives every sample to `damage`, on as many threads as there are processors; a panic names the sample.
fn for_every_sample(damage: impl Fn(&Patient) + Sync) {
    let samples = samples();
    let kind = |sample: &Sample| {
        let about = format::parse(&sample.bytes, &limits()).unwrap().about;
        (about.format, about.version, about.kind)
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
                    let patient = Patient::new(sample.clone(), !kinds[..n].contains(&kinds[n]));
                    let files = survive(&patient.path, &Doubt::ALL);
                    assert_eq!(files, Some(sample.files.len()), "{}", patient.name);
                    let name = patient.name.clone();
                    let damaged = std::panic::AssertUnwindSafe(|| damage(&patient));
                    assert!(std::panic::catch_unwind(damaged).is_ok(), "{name}");
                }
            });
        }
    });
}

#[test]
fn an_archive_cut_short_anywhere_is_refused_or_read_as_far_as_it_goes() {
    for_every_sample(|patient| {
        for len in patient.places().into_iter().rev() {
            let len = len as u64;
            patient.file.set_len(len).unwrap();
            survive(&patient.path, &Doubt { sound: &patient.sound, bytes: len..u64::MAX });
        }
    });
}

#[test]
fn any_byte_may_be_any_other() {
    for_every_sample(|patient| {
        for at in patient.places() {
            let old = patient.bytes[at];
            for (n, new) in [!old, 0, 0xFF].into_iter().enumerate() {
                if new != old && (patient.is_first || n == at % 3) {
                    patient.with(at, &[new]);
                }
            }
        }
    });
}

#[test]
fn numbers_beyond_all_measure_cost_nothing() {
    for_every_sample(|patient| {
        let len = patient.bytes.len() as u32;
        // Numbers of the header and of the first records, which in all formats stand at multiples of four.
        for at in (4..100).step_by(4).filter(|_| patient.is_first) {
            for number in [0x7FFF_FFFF, 0x8000_0000, u32::MAX, len - 1, len, len + 1] {
                patient.with(at, &number.to_le_bytes());
            }
            patient.with(at, &u64::MAX.to_le_bytes());
        }
    });
}

/// Takes an archive that its test made all the way.
fn survive_bytes(bytes: &[u8]) -> Option<usize> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    survive(file.path(), &Doubt::ALL)
}

#[test]
fn headers_that_promise_everything_and_hold_nothing_are_refused() {
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
            assert_eq!(survive_bytes(&bytes), None, "{header:?} and {more} zeros");
        }
    }
}

/// Folders of no files cost 16 bytes each and hold nothing; their names are all that can be asked of memory.
#[test]
fn a_million_empty_folders_are_no_files() {
    let mut bytes = Tes4::new(104).flags(0).folder_count(1 << 20).build();
    bytes.resize(36 + (16 << 20), 0);
    assert_eq!(survive_bytes(&bytes), Some(0));
}

/// Names as they lie in an archive: ways up and out, nothing at all, control codes, bytes of no code page, twins.
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
fn hostile_names_become_files_that_a_file_system_can_hold() {
    let all = || hostile_names().into_iter().enumerate();
    let count = hostile_names().len();
    let long = vec![b'y'; 60_000];
    let tes3 = all().fold(Tes3::new(), |archive, (n, name)| archive.file(name, [n as u8]));
    assert_eq!(survive_bytes(&tes3.file(&long, b"x").build()), Some(count + 1));
    let ba2 = all().fold(Ba2::general(1), |archive, (n, name)| archive.file(name, [n as u8]));
    assert_eq!(survive_bytes(&ba2.file(&long, b"x").build()), Some(count + 1));
    for version in [103, 104, 105] {
        let files = all().fold(Tes4::new(version), |archive, (n, name)| archive.file("f", name, [n as u8]));
        assert_eq!(survive_bytes(&files.file("f", &long, b"x").build()), Some(count + 1), "{version}");
        // A length byte cannot say more of a folder's name.
        let folders = all()
            .filter(|(_, name)| name.len() < 255)
            .fold(Tes4::new(version), |archive, (n, name)| archive.file(name, "file", [n as u8]));
        assert_eq!(survive_bytes(&folders.build()), Some(count - 1), "{version}");
    }
}
