//! What became of a copy: one file in one place. The place is a layer, or could be one, such as a mod that is
//! off, an archive that is not loaded, or a folder from which a manager deploys.

use std::path::Path;

use serde::Serialize;

use crate::format::is_archive_name;
use crate::game::{LoadOrder, ModList, unread_folder};
use crate::kinds::{OPENMW_PLUGINS, ends, is_plugin};
use crate::named::named;
use crate::note::{Because, Note, NoteCode};
use crate::shown::Shown;
use crate::vfs::file::VfsFile;

named! {
    /// What became of a copy.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub(crate) enum Fate;
    /// The fate as JSON has it.
    fn name;
    /// The fate in one or two words.
    fn in_words -> &'static str;

    /// The game uses it.
    Wins = "wins", "from";
    /// Another copy of its path wins.
    Loses = "loses", "hidden";
    /// The game could read it there, but the game or the mod manager ignores it.
    Ignored = "ignored", "ignored";
    /// It is in an archive, or is a plugin or archive, that the game does not load.
    NotLoaded = "not-loaded", "not loaded";
    /// Its mod is off, or the user hid it.
    Off = "off", "off";
    /// It was deleted in a writable mount, whose folder has a mark that hides it.
    Deleted = "deleted", "deleted";
    /// It is in a folder from which a mod manager deploys, but not in the game.
    NotDeployed = "not-deployed", "not deployed";
    /// There is no such file.
    NotHere = "not-here", "not here";
}

impl Fate {
    /// The fate of the subject of a note; `None` if the note does not say it.
    pub(crate) fn of_code(code: NoteCode) -> Option<Self> {
        Some(match code {
            NoteCode::ArchiveUnlisted
            | NoteCode::PluginIgnored
            | NoteCode::ArchiveInactive
            | NoteCode::ArchiveLanguage
            | NoteCode::ArchiveShadowed
            | NoteCode::ArchiveUnreadable => Self::NotLoaded,
            NoteCode::LooseOlder => Self::Loses,
            NoteCode::LooseDisabled
            | NoteCode::Mo2ModNested
            | NoteCode::ModNested
            | NoteCode::ArchiveInvalidation
            | NoteCode::FolderCase
            | NoteCode::SettingsIgnored => Self::Ignored,
            code if is_left_out(code) => Self::Ignored,
            NoteCode::ArchiveMissing
            | NoteCode::PluginMissing
            | NoteCode::MasterMissing
            | NoteCode::Mo2ModMissing
            | NoteCode::FolderMissing => Self::NotHere,
            _ => return None,
        })
    }
}

/// The text of the reason that the user hid a file.
pub(crate) const HIDDEN: &str = "it is hidden in Mod Organizer, which gave it this name; unhide it there";

/// The outermost folder above a path that the user hid in Mod Organizer.
pub(crate) fn hidden_folder<'p>(mods: &ModList, path: &'p str) -> Option<&'p Path> {
    let is_marked = |it: &&Path| {
        let name = it.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        mods.hidden_suffixes.without(name).is_some()
    };
    Path::new(path).ancestors().skip(1).filter(is_marked).last()
}

/// Whether a note is about a file or folder on the disk that the tree leaves out.
pub(crate) fn is_left_out(code: NoteCode) -> bool {
    matches!(
        code,
        NoteCode::LinkDangling
            | NoteCode::LinkCircle
            | NoteCode::LinkOfOtherUser
            | NoteCode::LinkedOften
            | NoteCode::OtherMount
            | NoteCode::SpecialFile
            | NoteCode::PathTooDeep
            | NoteCode::FileUnreadable
            | NoteCode::Mo2RootFolder
    )
}

/// A reason why something is in a game or not, usually the fate of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FateReason {
    /// What became of the subject; `None` if the reason is only a remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fate: Option<Fate>,
    /// The code of a note, or another short name.
    pub(crate) code: &'static str,
    /// The archive, folder or file that the reason is about.
    pub(crate) subject: String,
    /// The reason, and what to do.
    pub(crate) text: String,
    /// The layer that wins if the fate is [`Fate::Loses`], or has the mark if it is [`Fate::Deleted`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) by: String,
    /// The settings that decided it.
    #[serde(skip_serializing_if = "Because::is_empty")]
    pub(crate) because: Because,
}

impl FateReason {
    pub(crate) fn new(fate: Fate, code: &'static str, subject: &Path, text: impl Into<String>) -> Self {
        Self { fate: Some(fate), ..Self::remark(code, subject, text) }
    }

    /// A reason that is not about a copy.
    pub(crate) fn remark(code: &'static str, subject: &Path, text: impl Into<String>) -> Self {
        let (subject, text) = (subject.to_string_lossy().into_owned(), text.into());
        Self { fate: None, code, subject, text, by: String::new(), because: Because::default() }
    }

    pub(crate) fn of(note: &Note) -> Self {
        Self {
            fate: Fate::of_code(note.code),
            code: note.code.as_str(),
            subject: note.subject.clone(),
            text: note.to_string(),
            by: String::new(),
            because: note.because.clone(),
        }
    }
}

/// Why a game has no use for a file of its tree: the file is in a mod that is nested too deep or in a folder
/// where no game looks, or is a plugin or an archive that is not at the top. `notes` are those of the
/// sources.
pub(crate) fn out_of_place<'n>(
    orders: &[LoadOrder],
    notes: impl Iterator<Item = &'n Note>,
    file: &VfsFile,
) -> Option<FateReason> {
    let (layer, path) = (file.layer(), file.path());
    if !layer.is_folder() {
        return None;
    }
    let at = || layer.path().join(&path);
    let nested: Vec<&Note> = notes.filter(|note| is_nested(note)).collect();
    let nested = || nested_around(nested.iter().copied(), layer.path(), &at());
    let of_order = |order: &LoadOrder| {
        let hidden = || {
            let folder = hidden_folder(order.mods.as_ref()?, &path)?;
            Some(FateReason::new(Fate::Off, "mo2-hidden", &layer.path().join(folder), HIDDEN))
        };
        let not_loaded =
            || Some(FateReason::new(Fate::NotLoaded, "not-at-top", &at(), below_top(order, file)?));
        let ignored = || Some(FateReason::new(Fate::Ignored, "not-at-top", &at(), in_unread_folder(&path)?));
        hidden().or_else(nested).or_else(not_loaded).or_else(ignored)
    };
    // A large game has thousands of layers, and few files that are out of place. So the layers come last.
    let has_it =
        |order: &&LoadOrder| !order.game.is_empty() && order.layers.iter().any(|it| it.path == layer.path());
    if orders.iter().all(|order| of_order(order).is_none()) {
        return None;
    }
    of_order(orders.iter().find(has_it)?)
}

/// Why a game does not read a file below a folder that no game knows.
pub(crate) fn in_unread_folder(path: &str) -> Option<String> {
    let folder = unread_folder(path)?;
    Some(format!(
        "the game does not look in the folder {}; move what is in it up, to the top of the data folder or of \
         the mod",
        folder.shown()
    ))
}

/// The reason for a mod in a layer whose files are too deep for the game, if something is in that mod.
pub(crate) fn nested_around<'n>(
    notes: impl Iterator<Item = &'n Note>,
    layer: &Path,
    path: &Path,
) -> Option<FateReason> {
    let is_around = |note: &&Note| {
        let subject = Path::new(&note.subject);
        subject.starts_with(layer) && path.starts_with(subject)
    };
    notes.filter(|note| is_nested(note)).find(is_around).map(FateReason::of)
}

fn is_nested(note: &Note) -> bool {
    matches!(note.code, NoteCode::Mo2ModNested | NoteCode::ModNested)
}

/// Whether a file of this name is a plugin of the game, which may be OpenMW.
pub(crate) fn is_plugin_of(order: &LoadOrder, name: &str) -> bool {
    is_plugin(name) || order.is_openmw() && ends(name, OPENMW_PLUGINS)
}

/// Why a game does not load a loose plugin or archive that is in a folder.
pub(crate) fn below_top(order: &LoadOrder, file: &VfsFile) -> Option<&'static str> {
    let path = file.path();
    let (_, name) = path.rsplit_once('/')?;
    if is_plugin_of(order, name) {
        return Some(
            "the game loads plugins only from the top of its data folder or of a mod; move it there",
        );
    }
    let at = file.layer().path().join(&path);
    let is_layer = || order.layers.iter().any(|it| it.path == at);
    let text = "the game loads archives only from the top of its data folder or of a mod; move it there";
    (is_archive_name(name.as_bytes()) && !is_layer()).then_some(text)
}
