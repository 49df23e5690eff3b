//! `bsafs extract`: writes files to the disk.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use indicatif::BinaryBytes;

use crate::answers::comparison::{equals, equals_written};
use crate::cli::exit::{Exit, Failure};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::open_sources_for;
use crate::cli::options::option_table::{AS_USER, LAYOUT, OPEN, OpenArgs, SALVAGE};
use crate::cli::options::selection::{Selection, destination_hint, refuse_destination};
use crate::cli::surroundings::remove_files_on_signals;
use crate::cli::terminal::output::stdout;
use crate::cli::terminal::progress;
use crate::cli::ui::Ui;
use crate::content::FileStream;
use crate::kinds::{FUZ, ends, is_dds};
use crate::note::Reasons;
use crate::picture::{FullPicture, PictureChannels, PictureError};
use crate::shown::{Shown, quoted};
use crate::system::disk_id::DiskId;
use crate::system::edit_mount;
use crate::system::parallel::in_parallel;
use crate::system::text::{count, reason};
use crate::system::walk::LastLink;
use crate::vfs::destination;
use crate::vfs::output_folder::{Existing, OutputFolder, Placed};
use crate::vfs::sources::folder_name;
use crate::vfs::sources::profile::Profile;
use crate::vfs::{Vfs, VfsFile};

/// Extract files of archives and folders to a folder
///
/// Without -C, the files go into a folder named after the last source, in the current folder.
///
/// Existing files are kept, and the exit status is 1 if one of them differs (-v lists such files). With
/// --overwrite, an existing file is replaced once its replacement is complete. If a file cannot be read
/// or written, the others are still extracted, and the exit status is 1. It is also 1 if an archive in a
/// folder or game cannot be opened, if a folder cannot be read, if a texture lacks texels, or if a
/// damaged texture or voice file cannot be converted: these are named, even with --quiet. If the disk is
/// full, extract stops. With --salvage, files with a wrong checksum are extracted, too. Existing links
/// are neither followed nor replaced, and nothing is written outside the folder.
#[derive(Args, Debug, Default)]
pub(crate) struct Extract {
    /// Sources (the rightmost wins), then paths or patterns of files in them, ignoring case
    #[arg(required = true, value_name = "SOURCE|PATH")]
    archives: Vec<PathBuf>,
    /// Folder to extract to; created if it does not exist
    #[arg(short = 'C', visible_short_alias = 'o', long, visible_alias = "output", value_name = "FOLDER")]
    directory: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
    /// Keep existing files without a comparison; they do not change the exit status
    #[arg(long, conflicts_with = "overwrite")]
    skip_existing: bool,
    /// Print the paths of the files that would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write textures as PNG files in full size, with alpha as it is stored; other files as they are
    ///
    /// Formats with more than 8 bits become PNG files of 16 bits. Light (floats and BC6H) becomes OpenEXR
    /// files (NAME.exr). Each face of a cube and each layer of an array is written: NAME_item000.png,
    /// NAME_item001.png and so on, in the order +X, -X, +Y, -Y, +Z, -Z. Textures that cannot be decoded stay
    /// as they are; -v lists them.
    #[arg(long)]
    png: bool,
    /// With --png, write alpha as a grey picture of its own, NAME-alpha.png
    ///
    /// Programs that scale pictures up use alpha as opacity, which spoils normal maps with gloss in alpha.
    #[arg(long, requires = "png")]
    split_alpha: bool,
    /// Write the sounds in voice files (*.fuz) as *.xwm files, which players open
    #[arg(long)]
    voices: bool,
    /// As root: also extract from folders that another user can change, whose links may lead to any file
    #[arg(long)]
    follow_links: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs<{ OPEN | LAYOUT | SALVAGE }>,
}

enum Outcome {
    /// The length in bytes.
    Written(u64),
    /// A file exists already, and was kept. Whether it differs from the one to extract.
    Kept(bool),
    /// The path and the reason.
    Failed(String),
    /// Not written, because the disk is full. The error is set for the file that filled it.
    Full(Option<io::Error>),
}

/// What became of a file of the sources.
#[derive(Default)]
struct FileOutcome {
    /// One outcome for each file that is written for it.
    outcomes: Vec<Outcome>,
    /// Why a texture or a voice file stays as it is.
    kept: Option<&'static str>,
    is_voice: bool,
    /// What is wrong with what was written.
    flaws: Vec<String>,
}

/// The names under which a texture is written as pictures, or a voice file as a sound.
#[derive(Clone)]
struct NewNames {
    /// How the names begin.
    stem: Vec<u8>,
    /// How the name of a sound ends; `None` for pictures.
    sound: Option<&'static [u8]>,
    /// Whether alpha is a picture of its own.
    split_alpha: bool,
}

#[derive(Default)]
struct Outcomes {
    written: usize,
    /// Length of the written files.
    bytes: u64,
    kept: usize,
    /// Kept files that differ.
    differing: usize,
    failed: Vec<String>,
    /// What is wrong with files that were written.
    flaws: Vec<String>,
    full: Option<io::Error>,
    /// Why textures stay as they are.
    textures: Reasons,
    /// Why voice files stay as they are.
    voices: Reasons,
}

impl Extract {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        remove_files_on_signals();
        Inquiry::run(false, |inquiry| self.extract(inquiry, ui))
    }

    fn extract(&self, inquiry: &mut Inquiry, ui: &Ui) -> Result<(), Failure> {
        // Everybody may read what is extracted.
        let options = self.open.options().advice_to_root((!self.follow_links).then_some(AS_USER));
        let (named, mut selected) = self.selection.split(&self.archives)?;
        // The names of pictures and sounds depend on other files.
        let paths = if self.png || self.voices { &[] } else { selected.only_paths() };
        let vfs = open_sources_for(named, options, paths.iter().copied())?;
        if self.directory.is_none() {
            refuse_destination(named, "-C")?;
        }
        let files = inquiry.select(&mut selected, &vfs).map_err(|failure| {
            if self.directory.is_some() { failure } else { destination_hint(failure, &self.archives, "-C") }
        })?;
        let directory = self.directory(named, &vfs.store().identities());
        if self.directory.is_none() {
            warn_of_source(named, &directory);
        }
        inquiry.set_exit(if self.dry_run {
            self.dry_run(&vfs, &files, &directory, ui.is_quiet)?
        } else {
            self.write_files(&vfs, files, &directory, ui)?
        });
        Ok(())
    }

    /// The command that extracts to a folder, without any other option.
    pub(crate) fn into_folder(directory: &Path, overwrite: bool) -> Self {
        Self { directory: Some(directory.to_owned()), overwrite, ..Self::default() }
    }

    /// Writes files below a folder, and prints what became of them.
    pub(crate) fn write_files(
        &self,
        vfs: &Vfs,
        mut files: Vec<VfsFile>,
        directory: &Path,
        ui: &Ui,
    ) -> Result<Exit, Failure> {
        // In stored order, so that a disk is read in one pass.
        files.sort_by_key(VfsFile::place);
        let last = if self.directory.is_some() { LastLink::Follow } else { LastLink::Refuse };
        let folder = OutputFolder::open(directory, last, self.never_replaced(vfs, &files))
            .map_err(|error| Failure::not_made("the folder", directory, &error))?;
        // Only now it is known that root may look at the folder.
        destination::warn_of_game(directory);
        self.check_room(&folder, directory, &files)?;
        let is_full = AtomicBool::new(false);
        let total = || files.iter().map(VfsFile::disk_size).sum();
        let advance = progress::bytes("extracting", files.len(), total);
        let names = self.new_names(vfs, &files);
        let outcomes = in_parallel(files.len(), &|| {}, |index| {
            let done = self.write(&folder, &files[index], names[index].as_ref(), &is_full);
            advance(files[index].disk_size());
            done
        });
        let outcomes = Outcomes::of(outcomes);
        for failed in outcomes.failed.iter().chain(&outcomes.flaws) {
            log::error!("{failed}");
        }
        if !ui.is_quiet {
            // If standard output is closed, the files have been written all the same.
            let mut out = stdout();
            let _ = writeln!(out, "{}", outcomes.line(directory)).and_then(|()| out.flush());
        }
        if let Some(error) = outcomes.full {
            let what = format!("{}: {}; extract stopped", directory.shown(), reason(&error));
            return Err(Failure::new(Exit::Io, what));
        }
        let is_all = outcomes.failed.is_empty() && outcomes.flaws.is_empty();
        let is_all = is_all && (outcomes.differing == 0 || self.skip_existing);
        Ok(if is_all { Exit::Ok } else { Exit::No })
    }

    /// The archives among the sources, and the loose files that are read. A file may be written into the
    /// folder of a source, but none takes the place of one that it, or another, comes from.
    fn never_replaced(&self, vfs: &Vfs, files: &[VfsFile]) -> HashSet<DiskId> {
        let loose = files.iter().filter(|_| self.overwrite).filter_map(VfsFile::path_on_disk);
        let loose = loose.filter_map(|path| Some(DiskId::from(&std::fs::metadata(path).ok()?)));
        vfs.store().identities().into_iter().chain(loose).collect()
    }

    /// Fails if the files do not fit on the disk, before any of them is written.
    fn check_room(&self, folder: &OutputFolder, directory: &Path, files: &[VfsFile]) -> Result<(), Failure> {
        let Some(free) = folder.free() else { return Ok(()) };
        // Reading all sizes takes time, so that it is done only if the disk may be too small. No codec makes
        // files this much smaller, except for those that are almost empty.
        let packed: u64 = files.iter().map(VfsFile::disk_size).sum();
        if self.png || packed.saturating_mul(CODEC_MOST) < free {
            return Ok(());
        }
        let is_new = |file: &&VfsFile| {
            let path = directory.join(OsStr::from_bytes(&file.path_bytes()));
            self.overwrite || path.symlink_metadata().is_err()
        };
        let needed: u64 = files.iter().filter(is_new).map(VfsFile::size_or_estimate).sum();
        if needed <= free {
            return Ok(());
        }
        let (path, needed, free) = (directory.shown(), BinaryBytes(needed), BinaryBytes(free));
        let what =
            format!("{path}: the files need {needed}, but the disk has only {free} free; none was written");
        Err(Failure::new(Exit::Io, what))
    }

    /// The folder to extract to: the one that the user named, or one named after the last source. That one
    /// may exist, but is neither a source nor a mount of bsafs, which gives its mountpoints the same names.
    /// The name of a download does not choose a folder of the user's settings: `.ssh.bsa` writes to no `.ssh`
    /// that is there, and a profile to no folder that is.
    fn directory(&self, named: &[PathBuf], sources: &[DiskId]) -> PathBuf {
        if let Some(directory) = &self.directory {
            return directory.clone();
        }
        // A mount is named instead of its sources.
        let found = named.iter().filter_map(|source| std::fs::metadata(source).ok());
        let taken: Vec<DiskId> = sources.iter().copied().chain(found.map(|it| DiskId::from(&it))).collect();
        let mounted = edit_mount::bsafs_devices();
        let is_mounted = |device| mounted.as_ref().is_some_and(|is_mounted| is_mounted(device));
        let last = named.last().map_or(Path::new(""), PathBuf::as_path);
        let may_exist = |name: &str| !Profile::is_one(last) && !name.starts_with('.');
        // A link may have come with a mod, and lead anywhere. So it takes its name.
        let is_free = |name: &String| match std::fs::symlink_metadata(name) {
            Ok(found) => {
                let is_usable = found.is_dir() && may_exist(name);
                is_usable && !is_mounted(found.dev()) && !taken.contains(&DiskId::from(&found))
            }
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let name = folder_name::candidates(last).take(CANDIDATES).find(is_free);
        name.unwrap_or_else(|| "extracted".into()).into()
    }

    /// The names under which textures and voice files are written if they can be decoded, decided before
    /// anything is written: no two files get the same one, and none gets the name of another file in the
    /// sources. `None` for a file that is written as it is.
    fn new_names(&self, vfs: &Vfs, files: &[VfsFile]) -> Vec<Option<NewNames>> {
        let mut all = vec![None; files.len()];
        let end = |file: &VfsFile| match file {
            file if self.png && is_dds(file.name()) => Some(None),
            file if self.voices && ends(file.name(), &[FUZ]) => Some(Some(XWM)),
            _ => None,
        };
        let ends = (0..files.len()).filter_map(|index| Some((index, end(&files[index])?)));
        let mut ends: Vec<(usize, Option<&'static [u8]>)> = ends.collect();
        let like_items = if self.png { like_items(vfs) } else { HashSet::new() };
        // So that the names do not depend on the order of the data.
        ends.sort_by_cached_key(|&(index, _)| files[index].path_bytes());
        let mut taken = HashSet::new();
        for (index, end) in ends {
            let (name, mut folder) = (files[index].name(), files[index].path_bytes());
            folder.truncate(folder.len() - name.len());
            let stem = &name[..name.len() - ".dds".len()];
            let numbered = (2..).map(|number: u64| [name, format!("-{number}").as_bytes()].concat());
            let mut stems = [stem.to_vec(), name.to_vec()].into_iter().chain(numbered);
            let is_free = |name: &[u8]| {
                let path = [&folder[..], name].concat();
                let is_taken = taken.contains(&path.to_ascii_lowercase());
                !is_taken && vfs.file(&path).is_none() && vfs.folder(&path).is_none()
            };
            let has_items = |stem: &[u8]| {
                let path = [&folder[..], stem].concat().to_ascii_lowercase();
                like_items.contains(&path) && Decoded::of(&files[index]).is_ok_and(|it| it.has_items())
            };
            let names = |stem: Vec<u8>| NewNames { stem, sound: end, split_alpha: self.split_alpha };
            let is_right =
                |names: &NewNames| names.each().iter().all(|it| is_free(it)) && !has_items(&names.stem);
            let found = stems.find_map(|stem| Some(names(stem)).filter(is_right));
            for name in found.iter().flat_map(NewNames::each) {
                taken.insert([&folder[..], &name].concat().to_ascii_lowercase());
            }
            all[index] = found;
        }
        all
    }

    /// Prints the paths that would be written.
    fn dry_run(
        &self,
        vfs: &Vfs,
        files: &[VfsFile],
        directory: &Path,
        is_quiet: bool,
    ) -> Result<Exit, Failure> {
        let mut out = stdout();
        let (mut written, mut bytes, mut kept) = (0, 0, 0);
        let mut exit = Exit::Ok;
        for (file, names) in files.iter().zip(self.new_names(vfs, files)) {
            let is_decoded = names.is_some();
            let decoded = names.and_then(|names| Some((Decoded::of(file).ok()?, names)));
            if let Some(what) = damage(file).filter(|_| is_decoded && decoded.is_none()) {
                log::error!("{}: stays as it is: {what}", file.path());
                exit = Exit::No;
            }
            let names: Vec<Vec<u8>> = match &decoded {
                Some((decoded, names)) => decoded.parts(names).into_iter().map(|part| part.name).collect(),
                None => vec![file.name().to_vec()],
            };
            let before = written;
            for name in names {
                let path = directory.join(file.path()).with_file_name(OsStr::from_bytes(&name));
                let found = path.symlink_metadata();
                let is_kept = |it: &std::fs::Metadata| {
                    it.is_file() || self.skip_existing && it.is_symlink() && path.is_file()
                };
                match found {
                    Ok(it) if self.overwrite && it.is_file() => {}
                    Ok(it) if !self.overwrite && is_kept(&it) => {
                        kept += 1;
                        continue;
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    found => {
                        let what =
                            found.map_or_else(|error| reason(&error), |_| "something is in the way".into());
                        log::error!("{}: {what}", path.shown());
                        exit = Exit::No;
                        continue;
                    }
                }
                written += 1;
                writeln!(out, "{}", path.shown())?;
            }
            bytes += if written > before { file.size_or_estimate() } else { 0 };
        }
        if !is_quiet {
            let kept = match kept {
                0 => String::new(),
                1 => "; 1 file exists already and would be kept".into(),
                _ => format!("; {kept} files exist already and would be kept"),
            };
            let (written, bytes) = (count(written, "file"), BinaryBytes(bytes));
            writeln!(out, "would write {written} ({bytes}) to {}{kept}", directory.shown())?;
        }
        out.flush()?;
        Ok(exit)
    }

    /// Writes a file, or what it is decoded to under its new names, unless the disk is full.
    fn write(
        &self,
        folder: &OutputFolder,
        file: &VfsFile,
        names: Option<&NewNames>,
        is_full: &AtomicBool,
    ) -> FileOutcome {
        let decoded = names.map(|names| (names, Decoded::of(file)));
        let mut done = FileOutcome { is_voice: ends(file.name(), &[FUZ]), ..FileOutcome::default() };
        match decoded {
            Some((names, Ok(decoded))) => {
                // Alpha is read again for each picture, so it has a reader of its own.
                let (colours, alpha) = (RefCell::new(Forward::new(file)), RefCell::new(Forward::new(file)));
                for part in decoded.parts(names) {
                    let from = if part.is_alpha() { &alpha } else { &colours };
                    let write = |out: &mut dyn Write| part.write(&mut from.borrow_mut(), out);
                    done.outcomes.push(self.write_as(folder, file, &part.name, Some(&write), is_full));
                }
            }
            decoded => {
                done.outcomes.push(self.write_as(folder, file, file.name(), None, is_full));
                done.kept = match decoded {
                    Some((_, Err(why))) => Some(why),
                    _ => file.kept_reason(),
                };
            }
        }
        if let Some(error) = file.take_salvaged() {
            log::warn!("{}: {error}; used anyway because of --salvage", file.path());
        }
        if let Some(what) = file.take_flaw() {
            done.flaws.push(format!("{}: {what}; extracted as it is", file.path()));
        }
        if let Some(why) = done.kept {
            match damage(file) {
                Some(what) => done.flaws.push(format!("{}: stays as it is: {what}", file.path())),
                None => log::info!("{}: stays as it is: {why}", file.path()),
            }
        }
        done
    }

    /// Writes a file under a name: what `decoded` writes, or its own bytes.
    fn write_as(
        &self,
        folder: &OutputFolder,
        file: &VfsFile,
        name: &[u8],
        decoded: Option<WriteDecoded<'_>>,
        is_full: &AtomicBool,
    ) -> Outcome {
        if is_full.load(Ordering::Relaxed) {
            return Outcome::Full(None);
        }
        let if_exists = match (self.overwrite, self.skip_existing) {
            (true, _) => Existing::Replace,
            (false, true) => Existing::Skip,
            (false, false) => Existing::Keep,
        };
        let placed = folder.write(file, name, if_exists, |out| match decoded {
            Some(write) => {
                let mut counted = Counted { out, len: 0 };
                write(&mut counted).map(|()| counted.len)
            }
            None => file.write_to(out),
        });
        let outcome = placed.and_then(|placed| {
            Ok(match (placed, decoded) {
                (Placed::Written(len), _) => Outcome::Written(len),
                (Placed::Kept(None), _) => Outcome::Kept(false),
                (Placed::Kept(Some(Ok(existing))), Some(write)) => {
                    Outcome::Kept(!equals_written(&existing, None, write)?)
                }
                (Placed::Kept(Some(Ok(existing))), None) => Outcome::Kept(!equals(file, &existing)?),
                (Placed::Kept(Some(Err(_))), _) => Outcome::Kept(true),
            })
        });
        if let Ok(Outcome::Kept(true)) = outcome {
            log::info!("{}: kept a file with other bytes", file.path());
        }
        outcome.unwrap_or_else(|error| {
            if is_no_space(&error) {
                is_full.store(true, Ordering::Relaxed);
                Outcome::Full(Some(error))
            } else {
                Outcome::Failed(format!("{}: {}", file.path(), reason(&error)))
            }
        })
    }
}

impl NewNames {
    /// The names of a file that is decoded to one picture or sound, whatever kind of picture it is.
    fn each(&self) -> Vec<Vec<u8>> {
        let ends: Vec<&[u8]> = self.sound.map_or_else(|| vec![PNG, EXR], |end| vec![end]);
        let stems: &[&[u8]] = if self.split_alpha { &[b"", ALPHA] } else { &[b""] };
        let names = stems.iter().flat_map(|more| ends.iter().map(|end| [&self.stem, *more, end].concat()));
        names.collect()
    }
}

/// How paths in the sources begin that end as the pictures of several faces or layers do, in lower case: what
/// precedes `_item` and at least three digits.
fn like_items(vfs: &Vfs) -> HashSet<Vec<u8>> {
    let stem = |file: VfsFile| {
        let path = file.path_bytes().to_ascii_lowercase();
        let (at, rest) = (0..path.len()).rev().find_map(|at| Some((at, path[at..].strip_prefix(ITEM)?)))?;
        rest.iter().take(3).filter(|byte| byte.is_ascii_digit()).nth(2)?;
        Some(path[..at].to_vec())
    };
    vfs.files().filter_map(stem).collect()
}

/// Writes what a file is decoded to.
type WriteDecoded<'d> = &'d dyn Fn(&mut dyn Write) -> io::Result<()>;

/// What a file can be decoded to.
enum Decoded {
    /// One for each face or layer, in the order of the file.
    Pictures(Vec<FullPicture>),
    /// The sound of a voice file, which begins at this offset.
    Sound(u64),
}

/// A file to write.
struct Part<'d> {
    name: Vec<u8>,
    what: PartKind<'d>,
}

#[derive(Clone, Copy)]
enum PartKind<'d> {
    Picture(&'d FullPicture, PictureChannels),
    Sound(u64),
}

impl Decoded {
    /// What a texture or a voice file is decoded to. An error says in a few words why it stays as it is.
    fn of(file: &VfsFile) -> Result<Self, &'static str> {
        if ends(file.name(), &[FUZ]) {
            return sound_offset(file).map(Self::Sound);
        }
        let pictures = file.size().map_err(|error| PictureError::Io(error.into()));
        let pictures = pictures.and_then(|len| FullPicture::all(&mut file.stream(), len));
        pictures.map(Self::Pictures).map_err(|error| error.in_short())
    }

    /// Whether it is several pictures, whose names have numbers.
    fn has_items(&self) -> bool {
        matches!(self, Self::Pictures(pictures) if pictures.len() > 1)
    }

    /// The files to write. A format without alpha has one file for each picture.
    fn parts<'d>(&'d self, names: &NewNames) -> Vec<Part<'d>> {
        let stem = &names.stem;
        let pictures = match self {
            Self::Pictures(pictures) => pictures,
            Self::Sound(start) => {
                let name = [stem, names.sound.unwrap_or(XWM)].concat();
                return vec![Part { name, what: PartKind::Sound(*start) }];
            }
        };
        let of_picture = |picture: &'d FullPicture| {
            let channels: &[PictureChannels] = match (names.split_alpha, picture.has_alpha()) {
                (false, _) => &[PictureChannels::All],
                (true, false) => &[PictureChannels::Colours],
                (true, true) => &[PictureChannels::Colours, PictureChannels::Alpha],
            };
            channels.iter().map(move |&channels| {
                // The numbers are those of DirectXTex's texdiag.
                let item =
                    picture.item().map_or_else(Vec::new, |item| format!("_item{item:03}").into_bytes());
                let more = if channels == PictureChannels::Alpha { ALPHA } else { b"" };
                let end = if picture.is_light() { EXR } else { PNG };
                Part { name: [stem, &item, more, end].concat(), what: PartKind::Picture(picture, channels) }
            })
        };
        pictures.iter().flat_map(of_picture).collect()
    }
}

impl Part<'_> {
    fn is_alpha(&self) -> bool {
        matches!(self.what, PartKind::Picture(_, PictureChannels::Alpha))
    }

    fn write(&self, from: &mut Forward<'_>, mut out: &mut dyn Write) -> io::Result<()> {
        match self.what {
            PartKind::Picture(picture, channels) => {
                from.skip_to(picture.start())?;
                picture.write(from, channels, &mut out)
            }
            PartKind::Sound(start) => {
                from.skip_to(start)?;
                io::copy(from, out).map(drop)
            }
        }
    }
}

/// Reads a file in order. All faces and layers of a texture are read through one, because a reader of a
/// packed file decodes what it skips.
struct Forward<'f> {
    file: &'f VfsFile,
    stream: Option<FileStream<'f>>,
    position: u64,
}

impl<'f> Forward<'f> {
    fn new(file: &'f VfsFile) -> Self {
        Self { file, stream: None, position: 0 }
    }

    /// Goes to an offset: from the beginning, if it was passed.
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        if offset < self.position {
            (self.stream, self.position) = (None, 0);
        }
        let left = offset - self.position;
        io::copy(&mut self.take(left), &mut io::sink()).map(drop)
    }
}

impl Read for Forward<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.get_or_insert_with(|| self.file.stream()).read(out)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// What is damaged in a file that could not be decoded; `None` if it is of a kind that is not decoded. A file
/// that cannot be read is named when it is written.
fn damage(file: &VfsFile) -> Option<String> {
    if ends(file.name(), &[FUZ]) {
        let why = sound_offset(file).err()?;
        return (why == CUT_VOICE).then(|| why.to_owned());
    }
    FullPicture::damage(&mut file.stream(), file.size().ok()?).map(|error| error.to_string())
}

/// Why the sound of a voice file is not there, if the file ends too early.
const CUT_VOICE: &str = "cut off";

/// Where the sound of a voice file begins: behind the magic `FUZE`, a version, the length of the data for
/// lips, and that data. The sound states its own length.
fn sound_offset(file: &VfsFile) -> Result<u64, &'static str> {
    let len = file.size().map_err(|_| "unreadable")?;
    let stream = &mut file.stream();
    let mut header = Vec::new();
    io::copy(&mut stream.take(12), &mut header).map_err(|_| "unreadable")?;
    if header.len() < 12 && header.starts_with(b"FUZE") {
        return Err(CUT_VOICE);
    }
    let lips = header.strip_prefix(b"FUZE").and_then(<[u8]>::last_chunk).ok_or("no voice")?;
    let lips = u64::from(u32::from_le_bytes(*lips));
    let skipped = io::copy(&mut stream.take(lips), &mut io::sink()).map_err(|_| "unreadable")?;
    if skipped < lips {
        return Err(CUT_VOICE);
    }
    let mut magic = Vec::new();
    io::copy(&mut stream.take(12), &mut magic).map_err(|_| "unreadable")?;
    if (1..12).contains(&magic.len()) {
        return Err(CUT_VOICE);
    }
    let Some(stated) = magic.strip_prefix(b"RIFF").and_then(|it| it.strip_suffix(b"XWMA")) else {
        return Err("no sound inside");
    };
    let stated: [u8; 4] = stated.try_into().map_err(|_| "no sound inside")?;
    // The length counts what follows it. A sound of odd length may lack the byte that makes it even.
    if 12 + lips + 8 + u64::from(u32::from_le_bytes(stated)) > len + 1 {
        return Err(CUT_VOICE);
    }
    Ok(12 + lips)
}

impl Outcomes {
    fn of(files: Vec<FileOutcome>) -> Self {
        let mut all = Self::default();
        for FileOutcome { kept, is_voice, .. } in &files {
            let reasons = if *is_voice { &mut all.voices } else { &mut all.textures };
            for why in kept.iter() {
                reasons.add(why, 1);
            }
        }
        for FileOutcome { outcomes, mut flaws, .. } in files {
            all.flaws.append(&mut flaws);
            for outcome in outcomes {
                all.add(outcome);
            }
        }
        all.failed.sort_unstable();
        all.flaws.sort_unstable();
        all
    }

    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Written(len) => {
                self.written += 1;
                self.bytes += len;
            }
            Outcome::Kept(differs) => {
                self.kept += 1;
                self.differing += usize::from(differs);
            }
            Outcome::Failed(what) => self.failed.push(what),
            Outcome::Full(error) => self.full = self.full.take().or(error),
        }
    }

    /// The line that sums them up.
    fn line(&self, directory: &Path) -> String {
        let (written, bytes) = (count(self.written, "file"), BinaryBytes(self.bytes));
        let differing = match self.differing {
            0 => String::new(),
            differing => format!(", {differing} of them with other bytes (-v lists them)"),
        };
        let kept = match self.kept {
            0 => String::new(),
            1 => format!("; 1 file exists already and was kept{differing}; --overwrite replaces it"),
            kept => {
                format!("; {kept} files exist already and were kept{differing}; --overwrite replaces them")
            }
        };
        let failed = match self.failed.len() {
            0 => String::new(),
            failed => format!("; {} could not be written", count(failed, "file")),
        };
        let flawed = match self.flaws.len() {
            0 => String::new(),
            1 => "; 1 file is not whole".to_owned(),
            flawed => format!("; {flawed} files are not whole"),
        };
        let stay = |thing: &str, reasons: &Reasons| match reasons.total() {
            0 => String::new(),
            1 => format!("; 1 {thing} stays as it is{reasons}; -v lists it"),
            many => format!("; {many} {thing}s stay as they are{reasons}; -v lists them"),
        };
        let textures = [stay("texture", &self.textures), stay("voice", &self.voices)].concat();
        format!("wrote {written} ({bytes}) to {}{kept}{failed}{flawed}{textures}", directory.shown())
    }
}

/// Says that the folder which has the name of the last source is this source, and was not written to.
fn warn_of_source(named: &[PathBuf], directory: &Path) {
    let [_, .., last] = named else { return };
    let folder = last.canonicalize().ok().filter(|folder| folder.is_dir());
    let (Some(folder), Ok(here)) = (folder, std::env::current_dir()) else { return };
    let is_beside = here.canonicalize().is_ok_and(|here| folder.parent() == Some(&here));
    if is_beside && folder.file_name() != directory.file_name() {
        let last = quoted(&last.to_string_lossy());
        log::warn!("{last} is a source here; to extract to it: -C {last}");
    }
}

/// How the names of pictures end.
const PNG: &[u8] = b".png";
/// How the names of pictures of light end.
const EXR: &[u8] = b".exr";
/// What the names of the pictures of several faces or layers have before their numbers.
const ITEM: &[u8] = b"_item";

/// How the names of sounds end.
const XWM: &[u8] = b".xwm";
/// What the name of a picture of alpha has before its end.
const ALPHA: &[u8] = b"-alpha";

/// A writer that counts its bytes.
struct Counted<'o, W> {
    out: &'o mut W,
    len: u64,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Maximum number of names to try for a folder named after a source.
const CANDIDATES: usize = 1000;

/// How much longer than their packed data files seldom are.
const CODEC_MOST: u64 = 20;

/// Whether no other file can be written either.
fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
