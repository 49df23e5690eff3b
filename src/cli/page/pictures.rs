//! Makes the pictures of a page. Equal ones are stored once, as a rule of the page's style.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{Seek, SeekFrom};

use indicatif::BinaryBytes;
use sha2::{Digest, Sha256};

use super::contents::{Pixels, Row, Side, State};
use crate::answers::comparison::Hashing;
use crate::content::BytesKey;
use crate::limits::{PAGE_PICTURES_MAX, PAGE_TEXTURES_MAX};
use crate::note::Note;
use crate::picture::{
    Image, PictureError, difference, thumbnail, thumbnail_and_alpha, write_pixels, write_reduced_png,
};
use crate::system::once_per_file::OncePerFile;
use crate::system::parallel::in_parallel;
use crate::system::sync::Mutex;
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::vfs::{FileReader, ReadErrorKind, VfsFile};

/// Maximum side of a picture, in pixels: the size at which the page shows it.
const SIDE: u32 = 96;
/// Number of pixels between the two halves of a picture of alpha.
const GAP: u32 = 4;
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
    numbers: HashMap<Hash, usize>,
    /// Whether a picture was left out because of [`PAGE_PICTURES_MAX`].
    is_full: bool,
    /// The textures that could not be read.
    unread: Vec<Note>,
}

/// What is shown of a texture.
pub(super) struct Shown {
    /// The number of the picture, or why there is none; nothing if none is needed.
    pub(super) picture: Result<Option<usize>, String>,
    /// Size and format. Empty if the header cannot be read.
    pub(super) about: String,
}

/// What is shown of the textures of a row.
pub(super) struct ShownRow {
    /// In the order of the row's sides.
    pub(super) sides: Vec<Shown>,
    /// A third picture, and its number.
    pub(super) third: Option<(Third, usize)>,
    /// What differs, in the words of modders.
    pub(super) what: Vec<String>,
    /// Whether the page had no room for its pictures.
    pub(super) is_left_out: bool,
}

/// What a third picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Third {
    /// Where the pixels differ.
    Difference,
    /// Alpha of both textures, which have equal colours.
    Alpha,
}

impl Pictures {
    /// Makes the pictures of rows, in their order until the page is full, and finds out what differs. `None`
    /// for a row that is not a texture, or that was left out because there are too many textures.
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
            let made = in_parallel(order.len(), step, |at| once.row(rows[order[at]], pictures.is_full));
            let mut made: Vec<(usize, MadeRow)> = order.into_iter().zip(made).collect();
            made.sort_by_key(|(index, _)| *index);
            let pngs = std::mem::take(&mut *once.pngs.lock());
            for (index, made) in made {
                shown[index] = Some(pictures.add_row(made, &pngs));
            }
            if !pictures.is_full {
                // A texture may occur again.
                *once.pngs.lock() = pngs;
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
    fn add_row(&mut self, made: MadeRow, pngs: &HashMap<Hash, Png>) -> ShownRow {
        self.unread.extend(made.sides.iter().filter_map(|side| side.unread.clone()));
        let third = made.third.map(|(third, picture)| (third, Ok(Some(picture))));
        let hashes = made.sides.iter().map(|side| &side.picture).chain(third.iter().map(|(_, it)| it));
        let hashes: Vec<Hash> = hashes.filter_map(|it| it.clone().ok()?).collect();
        // Equal pictures count once, but a row has no more than three.
        let more: usize = hashes.iter().map(|hash| self.len_of(hash, pngs)).sum();
        self.is_full |= self.style.len().saturating_add(more) > PAGE_PICTURES_MAX;
        let is_left_out = self.is_full && !hashes.is_empty();
        let mut add = |picture: Result<Option<Hash>, String>| match picture {
            Ok(Some(hash)) if !is_left_out => Ok(self.add(hash, pngs)),
            Ok(_) => Ok(None),
            Err(why) => Err(why),
        };
        let show = |side: MadeSide| Shown { picture: add(side.picture), about: side.about };
        let sides = made.sides.into_iter().map(show).collect();
        let third = third.and_then(|(third, picture)| Some((third, add(picture).ok()??)));
        ShownRow { sides, third, what: made.what, is_left_out }
    }

    /// The number of bytes that a picture would add.
    fn len_of(&self, hash: &Hash, pngs: &HashMap<Hash, Png>) -> usize {
        const RULE: usize = 80;
        match pngs.get(hash) {
            _ if self.numbers.contains_key(hash) => 0,
            Some(png) => png.len().div_ceil(3) * 4 + RULE,
            None => usize::MAX / 4,
        }
    }

    /// Adds a picture, if no equal one was added before. Returns its number.
    fn add(&mut self, hash: Hash, pngs: &HashMap<Hash, Png>) -> Option<usize> {
        let next = self.numbers.len();
        if let Some(number) = self.numbers.get(&hash) {
            return Some(*number);
        }
        let png = pngs.get(&hash)?;
        self.numbers.insert(hash, next);
        // Writing to a string cannot fail.
        let _ = write!(self.style, ".p{next}{{background-image:url(data:image/png;base64,");
        add_base64(png, &mut self.style);
        self.style.push_str(")}\n");
        Some(next)
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

type Hash = [u8; 32];

fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// A picture as a PNG file.
type Png = Vec<u8>;

/// What was made of textures, each once for all names of the same bytes.
#[derive(Default)]
struct Once {
    sides: OncePerFile<MadeSide, BytesKey>,
    pixels: OncePerFile<Option<PixelHashes>, BytesKey>,
    compared: OncePerFile<ComparedPixels, (Pixels, BytesKey, BytesKey)>,
    /// The pictures by their hash, until the page is full.
    pngs: Mutex<HashMap<Hash, Png>>,
}

/// What differs in the pixels of two textures, and the picture that shows it.
#[derive(Clone, Default)]
struct ComparedPixels {
    what: Option<&'static str>,
    third: Option<(Third, Hash)>,
}

/// Hashes of what a texture shows in full size.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PixelHashes {
    colours: Hash,
    alpha: Hash,
}

/// The pictures of a row, before they are added to the page.
struct MadeRow {
    sides: Vec<MadeSide>,
    third: Option<(Third, Hash)>,
    what: Vec<String>,
}

#[derive(Clone)]
struct MadeSide {
    /// The hash of the picture, or why there is none; nothing if none is needed.
    picture: Result<Option<Hash>, String>,
    /// The hash of alpha in the small picture.
    alpha: Option<Hash>,
    about: String,
    /// The note that the texture could not be read.
    unread: Option<Note>,
    /// The header, if it can be read.
    header: Option<FileHeader>,
}

impl Once {
    /// Makes the pictures of a row, and keeps them unless the page `is_full`.
    fn row(&self, row: &Row, is_full: bool) -> MadeRow {
        let made = |Side { file, .. }: &Side| match row.state {
            // Two equal pictures would say no more than the word.
            State::Equal => MadeSide::without_picture(file),
            _ => self.sides.of(file.bytes_key(), || self.side(file, is_full)),
        };
        let sides: Vec<MadeSide> = row.sides.iter().map(made).collect();
        let mut made = MadeRow { sides, third: None, what: Vec::new() };
        let ([one, two], [file, other]) = (&made.sides[..], &row.sides[..]) else { return made };
        let (Some(header), Some(other_header)) = (&one.header, &two.header) else { return made };
        if row.pixels == Pixels::Shown {
            return made;
        }
        made.what = header_words(header, other_header);
        if (header.width, header.height) == (other_header.width, other_header.height) {
            let key = file.file.bytes_key().zip(other.file.bytes_key());
            let key = key.map(|(one, two)| (row.pixels, one, two));
            let has_words = !made.what.is_empty();
            let compare = || self.compare((file, one), (other, two), (row.pixels, is_full, has_words));
            let compared = self.compared.of(key, compare);
            made.what.extend(compared.what.map(str::to_owned));
            made.third = compared.third;
        }
        made
    }

    fn side(&self, file: &VfsFile, is_full: bool) -> MadeSide {
        let side = MadeSide::without_picture(file);
        match thumbnail_and_alpha(&mut file.reader(), SIDE) {
            Ok((image, alpha)) => {
                let alpha = alpha.map(|alpha| hash(alpha.rgba.as_flattened()));
                MadeSide { picture: Ok(Some(self.png(&image, is_full))), alpha, ..side }
            }
            Err(error) => {
                let unread = match &error {
                    PictureError::Io(error) => Some(ReadErrorKind::NotRead(error.to_string())),
                    _ => None,
                };
                let unread = unread.map(|kind| file.not_read(&kind));
                MadeSide { picture: Err(error.to_string()), unread, ..side }
            }
        }
    }

    /// Compares the pixels of two textures of one size. All of them are decoded only if the small pictures
    /// have equal colours, or if alpha decides which colours these have. If the headers differ (`has_words`),
    /// the small pictures may be made of other mips.
    fn compare(
        &self,
        (one, made_one): (&Side, &MadeSide),
        (two, made_two): (&Side, &MadeSide),
        (how, is_full, has_words): (Pixels, bool, bool),
    ) -> ComparedPixels {
        let (one, two) = (&one.file, &two.file);
        let has_alike_alpha = made_one.alpha == made_two.alpha;
        let has_alike_colours = made_one.picture == made_two.picture;
        if made_one.picture.is_err() || made_two.picture.is_err() {
            return ComparedPixels::default();
        }
        let hashes = || Some((self.pixels_of(one)?, self.pixels_of(two)?));
        let is_decoded = has_words || has_alike_colours || !has_alike_alpha;
        let what = match is_decoded.then(hashes).flatten() {
            Some((one_pixels, two_pixels)) if one_pixels == two_pixels => {
                let is_header = !has_words && has_equal_texels((one, made_one), (two, made_two));
                if is_header { HEADER_ONLY } else { EQUAL_PIXELS }
            }
            Some((one, two)) if one.colours == two.colours => ALPHA_ONLY,
            Some((one, two)) if one.alpha != two.alpha => COLOURS_AND_ALPHA,
            Some(_) => COLOURS,
            None if has_alike_alpha => COLOURS,
            None => COLOURS_AND_ALPHA,
        };
        let third = match what {
            ALPHA_ONLY => alpha_of_both(one, two).map(|image| (Third::Alpha, image)),
            COLOURS | COLOURS_AND_ALPHA if how == Pixels::Subtracted => {
                picture_of_difference(one, two).map(|image| (Third::Difference, image))
            }
            _ => None,
        };
        let third = third.filter(|_| !is_full).map(|(third, image)| (third, self.png(&image, is_full)));
        ComparedPixels { what: Some(what), third }
    }

    /// The hashes of all pixels of a texture, if it can be decoded.
    fn pixels_of(&self, file: &VfsFile) -> Option<PixelHashes> {
        self.pixels.of(file.bytes_key(), || {
            let mut hashing = HashingPixels { colours: Sha256::new(), alpha: Sha256::new() };
            write_pixels(&mut file.reader(), &mut hashing).ok()?;
            let HashingPixels { colours, alpha } = hashing;
            Some(PixelHashes { colours: colours.finalize().into(), alpha: alpha.finalize().into() })
        })
    }

    /// The hash of a picture, which is kept as a PNG file unless the page `is_full`.
    fn png(&self, image: &Image, is_full: bool) -> Hash {
        let mut png = Vec::new();
        // Writing to memory cannot fail.
        let _ = write_reduced_png(image, &mut png);
        let hash = hash(&png);
        if !is_full {
            self.pngs.lock().entry(hash).or_insert(png);
        }
        hash
    }
}

impl MadeSide {
    fn without_picture(file: &VfsFile) -> Self {
        let mut bytes = [0; HEADER_MAX];
        let len = file.read_at(0, &mut bytes).unwrap_or(0);
        let header = FileHeader::parse(&bytes[..len], file.size_or_estimate()).ok();
        let about = header.as_ref().map_or_else(String::new, |header| {
            let (width, height) = (header.width, header.height);
            format!("{width} × {height} {}", short_name(&header.format_name()))
        });
        Self { picture: Ok(None), alpha: None, about, unread: None, header }
    }
}

// What differs, in words.

const HEADER_ONLY: &str = "header only";
const EQUAL_PIXELS: &str = "equal pixels";
const ALPHA_ONLY: &str = "alpha only";
const COLOURS: &str = "colours";
const COLOURS_AND_ALPHA: &str = "colours and alpha";

/// What differs in the headers of two textures, the winner's first: size, format and number of mips.
fn header_words(one: &FileHeader, two: &FileHeader) -> Vec<String> {
    let side = |it: &FileHeader| match (it.width, it.height) {
        (width, height) if width == height => width.to_string(),
        (width, height) => format!("{width} × {height}"),
    };
    let mut words = Vec::new();
    let is_of_one_size = (one.width, one.height) == (two.width, two.height);
    if !is_of_one_size {
        words.push(format!("size {} and {}", side(one), side(two)));
    }
    let names = [one.format_name(), two.format_name()];
    let shorts = [short_name(&names[0]), short_name(&names[1])];
    if names[0] != names[1] {
        let [one, two] = if shorts[0] == shorts[1] { [&*names[0], &*names[1]] } else { shorts };
        words.push(format!("format {one} and {two}"));
    }
    // Textures of two sizes have other numbers of mips anyway.
    if one.mips != two.mips && (is_of_one_size || one.mips == 1 || two.mips == 1) {
        words.push(format!("mips: {} and {}", one.mips, two.mips));
    }
    words
}

/// The name of a format as modders know it: `BC7` for `BC7_UNORM`.
fn short_name(name: &str) -> &str {
    match name.strip_suffix("_UNORM") {
        Some(short) if short.starts_with("BC") => short,
        _ => name,
    }
}

/// Whether what follows the headers of two textures is equal.
fn has_equal_texels(one: (&VfsFile, &MadeSide), two: (&VfsFile, &MadeSide)) -> bool {
    let digest = |(file, made): (&VfsFile, &MadeSide)| {
        let mut reader = file.reader();
        reader.seek(SeekFrom::Start(made.header.as_ref()?.len)).ok()?;
        let mut digest = Hashing(Sha256::new());
        std::io::copy(&mut reader, &mut digest).ok()?;
        Some(digest.0.finalize())
    };
    digest(one).is_some_and(|digest_of_one| digest(two) == Some(digest_of_one))
}

/// Hashes the colours and the alpha of pixels of four bytes.
struct HashingPixels {
    colours: Sha256,
    alpha: Sha256,
}

impl std::io::Write for HashingPixels {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let pixels = bytes.as_chunks::<4>().0;
        self.colours.update(pixels.iter().flat_map(|&[b, g, r, _]| [b, g, r]).collect::<Vec<u8>>());
        self.alpha.update(pixels.iter().map(|pixel| pixel[3]).collect::<Vec<u8>>());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A picture with the alpha of two textures beside each other.
fn alpha_of_both(one: &VfsFile, two: &VfsFile) -> Option<Image> {
    let alpha = |file: &VfsFile| thumbnail_and_alpha(&mut file.reader(), SIDE).ok().map(|(_, alpha)| alpha);
    let (one, two) = (alpha(one)?, alpha(two)?);
    let (width, height) = one.as_ref().or(two.as_ref()).map(|it| (it.width, it.height))?;
    let opaque = || Image { width, height, rgba: vec![[u8::MAX; 4]; width as usize * height as usize] };
    let (one, two) = (one.unwrap_or_else(opaque), two.unwrap_or_else(opaque));
    let rows = |image: Image| image.rgba.chunks(width.max(1) as usize).map(<[_]>::to_vec).collect::<Vec<_>>();
    let beside = |(mut one, two): (Vec<[u8; 4]>, Vec<[u8; 4]>)| {
        one.extend([[0; 4]; GAP as usize].into_iter().chain(two));
        one
    };
    let rgba = rows(one).into_iter().zip(rows(two)).flat_map(beside).collect();
    Some(Image { width: width * 2 + GAP, height, rgba })
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
    use crate::vfs::file::tests::names_of_one_extent;

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

    /// A row with some pictures, which are added.
    fn added(pictures: &mut Pictures, pngs: &[&[u8]]) -> Vec<Option<usize>> {
        let side = |png: &&[u8]| MadeSide {
            picture: Ok(Some(hash(png))),
            alpha: None,
            about: String::new(),
            unread: None,
            header: None,
        };
        let made = MadeRow { sides: pngs.iter().map(side).collect(), third: None, what: Vec::new() };
        let pngs = pngs.iter().map(|png| (hash(png), png.to_vec())).collect();
        pictures.add_row(made, &pngs).sides.into_iter().map(|side| side.picture.unwrap()).collect()
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
            let side = |file: &VfsFile| Side { role: "", of_mod: None, file: file.clone() };
            Row {
                path: "a.dds".into(),
                sides: vec![side(one), side(two)],
                state: State::Different,
                pixels: Pixels::Compared,
            }
        };
        let (first, second) = (row(&files[0], &others[0]), row(&files[2], &others[1]));
        let mut counted = HashSet::new();
        let sizes = [&first, &second].map(|row| size(row, &mut counted));
        assert_eq!(sizes, [2 * texture().len() as u64, 0]);
        let once = Once::default();
        assert_eq!(once.row(&first, false).what, [HEADER_ONLY]);
        // Nothing is left to decode.
        for path in [path, other] {
            std::fs::write(path, "").expect("cannot write");
        }
        let made = once.row(&second, false);
        assert!(made.what == [HEADER_ONLY] && made.sides.iter().all(|side| side.picture.is_ok()));
        assert!(Once::default().row(&second, false).sides.iter().all(|side| side.picture.is_err()));
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
        assert_eq!(added(&mut pictures, &[b"one", b"two"]), [Some(0), Some(1)]);
        assert_eq!(added(&mut pictures, &[b"two", b"two"]), [Some(1), Some(1)]);
        assert_eq!(pictures.count(), 2);
        assert_eq!(pictures.style().matches("data:").count(), 2);
    }

    #[test]
    fn a_row_that_does_not_fit_adds_no_picture() {
        let mut pictures = Pictures::default();
        let large = vec![1; PAGE_PICTURES_MAX / 2];
        assert_eq!(added(&mut pictures, &[&large, b"small"]), [Some(0), Some(1)]);
        assert_eq!(added(&mut pictures, &[b"another", &vec![2; PAGE_PICTURES_MAX / 2]]), [None, None]);
        assert!(pictures.is_full);
        assert_eq!(pictures.count(), 2);
        assert!(pictures.style().len() <= PAGE_PICTURES_MAX);
    }

    #[test]
    fn differences_of_headers_are_said_in_the_words_of_modders() {
        let header = |side: u32, mips: u32, code: &[u8; 4]| {
            let mut bytes = texture()[..128].to_vec();
            for (at, number) in [(12, side), (16, side), (28, mips)] {
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            bytes[84..88].copy_from_slice(code);
            FileHeader::parse(&bytes, 1 << 30).expect("no header")
        };
        let words = |one: (u32, u32, &[u8; 4]), two: (u32, u32, &[u8; 4])| {
            header_words(&header(one.0, one.1, one.2), &header(two.0, two.1, two.2)).join(", ")
        };
        assert_eq!(words((256, 9, b"DXT1"), (256, 1, b"DXT1")), "mips: 9 and 1");
        assert_eq!(words((2048, 12, b"DXT5"), (1024, 11, b"DXT5")), "size 2048 and 1024");
        assert_eq!(words((256, 1, b"DXT5"), (256, 1, b"DXT1")), "format BC3 and BC1");
        assert_eq!(words((512, 1, b"DXT1"), (256, 9, b"DXT1")), "size 512 and 256, mips: 1 and 9");
        assert_eq!(words((256, 9, b"DXT1"), (256, 9, b"DXT1")), "");
    }
}
