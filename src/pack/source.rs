//! The files of a source: each copy in a layer gets one fate, so that none is left out silently.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::pack_options::{PackError, PackErrorKind, PackOptions, PathList};
use super::verdict::{DEPTH_MAX, LeftOut, LooseReason, Parts, is_game_folder, is_known_top, is_tool_top};
use crate::answers::comparison::{Compared, Digests, compare};
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash};
use crate::format::is_archive_name;
use crate::game::{Loads, stem};
use crate::kinds::{self, What, is_plugin};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::parallel::in_parallel;
use crate::system::text::count;
use crate::tree::LayerNames;
use crate::vfs::opened_archive::{StoredEntry, stored_entries};
use crate::vfs::patterns::{DATA, below_data};
use crate::vfs::{Patterns, Vfs, VfsFile, VfsLayer};

/// A file that wins, and that the user selected.
pub(super) struct SourceFile {
    pub(super) file: VfsFile,
    /// The path below the data folder, with `/` between names.
    pub(super) path: Vec<u8>,
    pub(super) size: u64,
    /// What its archive stores of its name; `None` for a loose file.
    pub(super) archived: Option<ArchivedName>,
}

impl SourceFile {
    /// Whether a name on the disk has a backslash. It is listed as `%5C`.
    pub(super) fn has_backslash(&self) -> bool {
        self.archived.is_none() && self.file.stored_name().contains(&b'\\')
    }
}

/// A name as an archive stores it.
pub(super) struct ArchivedName {
    pub(super) family: Family,
    /// The stored hash, if the archive lacks the name.
    pub(super) hash: Option<Hash>,
    pub(super) folder: Vec<u8>,
    pub(super) file: Vec<u8>,
}

/// A copy that is not packed, because a later source has a file of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Superseded {
    /// The path.
    pub path: String,
    /// The path in the spelling of this copy.
    pub(super) own_path: String,
    /// The source whose file has the path.
    pub winner: String,
    /// The source of this copy.
    pub source: String,
    /// Whether both have the same bytes.
    pub is_equal: bool,
    /// The number of the layer of this copy.
    pub(super) layer: usize,
    /// Whether the winner is packed. The plan decides it.
    pub(super) is_of_packed: bool,
}

impl Superseded {
    /// Whether a new archive has its bytes at its path.
    pub(super) fn is_kept(&self) -> bool {
        self.is_equal && self.is_of_packed
    }
}

/// All files of the sources.
pub(super) struct SourceFiles {
    /// Ordered by path without regard to case.
    pub(super) files: Vec<SourceFile>,
    /// What lies beside the data folder, or was deleted in a folder of `mount --edit`.
    pub(super) loose: Vec<LeftOut>,
    pub(super) superseded: Vec<Superseded>,
    /// Number of files that the patterns or the list of the user do not select.
    pub(super) unselected: usize,
    /// How many of them each layer has.
    pub(super) unselected_of: Vec<usize>,
    /// Number of copies in all layers.
    pub(super) total: usize,
    /// The paths of all files in lower case, whether or not they are selected.
    pub(super) paths: HashSet<String>,
    /// The names of files at the top, whether or not they are selected.
    pub(super) at_top: Vec<String>,
    /// The stems of plugins in the sources or beside their archives, by those in lower case.
    pub(super) plugins: BTreeMap<String, String>,
    pub(super) notes: Vec<Note>,
}

/// A copy of a file, which may win.
struct Copy {
    file: VfsFile,
    path: Vec<u8>,
    /// Its place among the copies of its file in the tree; 0 for the one that is shown.
    place: usize,
}

impl Copy {
    /// The path as the source spells it.
    fn spelled(&self) -> Vec<u8> {
        let mut stored = self.file.stored_name();
        let own = stored.split_off(stored.len().saturating_sub(self.path.len()));
        if own.eq_ignore_ascii_case(&self.path) { own } else { self.path.clone() }
    }
}

impl SourceFiles {
    pub(super) fn find(vfs: &Vfs, options: &PackOptions) -> Result<Self, PackError> {
        let odd = refuse_oddities(vfs, options)?;
        let layers: Vec<VfsLayer> = vfs.layers().collect();
        let names = &vfs.opened().names;
        let total = names.iter().map(|names| names.file_count()).sum::<usize>() + odd.total();
        let mut data = Vec::with_capacity(layers.len());
        for (layer, names) in layers.iter().zip(names) {
            // The folders of a game are data folders.
            let is_named = layer.is_folder() && layer.why().is_empty();
            data.push(if is_named { data_folder(layer.path(), names, options)? } else { None });
        }
        let (mut copies, mut loose) = (Vec::with_capacity(total), odd.excluded);
        let mut is_listed: Vec<Vec<bool>> = names.iter().map(|it| vec![false; it.file_count()]).collect();
        for file in vfs.files() {
            let all = std::iter::once(file.clone()).chain(file.hidden().collect::<Vec<_>>());
            for (place, file) in all.enumerate() {
                let entry = file.entry();
                let layer = usize::from(entry.layer);
                is_listed[layer][entry.entry as usize] = true;
                let mut path = if place == 0 { stored_path(&file) } else { file.path_bytes() };
                if let Some(data) = &data[layer] {
                    let is_below = path.starts_with(data) && path.get(data.len()) == Some(&b'/');
                    if !is_below {
                        loose.push(LeftOut::new(file.path(), LooseReason::BesideData));
                        continue;
                    }
                    path.drain(..=data.len());
                }
                copies.push(Copy { file, path, place });
            }
        }
        // What is in a layer and not in the tree.
        for (names, is_listed) in names.iter().zip(&is_listed) {
            for (entry, _) in (0_u32..).zip(is_listed).filter(|(_, is_listed)| !**is_listed) {
                let path = String::from_utf8_lossy(&names.listed_path(entry)).into_owned();
                loose.push(LeftOut::new(path, LooseReason::Erased));
            }
        }
        let (winners, mut superseded) = decide(copies);
        let text = |copy: &Copy| String::from_utf8_lossy(&copy.path).into_owned();
        let at_top = winners.iter().map(text).filter(|path| !path.contains('/')).collect();
        let plugins = plugins(&winners, &layers);
        let paths: Vec<String> = winners.iter().map(text).collect();
        let mut notes = Vec::new();
        let listed = options.listed.as_ref().map(|list| list.select(&paths)).transpose()?;
        let odd_paths: Vec<String> = loose.iter().map(|left| left.path.clone()).collect();
        refuse_unmatched(&paths, &odd_paths, options, &mut notes)?;
        let is_selected = |at: usize| {
            options.only.selects(&paths[at]) && listed.as_ref().is_none_or(|listed| listed.contains(&at))
        };
        let mut selected = Vec::new();
        let mut unselected_of = vec![0; layers.len()];
        let mut left: HashSet<&str> = HashSet::new();
        for (at, copy) in winners.into_iter().enumerate() {
            if is_selected(at) {
                selected.push(copy);
            } else {
                unselected_of[usize::from(copy.file.entry().layer)] += 1;
                left.insert(&paths[at]);
            }
        }
        // No copy of a path that is not selected is packed, so that none was decided.
        superseded.retain(|copy| {
            let is_left = left.contains(&*copy.path);
            unselected_of[copy.layer] += usize::from(is_left);
            !is_left
        });
        let unselected = unselected_of.iter().sum::<usize>() + odd.unselected;
        for (number, layer) in layers.iter().enumerate() {
            let is_excluded = |path: &[u8]| {
                let path = String::from_utf8_lossy(path);
                options.exclude.as_ref().is_some_and(|exclude| exclude.selects(&path))
            };
            if layer.is_folder() && layer.why().is_empty() {
                let own = selected.iter().filter(|copy| usize::from(copy.file.entry().layer) == number);
                let own = own.map(|copy| &*copy.path).filter(|path| !is_excluded(path));
                let own: Vec<&[u8]> = own.collect();
                refuse_unpacked(layer.path(), data[number].as_deref(), &own, options)?;
            }
        }
        let files = with_names(vfs, &layers, selected)?;
        let paths = paths.into_iter().map(|path| path.to_ascii_lowercase()).collect();
        Ok(Self { files, loose, superseded, unselected, unselected_of, total, paths, at_top, plugins, notes })
    }
}

/// Decides which copy of each path is packed. In one tree, the rule of the sources has decided already. Below
/// a folder Data, the last source wins.
fn decide(copies: Vec<Copy>) -> (Vec<Copy>, Vec<Superseded>) {
    let mut groups: BTreeMap<Vec<u8>, Vec<Copy>> = BTreeMap::new();
    for copy in copies {
        groups.entry(copy.path.to_ascii_lowercase()).or_default().push(copy);
    }
    let mut groups: Vec<Vec<Copy>> = groups.into_values().collect();
    for group in &mut groups {
        let node = group.first().map(|copy| copy.file.node());
        if group.iter().all(|copy| Some(copy.file.node()) == node) {
            group.sort_by_key(|copy| copy.place);
        } else {
            group.sort_by_key(|copy| std::cmp::Reverse(copy.file.entry().layer));
        }
    }
    let several: Vec<&Vec<Copy>> = groups.iter().filter(|group| group.len() > 1).collect();
    let digests = Digests::default();
    let compared = in_parallel(several.len(), &|| {}, |at| {
        let others: Vec<VfsFile> = several[at][1..].iter().map(|copy| copy.file.clone()).collect();
        compare(&several[at][0].file, &others, &digests)
    });
    let source = |copy: &Copy| copy.file.layer().path().to_string_lossy().into_owned();
    let lost = |(group, compared): (&&Vec<Copy>, Vec<Compared>)| {
        let winner = &group[0];
        let one = |(copy, compared): (&Copy, Compared)| Superseded {
            path: String::from_utf8_lossy(&winner.path).into_owned(),
            own_path: String::from_utf8_lossy(&copy.spelled()).into_owned(),
            winner: source(winner),
            source: source(copy),
            is_equal: compared == Compared::Equal,
            layer: usize::from(copy.file.entry().layer),
            is_of_packed: true,
        };
        group[1..].iter().zip(compared).map(one).collect::<Vec<_>>()
    };
    let superseded = several.iter().zip(compared).flat_map(lost).collect();
    (groups.into_iter().filter_map(|group| group.into_iter().next()).collect(), superseded)
}

/// Learns sizes, and the names that archives store.
fn with_names(vfs: &Vfs, layers: &[VfsLayer], winners: Vec<Copy>) -> Result<Vec<SourceFile>, PackError> {
    let twins: Vec<String> = winners.iter().filter_map(|copy| twin(vfs, &copy.file)).collect();
    if !twins.is_empty() {
        let what = "files whose paths differ only in case; an archive can have only one of them:";
        return Err(PackError::list(PackErrorKind::Source, what, &twins));
    }
    let sizes = in_parallel(winners.len(), &|| {}, |index| winners[index].file.size());
    let failed: Vec<String> =
        sizes.iter().filter_map(|it| it.as_ref().err().map(ToString::to_string)).collect();
    if !failed.is_empty() {
        return Err(PackError::list(PackErrorKind::Unreadable, "files that cannot be read:", &failed));
    }
    let mut stored: HashMap<u16, (Family, Vec<StoredEntry>)> = HashMap::new();
    for (number, layer) in (0_u16..).zip(layers) {
        let is_used = || winners.iter().any(|copy| copy.file.entry().layer == number);
        if let Some(archive) = vfs.store().archive(number).filter(|_| is_used()) {
            let entries = stored_entries(archive, &vfs.opened().options).map_err(|error| {
                PackError::new(PackErrorKind::Unreadable, format!("{}: {error}", layer.path().shown()))
            })?;
            stored.insert(number, entries);
        }
    }
    let mut files = Vec::with_capacity(winners.len());
    let mut nameless: BTreeMap<u16, usize> = BTreeMap::new();
    for Copy { file, path, .. } in winners {
        let entry = file.entry();
        let names = &vfs.opened().names[usize::from(entry.layer)];
        let archived = match stored.get(&entry.layer) {
            None => None,
            Some(_) if names.lacks_name(entry.entry) => {
                *nameless.entry(entry.layer).or_default() += 1;
                continue;
            }
            Some((family, entries)) => entries.get(entry.entry as usize).map(|stored| {
                let (folder, file) =
                    stored.name.clone().unwrap_or_else(|| (Vec::new(), recovered(&path, names.encoding())));
                let hash = stored.name.is_none().then_some(stored.hash);
                ArchivedName { family: *family, hash, folder, file }
            }),
        };
        let size = file.size_or_estimate();
        files.push(SourceFile { file, path, size, archived });
    }
    if !nameless.is_empty() {
        let line = |(layer, count): (&u16, &usize)| {
            format!("{}: {count} without a name", layers[usize::from(*layer)].path().shown())
        };
        let lines: Vec<String> = nameless.iter().map(line).collect();
        let what = "files whose names their archive does not store, so the new archive would have other \
                    ones; give a list of paths with --names:";
        return Err(PackError::list(PackErrorKind::Source, what, &lines));
    }
    Ok(files)
}

/// The bytes of a name that a list of the user has.
fn recovered(path: &[u8], encoding: Encoding) -> Vec<u8> {
    encoding.encode(path).map_or_else(|| path.to_vec(), Cow::into_owned)
}

/// The stems of all plugins, also of those that lie beside an archive of the sources, by those in lower case.
fn plugins(winners: &[Copy], layers: &[VfsLayer]) -> BTreeMap<String, String> {
    let name = |copy: &Copy| {
        let name = copy.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    };
    let folders = layers.iter().filter(|layer| !layer.is_folder()).filter_map(|layer| layer.path().parent());
    let folders: HashSet<_> = folders.collect();
    let beside = folders.into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let beside = beside.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut beside: Vec<String> = beside.collect();
    // The same folder gives the same names.
    beside.sort();
    let mut all = BTreeMap::new();
    for name in winners.iter().map(name).chain(beside) {
        if let Some(stem) = plugin_stem(&name) {
            all.entry(stem.to_lowercase()).or_insert_with(|| stem.to_owned());
        }
    }
    all
}

/// The name of a plugin of any game without its extension, also if a manager has renamed it.
fn plugin_stem(name: &str) -> Option<&str> {
    fn without<'n>(name: &'n str, end: &str) -> Option<&'n str> {
        let (start, found) = name.split_at_checked(name.len().checked_sub(end.len())?)?;
        found.eq_ignore_ascii_case(end).then_some(start)
    }
    let name = [".ghost", ".mohidden"].iter().fold(name, |name, end| without(name, end).unwrap_or(name));
    is_plugin(name).then(|| stem(name))
}

/// Fails if patterns or the list select nothing. Notes patterns without a match.
fn refuse_unmatched(
    paths: &[String],
    loose: &[String],
    options: &PackOptions,
    notes: &mut Vec<Note>,
) -> Result<(), PackError> {
    let all = || paths.iter().map(String::as_str);
    let unmatched = options.only.unmatched(all());
    if !unmatched.is_empty() && !paths.iter().any(|path| options.only.selects(path)) {
        let patterns: Vec<String> = unmatched.iter().map(|it| it.shown().to_string()).collect();
        let what = "no file matches --glob; --dry-run prints the paths with which patterns are compared:";
        return Err(PackError::list(PackErrorKind::Option, what, &patterns));
    }
    let others = [("--exclude", &options.exclude), ("--store", &options.store)];
    let with_loose = || all().chain(loose.iter().map(String::as_str));
    let of_others =
        others.into_iter().filter_map(|(option, it)| Some((option, it.as_ref()?.unmatched(with_loose()))));
    for (option, patterns) in std::iter::once(("--glob", unmatched)).chain(of_others) {
        for pattern in patterns {
            let text = format!("no file matches {option} {}", pattern.shown());
            notes.push(Note::new(NoteCode::PackPattern, options.game.id, text));
        }
    }
    Ok(())
}

/// The path of a file as it is stored. Bytes of a name on the disk that are not UTF-8 or cannot be shown are
/// listed as `%XX`, but an archive gets the bytes. A folder that several layers spell has one spelling.
fn stored_path(file: &VfsFile) -> Vec<u8> {
    let shown = file.path_bytes();
    let stored = if file.layer().is_folder() { file.stored_name() } else { shown.clone() };
    if stored.eq_ignore_ascii_case(&shown) { shown } else { stored }
}

/// Whether no game can find a loose file, because Windows and Wine allow none of these characters in a name.
pub(super) fn is_unfindable(file: &VfsFile) -> bool {
    file.stored_name().iter().any(|byte| byte.is_ascii_control() || br#"\:*?"<>|"#.contains(byte))
}

/// What is neither a file nor a folder, and what the user left out of it.
#[derive(Default)]
struct Odd {
    excluded: Vec<LeftOut>,
    unselected: usize,
}

impl Odd {
    fn total(&self) -> usize {
        self.excluded.len() + self.unselected
    }
}

/// Fails if there is something that is not a plain file, so that nothing is left out silently. What the
/// user left out does not count.
fn refuse_oddities(vfs: &Vfs, options: &PackOptions) -> Result<Odd, PackError> {
    let is_broken = |note: &&Note| note.code.is_damage() || note.code == NoteCode::ArchiveCutOff;
    let broken = vfs.opened().archives().flat_map(|archive| &archive.notes).filter(is_broken);
    let broken: Vec<String> = broken.map(|note| format!("{}: {note}", note.subject.shown())).collect();
    if !broken.is_empty() {
        return Err(PackError::list(PackErrorKind::Unreadable, "archives that are incomplete:", &broken));
    }
    let (mut found, mut odd) = (Odd::default(), Vec::new());
    let listed = options.listed.as_ref().map(PathList::all_forms);
    for note in vfs.unseen() {
        let Some(path) = below_source(vfs, Path::new(&note.subject)) else {
            odd.push(format!("{}: {}", note.subject.shown(), note.why_unseen()));
            continue;
        };
        // A folder that cannot be read may have files of any name.
        let is_excluded =
            |exclude: &Patterns| exclude.selects(&path) || exclude.selects(&format!("{path}/\u{1}"));
        let is_one =
            matches!(note.code, NoteCode::LinkDangling | NoteCode::LinkCircle | NoteCode::SpecialFile)
                || note.code == NoteCode::FileUnreadable && !Path::new(&note.subject).is_dir();
        let is_selected =
            || options.only.selects(&path) && listed.as_ref().is_none_or(|listed| is_listed(listed, &path));
        if options.exclude.as_ref().is_some_and(is_excluded) {
            let detail = note.why_unseen().to_owned();
            found.excluded.push(LeftOut { path, reason: LooseReason::Excluded, detail });
        } else if is_one && !is_selected() {
            found.unselected += 1;
        } else {
            odd.push(format!("{}: {}", note.subject.shown(), note.why_unseen()));
        }
    }
    if !odd.is_empty() {
        let what = "some of the source cannot be packed; remove it, or leave it out with --exclude:";
        return Err(PackError::list(PackErrorKind::Source, what, &odd));
    }
    let links = if options.follows_links { Vec::new() } else { wanted_links(vfs, options, listed.as_ref()) };
    if links.is_empty() {
        return Ok(found);
    }
    let what = "the source has links; --follow-links packs what they lead to, and --exclude leaves it out:";
    Err(PackError::list(PackErrorKind::Source, what, &links))
}

/// The path below the data folder of something in a folder among the sources; `None` for other paths.
fn below_source(vfs: &Vfs, path: &Path) -> Option<String> {
    let below = vfs.layers().filter(VfsLayer::is_folder).find_map(|layer| {
        path.strip_prefix(layer.path()).ok().map(|below| below.to_string_lossy().into_owned())
    });
    below.filter(|below| !below.is_empty()).map(|below| below_data(&below).unwrap_or(&below).to_owned())
}

/// Whether a list has a path, or a folder above it.
fn is_listed(listed: &HashSet<String>, path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    listed.contains(&path) || path.match_indices('/').any(|(end, _)| listed.contains(&path[..end]))
}

/// The links through which something would be packed.
fn wanted_links(vfs: &Vfs, options: &PackOptions, listed: Option<&HashSet<String>>) -> Vec<String> {
    let links = vfs.link_paths();
    if links.is_empty() {
        return Vec::new();
    }
    let mut wanted: HashSet<String> = HashSet::new();
    let is_left_out = |path: &str| {
        options.exclude.as_ref().is_some_and(|exclude| exclude.selects(path))
            || !options.only.selects(path)
            || listed.is_some_and(|listed| !is_listed(listed, path))
    };
    for file in vfs.files() {
        for copy in std::iter::once(file.clone()).chain(file.hidden().collect::<Vec<_>>()) {
            let shown = copy.path();
            if !copy.layer().is_folder() || is_left_out(below_data(&shown).unwrap_or(&shown)) {
                continue;
            }
            let stored = String::from_utf8_lossy(&copy.stored_name()).to_ascii_lowercase();
            let stored = below_data(&stored).unwrap_or(&stored);
            wanted.extend(stored.match_indices('/').map(|(end, _)| stored[..end].to_owned()));
            wanted.insert(stored.to_owned());
        }
    }
    // A folder among the sources that is a link itself has any path.
    let is_wanted = |link: &&PathBuf| {
        below_source(vfs, link).is_none_or(|path| wanted.contains(&path.to_ascii_lowercase()))
    };
    links.iter().filter(is_wanted).map(|path| path.shown().to_string()).collect()
}

/// The two paths of a loose file that is listed under a number, because another one has its name.
fn twin(vfs: &Vfs, file: &VfsFile) -> Option<String> {
    if !file.layer().is_folder() {
        return None;
    }
    let name = String::from_utf8_lossy(file.name());
    let (stem, extension) = name
        .rsplit_once('.')
        .map_or((&*name, Cow::Borrowed("")), |(stem, extension)| (stem, format!(".{extension}").into()));
    let (base, number) = stem.strip_suffix(')')?.rsplit_once(" (")?;
    number.parse::<u32>().ok()?;
    let stored = file.stored_name();
    let stored = stored.rsplit(|byte| matches!(byte, b'/' | b'\\')).next()?;
    let is_renamed = !stored.is_empty() && !stored.eq_ignore_ascii_case(file.name());
    let other = format!("{base}{extension}");
    is_renamed.then(|| {
        let folder = file.path();
        let folder = folder.strip_suffix(&*name).unwrap_or_default().to_owned();
        let stored = format!("{folder}{}", String::from_utf8_lossy(stored));
        let other = format!("{folder}{other}");
        let other = vfs.file(&other).map_or(other, |other| other.path());
        format!("{} and {}", stored.shown(), other.shown())
    })
}

// After which plugin archives are called.

/// The plugins at the top of the source that load archives, and what archives are called after.
pub(super) struct BaseName {
    pub(super) name: String,
    plugins: Vec<String>,
}

impl BaseName {
    /// The name that the user gave, or that of the only plugin.
    /// `at_top` has the files at the top of the sources, whether or not they are selected.
    pub(super) fn find(at_top: &[String], options: &PackOptions) -> Result<Self, PackError> {
        let game = options.game;
        let loads = |name: &&String| {
            let extension = name.rsplit_once('.').map_or("", |it| it.1);
            !name.starts_with('.')
                && game.archive_plugins().iter().any(|known| known.eq_ignore_ascii_case(extension))
        };
        let plugins: Vec<String> = at_top.iter().filter(loads).cloned().collect();
        if let Some(name) = &options.file_name {
            let name = game
                .archive_endings()
                .into_iter()
                .rev()
                .find_map(|end| name.strip_suffix(end))
                .unwrap_or(stem(name));
            refuse_unfit("-o", name)?;
            refuse_ending("-o", name, options)?;
            return Ok(Self { name: name.to_owned(), plugins });
        }
        if let Some(name) = &options.name {
            refuse_unfit("--name", name)?;
            refuse_ending("--name", name, options)?;
            return Ok(Self { name: name.clone(), plugins });
        }
        let mut names: Vec<&str> = plugins.iter().map(|plugin| stem(plugin)).collect();
        names.sort_by_key(|name| name.to_ascii_lowercase());
        names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        match &names[..] {
            [name] => Ok(Self { name: (*name).to_owned(), plugins: plugins.clone() }),
            _ => {
                let endings: Vec<String> =
                    game.archive_plugins().iter().map(|ending| format!(".{ending}")).collect();
                let found = if names.is_empty() {
                    format!("the source has no plugin ({}) at its top", endings.join(", "))
                } else {
                    "the source has several plugins".to_owned()
                };
                let why = match options.packing.loads {
                    Loads::Plugin => "the game loads an archive that is named after a plugin",
                    Loads::Line(_) => "an archive needs a name",
                };
                let what = format!("{found}, and {why}; name it with --name");
                Err(PackError::list(PackErrorKind::Option, &what, &plugins))
            }
        }
    }

    /// The plugin whose name an archive's begins with, as Oblivion and the first games of Fallout attach it.
    pub(super) fn plugin_before(&self, archive: &str) -> Option<&str> {
        let archive = archive.to_lowercase();
        let plugins = self.plugins.iter().map(String::as_str);
        plugins.filter(|plugin| archive.starts_with(&stem(plugin).to_lowercase())).min()
    }

    /// The plugin of this name.
    pub(super) fn plugin(&self, name: &str) -> Option<&str> {
        self.plugins.iter().map(String::as_str).find(|plugin| stem(plugin).eq_ignore_ascii_case(name))
    }
}

/// Fails if Windows, for which games are made, cannot have a file with this name.
fn refuse_unfit(option: &str, name: &str) -> Result<(), PackError> {
    let start = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_numbered = |device: &str| {
        let number = start.strip_prefix(device).and_then(|number| number.parse::<char>().ok());
        number.is_some_and(|number| number.is_ascii_digit() || "¹²³".contains(number))
    };
    let is_device = ["con", "prn", "aux", "nul", "conin$", "conout$"].contains(&&*start)
        || is_numbered("com")
        || is_numbered("lpt");
    let is_bad = |it: char| it.is_control() || r#"/\:*?"<>|"#.contains(it);
    let is_unfit = name.is_empty()
        || is_device
        || name.contains(is_bad)
        || name.starts_with('.')
        || name.ends_with([' ', '.']);
    if !is_unfit {
        return Ok(());
    }
    let what = format!(
        "{option} \"{}\": no file of a game can have this name, because Windows cannot have it; give another",
        name.escape_debug()
    );
    Err(PackError::new(PackErrorKind::Option, what))
}

/// Fails if a name ends like a file of a game, because no plugin is called `MyMod.esp.esp`.
fn refuse_ending(option: &str, name: &str, options: &PackOptions) -> Result<(), PackError> {
    let extension = name.rsplit_once('.').map_or("", |it| it.1).to_ascii_lowercase();
    if options.any_path || !kinds::is(name, &[What::Plugin, What::Archive]) {
        return Ok(());
    }
    let (shown, stem) = (name.shown(), stem(name).shown());
    let what = format!(
        "{option} {shown}: the game would load such an archive only with a plugin called {shown}.esp; \
         give the name without .{extension}: {stem} (--any-path takes it as it is)"
    );
    Err(PackError::new(PackErrorKind::Option, what))
}

// Where the game's files begin in a folder, and paths at which no game finds them: those of a download as it
// was unpacked, and names that begin at the root of a disk.

/// The folder at the top of a source that stands for the data folder, if everything of the game is in it.
///
/// # Errors
/// It is not clear where the game's files begin.
pub(super) fn data_folder(
    source: &Path,
    names: &LayerNames,
    options: &PackOptions,
) -> Result<Option<Vec<u8>>, PackError> {
    let tops: Vec<Vec<u8>> = names.top_folders().map(<[u8]>::to_vec).collect();
    let lower = |top: &Vec<u8>| String::from_utf8_lossy(top).to_ascii_lowercase();
    let data: Option<&Vec<u8>> = tops.iter().find(|top| DATA.contains(&&*lower(top)));
    let other = tops.iter().find(|top| is_known_top(&lower(top)));
    match (data, other) {
        (Some(_), Some(_)) if options.any_path => Ok(None),
        (Some(data), Some(other)) => {
            let what = format!(
                "{}: it has a folder {} beside {}, so it is not clear where the game's files begin; a \
                 game never finds paths that begin with Data; --any-path packs them",
                source.shown(),
                String::from_utf8_lossy(data).shown(),
                String::from_utf8_lossy(other).shown()
            );
            Err(PackError::new(PackErrorKind::Source, what))
        }
        (data, _) => Ok(data.cloned()),
    }
}

/// Fails if the packed files of a source are an unpacked download. `paths` are those below the folder
/// `data`, if the source has one.
///
/// # Errors
/// The game's files begin in a folder further down.
pub(super) fn refuse_unpacked(
    source: &Path,
    data: Option<&[u8]>,
    paths: &[&[u8]],
    options: &PackOptions,
) -> Result<(), PackError> {
    if options.any_path {
        return Ok(());
    }
    let begun = TopFolders::find(paths);
    let is_of_game = begun.at_top > 0 || !begun.folders.is_empty() || data.is_some();
    if let Some(folder) = game_folder(source, options).filter(|_| !is_of_game && !paths.is_empty()) {
        let own = folder.file_name().unwrap_or_default().to_string_lossy();
        let above = folder.parent().unwrap_or(&folder);
        let what = format!(
            "{}: it is the folder {} of a game's files, or below it, so that no game would find its files; \
             pack the folder above, {}, with --glob '{own}/**' if it has more (--any-path packs the paths as \
             they are)",
            source.shown(),
            own.shown(),
            above.shown()
        );
        return Err(PackError::new(PackErrorKind::Source, what));
    }
    if options.all {
        return Ok(());
    }
    if begun.folders.is_empty() || begun.is_at_top && !begun.has_installer {
        return Ok(());
    }
    let data = data.map_or_else(String::new, |data| format!("{}/", String::from_utf8_lossy(data)));
    let mut lines = Vec::new();
    if begun.at_top > 0 {
        let top = if data.is_empty() { "the source itself".to_owned() } else { data.shown().to_string() };
        lines.push(format!("{top}, without the folders below ({})", count(begun.at_top, "file")));
    }
    for (folder, files) in begun.folders {
        lines.push(format!("{} ({})", format!("{data}{folder}").shown(), count(files, "file")));
    }
    for (folder, files) in begun.others {
        let name = folder.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let what = if is_tool_top(&name) || Parts::of(format!("{folder}/").as_bytes()).is_of_desktop() {
            "for tools or people"
        } else {
            "in no folder that games are known to read"
        };
        let (folder, files) = (format!("{data}{folder}"), count(files, "file"));
        lines.push(format!("{} ({files}, {what})", folder.shown()));
    }
    for name in begun.beside {
        lines.push(format!("{} (a file at the top, which stays loose)", format!("{data}{name}").shown()));
    }
    let what = format!(
        "{}: this looks like a download as it was unpacked: no game looks for its paths. Pack the folder in \
         which the game's files begin, or several as several sources, of which the last wins. --exclude and \
         --glob leave out what is not wanted; --any-path packs the paths as they are:",
        source.shown()
    );
    Err(PackError::list(PackErrorKind::Source, &what, &lines))
}

/// Where the files of a game begin.
#[derive(Default)]
struct TopFolders {
    /// Whether there is a folder at the top that games read.
    is_at_top: bool,
    /// Whether an installer's folders lie at the top.
    has_installer: bool,
    /// Number of files of a game that begins at the top.
    at_top: usize,
    /// The folders further down in which files of a game begin, with the numbers of their files.
    folders: BTreeMap<String, usize>,
    /// Folders outside of these, with the numbers of their files.
    others: BTreeMap<String, usize>,
    /// Files at the top that are not of a game.
    beside: Vec<String>,
}

impl TopFolders {
    fn find(paths: &[&[u8]]) -> Self {
        let (mut begun, mut rest) = (Self::default(), Vec::new());
        for path in paths {
            let path: Vec<u8> = path.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect();
            let text = String::from_utf8_lossy(&path).into_owned();
            let parts = Parts::of(&path);
            let top = parts.top();
            begun.has_installer |= top == "fomod" || is_numbered(top);
            let is_plugin = is_plugin(&path);
            if is_known_top(top) || top.is_empty() && (is_plugin || is_archive_name(&path)) {
                begun.is_at_top |= !top.is_empty();
                begun.at_top += 1;
                continue;
            }
            let all: Vec<&str> = text.split('/').collect();
            let folders = &all[..all.len() - 1];
            if top.is_empty() {
                begun.beside.push(text);
                continue;
            }
            if is_tool_top(top) || parts.is_of_desktop() {
                *begun.others.entry(folders[0].to_owned()).or_default() += 1;
                continue;
            }
            let start = parts.sign().or(is_plugin.then_some(folders.len()));
            match start.filter(|start| (1..=DEPTH_MAX).contains(start)) {
                Some(start) => *begun.folders.entry(folders[..start].join("/")).or_default() += 1,
                None => rest.push(folders.join("/")),
            }
        }
        let above = |folder: &str| folder.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        let parents: HashSet<String> =
            begun.folders.keys().flat_map(|it| above(it).into_iter().map(|at| it[..at].to_owned())).collect();
        for folder in rest {
            let mut starts = above(&folder);
            starts.push(folder.len());
            // What lies beside the game's files belongs to them.
            if let Some(at) = starts.iter().find(|at| begun.folders.contains_key(&folder[..**at])) {
                begun.folders.entry(folder[..*at].to_owned()).and_modify(|files| *files += 1);
                continue;
            }
            let outside = starts.iter().find(|at| !parents.contains(&folder[..**at]));
            let other = outside.map_or(&*folder, |at| &folder[..*at]);
            *begun.others.entry(other.to_owned()).or_default() += 1;
        }
        begun
    }
}

/// The folder of a game's files that a source is. Unless --all packs what is in no such folder, also one
/// above it.
fn game_folder(source: &Path, options: &PackOptions) -> Option<PathBuf> {
    let real = source.canonicalize().ok()?;
    let is_sign = |folder: &&Path| {
        folder.file_name().is_some_and(|name| is_game_folder(&name.to_string_lossy().to_ascii_lowercase()))
    };
    let depth = if options.all { 1 } else { DEPTH_MAX };
    real.ancestors().take(depth).find(is_sign).map(Path::to_owned)
}

/// Whether a folder is named like one of several packages of a download: `00 Core`.
fn is_numbered(top: &str) -> bool {
    let digits = top.len() - top.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    (1..=3).contains(&digits) && top[digits..].starts_with([' ', '_', '-'])
}

/// Why no game finds a file with a stored path: it begins at the root of a disk or with the data folder, or
/// has names that a game does not look for.
pub(super) fn why_unfound(folder: &[u8], file: &[u8]) -> Option<&'static str> {
    let whole =
        if folder.is_empty() || folder == b"." { file.to_vec() } else { [folder, b"\\", file].concat() };
    crate::format::structure::unfindable(&whole)
}
