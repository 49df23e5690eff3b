//! `bsafs verify`: decodes every file and lists the damaged ones.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;
use serde::Serialize;

use crate::answers::structure::structure;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::OpenArgs;
use crate::cli::options::selection::{Selected, Selection};
use crate::cli::terminal::progress;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::content::Examined;
use crate::content::codec::Quirk;
use crate::format::{Codec, is_archive_name};
use crate::game::{LayerKind, LoadOrder};
use crate::kinds::is_dds;
use crate::note::{Note, NoteCode, Notes};
use crate::picture::FullPicture;
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::once_per_file::OncePerFile;
use crate::system::parallel::in_parallel;
use crate::system::text::count;
use crate::vfs::file::SharedBytes;
use crate::vfs::opened_archive::unreadable;
use crate::vfs::opening::named_folder::NamedFolder;
use crate::vfs::sources::profile::SourceSet;
use crate::vfs::sources::resolve;
use crate::vfs::{FolderArchives, Layout, OpenError, ReadErrorKind, Vfs, VfsFile, VfsLayer};

/// Decode every file of archives, read every loose file, and print those that are bad
///
/// Checksums are compared if the data has them: zlib streams have one, and LZ4 frames have the checksums
/// that their flags announce. Uncompressed files, LZ4 blocks (some of Starfield's textures) and XMem data
/// (Xbox 360) have none. Damage in these is found only if it changes the length or makes the data
/// undecodable. The last line counts the files without a checksum.
///
/// Lines that begin with "odd:" say what is wrong with the archive's tables, such as files that the game
/// does not find, and what was read despite a flag, a length or the version. Such files are not bad.
///
/// Archives in subfolders, and archives that a game does not load, are opened too, unless archives are
/// shown as files.
///
/// Whatever cannot be opened or read is named, even with --quiet, and the rest is checked. The exit
/// status is 0 if everything was read and is OK. It is 1 if a file is bad or was not read, or if no file
/// matches a pattern. If an argument itself cannot be opened, the exit status is that of the error.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Sources, and then paths or patterns of files in them, ignoring case
    #[arg(required = true, value_name = "SOURCE|PATH")]
    archives: Vec<PathBuf>,
    /// Print one JSON object per line: an archive, or the loose files of a folder
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs,
}

/// What was found in one archive.
#[derive(Default, Serialize)]
struct Findings {
    archive: String,
    files: usize,
    bad: Vec<Finding>,
    /// What is odd about the archive, and about files that are whole.
    notes: Vec<Note>,
    /// How many files no checksum covers, so that flipped bits stay unseen.
    unchecked: usize,
    /// How many of these are LZ4 frames, which may have a checksum.
    unchecked_lz4_frames: usize,
    /// How many files could not be read, or archives and folders of a folder.
    not_looked_at: usize,
    /// Whether the archive's own tables are damaged.
    #[serde(skip)]
    is_damaged: bool,
}

/// What was found in one file.
#[derive(Serialize)]
struct Finding {
    path: String,
    what: String,
}

impl Verify {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        Inquiry::run(self.json, |inquiry| self.answer(inquiry, ui))
    }

    fn answer(&self, inquiry: &mut Inquiry, ui: &Ui) -> Result<(), Failure> {
        let (sources, selected) = self.selection.split(&self.archives)?;
        let is_quiet = ui.is_quiet;
        let mut checking = Checking { inquiry, selected, is_quiet, files: 0, has_failed: false };
        for source in sources {
            // Check each source separately, so that a profile's options apply only to the sources
            // that it names.
            let set = match source_set(slice::from_ref(source), self.open.options().layout(Layout::Union)) {
                Err(failure) if failure.exit != Exit::Usage => {
                    checking.fail(source, failure);
                    continue;
                }
                set => set?,
            };
            // If a profile sets `salvage`, suspect files are still not sound.
            let set = SourceSet { options: set.options.salvage(false), ..set };
            checking.inquiry.unseen.add(&set.options.unseen);
            for (path, set) in set.each() {
                checking.source(path, &set)?;
            }
        }
        let Checking { inquiry, selected, files, has_failed, .. } = checking;
        // Nothing is known of paths in what could not be opened.
        if has_failed { Ok(()) } else { inquiry.check(&selected, files, None) }
    }
}

/// The state of a run.
struct Checking<'a> {
    inquiry: &'a mut Inquiry,
    selected: Selected<'a>,
    is_quiet: bool,
    /// Number of files that were checked.
    files: usize,
    /// Whether an argument could not be opened.
    has_failed: bool,
}

/// A source that was opened.
enum OpenSource {
    Game(LoadOrder, Vfs),
    Folder(NamedFolder),
    Archive(Findings),
}

impl Checking<'_> {
    /// Checks and reports each archive of a game, a folder and the archives in it, or a single archive. Goes
    /// on if one of them cannot be opened.
    fn source(&mut self, source: &Path, set: &SourceSet) -> Result<(), OutputError> {
        match self.open(source, set) {
            Ok(OpenSource::Game(order, game)) => self.game(&order, &game, set),
            Ok(OpenSource::Folder(folder)) => self.folder(source, folder, set),
            Ok(OpenSource::Archive(findings)) => self.report(&findings),
            Err(failure) => {
                self.fail(source, failure);
                Ok(())
            }
        }
    }

    fn open(&mut self, source: &Path, set: &SourceSet) -> Result<OpenSource, Failure> {
        if let Some(order) = resolve::plan_source(source, &set.options)? {
            self.inquiry.unseen.add(&order.notes);
            return Ok(OpenSource::Game(order, Vfs::from(set.only(source).open()?)));
        }
        if source.is_dir() {
            return Ok(OpenSource::Folder(NamedFolder::open(source, &set.options)?));
        }
        Ok(OpenSource::Archive(self.archive(source, set)?))
    }

    /// Checks and reports the archives and loose files of a game.
    fn game(&mut self, order: &LoadOrder, game: &Vfs, set: &SourceSet) -> Result<(), OutputError> {
        let mut known = HashSet::new();
        for layer in order.layers.iter().filter(|layer| layer.what == LayerKind::Archive) {
            known.extend(identity(&layer.path));
            let Some(mut findings) = self.archive_if_readable(&layer.path, set) else { continue };
            // Only the game's rules show whether the game reads this version.
            let subject = layer.path.to_string_lossy();
            let is_version = |note: &&Note| note.code == NoteCode::ArchiveVersion && note.subject == subject;
            findings.notes.splice(0..0, order.notes.iter().filter(is_version).cloned());
            self.report(&findings)?;
        }
        let copies = game.files().flat_map(|file| file.hidden().chain([file.clone()]).collect::<Vec<_>>());
        self.other_archives(copies, known, set)?;
        self.loose_files(game, set)
    }

    /// Checks and reports a folder and the archives in it.
    fn folder(
        &mut self,
        source: &Path,
        NamedFolder { loose, archives, notes }: NamedFolder,
        set: &SourceSet,
    ) -> Result<(), OutputError> {
        for archive in &archives {
            self.report_archive(archive, set)?;
        }
        let loose = Vfs::from(loose);
        let known = archives.iter().filter_map(|archive| identity(archive)).collect();
        self.other_archives(loose.files(), known, set)?;
        self.inquiry.unseen.add(&notes);
        let (unseen, odd): (Vec<Note>, Vec<Note>) = notes.into_iter().partition(|note| note.code.is_unseen());
        let mut files = self.selected.files_among(&loose);
        files.retain(|file| !opens(set) || !is_archive_name(file.name()));
        let findings = findings(source, files, odd, &mut self.inquiry.unseen);
        let not_looked_at = findings.not_looked_at + unseen.len();
        self.report(&Findings { not_looked_at, ..findings })
    }

    /// Checks and reports the archives among loose files that are no layers: games do not look for archives
    /// in subfolders, and do not load each one in a data folder. `known` are those that were checked already.
    fn other_archives(
        &mut self,
        files: impl Iterator<Item = VfsFile>,
        mut known: HashSet<DiskId>,
        set: &SourceSet,
    ) -> Result<(), OutputError> {
        let is_one = |file: &VfsFile| file.layer().is_folder() && is_archive_name(file.name());
        for file in files.filter(|file| opens(set) && is_one(file)) {
            let archive = file.layer().path().join(OsStr::from_bytes(&file.path_bytes()));
            // Links may show one archive in several places.
            if identity(&archive).is_some_and(|it| !known.insert(it)) {
                continue;
            }
            self.report_archive(&archive, set)?;
        }
        Ok(())
    }

    /// Checks and reports the loose files of each folder of a game, also those that others hide.
    fn loose_files(&mut self, game: &Vfs, set: &SourceSet) -> Result<(), OutputError> {
        self.inquiry.unseen.add(game.unseen());
        let selected = self.selected.files_among(game);
        let copies = selected.into_iter().flat_map(|file| {
            let hidden: Vec<VfsFile> = file.hidden().collect();
            std::iter::once(file).chain(hidden)
        });
        let mut of_folders: BTreeMap<usize, Vec<VfsFile>> = BTreeMap::new();
        let is_loose = |copy: &VfsFile| copy.layer().is_folder();
        let is_file = |copy: &VfsFile| is_loose(copy) && !(opens(set) && is_archive_name(copy.name()));
        for copy in copies.filter(is_file) {
            of_folders.entry(copy.layer().number()).or_default().push(copy);
        }
        for layer in game.layers().filter(VfsLayer::is_folder) {
            let files = of_folders.remove(&layer.number()).unwrap_or_default();
            let is_inside = |note: &&Note| Path::new(&note.subject).starts_with(layer.path());
            let (unseen, odd): (Vec<Note>, Vec<Note>) =
                game.left_out().filter(is_inside).cloned().partition(|note| note.code.is_unseen());
            let found = findings(layer.path(), files, odd, &mut self.inquiry.unseen);
            let not_looked_at = found.not_looked_at + unseen.len();
            self.report(&Findings { not_looked_at, ..found })?;
        }
        Ok(())
    }

    /// Goes on after an argument that could not be opened.
    fn fail(&mut self, source: &Path, failure: Failure) {
        self.has_failed = true;
        self.inquiry.fail(source, failure);
    }

    /// Reports what was found in an archive, or in the loose files of a folder.
    fn report(&mut self, findings: &Findings) -> Result<(), OutputError> {
        // An archive without a selected file was not named.
        if findings.files == 0 && self.selected.is_limited() {
            return Ok(());
        }
        self.files += findings.files;
        if !findings.bad.is_empty() {
            self.inquiry.set_exit(Exit::No);
        }
        self.inquiry.put(|| findings, |out| findings.write(out, self.is_quiet))?;
        self.inquiry.out.flush()
    }

    /// Checks and reports an archive of a game or of a folder.
    fn report_archive(&mut self, archive: &Path, set: &SourceSet) -> Result<(), OutputError> {
        self.archive_if_readable(archive, set).map_or(Ok(()), |findings| self.report(&findings))
    }

    /// What was found in an archive of a game or of a folder; `None` if it cannot be opened.
    fn archive_if_readable(&mut self, archive: &Path, set: &SourceSet) -> Option<Findings> {
        let opened = self.archive(archive, set);
        opened.map_err(|error| self.inquiry.unseen.add([&unreadable(archive, &error)])).ok()
    }

    fn archive(&mut self, archive: &Path, set: &SourceSet) -> Result<Findings, OpenError> {
        let vfs = Vfs::from(set.only(archive).open()?);
        let structure = structure(archive, &set.options)?;
        // What the parser noted comes first.
        let parsed = vfs.opened().archives().flat_map(|description| description.notes.clone());
        let notes: Vec<Note> = parsed.chain(structure).collect();
        self.inquiry.unseen.add(&notes);
        let files = self.selected.files_among(&vfs);
        Ok(findings(archive, files, notes, &mut self.inquiry.unseen))
    }
}

/// Checks files of one archive or folder, whose structure was judged.
fn findings(source: &Path, mut files: Vec<VfsFile>, mut notes: Vec<Note>, unseen: &mut Unseen) -> Findings {
    // In stored order, so that the disk is read sequentially.
    files.sort_unstable_by_key(VfsFile::entry);
    let total = || files.iter().map(VfsFile::disk_size).sum();
    let advance = progress::bytes("verifying", files.len(), total);
    let once = OncePerFile::default();
    let shared = SharedBytes::among(&files);
    let checked = in_parallel(files.len(), &|| {}, |index| {
        let file = &files[index];
        let checked = once.of(shared.key(file), || CheckedBytes::of(file));
        advance(file.disk_size());
        checked
    });
    let archive = source.to_string_lossy().into_owned();
    let is_damaged = notes.iter().any(|note| note.code.is_damage());
    let mut found = Findings { archive, files: files.len(), is_damaged, ..Findings::default() };
    let mut of_files = Notes::new(NOTES_MAX);
    for (file, checked) in files.iter().zip(checked) {
        let path = file.path();
        let checked = match checked {
            Err(kind) if kind.is_unseen() => {
                found.not_looked_at += 1;
                unseen.add([&file.not_read(&kind)]);
                continue;
            }
            Err(kind) => {
                found.bad.push(Finding { path, what: kind.to_string() });
                continue;
            }
            Ok(checked) => checked,
        };
        let lost = checked.quirks.iter().find(|quirk| quirk.is_loss()).map(ToString::to_string);
        let cut = || checked.cut_texture.filter(|_| is_texture(file));
        match file.missing_texels().or(lost).or_else(cut) {
            Some(what) => found.bad.push(Finding { path, what }),
            None => {
                found.unchecked += usize::from(checked.unchecked.is_some());
                found.unchecked_lz4_frames += usize::from(checked.unchecked == Some(Codec::Lz4Frame));
                for quirk in checked.quirks {
                    of_files.add(quirk.code(), || Note::new(quirk.code(), &*path, quirk.to_string()));
                }
            }
        }
    }
    notes.extend(of_files.into_vec());
    Findings { notes, ..found }
}

/// What a check of bytes found, for all files that have them.
#[derive(Clone)]
struct CheckedBytes {
    quirks: Vec<Quirk>,
    /// The codec of the first part that no checksum covers.
    unchecked: Option<Codec>,
    /// What a texture of these bytes lacks.
    cut_texture: Option<String>,
}

impl CheckedBytes {
    fn of(file: &VfsFile) -> Result<Self, ReadErrorKind> {
        let Examined { quirks, unchecked, first, len } =
            file.examine().map_err(|error| error.kind().clone())?;
        Ok(Self { quirks, unchecked, cut_texture: cut_texture(&first, len) })
    }
}

/// What a texture file of `len` bytes lacks, by its `first` bytes; `None` if it is whole or no texture.
fn cut_texture(mut first: &[u8], len: u64) -> Option<String> {
    let error = FullPicture::damage(&mut first, len)?;
    error.is_cut_off().then(|| error.to_string())
}

fn is_texture(file: &VfsFile) -> bool {
    is_dds(file.name())
}

/// Whether archives are opened, and are no ordinary files.
fn opens(set: &SourceSet) -> bool {
    set.options.archives != FolderArchives::Files
}

fn identity(file: &Path) -> Option<DiskId> {
    file.metadata().ok().map(|found| DiskId::from(&found))
}

/// Maximum number of notes of one code about the files of an archive.
const NOTES_MAX: usize = 1_000;

impl Findings {
    fn write(&self, out: &mut impl Write, is_quiet: bool) -> std::io::Result<()> {
        for Finding { path, what } in &self.bad {
            writeln!(out, "bad: {}: {}", path.shown(), what.shown())?;
        }
        if is_quiet {
            return Ok(());
        }
        for note in &self.notes {
            writeln!(out, "odd: {}: {}", note.subject.shown(), note.to_string().shown())?;
        }
        let hides_files = self.notes.iter().any(|note| note.code.hides_files());
        let verdict = match (self.bad.len(), self.not_looked_at) {
            (0, 0) if self.is_damaged => "the archive is damaged".into(),
            (0, 0) if hides_files => "the content is right, but the game does not find all of it".into(),
            (0, 0) => "nothing wrong found".into(),
            (0, unseen) if hides_files => {
                format!("{unseen} not looked at, and the game does not find all of the rest")
            }
            (bad, 0) => format!("{bad} bad"),
            (0, unseen) => format!("{unseen} not looked at, nothing wrong found in the rest"),
            (bad, unseen) => format!("{bad} bad, {unseen} not looked at"),
        };
        let unchecked = match (self.unchecked, self.unchecked_lz4_frames) {
            (0, _) => String::new(),
            (1, _) => "; 1 has no checksum".into(),
            (unchecked, 0) => format!("; {unchecked} have no checksum"),
            (unchecked, frames) => {
                format!("; {unchecked} have no checksum, {} among them", count(frames, "LZ4 frame"))
            }
        };
        writeln!(out, "{}: {}, {verdict}{unchecked}", self.archive.shown(), count(self.files, "file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::file::tests::names_of_one_extent;

    #[test]
    fn bytes_that_many_names_share_are_checked_once() {
        let names: Vec<String> = (0..50).map(|number| format!("{number}.dds")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (_dir, path, files) = names_of_one_extent(&names, &[1; 1 << 20]);
        let vfs = Vfs::open([&path]).unwrap();
        let files: Vec<VfsFile> = files.iter().filter_map(|file| vfs.file(file.path())).collect();
        let before = vfs.store().bytes_read();
        let found = findings(&path, files, Vec::new(), &mut Unseen::default());
        assert_eq!((found.files, found.bad.len(), found.unchecked), (50, 0, 50));
        let read = vfs.store().bytes_read() - before;
        assert!(read < 3 << 20, "{read} bytes were read");
    }
}
