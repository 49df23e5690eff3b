//! The command line: global options, and one variant for each command.

use std::fmt::Write;

use clap::{ArgAction, ColorChoice, Parser, Subcommand};

use super::command::{
    cat, complete, completions, conflicts, diff, extract, games, help, info, list, man, mount, mounts, names,
    needs, open, order, pack, reload, schema, status, thumbnail, umount, verify, watch, which, why,
};
use super::exit::{Exit, Failure};
use super::topics::topic;
use super::ui::Ui;

/// Mounts Bethesda's games and archives (BSA and BA2, Arena to Starfield) as a read-only folder.
#[derive(Debug, Parser)]
#[command(
    name = "bsafs",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    help_template = template(),
    after_help = format!("{EXAMPLES}\n\n{}\n\n{MORE}", topic::list())
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print notes on archives (-v), and also internal steps (-vv)
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// Print only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// When to use colours; the default, auto, follows NO_COLOR, CLICOLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_name = "WHEN", default_value_t, hide_default_value = true)]
    pub(crate) color: ColorChoice,
}

/// The commands as help lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Mount", &["mount", "umount", "open", "mounts", "status", "reload", "watch"]),
    ("Look", &["games", "list", "cat", "info", "verify", "names", "thumbnail"]),
    ("Explain", &["which", "why", "needs", "order", "conflicts", "diff"]),
    ("Write", &["extract", "pack"]),
    ("Help", &["help", "man", "completions", "schema"]),
];

/// How help is laid out: as usual, but with the commands in groups.
fn template() -> String {
    let commands = Command::augment_subcommands(clap::Command::new("bsafs"));
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string cannot fail. Without a terminal, the escapes are not printed.
        let _ = writeln!(groups, "\u{1b}[1;4m{heading}:\u{1b}[0m");
        for command in names.iter().filter_map(|name| commands.find_subcommand(name)) {
            let aliases: Vec<&str> = command.get_visible_aliases().collect();
            let aliases = match &aliases[..] {
                [] => String::new(),
                aliases => format!(" [aliases: {}]", aliases.join(", ")),
            };
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {:<12} {about}{aliases}", command.get_name());
        }
        groups.push('\n');
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\u{1b}[1;4mOptions:\u{1b}[0m\n\
         {{options}}{{after-help}}"
    )
}

const EXAMPLES: &str = "\
Examples:
  bsafs mount skyrimse ~/mnt                       mount a game; `bsafs games` lists those installed
  bsafs mount \"Skyrim - Textures0.bsa\"             mount on a new folder of the same name
  bsafs mount Base.ba2 Patch.ba2 ~/mnt             mount two archives as one; Patch.ba2 wins
  bsafs which ~/mnt/textures/clutter/bucket.dds    print which archive a file comes from
  bsafs umount ~/mnt
  bsafs open \"Skyrim - Textures0.bsa\"              mount it, and open the folder
  bsafs extract Mod.bsa 'scripts/**' -C out
  bsafs pack MyMod --game skyrimse -o out          write the archives that a game loads
  bsafs SOURCE MOUNTPOINT -o OPTIONS               as mount(8) calls it for fstab";

const MORE: &str = "\
Paths inside archives may be written in any case and with either slash.
`bsafs help COMMAND` describes a command, and `bsafs man` shows the manual.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Mount(mount::Mount),
    #[command(visible_alias = "unmount")]
    Umount(umount::Umount),
    Open(open::Open),
    Mounts(mounts::Mounts),
    #[command(visible_alias = "ls")]
    List(list::List),
    Cat(cat::Cat),
    Extract(extract::Extract),
    Info(info::Info),
    Verify(verify::Verify),
    Names(names::Names),
    Which(which::Which),
    Why(why::AskWhy),
    Needs(needs::AskNeeds),
    Status(status::Status),
    Reload(reload::Reload),
    Watch(watch::Watch),
    Games(games::Games),
    Order(order::Order),
    Conflicts(conflicts::Conflicts),
    Diff(diff::Diff),
    Pack(Box<pack::Pack>),
    Thumbnail(thumbnail::Thumbnail),
    Completions(completions::Completions),
    Man(man::Man),
    Schema(schema::Schema),
    Help(help::Help),
    #[command(hide = true)]
    Complete(complete::Complete),
}

impl Command {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        match self {
            Self::Mount(it) => it.run(ui),
            Self::Umount(it) => it.run(ui),
            Self::Open(it) => it.run(ui),
            Self::Mounts(it) => it.run(ui),
            Self::List(it) => it.run(ui),
            Self::Cat(it) => it.run(ui),
            Self::Extract(it) => it.run(ui),
            Self::Info(it) => it.run(ui),
            Self::Verify(it) => it.run(ui),
            Self::Names(it) => it.run(ui),
            Self::Which(it) => it.run(ui),
            Self::Why(it) => it.run(ui),
            Self::Needs(it) => it.run(ui),
            Self::Status(it) => it.run(ui),
            Self::Reload(it) => it.run(ui),
            Self::Watch(it) => it.run(ui),
            Self::Games(it) => it.run(ui),
            Self::Order(it) => it.run(ui),
            Self::Conflicts(it) => it.run(ui),
            Self::Diff(it) => it.run(ui),
            Self::Pack(it) => it.run(ui),
            Self::Thumbnail(it) => it.run(ui),
            Self::Completions(it) => it.run(ui),
            Self::Man(it) => it.run(ui),
            Self::Schema(it) => it.run(ui),
            Self::Help(it) => it.run(ui),
            Self::Complete(it) => it.run(ui),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let bsafs = Cli::command();
        let shown = bsafs.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name);
        let mut shown: Vec<&str> = shown.collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
    }
}
