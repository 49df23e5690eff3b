//! The report that `bsafs mount` prints: what it found, in at most six lines, and how to unmount
//! it.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use indicatif::BinaryBytes;

use super::output::quoted;
use crate::content::Store;
use crate::daemon::mountpoint::Mountpoint;
use crate::format::EntryId;
use crate::game::{ArchiveRule, LoadOrder, LooseRule, NoteCode};
use crate::system::text::count;
use crate::tree::NodeId;
use crate::vfs::Vfs;

/// Describes what was mounted, and how to unmount it.
pub(crate) fn report(
    order_arguments: &[String],
    vfs: &Vfs,
    mountpoint: &Mountpoint,
    edit: Option<&Path>,
) -> String {
    let path = mountpoint.path.display();
    let made = if mountpoint.is_made() { " (a new folder, which goes with the mount)" } else { "" };
    let hidden = vfs.tree().nodes().map(|node| vfs.tree().hidden(node).len()).sum::<usize>();
    let (archives, folders) = (vfs.opened().descriptions.len(), folders(vfs.store()));
    let later = if folders == 0 { "archives" } else { "layers" };
    let hides = if hidden > 0 { format!(", {hidden} hidden by later {later}") } else { String::new() };
    let layers = match (archives, folders) {
        (_, 0) => count(archives, "archive"),
        (0, _) => count(folders, "folder"),
        _ => format!("{} and {}", count(archives, "archive"), count(folders, "folder")),
    };
    // The sizes of loose files are not known yet.
    let bytes = match archives {
        0 => String::new(),
        _ => format!(" ({} of archives)", BinaryBytes(vfs.store().archive_bytes())),
    };
    let how = match edit {
        None => "read-only".into(),
        Some(upper) => format!("changes go to {}; writable", upper.display()),
    };
    format!(
        "{}mounted {layers}, {}{hides}{bytes}, {how} at {path}{made}\n{}unmount: bsafs umount {}\n",
        game(vfs.order()),
        count(vfs.tree().files(), "file"),
        oddities(order_arguments, vfs),
        quoted(&path.to_string()),
    )
}

/// Describes a game: its plugins, its rules, and the settings that were read.
fn game(order: &LoadOrder) -> String {
    if order.game.is_empty() {
        return String::new();
    }
    let profile = order.profile.as_deref().and_then(Path::file_name).map(OsStr::to_string_lossy);
    format!(
        "{}{}: {} active; of archives {} wins, loose files {} (confidence: {})\nsettings: {}\n",
        order.game,
        profile.map(|name| format!(", profile \"{name}\"")).unwrap_or_default(),
        count(order.plugins.len(), "plugin"),
        archives(order.precedence.archives),
        loose(&order.precedence.loose),
        order.confidence.as_str(),
        settings(&order.inis),
    )
}

fn archives(rule: ArchiveRule) -> &'static str {
    match rule {
        ArchiveRule::LastWins => "the last",
        ArchiveRule::FirstWins | ArchiveRule::Oblivion => "the first",
        ArchiveRule::NewVegas => "the first of the highest rank",
    }
}

fn loose(rule: &LooseRule) -> String {
    match rule {
        LooseRule::Always => "always".into(),
        LooseRule::Never => "never".into(),
        LooseRule::ByDate => "where they are newer".into(),
        LooseRule::Below(folders) if folders.is_empty() => "never".into(),
        LooseRule::Below(folders) => format!("only below {}", folders.join(", ")),
    }
}

/// The names of INI files. If several share a name, their paths.
fn settings(inis: &[PathBuf]) -> String {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = inis.iter().map(name).collect();
    let is_repeated = names.iter().collect::<HashSet<_>>().len() < names.len();
    match is_repeated {
        _ if inis.is_empty() => "none were found".into(),
        false => names.join(", "),
        true => inis.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(", "),
    }
}

/// Counts the folders among the layers. A folder of which the game reads only some subfolders is
/// two layers, but counts once.
fn folders(store: &Store) -> usize {
    let layers = 0..u16::try_from(store.layers()).unwrap_or(u16::MAX);
    layers
        .filter(|&layer| store.is_folder(layer))
        .map(|layer| store.path(layer))
        .collect::<HashSet<_>>()
        .len()
}

/// Counts the loose files that an archive hides because it is not older than they are.
fn older(vfs: &Vfs) -> usize {
    if vfs.order().precedence.loose != LooseRule::ByDate {
        return 0;
    }
    let (tree, store) = (vfs.tree(), vfs.store());
    let is_older = |(node, winner): &(NodeId, EntryId)| {
        !store.is_folder(winner.layer)
            && tree.hidden(*node).iter().any(|hidden| store.is_folder(hidden.entry.layer))
    };
    tree.entries().filter(is_older).count()
}

/// Describes what is odd, as the number of notes by code.
fn oddities(order_arguments: &[String], vfs: &Vfs) -> String {
    let mut codes = BTreeMap::new();
    for note in vfs.notes() {
        *codes.entry(note.code.as_str()).or_insert(0) += 1;
    }
    // A mount counts these files in its tree. Listing them would mean reading the archives' names
    // again.
    let older = older(vfs);
    if older > 0 {
        codes.insert(NoteCode::LooseOlder.as_str(), older);
    }
    if codes.is_empty() {
        return String::new();
    }
    let codes: Vec<String> = codes.iter().map(|(code, notes)| format!("{notes} {code}")).collect();
    let arguments: Vec<_> = order_arguments.iter().map(|argument| quoted(argument)).collect();
    format!("odd: {}; `bsafs order {}` tells\n", codes.join(", "), arguments.join(" "))
}
