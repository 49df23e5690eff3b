//! Shrinks a picture. Each pixel is the average of the area that it covers.

use super::transfer::Transfer;

/// If the values of a channel differ by less than this, of 255, the channel shows nothing.
const UNIFORM: u8 = 4;

/// Pixels as a screen shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Red, green, blue (sRGB) and alpha (not multiplied into them) of each pixel, rows from the top.
    pub rgba: Vec<[u8; 4]>,
}

/// Sums up the rows of a picture, from the top, into a smaller picture.
#[derive(Debug)]
pub(super) struct Shrinker {
    /// Width and height of the picture in pixels.
    from: (u32, u32),
    to: (u32, u32),
    transfer: Transfer,
    /// Whether transparent pixels have no colour.
    has_cutouts: bool,
    /// For each column of the picture: the columns of the smaller picture that it overlaps, and its
    /// share of each.
    columns: Vec<[(u32, f32); 2]>,
    /// Sums of weighted values for each pixel of the smaller picture.
    sums: Vec<[f32; 4]>,
    /// Sums for the current row, only along x.
    row: Vec<[f32; 4]>,
    taken: u32,
}

impl Shrinker {
    /// `to` must be at least 1 by 1 and not larger than `from`.
    pub(super) fn new(from: (u32, u32), to: (u32, u32), transfer: Transfer, has_cutouts: bool) -> Self {
        let sums = vec![[0.0; 4]; to.0 as usize * to.1 as usize];
        let columns = (0..from.0).map(|x| shares(x, from.0, to.0)).collect();
        Self { from, to, transfer, has_cutouts, columns, sums, row: vec![[0.0; 4]; to.0 as usize], taken: 0 }
    }

    /// Adds the next row. Rows after the last are ignored.
    pub(super) fn take(&mut self, row: &[[f32; 4]]) {
        if self.taken >= self.from.1 {
            return;
        }
        self.row.fill([0.0; 4]);
        for (columns, pixel) in self.columns.iter().zip(row) {
            let alpha = if pixel[3] > 0.0 { pixel[3].min(1.0) } else { 0.0 };
            let weight = if self.has_cutouts { alpha } else { 1.0 };
            let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(|it| self.transfer.average_of(it) * weight);
            for (to, share) in columns {
                if let Some(sum) = self.row.get_mut(*to as usize) {
                    add(sum, [r, g, b, alpha], *share);
                }
            }
        }
        for (to, share) in shares(self.taken, self.from.1, self.to.1) {
            let sums = self.sums.chunks_mut(self.to.0 as usize).nth(to as usize).unwrap_or_default();
            sums.iter_mut().zip(&self.row).for_each(|(sum, value)| add(sum, *value, share));
        }
        self.taken += 1;
    }

    /// Returns the smaller picture.
    ///
    /// Alpha is rarely opacity: games store gloss, masks and heights in it, and as opacity these
    /// would make the picture vanish. So alpha is kept only for cutouts, or if the colours are
    /// uniform and alpha has the only content.
    pub(super) fn finish(self) -> Image {
        let shown = |[r, g, b, alpha]: [f32; 4]| {
            let weight = if self.has_cutouts && alpha > 0.0 { alpha } else { 1.0 };
            let [r, g, b] = [r, g, b].map(|it| self.transfer.shown(it / weight));
            [r, g, b, Transfer::Plain.shown(alpha)]
        };
        let mut rgba: Vec<[u8; 4]> = self.sums.iter().copied().map(shown).collect();
        if !self.has_cutouts && !is_all_in_alpha(&rgba) {
            for pixel in rgba.iter_mut() {
                pixel[3] = u8::MAX;
            }
        }
        Image { width: self.to.0, height: self.to.1, rgba }
    }
}

/// Whether the colours are uniform and alpha is not.
fn is_all_in_alpha(rgba: &[[u8; 4]]) -> bool {
    let spread = |channel: usize| {
        let values = || rgba.iter().map(|pixel| pixel[channel]);
        values().max().unwrap_or(0) - values().min().unwrap_or(0)
    };
    (0..3).all(|channel| spread(channel) < UNIFORM) && spread(3) >= UNIFORM
}

fn add(sum: &mut [f32; 4], value: [f32; 4], share: f32) {
    sum.iter_mut().zip(value).for_each(|(sum, value)| *sum += value * share);
}

/// The pixels on a side of `to` pixels that the `nth` of `from` pixels overlaps, and its share of
/// each. There are at most two, because `to` is not larger than `from`.
fn shares(nth: u32, from: u32, to: u32) -> [(u32, f32); 2] {
    let (from, to, nth) = (u64::from(from), u64::from(to), u64::from(nth));
    // Both sides are `from * to` units long: a pixel of the smaller picture has `from` units, one
    // of the larger has `to`.
    let (start, end) = (nth * to, (nth + 1) * to);
    let first = start / from;
    let border = ((first + 1) * from).min(end);
    let share = |units: u64| units as f32 / from as f32;
    [(first as u32, share(border - start)), (first as u32 + 1, share(end - border))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smaller(rows: &[&[[f32; 4]]], to: (u32, u32), transfer: Transfer, has_cutouts: bool) -> Vec<[u8; 4]> {
        let mut area = Shrinker::new((rows[0].len() as u32, rows.len() as u32), to, transfer, has_cutouts);
        for row in rows.iter() {
            area.take(row);
        }
        area.finish().rgba
    }

    const BLACK: [f32; 4] = [0.0, 0.0, 0.0, 1.0];
    const WHITE: [f32; 4] = [1.0; 4];

    #[test]
    fn a_picture_scaled_to_its_own_size_does_not_change() {
        let rows: [&[[f32; 4]]; 2] = [&[BLACK, WHITE], &[[0.2, 0.4, 0.6, 1.0], BLACK]];
        let made = smaller(&rows, (2, 2), Transfer::Encoded, false);
        assert_eq!(made, [[0, 0, 0, 255], [255; 4], [51, 102, 153, 255], [0, 0, 0, 255]]);
    }

    #[test]
    fn pixels_are_weighted_by_the_area_that_they_cover() {
        // Three pixels become two: the middle one is in both halves.
        let made = smaller(&[&[BLACK, WHITE, WHITE]], (2, 1), Transfer::Plain, false);
        assert_eq!(made, [[85, 85, 85, 255], [255; 4]]);
        let made = smaller(&[&[BLACK], &[WHITE], &[WHITE]], (1, 2), Transfer::Plain, false);
        assert_eq!(made, [[85, 85, 85, 255], [255; 4]]);
        let checked = [BLACK, WHITE];
        assert_eq!(smaller(&[&checked, &checked], (1, 1), Transfer::Encoded, false), [[188, 188, 188, 255]]);
    }

    #[test]
    fn the_shares_of_every_pixel_add_up_to_one() {
        for (from, to) in [(1, 1), (7, 3), (1000, 7), (16_384, 4096), (16_383, 256), (300, 299)] {
            let mut sums = vec![0.0; to as usize];
            for (to, share) in (0..from).flat_map(|nth| shares(nth, from, to)).filter(|it| it.1 > 0.0) {
                sums[to as usize] += share;
            }
            assert!(sums.iter().all(|sum: &f32| (sum - 1.0).abs() < 1e-3), "{from} on {to}: {sums:?}");
        }
    }

    #[test]
    fn gloss_in_alpha_does_not_make_a_texture_invisible() {
        let made = smaller(&[&[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.1]]], (2, 1), Transfer::Plain, false);
        assert_eq!(made, [[255, 0, 0, 255], [0, 255, 0, 255]]);
    }

    #[test]
    fn a_shape_that_exists_only_in_alpha_is_shown() {
        let made = smaller(&[&[[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.4]]], (2, 1), Transfer::Plain, false);
        assert_eq!(made, [[255, 255, 255, 0], [255, 255, 255, 102]]);
        let same = [[1.0, 1.0, 1.0, 0.0]; 2];
        assert_eq!(
            smaller(&[&same], (2, 1), Transfer::Plain, false),
            [[255; 4]; 2],
            "the picture must not become invisible"
        );
    }

    #[test]
    fn transparent_pixels_of_a_cutout_do_not_darken_its_edge() {
        let row = [[1.0, 0.0, 0.0, 1.0], [0.0; 4], [0.0; 4], [0.0; 4]];
        let made = smaller(&[&row], (2, 1), Transfer::Encoded, true);
        assert_eq!(made, [[255, 0, 0, 128], [0; 4]]);
    }
}
