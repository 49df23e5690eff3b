//! The long options of commands that open archives. Each is a row of the table of mount options.

use std::ffi::OsString;

use clap::builder::PathBufValueParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::option_table::{GivenOption, MOUNT_OPTIONS, MountOption, OPEN};
use crate::vfs::OpenOptions;

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
