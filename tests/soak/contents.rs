//! Contents of the archives and of the loose folder: names and bytes of each generation, which the
//! seed determines.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::random::Random;
use crate::support::content::{noise, texels, text};
use crate::support::dds;

/// Number of files in each archive, and maximum number in the loose folder.
pub(crate) const FILES: u64 = 300;
/// Files that have the same names in all sources except archives of textures. In a union, the last
/// source wins.
const SHARED: std::ops::Range<u64> = 10..20;

/// The content of an archive or of the loose folder between two changes.
#[derive(Debug)]
pub(crate) struct Generation {
    /// Counts up from 0.
    pub(crate) number: u64,
    pub(crate) files: Vec<Arc<File>>,
    lost: Lost,
}

/// A file of a generation.
#[derive(Debug)]
pub(crate) struct File {
    /// Number of the file in its archive, the same in all generations.
    pub(crate) index: u64,
    /// The generation that introduced this file.
    pub(crate) number: u64,
    /// Whether a loose file left its path: it was removed, or another file was renamed over it.
    pub(crate) lost: Lost,
    /// The content of the same loose file after it was written to in place.
    next: OnceLock<Next>,
    /// Path with `\` as separator, as in archives.
    pub(crate) folder: String,
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
    /// The texture; `data` then begins with its header.
    pub(crate) texture: Option<Texture>,
}

/// A later content of a loose file.
#[derive(Debug)]
struct Next {
    file: Arc<File>,
    /// The length to which the file was cut meanwhile, if it was.
    cut_to: Option<usize>,
}

/// Whether reads of open files may fail from now on. They give EIO if an archive was written to in place, and
/// ESTALE if a loose file left its path.
#[derive(Debug, Default)]
pub(crate) struct Lost(AtomicBool);

impl Lost {
    /// Call this before the bytes go.
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
    /// Builds a generation of the archive with this index.
    pub(crate) fn new(seed: u64, archive: usize, has_textures: bool, number: u64) -> Self {
        let file = |index| Arc::new(File::new(seed, archive, has_textures, number, index));
        Self::of(number, (0..FILES).map(file).collect())
    }

    /// Builds a generation from files of several generations.
    pub(crate) fn of(number: u64, files: Vec<Arc<File>>) -> Self {
        Self { number, files, lost: Lost::default() }
    }

    /// Call this before the archive is written to.
    pub(crate) fn lose(&self) {
        self.lost.set();
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get()
    }
}

impl File {
    /// Builds a file. All bytes differ between generations, and so do half of the sizes and one
    /// name in sixteen.
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
        let folder = if SHARED.contains(&index) && !has_textures {
            "Shared\\Common".into()
        } else {
            format!("Data\\Mod{archive:02}\\Place{}", index / 50)
        };
        let (lost, next) = Default::default();
        Self { index, number, lost, next, folder, name, data, texture }
    }

    /// Builds this loose file with more bytes at its end.
    pub(crate) fn grown(&self, seed: u64, number: u64, more: usize) -> Self {
        let (lost, next) = Default::default();
        let more = text(seed ^ number << 8 ^ self.index << 32, more);
        let data = [&self.data[..], &more].concat();
        let Self { index, folder, name, texture, .. } = self;
        let (folder, name) = (folder.clone(), name.clone());
        Self { index: *index, number, lost, next, folder, name, data, texture: *texture }
    }

    /// Records the content that this loose file gets in place. Call this before it is written.
    pub(crate) fn set_next(&self, file: Arc<Self>, cut_to: Option<usize>) {
        let _ = self.next.set(Next { file, cut_to });
    }

    /// The length to which the file was cut before it got its next content.
    pub(crate) fn cut_to(&self) -> Option<usize> {
        self.next.get()?.cut_to
    }

    /// The content of a file followed by all that were written to it in place.
    pub(crate) fn versions(self: &Arc<Self>) -> Vec<Arc<Self>> {
        std::iter::successors(Some(self.clone()), |it| Some(it.next.get()?.file.clone())).collect()
    }

    /// Path in the mount, below the root or the folder of the archive.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.folder.replace('\\', "/"), self.name)
    }

    /// The name of this file in another generation, if it differs there.
    pub(crate) fn name_in(&self, number: u64) -> Option<String> {
        let (_, rest) = self.name.strip_prefix("Only")?.split_once('_')?;
        Some(format!("Only{number}_{rest}"))
    }
}

fn only_in(number: u64, index: u64, extension: &str) -> String {
    format!("Only{number}_{index:03}.{extension}")
}

/// Length in bytes: one file has 4 to 6 MiB, a few up to 3 MiB, some up to 400 KiB. The others are
/// small, and one is empty.
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

/// Data that compresses to a fifth, to a half, or not at all.
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

    /// Length of each mip in bytes, largest first.
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
