//! The tree of names: what is listed, what is hidden, and which name each entry's archive stores.

mod hostile;
mod loose;
mod merging;
mod numbered; // names with numbers
mod spellings;
mod unnamed;
mod views;

use bsafs::format::encoding::Encoding;
use bsafs::format::hash::{Family, Hash};
use bsafs::format::{About, Archive, Entry, EntryId, FileList, Limits, Name, parse};
use bsafs::tree::{self, Kind, LayerNames, NodeId, Tree};

/// The tables of an archive with these names. Only what a tree reads is filled in.
fn archive<'a>(names: impl IntoIterator<Item = Name<'a>>) -> Archive<'a> {
    let entry = |name| Entry { name, hash: Hash::default(), extents: 0 };
    Archive {
        about: About {
            format: "test",
            version: 0,
            kind: "",
            games: "",
            platform: "",
            flags: 0,
            flag_names: Vec::new(),
        },
        hashes: Family::Fo4,
        files: FileList { entries: names.into_iter().map(entry).collect(), extents: Vec::new() }.into(),
        heads: Default::default(),
        sniffed: Vec::new(),
        has_ascii_names: false,
        tables: Vec::new(),
        notes: Vec::new(),
    }
}

/// A layer of an archive that stores whole paths.
fn layer<P: AsRef<[u8]>>(paths: &[P], base: Option<&str>) -> LayerNames {
    let names = paths.iter().map(|path| Name::Path(path.as_ref()));
    LayerNames::new(&archive(names), Encoding::default(), base).unwrap()
}

/// A tree of such layers, the last of which wins.
fn tree_of_paths<P: AsRef<[u8]>>(layers: &[&[P]]) -> Tree {
    tree::merge(layers.iter().map(|paths| layer(paths, None)).collect(), tree::Rule::LastWins).unwrap()
}

/// A tree of archives from a builder, each with its base folder.
fn tree_of_archives(archives: &[(&[u8], Option<&str>)]) -> Tree {
    let read = |(bytes, base): &(&[u8], Option<&str>)| {
        LayerNames::new(&parse(bytes, &Limits::default()).unwrap(), Encoding::default(), *base).unwrap()
    };
    tree::merge(archives.iter().map(read).collect(), tree::Rule::LastWins).unwrap()
}

/// The entry of a file, or `None` for a folder.
fn entry_of(tree: &Tree, node: NodeId) -> Option<EntryId> {
    match tree.kind(node) {
        Kind::Folder => None,
        Kind::File(entry) => Some(entry),
    }
}

/// Every path with its entry, or `None` for a folder, in the order of nodes.
fn everything(tree: &Tree) -> Vec<(String, Option<EntryId>)> {
    let text = |node| String::from_utf8(tree.path(node)).unwrap();
    tree.nodes().skip(1).map(|node| (text(node), entry_of(tree, node))).collect()
}

/// The paths of all files, sorted.
fn files(tree: &Tree) -> Vec<String> {
    let mut paths: Vec<String> =
        everything(tree).into_iter().filter(|(_, entry)| entry.is_some()).map(|(path, _)| path).collect();
    paths.sort();
    paths
}

/// Number of hidden entries in the whole tree.
fn hidden(tree: &Tree) -> usize {
    tree.nodes().map(|node| tree.hidden(node).len()).sum()
}

/// Swaps the case of ASCII letters.
fn swapped(name: &[u8]) -> Vec<u8> {
    let swap = |byte: &u8| {
        if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
    };
    name.iter().map(swap).collect()
}

fn id(layer: u16, entry: u32) -> EntryId {
    EntryId { layer, entry }
}
