//! Which folders on the disk a folder of the mount shows, and which folders of the mount show a folder on the
//! disk.
//!
//! Both are asked for each folder that is used, changes, or loses its watch. So the layers are found by the
//! paths of their folders, and those that contribute to a folder of the mount are kept for each view.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::shared::Invalidation;
use super::view::View;
use crate::folder::LooseFolder;
use crate::format::EntryId;
use crate::tree::{Ino, Kind, NodeId};

impl View {
    /// The folders on the disk that a folder of the mount shows, and those with its files.
    pub(crate) fn disk_folders(&self, ino: Ino) -> Vec<PathBuf> {
        let Some(node) = self.folder(ino).ok().and_then(|inode| inode.node) else { return Vec::new() };
        let all = self.disk_folders.shown.get_or_init(|| self.shown_folders());
        let start = all.partition_point(|(shown_by, ..)| *shown_by < node);
        let shown = all[start..].iter().take_while(|(shown_by, ..)| *shown_by == node);
        let mut folders = Vec::new();
        for &(_, layer, number) in shown {
            let Some(folder) = self.store().folder(layer) else { continue };
            folders.push(folder.folder_path(number));
            folders.extend(folder.folders_of_links(number));
        }
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// The folders on the disk of all layers, each after the node that shows it.
    fn shown_folders(&self) -> Box<[(NodeId, u16, u32)]> {
        let mut shown = Vec::new();
        for (layer, folder) in self.store().folders() {
            let mut nodes: Vec<Option<NodeId>> = vec![self.tree().folder_of_layer(layer, b"")];
            for (parent, name, _) in folder.names().folders().skip(1) {
                let above = nodes.get(parent as usize).copied().flatten();
                let found = above.and_then(|above| self.tree().lookup(above, name.bytes));
                nodes.push(found.filter(|node| self.tree().kind(*node) == Kind::Folder));
            }
            shown.extend((0..).zip(nodes).filter_map(|(number, node)| Some((node?, layer, number))));
        }
        shown.sort_unstable();
        shown.into()
    }

    /// The folders of loose files at a path on the disk: for each its layer, what is known of the layer, and
    /// the number of the folder there.
    fn loose_folders_at(&self, path: &Path) -> impl Iterator<Item = (u16, &Arc<LooseFolder>, u32)> {
        self.layers_at(path).filter_map(|(layer, within)| {
            let folder = self.store().folder(layer)?;
            Some((layer, folder, folder.find_folder(within).ok()?))
        })
    }

    /// What the kernel may have cached without a time limit although no event reports its changes any more:
    /// the attributes of the files in a folder on the disk, and the listing of the folder that shows them.
    pub(crate) fn cached_of(&self, path: &Path, unwatched: &mut Invalidation) {
        let nodes = self.folders_at(path);
        for node in &nodes {
            let own = self.tree().ino(*node);
            unwatched.folders.push(own);
            unwatched.folders.extend(self.shared.remembered.spellings.other_numbers_of(own));
        }
        for (layer, folder, number) in self.loose_folders_at(path) {
            for entry in folder.names().files_in(number) {
                let name = folder.names().file_name(entry);
                let shown = nodes.iter().filter_map(|node| self.tree().lookup(*node, name));
                let of_file = shown.filter(|it| self.entry(*it) == Some(EntryId { layer, entry }));
                unwatched.attributes.extend(of_file.map(|it| self.tree().ino(it)));
            }
        }
    }

    /// Those of some folders on the disk in which a loose file may have changed since it was statted.
    pub(crate) fn stale_folders(
        &self,
        paths: &[Arc<OsStr>],
        is_asked: impl Fn(&Path) -> bool,
    ) -> Vec<PathBuf> {
        let asked: HashSet<&Path> =
            paths.iter().map(|path| Path::new(&**path)).filter(|path| is_asked(path)).collect();
        let is_stale = |path: &&Path| {
            self.loose_folders_at(path).any(|(_, folder, number)| folder.has_stale_files(number))
        };
        let mut stale: Vec<PathBuf> = asked.iter().copied().filter(is_stale).map(Path::to_owned).collect();
        for (_, folder) in self.store().folders() {
            stale.extend(folder.stale_folders_of_links(|at| asked.contains(at)));
        }
        stale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{FileSystem, Presentation};
    use crate::vfs::Vfs;

    #[test]
    fn a_folder_shows_those_of_the_layers_that_have_it_however_they_spell_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for path in ["a/Textures/Sky/x.dds", "b/textures/y.dds", "c/TEXTURES/sky/z.dds", "d/meshes/m.nif"] {
            std::fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            std::fs::write(at(path), path).unwrap();
        }
        std::os::unix::fs::symlink(at("d/meshes/m.nif"), at("a/Textures/Sky/link.nif")).unwrap();
        let vfs = Vfs::open(["a", "b", "c", "d"].map(at)).unwrap();
        let fs = FileSystem::new(vfs, Presentation::default());
        let view = fs.view();
        let ino = |path: &[u8]| view.tree().ino(view.tree().resolve(path).unwrap());
        let (sky, z) = (ino(b"textures/sky"), ino(b"textures/sky/z.dds"));
        let shown = ["a/Textures/Sky", "c/TEXTURES/sky", "d/meshes"].map(at);
        assert_eq!(view.disk_folders(sky), shown);
        assert_eq!(view.disk_folders(ino(b"textures")), ["a/Textures", "b/textures", "c/TEXTURES"].map(at));
        assert_eq!(view.folders_at(&at("b/")).len(), 1, "the path of a layer ends with a slash");
        let nodes = |path: &str| -> Vec<Ino> {
            view.folders_at(&at(path)).into_iter().map(|node| view.tree().ino(node)).collect()
        };
        assert_eq!((nodes("c/TEXTURES/sky"), nodes("c"), nodes("ab")), (vec![sky], vec![Ino::ROOT], vec![]));
        let mut unwatched = Invalidation::default();
        view.cached_of(&at("c/TEXTURES/sky"), &mut unwatched);
        assert_eq!((unwatched.folders, unwatched.attributes), (vec![sky], vec![z]));
    }
}
