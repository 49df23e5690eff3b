//! Which part of a folder is scanned: all of it, or what a game or a mod manager uses.

use std::sync::Arc;

use super::hidden_names::HiddenNames;
use super::loose_names::joined;

/// Which files and folders a scan takes. Comparisons ignore the case of ASCII letters, and `/` equals `\`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// If set, a scan takes only what lies directly in the folder and what lies below these folders.
    pub only_below: Option<Vec<String>>,
    /// Whether to leave out files that lie directly in the folder.
    pub no_direct_files: bool,
    /// Names of files and folders to leave out directly in the folder.
    pub not_at_root: Vec<String>,
    /// Whether to leave out links that a user other than root can have made, or that lead where another user
    /// decides.
    pub only_roots_links: bool,
    /// What a mod manager hides. All folders of an instance share it.
    pub hidden: Arc<HiddenNames>,
    /// If set, a scan takes only what lies directly in the folder and what is at these paths.
    pub only: Option<Arc<OnlyPaths>>,
}

/// The paths of a tree that a command needs. A scan for them walks the folders above them, and no others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OnlyPaths {
    /// Files, or folders with all that is below them.
    whole: Vec<Vec<u8>>,
    /// A folder whose entries are taken, without what is below them; empty for the scanned folder.
    listed: Option<Vec<u8>>,
}

impl OnlyPaths {
    /// Some files, or folders with all that is below them. `None` if a path has bytes that a tree may list in
    /// another form than a disk.
    pub fn at_or_below<'p>(paths: impl IntoIterator<Item = &'p [u8]>) -> Option<Self> {
        let whole = paths.into_iter().map(|path| plain(path).filter(|it| !it.is_empty()));
        Some(Self { whole: whole.collect::<Option<_>>()?, listed: None })
    }

    /// The entries of one folder, under the same condition.
    pub fn listed(folder: &[u8]) -> Option<Self> {
        Some(Self { whole: Vec::new(), listed: Some(plain(folder)?) })
    }

    fn takes_file(&self, folder: &[u8], name: &[u8]) -> bool {
        self.is_below_one(&joined(folder, name)) || self.lists(folder)
    }

    fn takes_folder(&self, path: &[u8]) -> bool {
        let parent = path.iter().rposition(|&byte| byte == b'/').map_or(&b""[..], |at| &path[..at]);
        self.enters(path) || self.lists(parent)
    }

    /// Whether a scan reads a folder.
    pub(super) fn enters(&self, path: &[u8]) -> bool {
        let mut all = self.whole.iter().chain(&self.listed);
        self.is_below_one(path) || all.any(|it| is_at_or_below(it, path))
    }

    fn is_below_one(&self, path: &[u8]) -> bool {
        self.whole.iter().any(|it| is_at_or_below(path, it))
    }

    fn lists(&self, folder: &[u8]) -> bool {
        self.listed.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(folder))
    }
}

/// A path without slashes at its ends and without double ones.
fn plain(path: &[u8]) -> Option<Vec<u8>> {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && !b"%\\:".contains(byte);
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect();
    let is_name = |name: &&[u8]| name.iter().all(is_plain) && !matches!(*name, b"." | b"..");
    names.iter().all(is_name).then(|| names.join(&b'/'))
}

impl Filter {
    /// Whether to take a file of this name. `folder` is the path of its folder, relative to the root.
    pub(super) fn takes_file(&self, folder: &[u8], name: &[u8]) -> bool {
        if folder.is_empty() && (self.no_direct_files || self.is_not_at_root(name))
            || self.hidden.hides_file(name)
        {
            return false;
        }
        if self.only.as_ref().is_some_and(|only| !folder.is_empty() && !only.takes_file(folder, name)) {
            return false;
        }
        folder.is_empty()
            || self.only_below.as_ref().is_none_or(|only| only.iter().any(|it| is_at_or_below(folder, it)))
    }

    /// Whether to walk a folder. `path` is relative to the root.
    pub(super) fn takes_folder(&self, path: &[u8]) -> bool {
        let at = path.iter().rposition(|&byte| byte == b'/');
        let name = at.map_or(path, |at| &path[at + 1..]);
        if at.is_none() && self.is_not_at_root(name) || self.hidden.hides_folder(name) {
            return false;
        }
        if self.only.as_ref().is_some_and(|only| !only.takes_folder(path)) {
            return false;
        }
        self.only_below.as_ref().is_none_or(|only| {
            only.iter().any(|it| is_at_or_below(path, it) || is_at_or_below(it.as_bytes(), path))
        })
    }

    /// Whether to take the mark that deletes a name. It may hide a file, a folder, or a folder that only
    /// leads to what the filter takes.
    pub(super) fn takes_mark(&self, folder: &[u8], name: &[u8]) -> bool {
        self.is_all() || self.takes_file(folder, name) || self.takes_folder(&joined(folder, name))
    }

    /// Whether the filter takes everything, but perhaps not all links.
    pub(super) fn is_all(&self) -> bool {
        *self == Self { only_roots_links: self.only_roots_links, ..Self::default() }
    }

    fn is_not_at_root(&self, name: &[u8]) -> bool {
        self.hidden.hides_at_root(name)
            || self.not_at_root.iter().any(|it| it.as_bytes().eq_ignore_ascii_case(name))
    }
}

/// Whether a path is that of a folder, or lies below it.
fn is_at_or_below(path: &[u8], folder: impl AsRef<[u8]>) -> bool {
    let mut path = parts(path);
    parts(folder.as_ref()).all(|part| path.next().is_some_and(|it| it.eq_ignore_ascii_case(part)))
}

fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| matches!(byte, b'/' | b'\\')).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_folders_and_files_in_the_root_are_included() {
        let filter =
            Filter { only_below: Some(vec!["STRINGS\\".into(), "Sound/Voice".into()]), ..Filter::default() };
        for (folder, is_taken) in [
            ("", true),
            ("strings", true),
            ("Strings/a", true),
            ("sound/VOICE/x", true),
            ("sound", false),
            ("stringsx", false),
        ] {
            assert_eq!(filter.takes_file(folder.as_bytes(), b"a.txt"), is_taken, "{folder}");
        }
        for (folder, is_walked) in
            [("sound", true), ("Sound/voice", true), ("sound/fx", false), ("meshes", false)]
        {
            assert_eq!(filter.takes_folder(folder.as_bytes()), is_walked, "{folder}");
        }
    }

    #[test]
    fn a_scan_for_some_paths_takes_these_and_reads_only_the_folders_above_them() {
        let only = OnlyPaths::at_or_below([&b"/Textures/Armor/"[..]]).unwrap();
        for (path, is_taken) in [
            ("", true),
            ("textures", true),
            ("TEXTURES/armor", true),
            ("textures/armor/Iron", true),
            ("textures/armors", false),
            ("meshes", false),
        ] {
            assert_eq!(
                [only.takes_folder(path.as_bytes()), only.enters(path.as_bytes())],
                [is_taken; 2],
                "{path}"
            );
        }
        assert!(only.takes_file(b"Textures/Armor/x", b"A.dds") && only.takes_file(b"textures", b"ARMOR"));
        assert!(!only.takes_file(b"textures", b"a.dds") && !only.takes_file(b"armor", b"a.dds"));
        let only = OnlyPaths::listed(b"textures/").unwrap();
        assert!(only.takes_file(b"Textures", b"a.dds") && !only.takes_file(b"textures/armor", b"a.dds"));
        assert!(only.takes_folder(b"textures/armor") && !only.enters(b"textures/armor"));
        assert!(OnlyPaths::listed(b"").unwrap().takes_folder(b"Textures"));
        for path in ["a%2Fb", "a\\b", "a/../b", "\u{e9}", "", "/"] {
            assert_eq!(OnlyPaths::at_or_below([path.as_bytes()]), None, "{path}");
        }
    }

    #[test]
    fn marks_of_folders_on_the_way_to_what_a_filter_takes_count() {
        let only = OnlyPaths::at_or_below([&b"textures/armor/iron/a.dds"[..]]).unwrap();
        let below = Some(vec!["Textures/Armor/Iron".to_owned()]);
        for filter in [
            Filter { only: Some(only.into()), ..Filter::default() },
            Filter { only_below: below, ..Filter::default() },
        ] {
            for (folder, name, is_taken) in [
                ("", "textures", true),
                ("Textures", "armor", true),
                ("textures/armor", "IRON", true),
                ("textures/armor/iron", "a.dds", true),
                ("textures", "armors", false),
                ("textures/armor", "steel", false),
            ] {
                let takes = filter.takes_mark(folder.as_bytes(), name.as_bytes());
                assert_eq!(takes, is_taken, "{folder} {name}");
            }
        }
    }

    #[test]
    fn files_in_the_root_can_be_excluded_without_its_folders() {
        let filter = Filter { no_direct_files: true, ..Filter::default() };
        assert!(
            !filter.takes_file(b"", b"a.esp")
                && filter.takes_file(b"a", b"b.txt")
                && filter.takes_folder(b"a")
        );
    }

    #[test]
    fn files_that_a_mod_manager_hides_are_excluded() {
        let hidden = HiddenNames::new(["meta.ini", "fomod"], [".git"], [".mohidden"]).into();
        let filter = Filter { hidden, ..Filter::default() };
        assert!(!filter.takes_file(b"", b"Meta.INI") && filter.takes_file(b"a", b"meta.ini"));
        assert!(!filter.takes_folder(b"fomod") && filter.takes_folder(b"a/fomod"));
        assert!(!filter.takes_folder(b"a/.GIT") && !filter.takes_file(b"a", b"x.dds.MOhidden"));
    }
}
