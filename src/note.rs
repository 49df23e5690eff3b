//! Notes: what is odd or left out in a game, an archive, a folder or a texture. Every command shows the same
//! notes with the same codes.
//!
//! A new code is one row of the table below. The schema and the line `odd:` of a mount are made from it.
//!
//! | type | what it is |
//! |---|---|
//! | `Note` | a remark with a code about one subject; most of the types below become one |
//! | `Notes` | notes up to a limit of each code |
//! | `Counted` | things of several kinds: how many of each, and the first; each kind becomes a note |
//! | `NoteSummary`, `Reasons` | all notes of one code in one line |
//! | `Because` | the settings that decided what a note says |
//! | `FateReason` in `answers/fate.rs` | what became of one copy, often by a note |
//! | `WalkNote` in `folder/notes.rs` | what a walk left out; the path of the folder is not known there |
//! | `Quirk` in `content/codec/error.rs` | what is odd about a stream; its file is not known there |
//! | `Finding` in `format/structure.rs` | a fault in the tables of an archive, with the entries |
//! | `Trouble` in `vfs/trouble.rs` | a source that failed when it was opened again, and how that is handled |
//! | `NotLookedAt` in `answers/unseen.rs` | a note as a mount reports it to other processes |
//! | `Unseen` in `cli/terminal/unseen.rs` | the notes that decide the exit status of a command |
//! | `LeftOut` in `pack/verdict.rs` | a file that stays loose |

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use crate::named::named;
use crate::shown::{Shown, excerpt, in_utf8};

named! {
    /// The kind of oddity that a note reports. A mount reports them in the order of this table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum NoteCode;
    /// The code as the user sees it.
    fn as_str;
    /// What the code means: a noun, which gets an `s` in the plural, and the words after it.
    fn in_words -> (&'static str, &'static str);

    /// A list names an archive that no data folder contains.
    ArchiveMissing = "archive-missing", "missing archive", "";
    /// The data of files lies beyond the end of an archive.
    ArchiveCutOff = "archive-cut-off", "archive", " that is cut off";
    /// No file of an archive has data, because the packer did not finish.
    ArchiveUnfinished = "archive-unfinished", "archive", " that was never finished";
    /// A source of a mount, or a list or profile that names sources, is gone.
    SourceGone = "source-gone", "source", " that is gone";
    /// A source of a mount cannot be opened as it is now.
    SourceUnreadable = "source-unreadable", "source", " that cannot be opened now";
    /// An archive of a game or of a folder cannot be opened.
    ArchiveUnreadable = "archive-unreadable", "archive", " that cannot be opened";
    /// An archive has no files.
    ArchiveEmpty = "archive-empty", "archive", " without files";
    /// Neither a list nor a plugin loads an archive.
    ArchiveUnlisted = "archive-unlisted", "archive", " that no plugin or INI file loads";
    /// An archive belongs to a plugin that is not active.
    ArchiveInactive = "archive-inactive", "archive", " whose plugin is not active";
    /// A higher data folder contains an archive of the same name.
    ArchiveShadowed = "archive-shadowed", "archive", " hidden by another of the same name";
    /// An archive is for another language.
    ArchiveLanguage = "archive-language", "archive", " for another language";
    /// An archive has another version than the game's own archives.
    ArchiveVersion = "archive-version", "archive", " of a version that the game may not load";
    /// An archive has a version or kind that bsafs does not know.
    VersionUnknown = "version-unknown", "archive", " of an unknown version";
    /// An archive stores no names.
    ArchiveNameless = "archive-nameless", "archive", " without names";
    /// The table of names ends before the last file.
    NamesEndEarly = "names-end-early", "archive", " whose table of names ends early";
    /// An archive ends within its table of names.
    NamesCutOff = "names-cut-off", "archive", " whose table of names is cut off";
    /// A number in the tables of an archive contradicts the rest.
    TablesOdd = "tables-odd", "odd number", " in the tables of an archive";
    /// Files are packed in a way that bsafs does not know.
    CodecUnknown = "codec-unknown", "archive", " with files that cannot be unpacked";
    /// A stored hash is not that of the name.
    HashWrong = "hash-wrong", "archive", " with files that the game does not find";
    /// Records are not in the order of their hashes.
    HashOrder = "hash-order", "archive", " with records out of order";
    /// Two files of an archive have different paths with one hash.
    HashTwice = "hash-twice", "archive", " with two paths of one hash";
    /// Two files of an archive have one path.
    PathTwice = "path-twice", "archive", " with a path twice";
    /// A path in an archive begins with the data folder.
    DataFolder = "data-folder", "archive", " with paths that begin with Data";
    /// A path in an archive begins at the root of a disk, or has an empty or dotted name.
    PathUnfindable = "path-unfindable", "archive", " with paths that no game looks for";
    /// The data of a file lies inside the tables of its archive.
    DataInTables = "data-in-tables", "archive", " with data in its tables";
    /// A sound or a text is packed, which games do not expect.
    SoundPacked = "sound-packed", "archive", " with packed sounds or texts";
    /// A texture lacks its small mips.
    MipsMissing = "mips-missing", "archive", " with textures without small mips";
    /// A texture lacks texels of its largest mip.
    TexelsMissing = "texels-missing", "archive", " with textures without all their texels";
    /// The chunks of a texture state mips that are not in order, and nothing shows the right order.
    MipsOrder = "mips-order", "archive", " with textures whose mips are out of order";
    /// A stream lacks its end mark or its checksum.
    StreamUnended = "stream-unended", "file", " whose stream has no end";
    /// Bytes follow a stream.
    StreamTrailing = "stream-trailing", "file", " with bytes after its stream";
    /// A stream holds more bytes than declared.
    StreamLonger = "stream-longer", "file", " that is longer than declared";
    /// A file is packed in another way than its archive states.
    CodecOther = "codec-other", "file", " packed in another way than stated";
    /// The stated length of a file is wrong.
    LengthWrong = "length-wrong", "file", " of a wrong length";
    /// The flag that names are embedded is wrong for a file.
    NameFlagWrong = "name-flag-wrong", "file", " with or without its name against the flag";
    /// The unpacked size of a file is missing.
    SizeMissing = "size-missing", "file", " without its unpacked size";
    /// A texture has a format that bsafs does not know.
    TextureFormat = "texture-format", "texture", " of an unknown format";
    /// The texels of a texture are in the order of a console.
    TextureTiled = "texture-tiled", "texture", " tiled for a console";
    /// A texture is shown as it is stored, although the user asked for another form.
    TextureKept = "texture-kept", "unconverted texture", "";
    /// Several archives share a path. Oblivion may read the file from any of them, because it first tries
    /// the archive that it read last.
    ArchivesSharePath = "archives-share-path", "path", " that several archives share";
    /// A list names a plugin that does not exist.
    PluginMissing = "plugin-missing", "missing plugin", "";
    /// A list names a plugin that the game ignores.
    PluginIgnored = "plugin-ignored", "plugin", " that the game ignores";
    /// A list names a plugin twice.
    PluginTwice = "plugin-twice", "plugin", " listed twice";
    /// A plugin needs a master that does not exist.
    MasterMissing = "master-missing", "missing master", "";
    /// A folder does not exist.
    FolderMissing = "folder-missing", "missing folder", "";
    /// A folder contains two folders whose names differ in case alone.
    FolderCase = "folder-case", "folder name", " spelled in several ways";
    /// A loose file loses to an archive that is not older.
    LooseOlder = "loose-older", "loose file", " hidden by an archive that is not older";
    /// The game ignores a loose file.
    LooseDisabled = "loose-disabled", "loose file", " that the game ignores";
    /// There are two data folders, one of them in My Games.
    DataTwoPlaces = "data-two-places", "second data folder", "";
    /// The game has not written its settings yet because it was never started.
    NeverStarted = "never-started", "missing settings file", "";
    /// A Mod Organizer 2 profile names a mod that does not exist.
    Mo2ModMissing = "mo2-mod-missing", "missing mod", "";
    /// A folder of a Mod Organizer 2 instance is neither in the instance nor in the game's folder.
    Mo2FolderOutside = "mo2-folder-outside", "folder", " outside of its Mod Organizer instance";
    /// A mod contains a folder of files that belong in the game's folder.
    Mo2RootFolder = "mo2-root-folder", "folder", " for Root Builder";
    /// The game was started, but its list of plugins does not exist.
    PluginsFileMissing = "plugins-file-missing", "missing list", " of plugins";
    /// `plugins.txt` and `Plugins.txt` differ.
    PluginsFilesDiffer = "plugins-files-differ", "ignored list", " of plugins";
    /// The list of plugins is in an encoding in which the game loses plugins.
    PluginsFileEncoding = "plugins-file-encoding", "list", " of plugins in Unicode";
    /// A list may be too long for the game to read completely.
    ListTooLong = "list-too-long", "list", " that may be too long for the game";
    /// An INI file contains a section twice.
    IniSectionTwice = "ini-section-twice", "repeated INI section", "";
    /// A settings file, or a part of it, has no effect.
    SettingsIgnored = "settings-ignored", "settings file", " without effect";
    /// The program itself does not read a settings file, or only some versions of it do.
    SettingsUnreached = "settings-unreached", "settings file", " that nothing leads to";
    /// The target of a link does not exist.
    LinkDangling = "link-dangling", "dangling link", "";
    /// A link leads to a folder that contains it, or to itself.
    LinkCircle = "link-circle", "link", " in a circle";
    /// Links show a folder so often that it is left out at further places.
    LinkedOften = "linked-often", "folder", " that links show too often";
    /// Another user decides where a link leads, and root opens the folder for others to read.
    LinkOfOtherUser = "link-of-other-user", "link", " of another user";
    /// A file or folder is on another mount, which is not entered.
    OtherMount = "other-mount", "path", " on another mount";
    /// A disk that sources were on is no longer mounted.
    DiskGone = "disk-gone", "disk", " that is gone";
    /// A disk that sources are on waits for a program or another machine that does not answer.
    DiskAsleep = "disk-asleep", "disk", " that does not answer";
    /// Something is neither a file, nor a folder, nor a link.
    SpecialFile = "special-file", "special file", "";
    /// A path is too deep or too long.
    PathTooDeep = "path-too-deep", "path", " that is too deep or too long";
    /// A name on the disk has a backslash, which separates folders in a game.
    NameBackslash = "name-backslash", "loose file", " with a backslash in its name";
    /// A file gives an archive a higher rank in a way that bsafs does not model.
    OverrideFile = "override-file", ".override file", " that bsafs ignores";
    /// A list removes paths from all archives.
    ArchiveInvalidation = "archive-invalidation", "archive invalidation list", "";
    /// A file or folder exists and cannot be read.
    FileUnreadable = "file-unreadable", "path", " that cannot be read";
    /// A file system, such as a mod manager's, is mounted over the data folder.
    DataMounted = "data-mounted", "data folder", " with a file system mounted on it";
    /// Several prefixes have the game's settings.
    PrefixesDiffer = "prefixes-differ", "prefix", " beside others with settings of the game";
    /// Several users of a prefix have the game's settings.
    UsersDiffer = "users-differ", "user", " of a prefix beside others with settings of the game";
    /// The folder of a mod has marks of files that were deleted in a writable mount.
    DeletionMarks = "deletion-marks", "mod", " with marks of deleted files, which no game knows";
    /// Nothing at the top of a mod is for the game.
    Mo2ModNested = "mo2-mod-nested", "mod", " with nothing for the game at its top";
    /// The folder of a mod is in the data folder, where the game does not look.
    ModNested = "mod-nested", "folder", " of a mod in the data folder, where the game does not look";
    /// A name has letters outside of ASCII, which tools hash differently.
    PackName = "pack-name", "packed name", " outside of ASCII";
    /// A folder that no game is known to read is packed.
    PackFolder = "pack-folder", "packed folder", " that no game is known to read";
    /// Something of a texture is lost or changes when it is packed.
    PackTexture = "pack-texture", "packed texture", " that changes";
    /// A path that no game finds is packed, because the user asked for it.
    PackPath = "pack-path", "packed path", " that no game finds";
    /// Several sources have a path with different bytes.
    PackMerged = "pack-merged", "path", " that several sources have with different bytes";
    /// A table of texts, or a list of quests, belongs to another plugin than its archive.
    PackTable = "pack-table", "packed table", " of another plugin";
    /// An earlier run left an archive that the plan does not write.
    PackLeftover = "pack-leftover", "archive", " beside the new ones, and called like them";
    /// An archive has the name of a new one, which replaces it.
    PackReplaced = "pack-replaced", "archive", " with the name of a new one";
    /// Names in two archives, or two names of archives, have one hash.
    PackHash = "pack-hash", "packed name", " with the hash of another one";
    /// The game does not show a source now, so that packing it does more than change where files are.
    PackNotShown = "pack-not-shown", "source", " that the game does not show now";
    /// A pattern of the user selects nothing.
    PackPattern = "pack-pattern", "pattern", " without a match";
    /// A file of another kind is packed under the name of a texture.
    PackNotTexture = "pack-not-texture", "packed file", " that is not a texture";
    /// Nothing loads a packed archive yet.
    PackLoader = "pack-loader", "packed archive", " that nothing loads yet";
    /// A folder that the user named is a game's data folder, or has a game below it.
    GameNearby = "game-nearby", "folder", " of a game without its load order";
}

impl NoteCode {
    /// Whether the subject is there, but was not looked at, whether something of it is lost, or whether it is
    /// a source of a mount that is gone. An answer is then not about the whole of what was asked: every
    /// command says so despite `--quiet` and in JSON, and its exit status is not 0.
    pub fn is_unseen(self) -> bool {
        matches!(
            self,
            Self::ArchiveUnreadable
                | Self::FileUnreadable
                | Self::LinkCircle
                | Self::LinkDangling
                | Self::LinkOfOtherUser
                | Self::LinkedOften
                | Self::OtherMount
                | Self::PathTooDeep
                | Self::SourceGone
                | Self::SourceUnreadable
                | Self::SpecialFile
        ) || self.is_damage()
    }

    /// Whether an archive lacks something of its tables, so that no file in it shows the damage.
    pub fn is_damage(self) -> bool {
        matches!(self, Self::ArchiveUnfinished | Self::NamesCutOff)
    }

    /// Whether a game does not find files of an archive, although their content is right.
    pub(crate) fn hides_files(self) -> bool {
        matches!(
            self,
            Self::HashWrong
                | Self::HashOrder
                | Self::HashTwice
                | Self::PathTwice
                | Self::DataFolder
                | Self::PathUnfindable
        )
    }

    /// Whether the subject is an archive, which may have any path.
    pub(crate) fn is_of_archive(self) -> bool {
        self == Self::ArchiveUnreadable || self.is_damage()
    }

    /// Whether what was not looked at is probably wanted, so that a mount names each such thing. The others
    /// are only counted unless its report is hidden.
    pub(crate) fn is_wanted(self) -> bool {
        matches!(
            self,
            Self::ArchiveUnreadable
                | Self::FileUnreadable
                | Self::LinkOfOtherUser
                | Self::LinkedOften
                | Self::PathTooDeep
        ) || self.is_damage()
    }

    /// Whether only `info`, `verify` and `-v` show the note, because nobody who mounts has to act.
    pub fn is_minor(self) -> bool {
        matches!(self, Self::TablesOdd | Self::TextureFormat | Self::TextureTiled | Self::ArchiveNameless)
    }
}

impl Serialize for NoteCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The target of log lines about what was not looked at. The program does not print them while it runs a
/// command, because the command ends with all notes about it.
pub const UNSEEN: &str = "bsafs::unseen";

/// Why the file with which a plan begins was not read, from the notes that this left.
pub(crate) fn why_unread(notes: &[Note]) -> &str {
    notes.last().map_or("it does not exist", Note::why_unseen)
}

/// How the text of a note begins if its subject was left out.
const LEFT_OUT: &str = "left out: ";

/// Maximum number of bytes of a path, with the NUL at its end.
const PATH_MAX: usize = 4096;
/// Maximum number of bytes of the name of a file.
const NAME_MAX: usize = 255;

/// A remark about something that is odd or left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Note {
    /// What kind of oddity it is.
    pub code: NoteCode,
    /// The archive, file, folder or name that the note is about. A parser of archives leaves it empty,
    /// because it does not know the path.
    pub subject: String,
    /// What is odd, what bsafs did about it, and what to do.
    pub text: String,
    /// How many things in the subject are meant, such as files of an archive.
    #[serde(skip_serializing_if = "is_one")]
    pub count: usize,
    /// The first of these things; empty if the subject itself is meant.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub example: String,
    /// The reason in two or three words, by which notes of one code are counted; usually empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    /// Where it is, in bytes from the start of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How many more notes of this code there are, which were not kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
    /// The settings that decided it; empty if no setting did.
    #[serde(skip_serializing_if = "Because::is_empty")]
    pub because: Because,
}

/// The settings that decided something, and where to change them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Because {
    /// The settings, the most important first.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// The file to edit, which may not exist yet; empty if none is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub edit: String,
    /// The rule, if the code of the note stands for several.
    #[serde(skip)]
    pub(crate) rule: NoteRule,
}

/// Which of the rules decided that have one code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NoteRule {
    #[default]
    OfCode,
    /// No INI file lists the archive, and no plugin is known that loads it.
    InNoList,
    /// This plugin needs the subject.
    NeededBy(String),
}

/// A key of a settings file, as a rule found it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Setting {
    /// The file that has the key; empty if no file has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    pub section: String,
    pub key: String,
    /// The value, cut if it is long. `None` if no file has the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Because {
    pub(crate) fn of(settings: Vec<Setting>) -> Self {
        Self { settings, ..Self::default() }
    }

    pub(crate) fn rule(rule: NoteRule) -> Self {
        Self { rule, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.edit.is_empty()
    }
}

/// Writes, for example, `Custom.ini: sList=A.bsa, and bKey is not set`.
impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, setting) in self.settings.iter().enumerate() {
            let before = if at == 0 { "" } else { ", and " };
            let name = Path::new(&setting.file).file_name().unwrap_or_default().shown();
            let key = setting.key.shown();
            match &setting.value {
                None => write!(f, "{before}{key} is not set")?,
                Some(value) => write!(f, "{before}{name}: {key}={}", excerpt(value).shown())?,
            }
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(number: &usize) -> bool {
    *number == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Note {
    /// Creates a note about a subject.
    pub fn new(code: NoteCode, subject: impl Into<String>, text: impl Into<String>) -> Self {
        let (mut subject, text) = (subject.into(), text.into());
        // A name or path that is longer than any can be comes from a list, and is no file's.
        let longest = if subject.contains('/') { PATH_MAX } else { NAME_MAX };
        if subject.len() > longest && code != NoteCode::FolderCase {
            subject = excerpt(&subject).into_owned();
        }
        let because = Because::default();
        Self {
            code,
            subject,
            text,
            count: 1,
            example: String::new(),
            reason: "",
            offset: None,
            more: 0,
            because,
        }
    }

    /// The note, about so many things in the subject, of which `example` is the first.
    #[must_use]
    pub fn of(self, count: usize, example: impl Into<String>) -> Self {
        Self { count, example: example.into(), ..self }
    }

    /// The note, with the settings that decided it.
    #[must_use]
    pub(crate) fn because(self, because: Because) -> Self {
        Self { because, ..self }
    }

    /// The note, about a place in the subject.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// Creates a note on textures of a subject that are not converted, all for the same reason.
    pub(crate) fn texture_kept(subject: &str, count: usize, first: String, reason: &'static str) -> Self {
        let stay = if count == 1 { "texture stays as it is" } else { "textures stay as they are" };
        let text = format!("{count} {stay}: {reason}");
        Self { reason, ..Self::new(NoteCode::TextureKept, subject, text).of(count, first) }
    }

    /// How many things a summary counts for this note, and the name that it shows: the things in the subject
    /// if these have a reason, otherwise the subject.
    pub(crate) fn counted(&self) -> (usize, &str) {
        match (self.reason, &*self.example) {
            ("", _) => (self.more.saturating_add(1), &self.subject),
            (_, "") => (self.count, &self.subject),
            (_, example) => (self.count, example),
        }
    }

    /// Creates a note on a file or folder that exists but cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::not_read(path, &error.to_string())
    }

    /// Creates a note on a file or folder that exists but was not read, for a reason.
    pub(crate) fn not_read(path: &Path, why: &str) -> Self {
        Self::new(NoteCode::FileUnreadable, in_utf8(path), format!("{LEFT_OUT}{why}"))
    }

    /// Why the subject was not looked at.
    pub(crate) fn why_unseen(&self) -> &str {
        self.text.strip_prefix(LEFT_OUT).unwrap_or(&self.text)
    }

    /// Creates a note on a link whose target does not exist.
    pub(crate) fn dangling_link(path: impl Into<String>) -> Self {
        let text = "the target of the link does not exist; a mod manager may have moved or removed it";
        Self::new(NoteCode::LinkDangling, path, text)
    }

    /// Creates a note on a link that leads in a circle.
    pub(crate) fn circle(path: impl Into<String>) -> Self {
        Self::new(NoteCode::LinkCircle, path, "left out: the link leads back to itself")
    }

    /// Creates a note on something that is neither a file, nor a folder, nor a link.
    pub(crate) fn special_file(path: impl Into<String>) -> Self {
        Self::new(NoteCode::SpecialFile, path, "left out: neither a file nor a folder")
    }

    /// Creates a note on folders in one folder whose names differ in case alone.
    pub(crate) fn folder_case(mut paths: Vec<String>) -> Self {
        // Lowercase names come first.
        paths.sort_by(|a, b| b.cmp(a));
        let text =
            "the names differ only in case; Wine shows the game one of the folders, bsafs merges them all";
        Self::new(NoteCode::FolderCase, paths.join(", "), text)
    }
}

/// Writes the text, the example and the offset, without the subject.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match (self.example.is_empty(), self.count) {
            (true, _) => {}
            (false, 1) => write!(f, " ({})", self.example)?,
            (false, _) => write!(f, " (the first is {})", self.example)?,
        }
        if let Some(offset) = self.offset {
            write!(f, " (offset {offset})")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "; {more} more"),
        }
    }
}

/// How many things there are for each reason, in the order of their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reasons(BTreeMap<&'static str, usize>);

impl Reasons {
    /// Counts things with a reason. An empty reason is not counted.
    pub(crate) fn add(&mut self, reason: &'static str, count: usize) {
        if !reason.is_empty() {
            let number = self.0.entry(reason).or_default();
            *number = number.saturating_add(count);
        }
    }

    /// Number of all things.
    pub(crate) fn total(&self) -> usize {
        self.0.values().fold(0, |sum, number| sum.saturating_add(*number))
    }
}

/// Writes, for example, `: a volume (2), a palette (1)`, or nothing. A single reason has the number of all.
impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
        for (at, (reason, number)) in all.into_iter().enumerate() {
            write!(f, "{} {reason}", if at == 0 { ":" } else { "," })?;
            if self.0.len() > 1 {
                write!(f, " ({number})")?;
            }
        }
        Ok(())
    }
}

/// How many notes of one code there are, with the first subjects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteSummary {
    /// The code, as the user sees it.
    pub code: String,
    /// What the code means, in words, such as `dangling links`, with their number.
    pub text: String,
    /// The number of notes.
    pub count: usize,
    /// The first subjects.
    pub examples: Vec<String>,
}

/// Maximum number of subjects in a summary.
pub(crate) const EXAMPLES_MAX: usize = 3;

/// Summarises notes, one summary for each code, without minor ones.
pub fn summaries<'a>(notes: impl Iterator<Item = &'a Note>) -> Vec<NoteSummary> {
    let mut of_code: BTreeMap<NoteCode, (usize, Reasons, Vec<&str>)> = BTreeMap::new();
    for note in notes.filter(|note| !note.code.is_minor()) {
        let (number, reasons, names) = of_code.entry(note.code).or_default();
        let (count, name) = note.counted();
        *number = number.saturating_add(count);
        reasons.add(note.reason, count);
        names.push(name);
    }
    let summary = |(code, (count, reasons, mut names)): (NoteCode, (usize, Reasons, Vec<&str>))| {
        names.sort_unstable();
        let examples = names.into_iter().take(EXAMPLES_MAX).map(str::to_owned).collect();
        NoteSummary::new(code, count, &reasons, examples)
    };
    of_code.into_iter().map(summary).collect()
}

impl NoteSummary {
    pub(crate) fn new(code: NoteCode, count: usize, reasons: &Reasons, examples: Vec<String>) -> Self {
        let (thing, which) = code.in_words();
        let plural = if count == 1 { "" } else { "s" };
        let text = format!("{count} {thing}{plural}{which}{reasons}");
        Self { code: code.as_str().to_owned(), text, count, examples }
    }

    /// The code, if this version of bsafs knows it. A daemon may be of another version.
    pub(crate) fn known_code(&self) -> Option<NoteCode> {
        NoteCode::ALL.iter().copied().find(|code| code.as_str() == self.code)
    }
}

impl fmt::Display for NoteSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = self.count.saturating_sub(self.examples.len());
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        write!(f, "{} ({}{more})", self.text, self.examples.join(", "))
    }
}

/// Things of several kinds: how many there are of each, and the name of the first.
#[derive(Debug)]
pub(crate) struct Counted<K>(BTreeMap<K, (usize, String)>);

impl<K> Default for Counted<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Counted<K> {
    /// Counts things of a kind. Only the name of the first is kept.
    pub(crate) fn add(&mut self, kind: K, count: usize, name: impl FnOnce() -> String) {
        let (number, _) = self.0.entry(kind).or_insert_with(|| (0, name()));
        *number = number.saturating_add(count);
    }

    /// One note for each kind, about its things. `note` gets the kind and the number of things.
    pub(crate) fn notes(self, note: impl Fn(K, usize) -> Note) -> impl Iterator<Item = Note> {
        self.0.into_iter().map(move |(kind, (count, first))| note(kind, count).of(count, first))
    }
}

/// Collects notes up to a limit of each code, so that notes cannot fill the memory. The rest is counted.
#[derive(Clone, Debug)]
pub struct Notes {
    kept: Vec<Note>,
    /// For each code, how many notes are kept, and the index of the last one.
    of_code: BTreeMap<NoteCode, (usize, usize)>,
    limit: usize,
}

impl Notes {
    /// Keeps at most `limit` notes of each code, and one at least.
    pub fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), of_code: BTreeMap::new(), limit }
    }

    /// Adds a note of a code. It is made only if it is kept.
    pub fn add(&mut self, code: NoteCode, note: impl FnOnce() -> Note) {
        let next = self.kept.len();
        let (kept, last) = self.of_code.entry(code).or_insert((0, next));
        if *kept > 0 && *kept >= self.limit {
            if let Some(note) = self.kept.get_mut(*last) {
                note.more = note.more.saturating_add(1);
            }
            return;
        }
        (*kept, *last) = (kept.saturating_add(1), next);
        self.kept.push(note());
    }

    /// Adds a note about a place in an archive that is being parsed.
    pub fn add_at(&mut self, code: NoteCode, offset: u64, text: impl FnOnce() -> String) {
        self.add(code, || Note::new(code, "", text()).at(offset));
    }

    /// The notes that were kept so far, in the order in which they were added.
    pub fn kept(&self) -> &[Note] {
        &self.kept
    }

    /// The notes that were kept, in the order in which they were added.
    pub fn into_vec(self) -> Vec<Note> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn notes_beyond_the_limit_of_their_code_are_counted() {
        let mut notes = Notes::new(2);
        for number in 0..5 {
            notes.add(NoteCode::TextureTiled, || Note::new(NoteCode::TextureTiled, number.to_string(), "t"));
        }
        notes.add(NoteCode::ArchiveCutOff, || Note::new(NoteCode::ArchiveCutOff, "a.bsa", "cut").at(7));
        let notes = notes.into_vec();
        let found: Vec<_> = notes.iter().map(|note| (&*note.subject, note.more)).collect();
        assert_eq!(found, [("0", 0), ("1", 3), ("a.bsa", 0)]);
        assert_eq!(
            (notes[1].to_string(), notes[2].to_string()),
            ("t; 3 more".into(), "cut (offset 7)".into())
        );
    }

    #[test]
    fn a_note_names_the_first_of_the_things_it_is_about() {
        let note = Note::new(NoteCode::ArchiveCutOff, "a.bsa", "2 files are cut off").of(2, "b.nif");
        assert_eq!(note.to_string(), "2 files are cut off (the first is b.nif)");
        assert_eq!(note.clone().of(1, "b.nif").to_string(), "2 files are cut off (b.nif)");
        let json = serde_json::to_string(&note).unwrap();
        let start = r#"{"code":"archive-cut-off","subject":"a.bsa","text":"2 files are cut off","#;
        assert_eq!(json, format!(r#"{start}"count":2,"example":"b.nif"}}"#));
    }

    #[test]
    fn no_two_codes_share_a_name() {
        let names: HashSet<_> = NoteCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), NoteCode::ALL.len());
    }
}
