//! Mount options, as mount(8) and fstab write them after `-o`: one table, from which parsing, `--help`, the manual and
//! completions are made.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, ValueEnum};

use super::cache_size;
use super::exit::{Exit, Failure};
use super::open_args::{Layout, OpenArgs, parse_encoding};
use super::privileges::Privileges;
use super::profile::expand_home;
use super::source_args::parse_precedence;
use crate::fs::{MountRequest, Owner, Presentation};

/// A mount option.
#[derive(Debug)]
pub struct MountOption {
    /// Its name, with a `=` behind it where a value follows.
    pub name: &'static str,
    /// A value that is accepted; empty where none is taken.
    pub example: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Applies a value; paths in it are relative to the folder.
    set: SetOption,
}

type SetOption = fn(&mut MountOptions, &str, &Path) -> Result<(), String>;

/// All options that have an effect, in the order of `--help`.
pub const MOUNT_OPTIONS: &[MountOption] = &[
    flag("allow_other", "let other users in (users need user_allow_other in /etc/fuse.conf)", |it, _, _| {
        set(&mut it.request.allow_other, true)
    }),
    value("uid=", "1000", "the files' user; default: who mounts", |it, text, _| {
        set(&mut it.presentation.owner.uid, number(text, 10)?)
    }),
    value("gid=", "1000", "the files' group; default: that of who mounts", |it, text, _| {
        set(&mut it.presentation.owner.gid, number(text, 10)?)
    }),
    value("fmode=", "444", "permissions of files, in octal; default: 644", |it, text, _| {
        set(&mut it.presentation.owner.file_mode, permissions(text)?)
    }),
    value("dmode=", "555", "permissions of folders, in octal; default: 755", |it, text, _| {
        set(&mut it.presentation.owner.folder_mode, permissions(text)?)
    }),
    value("umask=", "077", "permissions to remove from files and folders, in octal", |it, text, folder| {
        set_fmask(it, text, folder).and_then(|()| set_dmask(it, text, folder))
    }),
    value("fmask=", "077", "permissions to remove from files, in octal", set_fmask),
    value("dmask=", "077", "permissions to remove from folders, in octal", set_dmask),
    flag("xattr", XATTR_HELP, |it, _, _| set(&mut it.presentation.xattrs, true)),
    flag("nonempty", "mount over a folder that is not empty", |it, _, _| set(&mut it.nonempty, true)),
    value("encoding=", "utf-8", "as --encoding", |it, text, _| {
        set(&mut it.open.parse.encoding, parse_encoding(text)?)
    }),
    value("layout=", "per-archive", "as --layout", |it, text, _| set(&mut it.layout, one_of(text)?)),
    value("archives=", "files", "as --archives", |it, text, _| {
        set(&mut it.open.folder_archives, one_of(text)?)
    }),
    value("textures=", "dds", "as --textures", |it, text, _| set(&mut it.open.textures, one_of(text)?)),
    value("names=", "names.txt", "as --names", |it, text, folder| {
        it.open.names.push(path(text, folder));
        Ok(())
    }),
    value("game_dir=", "game", "as --game-dir", |it, text, folder| {
        set(&mut it.open.source.game_dir, Some(path(text, folder)))
    }),
    value("prefix=", "pfx", "as --prefix", |it, text, folder| {
        set(&mut it.open.source.prefix, Some(path(text, folder)))
    }),
    value("ini=", "Skyrim.ini", "as --ini", |it, text, folder| {
        it.open.source.inis.push(path(text, folder));
        Ok(())
    }),
    value("plugins=", "plugins.txt", "as --plugins", |it, text, folder| {
        set(&mut it.open.source.plugins, Some(path(text, folder)))
    }),
    value("precedence=", "last", "as --precedence", |it, text, _| {
        set(&mut it.open.source.precedence, Some(parse_precedence(text)?))
    }),
    value("mo2_profile=", "Default", "as --mo2-profile", |it, text, _| {
        set(&mut it.open.source.mo2_profile, Some(text.to_owned()))
    }),
    flag("force", "as --force", |it, _, _| set(&mut it.open.parse.force, true)),
    flag("salvage", "as --salvage", |it, _, _| set(&mut it.salvage, true)),
    value("cache_size=", "256M", "as --cache-size", |it, text, _| {
        set(&mut it.cache_size, cache_size::parse(text)?)
    }),
    value(
        "fsname=",
        "skyrim",
        "source that `mount` and `df` show; default: the archive or profile, of several `bsafs`",
        |it, text, _| set(&mut it.request.fsname, text.to_owned()),
    ),
    value(
        "readahead=",
        "512",
        "KiB that the kernel reads ahead (root only; default: 1024)",
        |it, text, _| set(&mut it.request.read_ahead, Some(read_ahead(text)?)),
    ),
    value("max_read=", "131072", "bytes of a read request at most", |it, text, _| {
        it.request.kernel_options.push(format!("max_read={}", number(text, 10)?));
        Ok(())
    }),
    flag("noexec", "refuse to run programs in the mount", |it, _, _| set(&mut it.request.noexec, true)),
    flag("noatime", "show noatime in the mount table; access times never change", |it, _, _| {
        set(&mut it.request.noatime, true)
    }),
    flag("nosymfollow", "follow no symbolic link in the mount", |it, _, _| {
        set(&mut it.request.nosymfollow, true)
    }),
    value(
        "setuid=",
        "games",
        "user that the daemon becomes once root has made the mount, which then belongs to that user",
        |it, text, _| set(&mut it.privileges.user, Some(text.to_owned())),
    ),
    flag(
        "drop_privileges",
        "the daemon gives up all capabilities once root has made the mount; `umount` ends it",
        |it, _, _| set(&mut it.privileges.are_dropped, true),
    ),
    flag("foreground", "as --foreground", |it, _, _| set(&mut it.foreground, true)),
];

const XATTR_HELP: &str = "\
answer user.bsafs.archive, .codec, .hash, .hides, .packed_size, .stored_name, and .tile_mode of textures that are \
tiled for a console's GPU; off by default, for then `ls -l` asks for two attributes of each file";

/// Options that mount(8) passes to every file system, or whose effect the mount has in any case. `rw` is among them
/// because mount(8) passes it by default; the mount is read-only nevertheless.
const IGNORED: &str = "ro rw dev nodev suid nosuid exec atime relatime norelatime strictatime diratime nodiratime \
                       sync async dirsync auto noauto user users nouser owner group nofail _netdev _rnetdev defaults \
                       lazytime nolazytime iversion noiversion mand nomand silent loud symfollow auto_unmount \
                       default_permissions debug subtype";

const REMOUNT: &str =
    "the options of a mount stay as they are: `bsafs umount MOUNTPOINT`, then mount again with others";

/// The state that command line, profiles and `-o` set together.
#[derive(Clone, Debug, Default)]
pub(super) struct MountOptions {
    pub(super) open: OpenArgs,
    pub(super) layout: Layout,
    /// Whether suspect files are served.
    pub(super) salvage: bool,
    /// In bytes.
    pub(super) cache_size: u64,
    pub(super) foreground: bool,
    pub(super) nonempty: bool,
    pub(super) privileges: Privileges,
    pub(super) presentation: Presentation,
    /// All but the mountpoint, which is prepared last.
    pub(super) request: MountRequest,
}

impl MountOptions {
    /// Options with the values of the command line, and else the defaults.
    pub(super) fn new(open: OpenArgs, layout: Layout, cache_size: u64, foreground: bool) -> Self {
        let owner = Owner::new(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let presentation = Presentation { owner, ..Presentation::default() };
        Self { open, layout, cache_size, foreground, presentation, ..Self::default() }
    }

    /// Applies the value of one more `-o`, which outranks those before it. Paths in it are relative to `folder`.
    pub(super) fn add(&mut self, options: &str, folder: &Path) -> Result<(), Failure> {
        split(options)
            .iter()
            .filter(|option| !option.is_empty())
            .try_for_each(|option| self.apply(option, folder))
    }

    fn apply(&mut self, option: &str, folder: &Path) -> Result<(), Failure> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let is_ignored =
            IGNORED.split(' ').any(|it| it == name) || name.starts_with("x-") || name.starts_with("X-");
        let row = MOUNT_OPTIONS.iter().find(|row| row.name.trim_end_matches('=') == name);
        let done = match row {
            Some(row) => (row.set)(self, value, folder),
            None if is_ignored => Ok(()),
            None if name == "remount" => Err(REMOUNT.into()),
            None if name == "allow_root" => Err("not offered; allow_other lets root in as well".into()),
            None => Err("unknown option; `bsafs help mount` lists them".into()),
        };
        done.map_err(|error| Failure::new(Exit::Usage, format!("-o {option}: {error}")))
    }
}

/// Gives clap the table, for `--help`, the manual and completions. It takes any text: options are parsed after those of
/// profiles, which they outrank.
#[derive(Clone)]
pub(super) struct OptionList;

impl TypedValueParser for OptionList {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(MOUNT_OPTIONS.iter().map(|MountOption { name, example, help, .. }| {
            let example = if example.is_empty() { String::new() } else { format!(" (e.g. {example})") };
            PossibleValue::new(*name).help(format!("{help}{example}"))
        })))
    }
}

const fn flag(name: &'static str, help: &'static str, set: SetOption) -> MountOption {
    MountOption { name, example: "", help, set }
}

const fn value(name: &'static str, example: &'static str, help: &'static str, set: SetOption) -> MountOption {
    MountOption { name, example, help, set }
}

fn set<T>(field: &mut T, value: T) -> Result<(), String> {
    *field = value;
    Ok(())
}

/// A path as a profile or the command line writes it.
fn path(text: &str, folder: &Path) -> PathBuf {
    folder.join(expand_home(text.into()))
}

fn number(text: &str, radix: u32) -> Result<u32, String> {
    u32::from_str_radix(text, radix).map_err(|_| format!("\"{text}\" is not a number"))
}

/// Permission bits; those beyond (setuid, setgid, sticky) are nothing that a mount should show.
fn permissions(text: &str) -> Result<u16, String> {
    match u16::try_from(number(text, 8)?) {
        Ok(bits) if bits <= 0o777 => Ok(bits),
        _ => Err(format!("\"{text}\" is more than the permissions 777")),
    }
}

/// The kernel takes any number and rounds one that is too large to another.
fn read_ahead(text: &str) -> Result<u32, String> {
    const MAX_KIB: u32 = 1024;
    let kib = number(text, 10)?;
    if kib <= MAX_KIB { Ok(kib) } else { Err(format!("a request carries {MAX_KIB} KiB at most")) }
}

fn set_fmask(options: &mut MountOptions, text: &str, _: &Path) -> Result<(), String> {
    set(&mut options.presentation.owner.file_mask, permissions(text)?)
}

fn set_dmask(options: &mut MountOptions, text: &str, _: &Path) -> Result<(), String> {
    set(&mut options.presentation.owner.folder_mask, permissions(text)?)
}

fn one_of<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let values = T::value_variants().iter().filter_map(T::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        format!("not one of {}", names.join(", "))
    })
}

/// Splits at commas; `\,` is a comma within a value.
fn split(options: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match character {
            ',' => parts.push(String::new()),
            _ => {
                let character = if character == '\\' { characters.next().unwrap_or('\\') } else { character };
                if let Some(last) = parts.last_mut() {
                    last.push(character);
                }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<const N: usize>(values: [&str; N]) -> Result<MountOptions, Failure> {
        let mut options = MountOptions::new(OpenArgs::default(), Layout::default(), 0, false);
        values.iter().try_for_each(|value| options.add(value, Path::new("")))?;
        Ok(options)
    }

    #[test]
    fn every_option_is_accepted_with_its_example_and_has_an_effect() {
        let before = format!("{:?}", parse([]).expect("defaults"));
        for row in MOUNT_OPTIONS {
            let option = format!("{}{}", row.name, row.example);
            let after = parse([&*option]).unwrap_or_else(|failure| panic!("{}", failure.what));
            assert_ne!(format!("{after:?}"), before, "{option}");
            assert_eq!(row.name.ends_with('='), !row.example.is_empty(), "{option}");
        }
    }

    #[test]
    fn what_mount_and_fstab_pass_is_accepted() {
        let passed =
            "rw,dev,suid,nofail,noauto,user,_netdev,x-systemd.automount,X-mount.mkdir,relatime,fsname=a";
        assert!(parse([passed]).is_ok());
        assert!(parse(["lazytime,iversion,mand,silent,_rnetdev,auto_unmount,nosymfollow"]).is_ok());
        let failure = parse(["remount,ro"]).expect_err("refused");
        assert!(failure.what.contains("mount again"), "{}", failure.what);
    }

    #[test]
    fn an_unknown_option_is_named() {
        let failure = parse(["ro,dirsynk"]).expect_err("refused");
        assert!(failure.what.contains("dirsynk"), "{}", failure.what);
        assert_eq!(failure.exit, Exit::Usage);
    }

    #[test]
    fn masks_remove_permissions() {
        let parsed = |options| parse(["uid=7,gid=8", options]).expect("accepted").presentation.owner;
        let owner = Owner::new(7, 8);
        assert_eq!(parsed("umask=077,dmask=022"), Owner { file_mask: 0o077, folder_mask: 0o022, ..owner });
        // In any order.
        for options in ["fmode=666,dmode=777,umask=022", "umask=022,dmode=777,fmode=666"] {
            let masks = Owner { file_mask: 0o022, folder_mask: 0o022, ..owner };
            assert_eq!(parsed(options), Owner { file_mode: 0o666, folder_mode: 0o777, ..masks });
        }
        assert!(parse(["fmode=1777"]).is_err() && parse(["umask=8"]).is_err());
    }

    #[test]
    fn lists_of_names_add_up() {
        let mut options = parse(["names=a,force", "names=b"]).expect("accepted");
        options.add("names=c,names=/d", Path::new("/etc/bsafs")).expect("accepted");
        assert_eq!(options.open.names, ["a", "b", "/etc/bsafs/c", "/d"].map(Path::new));
        assert!(options.open.parse.force);
    }

    #[test]
    fn a_comma_may_be_part_of_a_value() {
        let options = parse([r"fsname=a\,b,xattr"]).expect("accepted");
        assert_eq!((options.request.fsname.as_str(), options.presentation.xattrs), ("a,b", true));
    }
}
