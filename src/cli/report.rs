//! What `bsafs mount` prints once it has mounted: what it found, in at most six lines, and how to undo it.

use std::collections::BTreeMap;

use indicatif::BinaryBytes;

use super::mountpoint::Mountpoint;
use super::open::OpenedArchives;
use super::output::{count, quoted};
use crate::game::LoadOrder;

/// What was mounted, and how to undo it.
pub(super) fn report(order_arguments: &[String], opened: &OpenedArchives, mountpoint: &Mountpoint) -> String {
    let path = mountpoint.path.display();
    let made = if mountpoint.is_ours() { " (a new folder, which goes with the mount)" } else { "" };
    let hidden = opened.tree.nodes().map(|node| opened.tree.hidden(node).len()).sum::<usize>();
    let (archives, folders) = (opened.descriptions.len(), opened.folders());
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
        _ => format!(" ({} of archives)", BinaryBytes(opened.store.archive_bytes())),
    };
    format!(
        "{}mounted {layers}, {}{hides}{bytes}, read-only at {path}{made}\n{}unmount: bsafs umount {}\n",
        game(&opened.order),
        count(opened.tree.files(), "file"),
        oddities(order_arguments, &opened.order),
        quoted(&path.to_string()),
    )
}

/// What was found of a game: the plugins, the rule, and the settings that were read.
fn game(order: &LoadOrder) -> String {
    if order.game.is_empty() {
        return String::new();
    }
    let inis: Vec<_> =
        order.inis.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy()).collect();
    let inis = if inis.is_empty() { "no settings were found".into() } else { inis.join(", ") };
    format!(
        "{}: {} active; of archives the {} wins, loose files {} (confidence: {})\nsettings: {inis}\n",
        order.game,
        count(order.plugins.len(), "plugin"),
        order.precedence.archives.as_str(),
        order.precedence.loose.as_str(),
        order.confidence.as_str(),
    )
}

/// What is odd, by its codes.
fn oddities(order_arguments: &[String], order: &LoadOrder) -> String {
    let mut codes = BTreeMap::new();
    for note in &order.notes {
        *codes.entry(note.code.as_str()).or_insert(0) += 1;
    }
    if codes.is_empty() {
        return String::new();
    }
    let codes: Vec<String> = codes.iter().map(|(code, notes)| format!("{notes} {code}")).collect();
    let arguments: Vec<_> = order_arguments.iter().map(|argument| quoted(argument)).collect();
    format!("odd: {}; `bsafs order {}` tells\n", codes.join(", "), arguments.join(" "))
}
