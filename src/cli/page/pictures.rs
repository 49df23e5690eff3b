//! Makes the pictures of a page. Equal ones are stored once, as a rule of the page's style.

use std::collections::HashMap;
use std::fmt::Write as _;

use indicatif::BinaryBytes;
use sha2::{Digest, Sha256};

use super::contents::{Pixels, Row, Side};
use crate::limits::{PAGE_PICTURES_MAX, PAGE_TEXTURES_MAX};
use crate::picture::{Image, PictureError, difference, thumbnail, write_pixels, write_reduced_png};
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::vfs::comparison::Hashing;
use crate::vfs::parallel::in_parallel;
use crate::vfs::{FileReader, VfsFile};

/// Maximum side of a picture, in pixels.
const SIDE: u32 = 128;
/// Maximum side of the pictures whose difference is shown, in pixels. In a smaller one, a small difference
/// would disappear among the pixels beside it.
const SIDE_COMPARED: u32 = 512;
/// The same for textures whose mips of that size are equal.
const SIDE_COMPARED_LARGE: u32 = 2048;
/// Number of rows whose pictures are made before they are added. They wait in memory.
const ROWS_AT_ONCE: usize = 64;

#[derive(Default)]
pub(super) struct Pictures {
    /// A rule for each picture.
    style: String,
    /// The number of each picture, by its hash.
    numbers: HashMap<[u8; 32], usize>,
    /// Whether a picture was left out because of [`PAGE_PICTURES_MAX`].
    is_full: bool,
}

/// What is shown of a texture.
pub(super) struct Shown {
    /// The number of the picture, or why there is none.
    pub(super) picture: Result<usize, String>,
    /// Size and format. Empty if the header cannot be read.
    pub(super) about: String,
}

/// What is shown of the textures of a row.
pub(super) struct ShownRow {
    /// In the order of the row's sides.
    pub(super) sides: Vec<Shown>,
    /// The number of the picture that shows where the pixels differ.
    pub(super) difference: Option<usize>,
    /// Whether all pixels are equal. False if they were not compared.
    pub(super) has_equal_pixels: bool,
}

impl Pictures {
    /// Makes the pictures of rows, in their order until the page is full. `None` for a row that is not a
    /// texture, or whose pictures were left out.
    pub(super) fn of(rows: &[&Row], step: &(dyn Fn() + Sync)) -> (Self, Vec<Option<ShownRow>>) {
        let mut pictures = Self::default();
        let mut shown: Vec<Option<ShownRow>> = rows.iter().map(|_| None).collect();
        let mut textures: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].is_texture()).collect();
        let sizes = textures.iter().map(|&index| size(rows[index]));
        let within = count_within(sizes, PAGE_TEXTURES_MAX);
        textures.truncate(within);
        for chunk in textures.chunks(ROWS_AT_ONCE) {
            let mut order = chunk.to_vec();
            // In stored order, so that a disk is read in one pass.
            order.sort_by_key(|&index| rows[index].sides.first().map(|side| side.file.place()));
            let made = in_parallel(order.len(), step, |at| MadeRow::of(rows[order[at]]));
            let mut made: Vec<(usize, MadeRow)> = order.into_iter().zip(made).collect();
            made.sort_by_key(|(index, _)| *index);
            for (index, made) in made {
                shown[index] = pictures.add_row(made);
                if pictures.is_full {
                    return (pictures, shown);
                }
            }
        }
        (pictures, shown)
    }

    /// The rules of the style. Pictures have the classes `p0`, `p1` and so on.
    pub(super) fn style(&self) -> &str {
        &self.style
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Adds all pictures of a row, or none if they do not fit.
    fn add_row(&mut self, made: MadeRow) -> Option<ShownRow> {
        let pngs = made.sides.iter().filter_map(|side| side.png.as_ref().ok()).chain(&made.difference);
        // Equal pictures count once, but a row has no more than three.
        let more: usize = pngs.map(|png| self.len_of(png)).sum();
        if self.style.len() + more > PAGE_PICTURES_MAX {
            self.is_full = true;
            return None;
        }
        let difference = made.difference.map(|png| self.add(&png));
        let show = |side: MadeSide| Shown { picture: side.png.map(|png| self.add(&png)), about: side.about };
        let sides = made.sides.into_iter().map(show).collect();
        Some(ShownRow { sides, difference, has_equal_pixels: made.has_equal_pixels })
    }

    /// The number of bytes that a picture would add.
    fn len_of(&self, png: &[u8]) -> usize {
        const RULE: usize = 80;
        if self.numbers.contains_key(&hash(png)) { 0 } else { png.len().div_ceil(3) * 4 + RULE }
    }

    /// Adds a picture, if no equal one was added before. Returns its number.
    fn add(&mut self, png: &[u8]) -> usize {
        let next = self.numbers.len();
        let number = *self.numbers.entry(hash(png)).or_insert(next);
        if number == next {
            // Writing to a string cannot fail.
            let _ = write!(self.style, ".p{number}{{background-image:url(data:image/png;base64,");
            add_base64(png, &mut self.style);
            self.style.push_str(")}\n");
        }
        number
    }
}

/// The size of the textures of a row in bytes. A size that cannot be learnt counts as nothing, because no
/// picture can be made then.
fn size(row: &Row) -> u64 {
    row.sides.iter().map(|side| side.file.size().unwrap_or(0)).fold(0, u64::saturating_add)
}

/// How many of the sizes, from the first on, have a sum of at most `max`.
fn count_within(sizes: impl Iterator<Item = u64>, max: u64) -> usize {
    let sums = sizes.scan(0_u64, |sum, size| {
        *sum = sum.saturating_add(size);
        Some(*sum)
    });
    sums.take_while(|&sum| sum <= max).count()
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The pictures of a row, before they are added to the page.
struct MadeRow {
    sides: Vec<MadeSide>,
    difference: Option<Vec<u8>>,
    has_equal_pixels: bool,
}

struct MadeSide {
    png: Result<Vec<u8>, String>,
    about: String,
    /// The sides of the texture in pixels, if its header can be read.
    sides: Option<(u32, u32)>,
}

impl MadeRow {
    fn of(row: &Row) -> Self {
        let sides: Vec<MadeSide> = row.sides.iter().map(|Side { file, .. }| MadeSide::of(file)).collect();
        let mut made = Self { sides, difference: None, has_equal_pixels: false };
        let ([one, two], [file, other]) = (&made.sides[..], &row.sides[..]) else { return made };
        if row.pixels == Pixels::Shown || one.sides.is_none() || one.sides != two.sides {
            return made;
        }
        let is_alike = one.png.is_ok() && one.png == two.png;
        // All pixels are decoded only if the small pictures leave it open.
        made.has_equal_pixels = is_alike && have_equal_pixels(&file.file, &other.file);
        if row.pixels == Pixels::Subtracted && !made.has_equal_pixels {
            made.difference = picture_of_difference(&file.file, &other.file);
        }
        made
    }
}

impl MadeSide {
    fn of(file: &VfsFile) -> Self {
        let mut bytes = [0; HEADER_MAX];
        let len = file.read_at(0, &mut bytes).unwrap_or(0);
        let header = FileHeader::parse(&bytes[..len], file.shown_size()).ok();
        let about = header.as_ref().map_or_else(String::new, |header| {
            format!("{} × {} {}", header.width, header.height, header.format_name())
        });
        let made = thumbnail(&mut file.reader(), SIDE).map(|image| png(&image));
        Self {
            png: made.map_err(|error| error.to_string()),
            about,
            sides: header.map(|header| (header.width, header.height)),
        }
    }
}

/// Whether all pixels of two textures are equal, as far as both can be decoded.
fn have_equal_pixels(one: &VfsFile, two: &VfsFile) -> bool {
    let digest = |file: &VfsFile| -> Result<[u8; 32], PictureError> {
        let mut digest = Hashing(Sha256::new());
        write_pixels(&mut file.reader(), &mut digest)?;
        Ok(digest.0.finalize().into())
    };
    matches!((digest(one), digest(two)), (Ok(one), Ok(two)) if one == two)
}

/// A picture that shows where the pixels of two textures of equal size differ. `None` if only mips above
/// moderate size differ.
fn picture_of_difference(one: &VfsFile, two: &VfsFile) -> Option<Vec<u8>> {
    [SIDE_COMPARED, SIDE_COMPARED_LARGE].into_iter().find_map(|side| {
        let image = |mut file: FileReader| thumbnail(&mut file, side).ok();
        let shown = difference(&image(one.reader())?, &image(two.reader())?, SIDE)?;
        shown.rgba.iter().any(|pixel| pixel[..3] != [0; 3]).then(|| png(&shown))
    })
}

/// A small picture as a PNG file.
fn png(image: &Image) -> Vec<u8> {
    let mut png = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_reduced_png(image, &mut png);
    png
}

/// Appends bytes as base64, with padding.
pub(super) fn add_base64(bytes: &[u8], text: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text.reserve(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at) & 63) as usize;
            text.push(if at <= three.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
}

/// The size of a file, or that it cannot be read.
pub(super) fn size_of(file: &VfsFile) -> String {
    file.size().map_or_else(|_| "size unknown".into(), |size| BinaryBytes(size).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        for (bytes, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            let mut text = String::new();
            add_base64(bytes.as_bytes(), &mut text);
            assert_eq!(text, expected);
        }
    }

    fn row(pngs: &[&[u8]]) -> MadeRow {
        let side =
            |png: &&[u8]| MadeSide { png: Ok(png.to_vec()), about: String::new(), sides: Some((1, 1)) };
        MadeRow { sides: pngs.iter().map(side).collect(), difference: None, has_equal_pixels: false }
    }

    fn numbers(shown: Option<ShownRow>) -> Vec<usize> {
        shown.unwrap().sides.into_iter().map(|side| side.picture.unwrap()).collect()
    }

    #[test]
    fn textures_are_shown_until_their_sizes_reach_the_limit() {
        assert_eq!(count_within([3, 4, 3, 1].into_iter(), 10), 3);
        assert_eq!(count_within([3, 4, 4, 1].into_iter(), 10), 2);
        assert_eq!(count_within([u64::MAX, u64::MAX].into_iter(), u64::MAX), 2);
        assert_eq!(count_within([11].into_iter(), 10), 0);
        assert_eq!(count_within(std::iter::empty(), 10), 0);
    }

    #[test]
    fn equal_pictures_are_stored_once() {
        let mut pictures = Pictures::default();
        assert_eq!(numbers(pictures.add_row(row(&[b"one", b"two"]))), [0, 1]);
        assert_eq!(numbers(pictures.add_row(row(&[b"two", b"two"]))), [1, 1]);
        assert_eq!(pictures.count(), 2);
        assert_eq!(pictures.style().matches("data:").count(), 2);
    }

    #[test]
    fn a_row_that_does_not_fit_adds_no_picture() {
        let mut pictures = Pictures::default();
        let large = vec![1; PAGE_PICTURES_MAX / 2];
        assert_eq!(numbers(pictures.add_row(row(&[&large, b"small"]))), [0, 1]);
        assert!(pictures.add_row(row(&[b"another", &vec![2; PAGE_PICTURES_MAX / 2]])).is_none());
        assert!(pictures.is_full);
        assert_eq!(pictures.count(), 2);
        assert!(pictures.style().len() <= PAGE_PICTURES_MAX);
    }
}
