//! The commands, one per file in the folder of its group in the help, and a variant for each.

pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod look;
pub(crate) mod mount;
pub(crate) mod write;

use clap::Subcommand;

use explain::{conflicts, diff, needs, order, which, why};
use help::{complete, completions, man, schema};
use look::{cat, games, info, list, names, thumbnail, verify};
use mount::{mounts, open, reload, status, umount, watch};
use write::{extract, pack};

use super::exit::{Exit, Failure};
use super::ui::Ui;

/// The commands as help lists them. Each group has a folder, where its commands have a file each.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Mount", &["mount", "umount", "open", "mounts", "status", "reload", "watch"]),
    ("Look", &["games", "list", "cat", "info", "verify", "names", "thumbnail"]),
    ("Explain", &["which", "why", "needs", "order", "conflicts", "diff"]),
    ("Write", &["extract", "pack"]),
    ("Help", &["help", "man", "completions", "schema"]),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Mount(mount::mount::Mount),
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
    Help(help::help::Help),
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
