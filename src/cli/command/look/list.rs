//! `bsafs list`: lists the files of archives and folders, without a mount.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::answers::comparison::Digests;
use crate::answers::manifest;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::open_sources_for;
use crate::cli::options::option_table::{LAYOUT, OPEN, OpenArgs};
use crate::cli::options::selection::Selection;
use crate::cli::terminal::output::stdout_for;
use crate::cli::terminal::progress::steps;
use crate::cli::ui::Ui;
use crate::kinds::{self, What};
use crate::picture::{PictureError, RgbaTexture};
use crate::shown::Shown;
use crate::system::parallel::in_parallel;
use crate::system::text::hex;
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::vfs::{ReadError, ReadErrorKind, VfsFile};

/// List the files in archives and folders, as a mount would show them
///
/// The exit status is 1 if no file matches a pattern, or if something in the sources was not looked at.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Sources (the rightmost wins), then paths or patterns of files in them, ignoring case
    #[arg(required = true, value_name = "SOURCE|PATH")]
    archives: Vec<PathBuf>,
    /// Print size, packed size, codec and archive before each path; sizes are in bytes
    #[arg(short, long)]
    long: bool,
    /// Print one JSON object per line
    #[arg(long, conflicts_with_all = ["long", "zero"])]
    json: bool,
    /// With --json, also print the pixel format, sides and mips of textures; reads the start of each
    ///
    /// The object of a DDS or GNF file has "texture": an object with "format", "width", "height", "mips",
    /// "cube", "faces", "array", "alpha" and "missing" (bytes that the file lacks), or null if the header
    /// cannot be read. If --textures=rgba and --png cannot convert the texture, "unconverted" says why.
    #[arg(long, requires = "json")]
    pixels: bool,
    /// Print the SHA-256 of each file before its path, for `sha256sum -c` in a mount or in extracted files
    ///
    /// A file that cannot be read completely has no line, and the exit status is 1. With -0, lines end as
    /// in `sha256sum -z`.
    #[arg(long, conflicts_with_all = ["long", "json"])]
    hash: bool,
    /// End each path with a NUL character, for `xargs -0`
    #[arg(short = '0', long = "zero")]
    zero: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs<{ OPEN | LAYOUT }>,
}

/// A line of `--json`.
#[derive(Serialize)]
struct JsonFile {
    path: String,
    size: u64,
    packed: u64,
    codec: &'static str,
    archive: String,
    /// The stored name as hex digits, because its bytes may be in any code page.
    stored_name_hex: String,
    /// The encoding in which the stored name was read.
    encoding: &'static str,
    hash: String,
    hidden_copies: usize,
    /// Set for textures, if their headers were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    texture: Option<Option<JsonTexture>>,
    /// Why the texture cannot be converted to pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    unconverted: Option<&'static str>,
}

/// The header of a texture.
#[derive(Serialize)]
struct JsonTexture {
    format: String,
    width: u32,
    height: u32,
    mips: u32,
    cube: bool,
    faces: u32,
    array: u32,
    /// What alpha means.
    alpha: &'static str,
    /// Number of bytes of texels that the file lacks.
    missing: u64,
}

/// What is printed of a texture: its header, if it can be read, and why it cannot be converted.
type Pixels = (Option<JsonTexture>, Option<&'static str>);

impl List {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let out = stdout_for(self.json || self.zero);
        Inquiry::run_to(out, self.json, |inquiry| self.answer(inquiry))
    }

    fn answer(&self, inquiry: &mut Inquiry) -> Result<(), Failure> {
        let (sources, mut selected) = self.selection.split(&self.archives)?;
        let paths = selected.only_paths().iter().copied();
        let vfs = open_sources_for(sources, self.open.options(), paths)?;
        let files = inquiry.select(&mut selected, &vfs)?;
        let read = |index: usize| texture(&files[index]);
        let mut textures = if self.pixels {
            in_parallel(files.len(), &steps("reading headers", files.len()), read)
        } else {
            Vec::new()
        };
        if self.hash {
            return Ok(self.write_hashes(inquiry, &files)?);
        }
        for (index, file) in files.iter().enumerate() {
            if self.json {
                let pixels = textures.get_mut(index).and_then(Option::take);
                let (texture, unconverted) = pixels
                    .map(|pixels| {
                        pixels.unwrap_or_else(|error| {
                            inquiry.unseen.add_file(file, &error);
                            (None, Some("cannot be read"))
                        })
                    })
                    .unzip();
                let unconverted = unconverted.flatten();
                inquiry.out.json(&JsonFile { texture, unconverted, ..line(file) })?;
                continue;
            }
            if self.long {
                let layer = file.layer();
                let archive = layer.path().file_name().unwrap_or_default().shown();
                // Read the size first: packed_size() of a loose file is the size that was read.
                let size = file.size_or_estimate();
                let (packed, codec) = (file.packed_size(), file.codec());
                write!(inquiry.out, "{size:>12} {packed:>12} {codec:<12} {archive}  ")?;
            }
            inquiry.out.write_all(&file.path_bytes())?;
            inquiry.out.write_all(if self.zero { b"\0" } else { b"\n" })?;
        }
        if self.json || self.long {
            inquiry.unseen.add_sizes(&files);
        }
        Ok(())
    }

    /// Writes a line for each file that `sha256sum -c` reads; with `-0`, as `sha256sum -z` writes it.
    fn write_hashes(&self, inquiry: &mut Inquiry, files: &[VfsFile]) -> Result<(), OutputError> {
        let digests = Digests::default();
        let advance = steps("reading", files.len());
        let read = in_parallel(files.len(), &advance, |index| {
            let digest = digests.of(&files[index])?;
            // A profile may say that damaged bytes are read.
            files[index].take_salvaged().map_or(Ok(digest), |error| Err(error.to_string()))
        });
        for (file, digest) in files.iter().zip(read) {
            let digest = match digest {
                Ok(digest) => digest,
                Err(what) => {
                    let layer = format!("{}: ", file.layer().path().shown());
                    let why = what.strip_prefix(&layer).unwrap_or(&what).to_owned();
                    inquiry.unseen.add([&file.not_read(&ReadErrorKind::Unreadable(why))]);
                    continue;
                }
            };
            let end = if self.zero { 0 } else { b'\n' };
            inquiry.out.write_all(&manifest::line(&digest, &file.path_bytes(), end))?;
        }
        Ok(())
    }
}

fn line(file: &VfsFile) -> JsonFile {
    // Read the size first: packed_size() of a loose file is the size that was read.
    let size = file.size_or_estimate();
    JsonFile {
        encoding: file.layer().encoding(),
        path: file.path(),
        size,
        packed: file.packed_size(),
        codec: file.codec(),
        archive: file.layer().path().to_string_lossy().into_owned(),
        stored_name_hex: hex(&file.stored_name()),
        hash: file.hash(),
        hidden_copies: file.hidden().len(),
        texture: None,
        unconverted: None,
    }
}

/// What is printed of a texture; `None` if the file has another name.
fn texture(file: &VfsFile) -> Option<Result<Pixels, ReadError>> {
    if !kinds::is(file.name(), &[What::Texture]) {
        return None;
    }
    let mut bytes = [0; HEADER_MAX];
    let read = match file.read_at(0, &mut bytes) {
        Err(error) if error.kind().is_unseen() => return Some(Err(error)),
        read => read.unwrap_or(0),
    };
    let len = file.size_or_estimate();
    let header = match FileHeader::parse(&bytes[..read], len) {
        Ok(header) => header.corrected(len),
        Err(error) => return Some(Ok((None, Some(PictureError::from(error).in_short())))),
    };
    let unconverted = RgbaTexture::new(header.clone(), len).err().map(|error| error.in_short());
    let texture = JsonTexture {
        format: header.format_name(),
        width: header.width,
        height: header.height,
        mips: header.mips,
        cube: header.cube,
        faces: header.face_bits.count_ones().max(1),
        array: header.array,
        alpha: header.alpha_mode_name(),
        missing: if header.tile_mode.is_some() { 0 } else { header.missing(len) },
    };
    Some(Ok((Some(texture), unconverted)))
}
