//! What the archives and the folder of loose files hold: the names and bytes of each generation, which the seed determines.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::random::Random;
use crate::support::content::{noise, texels, text};
use crate::support::dds;

/// Files of each archive, and at most of the folder.
pub(crate) const FILES: u64 = 300;
/// Files whose names all but the archives of textures have: in a union the last one wins.
const SHARED: std::ops::Range<u64> = 10..20;

/// What an archive or the folder holds between two changes.
#[derive(Debug)]
pub(crate) struct Generation {
    /// From 0.
    pub(crate) number: u64,
    pub(crate) files: Vec<Arc<File>>,
    lost: Lost,
}

/// A file of a generation.
#[derive(Debug)]
pub(crate) struct File {
    /// Among all that its archive ever has.
    pub(crate) index: u64,
    /// The generation that it came with.
    pub(crate) number: u64,
    /// A loose file that is written in place: before it is whole, a part of it may be shown.
    pub(crate) is_in_place: bool,
    pub(crate) lost: Lost,
    /// Separated by `\`, as in archives.
    pub(crate) folder: String,
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
    /// Of a texture; `data` begins with its header.
    pub(crate) texture: Option<Texture>,
}

/// Whether what was open may give EIO from now on: its bytes were overwritten, or a loose file is no longer at its path.
#[derive(Debug, Default)]
pub(crate) struct Lost(AtomicBool);

impl Lost {
    /// To be called before the bytes go.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A square texture with all its mips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Texture {
    pub(crate) format: u8,
    pub(crate) side: u16,
}

impl Generation {
    /// The files of an archive, which is known by its index.
    pub(crate) fn new(seed: u64, archive: usize, has_textures: bool, number: u64) -> Self {
        let file = |index| Arc::new(File::new(seed, archive, has_textures, number, index));
        Self::of(number, (0..FILES).map(file).collect())
    }

    /// Of files of several generations.
    pub(crate) fn of(number: u64, files: Vec<Arc<File>>) -> Self {
        Self { number, files, lost: Lost::default() }
    }

    /// To be called before its archive is written to.
    pub(crate) fn lose(&self) {
        self.lost.set();
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get()
    }
}

impl File {
    /// Bytes differ from generation to generation; half of the sizes do, and one name in sixteen.
    pub(crate) fn new(seed: u64, archive: usize, has_textures: bool, number: u64, index: u64) -> Self {
        let of_file = seed ^ (archive as u64) << 48 ^ index << 32;
        let of_generation = of_file ^ (number + 1) << 8;
        let mut sizes = Random::new(if index.is_multiple_of(2) { of_file } else { of_generation });
        let texture = has_textures.then(|| Texture::new(index, &mut sizes));
        let data = match texture {
            Some(texture) => texture.dds(of_generation),
            None => plain(index, length(index, &mut sizes), of_generation),
        };
        let extension = if has_textures { "dds" } else { ["nif", "wav", "txt"][index as usize % 3] };
        let name = match index % 16 {
            5 => only_in(number, index, extension),
            _ => format!("Object{index:03}.{extension}"),
        };
        let folder = match SHARED.contains(&index) && !has_textures {
            true => "Shared\\Common".into(),
            false => format!("Data\\Mod{archive:02}\\Place{}", index / 50),
        };
        let lost = Lost::default();
        Self { index, number, is_in_place: false, lost, folder, name, data, texture }
    }

    /// As the mount shows it, below the root or the folder of its archive.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.folder.replace('\\', "/"), self.name)
    }

    /// The name of this file in another generation, if it has another there.
    pub(crate) fn name_in(&self, number: u64) -> Option<String> {
        let (_, rest) = self.name.strip_prefix("Only")?.split_once('_')?;
        Some(format!("Only{number}_{rest}"))
    }
}

fn only_in(number: u64, index: u64, extension: &str) -> String {
    format!("Only{number}_{index:03}.{extension}")
}

/// In bytes: one file of 4 to 6 MiB, a few of up to 3 MiB, some of up to 400 KiB, the others small, one of them empty.
fn length(index: u64, random: &mut Random) -> usize {
    let (least, most) = match index {
        0 => (4 << 20, 6 << 20),
        7 => (0, 1),
        _ if index.is_multiple_of(100) => (1 << 19, 3 << 20),
        _ if index.is_multiple_of(19) => (64 << 10, 400 << 10),
        _ => (1, 16 << 10),
    };
    (least + random.below(most - least)) as usize
}

/// What compresses to a fifth, to a half, and not at all.
fn plain(index: u64, length: usize, seed: u64) -> Vec<u8> {
    match index % 5 {
        0 | 1 => texels(seed, length),
        2 => noise(seed, length),
        _ => text(seed, length),
    }
}

impl Texture {
    fn new(index: u64, random: &mut Random) -> Self {
        let power = match index {
            0 => 11,
            _ if index.is_multiple_of(100) => 10,
            _ if index.is_multiple_of(19) => 8 + random.below(2),
            _ => 2 + random.below(6),
        };
        let format = [dds::BC1, dds::BC3, dds::BC7][random.below(3) as usize];
        Self { format, side: 1 << power }
    }

    /// The bytes of each mip, largest first.
    pub(crate) fn mips(self) -> Vec<usize> {
        dds::mip_bytes(self.format, self.side, self.side, self.side.ilog2() as u8 + 1)
    }

    fn dds(self, seed: u64) -> Vec<u8> {
        let mips = self.mips();
        let mut out = dds::header(self.format, self.side, self.side, mips.len() as u8, false);
        out.extend(texels(seed, mips.iter().sum()));
        out
    }
}
