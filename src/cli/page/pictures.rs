//! Makes the pictures of a page. Equal ones are stored once, as a rule of the page's style.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use indicatif::BinaryBytes;
use sha2::{Digest, Sha256};

use super::contents::{Pixels, Row, Side};
use crate::content::BytesKey;
use crate::limits::{PAGE_PICTURES_MAX, PAGE_TEXTURES_MAX};
use crate::note::Note;
use crate::picture::{Image, PictureError, difference, thumbnail, write_pixels, write_reduced_png};
use crate::system::once_per_file::OncePerFile;
use crate::system::sync::Mutex;
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::vfs::comparison::Hashing;
use crate::vfs::parallel::in_parallel;
use crate::vfs::{FileReader, ReadErrorKind, VfsFile};

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
    /// The textures that could not be read.
    unread: Vec<Note>,
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
        let mut counted = HashSet::new();
        let sizes = textures.iter().map(|&index| size(rows[index], &mut counted));
        let within = count_within(sizes, PAGE_TEXTURES_MAX);
        let once = Once::default();
        textures.truncate(within);
        for chunk in textures.chunks(ROWS_AT_ONCE) {
            let mut order = chunk.to_vec();
            // In stored order, so that a disk is read in one pass.
            order.sort_by_key(|&index| rows[index].sides.first().map(|side| side.file.place()));
            let made = in_parallel(order.len(), step, |at| once.row(rows[order[at]]));
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

    /// The textures that could not be read.
    pub(super) fn unread(&self) -> &[Note] {
        &self.unread
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Adds all pictures of a row, or none if they do not fit.
    fn add_row(&mut self, made: MadeRow) -> Option<ShownRow> {
        self.unread.extend(made.sides.iter().filter_map(|side| side.unread.clone()));
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

/// The size of the textures of a row in bytes, without those that were `counted` before, because each is
/// decoded once. A size that cannot be learnt counts as nothing, because no picture can be made then.
fn size(row: &Row, counted: &mut HashSet<BytesKey>) -> u64 {
    let mut size = |file: &VfsFile| {
        let is_new = file.bytes_key().is_none_or(|key| counted.insert(key));
        if is_new { file.size().unwrap_or(0) } else { 0 }
    };
    row.sides.iter().map(|side| size(&side.file)).fold(0, u64::saturating_add)
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

/// A picture as a PNG file. Equal ones share their memory.
type Png = Arc<[u8]>;

/// What was made of textures, each once for all names of the same bytes.
#[derive(Default)]
struct Once {
    sides: OncePerFile<MadeSide, BytesKey>,
    compared: OncePerFile<ComparedPixels, (Pixels, BytesKey, BytesKey)>,
    /// The pictures by their hash.
    pngs: Mutex<HashMap<[u8; 32], Png>>,
}

/// Whether all pixels of two textures are equal, and the picture that shows where they differ.
#[derive(Clone, Default)]
struct ComparedPixels {
    are_equal: bool,
    difference: Option<Png>,
}

/// The pictures of a row, before they are added to the page.
struct MadeRow {
    sides: Vec<MadeSide>,
    difference: Option<Png>,
    has_equal_pixels: bool,
}

#[derive(Clone)]
struct MadeSide {
    png: Result<Png, String>,
    about: String,
    /// The note that the texture could not be read.
    unread: Option<Note>,
    /// The sides of the texture in pixels, if its header can be read.
    sides: Option<(u32, u32)>,
}

impl Once {
    fn row(&self, row: &Row) -> MadeRow {
        let side = |Side { file, .. }: &Side| self.sides.of(file.bytes_key(), || self.side(file));
        let sides: Vec<MadeSide> = row.sides.iter().map(side).collect();
        let mut made = MadeRow { sides, difference: None, has_equal_pixels: false };
        let ([one, two], [file, other]) = (&made.sides[..], &row.sides[..]) else { return made };
        if row.pixels == Pixels::Shown || one.sides.is_none() || one.sides != two.sides {
            return made;
        }
        let is_alike = one.png.is_ok() && one.png == two.png;
        let (file, other) = (&file.file, &other.file);
        let key = file.bytes_key().zip(other.bytes_key()).map(|(one, two)| (row.pixels, one, two));
        let compared = self.compared.of(key, || self.compare(file, other, row.pixels, is_alike));
        (made.has_equal_pixels, made.difference) = (compared.are_equal, compared.difference);
        made
    }

    fn side(&self, file: &VfsFile) -> MadeSide {
        let mut bytes = [0; HEADER_MAX];
        let len = file.read_at(0, &mut bytes).unwrap_or(0);
        let header = FileHeader::parse(&bytes[..len], file.shown_size()).ok();
        let about = header.as_ref().map_or_else(String::new, |header| {
            format!("{} × {} {}", header.width, header.height, header.format_name())
        });
        let made = thumbnail(&mut file.reader(), SIDE).map(|image| self.png(&image));
        let unread = match &made {
            Err(PictureError::Io(error)) => Some(file.not_read(&ReadErrorKind::NotRead(error.to_string()))),
            _ => None,
        };
        MadeSide {
            unread,
            png: made.map_err(|error| error.to_string()),
            about,
            sides: header.map(|header| (header.width, header.height)),
        }
    }

    /// Compares the pixels of two textures of one size. `is_alike` if their small pictures are equal. Only
    /// then all pixels are decoded.
    fn compare(&self, one: &VfsFile, two: &VfsFile, how: Pixels, is_alike: bool) -> ComparedPixels {
        let are_equal = is_alike && have_equal_pixels(one, two);
        let is_subtracted = how == Pixels::Subtracted && !are_equal;
        let difference = if is_subtracted { picture_of_difference(one, two) } else { None };
        ComparedPixels { are_equal, difference: difference.map(|image| self.png(&image)) }
    }

    /// A small picture as a PNG file.
    fn png(&self, image: &Image) -> Png {
        let mut png = Vec::new();
        // Writing to memory cannot fail.
        let _ = write_reduced_png(image, &mut png);
        self.pngs.lock().entry(hash(&png)).or_insert_with(|| png.into()).clone()
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
fn picture_of_difference(one: &VfsFile, two: &VfsFile) -> Option<Image> {
    [SIDE_COMPARED, SIDE_COMPARED_LARGE].into_iter().find_map(|side| {
        let image = |mut file: FileReader| thumbnail(&mut file, side).ok();
        let shown = difference(&image(one.reader())?, &image(two.reader())?, SIDE)?;
        shown.rgba.iter().any(|pixel| pixel[..3] != [0; 3]).then_some(shown)
    })
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
    use crate::vfs::comparison::tests::names_of_one_extent;

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
        let side = |png: &&[u8]| MadeSide {
            png: Ok((*png).into()),
            about: String::new(),
            unread: None,
            sides: Some((1, 1)),
        };
        MadeRow { sides: pngs.iter().map(side).collect(), difference: None, has_equal_pixels: false }
    }

    fn numbers(shown: Option<ShownRow>) -> Vec<usize> {
        shown.unwrap().sides.into_iter().map(|side| side.picture.unwrap()).collect()
    }

    /// A texture of 512 x 512 texels.
    fn texture() -> Vec<u8> {
        let mut header = vec![0; 128];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + 4].copy_from_slice(bytes);
        put(0, b"DDS ");
        for (at, number) in
            [(4, 124_u32), (8, 0x1007), (12, 512), (16, 512), (76, 32), (80, 4), (108, 0x1000)]
        {
            put(at, &number.to_le_bytes());
        }
        put(84, b"DXT1");
        [header, vec![0x55; 512 * 512 / 2]].concat()
    }

    #[test]
    fn a_texture_that_several_names_share_is_decoded_once() {
        let (_dir, path, files) = names_of_one_extent(&["a.dds", "b.dds", "c.dds"], &texture());
        let (_dir, other, others) = names_of_one_extent(&["a.dds", "b.dds"], &texture());
        let row = |one: &VfsFile, two: &VfsFile| {
            let side = |file: &VfsFile| Side { role: "", file: file.clone() };
            Row {
                path: "a.dds".into(),
                sides: vec![side(one), side(two)],
                mark: None,
                pixels: Pixels::Compared,
            }
        };
        let (first, second) = (row(&files[0], &others[0]), row(&files[2], &others[1]));
        let mut counted = HashSet::new();
        let sizes = [&first, &second].map(|row| size(row, &mut counted));
        assert_eq!(sizes, [2 * texture().len() as u64, 0]);
        let once = Once::default();
        assert!(once.row(&first).has_equal_pixels);
        // Nothing is left to decode.
        for path in [path, other] {
            std::fs::write(path, "").expect("cannot write");
        }
        let made = once.row(&second);
        assert!(made.has_equal_pixels && made.sides.iter().all(|side| side.png.is_ok()));
        assert!(Once::default().row(&second).sides.iter().all(|side| side.png.is_err()));
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
