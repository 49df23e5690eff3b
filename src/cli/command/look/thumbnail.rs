//! `bsafs thumbnail`: makes a small picture of a texture. File managers call it by the
//! freedesktop.org convention for thumbnailers.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::{Advice, FileType, Mode, OFlags};

use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::terminal::output::raw_stdout;
use crate::cli::ui::Ui;
use crate::picture::{FullPicture, PictureChannels, PictureError, SIZE_MAX, thumbnail, write_png};
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::output_place::OutputPlace;
use crate::system::text::from_uri;
use crate::system::walk::Missing;
use crate::vfs::OpenOptions;
use crate::vfs::sources::for_others;

/// `FUSE_SUPER_MAGIC` of linux/magic.h.
const FUSE_MAGIC: rustix::fs::FsWord = 0x6573_5546;

/// Write a small PNG picture of a texture, for file managers
///
/// The texture is a DDS file, in a mount or elsewhere. In a mount, only the needed mip is read.
/// Alpha is shown only if it is a cutout or nothing else is visible, because games also store gloss
/// and heights in it. File managers find this command through the file bsafs.thumbnailer.
#[derive(Args, Debug)]
pub(crate) struct Thumbnail {
    /// Length of the longest side in pixels, up to 2048, or "full" for all pixels with alpha as it is
    /// stored; a smaller texture is not enlarged
    #[arg(long, value_name = "PIXELS", default_value = "256", value_parser = parse_size)]
    size: Size,
    /// Path of the texture, or a URI that begins with file://
    #[arg(value_name = "TEXTURE")]
    input: OsString,
    /// Path of the picture, which is overwritten; - for standard output
    #[arg(value_name = "PNG")]
    output: PathBuf,
}

impl Thumbnail {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let path = path_of(&self.input);
        let failed = |error: PictureError| {
            let exit = if matches!(error, PictureError::Io(_)) { Exit::Io } else { Exit::Data };
            Failure::new(exit, format!("{}: {error}", path.shown()))
        };
        let Size::Pixels(size) = self.size else {
            let mut file = self.open_texture(&path, Advice::Sequential)?;
            let len = file.seek(SeekFrom::End(0)).map_err(|error| failed(error.into()))?;
            file.rewind().map_err(|error| failed(error.into()))?;
            let picture = FullPicture::new(&mut file, len).map_err(failed)?;
            file.seek(SeekFrom::Start(picture.start())).map_err(|error| failed(error.into()))?;
            return self.write_full(&picture, &mut file, &path);
        };
        // In a mount, the daemon would decode everything that the kernel reads ahead: the larger mips.
        let mut file = self.open_texture(&path, Advice::Random)?;
        if rustix::fs::fstatfs(&file).is_ok_and(|it| it.f_type == FUSE_MAGIC) {
            set_direct(&file, true);
        }
        let mut image = thumbnail(&mut file, size);
        if matches!(&image, Err(PictureError::Io(error)) if error.kind() == io::ErrorKind::InvalidInput) {
            // The file system requires aligned direct reads, so use the page cache.
            set_direct(&file, false);
            image = thumbnail(&mut file, size);
        }
        let mut png = Vec::new();
        write_png(&image.map_err(failed)?, &mut png).map_err(OutputError)?;
        if self.output == Path::new("-") {
            let mut out = raw_stdout();
            out.write_all(&png)?;
            out.flush()?;
        } else {
            let place = place_of(&self.output, &file)?;
            let failed = |error: io::Error| Failure::io(Exit::Io, &self.output, &error);
            if !place.fill_empty(&png).map_err(failed)? {
                put(&place, &self.output, |out| out.write_all(&png))?;
            }
        }
        Ok(Exit::Ok)
    }

    fn open_texture(&self, path: &Path, advice: Advice) -> Result<File, Failure> {
        let failure = |error: &_| Failure::io(Exit::NoInput, path, error);
        // NONBLOCK, because opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let file = File::from(opened.map_err(|errno| failure(&errno.into()))?);
        if !file.metadata().map_err(|error| failure(&error))?.is_file() {
            return Err(Failure::new(Exit::NoInput, format!("{}: not a regular file", path.shown())));
        }
        // Everybody may read the picture.
        let advice_to_root = (self.output != Path::new("-")).then_some("run the command as that user");
        for_others::check_file(path, &file, &OpenOptions::new().advice_to_root(advice_to_root))?;
        // If the file refuses the advice, it is read anyway.
        let _ = rustix::fs::fadvise(&file, 0, None, advice);
        Ok(file)
    }

    /// Writes a picture in full size while it is decoded. If that fails, a picture that was there stays.
    fn write_full(&self, picture: &FullPicture, file: &mut File, path: &Path) -> Result<Exit, Failure> {
        let failed = |error: io::Error| Failure::io(Exit::Io, path, &error);
        if self.output == Path::new("-") {
            let mut out = BufWriter::new(raw_stdout());
            let written = picture.write_png(file, PictureChannels::All, &mut out).and_then(|()| out.flush());
            return written.map(|()| Exit::Ok).map_err(failed);
        }
        let place = place_of(&self.output, file)?;
        let mut failure = None;
        let put = put(&place, &self.output, |out| {
            let mut to = BufWriter::new(out);
            let written = picture.write_png(file, PictureChannels::All, &mut to).and_then(|()| to.flush());
            written.map_err(|error| {
                let kind = error.kind();
                failure = Some(failed(error));
                kind.into()
            })
        });
        // What failed may be a read of the texture.
        failure.map_or_else(|| put.map(|()| Exit::Ok), Err)
    }
}

/// The size of the picture.
#[derive(Clone, Copy, Debug)]
enum Size {
    /// Length of the longest side in pixels.
    Pixels(u32),
    /// The size of the texture.
    Full,
}

fn parse_size(text: &str) -> Result<Size, String> {
    let pixels = text.parse().ok().filter(|pixels| (1..=SIZE_MAX).contains(pixels));
    match (text, pixels) {
        ("full", _) => Ok(Size::Full),
        (_, Some(pixels)) => Ok(Size::Pixels(pixels)),
        _ => Err(format!("not a number from 1 to {SIZE_MAX}, and not \"full\"")),
    }
}

/// The path that an argument names, directly or as a `file://` URI.
fn path_of(argument: &OsStr) -> Cow<'_, Path> {
    let uri = argument.as_bytes().strip_prefix(b"file://");
    let path = uri.and_then(|it| it.iter().position(|byte| *byte == b'/').and_then(|host| it.get(host..)));
    path.map_or(Cow::Borrowed(Path::new(argument)), |path| {
        Cow::Owned(OsString::from_vec(from_uri(path)).into())
    })
}

/// Makes reads of a file bypass the page cache, or not. In a mount, the daemon then decodes only
/// the requested bytes, not whole pages. The header shifts mips across page borders, so a whole
/// page would need the end of the preceding mip.
fn set_direct(file: &File, is_direct: bool) {
    let flags = if is_direct { OFlags::DIRECT } else { OFlags::empty() };
    // If the file refuses, it is read through the page cache.
    let _ = rustix::fs::fcntl_setfl(file, flags);
}

/// Finds the place that the caller named for the picture. A file may be there, because thumbnailers create it
/// first.
fn place_of(path: &Path, texture: &File) -> Result<OutputPlace, Failure> {
    let not_made = |error: &_| Failure::not_made("the picture", path, error);
    // A link is not followed, because anyone can create one in /tmp that leads to a file of the user.
    let place = OutputPlace::of(path, Missing::Fail).map_err(|error| not_made(&error))?;
    let read = texture.metadata().map_err(|error| not_made(&error))?;
    let Some(found) = place.stat().map_err(|error| not_made(&error))? else { return Ok(place) };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => Err(refused(path, "it is a link")),
        FileType::RegularFile if DiskId::from(&found) == DiskId::from(&read) => {
            Err(refused(path, "it is the texture itself"))
        }
        FileType::RegularFile => Ok(place),
        _ => Err(refused(path, "it is not a regular file")),
    }
}

/// Puts a new file in the place of the picture, once it is complete.
fn put(
    place: &OutputPlace,
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Failure> {
    place.replace_with(write).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::AlreadyExists => {
            Failure::not_made("the picture", path, &error)
        }
        _ => Failure::io(Exit::Io, path, &error),
    })
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::CannotCreate, format!("cannot write the picture {}: {why}", path.shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uris_are_decoded_to_paths() {
        let path = |argument: &str| path_of(OsStr::new(argument)).into_owned();
        assert_eq!(path("file:///a/b%20c%25%C3%A9.dds"), Path::new("/a/b c%é.dds"));
        assert_eq!(path("file://localhost/a.dds"), Path::new("/a.dds"));
        assert_eq!(path("file:///100%.dds"), Path::new("/100%.dds"), "not an escape");
        assert_eq!(path("file:///%zz%+1"), Path::new("/%zz%+1"), "not hexadecimal digits");
        assert_eq!(path("a%20b.dds"), Path::new("a%20b.dds"), "not a URI");
        assert_eq!(path("file://a"), Path::new("file://a"), "a URI without a path");
    }
}
