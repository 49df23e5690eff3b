//! The options of `-o`: those of mount(8) and fstab, in libfuse's spelling.

use std::path::{Path, PathBuf};

use super::exit::{Exit, Failure};
use super::profile::home;
use crate::fs::Owner;

/// What `-o` asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MountOptions {
    pub(super) allow_other: bool,
    pub(super) nonempty: bool,
    pub(super) xattr: bool,
    pub(super) noexec: bool,
    pub(super) noatime: bool,
    pub(super) foreground: bool,
    pub(super) fsname: Option<String>,
    pub(super) encoding: Option<String>,
    pub(super) layout: Option<String>,
    pub(super) textures: Option<String>,
    pub(super) cache_size: Option<String>,
    pub(super) names: Vec<PathBuf>,
    pub(super) force: bool,
    pub(super) kernel: Vec<String>,
    /// In KiB.
    pub(super) read_ahead: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
    file_mask: Option<u16>,
    folder_mask: Option<u16>,
}

/// Options that mount(8) passes to every file system, or that ask for what is so in any case. `rw` is among them
/// because mount(8) says it unless told otherwise; the mount is read-only all the same.
const NO_EFFECT: [&str; 29] = [
    "ro",
    "rw",
    "dev",
    "nodev",
    "suid",
    "nosuid",
    "exec",
    "atime",
    "relatime",
    "norelatime",
    "strictatime",
    "diratime",
    "nodiratime",
    "sync",
    "async",
    "dirsync",
    "auto",
    "noauto",
    "user",
    "users",
    "nouser",
    "owner",
    "group",
    "nofail",
    "_netdev",
    "defaults",
    "default_permissions",
    "debug",
    "subtype",
];

impl MountOptions {
    /// Reads the value of one more `-o`, which outranks those before it. Paths in it are relative to the folder `beside`.
    pub(super) fn add(&mut self, value: &str, beside: &Path) -> Result<(), Failure> {
        split(value)
            .iter()
            .filter(|option| !option.is_empty())
            .try_for_each(|option| self.set(option, beside))
    }

    fn set(&mut self, option: &str, beside: &Path) -> Result<(), Failure> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number = |radix| {
            u32::from_str_radix(value, radix)
                .map_err(|_| Failure::new(Exit::Usage, format!("-o {option}: \"{value}\" is not a number")))
        };
        let mask = || number(8).map(|mask| Some((mask & 0o777) as u16));
        match name {
            "allow_other" => self.allow_other = true,
            "allow_root" => {
                return Err(Failure::new(
                    Exit::Usage,
                    "-o allow_root is not offered; allow_other lets root in as well",
                ));
            }
            "nonempty" => self.nonempty = true,
            "xattr" => self.xattr = true,
            "noexec" => self.noexec = true,
            "noatime" => self.noatime = true,
            "foreground" => self.foreground = true,
            "fsname" => self.fsname = Some(value.to_owned()),
            "encoding" => self.encoding = Some(value.to_owned()),
            "layout" => self.layout = Some(value.to_owned()),
            "textures" => self.textures = Some(value.to_owned()),
            "cache_size" => self.cache_size = Some(value.to_owned()),
            "names" => self.names.push(beside.join(home(value.into()))),
            "force" => self.force = true,
            "max_read" => self.kernel.push(format!("max_read={}", number(10)?)),
            "readahead" => self.read_ahead = Some(read_ahead(option, number(10)?)?),
            "uid" => self.uid = Some(number(10)?),
            "gid" => self.gid = Some(number(10)?),
            "umask" => (self.file_mask, self.folder_mask) = (mask()?, mask()?),
            "fmask" => self.file_mask = mask()?,
            "dmask" => self.folder_mask = mask()?,
            _ if NO_EFFECT.contains(&name) || name.starts_with("x-") || name.starts_with("X-") => {}
            _ => {
                return Err(Failure::new(
                    Exit::Usage,
                    format!("-o {option}: unknown option; `bsafs help mount` lists them"),
                ));
            }
        }
        Ok(())
    }

    /// Whose the files are: by default, those of the one who mounts.
    pub(super) fn owner(&self) -> Owner {
        let mut owner = Owner::new(
            self.uid.unwrap_or_else(|| nix::unistd::getuid().as_raw()),
            self.gid.unwrap_or_else(|| nix::unistd::getgid().as_raw()),
        );
        owner.file_mode &= !self.file_mask.unwrap_or(0);
        owner.folder_mode &= !self.folder_mask.unwrap_or(0);
        owner
    }
}

/// The kernel takes any number, and rounds what makes no sense to something else.
fn read_ahead(option: &str, kib: u32) -> Result<u32, Failure> {
    const MOST: u32 = 1024;
    match kib {
        0..=MOST => Ok(kib),
        _ => Err(Failure::new(Exit::Usage, format!("-o {option}: a request carries {MOST} KiB at most"))),
    }
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
        let mut options = MountOptions::default();
        values.iter().try_for_each(|value| options.add(value, Path::new("")))?;
        Ok(options)
    }

    #[test]
    fn what_mount_and_fstab_pass_is_accepted() {
        let passed =
            "rw,dev,suid,nofail,noauto,user,_netdev,x-systemd.automount,X-mount.mkdir,relatime,fsname=a";
        assert!(parse([passed]).is_ok());
    }

    #[test]
    fn an_unknown_option_is_named() {
        let failure = parse(["ro,dirsynk"]).expect_err("refused");
        assert!(failure.what.contains("dirsynk"), "{}", failure.what);
        assert_eq!(failure.exit, Exit::Usage);
    }

    #[test]
    fn masks_take_away_permissions() {
        let owner = parse(["uid=7,gid=8", "umask=077,dmask=022"]).expect("accepted").owner();
        assert_eq!((owner.uid, owner.gid, owner.file_mode, owner.folder_mode), (7, 8, 0o400, 0o555));
    }

    #[test]
    fn lists_of_names_add_up() {
        let mut options = parse(["names=a,force", "names=b"]).expect("accepted");
        options.add("names=c,names=/d", Path::new("/etc/bsafs")).expect("accepted");
        assert_eq!(options.names, ["a", "b", "/etc/bsafs/c", "/d"].map(PathBuf::from));
        assert!(options.force);
    }

    #[test]
    fn a_comma_may_be_part_of_a_value() {
        let options = parse([r"fsname=a\,b,xattr"]).expect("accepted");
        assert_eq!((options.fsname.as_deref(), options.xattr), (Some("a,b"), true));
    }
}
