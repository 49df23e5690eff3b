//! The plan: which archive gets which file, how it is stored, and what stays loose.

use std::collections::BTreeMap;

use super::base_name::BaseName;
use super::error::{PackError, PackErrorKind};
use super::pack_options::{OddTextures, PackOptions};
use super::planned::{How, Loader, PlannedArchive, PlannedFile};
use super::rules::{Loads, Next};
use super::source::{self, SourceFile};
use super::split;
use super::verdict::{KNOWN_TOPS, LeftOut, LooseReason, Parts, left_out};
use crate::content::codec::Level;
use crate::format::write::{Collision, NameError, NewArchive, NewEntry, NewKind, NewTexture, StoredPath};
use crate::game::stem;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::texture::file_header::HEADER_MAX;
use crate::texture::parts::{NoParts, TextureParts};
use crate::vfs::Vfs;
use crate::vfs::parallel::in_parallel;

/// What packing a source will do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) options: PackOptions,
    pub(super) archives: Vec<PlannedArchive>,
    loose: Vec<LeftOut>,
    notes: Vec<Note>,
}

/// Maximum size of a file in a BSA with all that precedes its data, in bytes.
const BSA_FILE_MAX: u64 = (1 << 30) - 1;
/// Maximum size of a file in other archives, in bytes.
const FILE_MAX: u64 = (1 << 32) - 1;
/// Files from this size on are stored, because readers limit what they decode.
const PACKED_FILE_MAX: u64 = 1 << 30;

impl Plan {
    /// Plans what packing a source does. Reads the names and sizes of all files, and the headers of textures.
    ///
    /// # Errors
    /// Files that cannot be packed as they are, or an option that does not fit them.
    pub fn new(vfs: &Vfs, options: &PackOptions) -> Result<Self, PackError> {
        let (files, beside) = source::files(vfs, options)?;
        let base = BaseName::find(&files, options)?;
        let mut planner = Planner::new(options);
        planner.loose = beside;
        planner.sort(files)?;
        if planner.groups.values().all(Vec::is_empty) {
            let what = "the source has no file that can be packed; nothing was written";
            return Err(PackError::new(PackErrorKind::Source, what));
        }
        let Planner { groups, mut loose, mut notes, .. } = planner;
        let mut archives = Vec::new();
        for (group, files) in groups {
            let parts = split::split(group.kind(options), files, options)?;
            let count = parts.len();
            if count > 1 && !options.splits {
                let what = format!(
                    "the files need {count} archives of at most {} bytes; --no-split allows one",
                    options.game.size_max(options)
                );
                return Err(PackError::new(PackErrorKind::Source, what));
            }
            for (nth, files) in parts.into_iter().enumerate() {
                archives.push(archive(group, nth, files, &base, options)?);
            }
        }
        if options.file_name.is_some() && archives.len() > 1 {
            let names: Vec<String> =
                archives.iter().map(|it| format!("{} ({})", it.name, it.kind.words())).collect();
            let what = "-o names one archive, but the files need several; name a folder, and --name:";
            return Err(PackError::list(PackErrorKind::Option, what, &names));
        }
        loose.sort_by(|a, b| a.path.cmp(&b.path));
        add_loader_notes(&archives, options, &mut notes);
        Ok(Self { options: options.clone(), archives, loose, notes })
    }

    /// The archives that will be written.
    pub fn archives(&self) -> &[PlannedArchive] {
        &self.archives
    }

    /// What stays loose, ordered by path.
    pub fn loose(&self) -> &[LeftOut] {
        &self.loose
    }

    /// What is odd about the files and the archives.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The id of the game.
    pub fn game(&self) -> &'static str {
        self.options.game.id
    }

    /// Whether the date of an archive decides against loose files.
    pub(super) fn weighs_dates(&self) -> bool {
        self.options.game.weighs_dates
    }

    /// How many files are packed, and their size in bytes.
    pub fn totals(&self) -> (usize, u64) {
        let files = || self.archives.iter().flat_map(|archive| &archive.files);
        (files().count(), files().map(|file| file.size).sum())
    }
}

/// Which archive a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Main,
    Textures,
}

impl Group {
    fn kind(self, options: &PackOptions) -> NewKind {
        let kind = match (self, options.game.textures) {
            (Self::Textures, Some((kind, _))) => kind,
            _ => options.game.main,
        };
        match (kind, options.version) {
            (NewKind::General(_), Some(version)) => NewKind::General(version),
            (NewKind::Textures(_), Some(version)) => NewKind::Textures(version),
            _ => kind,
        }
    }

    fn ending(self, options: &PackOptions) -> &'static str {
        match (self, options.game.textures) {
            (Self::Textures, Some((_, ending))) => ending,
            _ => options.game.main_ending,
        }
    }
}

/// Sorts the files of a source into groups.
struct Planner<'o> {
    options: &'o PackOptions,
    groups: BTreeMap<Group, Vec<PlannedFile>>,
    loose: Vec<LeftOut>,
    notes: Vec<Note>,
    /// Files by what is wrong with them, so that nothing can be packed.
    wrong: BTreeMap<&'static str, Vec<String>>,
}

impl<'o> Planner<'o> {
    fn new(options: &'o PackOptions) -> Self {
        let groups = BTreeMap::from([(Group::Main, Vec::new()), (Group::Textures, Vec::new())]);
        Self { options, groups, loose: Vec::new(), notes: Vec::new(), wrong: BTreeMap::new() }
    }

    fn sort(&mut self, files: Vec<SourceFile>) -> Result<(), PackError> {
        let options = self.options;
        let textures = options.game.textures.map(|(kind, _)| kind);
        let is_split = |parts: &Parts| {
            matches!(textures, Some(NewKind::Textures(_))) && parts.is_texture(NewKind::Textures(1))
        };
        let headers = in_parallel(files.len(), &|| {}, |index| {
            let file = &files[index];
            let parts = Parts::of(&file.path);
            (is_split(&parts) && left_out(options.game, &parts, options).is_none())
                .then(|| texture_parts(file, options))
        });
        let mut odd_names = (0, String::new());
        let mut remarks: BTreeMap<_, (usize, String)> = BTreeMap::new();
        let mut tops: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for (file, texture) in files.into_iter().zip(headers) {
            let parts = Parts::of(&file.path);
            let path = String::from_utf8_lossy(&file.path).into_owned();
            let is_excluded = options.exclude.as_ref().is_some_and(|exclude| exclude.select(&file.file));
            let reason = if is_excluded {
                Some(LooseReason::Excluded)
            } else {
                left_out(options.game, &parts, options)
            };
            if let Some(reason) = reason {
                self.loose.push(LeftOut { path, reason, detail: String::new() });
                continue;
            }
            let group = match textures {
                Some(kind) if parts.is_texture(kind) => Group::Textures,
                _ => Group::Main,
            };
            let (group, texture) = match texture {
                Some(Ok(texture)) => (Group::Textures, Some(texture)),
                Some(Err(why)) => match options.odd_textures {
                    OddTextures::General => (Group::Main, None),
                    OddTextures::Loose => {
                        self.loose.push(LeftOut { path, reason: LooseReason::Texture, detail: why });
                        continue;
                    }
                    OddTextures::Error => {
                        self.wrong(ODD_TEXTURES, format!("{}: {why}", path.shown()));
                        continue;
                    }
                },
                None => (group, None),
            };
            let kind = group.kind(options);
            let stored = match StoredPath::new(&self.spelled(&file.path), kind.path_form(), options.encoding)
            {
                Ok(stored) => stored,
                Err(error @ (NameError::NoStem | NameError::Ending)) => {
                    self.loose.push(LeftOut { path, reason: error.into(), detail: error.words().to_owned() });
                    continue;
                }
                Err(NameError::Encoding) => {
                    self.wrong(BAD_NAMES, path.shown().to_string());
                    continue;
                }
                Err(error @ NameError::TooLong) => {
                    self.wrong(LONG_NAMES, format!("{}: {}", path.shown(), error.words()));
                    continue;
                }
            };
            if !stored.bytes().is_ascii() {
                odd_names.0 += 1;
                odd_names.1 = if odd_names.1.is_empty() { path.clone() } else { odd_names.1 };
            }
            let top = parts.top();
            if !top.is_empty() && !KNOWN_TOPS.contains(&top) {
                let (count, _) = tops.entry(top.to_owned()).or_insert((0, path.clone()));
                *count += 1;
            }
            for remark in texture.iter().flat_map(|texture| &texture.remarks) {
                let (count, _) = remarks.entry(*remark).or_insert((0, path.clone()));
                *count += 1;
            }
            let is_too_large = match kind {
                // The size word and the embedded path count as well.
                NewKind::Tes4(_) => file.size + stored.bytes().len() as u64 + 5 > BSA_FILE_MAX,
                _ => file.size > FILE_MAX,
            };
            if is_too_large {
                self.wrong(LARGE, format!("{}: {} bytes", path.shown(), file.size));
                continue;
            }
            let is_stored = kind == NewKind::Tes3
                || options.level == Level::None
                || parts.is_stored()
                || file.size == 0
                || file.size >= PACKED_FILE_MAX
                || options.store.as_ref().is_some_and(|store| store.select(&file.file));
            let how = match (&texture, is_stored) {
                (Some(_), _) => How::Texture,
                (None, true) => How::Stored,
                (None, false) => How::Compressed,
            };
            let SourceFile { file, size, .. } = file;
            let planned = PlannedFile { path, size, how, file, stored, parts: texture };
            self.groups.entry(group).or_default().push(planned);
        }
        if let Some((what, lines)) = std::mem::take(&mut self.wrong).into_iter().next() {
            return Err(PackError::list(PackErrorKind::Source, what, &lines));
        }
        let source = options.game.id;
        if odd_names.0 > 0 {
            let text = format!(
                "names with letters outside of ASCII are stored in {}; some tools hash them otherwise and do \
                 not find such files",
                options.encoding.name()
            );
            self.notes.push(Note::new(NoteCode::PackName, source, text).of(odd_names.0, odd_names.1));
        }
        for (top, (count, example)) in tops {
            let text = "packed, although no game is known to read this folder";
            self.notes.push(Note::new(NoteCode::PackFolder, top, text).of(count, example));
        }
        for (remark, (count, example)) in remarks {
            self.notes.push(Note::new(NoteCode::PackTexture, source, remark.words()).of(count, example));
        }
        Ok(())
    }

    /// The path in the spelling in which it is stored.
    fn spelled(&self, path: &[u8]) -> Vec<u8> {
        if self.options.lowers { path.to_ascii_lowercase() } else { path.to_vec() }
    }

    fn wrong(&mut self, what: &'static str, line: String) {
        self.wrong.entry(what).or_default().push(line);
    }
}

const ODD_TEXTURES: &str = "textures that an archive of textures cannot store; --odd-textures=general packs \
                            them as files, --odd-textures=loose leaves them loose:";
const BAD_NAMES: &str = "names with characters that the code page of the archive lacks; rename the files, or \
                         choose another code page with --encoding:";
const LONG_NAMES: &str = "paths that are too long for the game:";
const LARGE: &str = "files that are too large for this kind of archive:";

/// The parts of a texture, or why it has none.
fn texture_parts(file: &SourceFile, options: &PackOptions) -> Result<TextureParts, String> {
    let mut head = vec![0; HEADER_MAX];
    let mut len = 0;
    while len < head.len() {
        match file.file.read_at(len as u64, &mut head[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) => return Err(error.to_string()),
        }
    }
    let parts = TextureParts::of(&head[..len], file.size, options.converts);
    parts.map_err(|why| match why {
        NoParts::Bits24 => format!("{why}; --convert makes them 32 bits"),
        why => why.to_string(),
    })
}

/// Makes an archive of a group's files: the `nth` one, counted from 0.
fn archive(
    group: Group,
    nth: usize,
    files: Vec<PlannedFile>,
    base: &BaseName,
    options: &PackOptions,
) -> Result<PlannedArchive, PackError> {
    let kind = group.kind(options);
    let new = |(id, file): (usize, &PlannedFile)| NewEntry {
        id,
        path: file.stored.clone(),
        texture: file.parts.as_ref().map(|parts| NewTexture {
            dds: parts.texture,
            chunks: parts.chunks.iter().map(|chunk| chunk.mips).collect(),
        }),
    };
    let layout = NewArchive::new(kind, files.iter().enumerate().map(new).collect());
    let layout = layout.map_err(|collisions| collided(&files, &collisions))?;
    let ending = group.ending(options);
    let (name, by) = match &options.file_name {
        Some(name) => {
            let extension = |name: &str| name.rsplit_once('.').map(|(_, it)| it.to_ascii_lowercase());
            if extension(name) != extension(ending) {
                let (name, kind) = (name.shown(), kind.words());
                let what = format!("-o {name}: the archive is a {kind}, so its name ends otherwise");
                return Err(PackError::new(PackErrorKind::Option, what));
            }
            (name.clone(), name.strip_suffix(ending).unwrap_or(stem(name)).to_owned())
        }
        None => {
            let (first, number) = (&base.name, nth + 1);
            let name = match (nth, options.game.next) {
                (0, _) => first.clone(),
                (_, Next::Prefix) => format!("{first} - {number}"),
                (_, Next::Plugin | Next::Any) => format!("{first} {number}"),
            };
            let by = if options.game.next == Next::Prefix { first.clone() } else { name.clone() };
            (format!("{name}{ending}"), by)
        }
    };
    let loader = loader(&by, &name, base, options);
    Ok(PlannedArchive { name, loader, kind, layout, files })
}

fn loader(plugin: &str, archive: &str, base: &BaseName, options: &PackOptions) -> Loader {
    match options.game.loads {
        Loads::Line(line) => Loader::Line(line.replace("{}", archive)),
        Loads::Plugin => match base.plugin(plugin) {
            Some(plugin) => Loader::Plugin(plugin.to_owned()),
            None => Loader::Missing(plugin.to_owned()),
        },
    }
}

/// The error about files that cannot be in one archive.
fn collided(files: &[PlannedFile], collisions: &[Collision]) -> PackError {
    let path = |id: &usize| files.get(*id).map_or(String::new(), |file| file.path.shown().to_string());
    let lines: Vec<String> = collisions
        .iter()
        .map(|collision| match collision {
            Collision::Path(a, b) => format!("{} and {} have one path", path(a), path(b)),
            Collision::Hash(a, b) => format!("{} and {} have one hash", path(a), path(b)),
        })
        .collect();
    let what =
        "files of which the game would find only one; rename one of each, for example with one more letter:";
    PackError::list(PackErrorKind::Source, what, &lines)
}

fn add_loader_notes(archives: &[PlannedArchive], options: &PackOptions, notes: &mut Vec<Note>) {
    for archive in archives {
        let Loader::Missing(plugin) = &archive.loader else { continue };
        let endings: Vec<String> = options.game.plugins.iter().map(|it| format!("{plugin}.{it}")).collect();
        let endings = endings.join(" or ");
        let text = if options.dummies && options.game.dummy.is_some() {
            // An existing plugin stays.
            format!("its plugin is {}, without content, beside it", super::dummy::name(plugin, options))
        } else {
            format!(
                "the source has no plugin for it: the game loads it only with {endings}; --dummy writes one \
                 without content"
            )
        };
        notes.push(Note::new(NoteCode::PackLoader, archive.name.clone(), text));
    }
}
