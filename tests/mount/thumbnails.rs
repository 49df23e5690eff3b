//! `bsafs thumbnail` of textures in a mount: what of them is decoded.

use std::fs;

use crate::mounted::{Mounted, TestDir, status};
use crate::support::content::texels;
use crate::support::{Ba2, Ba2File, Chunk, Texture, dds};

/// Of the largest mip, in pixels: it has 13 mips.
const SIDE: u16 = 4096;
const MIPS: u8 = 13;
/// Mips that have a chunk of their own: those larger than 512 pixels. The last chunk has all others.
const OF_THEIR_OWN: usize = 3;
/// What is read of the header's chunk: a page.
const PAGE: u64 = 4096;

/// A texture in the chunks that the packers of Fallout 4's archives make.
fn packed(name: &str, format: u8) -> Ba2File {
    let mips = dds::mip_bytes(format, SIDE, SIDE, MIPS);
    let content = texels(u64::from(format), mips.iter().sum());
    let mut file = Ba2File::texture(name, Texture::new(format, SIDE, SIDE, MIPS));
    let mut rest = &content[..];
    for len in &mips[..OF_THEIR_OWN] {
        let (mip, others) = rest.split_at(*len);
        file = file.chunk(Chunk::zlib(mip));
        rest = others;
    }
    file.chunk(Chunk::zlib(rest))
}

fn decoded(mount: &Mounted) -> u64 {
    status(&mount.path)["decoded_bytes"].as_u64().unwrap()
}

#[test]
fn a_thumbnail_of_a_large_texture_decodes_the_last_chunk_and_not_the_largest_mips() {
    let dir = TestDir::new();
    let textures = [("bc1.dds", dds::BC1), ("bc5.dds", dds::BC5), ("bc7.dds", dds::BC7)];
    let archive =
        textures.iter().fold(Ba2::textures(1), |archive, (name, format)| archive.add(packed(name, *format)));
    dir.archive("textures.ba2", &archive.build());
    let mount = dir.mount(["textures.ba2"]);
    for (name, format) in textures {
        let before = decoded(&mount);
        assert_eq!(dir.run(["thumbnail", "--size", "256", &format!("mnt/{name}"), "out.png"]).sound(), "");
        let last: usize = dds::mip_bytes(format, SIDE, SIDE, MIPS)[OF_THEIR_OWN..].iter().sum();
        let decoded = decoded(&mount) - before;
        assert!(decoded <= last as u64 + PAGE, "{name}: {decoded} bytes for a chunk of {last}");
        let from_mount = fs::read(dir.path("out.png")).unwrap();
        assert_eq!(from_mount[16..24], [0, 0, 1, 0, 0, 0, 1, 0], "{name}: its sides");
        // The same file without a mount has the same picture.
        fs::write(dir.path(name), mount.read(name)).unwrap();
        assert_eq!(dir.run(["thumbnail", "--size", "256", name, "out.png"]).sound(), "");
        assert!(fs::read(dir.path("out.png")).unwrap() == from_mount, "{name}");
    }
}
