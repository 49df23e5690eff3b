//! `bsafs extract`: writes files to the disk.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use indicatif::BinaryBytes;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::open_sources;
use crate::cli::options::open_args::{AS_USER, LayoutArg, OpenArgs, SALVAGE};
use crate::cli::options::selection::Selection;
use crate::cli::terminal::output::stdout;
use crate::cli::terminal::progress;
use crate::cli::ui::Ui;
use crate::note::Reasons;
use crate::picture::{FullPicture, PictureError, PngChannels};
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::edit_mount;
use crate::system::output_place::LastLink;
use crate::system::text::{count, reason};
use crate::vfs::comparison::{equals, equals_written};
use crate::vfs::output_folder::{Existing, OutputFolder, Placed};
use crate::vfs::parallel::in_parallel;
use crate::vfs::sources::folder_name;
use crate::vfs::{OpenOptions, Vfs, VfsFile};

/// Extract files of archives and folders to a folder
///
/// Without -C, the files go into a folder named after the last source, in the current folder.
///
/// Existing files are kept, and the exit status is 1 if the bytes of one differ (-v lists such files). With
/// --overwrite, an existing file is replaced once its replacement was written completely. If a file cannot be
/// read or written, the others are still extracted, and the exit status is 1. If the disk is full, extract
/// stops. With --salvage, files with a wrong checksum are extracted, too. Existing links are neither followed
/// nor replaced, and nothing is written outside the folder.
#[derive(Args, Debug)]
pub(crate) struct Extract {
    /// Sources, of which the rightmost wins; then paths or patterns of files in them, in any case
    #[arg(required = true, value_name = "SOURCE|PATH")]
    archives: Vec<PathBuf>,
    /// Folder to extract to; created if it does not exist
    #[arg(short = 'C', long, value_name = "FOLDER")]
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
    /// A cube's first face is written. Textures that cannot be decoded stay as they are; -v lists them.
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
    #[arg(long, help = SALVAGE)]
    salvage: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    layout: LayoutArg,
    #[command(flatten)]
    open: OpenArgs,
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
struct Done {
    /// One outcome for each file that is written for it.
    outcomes: Vec<Outcome>,
    /// Why a texture or a voice file stays as it is.
    kept: Option<&'static str>,
    is_voice: bool,
}

/// The names under which a texture is written as a picture, or a voice file as a sound.
#[derive(Clone)]
struct NewNames {
    all: Vec<u8>,
    /// The name of the picture of alpha, which is written if alpha is split off.
    alpha: Option<Vec<u8>>,
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
    full: Option<io::Error>,
    /// Why textures stay as they are.
    textures: Reasons,
    /// Why voice files stay as they are.
    voices: Reasons,
}

impl Extract {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let options = OpenOptions {
            layout: self.layout.layout,
            salvage: self.salvage,
            // Everybody may read what is extracted.
            advice_to_root: (!self.follow_links).then_some(AS_USER),
            ..self.open.options()
        };
        let (named, selected) = self.selection.split(&self.archives)?;
        let vfs = open_sources(named, options)?;
        let mut files = selected.files(&vfs)?;
        if selected.is_unmatched(files.len()) {
            return Ok(Exit::No);
        }
        let sources = vfs.store().identities();
        let directory = self.directory(named, &sources);
        if self.dry_run {
            return self.dry_run(&vfs, &files, &directory, ui.is_quiet);
        }
        // In stored order, so that a disk is read in one pass.
        files.sort_by_key(VfsFile::place);
        let last = if self.directory.is_some() { LastLink::Follow } else { LastLink::Refuse };
        let folder = OutputFolder::open(&directory, last, sources)
            .map_err(|error| Failure::not_made("the folder", &directory, &error))?;
        if folder.is_kept() {
            let why = "it is one of the sources, and its files would be replaced; give another folder";
            return Err(Failure::new(Exit::CannotCreate, format!("{}: {why}", directory.shown())));
        }
        self.check_room(&folder, &directory, &files)?;
        let is_full = AtomicBool::new(false);
        let total = || files.iter().map(VfsFile::disk_size).sum();
        let advance = progress::bytes("extracting", files.len(), total);
        let names = self.new_names(&vfs, &files);
        let outcomes = in_parallel(files.len(), &|| {}, |index| {
            let done = self.write(&folder, &files[index], names[index].as_ref(), &is_full);
            advance(files[index].disk_size());
            done
        });
        let outcomes = Outcomes::of(outcomes);
        for failed in &outcomes.failed {
            log::error!("{failed}");
        }
        if !ui.is_quiet {
            // If standard output is closed, the files have been written all the same.
            let mut out = stdout();
            let _ = writeln!(out, "{}", outcomes.line(&directory)).and_then(|()| out.flush());
        }
        if let Some(error) = outcomes.full {
            let what = format!("{}: {}; extract stopped", directory.shown(), reason(&error));
            return Err(Failure::new(Exit::Io, what));
        }
        let is_all = outcomes.failed.is_empty() && (outcomes.differing == 0 || self.skip_existing);
        Ok(if is_all { Exit::Ok } else { Exit::No })
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
        let needed: u64 = files.iter().filter(is_new).map(VfsFile::shown_size).sum();
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
    fn directory(&self, named: &[PathBuf], sources: &[DiskId]) -> PathBuf {
        if let Some(directory) = &self.directory {
            return directory.clone();
        }
        // A mount is named instead of its sources.
        let found = named.iter().filter_map(|source| std::fs::metadata(source).ok());
        let taken: Vec<DiskId> = sources.iter().copied().chain(found.map(|it| DiskId::from(&it))).collect();
        let mounted = edit_mount::bsafs_devices();
        let is_mounted = |device| mounted.as_ref().is_some_and(|is_mounted| is_mounted(device));
        // A link may have come with a mod, and lead anywhere. So it takes its name.
        let is_free = |name: &String| match std::fs::symlink_metadata(name) {
            Ok(found) => found.is_dir() && !is_mounted(found.dev()) && !taken.contains(&DiskId::from(&found)),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let last = named.last().map_or(Path::new(""), PathBuf::as_path);
        let name = folder_name::candidates(last).take(CANDIDATES).find(is_free);
        name.unwrap_or_else(|| "extracted".into()).into()
    }

    /// The names under which textures and voice files are written if they can be decoded, decided before
    /// anything is written: no two files get the same one, and none gets the name of another file in the
    /// sources. `None` for a file that is written as it is.
    fn new_names(&self, vfs: &Vfs, files: &[VfsFile]) -> Vec<Option<NewNames>> {
        let mut all = vec![None; files.len()];
        let end = |file: &VfsFile| match file {
            file if self.png && ends_with(file, DDS) => Some(PNG),
            file if self.voices && ends_with(file, FUZ) => Some(XWM),
            _ => None,
        };
        let ends = (0..files.len()).filter_map(|index| Some((index, end(&files[index])?)));
        let mut ends: Vec<(usize, &[u8])> = ends.collect();
        // So that the names do not depend on the order of the data.
        ends.sort_by_cached_key(|&(index, _)| files[index].path_bytes());
        let mut taken = HashSet::new();
        for (index, end) in ends {
            let (name, mut folder) = (files[index].name(), files[index].path_bytes());
            folder.truncate(folder.len() - name.len());
            let stem = &name[..name.len() - DDS.len()];
            let numbered = (2..).map(|number: u64| [name, format!("-{number}").as_bytes()].concat());
            let mut stems = [stem.to_vec(), name.to_vec()].into_iter().chain(numbered);
            let is_free = |name: &[u8]| {
                let path = [&folder[..], name].concat();
                let is_taken = taken.contains(&path.to_ascii_lowercase());
                !is_taken && vfs.file(&path).is_none() && vfs.folder(&path).is_none()
            };
            let names = |stem: Vec<u8>| NewNames {
                all: [&stem[..], end].concat(),
                alpha: (self.split_alpha && end == PNG).then(|| [&stem[..], ALPHA, PNG].concat()),
            };
            let found = stems.find_map(|stem| Some(names(stem)).filter(|it| it.each().all(&is_free)));
            for name in found.iter().flat_map(NewNames::each) {
                taken.insert([&folder[..], name].concat().to_ascii_lowercase());
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
        for (file, names) in files.iter().zip(self.new_names(vfs, files)) {
            let parts = names.as_ref().and_then(|names| Decoded::of(file).ok().map(|it| it.parts(names)));
            let names: Vec<&[u8]> = match &parts {
                Some(parts) => parts.iter().map(|(name, _)| *name).collect(),
                None => vec![file.name()],
            };
            let before = written;
            for name in names {
                let path = directory.join(file.path()).with_file_name(OsStr::from_bytes(name));
                if !self.overwrite && path.symlink_metadata().is_ok() {
                    kept += 1;
                    continue;
                }
                written += 1;
                writeln!(out, "{}", path.shown())?;
            }
            bytes += if written > before { file.shown_size() } else { 0 };
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
        Ok(Exit::Ok)
    }

    /// Writes a file, or what it is decoded to under its new names, unless the disk is full.
    fn write(
        &self,
        folder: &OutputFolder,
        file: &VfsFile,
        names: Option<&NewNames>,
        is_full: &AtomicBool,
    ) -> Done {
        let decoded = names.map(|names| (names, Decoded::of(file)));
        let mut done = Done { is_voice: ends_with(file, FUZ), ..Done::default() };
        match decoded {
            Some((names, Ok(decoded))) => {
                for (name, channels) in decoded.parts(names) {
                    let write = |out: &mut dyn Write| decoded.write(file, channels, out);
                    done.outcomes.push(self.write_as(folder, file, name, Some(&write), is_full));
                }
            }
            decoded => {
                done.outcomes.push(self.write_as(folder, file, file.name(), None, is_full));
                done.kept = match decoded {
                    Some((_, Err(why))) => Some(why),
                    _ => file.why_kept(),
                };
            }
        }
        if let Some(error) = file.take_salvaged() {
            log::warn!("{}: {error}; used anyway because of --salvage", file.path());
        }
        if let Some(why) = done.kept {
            log::info!("{}: stays as it is: {why}", file.path());
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
                Outcome::Failed(format!("{}: {error}", file.path()))
            }
        })
    }
}

impl NewNames {
    fn each(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.all[..]).chain(self.alpha.as_deref())
    }
}

/// Writes what a file is decoded to.
type WriteDecoded<'d> = &'d dyn Fn(&mut dyn Write) -> io::Result<()>;

/// What a file can be decoded to.
enum Decoded {
    Picture(FullPicture),
    /// The sound of a voice file, which begins at this offset.
    Sound(u64),
}

impl Decoded {
    /// What a texture or a voice file is decoded to. An error says in a few words why it stays as it is.
    fn of(file: &VfsFile) -> Result<Self, &'static str> {
        if ends_with(file, FUZ) {
            return sound_offset(&mut file.stream()).map(Self::Sound);
        }
        let picture = file.size().map_err(|error| PictureError::Io(error.into()));
        let picture = picture.and_then(|len| FullPicture::new(&mut file.stream(), len));
        picture.map(Self::Picture).map_err(|error| error.in_short())
    }

    /// The names of the files to write, and what they have. A format without alpha has one file.
    fn parts<'n>(&self, names: &'n NewNames) -> Vec<(&'n [u8], PngChannels)> {
        match (&names.alpha, self) {
            (Some(alpha), Self::Picture(picture)) if picture.has_alpha() => {
                vec![(&names.all, PngChannels::Colours), (alpha, PngChannels::Alpha)]
            }
            (Some(_), _) => vec![(&names.all, PngChannels::Colours)],
            (None, _) => vec![(&names.all, PngChannels::All)],
        }
    }

    fn write(&self, file: &VfsFile, channels: PngChannels, mut out: &mut dyn Write) -> io::Result<()> {
        let mut stream = file.stream();
        match self {
            Self::Picture(picture) => picture.write(&mut stream, channels, &mut out),
            Self::Sound(start) => {
                io::copy(&mut stream.by_ref().take(*start), &mut io::sink())?;
                io::copy(&mut stream, out).map(drop)
            }
        }
    }
}

/// Where the sound of a voice file begins: behind the magic `FUZE`, a version, the length of the data for
/// lips, and that data.
fn sound_offset(file: &mut impl Read) -> Result<u64, &'static str> {
    let mut header = [0; 12];
    file.read_exact(&mut header).map_err(|_| "no voice")?;
    let lips = header.strip_prefix(b"FUZE").and_then(<[u8]>::last_chunk).ok_or("no voice")?;
    let lips = u64::from(u32::from_le_bytes(*lips));
    let mut magic = [0; 12];
    let skipped = io::copy(&mut file.take(lips), &mut io::sink()).map_err(|_| "unreadable")?;
    let has_magic = skipped == lips && file.read_exact(&mut magic).is_ok();
    if has_magic && magic.starts_with(b"RIFF") && magic.ends_with(b"XWMA") {
        Ok(header.len() as u64 + lips)
    } else {
        Err("no sound inside")
    }
}

impl Outcomes {
    fn of(files: Vec<Done>) -> Self {
        let mut all = Self::default();
        for Done { kept, is_voice, .. } in &files {
            let reasons = if *is_voice { &mut all.voices } else { &mut all.textures };
            for why in kept.iter() {
                reasons.add(why, 1);
            }
        }
        for outcome in files.into_iter().flat_map(|done| done.outcomes) {
            match outcome {
                Outcome::Written(len) => {
                    all.written += 1;
                    all.bytes += len;
                }
                Outcome::Kept(differs) => {
                    all.kept += 1;
                    all.differing += usize::from(differs);
                }
                Outcome::Failed(what) => all.failed.push(what),
                Outcome::Full(error) => all.full = all.full.or(error),
            }
        }
        all.failed.sort_unstable();
        all
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
        let stay = |thing: &str, reasons: &Reasons| match reasons.total() {
            0 => String::new(),
            1 => format!("; 1 {thing} stays as it is{reasons}; -v lists it"),
            many => format!("; {many} {thing}s stay as they are{reasons}; -v lists them"),
        };
        let textures = [stay("texture", &self.textures), stay("voice", &self.voices)].concat();
        format!("wrote {written} ({bytes}) to {}{kept}{failed}{textures}", directory.shown())
    }
}

/// How the names of textures end.
const DDS: &[u8; 4] = b".dds";
/// How the names of pictures end.
const PNG: &[u8] = b".png";

/// How the names of voice files and of sounds end.
const FUZ: &[u8; 4] = b".fuz";
const XWM: &[u8] = b".xwm";
/// What the name of a picture of alpha has before its end.
const ALPHA: &[u8] = b"-alpha";

/// Whether the name of a file ends so, in any case.
fn ends_with(file: &VfsFile, end: &[u8; 4]) -> bool {
    file.name().last_chunk::<4>().is_some_and(|it| it.eq_ignore_ascii_case(end))
}

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
