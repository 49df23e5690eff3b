//! Tiles texels as a console's GPU stores them, 1D thin. This is the inverse of what the program
//! does, computed by other means.
//!
//! The tiler walks the tiled bytes from the first to the last and finds the element of each. A tile
//! is a square of four squares, and so on down to one element. Nothing is computed from an address.

/// A texture of elements: pixels, or blocks of 4 by 4 pixels.
#[derive(Clone, Copy, Debug)]
pub struct Tiler {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Number of mips of each face.
    pub mips: u32,
    /// Number of faces: 1, or 6 for a cube.
    pub faces: u32,
    /// Pixels along each side of an element: 1 or 4.
    pub side: u32,
    /// Number of bytes of an element.
    pub bytes: usize,
    /// Whether mips below the largest are padded to sides that are powers of two.
    pub powers_of_two: bool,
}

/// Value of the padding bytes.
pub const FILL: u8 = 0xEE;

impl Tiler {
    /// Number of columns and rows of elements in a mip.
    fn elements(&self, mip: u32) -> (u32, u32) {
        let halved = |mut pixels: u32| {
            (0..mip).for_each(|_| pixels = if pixels > 1 { pixels / 2 } else { 1 });
            pixels.div_ceil(self.side)
        };
        (halved(self.width), halved(self.height))
    }

    /// Number of bytes of all faces and mips, stored in rows.
    pub fn linear_len(&self) -> usize {
        let of_face: u32 = (0..self.mips).map(|mip| self.elements(mip)).map(|(w, h)| w * h).sum();
        (of_face * self.faces) as usize * self.bytes
    }

    /// Tiles `linear`, which has all mips of a face before the next face. The result has all faces
    /// of a mip before the next mip.
    pub fn tile(&self, linear: &[u8]) -> Vec<u8> {
        assert_eq!(linear.len(), self.linear_len());
        let mut mips: Vec<Vec<&[u8]>> = vec![Vec::new(); self.mips as usize];
        let mut rest = linear;
        for _ in 0..self.faces {
            for (mip, faces) in mips.iter_mut().enumerate() {
                let (columns, rows) = self.elements(mip as u32);
                let (face, others) = rest.split_at((columns * rows) as usize * self.bytes);
                faces.push(face);
                rest = others;
            }
        }
        let mut out = Vec::new();
        for (mip, faces) in mips.iter().enumerate() {
            for face in faces {
                self.tile_face(mip as u32, face, &mut out);
            }
        }
        out
    }

    fn tile_face(&self, mip: u32, face: &[u8], out: &mut Vec<u8>) {
        let (columns, rows) = self.elements(mip);
        let mut padded = (columns, rows);
        if self.powers_of_two && mip > 0 {
            while padded.0.count_ones() > 1 {
                padded.0 += 1;
            }
            while padded.1.count_ones() > 1 {
                padded.1 += 1;
            }
        }
        for top in (0..padded.1).step_by(8) {
            for left in (0..padded.0).step_by(8) {
                self.square(face, (columns, rows), (left, top), 8, out);
            }
        }
        while !out.len().is_multiple_of(256) {
            out.push(FILL);
        }
    }

    fn square(
        &self,
        face: &[u8],
        (columns, rows): (u32, u32),
        (x, y): (u32, u32),
        side: u32,
        out: &mut Vec<u8>,
    ) {
        if side == 1 {
            if x < columns && y < rows {
                let nth = (y * columns + x) as usize;
                out.extend(face.chunks(self.bytes).nth(nth).unwrap());
            } else {
                out.extend(std::iter::repeat_n(FILL, self.bytes));
            }
            return;
        }
        let half = side / 2;
        for corner in [(x, y), (x + half, y), (x, y + half), (x + half, y + half)] {
            self.square(face, (columns, rows), corner, half, out);
        }
    }
}
