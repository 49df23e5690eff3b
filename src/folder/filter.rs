//! Which part of a folder is scanned: all of it, or what a game or a mod manager uses.

use std::sync::Arc;

use super::hidden_names::HiddenNames;

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
}

impl Filter {
    /// Whether to take a file of this name. `folder` is the path of its folder, relative to the root.
    pub(super) fn takes_file(&self, folder: &[u8], name: &[u8]) -> bool {
        if folder.is_empty() && (self.no_direct_files || self.is_not_at_root(name))
            || self.hidden.hides_file(name)
        {
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
        self.only_below.as_ref().is_none_or(|only| {
            only.iter().any(|it| {
                is_at_or_below(path, it) || is_at_or_below(it.as_bytes(), &String::from_utf8_lossy(path))
            })
        })
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
fn is_at_or_below(path: &[u8], folder: &str) -> bool {
    let mut path = parts(path);
    parts(folder.as_bytes()).all(|part| path.next().is_some_and(|it| it.eq_ignore_ascii_case(part)))
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
