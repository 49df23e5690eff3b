//! Mount options, as mount(8) and fstab write them after `-o`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

use super::option_table::{GivenOption, MOUNT_OPTIONS, MountOption, MountOptions};
use crate::cli::exit::{Exit, Failure};
use crate::shown::excerpt;
use crate::system::paths;
use crate::vfs::open_options::placed;
use crate::vfs::sources::profile::split_options;

/// Accepted options that change nothing. mount(8) passes them to every file system, or the mount behaves as
/// they ask anyway. `rw` is among them because mount(8) passes it by default; the mount stays read-only.
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
