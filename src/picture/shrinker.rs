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

/// What alpha is in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AlphaUse {
    /// Opacity: transparent pixels have no colour.
    Opacity,
    /// Opacity, or something else, such as gloss. Its values show which.
    Unknown,
    /// All pixels are opaque.
    None,
}

/// Sums up the rows of a picture, from the top, into a smaller picture.
#[derive(Debug)]
pub(super) struct Shrinker {
    /// Width and height of the picture in pixels.
    from: (u32, u32),
    to: (u32, u32),
    transfer: Transfer,
    alpha: AlphaUse,
    /// For each column of the picture: the columns of the smaller picture that it overlaps, and its
    /// share of each.
    columns: Vec<[(u32, f32); 2]>,
    sums: Sums,
    /// Sums for the current row, only along x.
    row: Sums,
    tally: AlphaTally,
    taken: u32,
}

/// Sums of values for each pixel of the smaller picture.
#[derive(Debug)]
struct Sums {
    /// All pixels count alike.
    alike: Vec<[f32; 4]>,
    /// Colours are weighted by alpha. Empty if there is no alpha.
    by_alpha: Vec<[f32; 4]>,
}

impl Sums {
    fn new(pixels: usize, alpha: AlphaUse) -> Self {
        let weighted = if alpha == AlphaUse::None { 0 } else { pixels };
        Self { alike: vec![[0.0; 4]; pixels], by_alpha: vec![[0.0; 4]; weighted] }
    }

    fn each(&mut self) -> [&mut Vec<[f32; 4]>; 2] {
        [&mut self.alike, &mut self.by_alpha]
    }
}

impl Shrinker {
    /// `to` must be at least 1 by 1 and not larger than `from`.
    pub(super) fn new(from: (u32, u32), to: (u32, u32), transfer: Transfer, alpha: AlphaUse) -> Self {
        let sums = Sums::new(to.0 as usize * to.1 as usize, alpha);
        let columns = (0..from.0).map(|x| shares(x, from.0, to.0)).collect();
        let row = Sums::new(to.0 as usize, alpha);
        Self { from, to, transfer, alpha, columns, sums, row, tally: AlphaTally::new(from.0), taken: 0 }
    }

    /// Adds the next row: for each pixel, what is averaged of its colours, and alpha from 0 to 1. Rows after
    /// the last are ignored.
    pub(super) fn take(&mut self, row: impl Iterator<Item = [f32; 4]>) {
        if self.taken >= self.from.1 {
            return;
        }
        let Self { columns, row: sums, tally, .. } = self;
        sums.each().into_iter().for_each(|sums| sums.fill([0.0; 4]));
        let pixels = columns.iter().zip(row);
        match self.alpha {
            AlphaUse::None => pixels.for_each(|(shares, pixel)| add_shares(&mut sums.alike, shares, pixel)),
            AlphaUse::Opacity | AlphaUse::Unknown => {
                for (shares, pixel) in pixels {
                    tally.add(pixel[3]);
                    add_shares(&mut sums.alike, shares, pixel);
                    add_shares(&mut sums.by_alpha, shares, by_alpha(pixel));
                }
                tally.end_row();
            }
        }
        for (to, share) in shares(self.taken, self.from.1, self.to.1) {
            for (sums, row) in self.sums.each().into_iter().zip(self.row.each()) {
                let sums = sums.chunks_mut(self.to.0 as usize).nth(to as usize).unwrap_or_default();
                sums.iter_mut().zip(row).for_each(|(sum, value)| add(sum, *value, share));
            }
        }
        self.taken += 1;
    }

    /// Returns the smaller picture.
    ///
    /// Games store gloss, masks and heights in alpha, and as opacity these would make the picture vanish. So
    /// alpha is kept if its values are those of a cutout, or if the colours are uniform and alpha has the
    /// only content. The second picture has alpha as brightness, unless all pixels are opaque.
    pub(super) fn finish(self) -> (Image, Option<Image>) {
        let alpha = (self.alpha != AlphaUse::None).then(|| self.alpha_picture());
        (self.picture(), alpha)
    }

    fn alpha_picture(&self) -> Image {
        let grey = |sum: &[f32; 4]| {
            let alpha = Transfer::Plain.shown(sum[3]);
            [alpha, alpha, alpha, u8::MAX]
        };
        Image { width: self.to.0, height: self.to.1, rgba: self.sums.by_alpha.iter().map(grey).collect() }
    }

    fn picture(self) -> Image {
        let (width, height) = self.to;
        let shown = |[r, g, b, alpha]: [f32; 4], weight: f32| {
            let [r, g, b] = [r, g, b].map(|it| self.transfer.shown(it / weight));
            [r, g, b, Transfer::Plain.shown(alpha)]
        };
        let cutout = || {
            let weighted = |&sum: &[f32; 4]| shown(sum, if sum[3] > 0.0 { sum[3] } else { 1.0 });
            Image { width, height, rgba: self.sums.by_alpha.iter().map(weighted).collect() }
        };
        let mut rgba: Vec<[u8; 4]> = self.sums.alike.iter().map(|&sum| shown(sum, 1.0)).collect();
        // Encoders of opaque BC1 store black as the transparent colour.
        let is_cutout = match self.alpha {
            AlphaUse::Opacity => self.tally.shows_through(),
            AlphaUse::Unknown => self.tally.is_cutout() && !are_directions(&rgba),
            AlphaUse::None => false,
        };
        if is_cutout {
            return cutout();
        }
        if self.alpha == AlphaUse::Opacity || !is_all_in_alpha(&rgba) || are_directions(&rgba) {
            for pixel in rgba.iter_mut() {
                pixel[3] = u8::MAX;
            }
        }
        Image { width, height, rgba }
    }
}

/// Counts which values alpha has.
///
/// The alpha of a cutout is 0 or 1 except at its edges, where few pixels in a row are between. Gloss and
/// heights, even if most of them are 0 or 1, have areas with values between. Measured on 45 cutouts and 270
/// maps of gloss, `in_areas` is at most 5 % of most cutouts and at least 7 % of every gloss.
#[derive(Debug)]
struct AlphaTally {
    /// Number of pixels that are transparent, opaque, or between.
    transparent: u64,
    opaque: u64,
    between: u64,
    /// Number of pixels between that are not at an edge.
    in_areas: u64,
    /// Length of the current run of pixels between, and that of the longest run at an edge.
    run: u64,
    edge: u64,
}

impl AlphaTally {
    /// Alpha up to this is transparent, and above 1 minus this, opaque. Compression changes it by less.
    const NEAR: f32 = 16.5 / 255.0;

    fn new(width: u32) -> Self {
        let edge = u64::from(width / 16).min(4);
        Self { transparent: 0, opaque: 0, between: 0, in_areas: 0, run: 0, edge }
    }

    fn add(&mut self, alpha: f32) {
        if alpha > Self::NEAR && alpha < 1.0 - Self::NEAR {
            self.run += 1;
            return;
        }
        self.transparent += u64::from(alpha <= Self::NEAR);
        self.opaque += u64::from(alpha > Self::NEAR);
        if self.run > 0 {
            self.end_row();
        }
    }

    /// Ends the current run.
    fn end_row(&mut self) {
        self.between += self.run;
        self.in_areas += if self.run > self.edge { self.run } else { 0 };
        self.run = 0;
    }

    /// Whether at least 1 % of the pixels are not opaque.
    fn shows_through(&self) -> bool {
        let others = self.transparent + self.between;
        others * 100 >= others + self.opaque
    }

    fn is_cutout(&self) -> bool {
        let all = self.transparent + self.opaque + self.between;
        self.transparent * 100 >= all
            && self.opaque * 50 >= all
            && self.between * 2 <= all
            && self.in_areas * 20 <= all
    }
}

/// Whether the colours of most pixels are directions of length 1 that point out of a surface. Alpha of a
/// normal map is never opacity.
fn are_directions(rgba: &[[u8; 4]]) -> bool {
    let is_direction = |&&[r, g, b, _]: &&[u8; 4]| {
        let [x, y, z] = [r, g, b].map(|it| f32::from(it) / 127.5 - 1.0);
        z > 0.4 && (x * x + y * y + z * z - 1.0).abs() < 0.3
    };
    rgba.iter().filter(is_direction).count() * 5 >= rgba.len() * 4
}

fn by_alpha([r, g, b, alpha]: [f32; 4]) -> [f32; 4] {
    [r * alpha, g * alpha, b * alpha, alpha]
}

fn add_shares(sums: &mut [[f32; 4]], shares: &[(u32, f32); 2], pixel: [f32; 4]) {
    for (to, share) in shares {
        if *share > 0.0
            && let Some(sum) = sums.get_mut(*to as usize)
        {
            add(sum, pixel, *share);
        }
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

    fn smaller(rows: &[&[[f32; 4]]], to: (u32, u32), transfer: Transfer, alpha: AlphaUse) -> Vec<[u8; 4]> {
        let mut area = Shrinker::new((rows[0].len() as u32, rows.len() as u32), to, transfer, alpha);
        for row in rows.iter() {
            area.take(row.iter().map(|&[r, g, b, a]| {
                let [r, g, b] = [r, g, b].map(|it| transfer.average_of(it));
                [r, g, b, a]
            }));
        }
        area.finish().0.rgba
    }

    const BLACK: [f32; 4] = [0.0, 0.0, 0.0, 1.0];
    const WHITE: [f32; 4] = [1.0; 4];

    #[test]
    fn a_picture_scaled_to_its_own_size_does_not_change() {
        let rows: [&[[f32; 4]]; 2] = [&[BLACK, WHITE], &[[0.2, 0.4, 0.6, 1.0], BLACK]];
        let made = smaller(&rows, (2, 2), Transfer::Encoded, AlphaUse::Unknown);
        assert_eq!(made, [[0, 0, 0, 255], [255; 4], [51, 102, 153, 255], [0, 0, 0, 255]]);
    }

    #[test]
    fn pixels_are_weighted_by_the_area_that_they_cover() {
        // Three pixels become two: the middle one is in both halves.
        let made = smaller(&[&[BLACK, WHITE, WHITE]], (2, 1), Transfer::Plain, AlphaUse::Unknown);
        assert_eq!(made, [[85, 85, 85, 255], [255; 4]]);
        let made = smaller(&[&[BLACK], &[WHITE], &[WHITE]], (1, 2), Transfer::Plain, AlphaUse::Unknown);
        assert_eq!(made, [[85, 85, 85, 255], [255; 4]]);
        let checked = [BLACK, WHITE];
        assert_eq!(
            smaller(&[&checked, &checked], (1, 1), Transfer::Encoded, AlphaUse::Unknown),
            [[188, 188, 188, 255]]
        );
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
        let made = smaller(
            &[&[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.1]]],
            (2, 1),
            Transfer::Plain,
            AlphaUse::Unknown,
        );
        assert_eq!(made, [[255, 0, 0, 255], [0, 255, 0, 255]]);
    }

    #[test]
    fn a_shape_that_exists_only_in_alpha_is_shown() {
        let made = smaller(
            &[&[[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.4]]],
            (2, 1),
            Transfer::Plain,
            AlphaUse::Unknown,
        );
        assert_eq!(made, [[255, 255, 255, 0], [255, 255, 255, 102]]);
        let same = [[1.0, 1.0, 1.0, 0.0]; 2];
        assert_eq!(
            smaller(&[&same], (2, 1), Transfer::Plain, AlphaUse::Unknown),
            [[255; 4]; 2],
            "the picture must not become invisible"
        );
    }

    #[test]
    fn transparent_pixels_of_a_cutout_do_not_darken_its_edge() {
        let row = [[1.0, 0.0, 0.0, 1.0], [0.0; 4], [0.0; 4], [0.0; 4]];
        let made = smaller(&[&row], (2, 1), Transfer::Encoded, AlphaUse::Opacity);
        assert_eq!(made, [[255, 0, 0, 128], [0; 4]]);
    }

    #[test]
    fn few_transparent_pixels_of_bc1_are_black_and_no_holes() {
        let row: Vec<[f32; 4]> = (0..256).map(|x| [0.0, 0.0, 0.0, f32::from(x != 7)]).collect();
        let made = smaller(&[&row], (256, 1), Transfer::Encoded, AlphaUse::Opacity);
        assert!(made.iter().all(|pixel| *pixel == [0, 0, 0, 255]));
        let row: Vec<[f32; 4]> = (0..256).map(|x| [0.0, 0.0, 0.0, f32::from(x > 7)]).collect();
        let made = smaller(&[&row], (256, 1), Transfer::Encoded, AlphaUse::Opacity);
        assert_eq!((made[0][3], made[255][3]), (0, 255));
    }

    #[test]
    fn a_flat_normal_map_with_gloss_in_alpha_is_opaque() {
        let made = with_alpha(|x, _| x as f32 / 64.0, |_, _| [0.5, 0.5, 1.0]);
        assert!(made.iter().all(|pixel| pixel[3] == 255));
    }

    /// Rows of 64 pixels with the alpha that `alpha` gives for x and y, and a colour that varies.
    fn with_alpha(alpha: impl Fn(u32, u32) -> f32, colour: impl Fn(u32, u32) -> [f32; 3]) -> Vec<[u8; 4]> {
        let pixel = |x, y| {
            let [r, g, b] = colour(x, y);
            [r, g, b, alpha(x, y)]
        };
        let rows: Vec<Vec<[f32; 4]>> = (0..64).map(|y| (0..64).map(|x| pixel(x, y)).collect()).collect();
        let rows: Vec<&[[f32; 4]]> = rows.iter().map(Vec::as_slice).collect();
        smaller(&rows, (32, 32), Transfer::Encoded, AlphaUse::Unknown)
    }

    fn bark(x: u32, y: u32) -> [f32; 3] {
        [0.3 + (x % 7) as f32 / 20.0, 0.2 + (y % 5) as f32 / 20.0, 0.1]
    }

    /// 1 within a circle, 0 outside, with an edge of this many pixels.
    fn circle(x: u32, y: u32, edge: f32) -> f32 {
        let (x, y) = (x as f32 - 31.5, y as f32 - 31.5);
        ((24.0 - (x * x + y * y).sqrt()) / edge + 0.5).clamp(0.0, 1.0)
    }

    #[test]
    fn a_leaf_is_transparent_around_and_has_no_colour_of_what_is_hidden() {
        let green = |x, y| if circle(x, y, 1.0) > 0.0 { bark(x, y) } else { [0.0, 1.0, 0.0] };
        for edge in [0.01, 1.0, 3.0] {
            let made = with_alpha(|x, y| circle(x, y, edge), green);
            assert_eq!((made[0][3], made[16 * 32 + 16][3]), (0, 255), "{edge}");
            let seen = |pixel: &&[u8; 4]| pixel[3] > 0 && pixel[3] < 255;
            assert!(made.iter().any(|pixel| seen(&pixel)), "{edge}");
            if edge <= 1.0 {
                assert!(made.iter().filter(seen).all(|pixel| pixel[1] < 200), "the green shines through");
            }
        }
        // A fence that is mostly edges, as small mips are.
        let made = with_alpha(|x, _| [0.0, 0.5, 1.0, 0.5, 0.0, 0.0][x as usize % 6], bark);
        assert!(made.iter().any(|pixel| pixel[3] == 0));
    }

    #[test]
    fn gloss_that_is_often_black_or_white_stays_opaque() {
        let opaque = |made: Vec<[u8; 4]>| made.iter().all(|pixel| pixel[3] == 255);
        let slope = |x: u32| (x as f32 / 63.0 * 3.0 - 1.0).clamp(0.0, 1.0);
        assert!(opaque(with_alpha(|x, _| slope(x), bark)), "two thirds are 0 or 1");
        assert!(opaque(with_alpha(|x, y| circle(x, y, 20.0), bark)));
        assert!(opaque(with_alpha(|x, _| 0.1 + 0.8 * (x % 2) as f32, bark)));
        assert!(opaque(with_alpha(|x, _| (x / 32) as f32 * 0.5, bark)), "nothing is opaque");
        // A mask of two values on a normal map.
        let normal = |x: u32, y: u32| [0.5 + (x % 5) as f32 / 25.0, 0.5 - (y % 3) as f32 / 20.0, 0.98];
        assert!(opaque(with_alpha(|x, y| circle(x, y, 1.0), normal)));
    }
}
