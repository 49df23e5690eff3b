//! `bsafs thumbnail`: pictures of textures, where they are written, and what is refused.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::mounted::{TestDir, is_root, run};
use crate::support::dds;

/// A BC1 texture that is all red: both colours of each block are red.
fn red(width: u16, height: u16) -> Vec<u8> {
    let blocks = usize::from(width).div_ceil(4) * usize::from(height).div_ceil(4);
    [dds::header(dds::BC1, width, height, 1, false), [0, 0xF8, 0, 0xF8, 0, 0, 0, 0].repeat(blocks)].concat()
}

/// Width and height in a PNG's header.
fn sides(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xAE\x42\x60\x82"));
    let number = |at: usize| u32::from_be_bytes(*png[at..].first_chunk().unwrap());
    (number(16), number(20))
}

#[test]
fn a_picture_replaces_an_existing_file_and_keeps_its_permissions() {
    let dir = TestDir::new();
    fs::write(dir.path("a b.dds"), red(512, 128)).unwrap();
    fs::write(dir.path("out.png"), vec![7; 100_000]).unwrap();
    fs::set_permissions(dir.path("out.png"), PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(dir.run(["thumbnail", "--size", "64", "a b.dds", "out.png"]).success(), "");
    let picture = fs::read(dir.path("out.png")).unwrap();
    assert_eq!(sides(&picture), (64, 16));
    assert_eq!(fs::metadata(dir.path("out.png")).unwrap().permissions().mode() & 0o777, 0o600);
    let uri = format!("file://{}", dir.path("a%20b.dds").display());
    assert_eq!(dir.run(["thumbnail", "--size", "64", &uri, "new.png"]).success(), "");
    assert!(fs::read(dir.path("new.png")).unwrap() == picture);
    assert_eq!(dir.run(["thumbnail", "a b.dds", "new.png"]).success(), "");
    assert_eq!(sides(&fs::read(dir.path("new.png")).unwrap()), (256, 64), "the default size is wrong");
    let mut to_stdout = dir.bsafs(["thumbnail", "--size", "64", "a b.dds", "-"]);
    assert!(to_stdout.output().unwrap().stdout == picture);
}

/// tumbler 4.18 makes an empty file, keeps it open, and reads what it has open: Thunar of Debian 12 showed no
/// thumbnails.
#[test]
fn a_caller_that_keeps_an_empty_file_open_reads_the_picture_from_it() {
    let dir = TestDir::new();
    fs::write(dir.path("a.dds"), red(64, 64)).unwrap();
    let mut made = fs::File::create_new(dir.path("out.png")).unwrap();
    fs::set_permissions(dir.path("out.png"), PermissionsExt::from_mode(0o600)).unwrap();
    let mut held = fs::File::open(dir.path("out.png")).unwrap();
    assert_eq!(dir.run(["thumbnail", "a.dds", "out.png"]).success(), "");
    let mut picture = Vec::new();
    held.read_to_end(&mut picture).unwrap();
    assert_eq!(sides(&picture), (64, 64));
    // A picture that is cut off is removed.
    made.set_len(0).unwrap();
    let script = "ulimit -f 0; exec \"$0\" thumbnail a.dds out.png";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_bsafs")]);
    let finished = run(command.current_dir(dir.path("")));
    assert_eq!((finished.code, made.seek(SeekFrom::End(0)).unwrap()), (74, 0), "{finished:?}");
}

#[test]
fn a_setting_of_the_kernel_is_not_taken_for_an_empty_file() {
    let dir = TestDir::new();
    fs::write(dir.path("a.dds"), red(64, 64)).unwrap();
    // The name of the process, which it may write itself.
    let finished = dir.run(["thumbnail", "a.dds", "/proc/self/comm"]);
    assert!(finished.code != 0 && finished.err.contains("/proc/self/comm"), "{finished:?}");
}

#[test]
fn an_invalid_texture_is_refused_and_the_output_is_unchanged() {
    let dir = TestDir::new();
    let fifo = std::process::Command::new("mkfifo").arg(dir.path("pipe.dds")).status().unwrap();
    assert!(fifo.success());
    fs::write(dir.path("out.png"), "kept").unwrap();
    fs::write(dir.path("text.dds"), "text").unwrap();
    fs::write(dir.path("short.dds"), &red(64, 64)[..1000]).unwrap();
    let mut damaged = red(64, 64);
    damaged[18] = 1;
    fs::write(dir.path("damaged.dds"), damaged).unwrap();
    let video = [&dds::header(dds::BC7, 4, 4, 1, false)[..128], &[100, 0, 0, 0], &[0; 100]].concat();
    fs::write(dir.path("video.dds"), video).unwrap();
    for (name, code, message) in [
        ("text.dds", 65, "not a texture: neither a DDS nor a GNF file"),
        (
            "short.dds",
            65,
            "cut off: it has 1000 bytes, and its largest mip needs 2176; get the file or its archive again",
        ),
        ("damaged.dds", 65, "damaged header: the width at offset 16 has the invalid value 0x10040"),
        ("video.dds", 65, "the pixel format AYUV is not supported"),
        ("none.dds", 66, "no such file or folder"),
        ("pipe.dds", 66, "not a regular file"),
        (".", 66, "not a regular file"),
    ] {
        let finished = dir.run(["thumbnail", name, "out.png"]);
        assert_eq!((finished.code, finished.err), (code, format!("bsafs: {name}: {message}\n")));
        assert_eq!(fs::read(dir.path("out.png")).unwrap(), b"kept", "{name}");
    }
    assert_eq!(dir.run(["thumbnail", "--size", "0", "text.dds", "out.png"]).code, 2);
}

#[test]
fn a_picture_is_not_written_through_a_link_or_over_its_texture() {
    let dir = TestDir::new();
    fs::write(dir.path("a.dds"), red(8, 8)).unwrap();
    fs::write(dir.path("kept"), "kept").unwrap();
    symlink("kept", dir.path("link.png")).unwrap();
    fs::hard_link(dir.path("a.dds"), dir.path("same.png")).unwrap();
    let missing = dir.path("none");
    let missing =
        format!("cannot create the picture none/a.png: the folder {} does not exist", missing.display());
    // Root examines what is there before it writes.
    let of_folder = if is_root() {
        "cannot write the picture .: it is not a regular file"
    } else {
        "cannot create the picture .: is a directory"
    };
    for (name, message) in [
        ("link.png", "cannot write the picture link.png: it is a link"),
        ("same.png", "cannot write the picture same.png: it is the texture itself"),
        ("none/a.png", missing.as_str()),
        (".", of_folder),
    ] {
        let finished = dir.run(["thumbnail", "a.dds", name]);
        assert_eq!(finished.code, 73, "{finished:?}");
        assert!(finished.err.starts_with(&format!("bsafs: {message}")), "{finished:?}");
    }
    assert_eq!(fs::read(dir.path("kept")).unwrap(), b"kept");
    assert!(fs::read(dir.path("a.dds")).unwrap() == red(8, 8));
}

#[test]
fn a_picture_that_cannot_be_written_whole_leaves_the_old_one() {
    let dir = TestDir::new();
    let noise = crate::support::content::noise(7, 128 * 128 * 8);
    let texture = [dds::header(dds::BC1, 512, 512, 1, false), noise].concat();
    fs::write(dir.path("a.dds"), &texture).unwrap();
    fs::write(dir.path("out.png"), "kept").unwrap();
    for size in ["full", "512"] {
        let script = "ulimit -f 8; exec \"$0\" \"$@\"";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_bsafs"), "thumbnail", "--size", size]);
        let finished = run(command.args(["a.dds", "out.png"]).current_dir(dir.path("")));
        assert_eq!(finished.code, 74, "{size}: {finished:?}");
        assert_eq!(fs::read(dir.path("out.png")).unwrap(), b"kept", "{size}");
    }
    let names = fs::read_dir(dir.path("")).unwrap().map(|it| it.unwrap().file_name()).collect::<Vec<_>>();
    assert!(!names.iter().any(|it| it.to_string_lossy().starts_with(".bsafs-")), "{names:?}");
    assert_eq!(dir.run(["thumbnail", "--size", "full", "a.dds", "out.png"]).success(), "");
    assert_eq!(sides(&fs::read(dir.path("out.png")).unwrap()), (512, 512));
}

#[test]
fn a_picture_that_is_named_dds_is_called_by_its_kind() {
    let dir = TestDir::new();
    for (bytes, kind) in [(&b"\xFF\xD8\xFF\xE0\0\x10JFIF"[..], "JPEG"), (b"\x89PNG\r\n\x1A\n....IHDR", "PNG")]
    {
        fs::write(dir.path("a.dds"), bytes).unwrap();
        for size in ["64", "full"] {
            let finished = dir.run(["thumbnail", "--size", size, "a.dds", "a.png"]);
            assert_eq!(finished.code, 65, "{finished:?}");
            assert!(
                finished.err.contains(&format!("a.dds: not a texture: a {kind} picture")),
                "{finished:?}"
            );
        }
    }
}
