//! Generated contents that resemble those of games: they compress to about half. A seed gives the
//! same bytes on every machine.

use crate::support::content::{Xorshift, text};
use crate::support::dds;

/// Formats of the textures.
pub(crate) const FORMATS: [u8; 4] = [dds::BC1, dds::BC3, dds::BC5, dds::BC7];

/// A square texture with all its mips.
pub(crate) struct Texture {
    pub(crate) format: u8,
    pub(crate) side: u16,
    /// The bytes of each mip, largest first.
    pub(crate) mips: Vec<Vec<u8>>,
}

impl Texture {
    /// Generates a texture. `side` must be a power of two.
    pub(crate) fn new(seed: u64, format: u8, side: u16) -> Self {
        let count = side.ilog2() as u8 + 1;
        let mut blocks = Blocks::new(seed);
        let mips = dds::mip_bytes(format, side, side, count)
            .into_iter()
            .enumerate()
            .map(|(mip, bytes)| blocks.mip(format, bytes, usize::from(side >> mip).div_ceil(4)))
            .collect();
        Self { format, side, mips }
    }

    /// Builds the whole DDS file.
    pub(crate) fn dds(&self) -> Vec<u8> {
        let mut out = dds::header(self.format, self.side, self.side, self.mips.len() as u8, false);
        self.mips.iter().for_each(|mip| out.extend_from_slice(mip));
        out
    }
}

/// Generates a small file: a script for every third seed, otherwise a mesh. It has 512 bytes to 10
/// KiB, small lengths more often.
pub(crate) fn small(seed: u64) -> Vec<u8> {
    small_up_to(seed, 20)
}

/// Like [`small`], with up to `times` 512 bytes.
pub(crate) fn small_up_to(seed: u64, times: u32) -> Vec<u8> {
    let mut random = Xorshift::new(seed);
    random.next();
    let fraction = (random.next() >> 40) as f64 / (1u64 << 24) as f64;
    let length = (512.0 * f64::from(times).powf(fraction)) as usize;
    if seed.is_multiple_of(3) { text(seed, length) } else { mesh(&mut random, length) }
}

/// Generates vertices, each at a random distance from the previous one, then triangles of nearby vertices.
fn mesh(random: &mut Xorshift, length: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(length + 8);
    let mut position = [0f32; 3];
    while out.len() < length * 3 / 5 {
        for coordinate in &mut position {
            *coordinate += ((random.next() >> 48) as f32 - 32768.0) / 4096.0;
            out.extend(coordinate.to_le_bytes());
        }
    }
    let mut vertex = 0u16;
    while out.len() < length {
        let number = random.next() >> 56;
        vertex = vertex.wrapping_add((number & 3) as u16);
        for it in [vertex, vertex.wrapping_add(1), vertex.wrapping_sub(2)].iter() {
            out.extend(it.to_le_bytes());
        }
    }
    out.truncate(length);
    out
}

/// Generates blocks of compressed textures. Many equal a neighbour, colours stay near the last
/// ones, and indices are almost random.
struct Blocks {
    random: Xorshift,
    colours: [u16; 2],
}

impl Blocks {
    fn new(seed: u64) -> Self {
        Self { random: Xorshift::new(seed), colours: [0x7BEF, 0x39E7] }
    }

    /// Generates the blocks of a mip that is `width` blocks wide.
    fn mip(&mut self, format: u8, bytes: usize, width: usize) -> Vec<u8> {
        let block = if format == dds::BC1 { 8 } else { 16 };
        let row = width * block;
        let mut out: Vec<u8> = Vec::with_capacity(bytes + 16);
        while out.len() < bytes {
            let choice = self.random.next() >> 56;
            let back = if choice < 44 { block } else { row };
            if choice < 72 && out.len() >= back {
                let from = out.len() - back;
                out.extend_from_within(from..from + block);
                continue;
            }
            (0..block / 8).for_each(|half| self.half_block(half == 0, &mut out));
        }
        out.truncate(bytes);
        out
    }

    /// Appends eight bytes: two colours and sixteen indices of two bits.
    fn half_block(&mut self, may_change: bool, out: &mut Vec<u8>) {
        let number = self.random.next();
        if may_change && number >> 62 == 0 {
            for (colour, shift) in self.colours.iter_mut().zip([8, 16]) {
                *colour = colour.wrapping_add((number >> shift & 0x1F) as u16).wrapping_sub(16);
            }
        }
        self.colours.iter().for_each(|colour| out.extend(colour.to_le_bytes()));
        // Indices of flat, striped and shaded blocks are common.
        const COMMON: [u8; 8] = [0x00, 0x55, 0xAA, 0xFF, 0x05, 0x50, 0xF0, 0x0F];
        for byte in ((number >> 24) as u32).to_le_bytes() {
            let pick = self.random.next() >> 60;
            out.push(if pick < 5 { COMMON[usize::from(byte & 7)] } else { byte });
        }
    }
}
