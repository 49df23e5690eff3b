//! Tests of `bsafs thumbnail` on textures in a mount: how much of a texture the daemon decodes.

use std::fs;

use crate::mounted::{Mounted, TestDir, status};
use crate::support::content::texels;
use crate::support::{Ba2, Ba2File, Chunk, Texture, dds};

/// Number of mips that have a chunk of their own. By default Archive2 makes four chunks: mips of
/// 512 pixels or more get one each, and the last chunk has all others.
const MIPS_WITH_OWN_CHUNK: usize = 3;
/// Number of bytes read from a file to get its header.
const HEADER: u64 = 1152;

/// A texture with all its mips, in the chunks that Archive2 makes.
fn packed(name: &str, format: u8, side: u16) -> Ba2File {
    let mips = mips(format, side);
    let content = texels(u64::from(format), mips.iter().sum());
    let mut file = Ba2File::texture(name, Texture::new(format, side, side, mips.len() as u8));
    let mut rest = &content[..];
    for len in &mips[..MIPS_WITH_OWN_CHUNK] {
        let (mip, others) = rest.split_at(*len);
        file = file.chunk(Chunk::zlib(mip));
        rest = others;
    }
    file.chunk(Chunk::zlib(rest))
}

fn mips(format: u8, side: u16) -> Vec<usize> {
    dds::mip_bytes(format, side, side, side.ilog2() as u8 + 1)
}

fn decoded(mount: &Mounted) -> u64 {
    status(&mount.path)["decoded_bytes"].as_u64().unwrap()
}

#[test]
fn a_thumbnail_of_a_large_texture_decodes_only_one_mip() {
    let dir = TestDir::new();
    let textures = [
        ("bc1.dds", dds::BC1, 4096),
        ("bc5.dds", dds::BC5, 4096),
        ("bc7.dds", dds::BC7, 4096),
        // The needed mip is the first in the last chunk, and begins in the page in which the chunk
        // before ends.
        ("smaller.dds", dds::BC7, 2048),
    ];
    let add =
        |archive: Ba2, (name, format, side): &(&str, u8, u16)| archive.add(packed(name, *format, *side));
    dir.archive("textures.ba2", &textures.iter().fold(Ba2::textures(1), add).build());
    let mount = dir.mount(["textures.ba2"]);
    for (name, format, side) in textures {
        let before = decoded(&mount);
        assert_eq!(dir.run(["thumbnail", "--size", "256", &format!("mnt/{name}"), "out.png"]).success(), "");
        let mip = mips(format, side)[MIPS_WITH_OWN_CHUNK] as u64;
        let decoded = decoded(&mount) - before;
        assert!(decoded <= mip + HEADER, "{name}: {decoded} bytes for a mip of {mip}");
        let from_mount = fs::read(dir.path("out.png")).unwrap();
        assert_eq!(from_mount[16..24], [0, 0, 1, 0, 0, 0, 1, 0], "{name}: wrong picture size");
        // A copy of the file outside of the mount gives the same picture.
        fs::write(dir.path(name), mount.read(name)).unwrap();
        assert_eq!(dir.run(["thumbnail", "--size", "256", name, "out.png"]).success(), "");
        assert!(fs::read(dir.path("out.png")).unwrap() == from_mount, "{name}");
    }
}
