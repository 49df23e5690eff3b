//! The report that `bsafs mount` prints: what it found, in at most seven lines, and how to unmount it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::BinaryBytes;

use crate::content::Store;
use crate::daemon::mountpoint::Mountpoint;
use crate::format::{EntryId, is_archive_name};
use crate::fs::MountedSource;
use crate::game::find::find;
use crate::game::{
    ArchiveRule, Disk, Environment, FoundInstance, LoadOrder, LooseRule, find_instances, instance_names,
};
use crate::kinds::is_plugin;
use crate::note::{EXAMPLES_MAX, NoteCode, NoteSummary, Reasons, summaries};
use crate::shown::{Shown, quoted};
use crate::system::text::{count, layers};
use crate::tree::NodeId;
use crate::vfs::Vfs;

/// Describes what was mounted, and how to unmount it. `is_for_root` if root has become the user who mounts.
pub(crate) fn report(
    vfs: &Vfs,
    mountpoint: &Mountpoint,
    edit: Option<(&Path, &str)>,
    is_for_root: bool,
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
        Some((upper, _)) => format!("writable (changes go to {})", upper.shown()),
    };
    let shown = mountpoint.path.to_string_lossy();
    let remount = edit.map(|(_, remount)| format!("{}\n", how_to_update(remount)));
    format!(
        "{}mounted {layers}, {}{hides}{bytes}, {how} at {path}{made}\n{}{}{}unmount: bsafs umount {}\n",
        game(vfs.order()),
        count(vfs.tree().files(), "file"),
        remount.unwrap_or_default(),
        instance(vfs.order()),
        oddities(vfs, &mountpoint.path, is_for_root),
        quoted(&shown),
    )
}

/// Says that a writable mount does not follow the disk, and gives the commands that mount it again.
pub(crate) fn how_to_update(remount: &str) -> String {
    format!("it does not follow changes of the sources; to see them: {}", remount.shown())
}

/// The commands that mount a writable mount again. `options` are all but that of its folder, as after `-o`.
pub(crate) fn remount(mountpoint: &Path, edit: &Path, options: &str, sources: &[MountedSource]) -> String {
    let [mountpoint, edit] = [mountpoint, edit].map(|it| quoted(&it.to_string_lossy()));
    let options = if options.is_empty() { String::new() } else { format!("-o {} ", quoted(options)) };
    let sources: String = sources.iter().map(|it| format!("{} ", quoted(&it.path))).collect();
    format!("bsafs umount {mountpoint} && bsafs mount --edit {edit} {options}{sources}{mountpoint}")
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
    if order.game.is_empty() || order.is_openmw() || order.profile.is_some() {
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

/// Counts the folders among the layers. A folder in which the game reads only some subfolders is two
/// layers, but counts once.
fn folders(store: &Store) -> usize {
    let layers = 0..u16::try_from(store.layers()).unwrap_or(u16::MAX);
    layers
        .filter(|&layer| store.is_folder(layer))
        .map(|layer| store.path(layer))
        .collect::<HashSet<_>>()
        .len()
}

/// The loose files that an archive hides because it is not older than they are.
fn older(vfs: &Vfs) -> Option<NoteSummary> {
    if vfs.order().precedence.loose != LooseRule::ByDate {
        return None;
    }
    let (tree, store) = (vfs.tree(), vfs.store());
    let is_older = |(node, winner): &(NodeId, EntryId)| {
        !store.is_folder(winner.layer)
            && tree.hidden(*node).iter().any(|hidden| store.is_folder(hidden.entry.layer))
    };
    let (mut number, mut names) = (0, Vec::new());
    for (node, _) in tree.entries().filter(is_older) {
        number += 1;
        // There may be very many, so only the paths that are shown are kept.
        if names.len() < EXAMPLES_MAX {
            names.push(String::from_utf8_lossy(&tree.path(node)).into_owned());
        }
    }
    (number > 0).then(|| NoteSummary::new(NoteCode::LooseOlder, number, &Reasons::default(), names))
}

/// Describes what is odd in a line.
fn oddities(vfs: &Vfs, mountpoint: &Path, is_for_root: bool) -> String {
    let kept = vfs.kept_textures();
    let mut odd = summaries(vfs.notes().chain(&kept));
    // A mount finds these files in its tree. Listing them would mean reading the archives' names again.
    odd.extend(older(vfs));
    odd_line(&odd, mountpoint, is_for_root).map_or_else(String::new, |line| format!("{line}\n"))
}

/// What is odd about a mount, in one short line that names the command that shows all. What could not be
/// looked at is described, and so are other things of one kind. If there are several kinds, the first
/// things are named. `is_for_root` if root reads it about another user's mount, whose sources no command
/// opens for root.
pub(crate) fn odd_line(odd: &[NoteSummary], mountpoint: &Path, is_for_root: bool) -> Option<String> {
    let is_told = |odd: &&NoteSummary| odd.known_code().is_none_or(|it| it.is_unseen() && !it.is_wanted());
    let (told, others): (Vec<_>, Vec<_>) = odd.iter().partition(is_told);
    let told = told.into_iter().map(|odd| with_names(odd, archive_name));
    let others: Vec<NoteSummary> = others.into_iter().map(|odd| with_names(odd, short_name)).collect();
    let mut parts: Vec<String> = told.map(|odd| odd.to_string().shown().to_string()).collect();
    match &others[..] {
        [] => {}
        [one] => parts.push(one.to_string().shown().to_string()),
        several => parts.push(named(several)),
    }
    if parts.is_empty() {
        return None;
    }
    // `order` reads the sources, and not what became of them in this mount.
    let is_of_mount = |odd: &NoteSummary| match odd.known_code() {
        Some(NoteCode::TextureKept | NoteCode::SourceGone | NoteCode::DiskGone) | None => true,
        Some(_) => false,
    };
    let command = if is_for_root || odd.iter().any(is_of_mount) { "status" } else { "order" };
    Some(format!("odd: {}: bsafs {command} {}", parts.join(", "), quoted(&mountpoint.to_string_lossy())))
}

/// Returns, for example, `3 things (Old.bsa, missing mod "SkyUI", and 1 more)`.
fn named(odd: &[NoteSummary]) -> String {
    let number = odd.iter().fold(0_usize, |sum, odd| sum.saturating_add(odd.count));
    // One of each kind comes first.
    let all =
        (0..EXAMPLES_MAX).flat_map(|at| odd.iter().filter_map(move |odd| Some((odd, odd.examples.get(at)?))));
    let names: Vec<String> = all.take(EXAMPLES_MAX).map(|(odd, name)| in_words(odd, name)).collect();
    let more = match number.saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{number} things ({}{more})", names.join(", "))
}

/// The name of one odd thing, with a noun if the name does not say what it is.
fn in_words(odd: &NoteSummary, name: &str) -> String {
    match odd.known_code() {
        Some(NoteCode::NeverStarted | NoteCode::PluginsFileMissing) | None => name.shown().to_string(),
        Some(_) if is_plugin(name) || is_archive_name(name.as_bytes()) => name.shown().to_string(),
        Some(code) => format!("{} \"{}\"", code.in_words().0, name.shown()),
    }
}

fn with_names(odd: &NoteSummary, name: fn(&str) -> &str) -> NoteSummary {
    let examples = odd.examples.iter().map(|example| name(example).to_owned()).collect();
    NoteSummary { examples, ..odd.clone() }
}

/// The last name of a path on the disk. A path in a game is returned as it is, unless it is an archive's.
fn short_name(subject: &str) -> &str {
    if Path::new(subject).is_absolute() { last_name(subject) } else { archive_name(subject) }
}

/// The name of an archive without its folder. Other subjects are returned as they are.
fn archive_name(subject: &str) -> &str {
    if is_archive_name(subject.as_bytes()) { last_name(subject) } else { subject }
}

fn last_name(subject: &str) -> &str {
    Path::new(subject).file_name().and_then(OsStr::to_str).unwrap_or(subject)
}
