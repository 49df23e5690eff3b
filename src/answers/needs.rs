//! Which textures and materials meshes need, and whether they are in the tree.
//!
//! [`needs`] scans meshes and materials for names (`mesh.rs`), and then the materials and meshes that these
//! name. A name
//! counts as *missing* only if the engine would load the file. It does not in these cases ([`Unneeded`]),
//! which are shown, but not counted:
//!
//! * A mesh of Fallout 4 or 76 that has a material takes its textures from there. The mesh often names old
//!   ones (NifSkope, `BSShaderLightingProperty::fileName` in `gl/glproperty.cpp`).
//! * Materials of Starfield are in a compiled database, `materials/materialsbeta.cdb`, which bsafs does not
//!   read. A loose MAT takes the place of one.
//!
//! Names that end in `.nif`, `.tri` or `.hkx` are often those of nodes, so they are listed only if they are
//! there. A mesh that is there is read, too.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::format::encoding::Encoding;
use crate::kinds::{MATERIALS, MESHES, MOHIDDEN, ends, is_plugin};
use crate::limits::NEEDS_MAX;
use crate::mesh::{self, MeshError, NameKind, NamedFile};
use crate::named::named;
use crate::system::parallel::in_parallel;
use crate::tree::NodeId;
use crate::vfs::file::VfsFile;
use crate::vfs::library::{Vfs, VfsEntry, VfsFolder};

/// A file that a mesh or a material names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) kind: NameKind,
    pub(crate) found: Named,
}

/// Whether a named file is in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Named {
    There(NodeId),
    /// It is not there. The path at which the engine searches first.
    Missing(Box<str>),
    /// It is not there, and the engine does not need it.
    Unneeded(Box<str>, Unneeded),
}

named! {
    /// Why the engine does not need a file that a mesh names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(crate) enum Unneeded;
    fn words;

    MaterialDecides = "not there; the mesh has a material, which names the textures";
    MaybeCompiled = "no loose file; the compiled materials are not read";
}

/// What a mesh or a material needs.
#[derive(Debug)]
pub(crate) struct NeedsOf {
    pub(crate) file: VfsFile,
    /// In the order of the file, or why the names are not known.
    pub(crate) needs: Result<Vec<Need>, MeshError>,
}

/// What files need.
#[derive(Debug)]
pub(crate) struct Needs {
    /// One for each file, in the order in which they were given.
    pub(crate) files: Vec<NeedsOf>,
    /// The materials and meshes that these name, directly or through others.
    pub(crate) followed: HashMap<NodeId, NeedsOf>,
    /// Whether the names were more than [`NEEDS_MAX`], so that the rest was not scanned.
    pub(crate) is_cut: bool,
}

/// One line of what a file needs.
#[derive(Debug)]
pub(crate) struct Line<'n> {
    pub(crate) need: &'n Need,
    /// The material or other mesh that names it; `None` if the file itself does.
    pub(crate) material: Option<&'n VfsFile>,
    /// The number of materials and meshes between the file and the name.
    pub(crate) depth: usize,
}

impl Needs {
    /// What a file needs. If `depth_max` is not 0, each material and mesh is followed by what it needs in
    /// turn, down to this depth.
    pub(crate) fn lines<'n>(&'n self, file: &'n NeedsOf, depth_max: usize) -> Vec<Line<'n>> {
        let (mut lines, mut seen) = (Vec::new(), HashSet::from([file.file.node()]));
        self.add_lines(file, None, (0, depth_max), &mut seen, &mut lines);
        lines
    }

    fn add_lines<'n>(
        &'n self,
        file: &'n NeedsOf,
        material: Option<&'n VfsFile>,
        (depth, depth_max): (usize, usize),
        seen: &mut HashSet<NodeId>,
        lines: &mut Vec<Line<'n>>,
    ) {
        for need in file.needs.iter().flatten() {
            lines.push(Line { need, material, depth });
            if depth < depth_max
                && let Some(more) = self.followed(need)
                && seen.insert(more.file.node())
            {
                self.add_lines(more, Some(&more.file), (depth + 1, depth_max), seen, lines);
            }
        }
    }

    /// What a material or mesh that is named needs.
    fn followed(&self, need: &Need) -> Option<&NeedsOf> {
        match need.found {
            Named::There(node) => self.followed.get(&node),
            Named::Missing(_) | Named::Unneeded(..) => None,
        }
    }

    /// The files that were scanned, those that others name included.
    fn scanned(&self) -> impl Iterator<Item = &NeedsOf> {
        self.files.iter().chain(self.followed.values())
    }

    /// The files whose names are not known, ordered by path, and why.
    pub(crate) fn unread(&self) -> impl Iterator<Item = (&VfsFile, &MeshError)> {
        let of = |it: &NeedsOf| (it.file.node(), it.file.entry());
        let mut seen = HashSet::new();
        let unread = self.scanned().filter_map(|it| Some((it, it.needs.as_ref().err()?)));
        let mut unread: Vec<_> = unread.filter(|(it, _)| seen.insert(of(it))).collect();
        unread.sort_by_cached_key(|(it, _)| it.file.path_bytes());
        unread.into_iter().map(|(it, why)| (&it.file, why))
    }

    /// Whether every mesh and material was read, with all of its names.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_cut && self.unread().next().is_none()
    }

    /// Number of different files that are named and needed, and how many of these are missing.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let named = self.scanned().flat_map(|it| it.needs.iter().flatten());
        let needed = named.filter(|need| !matches!(need.found, Named::Unneeded(..)));
        let all: HashSet<&Named> = needed.map(|need| &need.found).collect();
        (all.len(), all.iter().filter(|found| matches!(found, Named::Missing(_))).count())
    }

    /// The scanned files and all that they need, once each.
    pub(crate) fn all(&self, vfs: &Vfs) -> Vec<VfsFile> {
        let files = self.files.iter().map(|it| it.file.clone());
        let named = self.scanned().flat_map(|it| it.needs.iter().flatten());
        let there = named.filter_map(|need| match need.found {
            Named::There(node) => vfs.file_of(node),
            Named::Missing(_) | Named::Unneeded(..) => None,
        });
        let mut seen = HashSet::new();
        files.chain(there).filter(|file| seen.insert(file.node())).collect()
    }

    /// The scanned files that name a file, each with the material or mesh that does so if the file itself
    /// does not.
    pub(crate) fn naming(&self, target: &Named) -> Vec<(&VfsFile, Option<&VfsFile>)> {
        let same = |found: &Named| match (found, target) {
            (Named::Unneeded(path, _), Named::Missing(target)) => path == target,
            _ => found == target,
        };
        let mut naming: HashSet<NodeId> = HashSet::new();
        let names_it = |need: &Need, naming: &HashSet<NodeId>| {
            same(&need.found) || self.followed(need).is_some_and(|it| naming.contains(&it.file.node()))
        };
        for _ in 0..DEPTH_MAX {
            let new = self.followed.iter().filter(|(node, _)| !naming.contains(node));
            let new = new.filter(|(_, it)| it.needs.iter().flatten().any(|need| names_it(need, &naming)));
            let new: Vec<NodeId> = new.map(|(node, _)| *node).collect();
            if new.is_empty() {
                break;
            }
            naming.extend(new);
        }
        let mut found = Vec::new();
        for file in &self.files {
            let needs = || file.needs.iter().flatten();
            if needs().any(|need| same(&need.found)) {
                found.push((&file.file, None));
            } else if let Some(need) = needs().find(|need| names_it(need, &naming)) {
                found.push((&file.file, self.followed(need).map(|it| &it.file)));
            }
        }
        found
    }
}

/// Maximum number of materials and meshes between a mesh and a texture.
pub(crate) const DEPTH_MAX: usize = 8;

/// Whether a file is a mesh or a material, by its path. Mod Organizer hides what is in some folders from the
/// game.
pub(crate) fn is_scanned(file: &VfsFile) -> bool {
    mesh::is_scanned(file.name()) && is_scanned_path(&file.path())
}

/// As [`is_scanned`], for a path with `/` between its names.
pub(crate) fn is_scanned_path(path: &str) -> bool {
    let is_hidden = path.split('/').any(|name| ends(name, &[MOHIDDEN]));
    mesh::is_scanned(path.as_bytes()) && !is_hidden
}

/// Scans files, and the materials and meshes that they name. `advance` is called after each file.
pub(crate) fn needs(vfs: &Vfs, files: Vec<VfsFile>, advance: &(dyn Fn(&VfsFile) + Sync)) -> Needs {
    let found = AtomicUsize::new(0);
    let scan = |files: Vec<VfsFile>| -> Vec<NeedsOf> {
        // In stored order, so that a disk is read in one pass.
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_cached_key(|&index| files[index].place());
        let scanned = in_parallel(files.len(), &|| {}, |at| {
            let file = &files[order[at]];
            let needs =
                if found.load(Ordering::Relaxed) < NEEDS_MAX { needs_of(vfs, file) } else { Ok(vec![]) };
            found.fetch_add(needs.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
            advance(file);
            (order[at], needs)
        });
        let mut needs: Vec<_> = scanned;
        needs.sort_unstable_by_key(|(index, _)| *index);
        files.into_iter().zip(needs).map(|(file, (_, needs))| NeedsOf { file, needs }).collect()
    };
    let files = scan(files);
    let mut followed: HashMap<NodeId, NeedsOf> = HashMap::new();
    let mut next = to_follow(vfs, &files);
    while !next.is_empty() {
        let scanned = scan(next);
        next = to_follow(vfs, &scanned);
        followed.extend(scanned.into_iter().map(|it| (it.file.node(), it)));
        next.retain(|file| !followed.contains_key(&file.node()));
    }
    Needs { files, followed, is_cut: found.into_inner() >= NEEDS_MAX }
}

/// Where the engine finds what a path names, which may be written as a mesh writes it.
pub(crate) fn find(vfs: &Vfs, path: &[u8]) -> Option<Named> {
    let name = NamedFile { kind: mesh::kind_of_name(path)?, stored: path.to_owned() };
    Some(found(vfs, &name, false))
}

/// Which meshes and materials name a file that is not in the tree, among those that are near.
#[derive(Debug)]
pub(crate) struct Near {
    /// The path at which the engine searches for the file first.
    pub(crate) path: Box<str>,
    /// The folder whose meshes were read; `None` if none is near, or if there are too many.
    pub(crate) folder: Option<String>,
    /// The meshes and materials that name the file.
    pub(crate) naming: Vec<VfsFile>,
    /// The first of the meshes and materials that cannot be read, and their number.
    pub(crate) unread: Option<(VfsFile, usize)>,
}

/// Searches for meshes that name a missing file, in the folders where artists keep both: `meshes/armor/iron`
/// for `textures/armor/iron/cuirass.dds`, then the folder around. Faces of a plugin's persons are in folders
/// of the plugin's name. Reads at most [`NEAR_MAX`] files. Returns `None` if meshes name no such file, or if
/// it is in the tree.
pub(crate) fn near(vfs: &Vfs, path: &[u8]) -> Option<Near> {
    let Some(Named::Missing(path)) = find(vfs, path) else { return None };
    let parts: Vec<&str> = path.split('/').collect();
    let folders = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
    let mut near = Near { path: path.clone(), folder: None, naming: Vec::new(), unread: None };
    let mut places = Vec::new();
    if let Some(at) = folders.iter().position(is_plugin) {
        let face = folders[..=at].join("/").to_ascii_lowercase().replace("/facetint/", "/facegeom/");
        places.push(face);
    }
    places.extend((1..=folders.len()).rev().map(|len| folders[..len].join("/")));
    for place in places {
        let mut files = Vec::new();
        let is_all = [MESHES, MATERIALS]
            .iter()
            .all(|root| vfs.folder(format!("{root}/{place}")).is_none_or(|it| add_scanned(&it, &mut files)));
        if !is_all {
            break;
        }
        if files.is_empty() {
            continue;
        }
        let found = needs(vfs, files, &|_| {});
        let mut unread = found.files.iter().filter(|it| it.needs.is_err()).map(|it| it.file.clone());
        near.unread = unread.next().map(|first| (first, 1 + unread.count()));
        near.folder = Some(format!("{MESHES}/{place}"));
        near.naming =
            found.naming(&Named::Missing(path.clone())).into_iter().map(|it| it.0.clone()).collect();
        if !near.naming.is_empty() {
            break;
        }
    }
    Some(near)
}

/// Maximum number of meshes and materials that are read to find who names one file.
const NEAR_MAX: usize = 300;

/// Adds the meshes and materials below a folder. Returns `false` if they are too many.
fn add_scanned(folder: &VfsFolder, files: &mut Vec<VfsFile>) -> bool {
    folder.entries().all(|entry| match entry {
        VfsEntry::Folder(folder) => add_scanned(&folder, files),
        VfsEntry::File(file) => {
            if is_scanned(&file) {
                files.push(file);
            }
            files.len() <= NEAR_MAX
        }
    })
}

/// The materials and meshes that files name and that are in the tree, once each.
fn to_follow(vfs: &Vfs, files: &[NeedsOf]) -> Vec<VfsFile> {
    let needs = files.iter().filter_map(|file| file.needs.as_ref().ok()).flatten();
    let mut seen = HashSet::new();
    let nodes = needs.filter_map(|need| match (need.kind, &need.found) {
        (NameKind::Material | NameKind::Other, Named::There(node)) => Some(*node),
        _ => None,
    });
    let files = nodes.filter(|node| seen.insert(*node)).filter_map(|node| vfs.file_of(node));
    files.filter(|file| mesh::is_scanned(file.name())).collect()
}

fn needs_of(vfs: &Vfs, file: &VfsFile) -> Result<Vec<Need>, MeshError> {
    let scanned = mesh::scan(file.stream())?;
    let is_old = scanned.kind.is_old();
    let named = scanned.names.iter().map(|name| Need { kind: name.kind, found: found(vfs, name, is_old) });
    let is_listed = |need: &Need| need.kind != NameKind::Other || matches!(need.found, Named::There(_));
    // A mesh may have one name in several spellings.
    let mut seen = HashSet::new();
    let mut needs: Vec<Need> =
        named.filter(is_listed).filter(|need| seen.insert(need.found.clone())).collect();
    let is_there = |need: &Need| need.kind == NameKind::Material && matches!(need.found, Named::There(_));
    let has_material = needs.iter().any(is_there);
    for need in &mut needs {
        let why = match need.kind {
            NameKind::Material if scanned.kind.has_compiled_materials() => Unneeded::MaybeCompiled,
            NameKind::Texture if has_material => Unneeded::MaterialDecides,
            _ => continue,
        };
        if let Named::Missing(path) = &mut need.found {
            need.found = Named::Unneeded(std::mem::take(path), why);
        }
    }
    Ok(needs)
}

fn found(vfs: &Vfs, name: &NamedFile, is_old: bool) -> Named {
    let paths = mesh::paths(name, is_old);
    let there = paths.iter().find_map(|path| vfs.file(decoded(path).as_bytes()));
    match there {
        Some(file) => Named::There(file.node()),
        None => Named::Missing(paths.first().map(|path| decoded(path)).unwrap_or_default().into()),
    }
}

/// A stored path as text: UTF-8 if it is valid, otherwise windows-1252, as the games read it.
fn decoded(path: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(path) {
        Ok(text) => text.into(),
        Err(_) => Encoding::default().decode(path).unwrap_or_else(|| String::from_utf8_lossy(path)),
    }
}
