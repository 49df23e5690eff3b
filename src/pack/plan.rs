//! The plan: which archive gets which file, how it is stored, and what stays loose.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::pack_options::{OddTextures, PackError, PackErrorKind, PackOptions};
use super::pipeline::{self, Made};
use super::planned::{How, Loader, PlannedArchive, PlannedFile, dummy_name, gets_dummy};
use super::source::{BaseName, SourceFile, SourceFiles, Superseded, is_unfindable, why_unfound};
use super::verdict::{LeftOut, LooseReason, Parts, is_known_top, left_out, plugin_of_table};
use crate::content::codec::Level;
use crate::format::hash::{Family, Hash};
use crate::format::write::{
    Collision, NameError, NewArchive, NewEntry, NewKind, NewTexture, PathForm, StoredPath,
};
use crate::game::{Loads, NextName, stem};
use crate::kinds::is_dds;
use crate::note::{Counted, Note, NoteCode};
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::parallel::in_parallel;
use crate::system::text::count;
use crate::texture::dds::Texture;
use crate::texture::file_header::{FileHeader, HEADER_MAX, HeaderError};
use crate::texture::parts::TextureParts;
use crate::vfs::Vfs;

/// What packing a source will do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) options: PackOptions,
    pub(super) archives: Vec<PlannedArchive>,
    loose: Vec<LeftOut>,
    superseded: Vec<Superseded>,
    unselected: usize,
    /// The paths of all files of the sources in lower case, packed or not.
    pub(super) paths: HashSet<String>,
    /// What the names of archives begin with.
    pub(super) base: String,
    /// The folders that the user named, and the identities of archives among the sources.
    pub(super) own_folders: Vec<PathBuf>,
    pub(super) own_archives: Vec<DiskId>,
    /// Archives among the sources with files that are not packed because the user left them out: the archive,
    /// and the number of those files.
    pub(super) partly_packed: Vec<(DiskId, usize)>,
    /// Archives among the sources with copies whose bytes no new archive has: the archive, the number of
    /// those copies, and the path of one that another source wins.
    pub(super) lost_with: Vec<(DiskId, usize, Option<String>)>,
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
        let sources = SourceFiles::find(vfs, options)?;
        let base = BaseName::find(&sources.at_top, options)?;
        let SourceFiles {
            files,
            loose,
            superseded,
            unselected,
            unselected_of,
            total,
            paths,
            plugins,
            notes,
            ..
        } = sources;
        let mut planner = Planner { loose, notes, left_in: unselected_of, ..Planner::new(options, &base) };
        planner.layers = vfs.layers().len();
        planner.sort(files)?;
        if planner.groups.values().all(Vec::is_empty) {
            let lines: Vec<String> = planner.loose.iter().map(LeftOut::line).collect();
            let what = match lines.len() {
                0 => "the source has no file that can be packed; nothing was written",
                _ => "the source has no file that can be packed; nothing was written. These stay loose:",
            };
            return Err(PackError::list(PackErrorKind::Source, what, &lines));
        }
        let is_archive = |layer: usize| u16::try_from(layer).is_ok_and(|layer| !vfs.store().is_folder(layer));
        let superseded = planner.stay_with_winners(superseded, is_archive);
        let Planner { groups, mut loose, mut notes, left_in, .. } = planner;
        let options = PackOptions { plugins_there: plugins, ..options.clone() };
        let mut archives = Vec::new();
        for (group, files) in groups {
            let parts = split(group.kind(&options), files, &options)?;
            for (nth, files) in parts.into_iter().enumerate() {
                archives.push(archive(&group, nth, files, &base, &options)?);
            }
        }
        if options.file_name.is_some() && archives.len() > 1 {
            let line =
                |it: &PlannedArchive| format!("{} with {}", it.kind.words(), count(it.files.len(), "file"));
            let lines: Vec<String> = archives.iter().map(line).collect();
            let what = "-o names one archive, but the files need several; give a folder with -o, and what \
                        their names begin with by --name:";
            return Err(PackError::list(PackErrorKind::Option, what, &lines));
        }
        loose.sort_by(|a, b| a.path.cmp(&b.path));
        add_merge_notes(&superseded, &options, &mut notes);
        add_hash_notes(&archives, &mut notes);
        add_loader_notes(&archives, &options, &mut notes);
        let store = vfs.store();
        let left_in = store.identities().into_iter().zip(left_in).enumerate();
        let partly_packed =
            left_in.filter(|(layer, (_, left))| *left > 0 && is_archive(*layer)).map(|it| it.1).collect();
        let layers = || vfs.layers().filter(|layer| layer.why().is_empty());
        let own_folders = layers().filter(|it| it.is_folder()).map(|it| real_path(it.path())).collect();
        let identities = store.identities();
        let own_archives = layers().filter(|it| !it.is_folder()).map(|it| identities[it.number()]).collect();
        let base = base.name;
        let sizes: Vec<usize> = vfs.opened().names.iter().map(|names| names.file_count()).collect();
        let kept = kept(&archives, &superseded, sizes.len());
        let lost = sizes.iter().zip(kept).enumerate().filter(|(layer, _)| is_archive(*layer));
        let lost = lost.map(|(layer, (size, kept))| (layer, size.saturating_sub(kept)));
        let lost_with = lost.filter(|(_, lost)| *lost > 0).map(|(layer, lost)| {
            let example = superseded.iter().find(|it| it.layer == layer && !it.is_kept());
            (identities[layer], lost, example.map(|it| it.path.clone()))
        });
        let lost_with = lost_with.collect();
        let plan = Self {
            options,
            archives,
            loose,
            superseded,
            unselected,
            paths,
            base,
            own_folders,
            own_archives,
            partly_packed,
            lost_with,
            notes,
        };
        plan.account(total)?;
        Ok(plan)
    }

    /// Fails unless each copy of a file in the sources is packed, listed as loose, superseded by another one,
    /// or not selected. It cannot fail unless the plan has a fault. Then nothing may be written.
    fn account(&self, total: usize) -> Result<(), PackError> {
        let accounted = self.totals().0 + self.loose.len() + self.superseded.len() + self.unselected;
        if accounted == total {
            return Ok(());
        }
        let what = format!(
            "the sources have {total} files, but the plan has {accounted}, so nothing was written; this is a \
             fault of bsafs"
        );
        Err(PackError::new(PackErrorKind::Differs, what))
    }

    /// The archives that will be written.
    pub fn archives(&self) -> &[PlannedArchive] {
        &self.archives
    }

    /// What stays loose, ordered by path.
    pub fn loose(&self) -> &[LeftOut] {
        &self.loose
    }

    /// Copies that are not packed, because another source has a file of their path.
    pub fn superseded(&self) -> &[Superseded] {
        &self.superseded
    }

    /// How many files the caller's patterns or list do not select.
    pub fn unselected(&self) -> usize {
        self.unselected
    }

    /// How many textures get a header of other bytes and of the same meaning. Archives of textures keep none.
    pub fn rebuilt_headers(&self) -> usize {
        let parts = self.archives.iter().flat_map(|it| &it.files).filter_map(|file| file.parts.as_ref());
        parts.filter(|parts| parts.rebuilds_header).count()
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
        self.options.packing.weighs_dates
    }

    /// Whether an archive is a source and the user left out none of its files.
    pub(super) fn is_packed_whole(&self, archive: &DiskId) -> bool {
        self.own_archives.contains(archive) && !self.partly_packed.iter().any(|(part, _)| part == archive)
    }

    /// How many files are packed, and their size in bytes.
    pub fn totals(&self) -> (usize, u64) {
        let files = || self.archives.iter().flat_map(|archive| &archive.files);
        (files().count(), files().map(|file| file.size).sum())
    }
}

/// How many copies of each layer are in new archives with their bytes.
fn kept(archives: &[PlannedArchive], superseded: &[Superseded], layers: usize) -> Vec<usize> {
    let mut kept = vec![0; layers];
    let packed = archives.iter().flat_map(|it| &it.files).map(|file| usize::from(file.file.entry().layer));
    let equal = superseded.iter().filter(|it| it.is_kept()).map(|it| it.layer);
    packed.chain(equal).for_each(|layer| kept[layer] += 1);
    kept
}

/// A path without links, or as it is if it cannot be resolved.
pub(super) fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Which archive a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Main,
    Textures,
    /// The archive of another plugin, by its name in lower case: tables that only this plugin finds.
    Tables(String),
}

impl Group {
    fn kind(&self, options: &PackOptions) -> NewKind {
        match (self, options.packing.textures) {
            (Self::Textures, Some(kind)) => kind,
            _ => options.packing.main,
        }
    }

    fn ending(&self, options: &PackOptions) -> &'static str {
        let [main, textures] = options.game.archive_endings();
        if *self == Self::Textures { textures } else { main }
    }
}

/// Sorts the files of a source into groups.
struct Planner<'o> {
    options: &'o PackOptions,
    base: &'o BaseName,
    /// Whether textures go to the archive of all other files.
    is_one_archive: bool,
    /// Number of layers of the sources.
    layers: usize,
    /// How many files of each layer the user left out.
    left_in: Vec<usize>,
    groups: BTreeMap<Group, Vec<PlannedFile>>,
    loose: Vec<LeftOut>,
    notes: Vec<Note>,
    /// Tables of other plugins in the archive that the user named.
    tables: Vec<String>,
    /// Files by what is wrong with them, so that nothing can be packed.
    wrong: BTreeMap<&'static str, Vec<String>>,
}

impl<'o> Planner<'o> {
    fn new(options: &'o PackOptions, base: &'o BaseName) -> Self {
        let groups = BTreeMap::from([(Group::Main, Vec::new()), (Group::Textures, Vec::new())]);
        let is_one_archive =
            options.file_name.is_some() && matches!(options.packing.textures, None | Some(NewKind::Tes4(_)));
        let (loose, notes, tables, wrong) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self {
            options,
            base,
            is_one_archive,
            layers: 1,
            left_in: Vec::new(),
            groups,
            loose,
            notes,
            tables,
            wrong,
        }
    }

    fn sort(&mut self, files: Vec<SourceFile>) -> Result<(), PackError> {
        let options = self.options;
        let textures = options.packing.textures;
        // A texture of a BA2 stays in the kind of archive in which a game read it.
        let is_split = |file: &SourceFile, parts: &Parts| match &file.archived {
            _ if !matches!(textures, Some(NewKind::Textures(_))) => false,
            Some(name) if name.family == Family::Fo4 => file.file.is_record_of_texture(),
            _ => parts.is_texture(NewKind::Textures(1)),
        };
        let reasons: Vec<Option<LooseReason>> = files.iter().map(|file| self.reason(file)).collect();
        let headers = in_parallel(files.len(), &|| {}, |index| {
            let file = &files[index];
            let is_split = is_split(file, &Parts::of(&file.path));
            if reasons[index].is_none() { TextureHead::of(file, is_split) } else { TextureHead::default() }
        });
        let (mut odd_names, mut unfound) = (Counted::default(), Counted::default());
        let (mut remarks, mut others, mut tops) =
            (Counted::default(), Counted::default(), Counted::default());
        for ((file, TextureHead { parts: texture, other }), reason) in
            files.into_iter().zip(headers).zip(reasons)
        {
            let parts = Parts::of(&file.path);
            let path = String::from_utf8_lossy(&file.path).into_owned();
            if let Some(reason) = reason {
                self.left_in[usize::from(file.file.entry().layer)] += 1;
                let below = parts.sign().filter(|_| reason == LooseReason::FurtherDown);
                let folder = below.map(|it| path.split('/').take(it).collect::<Vec<_>>().join("/"));
                let detail = folder.map_or_else(String::new, |it| format!("pack {}", it.shown()));
                self.loose.push(LeftOut { path, reason, detail });
                continue;
            }
            let group = match textures {
                // Always the main group, but tables of other plugins are named or refused.
                _ if self.is_one_archive => self.group_of_table(&path, &file),
                Some(NewKind::Textures(_)) => self.group_of_table(&path, &file),
                Some(kind) if parts.is_texture(kind) => Group::Textures,
                _ => self.group_of_table(&path, &file),
            };
            let (group, texture) = match texture {
                Some(Ok(texture)) => (Group::Textures, Some(texture)),
                Some(Err(why)) => match options.odd_textures {
                    OddTextures::General => (Group::Main, None),
                    OddTextures::Loose if file.archived.is_some() => {
                        self.wrong(LOST_TEXTURES, format!("{}: {why}", path.shown()));
                        continue;
                    }
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
            if file.archived.is_none() && is_unfindable(&file.file) {
                self.wrong(NO_NAMES, path.shown().to_string());
                continue;
            }
            let form = kind.path_form();
            let stored = match &file.archived {
                Some(it) => StoredPath::kept((&it.folder, &it.file), it.family, it.hash, form),
                None => StoredPath::new(&file.path, form, options.encoding),
            };
            let stored = match stored {
                Ok(stored) => stored,
                Err(error @ (NameError::NoStem | NameError::Ending)) => {
                    let is_of_desktop = file.archived.is_none() && parts.is_of_desktop();
                    let reason = if is_of_desktop { LooseReason::NotGame } else { LooseReason::Name };
                    self.loose.push(LeftOut { path, reason, detail: error.words().to_owned() });
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
                Err(error @ (NameError::Separator | NameError::Nul)) => {
                    self.wrong(BROKEN_NAMES, format!("{}: {}", path.shown(), error.words()));
                    continue;
                }
            };
            if let Some(why) = self.why_unfound(&file) {
                if !options.any_path {
                    self.wrong(UNFOUND, format!("{}: {why}", path.shown()));
                    continue;
                }
                unfound.add((), 1, || path.clone());
            }
            if !stored.bytes().is_ascii() {
                odd_names.add((), 1, || path.clone());
            }
            let top = parts.top();
            if !top.is_empty() && !is_known_top(top) && file.archived.is_none() {
                tops.add(top.to_owned(), 1, || path.clone());
            }
            for remark in texture.iter().flat_map(|texture| &texture.remarks) {
                remarks.add(*remark, 1, || path.clone());
            }
            if let Some(other) = other {
                others.add(other, 1, || path.clone());
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
                || options.store.as_ref().is_some_and(|store| store.selects(&path));
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
        self.notes.extend(odd_names.notes(|(), _| {
            let text = format!(
                "names with letters outside of ASCII are stored in {}; some tools hash them otherwise and do \
                 not find such files",
                options.encoding.name()
            );
            Note::new(NoteCode::PackName, source, text)
        }));
        if let Some(first) = self.tables.first().cloned() {
            let text = "tables of texts or lists of quests that another plugin finds only in its own archive";
            self.notes.push(Note::new(NoteCode::PackTable, source, text).of(self.tables.len(), first));
        }
        let is_table = |group: &&Group| matches!(group, Group::Tables(_));
        let plugins = self.groups.keys().filter(is_table).count();
        let kept = self.groups.iter().filter(|(group, _)| is_table(group)).flat_map(|(_, files)| files);
        let kept: Vec<&PlannedFile> = kept.collect();
        if let Some(first) = kept.first() {
            let text = format!(
                "tables of texts or lists of quests are kept in archives of their own, named after their \
                 {}, because a game finds them only there, or loose; keep these plugins beside the \
                 archives. For fewer archives, leave the tables out with --exclude 'strings/**' --exclude \
                 'seq/**', and let `bsafs extract` write them loose",
                count(plugins, "plugin")
            );
            self.notes.push(Note::new(NoteCode::PackTable, source, text).of(kept.len(), &*first.path));
        }
        self.notes.extend(unfound.notes(|(), _| {
            let text = "packed as they are, because of --any-path; no game looks for such paths";
            Note::new(NoteCode::PackPath, source, text)
        }));
        self.notes.extend(tops.notes(|top, _| {
            let text = "packed, although no game is known to read this folder";
            Note::new(NoteCode::PackFolder, top, text)
        }));
        let remarks = remarks.notes(|it, _| Note::new(NoteCode::PackTexture, source, it.words()));
        self.notes.extend(remarks);
        self.notes.extend(others.notes(|other: &str, _| {
            let text =
                format!("packed, although it is {other}, which the game does not show; convert it to DDS");
            Note::new(NoteCode::PackNotTexture, source, text)
        }));
        Ok(())
    }

    /// Lists the loose copies of paths that stay loose: no source was preferred to another. Returns the other
    /// copies.
    fn stay_with_winners(
        &mut self,
        superseded: Vec<Superseded>,
        is_archive: impl Fn(usize) -> bool,
    ) -> Vec<Superseded> {
        // These are not decided for a path, but for one source.
        let is_of_path =
            |left: &&LeftOut| !matches!(left.reason, LooseReason::Erased | LooseReason::BesideData);
        let reasons = self.loose.iter().filter(is_of_path).map(|left| (left.path.clone(), left.reason));
        let reasons: HashMap<String, LooseReason> = reasons.collect();
        let mut others = Vec::new();
        for mut copy in superseded {
            match reasons.get(&copy.path) {
                Some(&reason) if !is_archive(copy.layer) => {
                    let detail = format!("of {}", copy.source.shown());
                    self.loose.push(LeftOut { path: copy.own_path, reason, detail });
                }
                found => {
                    self.left_in[copy.layer] += usize::from(found == Some(&LooseReason::Excluded));
                    copy.is_of_packed = found.is_none();
                    others.push(copy);
                }
            }
        }
        others
    }

    /// Why a file stays loose. What an archive has was read there by a game, so that the rules for loose
    /// files do not count for it.
    fn reason(&self, file: &SourceFile) -> Option<LooseReason> {
        let options = self.options;
        let path = String::from_utf8_lossy(&file.path);
        if options.exclude.as_ref().is_some_and(|exclude| exclude.selects(&path)) {
            return Some(LooseReason::Excluded);
        }
        if file.archived.is_some() {
            return None;
        }
        let reason = left_out(&Parts::of(&file.path), options);
        let is_foreign = || match self.other_plugin(&path) {
            Some(plugin) => self.base.plugin(plugin).is_none() && !options.all,
            None => false,
        };
        reason.or_else(|| is_foreign().then_some(LooseReason::OtherPlugin))
    }

    /// The plugin of a table that does not belong to the plugin after which archives are called.
    fn other_plugin<'p>(&self, path: &'p str) -> Option<&'p str> {
        let plugin = plugin_of_table(path).filter(|_| self.options.has_tables())?;
        let own = &self.base.name;
        // A name with `_` may be followed by any language.
        let is_own = plugin.eq_ignore_ascii_case(own)
            || path.split_once('/').is_some_and(|(_, name)| {
                let start = name.get(..own.len() + 1).unwrap_or_default();
                start.eq_ignore_ascii_case(&format!("{own}_"))
            });
        (!is_own).then_some(plugin)
    }

    /// The group of a file that is no texture: a table goes to the archive of its plugin, because no other
    /// plugin finds it.
    fn group_of_table(&mut self, path: &str, file: &SourceFile) -> Group {
        let Some(plugin) = self.other_plugin(path) else { return Group::Main };
        match (&self.options.file_name, &file.archived) {
            // The user names the only archive, and may call it as he needs it.
            (Some(_), Some(_)) if self.layers == 1 => {
                self.tables.push(path.to_owned());
                Group::Main
            }
            (Some(_), _) => {
                self.wrong(OTHER_TABLES, path.shown().to_string());
                Group::Main
            }
            (None, _) => Group::Tables(plugin.to_lowercase()),
        }
    }

    /// Why no game finds a file.
    fn why_unfound(&self, file: &SourceFile) -> Option<&'static str> {
        match &file.archived {
            Some(name) => why_unfound(&name.folder, &name.file),
            // Of a loose file, the path is the one below the data folder.
            None if file.has_backslash() => Some("its name has a backslash, which separates folders"),
            None => why_unfound(b"", &file.path),
        }
    }

    fn wrong(&mut self, what: &'static str, line: String) {
        self.wrong.entry(what).or_default().push(line);
    }
}

const ODD_TEXTURES: &str = "textures that an archive of textures cannot store; --odd-textures=general packs \
                            them as files, --odd-textures=loose leaves them loose:";
const LOST_TEXTURES: &str = "textures of an archive that an archive of textures cannot store. Outside of \
                             their archive, they would be lost; --odd-textures=general packs them as files:";
const BROKEN_NAMES: &str = "names that games take for others; rename the files:";
const UNFOUND: &str = "paths at which no game finds a file; --any-path packs them as they are:";
const OTHER_TABLES: &str = "tables of texts or lists of quests of other plugins, which find them only in \
                            their own archives; name a folder with -o, and --name:";
const NO_NAMES: &str = "names that no game can find, because they have a control character or one of \
                        \\ : * ? \" < > |; rename the files:";
const BAD_NAMES: &str = "names with characters that the code page of the archive lacks; rename the files, or \
                         choose another code page with --encoding:";
const LONG_NAMES: &str = "paths that are too long for the game:";
const LARGE: &str = "files that are too large for this kind of archive:";

/// What the first bytes of a file that is named as a texture show.
#[derive(Default)]
struct TextureHead {
    /// The parts of a texture that is cut, or why it has none.
    parts: Option<Result<TextureParts, String>>,
    /// What the file is, if it is no texture.
    other: Option<&'static str>,
}

impl TextureHead {
    fn of(file: &SourceFile, is_split: bool) -> Self {
        if !is_dds(&file.path) {
            return Self::default();
        }
        let head = match first_bytes(file) {
            Ok(head) => head,
            Err(error) => return Self { parts: is_split.then_some(Err(error)), other: None },
        };
        let other = match FileHeader::parse(&head, file.size) {
            Err(HeaderError::Other(kind)) => Some(kind),
            _ => None,
        };
        Self { parts: is_split.then(|| texture_parts(&head, file)), other }
    }
}

fn first_bytes(file: &SourceFile) -> Result<Vec<u8>, String> {
    let mut head = vec![0; HEADER_MAX];
    let mut len = 0;
    while len < head.len() {
        match file.file.read_at(len as u64, &mut head[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) => return Err(error.to_string()),
        }
    }
    head.truncate(len);
    Ok(head)
}

/// The parts of a texture with these first bytes, or why it has none.
fn texture_parts(head: &[u8], file: &SourceFile) -> Result<TextureParts, String> {
    let mut parts = TextureParts::of(head, file.size).map_err(|why| why.to_string())?;
    if file.archived.is_some() && file.file.is_record_of_texture() {
        // What is shown is made of the record, so that it comes back byte for byte.
        let shown = head.get(..usize::try_from(parts.header_len).unwrap_or(usize::MAX)).unwrap_or_default();
        let forms = [parts.texture.mips, 0].map(|mips| Texture { mips, ..parts.texture });
        let same = forms.into_iter().find(|it| it.header() == shown && parts.tail == 0);
        parts.texture = same.ok_or("its record would become another one")?;
        parts.rebuilds_header = false;
    }
    Ok(parts)
}

/// The name of the plugin of tables in the spelling of its file, of the archive that had them, or of a path.
/// Another spelling would give the archive a twin that differs only in case.
fn spelled_plugin(plugin: &str, files: &[PlannedFile], base: &BaseName, options: &PackOptions) -> String {
    let there = options.plugins_there.get(plugin).map(String::as_str);
    if let Some(spelled) = base.plugin(plugin).map(stem).or(there) {
        return spelled.to_owned();
    }
    let start = |file: &PlannedFile| {
        let layer = file.file.layer();
        Some(layer.path().file_name()?.to_str()?.get(..plugin.len())?.to_owned())
    };
    let of_archive = files.iter().filter_map(start).find(|start| start.to_lowercase() == plugin);
    let of_path = || files.first().and_then(|file| plugin_of_table(&file.path)).unwrap_or(plugin).to_owned();
    of_archive.unwrap_or_else(of_path)
}

/// Makes an archive of a group's files: the `nth` one, counted from 0.
fn archive(
    group: &Group,
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
            let plugin = match group {
                Group::Tables(plugin) => Some(spelled_plugin(plugin, &files, base, options)),
                Group::Main | Group::Textures => None,
            };
            let (first, number) = (&plugin.unwrap_or_else(|| base.name.clone()), nth + 1);
            let name = match (nth, options.packing.next) {
                (0, _) => first.clone(),
                (_, NextName::Prefix) => format!("{first} - {number}"),
                (_, NextName::Plugin | NextName::Any) => format!("{first} {number}"),
            };
            let by = if options.packing.next == NextName::Prefix { first.clone() } else { name.clone() };
            (format!("{name}{ending}"), by)
        }
    };
    let loader = loader(&by, &name, base, options);
    let is_of_other = matches!(group, Group::Tables(_));
    Ok(PlannedArchive { name, loader, kind, is_of_other, layout, files })
}

fn loader(plugin: &str, archive: &str, base: &BaseName, options: &PackOptions) -> Loader {
    match options.packing.loads {
        Loads::Line(line) => Loader::Line(line.replace("{}", archive)),
        Loads::Plugin => match base.plugin(plugin).or_else(|| {
            (options.packing.next == NextName::Prefix).then(|| base.plugin_before(archive)).flatten()
        }) {
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
        "the game would find only one of these files; rename one of each, for example with one more letter:";
    PackError::list(PackErrorKind::Source, what, &lines)
}

fn add_loader_notes(archives: &[PlannedArchive], options: &PackOptions, notes: &mut Vec<Note>) {
    for archive in archives {
        let Loader::Missing(plugin) = &archive.loader else { continue };
        // Another note says so of all of them.
        if archive.is_of_other {
            continue;
        }
        let endings: Vec<String> =
            options.game.archive_plugins().iter().map(|it| format!("{plugin}.{it}")).collect();
        let endings = endings.join(" or ");
        let is_there = options.plugins_there.contains_key(&plugin.to_lowercase());
        let text = if gets_dummy(archive, options) {
            // An existing plugin stays.
            format!("its plugin is {}, without content, beside it", dummy_name(plugin, options))
        } else if is_there {
            format!("the game loads it only with {endings}; keep that plugin beside it")
        } else {
            let others = match options.packing.next {
                NextName::Prefix => ", or with a plugin whose name is the beginning of this one",
                NextName::Plugin | NextName::Any => "",
            };
            format!(
                "the source has no plugin for it: the game loads it only with {endings}{others}; --dummy \
                 writes one without content"
            )
        };
        notes.push(Note::new(NoteCode::PackLoader, archive.name.clone(), text));
    }
}

/// Notes on paths that several sources have with different bytes.
fn add_merge_notes(superseded: &[Superseded], options: &PackOptions, notes: &mut Vec<Note>) {
    let differ: Vec<&Superseded> = superseded.iter().filter(|it| it.is_of_packed && !it.is_equal).collect();
    let Some(first) = differ.first() else { return };
    let paths: HashSet<&str> = differ.iter().map(|it| it.path.as_str()).collect();
    let copies = superseded.iter().filter(|it| it.path == first.path).count() + 1;
    let text = format!(
        "{} in several sources with different bytes; packed is the one that wins, as `bsafs conflicts` has \
         it. {} is in {copies} sources, of which {} wins; -v lists all",
        if paths.len() == 1 { "1 path is".to_owned() } else { format!("{} paths are", paths.len()) },
        first.path.shown(),
        first.winner.shown()
    );
    let note = Note::new(NoteCode::PackMerged, options.game.id, text);
    notes.push(note.of(paths.len(), first.path.clone()));
}

/// Notes on names in different archives with the same hash: a game may find only one of them.
fn add_hash_notes(archives: &[PlannedArchive], notes: &mut Vec<Note>) {
    let mut known: HashMap<Hash, (&str, &PlannedFile)> = HashMap::new();
    for archive in archives.iter().filter(|it| it.kind.path_form() == PathForm::Ba2) {
        for file in &archive.files {
            if let Some((other, earlier)) = known.insert(file.stored.hash(), (&archive.name, file))
                && !earlier.path.eq_ignore_ascii_case(&file.path)
            {
                let text = format!(
                    "{} has the hash of {} in {}, so the game may find only one of them; rename one",
                    file.path.shown(),
                    earlier.path.shown(),
                    other.shown()
                );
                notes.push(Note::new(NoteCode::PackHash, archive.name.clone(), text));
            }
        }
    }
}

// Splits files among several archives, if one would be too large for the game.

/// The files of each archive. They stay in their order.
///
/// Only if the files could be too large for one archive uncompressed, they are compressed once to learn their
/// sizes, and again when the archives are written. So a plan is the same with and without `--dry-run`, and
/// what compression saves splits nothing. Sharing of equal data is not counted: tools that change an archive
/// may undo it.
pub(super) fn split(
    kind: NewKind,
    files: Vec<PlannedFile>,
    options: &PackOptions,
) -> Result<Vec<Vec<PlannedFile>>, PackError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let max = options.size_max.unwrap_or(options.packing.size_max);
    let tables: Vec<u64> = files.iter().map(|file| table_bytes(kind, file)).collect();
    // What cannot be compressed is stored, except for textures, which grow by at most so much.
    let bounds = files.iter().map(|file| match file.how {
        How::Texture => file.size + file.size / 128 + 1024,
        _ => file.size,
    });
    let bounds: Vec<u64> = bounds.zip(&tables).map(|(bound, table)| bound + table).collect();
    if bounds.iter().sum::<u64>() <= max {
        return Ok(vec![files]);
    }
    // A plugin finds its tables of texts in its own archive, and the first one is.
    let (first, others): (Vec<_>, Vec<_>) =
        files.into_iter().zip(bounds.into_iter().zip(tables)).partition(|it| is_table(&it.0));
    let (files, (bounds, tables)): (Vec<_>, (Vec<_>, Vec<_>)) = first.into_iter().chain(others).unzip();
    let mut sizes: Vec<u64> = bounds;
    if files.iter().any(|file| file.how != How::Stored) {
        measure(kind, &files, options, &tables, &mut sizes)?;
    }
    if let Some(at) = sizes.iter().position(|size| *size > max) {
        let path = files[at].path.shown();
        let what = format!("{path}: it takes {} bytes, but an archive has at most {max}", sizes[at]);
        return Err(PackError::new(PackErrorKind::Source, what));
    }
    let mut archives: Vec<Vec<PlannedFile>> = Vec::new();
    let mut used = u64::MAX;
    for (file, size) in files.into_iter().zip(sizes) {
        if used.saturating_add(size) > max {
            archives.push(Vec::new());
            used = 0;
        }
        used += size;
        archives.last_mut().into_iter().for_each(|archive| archive.push(file.clone()));
    }
    Ok(archives)
}

fn is_table(file: &PlannedFile) -> bool {
    plugin_of_table(&file.path).is_some()
}

/// Number of bytes that a file takes besides its data, at most.
fn table_bytes(kind: NewKind, file: &PlannedFile) -> u64 {
    let texture = file.parts.as_ref().map(|parts| NewTexture {
        dds: parts.texture,
        chunks: parts.chunks.iter().map(|chunk| chunk.mips).collect(),
    });
    NewArchive::table_bytes(kind, &NewEntry { id: 0, path: file.stored.clone(), texture })
}

/// Compresses all files that are not stored, to learn their sizes.
fn measure(
    kind: NewKind,
    files: &[PlannedFile],
    options: &PackOptions,
    tables: &[u64],
    sizes: &mut [u64],
) -> Result<(), PackError> {
    let unsure: Vec<usize> = (0..files.len()).filter(|&at| files[at].how != How::Stored).collect();
    let chosen: Vec<&PlannedFile> = unsure.iter().map(|&at| &files[at]).collect();
    let measured = pipeline::run(&chosen, (kind, options.level, options.threads), |index, made| {
        if let Made::Pieces(pieces) = made {
            let at = unsure[index];
            let packed: u64 = pieces.iter().map(|piece| piece.bytes.len() as u64 + 4).sum();
            sizes[at] = packed + tables[at];
        }
        Ok(())
    });
    measured.map_err(|error| pipeline::with_all_unreadable(error, &chosen))
}
