//! The options of commands that open sources: one table drives parsing, `--help`, the manual, completions and
//! saved profiles. Each row is an option of `-o`, and most are long options, too.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::{
    EnumValueParser, PathBufValueParser, PossibleValue, StringValueParser, TypedValueParser,
};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::cli::exit::{Exit, Failure};
use crate::content::TextureForm;
use crate::fs::{Owner, Presentation};
use crate::fuse::MountRequest;
use crate::shown::excerpt;
use crate::system::paths;
use crate::vfs::open_options::{self, no_value, placed};
use crate::vfs::sources::profile::split_options;
use crate::vfs::{FolderArchives, Layout, OpenOptions};

// Groups of long options. A command takes one or more.

/// How archives are parsed.
pub(crate) const PARSE: u8 = 1;
/// What replaces what was found of a game, and how archives become layers.
pub(crate) const SOURCE: u8 = 2;
/// How files are named and shown.
pub(crate) const SHOW: u8 = 4;
/// What most commands take. `bsafs help sources` has these options once for all commands.
pub(crate) const OPEN: u8 = PARSE | SOURCE | SHOW;
/// How several archives are merged.
pub(crate) const LAYOUT: u8 = 8;
/// For the commands that read files.
pub(crate) const SALVAGE: u8 = 16;
/// For `bsafs mount` alone.
pub(crate) const MOUNT: u8 = 32;

#[derive(Debug)]
pub struct MountOption {
    /// The name, followed by `=` if the option takes a value.
    pub name: &'static str,
    /// An example value. Empty if the option takes none.
    pub example: &'static str,
    pub help: &'static str,
    /// Applies a value. `None` if `OpenOptions` knows the option by its name.
    set: Option<SetOption>,
    /// The group of the long option of this name. 0 if there is none.
    pub(crate) group: u8,
    /// Completes that long option.
    pub(crate) argument: fn(Arg) -> Arg,
}

/// An option with its value, which is empty for a flag. A path begins in the current folder.
pub(crate) type GivenOption = (&'static MountOption, OsString);

type SetOption = fn(&mut MountOptions, &str, &Path) -> Result<(), String>;

/// An option without a value, which turns a setting on.
macro_rules! flag {
    ($name:literal, $help:expr, $($setting:ident).+) => {
        value($name, "", $help, |it, _, _| set(&mut it.$($setting).+, true))
    };
}

/// An option of SELinux, which only the kernel reads.
macro_rules! context {
    ($name:literal, $example:literal, $help:literal) => {
        value($name, $example, $help, |it, text, _| add_context(it, $name, text))
    };
}

/// All options that have an effect, in the order of `--help`.
pub const MOUNT_OPTIONS: &[MountOption] = &[
    flag!(
        "allow_other",
        "allow other users to access the mount (users need user_allow_other in /etc/fuse.conf)",
        request.allow_other
    ),
    value("uid=", "1000", "owner of the files; default: the user who mounts", |it, text, _| {
        set(&mut it.presentation.owner.uid, number(text, 10)?)
    }),
    value("gid=", "1000", "group of the files; default: the group of the user who mounts", |it, text, _| {
        set(&mut it.presentation.owner.gid, number(text, 10)?)
    }),
    value("fmode=", "444", "permissions of files, in octal; default: 644", |it, text, _| {
        set(&mut it.presentation.owner.file_mode, permissions(text)?)
    }),
    value("dmode=", "555", "permissions of folders, in octal; default: 755", |it, text, _| {
        set(&mut it.presentation.owner.folder_mode, permissions(text)?)
    }),
    value("umask=", "077", "permissions to remove from files and folders, in octal", |it, text, path| {
        set_fmask(it, text, path).and_then(|()| set_dmask(it, text, path))
    }),
    value("fmask=", "077", "permissions to remove from files, in octal", set_fmask),
    value("dmask=", "077", "permissions to remove from folders, in octal", set_dmask),
    flag!("xattr", XATTR_HELP, presentation.xattrs),
    flag!("exact", "find names only in their stored spelling, as overlays require", presentation.is_exact),
    flag!("ro", "keep the mount read-only, as it is without --edit", is_read_only),
    value("rw", "", "outranks an earlier `ro`; only --edit makes a mount writable", |it, _, _| {
        set(&mut it.is_read_only, false)
    }),
    flag!("nonempty", "mount over a folder that is not empty", nonempty),
    flag!(
        "static",
        "do not follow changes on the disk; run `bsafs reload MOUNTPOINT` to update a mount without --edit",
        is_static
    ),
    opening("salvage", "", "same as --salvage", SALVAGE, |it| {
        it.help(
            "Read files with a wrong checksum and warn, instead of failing; other damage is still an error",
        )
    }),
    MountOption {
        set: Some(|it, _, path| set(&mut it.edit, Some(path.to_owned()))),
        ..opening("edit=", "MyMod", "same as --edit", MOUNT, |it| {
            it.value_name("FOLDER")
                .help("Make the mount writable: all changes go to this folder, for example a mod's folder")
                .long_help(EDIT_HELP)
        })
    },
    opening("layout=", "per-archive", "same as --layout", LAYOUT, |it| {
        it.value_name("LAYOUT")
            .value_parser(EnumValueParser::<Layout>::new())
            .help("How to arrange several sources: as one tree, or as a folder for each [default: union]")
    }),
    opening("encoding=", "utf-8", "same as --encoding", PARSE, |it| {
        it.value_name("CODE PAGE").help(ENCODING_HELP)
    }),
    opening("force", "", "same as --force", PARSE, |it| {
        it.help("Read archives of an unknown version or kind as if they were of the nearest known one")
    }),
    opening("textures=", "dds", "same as --textures", SHOW, |it| {
        it.value_name("FORM").value_parser(EnumValueParser::<TextureForm>::new()).help("How to show textures")
    }),
    opening("game_dir=", "game", "same as --game-dir", SOURCE, |it| {
        it.value_name("FOLDER").help("The game's folder, if the game is installed twice or was not found")
    }),
    opening("prefix=", "pfx", "same as --prefix", SOURCE, |it| {
        it.value_name("FOLDER")
            .help("The Wine or Proton prefix in which the game runs: the folder that contains drive_c")
    }),
    opening("ini=", "Skyrim.ini", "same as --ini", SOURCE, |it| it.value_name("FILE").help(INI_HELP)),
    opening("plugins=", "plugins.txt", "same as --plugins", SOURCE, |it| {
        it.value_name("FILE").help("List of plugins to read instead of the game's Plugins.txt")
    }),
    opening("precedence=", "last", "same as --precedence", SOURCE, |it| {
        it.value_name("RULE")
            .help("Rule for which archive wins, instead of the game's own: last, first, fnv or oblivion")
    }),
    opening("mo2_profile=", "Default", "same as --mo2-profile", SOURCE, |it| {
        it.value_name("PROFILE")
            .help("Profile of a Mod Organizer 2 instance to use instead of the selected one")
            .long_help(MO2_PROFILE_HELP)
    }),
    opening("archives=", "files", "same as --archives", SOURCE, |it| {
        it.value_name("HOW").value_parser(EnumValueParser::<FolderArchives>::new()).help(ARCHIVES_HELP)
    }),
    opening("names=", "names.txt", "same as --names", SHOW, |it| {
        it.value_name("FILE").help(
            "List of paths, one per line, for archives that store no names; `bsafs names` prints such a list",
        )
    }),
    opening("cache_size=", "256M", "same as --cache-size", MOUNT, |it| {
        it.value_name("BYTES").help("Maximum size of the cache of decoded data, e.g. 256M [default: 64M]")
    }),
    value(
        "fsname=",
        "skyrim",
        "source that `mount` and `df` show to everybody; default: the source, with allow_other only its last \
         name (`mount -a` recognizes the mount by the whole path), or `bsafs` if there are several",
        set_fsname,
    ),
    value(
        "readahead=",
        "512",
        "KiB that the kernel reads ahead, only for root; default: 1024",
        |it, text, _| set(&mut it.request.read_ahead, Some(read_ahead(text)?)),
    ),
    value("max_read=", "131072", "maximum number of bytes per read request", add_max_read),
    context!("context=", "system_u:object_r:samba_share_t:s0", "SELinux label of all files"),
    context!("fscontext=", "system_u:object_r:fusefs_t:s0", "SELinux label of the file system"),
    context!("defcontext=", "system_u:object_r:fusefs_t:s0", "SELinux label of files without one"),
    context!("rootcontext=", "system_u:object_r:fusefs_t:s0", "SELinux label of the root folder"),
    flag!("noexec", "refuse to run programs in the mount", request.noexec),
    flag!("noatime", "show noatime in the mount table; access times never change", request.noatime),
    flag!("nosymfollow", "do not follow symbolic links in the mount", request.nosymfollow),
    value(
        "setuid=",
        "games",
        "user that root becomes before anything else; that user mounts, with only that user's permissions",
        |it, text, _| set(&mut it.user, Some(text.to_owned())),
    ),
    MountOption {
        set: Some(|it, _, _| set(&mut it.foreground, true)),
        ..opening("foreground", "", "same as --foreground", MOUNT, |it| {
            it.short('f').display_order(0).help("Stay in the foreground")
        })
    },
];

const XATTR_HELP: &str = "\
offer the extended attributes user.bsafs.archive, .codec, .hash, .hides, .packed_size, .stored_name, and \
.tile_mode for textures that are tiled for a console's GPU; off by default, because `ls -l` then asks for \
two attributes of each file";

const EDIT_HELP: &str = "\
Make the mount writable: all changes go to this folder, for example a mod's folder

If the folder does not exist, bsafs makes it. `bsafs help writing` has more.";

const ENCODING_HELP: &str = "\
Code page of stored names: 1250, 1251, 1252, utf-8, or another of the WHATWG Encoding Standard [default: for \
each archive, utf-8 if all its names are valid UTF-8, otherwise 1252]";

const INI_HELP: &str = "\
INI file to read instead of the game's; can be repeated, and later files override earlier ones";

const MO2_PROFILE_HELP: &str = "\
Profile of a Mod Organizer 2 instance to use instead of the selected one

A source that is itself the folder of a profile always stands for that profile.";

const ARCHIVES_HELP: &str = "\
What to do with archives directly in a folder, and with those that a game loads [default: open]";

impl MountOption {
    /// The name without `=`.
    pub(crate) fn id(&self) -> &'static str {
        self.name.trim_end_matches('=')
    }

    pub(crate) fn takes_value(&self) -> bool {
        self.name.ends_with('=')
    }

    pub(crate) fn is_path(&self) -> bool {
        open_options::is_path(self.id())
    }

    /// Whether the option can be repeated, and all its values count.
    pub(crate) fn is_list(&self) -> bool {
        ["names=", "ini=", "max_read="].contains(&self.name)
    }

    /// Whether the option decides how sources are opened.
    pub(crate) fn is_of_opening(&self) -> bool {
        self.set.is_none()
    }

    /// Applies a value.
    pub(crate) fn apply(&self, options: &mut MountOptions, value: &OsString) -> Result<(), String> {
        let text = value.to_string_lossy();
        if !self.takes_value() {
            no_value(&text)?;
        } else if self.is_path() && text.is_empty() {
            return Err("the path is empty; name a file or folder".into());
        }
        match self.set {
            Some(set) => set(options, &text, Path::new(value)),
            None => options.open.put(self.id(), value.clone()).map(drop),
        }
    }

    /// Says what is wrong with a value.
    pub(crate) fn check(&self, value: &str) -> Result<(), String> {
        self.apply(&mut MountOptions::default(), &value.into())
    }
}

/// An option of opening, which is also a long option of commands.
const fn opening(
    name: &'static str,
    example: &'static str,
    help: &'static str,
    group: u8,
    argument: fn(Arg) -> Arg,
) -> MountOption {
    MountOption { name, example, help, set: None, group, argument }
}

const fn value(name: &'static str, example: &'static str, help: &'static str, set: SetOption) -> MountOption {
    MountOption { name, example, help, set: Some(set), group: 0, argument: |it| it }
}

fn set<T>(field: &mut T, value: T) -> Result<(), String> {
    *field = value;
    Ok(())
}

fn number(text: &str, radix: u32) -> Result<u32, String> {
    let what = if radix == 8 { "an octal number" } else { "a number" };
    u32::from_str_radix(text, radix).map_err(|_| format!("\"{text}\" is not {what}"))
}

/// Parses permission bits. A mount should not show setuid, setgid or sticky bits.
fn permissions(text: &str) -> Result<u16, String> {
    match u16::try_from(number(text, 8)?) {
        Ok(bits) if bits <= 0o777 => Ok(bits),
        _ => Err(format!("\"{text}\" is greater than 777, the highest value")),
    }
}

/// Parses the readahead in KiB. The kernel accepts any number but silently rounds one that is too large.
fn read_ahead(text: &str) -> Result<u32, String> {
    const MAX_KIB: u32 = 1024;
    let kib = number(text, 10)?;
    if kib <= MAX_KIB { Ok(kib) } else { Err(format!("the maximum is {MAX_KIB} KiB")) }
}

fn add_context(options: &mut MountOptions, name: &'static str, text: &str) -> Result<(), String> {
    let name = name.trim_end_matches('=');
    let value = text.trim_matches('"');
    if value.is_empty() || value.contains('"') {
        return Err("give a label of SELinux, such as system_u:object_r:samba_share_t:s0".into());
    }
    // The last value counts, as for other options.
    options.request.contexts.retain(|(given, _)| *given != name);
    options.request.contexts.push((name, value.to_owned()));
    Ok(())
}

fn set_fsname(options: &mut MountOptions, text: &str, _: &Path) -> Result<(), String> {
    match text {
        "" => Err("the name is empty; give one, or leave the option out".into()),
        _ => set(&mut options.request.fsname, text.to_owned()),
    }
}

fn set_fmask(options: &mut MountOptions, text: &str, _: &Path) -> Result<(), String> {
    set(&mut options.presentation.owner.file_mask, permissions(text)?)
}

fn set_dmask(options: &mut MountOptions, text: &str, _: &Path) -> Result<(), String> {
    set(&mut options.presentation.owner.folder_mask, permissions(text)?)
}

fn add_max_read(options: &mut MountOptions, text: &str, _: &Path) -> Result<(), String> {
    options.request.kernel_options.push(format!("max_read={}", number(text, 10)?));
    Ok(())
}

// The settings of a mount, which the command line, profiles and `-o` set together.

/// The settings of a mount. `None` means the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountOptions {
    /// What was set, in this order. A later value outranks an earlier one.
    pub(crate) given: Vec<GivenOption>,
    pub(crate) open: OpenOptions,
    pub(crate) foreground: bool,
    pub(crate) nonempty: bool,
    /// Whether the daemon ignores changes on the disk.
    pub(crate) is_static: bool,
    /// Whether `ro` was given, which contradicts `edit`.
    pub(crate) is_read_only: bool,
    /// The folder that receives files written to the mount.
    pub(crate) edit: Option<PathBuf>,
    /// The user that root becomes.
    pub(crate) user: Option<String>,
    pub(crate) presentation: Presentation,
    /// The mount request without the mountpoint, which is prepared last.
    pub(crate) request: MountRequest,
}

impl MountOptions {
    /// The defaults. Files belong to the user and group of this process.
    pub(crate) fn new() -> Self {
        let owner = Owner::new(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self { presentation: Presentation { owner, ..Presentation::default() }, ..Self::default() }
    }
}

// Mount options, as mount(8) and fstab write them after `-o`.

/// Accepted options that change nothing. mount(8) passes them to every file system, or the mount behaves as
/// they ask anyway. `ro` and `rw` only matter with `edit`.
const IGNORED: &str = "\
    ro rw dev nodev suid nosuid exec atime relatime norelatime strictatime diratime nodiratime sync \
    async dirsync auto noauto user users nouser owner group nofail _netdev _rnetdev defaults lazytime \
    nolazytime iversion noiversion mand nomand silent loud symfollow auto_unmount default_permissions \
    debug subtype comment";

/// Whether an accepted option changes nothing.
pub(crate) fn is_ignored(name: &str) -> bool {
    IGNORED.split(' ').any(|it| it == name) || name.starts_with("x-") || name.starts_with("X-")
}

const REMOUNT: &str =
    "a mount cannot change its options; run `bsafs umount MOUNTPOINT`, and mount again with the new ones";

impl MountOptions {
    /// Applies the value of one more `-o`, which outranks earlier ones. Relative paths start at `folder`.
    pub(crate) fn add(&mut self, options: &str, folder: &Path) -> Result<(), Failure> {
        self.add_all(&split_options(options), folder)
    }

    pub(crate) fn add_all(&mut self, options: &[(String, String)], folder: &Path) -> Result<(), Failure> {
        options.iter().try_for_each(|(name, value)| {
            let done = match MOUNT_OPTIONS.iter().find(|row| row.id() == name) {
                Some(row) => self.set(row, placed(name, value, folder)),
                None if is_ignored(name) => Ok(()),
                None if name == "remount" => Err(REMOUNT.into()),
                None if name == "allow_root" => {
                    Err("not supported; use allow_other, which includes root".into())
                }
                None => Err("unknown option; `bsafs help mount` lists them".into()),
            };
            done.map_err(|error| {
                let option = if value.is_empty() { name.clone() } else { format!("{name}={value}") };
                Failure::new(Exit::Usage, format!("-o {}: {error}", excerpt(&option)))
            })
        })
    }

    /// Applies options that were accepted before. They outrank earlier ones.
    pub(crate) fn add_given<'a>(&mut self, given: impl IntoIterator<Item = &'a GivenOption>) {
        for (row, value) in given {
            let done = self.set(row, value.clone());
            debug_assert_eq!(done, Ok(()), "{}", row.name);
        }
    }

    fn set(&mut self, row: &'static MountOption, value: OsString) -> Result<(), String> {
        row.apply(self, &value)?;
        self.given.retain(|(it, _)| it.name != row.name || row.is_list());
        self.given.push((row, value));
        Ok(())
    }

    /// The options of which `is_wanted`, in the syntax of `-o`.
    pub(crate) fn text(&self, is_wanted: impl Fn(&MountOption) -> bool) -> String {
        let wanted = self.given.iter().filter(|(row, _)| is_wanted(row));
        let options = wanted.map(|given| format!("{}{}", given.0.name, escaped(&absolute(given))));
        options.collect::<Vec<_>>().join(",")
    }
}

/// The value of an option. A path is absolute, so that it is valid in any current folder.
fn absolute((row, value): &GivenOption) -> String {
    let path = row.is_path().then(|| paths::absolute(Path::new(value)).ok()).flatten();
    path.map_or_else(|| value.clone(), OsString::from).to_string_lossy().into_owned()
}

/// How the help of a mount option begins that is the same as a long option.
const SAME_AS: &str = "same as --";

/// Gives clap the table for `--help`, the manual and completions. It accepts any text, because
/// options are parsed later, after those of the profiles that they outrank.
#[derive(Clone)]
pub(crate) struct OptionList;

impl TypedValueParser for OptionList {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(MOUNT_OPTIONS.iter().map(|MountOption { name, example, help, .. }| {
            let example = if example.is_empty() { String::new() } else { format!(" (e.g. {example})") };
            // The help has the option of the same name.
            let is_known = help.starts_with(SAME_AS);
            PossibleValue::new(*name).help(format!("{help}{example}")).hide(is_known)
        })))
    }
}

/// Escapes a value so that [`split_options`] does not split it.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace(',', r"\,")
}

// The long options of commands that open archives. Each is a row of the table of mount options.

/// What root does instead of opening another user's folder to write files that everybody may read.
pub(crate) const AS_USER: &str = "run the command as that user, or add --follow-links if you trust them";

/// The options of some groups, as the user gave them. What is not given, a profile can set.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenArgs<const GROUPS: u8 = OPEN> {
    pub(crate) given: Vec<GivenOption>,
}

impl<const GROUPS: u8> OpenArgs<GROUPS> {
    pub(crate) fn options(&self) -> OpenOptions {
        self.given.iter().fold(OpenOptions::new(), |mut options, (row, value)| {
            // The values are valid. Options of the mount alone are none of opening.
            _ = options.put(row.id(), value.clone());
            options
        })
    }
}

impl<const GROUPS: u8> Args for OpenArgs<GROUPS> {
    fn augment_args(command: Command) -> Command {
        command.args(MOUNT_OPTIONS.iter().filter(|row| row.group & GROUPS != 0).map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const GROUPS: u8> FromArgMatches for OpenArgs<GROUPS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    /// Takes the options that the command has, whichever groups they are of.
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for row in MOUNT_OPTIONS.iter().filter(|row| row.group != 0) {
            let values = matches.try_get_raw(row.name).ok().flatten();
            let values = values.filter(|_| matches.value_source(row.name) == Some(ValueSource::CommandLine));
            let value = |value| if row.takes_value() { OsString::from(value) } else { OsString::new() };
            self.given.extend(values.into_iter().flatten().map(|it| (row, value(it))));
        }
        Ok(())
    }
}

/// The long option of a row. Its id ends with `=` if it takes a value, so that it differs from those of
/// positional arguments.
fn argument(row: &'static MountOption) -> Arg {
    let is_in_topic = row.group & OPEN != 0;
    let argument = Arg::new(row.name).long(row.id().replace('_', "-"));
    let argument = argument.hide_short_help(is_in_topic).hide_long_help(is_in_topic);
    let check = |text: &str| row.check(text).map(|()| OsString::from(text));
    let argument = match () {
        () if !row.takes_value() => argument.action(ArgAction::SetTrue),
        () if row.is_path() => argument.value_parser(PathBufValueParser::new()),
        () => argument.value_parser(check),
    };
    let argument = if row.is_list() { argument.action(ArgAction::Append) } else { argument };
    (row.argument)(argument)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse<const N: usize>(values: [&str; N]) -> Result<MountOptions, Failure> {
        let mut options = MountOptions::new();
        values.iter().try_for_each(|value| options.add(value, Path::new("")))?;
        Ok(options)
    }

    #[test]
    fn every_option_survives_printing_and_parsing() {
        let all: Vec<String> =
            MOUNT_OPTIONS.iter().map(|row| format!("{}{}", row.name, row.example)).collect();
        for option in all.iter().chain(
            [&all.join(","), r"names=/a\,b\\c,names=/d,max_read=7,max_read=8"].map(str::to_owned).iter(),
        ) {
            let options = parse([&**option]).expect("an option was refused");
            let text = options.text(|_| true);
            let again = parse([&*text]).unwrap_or_else(|failure| panic!("{}", failure.what));
            assert_ne!(text, "", "{option}");
            assert_eq!(again.text(|_| true), text, "{option}");
        }
        let labelled =
            parse([r#"context="u:r:t:c1,c2",fscontext=u:r:t,comment=x,ro"#]).expect("a label was refused");
        let labels = [("context", "u:r:t:c1,c2".to_owned()), ("fscontext", "u:r:t".to_owned())];
        assert_eq!(labelled.request.contexts, labels);
        assert!(["context=", "context", "fsname=", "fsname"].iter().all(|empty| parse([empty]).is_err()));
        // The text makes relative paths absolute. These options have none, so all of them must match.
        let options = parse([r"names=/a\,b,game_dir=/g,setuid=games,umask=027,uid=7,xattr,archives=both"])
            .expect("an option was refused");
        let again = parse([&*options.text(|_| true)]).expect("an option was refused");
        assert_eq!(format!("{again:?}"), format!("{options:?}"));
    }
}
