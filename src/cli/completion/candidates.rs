//! Candidates for a word of a command line: sources, mounts, files, and paths inside archives.
//! Paths are completed one folder at a time.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::daemon::overlay;
use crate::game::find::find;
use crate::game::{
    Disk, Environment, FoundInstance, OPENMW_CFG, TITLES, find_instances, instance, instance_names, title,
};
use crate::system::mountinfo;
use crate::tree::{Kind, Tree};
use crate::vfs::sources::profile::Profile;
use crate::vfs::sources::resolve::place_of_instance;

/// A completion of the word at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The whole word, without quotes.
    pub(crate) text: Vec<u8>,
    /// One line of explanation. Empty for names.
    pub(crate) help: String,
}

impl Candidate {
    /// Creates a candidate for a name that needs no explanation.
    pub(crate) fn name(text: impl Into<Vec<u8>>) -> Self {
        Self { text: text.into(), help: String::new() }
    }
}

/// Which files on the disk are candidates. Folders always are, because the user may descend into them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskFiles {
    /// Archives, profiles, and openmw.cfg files.
    Sources,
    All,
    /// No files.
    Folders,
}

/// Files and folders whose paths begin with the typed text.
pub(crate) fn on_disk(typed: &[u8], files: DiskFiles) -> Vec<Candidate> {
    let name_at = typed.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let (parent, name) = typed.split_at(name_at);
    let folder = if parent.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(parent)) };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let candidate = |entry: fs::DirEntry| {
        let found = entry.file_name().into_vec();
        // Hidden files are offered only if the typed name begins with a dot.
        if !found.starts_with(name) || (name.is_empty() && found.starts_with(b".")) {
            return None;
        }
        let kind = entry.file_type().ok()?;
        let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
        let is_file = match files {
            DiskFiles::Sources => is_source(Path::new(OsStr::from_bytes(&found))),
            DiskFiles::All => true,
            DiskFiles::Folders => false,
        };
        let mut text = [parent, &found].concat();
        if is_folder {
            text.push(b'/');
        }
        (is_folder || is_file).then(|| Candidate::name(text))
    };
    entries.filter_map(Result::ok).filter_map(candidate).collect()
}

/// Files and folders below a folder on the disk, whose relative paths begin with the typed text.
pub(crate) fn below(folder: &Path, typed: &[u8]) -> Vec<Candidate> {
    let root = [folder.as_os_str().as_bytes(), b"/"].concat();
    let found = on_disk(&[&root, typed].concat(), DiskFiles::All).into_iter();
    found.filter_map(|it| Some(Candidate::name(it.text.strip_prefix(&root[..])?))).collect()
}

/// Whether a file's name is that of a source.
fn is_source(path: &Path) -> bool {
    Profile::is_called_source(path)
        || path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(OPENMW_CFG))
}

/// The ids of all games, installed or not.
pub(crate) fn games() -> Vec<Candidate> {
    TITLES.iter().map(|title| Candidate { text: title.id.into(), help: title.name.into() }).collect()
}

/// How long the Tab key may search for instances of Mod Organizer 2.
const SEARCH_TIME: Duration = Duration::from_millis(500);

/// Whether a text is the beginning of the id of a game, or has one before its first colon.
fn may_be_name(text: &str) -> bool {
    match text.split_once(':') {
        Some((id, _)) => title(id).is_some(),
        None => TITLES.iter().any(|title| title.id.starts_with(text)),
    }
}

/// Everything that can be mounted: files, folders, and installed games.
pub(crate) fn sources(typed: &[u8]) -> Vec<Candidate> {
    let mut found = on_disk(typed, DiskFiles::Sources);
    let (disk, environment) = (Disk::default(), Environment::of_process());
    // `skyrimse:` and a name of an instance, or the beginning of that.
    let is_name = std::str::from_utf8(typed).is_ok_and(|it| it.split('/').next().is_some_and(may_be_name));
    if is_name {
        let games = find(&disk, &environment);
        let instances = find_instances(&disk, &environment, &games, Some(SEARCH_TIME));
        let profiles_of = |name: &str| typed.starts_with(format!("{name}/").as_bytes());
        for (instance, name) in instances.iter().zip(instance_names(&instances)) {
            let Some(name) = name else { continue };
            let help = "Mod Organizer 2".to_owned();
            if profiles_of(&name) {
                let names = instance.profiles.iter().map(|(profile, _)| format!("{name}/{profile}"));
                found.extend(names.map(|name| Candidate { text: name.into(), help: help.clone() }));
            } else {
                found.push(Candidate { text: name.into(), help });
            }
        }
        found.retain(|it| it.text.starts_with(typed));
    }
    if !typed.contains(&b'/') {
        let games = find(&disk, &environment).installations;
        let names: BTreeSet<_> = games.iter().map(|game| (game.title.id, game.title.name)).collect();
        let games = names.into_iter().filter(|(id, _)| id.as_bytes().starts_with(typed));
        found.extend(games.map(|(id, name)| Candidate { text: id.into(), help: name.into() }));
        let saved = Profile::saved_names().into_iter().filter(|name| name.as_bytes().starts_with(typed));
        found.extend(saved.map(|name| Candidate { text: name.into(), help: "saved profile".into() }));
    }
    found
}

/// The profiles of the instances of Mod Organizer 2 among sources; of all instances if there are no sources.
pub(crate) fn profiles(sources: &[&[u8]]) -> Vec<Candidate> {
    let (disk, environment) = (Disk::default(), Environment::of_process());
    let found = find(&disk, &environment);
    let instances = match sources {
        [] => find_instances(&disk, &environment, &found, None),
        _ => {
            let paths = sources.iter().filter_map(|it| {
                let path = Path::new(OsStr::from_bytes(it));
                place_of_instance(path).map_or_else(|| std::path::absolute(path).ok(), Result::ok)
            });
            paths.filter_map(|path| instance(&disk, &path, &environment, &found)).collect()
        }
    };
    let candidate = |instance: &FoundInstance, name: String| {
        let is_selected = instance.profile.as_ref() == Some(&name);
        let help = if is_selected { "the selected profile" } else { "" };
        Candidate { text: name.into(), help: help.to_owned() }
    };
    let of_instance = |mut instance: FoundInstance| {
        let profiles = std::mem::take(&mut instance.profiles);
        profiles.into_iter().map(|(name, _)| candidate(&instance, name)).collect::<Vec<_>>()
    };
    instances.into_iter().flat_map(of_instance).collect()
}

/// Mountpoints, by absolute path or relative to the current folder. The daemons are not asked,
/// because one may hang.
pub(crate) fn mounts(typed: &[u8]) -> Vec<Candidate> {
    let here = std::env::current_dir().unwrap_or_default();
    mountpoints().iter().filter_map(|path| Some(Candidate::name(spelt(path, &here, typed)?))).collect()
}

fn mountpoints() -> BTreeSet<PathBuf> {
    let ours = mountinfo::mounts().into_iter().filter(mountinfo::MountEntry::is_bsafs);
    ours.map(|mount| overlay::mountpoint(&mount)).collect()
}

/// Returns a path in the form that the user began to type: relative, with `./`, or absolute.
fn spelt(path: &Path, here: &Path, typed: &[u8]) -> Option<Vec<u8>> {
    let below = path.strip_prefix(here).ok().filter(|below| !below.as_os_str().is_empty());
    let below = below.map(|below| below.as_os_str().as_bytes().to_owned());
    let dotted = below.as_ref().map(|below| [b"./", &below[..]].concat());
    let spellings = [below, dotted, Some(path.as_os_str().as_bytes().to_owned())];
    spellings.into_iter().flatten().find(|spelling| spelling.starts_with(typed))
}

/// The candidates of [`mounts`], and files in them as in [`on_disk`].
pub(crate) fn in_mounts(typed: &[u8]) -> Vec<Candidate> {
    let mut found = on_disk(typed, DiskFiles::All);
    let known: BTreeSet<Vec<u8>> = found.iter().map(|it| it.text.clone()).collect();
    let into = |mut mount: Candidate| {
        mount.text.push(b'/');
        mount
    };
    found.extend(mounts(typed).into_iter().map(into).filter(|mount| !known.contains(&mount.text)));
    found
}

/// Files and folders of a tree, one level deep. The typed text is kept as it is. It matches ignoring
/// case, with either slash.
pub(crate) fn in_tree(tree: &Tree, typed: &[u8]) -> Vec<Candidate> {
    let name_at = typed.iter().rposition(|byte| matches!(byte, b'/' | b'\\')).map_or(0, |at| at + 1);
    let (parent, name) = typed.split_at(name_at);
    let Some(folder) = tree.resolve(parent) else { return Vec::new() };
    let candidate = |child| {
        let found = tree.name(child);
        let rest = match found.split_at_checked(name.len()) {
            Some((begun, rest)) if begun.eq_ignore_ascii_case(name) => rest,
            _ => return None,
        };
        let end: &[u8] = if tree.kind(child) == Kind::Folder { b"/" } else { b"" };
        Some(Candidate::name([typed, rest, end].concat()))
    };
    tree.children(folder).filter_map(candidate).collect()
}

/// The candidates of [`in_tree`] as patterns that match each path literally.
pub(crate) fn patterns_in_tree(tree: &Tree, typed: &[u8]) -> Vec<Candidate> {
    let Some(path) = unescaped(typed) else { return Vec::new() };
    let found = in_tree(tree, &path).into_iter();
    let pattern = |it: Candidate| Candidate::name([typed, &pattern_of(&it.text[path.len()..])].concat());
    found.map(pattern).collect()
}

/// A pattern that matches only this path. Each special character becomes a character class.
fn pattern_of(path: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'*' | b'?' | b'[' | b']' | b'{' | b'}' => pattern.extend_from_slice(&[b'[', byte, b']']),
            _ => pattern.push(byte),
        }
    }
    pattern
}

/// The inverse of [`pattern_of`]. `None` for any other pattern.
pub(super) fn unescaped(pattern: &[u8]) -> Option<Vec<u8>> {
    let (mut path, mut rest) = (Vec::with_capacity(pattern.len()), pattern);
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (b'[', [special, b']', after @ ..]) => {
                path.push(*special);
                after
            }
            (b'*' | b'?' | b'[' | b'{', _) => return None,
            _ => {
                path.push(byte);
                after
            }
        };
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(candidates: Vec<Candidate>) -> BTreeSet<String> {
        candidates.into_iter().map(|it| String::from_utf8_lossy(&it.text).into_owned()).collect()
    }

    #[test]
    fn names_below_a_folder_that_is_too_large_to_open_are_completed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("textures/sub")).unwrap();
        fs::write(dir.path().join("textures/a.dds"), "").unwrap();
        let found = |typed: &str| {
            let found = below(dir.path(), typed.as_bytes()).into_iter();
            let mut found: Vec<_> = found.map(|it| String::from_utf8(it.text).unwrap()).collect();
            found.sort();
            found
        };
        assert_eq!((found(""), found("tex")), (vec!["textures/".to_owned()], vec!["textures/".to_owned()]));
        assert_eq!(found("textures/"), ["textures/a.dds", "textures/sub/"]);
        assert_eq!(found("none/"), [""; 0]);
    }

    #[test]
    fn sources_and_folders_are_offered_and_hidden_ones_only_after_a_dot() {
        let dir = tempfile::TempDir::new().expect("cannot create the folder");
        for name in ["Skyrim - A.BSA", "Skyrim.txt", "b.ba2", "p.toml", "openmw.cfg", ".hidden.bsa"] {
            fs::write(dir.path().join(name), "").expect("cannot write");
        }
        fs::create_dir(dir.path().join("Sub")).expect("cannot create Sub");
        std::os::unix::fs::symlink("Sub", dir.path().join("Skylink")).expect("cannot create the link");
        let path = |name: &str| format!("{}/{name}", dir.path().display());
        let found = |typed: &str, files| texts(on_disk(path(typed).as_bytes(), files));
        let set = |names: &[&str]| names.iter().map(|name| path(name)).collect::<BTreeSet<_>>();
        assert_eq!(found("S", DiskFiles::Sources), set(&["Skyrim - A.BSA", "Skylink/", "Sub/"]));
        assert_eq!(
            found("", DiskFiles::Sources),
            set(&["Skyrim - A.BSA", "Skylink/", "Sub/", "b.ba2", "openmw.cfg", "p.toml"])
        );
        assert_eq!(found("", DiskFiles::Folders), set(&["Skylink/", "Sub/"]));
        assert_eq!(found(".h", DiskFiles::Sources), set(&[".hidden.bsa"]));
        assert!(found("Sky", DiskFiles::All).contains(&path("Skyrim.txt")));
        assert!(found("none/", DiskFiles::All).is_empty());
    }

    #[test]
    fn a_mountpoint_is_completed_in_the_form_that_was_typed() {
        let spell = |typed: &str| {
            let found = spelt(Path::new("/home/me/mnt"), Path::new("/home/me"), typed.as_bytes());
            found.map(|it| String::from_utf8(it).expect("not UTF-8"))
        };
        assert_eq!(spell("").as_deref(), Some("mnt"));
        assert_eq!(spell("./").as_deref(), Some("./mnt"));
        assert_eq!(spell("/ho").as_deref(), Some("/home/me/mnt"));
        assert_eq!(spell("x"), None);
        assert_eq!(spelt(Path::new("/mnt"), Path::new("/mnt"), b""), Some(b"/mnt".to_vec()));
    }

    #[test]
    fn a_path_with_special_characters_is_escaped_in_a_pattern() {
        for path in ["a*b[c]{d}?", "plain/path", "]x"] {
            let pattern = pattern_of(path.as_bytes());
            assert_eq!(unescaped(&pattern).as_deref(), Some(path.as_bytes()));
            let text = String::from_utf8(pattern).expect("not UTF-8");
            let glob = globset::GlobBuilder::new(&text)
                .backslash_escape(false)
                .build()
                .expect("not a valid pattern");
            assert!(glob.compile_matcher().is_match(path), "{text}");
        }
        assert_eq!(unescaped(b"scripts/**"), None);
        assert_eq!(unescaped(b"a[bc]"), None);
    }
}
