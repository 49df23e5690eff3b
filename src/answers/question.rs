//! What a question about a file means. People have paths from logs, from programs in Wine, from the
//! clipboard, and in the form of other tools. Every command that takes such a path reads it here.

use std::path::{Path, PathBuf};

use crate::game::caseless::same;
use crate::game::{DeploymentList, Disk, LayerKind, drive_root, is_known_folder};
use crate::kinds::{INTERFACE, KINDS, PEX, SCRIPTS, kind_of};
use crate::system::text::from_uri;
use crate::vfs::file::{VfsFile, VfsLayer};
use crate::vfs::library::{Vfs, VfsEntry, VfsFolder};
use crate::vfs::patterns::DATA;
use crate::vfs::sources::resolve::distance;

/// A path or name without what is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// What was asked, as it was typed.
    pub(crate) asked: String,
    /// The path or name, with `/` between names.
    pub(crate) text: String,
    /// The path on the disk that the text is. `None` for a name, a path in the tree, or a path of another
    /// machine.
    pub(crate) disk: Option<PathBuf>,
}

/// Pairs of quotes around a path.
const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('«', '»')];
/// Maximum number of names at the end of a path that may be its path in the game.
pub(crate) const DEPTH_MAX: usize = 32;
/// Maximum number of names that are suggested for a name with a typing error.
const NEAREST_MAX: usize = 4;

impl Question {
    /// Reads what was typed. `prefixes` returns the Wine prefixes whose drives a path may be on.
    pub(crate) fn new(asked: &str, disk: &Disk, prefixes: &dyn Fn() -> Vec<PathBuf>) -> Self {
        let text = unquoted(asked);
        let text = match strip_start(text, "file://") {
            Some(rest) => {
                let rest = decoded(rest.strip_prefix("localhost").unwrap_or(rest));
                let is_drive = drive(rest.trim_start_matches('/')).is_some();
                if is_drive { rest.trim_start_matches('/').to_owned() } else { rest }
            }
            None => text.to_owned(),
        };
        let text = text.strip_prefix(r"\\?\unix").map_or(text.clone(), str::to_owned);
        let text = text.strip_prefix(r"\\?\").map_or(text.clone(), str::to_owned).replace('\\', "/");
        let home = || std::env::home_dir().filter(|it| it.is_absolute());
        let on_disk = if let Some((letter, rest)) = drive(&text) {
            path_of_drive(disk, letter, rest, prefixes)
        } else if let (Some(rest), Some(home)) = (text.strip_prefix("~/"), home()) {
            Some(home.join(rest))
        } else if text.starts_with('/') && !text.starts_with("//")
            || ["./", "../"].iter().any(|it| text.starts_with(it))
        {
            std::path::absolute(&text).ok()
        } else {
            None
        };
        Self { asked: asked.to_owned(), text, disk: on_disk }
    }

    /// The path in the tree that a path on a disk means if that path is not on this one: what follows the
    /// last folder of data, without a drive.
    pub(crate) fn in_tree(&self) -> &str {
        let mut path = below_data(&self.text).unwrap_or_else(|| rest_of_drive(&self.text));
        while let Some(rest) = path.strip_prefix('/').or_else(|| path.strip_prefix("./")) {
            path = rest;
        }
        path
    }

    /// A path on the disk as it was meant, for one in quotes, of Wine or with `file://`. Nothing is looked
    /// up.
    pub(crate) fn plain(typed: &Path) -> PathBuf {
        let question = Self::new(&typed.to_string_lossy(), &Disk::default(), &Vec::new);
        let is_other = question.text != question.asked || question.has_drive();
        question.disk.filter(|_| is_other).unwrap_or_else(|| typed.to_owned())
    }

    /// The names of the path, as it was typed.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.text.split('/').filter(|it| !it.is_empty()).collect()
    }

    /// Whether this is a path as programs in Wine and Windows print it.
    pub(crate) fn has_drive(&self) -> bool {
        drive(&self.text).is_some()
    }

    /// Whether a path that is not on the disk may be one of another machine, or one in the tree.
    pub(crate) fn may_be_elsewhere(&self) -> bool {
        self.has_drive() || below_data(&self.text).is_some()
    }
}

/// What a path or name means in a tree.
#[derive(Debug)]
pub(crate) enum Meant {
    /// A copy of a file, which another copy may hide.
    Copy(VfsFile),
    Folder(VfsFolder),
}

impl Meant {
    /// Finds what was asked for: a path in the tree, a copy on the disk, or a path as `which` prints it, of a
    /// layer and in it. `Err` has the paths if there are several. It has none if nothing is found.
    pub(crate) fn find(vfs: &Vfs, asked: &Path) -> Result<Self, Vec<String>> {
        let bytes = asked.as_os_str().as_encoded_bytes();
        if let Some(found) = Self::at(vfs, bytes) {
            return Ok(found);
        }
        let disk = Disk::default();
        let prefixes = || {
            let installation = vfs.order().installation.iter();
            installation.flat_map(|it| it.prefix_folders()).collect()
        };
        let question = Question::new(&asked.to_string_lossy(), &disk, &prefixes);
        if let Some(path) = &question.disk {
            let real = real_path(&disk, path);
            let mut paths = [Some(&**path), real.as_deref()].into_iter().flatten();
            if let Some(copy) = paths.find_map(|path| copy_on_disk(vfs, path)) {
                return Ok(Self::Copy(copy));
            }
            if let Some(copy) = deployed_copy(vfs, &disk, path) {
                return Ok(Self::Copy(copy));
            }
            // The file is there, but is none of the tree.
            let is_there = disk.metadata(path).is_ok() || path.is_symlink();
            if is_there || !question.may_be_elsewhere() {
                return Err(Vec::new());
            }
        } else if let Some(copy) = copy_of_label(vfs, &question) {
            return Ok(Self::Copy(copy));
        }
        if let Some(found) = Self::at(vfs, question.in_tree().as_bytes()) {
            return Ok(found);
        }
        let found = find(vfs, &question).map(Self::Copy);
        let is_nothing = matches!(&found, Err(several) if several.is_empty()) && question.disk.is_none();
        match bare(&question.text).filter(|_| is_nothing) {
            Some(text) => Self::find(vfs, Path::new(text)),
            None => found,
        }
    }

    fn at(vfs: &Vfs, path: &[u8]) -> Option<Self> {
        vfs.file(path).map(Self::Copy).or_else(|| vfs.folder(path).map(Self::Folder))
    }
}

/// The file of the tree that hides a copy; `None` if the copy wins.
pub(crate) fn hidden_by(vfs: &Vfs, copy: &VfsFile) -> Option<VfsFile> {
    vfs.file(copy.path_bytes()).filter(|winner| winner.layer().number() != copy.layer().number())
}

/// The copy that a layer has of a path.
fn copy_in(vfs: &Vfs, layer: usize, path: &str) -> Option<VfsFile> {
    let winner = vfs.file(path)?;
    let hidden: Vec<VfsFile> = winner.hidden().collect();
    std::iter::once(winner).chain(hidden).find(|it| it.layer().number() == layer)
}

/// The copy that is at a path on the disk, perhaps in an archive.
fn copy_on_disk(vfs: &Vfs, path: &Path) -> Option<VfsFile> {
    let within = |layer: &VfsLayer| path.strip_prefix(layer.path()).ok()?.to_str().map(str::to_owned);
    let around = vfs.layers().filter_map(|layer| Some((within(&layer)?, layer)));
    let copies = around.filter_map(|(within, layer)| copy_in(vfs, layer.number(), &within));
    // A mod may be in the folder of the game.
    copies.max_by_key(|copy| copy.layer().path().as_os_str().len())
}

/// The copy in the folder of a game that a manager deployed from a file of a mod.
fn deployed_copy(vfs: &Vfs, disk: &Disk, path: &Path) -> Option<VfsFile> {
    let order = vfs.order();
    let own = order.layers.iter().filter(|it| it.what == LayerKind::Folder && !it.is_managed);
    let own: Vec<&Path> = own.filter(|_| !order.game.is_empty()).map(|it| &*it.path).collect();
    let copy = |folder: &Path, within: &str| {
        let layer = vfs.layers().find(|layer| layer.path() == folder)?;
        copy_in(vfs, layer.number(), within)
    };
    if let Some((folder, within)) = linked_place(disk, &own, path) {
        return copy(folder, &within);
    }
    let prefixes: Vec<PathBuf> = order.installation.iter().flat_map(|it| it.prefix_folders()).collect();
    own.into_iter().find_map(|folder| {
        let lists = DeploymentList::of_folder(disk, folder, &prefixes);
        copy(folder, &lists.iter().find_map(|list| list.deployed_copy(disk, folder, path))?)
    })
}

/// The path below one of some folders at which a file of a staging folder is, as a link.
pub(crate) fn linked_place<'f>(disk: &Disk, folders: &[&'f Path], path: &Path) -> Option<(&'f Path, String)> {
    let identity = disk.file_identity(path)?;
    let names: Vec<&str> = path.iter().filter_map(|it| it.to_str()).collect();
    let ends = (1..names.len().min(DEPTH_MAX)).map(|count| names[names.len() - count..].join("/"));
    ends.into_iter().find_map(|within| {
        let is_it = |folder: &&Path| {
            let found = disk.find_file(folder, &within);
            found.is_some_and(|it| disk.file_identity(&it) == Some(identity))
        };
        Some((*folders.iter().find(|folder| is_it(folder))?, within))
    })
}

/// The copy that a name of a layer and a path in it mean.
fn copy_of_label(vfs: &Vfs, question: &Question) -> Option<VfsFile> {
    let names = question.names();
    let copy = |layer: VfsLayer| {
        let mut lengths = labelled(&names, layer.path());
        lengths.find_map(|length| copy_in(vfs, layer.number(), &names[length..].join("/")))
    };
    // The highest layer wins if several have the name.
    vfs.layers().collect::<Vec<_>>().into_iter().rev().find_map(copy)
}

/// The numbers of names at the beginning of a path that name a place, as `order`, `which` and `why` print
/// places: by the end of their path. The longest comes first.
pub(crate) fn labelled(names: &[&str], place: &Path) -> impl Iterator<Item = usize> {
    let own: Vec<&str> = place.iter().rev().filter_map(|it| it.to_str()).collect();
    let is_end = move |length: &usize| {
        let mut ends = names[..*length].iter().rev().zip(&own);
        // A path that begins with Data is one in the game.
        let is_vague = *length == 1 && DATA.contains(&&*names[0].to_ascii_lowercase());
        !is_vague && *length <= own.len() && ends.all(|(one, other)| same(one, other))
    };
    (1..=names.len()).rev().filter(is_end)
}

/// A path whose folders are no links. Only the first of them need to exist.
pub(crate) fn real_path(disk: &Disk, path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find_map(|folder| {
        let real = disk.canonical(folder).ok()?;
        Some(real.join(path.strip_prefix(folder).ok()?))
    })
}

fn rest_of_drive(text: &str) -> &str {
    drive(text).map_or(text, |(_, rest)| rest)
}

/// The file that a path or name means, other than the one at exactly this path. `Err` has the paths if there
/// are several.
pub(crate) fn find(vfs: &Vfs, question: &Question) -> Result<VfsFile, Vec<String>> {
    let text = question.in_tree();
    if let Some(file) = vfs.file(text) {
        return Ok(file);
    }
    // A path that begins in a folder of the game is whole: a longer path that ends in it is another file.
    let top = text.split_once('/').map(|(top, _)| top);
    let is_whole = top.is_some_and(is_known_folder);
    // A path of another machine may begin with any folders. One name alone says too little.
    if question.has_drive() && !is_whole && below_data(&question.text).is_none() {
        let ends = text.match_indices('/').map(|(at, _)| &text[at + 1..]).filter(|end| end.contains('/'));
        if let Some(file) = ends.into_iter().find_map(|end| vfs.file(end)) {
            return Ok(file);
        }
    }
    // Some folders are in others, too: `textures/interface`.
    let is_typed =
        top.is_some_and(|top| !same(top, INTERFACE) && KINDS.iter().any(|kind| same(kind.folder, top)));
    if let Some(file) = implied(text).filter(|_| !is_typed).and_then(|path| vfs.file(path)) {
        return Ok(file);
    }
    if is_whole {
        return Err(Vec::new());
    }
    let root = vfs.root();
    let folders = root.entries().filter_map(|entry| match entry {
        VfsEntry::Folder(folder) => Some(folder.path()),
        VfsEntry::File(_) => None,
    });
    let below: Vec<VfsFile> = folders.filter_map(|folder| vfs.file(format!("{folder}/{text}"))).collect();
    if !below.is_empty() {
        return only(below);
    }
    let is_it = |file: &VfsFile| file.name().eq_ignore_ascii_case(text.as_bytes());
    let mut named: Vec<VfsFile> =
        if text.contains('/') { Vec::new() } else { vfs.files().filter(is_it).collect() };
    if named.is_empty() {
        // `MyQuest`, `My:Quest` and `MyQuest.psc` are scripts as Papyrus has them.
        let script = text.strip_suffix(".psc").unwrap_or(text).replace(':', "/");
        named.extend(vfs.file(format!("{SCRIPTS}/{script}.{PEX}")));
    }
    only(named)
}

fn only(mut files: Vec<VfsFile>) -> Result<VfsFile, Vec<String>> {
    match files.len() {
        1 => files.pop().ok_or_else(Vec::new),
        _ => Err(files.iter().map(VfsFile::path).collect()),
    }
}

/// The path of a file in the folder that its ending implies.
pub(crate) fn implied(path: &str) -> Option<String> {
    let folder = kind_of(path)?.folder;
    (!folder.is_empty()).then(|| format!("{folder}/{path}"))
}

/// What follows the last data folder in a path, which may be on any machine.
pub(crate) fn below_data(path: &str) -> Option<&str> {
    let (mut start, mut found) = (0, None);
    for part in path.split('/') {
        let end = start + part.len();
        if end < path.len() && DATA.contains(&&*part.to_ascii_lowercase()) {
            found = Some(&path[end + 1..]);
        }
        start = end + 1;
    }
    found.filter(|rest| !rest.is_empty())
}

/// A name without what logs and xEdit print around it: the number of a plugin, a mark, brackets or one quote.
/// `None` if there is nothing of that.
pub(crate) fn bare(text: &str) -> Option<&str> {
    let is_number = |it: &str| {
        !it.is_empty() && it.chars().all(|letter| letter.is_ascii_hexdigit() || matches!(letter, ' ' | ':'))
    };
    let mut bare = text.trim();
    if let Some((number, rest)) = bare.strip_prefix('[').and_then(|it| it.split_once(']'))
        && is_number(number)
    {
        bare = rest.trim_start();
    }
    if let Some((rest, number)) = bare.strip_suffix(']').and_then(|it| it.rsplit_once('['))
        && is_number(number)
    {
        bare = rest.trim_end();
    }
    if let Some((rest, line)) = bare.rsplit_once(':')
        && !line.is_empty()
        && line.bytes().all(|letter| letter.is_ascii_hexdigit())
    {
        bare = rest;
    }
    let marks = |letter: char| "<>()\"'`,;:.".contains(letter) || letter.is_whitespace();
    let bare = bare.trim_end_matches(marks).trim_start_matches(|letter| letter != '.' && marks(letter));
    Some(bare).filter(|it| !it.is_empty() && *it != text)
}

/// The names that the user may mean: they have all words of the given name, as `SkyUI_5_2_SE` has those
/// of `skyui se`; if there are none, those that are most like it with a typing error.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let names: Vec<&str> = names.filter(|it| !same(it, name)).collect();
    let mut having: Vec<&str> = names.iter().copied().filter(|it| has_words(it, name)).collect();
    if !having.is_empty() {
        having.sort_unstable_by_key(|it| (it.len(), *it));
        having.truncate(NEAREST_MAX);
        return having;
    }
    let folded = name.to_lowercase();
    let length = folded.rsplit_once('.').map_or(&*folded, |(stem, _)| stem).chars().count();
    let most = match length {
        0..=3 => return Vec::new(),
        4..=7 => 1,
        _ => 2,
    };
    let is_long = |it: &&str| it.len().abs_diff(name.len()) <= 2 * most;
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .filter(is_long)
        .map(|it| (distance(&folded, &it.to_lowercase()), it))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    found.sort_unstable();
    found.dedup();
    let least = found.first().map(|it| it.0);
    found.retain(|it| Some(it.0) == least);
    found.into_iter().map(|it| it.1).take(NEAREST_MAX).collect()
}

/// Whether a text has all words of another, of which long ones may be parts of its words. Words of fewer than
/// three letters in all say too little.
fn has_words(text: &str, wanted: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let lower = text.to_lowercase().replace(['\'', '’'], "");
        let words = lower.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty());
        words.map(str::to_owned).collect()
    };
    let (has, wanted) = (words(text), words(wanted));
    let is_in = |word: &String| has.iter().any(|it| it == word || word.len() >= 3 && it.contains(word));
    wanted.iter().map(String::len).sum::<usize>() >= 3 && wanted.iter().all(is_in)
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = |(open, close): (char, char)| text.strip_prefix(open)?.strip_suffix(close);
    QUOTES.into_iter().find_map(inner).map_or(text, str::trim)
}

fn strip_start<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    let (first, rest) = text.split_at_checked(start.len())?;
    first.eq_ignore_ascii_case(start).then_some(rest)
}

/// A text in which `%20` and the like are bytes. What is no such escape stays.
fn decoded(text: &str) -> String {
    String::from_utf8(from_uri(text.as_bytes())).unwrap_or_else(|_| text.to_owned())
}

/// The letter of the drive of a path with `/` between names, in lower case, and the rest.
fn drive(text: &str) -> Option<(char, &str)> {
    let mut letters = text.chars();
    let letter = letters.next().filter(char::is_ascii_alphabetic)?;
    let rest = letters.as_str().strip_prefix(':')?;
    rest.starts_with(['/', '\\']).then(|| (letter.to_ascii_lowercase(), rest))
}

/// The path of a drive of Wine on the disk. A path on another drive than Z must exist, because each prefix
/// has its own.
fn path_of_drive(
    disk: &Disk,
    letter: char,
    rest: &str,
    prefixes: &dyn Fn() -> Vec<PathBuf>,
) -> Option<PathBuf> {
    let rest = rest.trim_start_matches('/');
    if letter == 'z' {
        return Some(Path::new("/").join(rest));
    }
    let roots = prefixes().into_iter().map(|prefix| drive_root(disk, &prefix, &letter.to_string()));
    roots.into_iter().filter(|root| disk.is_dir(root)).find_map(|root| {
        let exact = root.join(rest);
        if disk.metadata(&exact).is_ok() { Some(exact) } else { disk.find(&root, rest).map(|it| it.path) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        Question::new(text, &Disk::default(), &Vec::new)
    }

    #[test]
    fn what_is_not_part_of_a_path_is_removed() {
        for (asked, text) in [
            (r#" "textures\a b.dds" "#, "textures/a b.dds"),
            ("'MyMod.esp'", "MyMod.esp"),
            ("“Mod.esp”", "Mod.esp"),
            ("file:///home/u/My%20Mod/a%.dds", "/home/u/My Mod/a%.dds"),
            ("FILE://localhost/x", "/x"),
            (r"file:///C:/Games/x", "C:/Games/x"),
            (r"\\?\unix\home\u", "/home/u"),
            (r"\\?\Z:\home\u", "Z:/home/u"),
            ("it's", "it's"),
        ] {
            assert_eq!(question(asked).text, text, "{asked}");
        }
        assert_eq!(question(r"Z:\home\u").disk, Some("/home/u".into()));
        assert_eq!(question(r"D:\home\u").disk, None, "no prefix has this drive");
        assert_eq!((question("a/b").disk, question("//server/x").disk), (None, None));
    }

    #[test]
    fn a_path_of_another_machine_is_cut_at_its_last_data_folder() {
        for (asked, path) in [
            (r"D:\Data\Skyrim\Data\Meshes\a.nif", "Meshes/a.nif"),
            ("/home/x/Data Files/Textures/a.dds", "Textures/a.dds"),
            ("data/a.esp", "a.esp"),
            ("Data", "Data"),
            ("x/Data/", "x/Data/"),
            (r"C:\x\a.dds", "x/a.dds"),
            ("./.hidden", ".hidden"),
            ("../a.dds", "../a.dds"),
        ] {
            assert_eq!(question(asked).in_tree(), path, "{asked}");
        }
    }

    #[test]
    fn what_logs_print_around_a_name_is_part_of_none() {
        for (text, name) in [
            ("[05] Manor.esp", Some("Manor.esp")),
            ("[FE:001] Manor.esp", Some("Manor.esp")),
            ("Manor.esp [FE 001]", Some("Manor.esp")),
            ("Manor.esp:00012EB7", Some("Manor.esp")),
            ("<textures/a.dds>", Some("textures/a.dds")),
            ("textures/a.dds,", Some("textures/a.dds")),
            ("textures/a.dds'", Some("textures/a.dds")),
            ("[NoDelete] Mod", None),
            ("My:Quest", None),
            (".hidden", None),
            ("textures/a.dds", None),
            ("[05]", None),
        ] {
            assert_eq!(bare(text), name, "{text}");
        }
    }

    #[test]
    fn a_part_of_a_name_leads_to_the_names_that_have_it() {
        let names = ["Mod 0100", "[Tag] Mod 0700", "SkyUI_5_2_SE", "JK's Skyrim AIO (2.1)", "Data"];
        for (name, meant) in [
            ("SkyUI", &["SkyUI_5_2_SE"][..]),
            ("skyui se", &["SkyUI_5_2_SE"]),
            ("Mod 0700", &["[Tag] Mod 0700"]),
            ("JK's Skyrim", &["JK's Skyrim AIO (2.1)"]),
            ("mod", &["Mod 0100", "[Tag] Mod 0700"]),
            ("Data", &[]),
            ("jk", &[]),
        ] {
            assert_eq!(nearest(name, names.into_iter()), meant, "{name}");
        }
    }

    #[test]
    fn a_name_with_a_typing_error_has_near_names() {
        let names = ["SkyUI_SE.esp", "SkyUI_SE.bsa", "iron.dds", "ab"];
        assert_eq!(nearest("SkyU_SE.esp", names.into_iter()), ["SkyUI_SE.esp"]);
        assert_eq!(nearest("irno.dds", names.into_iter()), ["iron.dds"]);
        assert!(nearest("ac", names.into_iter()).is_empty());
        assert_eq!(implied("a/B.DDS"), Some("textures/a/B.DDS".into()));
        assert_eq!(implied("ü"), None);
    }
}
