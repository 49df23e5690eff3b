//! The report that `bsafs mount` prints: what it found, in at most seven lines, and how to unmount it.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::BinaryBytes;

use crate::content::Store;
use crate::daemon::mountpoint::Mountpoint;
use crate::format::{EntryId, is_archive_name};
use crate::game::find::find;
use crate::game::{
    ArchiveRule, Disk, Environment, FoundInstance, LoadOrder, LooseRule, find_instances, instance_names,
};
use crate::note::{NoteCode, Reasons};
use crate::shown::{Shown, quoted};
use crate::system::text::{count, layers};
use crate::tree::NodeId;
use crate::vfs::Vfs;

/// Maximum number of names that are shown of one kind of oddity.
const NAMES_SHOWN: usize = 3;

/// Describes what was mounted, and how to unmount it.
pub(crate) fn report(
    order_arguments: &[String],
    vfs: &Vfs,
    mountpoint: &Mountpoint,
    edit: Option<&Path>,
) -> String {
    let path = mountpoint.path.shown();
    let made = if mountpoint.is_made() { " (a new folder, removed on unmount)" } else { "" };
    let hidden = vfs.tree().nodes().map(|node| vfs.tree().hidden(node).len()).sum::<usize>();
    let (archives, folders) = (vfs.opened().archives().count(), folders(vfs.store()));
    let later = if folders == 0 { "archives" } else { "layers" };
    let hides = if hidden > 0 { format!(", {hidden} hidden by later {later}") } else { String::new() };
    let layers = layers(archives, folders);
    // The sizes of loose files are not known yet.
    let bytes = match archives {
        0 => String::new(),
        _ => format!(" ({} of archives)", BinaryBytes(vfs.store().archive_bytes())),
    };
    let how = match edit {
        None => "read-only".into(),
        Some(upper) => format!("writable (changes go to {})", upper.shown()),
    };
    format!(
        "{}mounted {layers}, {}{hides}{bytes}, {how} at {path}{made}\n{}{}unmount: bsafs umount {}\n",
        game(vfs.order()),
        count(vfs.tree().files(), "file"),
        instance(vfs.order()),
        oddities(order_arguments, vfs),
        quoted(&mountpoint.path.to_string_lossy()),
    )
}

/// Describes a game: its plugins, its rules, and the settings that were read.
fn game(order: &LoadOrder) -> String {
    if order.game.is_empty() {
        return String::new();
    }
    let profile = order.profile.as_deref().and_then(Path::file_name).map(Shown::shown);
    format!(
        "{}{}: {} active; {} wins, loose files {} (confidence: {})\nsettings: {}\n",
        order.game,
        profile.map(|name| format!(", profile \"{name}\"")).unwrap_or_default(),
        count(order.plugins.len(), "plugin"),
        archives(order.precedence.archives),
        loose(&order.precedence.loose),
        order.confidence.as_str(),
        settings(&order.inis),
    )
}

/// How long a mount may search for instances of Mod Organizer 2. On a slow disk, prefixes take seconds.
const SEARCH_TIME: Duration = Duration::from_secs(1);

/// Names the instance of Mod Organizer 2 that manages a game, if the game was mounted without it.
pub(crate) fn instance(order: &LoadOrder) -> String {
    if order.game.is_empty() || order.game == "openmw" || order.profile.is_some() {
        return String::new();
    }
    let (disk, environment) = (Disk::default(), Environment::of_process());
    let instances = find_instances(&disk, &environment, &find(&disk, &environment), Some(SEARCH_TIME));
    let is_of_game = |it: &&FoundInstance| {
        let game = it.game.as_ref().and_then(|game| game.canonicalize().ok());
        game.is_some_and(|game| {
            order.layers.iter().any(|layer| layer.path.canonicalize().is_ok_and(|it| it.starts_with(&game)))
        })
    };
    let named = instances.iter().zip(instance_names(&instances));
    let managing: Vec<_> = named.filter(|(it, _)| is_of_game(it)).collect();
    let Some((first, name)) = managing.first() else { return String::new() };
    let more = match managing.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more; see `bsafs games`)"),
    };
    let name = name.clone().unwrap_or_else(|| first.folder.to_string_lossy().into_owned());
    let (mods, name) = (count(first.mods, "mod"), quoted(&name));
    format!("Mod Organizer 2 manages this game; to mount it with {mods}: bsafs mount {name}{more}\n")
}

fn archives(rule: ArchiveRule) -> &'static str {
    match rule {
        ArchiveRule::LastWins => "the last archive",
        ArchiveRule::FirstWins | ArchiveRule::Oblivion => "the first archive",
        ArchiveRule::NewVegas => "the first archive of the highest rank",
    }
}

fn loose(rule: &LooseRule) -> String {
    match rule {
        LooseRule::Always => "always win".into(),
        LooseRule::Never => "never win".into(),
        LooseRule::ByDate => "win if they are newer".into(),
        LooseRule::Below(folders) if folders.is_empty() => "never win".into(),
        LooseRule::Below(folders) => format!("win only below {}", folders.join(", ")),
    }
}

/// The names of INI files. If several share a name, their paths.
fn settings(inis: &[PathBuf]) -> String {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().shown().to_string();
    let names: Vec<String> = inis.iter().map(name).collect();
    let is_repeated = names.iter().collect::<HashSet<_>>().len() < names.len();
    match is_repeated {
        _ if inis.is_empty() => "none found".into(),
        false => names.join(", "),
        true => inis.iter().map(|path| path.shown().to_string()).collect::<Vec<_>>().join(", "),
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

/// The oddities of one kind.
#[derive(Default)]
struct Odd {
    number: usize,
    /// Names of the files or folders, at least as many as are shown.
    names: Vec<String>,
    /// Why there are so many, if that differs.
    reasons: Reasons,
}

/// The loose files that an archive hides because it is not older than they are.
fn older(vfs: &Vfs) -> Odd {
    if vfs.order().precedence.loose != LooseRule::ByDate {
        return Odd::default();
    }
    let (tree, store) = (vfs.tree(), vfs.store());
    let is_older = |(node, winner): &(NodeId, EntryId)| {
        !store.is_folder(winner.layer)
            && tree.hidden(*node).iter().any(|hidden| store.is_folder(hidden.entry.layer))
    };
    let mut odd = Odd::default();
    for (node, _) in tree.entries().filter(is_older) {
        odd.number += 1;
        // There may be very many, so only the paths that are shown are kept.
        if odd.names.len() < NAMES_SHOWN {
            odd.names.push(String::from_utf8_lossy(&tree.path(node)).into_owned());
        }
    }
    odd
}

/// Describes what is odd: for each kind of oddity the number, what it is, and the first names.
fn oddities(order_arguments: &[String], vfs: &Vfs) -> String {
    let mut odd: BTreeMap<NoteCode, Odd> = BTreeMap::new();
    let kept = vfs.kept_textures();
    for note in vfs.notes().chain(&kept).filter(|note| !note.code.is_minor()) {
        let kind = odd.entry(note.code).or_default();
        let (number, name) = note.counted();
        kind.number += number;
        kind.reasons.add(note.reason, number);
        kind.names.push(short_name(name).to_owned());
    }
    // A mount finds these files in its tree. Listing them would mean reading the archives' names again.
    let older = older(vfs);
    if older.number > 0 {
        odd.insert(NoteCode::LooseOlder, older);
    }
    if odd.is_empty() {
        return String::new();
    }
    let kinds: Vec<String> = odd.into_iter().map(|(code, odd)| odd.text(code)).collect();
    let arguments: Vec<_> = order_arguments.iter().map(|argument| quoted(argument)).collect();
    format!("odd: {}; see `bsafs order {}`\n", kinds.join(", "), arguments.join(" "))
}

impl Odd {
    /// Returns, for example, `2 archives that no plugin or INI file loads (A.bsa, B.bsa)`.
    fn text(mut self, code: NoteCode) -> String {
        self.names.sort_unstable();
        self.names.truncate(NAMES_SHOWN);
        let more = self.number - self.names.len();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let names: Vec<String> = self.names.iter().map(|name| name.shown().to_string()).collect();
        let (thing, which) = code.in_words();
        format!("{}{which}{} ({}{more})", count(self.number, thing), self.reasons, names.join(", "))
    }
}

/// The name of an archive without its folder. Other subjects are returned as they are.
fn short_name(subject: &str) -> &str {
    let name = Path::new(subject).file_name().and_then(OsStr::to_str);
    name.filter(|name| is_archive_name(name.as_bytes())).unwrap_or(subject)
}
