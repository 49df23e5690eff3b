//! The table of mount options, which drives parsing, `--help`, the manual, completions and saved profiles.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::open_args;
use crate::fs::{Owner, Presentation};
use crate::fuse::MountRequest;
use crate::game::ArchiveRule;
use crate::system::paths;
use crate::vfs::OpenOptions;
use crate::vfs::open_options::{expand_home, no_value};

#[derive(Debug)]
pub struct MountOption {
    /// The name, followed by `=` if the option takes a value.
    pub name: &'static str,
    /// An example value. Empty if the option takes none.
    pub example: &'static str,
    pub help: &'static str,
    /// Applies a value. Relative paths start at the given folder. `None` if `OpenOptions` parses the
    /// option by its name.
    set: Option<SetOption>,
    /// The values that would produce the current state. A flag that is set has one empty value.
    pub(crate) values: OptionValues,
}

type SetOption = fn(&mut MountOptions, &str, &Path) -> Result<(), String>;
type OptionValues = fn(&MountOptions) -> Vec<String>;

/// An option without a value, which turns a setting on.
macro_rules! flag {
    ($name:literal, $help:expr, $($setting:ident).+) => {
        MountOption {
            name: $name,
            example: "",
            help: $help,
            set: Some(|it, _, _| set(&mut it.$($setting).+, true)),
            values: |it| given(it.$($setting).+),
        }
    };
}

/// An option of SELinux, which only the kernel reads.
macro_rules! context {
    ($name:literal, $example:literal, $help:literal) => {
        value(
            $name,
            $example,
            $help,
            |it, text, _| add_context(it, $name, text),
            |it| {
                let given =
                    it.request.contexts.iter().filter(|(name, _)| *name == $name.trim_end_matches('='));
                given.map(|(_, value)| value.clone()).collect()
            },
        )
    };
}

/// All options that have an effect, in the order of `--help`.
pub const MOUNT_OPTIONS: &[MountOption] = &[
    flag!(
        "allow_other",
        "allow other users to access the mount (users need user_allow_other in /etc/fuse.conf)",
        request.allow_other
    ),
    value(
        "uid=",
        "1000",
        "owner of the files; default: the user who mounts",
        |it, text, _| set(&mut it.presentation.owner.uid, number(text, 10)?),
        |it| vec![it.presentation.owner.uid.to_string()],
    ),
    value(
        "gid=",
        "1000",
        "group of the files; default: the group of the user who mounts",
        |it, text, _| set(&mut it.presentation.owner.gid, number(text, 10)?),
        |it| vec![it.presentation.owner.gid.to_string()],
    ),
    value(
        "fmode=",
        "444",
        "permissions of files, in octal; default: 644",
        |it, text, _| set(&mut it.presentation.owner.file_mode, permissions(text)?),
        |it| octal(it.presentation.owner.file_mode),
    ),
    value(
        "dmode=",
        "555",
        "permissions of folders, in octal; default: 755",
        |it, text, _| set(&mut it.presentation.owner.folder_mode, permissions(text)?),
        |it| octal(it.presentation.owner.folder_mode),
    ),
    value(
        "umask=",
        "077",
        "permissions to remove from files and folders, in octal",
        |it, text, folder| set_fmask(it, text, folder).and_then(|()| set_dmask(it, text, folder)),
        // `fmask` and `dmask` hold the value.
        |_| Vec::new(),
    ),
    value("fmask=", "077", "permissions to remove from files, in octal", set_fmask, |it| {
        octal(it.presentation.owner.file_mask)
    }),
    value("dmask=", "077", "permissions to remove from folders, in octal", set_dmask, |it| {
        octal(it.presentation.owner.folder_mask)
    }),
    flag!("xattr", XATTR_HELP, presentation.xattrs),
    flag!("exact", "find names only in their stored spelling, as overlays require", presentation.is_exact),
    flag!("nonempty", "mount over a folder that is not empty", nonempty),
    flag!(
        "static",
        "do not follow changes on the disk; run `bsafs reload MOUNTPOINT` to update the mount",
        is_static
    ),
    value(
        "edit=",
        "MyMod",
        "same as --edit",
        |it, text, folder| set(&mut it.edit, Some(path(text, folder))),
        |it| paths(&it.edit),
    ),
    opening("encoding=", "utf-8", "same as --encoding", |it| {
        it.open.encoding.iter().map(|it| it.name().to_owned()).collect()
    }),
    opening("layout=", "per-archive", "same as --layout", |it| name_of(it.open.layout.as_ref())),
    opening("archives=", "files", "same as --archives", |it| name_of(it.open.archives.as_ref())),
    opening("textures=", "dds", "same as --textures", |it| name_of(it.open.textures.as_ref())),
    opening("names=", "names.txt", "same as --names", |it| paths(&it.open.names)),
    opening("game_dir=", "game", "same as --game-dir", |it| paths(&it.open.game_dir)),
    opening("prefix=", "pfx", "same as --prefix", |it| paths(&it.open.prefix)),
    opening("ini=", "Skyrim.ini", "same as --ini", |it| paths(&it.open.inis)),
    opening("plugins=", "plugins.txt", "same as --plugins", |it| paths(&it.open.plugins)),
    opening("precedence=", "last", "same as --precedence", precedence),
    opening("mo2_profile=", "Default", "same as --mo2-profile", |it| {
        it.open.mo2_profile.iter().cloned().collect()
    }),
    opening("force", "", "same as --force", |it| given(it.open.force)),
    opening("salvage", "", "same as --salvage", |it| given(it.open.salvage)),
    value(
        "cache_size=",
        "256M",
        "same as --cache-size",
        |it, text, _| set(&mut it.open.cache_size, Some(open_args::parse(text)?)),
        |it| it.open.cache_size.iter().map(u64::to_string).collect(),
    ),
    value(
        "fsname=",
        "skyrim",
        "source that `mount` and `df` show to everybody; default: the source, with allow_other only its last \
         name (`mount -a` recognizes the mount by the whole path), or `bsafs` if there are several",
        set_fsname,
        |it| vec![it.request.fsname.clone()],
    ),
    value(
        "readahead=",
        "512",
        "KiB that the kernel reads ahead, only for root; default: 1024",
        |it, text, _| set(&mut it.request.read_ahead, Some(read_ahead(text)?)),
        |it| it.request.read_ahead.iter().map(u32::to_string).collect(),
    ),
    value("max_read=", "131072", "maximum number of bytes per read request", add_max_read, |it| {
        let max_read = it.request.kernel_options.iter().filter_map(|it| it.strip_prefix("max_read="));
        max_read.map(str::to_owned).collect()
    }),
    context!("context=", "system_u:object_r:samba_share_t:s0", "SELinux's label of all files"),
    context!("fscontext=", "system_u:object_r:fusefs_t:s0", "SELinux's label of the file system"),
    context!("defcontext=", "system_u:object_r:fusefs_t:s0", "SELinux's label of files without one"),
    context!("rootcontext=", "system_u:object_r:fusefs_t:s0", "SELinux's label of the root folder"),
    flag!("noexec", "refuse to run programs in the mount", request.noexec),
    flag!("noatime", "show noatime in the mount table; access times never change", request.noatime),
    flag!("nosymfollow", "do not follow symbolic links in the mount", request.nosymfollow),
    value(
        "setuid=",
        "games",
        "user that root becomes before anything else; that user mounts, with only the own rights",
        |it, text, _| set(&mut it.user, Some(text.to_owned())),
        |it| it.user.iter().cloned().collect(),
    ),
    flag!("foreground", "same as --foreground", foreground),
];

const XATTR_HELP: &str = "\
offer the extended attributes user.bsafs.archive, .codec, .hash, .hides, .packed_size, .stored_name, and \
.tile_mode for textures that are tiled for a console's GPU; off by default, because `ls -l` then asks for \
two attributes of each file";

impl MountOption {
    /// Applies a value. Relative paths start at `folder`.
    pub(crate) fn apply(&self, options: &mut MountOptions, value: &str, folder: &Path) -> Result<(), String> {
        if !self.name.ends_with('=') {
            no_value(value)?;
        }
        match self.set {
            Some(set) => set(options, value, folder),
            None => options.open.set(self.name.trim_end_matches('='), value, folder).map(|_| ()),
        }
    }
}

/// An option that [`OpenOptions`](crate::OpenOptions::set) parses.
const fn opening(
    name: &'static str,
    example: &'static str,
    help: &'static str,
    values: OptionValues,
) -> MountOption {
    MountOption { name, example, help, set: None, values }
}

const fn value(
    name: &'static str,
    example: &'static str,
    help: &'static str,
    set: SetOption,
    values: OptionValues,
) -> MountOption {
    MountOption { name, example, help, set: Some(set), values }
}

fn set<T>(field: &mut T, value: T) -> Result<(), String> {
    *field = value;
    Ok(())
}

/// Resolves a path from a profile or the command line, which may begin with `~`.
fn path(text: &str, folder: &Path) -> PathBuf {
    folder.join(expand_home(text.into()))
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

/// The values of a flag: a single empty string if the flag is set, otherwise none.
fn given(is_set: bool) -> Vec<String> {
    if is_set { vec![String::new()] } else { Vec::new() }
}

fn octal(bits: u16) -> Vec<String> {
    vec![format!("{bits:o}")]
}

fn name_of(value: Option<&impl ValueEnum>) -> Vec<String> {
    let value = value.and_then(ValueEnum::to_possible_value);
    value.iter().map(|value| value.get_name().to_owned()).collect()
}

fn precedence(options: &MountOptions) -> Vec<String> {
    let named = ArchiveRule::ALL.iter().filter(|(_, rule)| options.open.precedence == Some(*rule));
    named.map(|(name, _)| (*name).to_owned()).collect()
}

/// Absolute paths, which are valid in any current folder.
fn paths<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<String> {
    let absolute = |path: &PathBuf| paths::absolute(path).unwrap_or_else(|_| path.clone());
    paths.into_iter().map(|path| absolute(path).to_string_lossy().into_owned()).collect()
}

// The settings of a mount, which the command line, profiles and `-o` set together.

/// The settings of a mount. `None` means the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct MountOptions {
    pub(crate) open: OpenOptions,
    pub(crate) foreground: bool,
    pub(crate) nonempty: bool,
    /// Whether the daemon ignores changes on the disk.
    pub(crate) is_static: bool,
    /// The folder that receives files written to the mount.
    pub(crate) edit: Option<PathBuf>,
    /// The user that root becomes.
    pub(crate) user: Option<String>,
    pub(crate) presentation: Presentation,
    /// The mount request without the mountpoint, which is prepared last.
    pub(crate) request: MountRequest,
}

/// The flags of a command that duplicate a mount option. A command that lacks a flag leaves the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) open: OpenOptions,
    pub(crate) foreground: bool,
    pub(crate) edit: Option<PathBuf>,
}

impl MountOptions {
    /// The defaults. Files belong to the user and group of this process.
    pub(crate) fn new() -> Self {
        let owner = Owner::new(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self { presentation: Presentation { owner, ..Presentation::default() }, ..Self::default() }
    }

    /// Applies the flags that the user gave.
    pub(crate) fn outrank_by(&mut self, flags: &Flags) {
        self.open = flags.open.clone().merged_over(std::mem::take(&mut self.open));
        self.foreground |= flags.foreground;
        self.edit = flags.edit.clone().or_else(|| self.edit.take());
    }
}
