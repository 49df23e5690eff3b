//! The chain of OpenMW's settings files, in which each file may name others.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use crate::game::disk::Disk;
use crate::game::settings::openmw_cfg::{Cfg, OPENMW_CFG, Places};
use crate::limits::CHAIN_VALUES_MAX;
use crate::note::{Note, NoteCode};
use crate::system::covered::LinkWalk;
use crate::system::text::size;

/// Maximum number of files read for one chain.
const FILES_MAX: usize = 256;

/// Which settings files an OpenMW reads. Lines `config=` began with 0.48; before, it read the global file, or
/// the one in its own folder, and then always the user's (OpenMW 0.47, `configurationmanager.cpp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// Older than 0.48.
    BeforeConfig,
    /// 0.48 or newer.
    WithConfig,
    Unknown,
}

/// Settings files of a chain, lowest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    pub(crate) files: Vec<Cfg>,
}

impl Chain {
    /// Reads the chain that begins in `start`, and after it the file in `last`. An old release knows no lines
    /// `config=`, and follows none.
    pub(crate) fn read(
        disk: &Disk,
        start: &Path,
        last: Option<&Path>,
        release: Release,
        places: &Places,
        notes: &mut Vec<Note>,
    ) -> Self {
        let mut chain = Self::default();
        let (mut seen, mut cost, mut walk) = (HashSet::new(), 0, LinkWalk::default());
        // A stack: the files that a file names come before those that were named earlier.
        let mut waiting: Vec<PathBuf> = last.into_iter().chain([start]).map(Path::to_owned).collect();
        while let Some(folder) = waiting.pop() {
            if seen.contains(&folder) {
                continue;
            }
            let path = folder.join(OPENMW_CFG);
            if seen.len() == FILES_MAX {
                let text = format!("left out: config= in openmw.cfg leads to more than {FILES_MAX} files");
                notes.push(Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text));
                break;
            }
            seen.insert(folder.clone());
            let Some(bytes) = (!disk.is_dir(&path)).then(|| disk.list(&path, notes)).flatten() else {
                if disk.is_gone(&folder) {
                    let text = "config= in an openmw.cfg names this folder, but it does not exist";
                    notes.push(Note::new(NoteCode::FolderMissing, folder.to_string_lossy(), text));
                }
                continue;
            };
            let cfg = Cfg::parse(&folder, &bytes);
            cost += cfg.cost();
            if cost > CHAIN_VALUES_MAX {
                let text = format!(
                    "left out: the values of this openmw.cfg and of those before it take more than {}",
                    size(CHAIN_VALUES_MAX as u64)
                );
                notes.push(Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text));
                break;
            }
            if cfg.replaces("config") {
                chain.files.truncate(1);
            }
            let named = cfg.values("config").rev().filter(|_| release != Release::BeforeConfig);
            waiting.extend(named.map(|value| without_parents(&mut walk, &cfg.path(value, places))));
            chain.files.push(cfg);
        }
        chain
    }

    /// The values of a list, lowest first, each with the file that sets it.
    pub(crate) fn list(&self, key: &str) -> Vec<(&Cfg, String)> {
        let mut values = Vec::new();
        for cfg in &self.files {
            if cfg.replaces(key) {
                values.clear();
            }
            values.extend(cfg.values(key).map(|value| (cfg, value.to_owned())));
        }
        values
    }

    /// The path in a setting with a single value, as OpenMW spells it. The highest file that sets it wins.
    pub(crate) fn path(&self, key: &str, places: &Places) -> Option<PathBuf> {
        let value = |cfg: &Cfg| cfg.values(key).next_back().map(|value| cfg.path(value, places));
        self.files.iter().rev().find_map(value)
    }
}

/// A path without `.` and `..`. A link before `..` is followed, as the kernel does. A path with too many
/// parts keeps its end. Paths that are followed in one walk share what it reads.
pub(crate) fn without_parents(walk: &mut LinkWalk, path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else {
        return parts.into_iter().collect();
    };
    let (followed, rest) = parts.split_at(last + 1);
    let mut plain = walk.follow(&followed.iter().collect::<PathBuf>(), &mut |_, _| {});
    plain.extend(rest);
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{Cfg, Chain, Disk, LinkWalk, PathBuf, Places, Release};

    /// Creates a chain from folders and the texts of their settings files.
    fn chain(files: &[(&str, &str)]) -> (Vec<String>, Chain) {
        let dir = tempfile::tempdir().unwrap();
        for (folder, text) in files {
            fs::create_dir(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join("openmw.cfg"), text).unwrap();
        }
        let (start, mut notes) = (dir.path().join(files[0].0), Vec::new());
        let chain =
            Chain::read(&Disk::default(), &start, None, Release::Unknown, &Places::default(), &mut notes);
        let name = |cfg: &Cfg| cfg.folder.file_name().unwrap().to_string_lossy().into_owned();
        (chain.files.iter().map(name).collect(), chain)
    }

    #[test]
    fn config_files_are_read_once_and_nested_ones_first() {
        let files = [
            ("1", "config=../2\nconfig=../3\ncontent=1\n"),
            ("2", "config=../4\ncontent=2\n"),
            ("3", "config=../1\ncontent=3\nreplace=fallback-archive\nfallback-archive=3\n"),
            ("4", "content=4\nfallback-archive=4\n"),
        ];
        let (names, chain) = chain(&files);
        assert_eq!(names, ["1", "2", "4", "3"]);
        let values = |key| chain.list(key).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(
            (values("content"), values("fallback-archive")),
            (vec!["1".into(), "2".into(), "4".into(), "3".into()], vec!["3".to_owned()])
        );
    }

    #[test]
    fn replace_config_keeps_the_first_file() {
        let files = [("1", "config=../2\nconfig=../3\n"), ("2", ""), ("3", "replace=config\nconfig=../2\n")];
        assert_eq!(chain(&files).0, ["1", "3"]);
    }

    #[test]
    fn two_points_after_a_linked_folder_lead_out_of_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("dotfiles/openmw")).unwrap();
        symlink("dotfiles/openmw", root.join("openmw")).unwrap();
        let mut walk = LinkWalk::default();
        let mut without_parents = |path: PathBuf| super::without_parents(&mut walk, &path);
        assert_eq!(without_parents(root.join("openmw/../mods/.")), root.join("dotfiles/mods"));
        assert_eq!(without_parents(root.join("openmw/./mods/")), root.join("openmw/mods"));
        assert_eq!(without_parents(root.join("openmw/..")), root.join("dotfiles"));
    }

    #[test]
    fn a_settings_file_in_another_spelling_is_not_read() {
        let (dir, mut notes) = (tempfile::tempdir().unwrap(), Vec::new());
        fs::write(dir.path().join("OpenMW.cfg"), "data=/a\n").unwrap();
        let chain =
            Chain::read(&Disk::default(), dir.path(), None, Release::Unknown, &Places::default(), &mut notes);
        assert_eq!((chain.files.len(), notes.len()), (0, 0));
    }
}
