//! `bsafs games`: lists the installed games that can be mounted.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::inquiry::Inquiry;
use crate::cli::terminal::output;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::format::is_archive_name;
use crate::game::caseless::CaselessNames;
use crate::game::find::{Installations, find, prefixes};
use crate::game::{
    Disk, Environment, FoundInstance, Installation, WinePrefix, find_instances, instance_names, looked_in,
};
use crate::kinds;
use crate::note::Note;
use crate::shown::{Shown, quoted};
use crate::system::clock::{date, unix_seconds};
use crate::system::text::count;

/// Print the installed games, with their folders and stores, and instances of Mod Organizer 2
///
/// Searches the libraries of Steam, Heroic, Legendary, Lutris, Bottles and Faugus, and also ~/.wine and
/// ~/Games. Instances of Mod Organizer 2 are also searched beside games, in Wine prefixes, in the folders of
/// SteamTinkerLaunch, mo2-lint and Fluorine, and in the home folder. The first word of each line is a source:
/// `bsafs mount skyrimse` mounts the game alone, and `bsafs mount skyrimse:mo2` with the mods of an instance.
/// -v prints where data, settings and lists are. Other places can be listed in
/// ~/.config/bsafs/places.toml: `games = ["/data/games"]`, `prefixes = [...]`, `instances = [...]`.
///
/// The exit status is 1 if no game is found, or if something that may be a game or list games could not
/// be looked at: a list or settings file, a folder, a prefix. A game that is not complete or is gone is
/// only listed.
#[derive(Args, Debug, Default)]
pub(crate) struct Games {
    /// Print one JSON object per line: an installed game, an "instance" of Mod Organizer 2, or an "unusable"
    /// folder with the reason
    #[arg(long)]
    json: bool,
    /// Also print every Wine prefix that has settings of a game, when a program last started in it, and which
    /// one is used
    #[arg(long)]
    prefixes: bool,
}

/// A game, as JSON. Paths that are not UTF-8 contain replacement characters.
#[derive(Serialize)]
struct JsonGame<'a> {
    game: &'a str,
    name: &'a str,
    store: &'a str,
    #[serde(serialize_with = "output::lossy")]
    game_dir: &'a Path,
    #[serde(serialize_with = "output::lossy_some")]
    data_dir: Option<PathBuf>,
    #[serde(serialize_with = "output::lossy_some")]
    prefix: Option<&'a Path>,
    #[serde(serialize_with = "output::lossy_some")]
    my_games: Option<&'a Path>,
    #[serde(serialize_with = "output::lossy_some")]
    local_dir: Option<&'a Path>,
    language: Option<&'a str>,
    archives: usize,
    plugins: usize,
    /// Left out without `--prefixes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefixes: Option<Vec<JsonPrefix>>,
}

/// A prefix that has a game's settings, as JSON.
#[derive(Serialize)]
struct JsonPrefix {
    #[serde(serialize_with = "output::lossy")]
    prefix: PathBuf,
    /// The launcher that made it; empty if it is not known.
    launcher: &'static str,
    /// When a program last started in it, in seconds since 1970.
    last_start: Option<u64>,
    /// Whether the game's settings are read from it.
    used: bool,
}

/// An instance of Mod Organizer 2, as JSON.
#[derive(Serialize)]
struct JsonInstance<'a> {
    /// The source that stands for it, such as `skyrimse:mo2`; null if its game is not known.
    source: Option<&'a str>,
    #[serde(serialize_with = "output::lossy")]
    instance: &'a Path,
    /// The id of the game; null if it is not known.
    game: Option<&'a str>,
    #[serde(serialize_with = "output::lossy_some")]
    game_dir: Option<&'a Path>,
    profile: Option<&'a str>,
    profiles: Vec<&'a str>,
    mods: usize,
}

/// A path that looks like a game but cannot be used, as JSON.
#[derive(Serialize)]
struct Unusable<'a> {
    #[serde(serialize_with = "output::lossy")]
    unusable: &'a Path,
    why: &'a str,
}

impl Games {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        Inquiry::run(self.json, |inquiry| self.answer(inquiry))
    }

    fn answer(&self, inquiry: &mut Inquiry) -> Result<(), Failure> {
        let (disk, environment) = (Disk::default(), Environment::of_process());
        let mut found = find(&disk, &environment);
        let instances = find_instances(&disk, &environment, &found, None);
        found.installations.sort_by(|a, b| (a.title.id, &a.folder).cmp(&(b.title.id, &b.folder)));
        let (names, is_verbose) = (instance_names(&instances), log::log_enabled!(log::Level::Info));
        let mut written = Vec::new();
        for installation in &found.installations {
            let mut line = line(&disk, installation, &mut inquiry.unseen);
            let all = || prefixes(&disk, installation, &found, &environment);
            line.prefixes =
                self.prefixes.then(|| all().into_iter().map(|it| json_prefix(it, installation)).collect());
            if self.json {
                inquiry.out.json(&line)?;
            } else {
                inquiry.out.text(|out| write_lines(out, &line, is_verbose || self.prefixes))?;
                let is_of_folder = |it: &FoundInstance| {
                    it.game.as_ref().and_then(|it| disk.identity(it)) == disk.identity(&installation.folder)
                };
                for (instance, name) in instances.iter().zip(&names).filter(|(it, _)| is_of_folder(it)) {
                    let name = name.as_deref();
                    inquiry.out.text(|out| write_instance(out, instance, name, is_verbose))?;
                    written.push(&instance.folder);
                }
            }
        }
        for (instance, name) in instances.iter().zip(&names) {
            if self.json {
                inquiry.out.json(&json(instance, name.as_deref()))?;
            } else if !written.contains(&&instance.folder) {
                inquiry.out.text(|out| write_instance(out, instance, name.as_deref(), is_verbose))?;
            }
        }
        for (path, why) in &found.unusable {
            if self.json {
                inquiry.out.json(&Unusable { unusable: path, why })?;
            } else {
                writeln!(inquiry.out, "not usable  {}\n            {}", path.shown(), why.shown())?;
            }
        }
        inquiry.unseen.add(&disk.take_unseen(&[]));
        if found.installations.is_empty() && instances.is_empty() {
            return Err(Failure::new(Exit::No, not_found(&found)));
        }
        Ok(())
    }
}

fn line<'a>(disk: &Disk, installation: &'a Installation, unseen: &mut Unseen) -> JsonGame<'a> {
    let data_dir = disk.find_folder(&installation.folder, installation.title.data);
    let listed = |folder| {
        disk.names(folder).unwrap_or_else(|error| {
            unseen.add([&Note::unreadable(folder, &error)]);
            CaselessNames::default()
        })
    };
    let names = data_dir.as_deref().map(listed).unwrap_or_default();
    let is_plugin = |name: &&str| kinds::ends(name, installation.title.plugins.endings);
    JsonGame {
        game: installation.title.id,
        name: installation.title.name,
        store: installation.store.as_str(),
        game_dir: &installation.folder,
        prefix: installation.prefix.as_deref(),
        my_games: installation.my_games.as_deref(),
        local_dir: installation.local.as_deref(),
        language: installation.language.as_deref(),
        archives: names.iter().filter(|name| is_archive_name(name.as_bytes())).count(),
        plugins: names.iter().filter(is_plugin).count(),
        prefixes: None,
        data_dir,
    }
}

fn write_lines(out: &mut impl Write, line: &JsonGame<'_>, is_verbose: bool) -> std::io::Result<()> {
    let store = match line.store {
        "unknown" => "unknown store".to_owned(),
        store => store.to_owned(),
    };
    let language = line.language.map(|it| format!(", {it}")).unwrap_or_default();
    writeln!(out, "{}  {} ({store}{language})", line.game, line.name)?;
    writeln!(out, "  folder    {}", line.game_dir.shown())?;
    if !is_verbose {
        return Ok(());
    }
    if let Some(data) = &line.data_dir {
        let data = data.strip_prefix(line.game_dir).unwrap_or(data).shown();
        let (archives, plugins) = (count(line.archives, "archive"), count(line.plugins, "plugin"));
        writeln!(out, "  data      {data}: {archives}, {plugins}")?;
    }
    for (what, path) in [("prefix", line.prefix), ("settings", line.my_games), ("plugins", line.local_dir)] {
        if let Some(path) = path {
            writeln!(out, "  {what:<8}  {}", path.shown())?;
        }
    }
    for JsonPrefix { prefix, launcher, last_start, used } in line.prefixes.iter().flatten() {
        let role = if *used { "used" } else { "not used" };
        let launcher = if launcher.is_empty() { "unknown launcher" } else { launcher };
        let started = last_start.map(|it| UNIX_EPOCH + Duration::from_secs(it)).map(date);
        let started = started.map_or("last start not known".into(), |day| format!("last started {day}"));
        writeln!(out, "  {role:<8}  {} ({launcher}, {started})", prefix.shown())?;
    }
    Ok(())
}

fn json_prefix(prefix: WinePrefix, installation: &Installation) -> JsonPrefix {
    JsonPrefix {
        used: installation.prefix.as_ref() == Some(&prefix.folder),
        prefix: prefix.folder,
        launcher: prefix.launcher,
        last_start: prefix.last_start.map(unix_seconds),
    }
}

fn json<'a>(instance: &'a FoundInstance, name: Option<&'a str>) -> JsonInstance<'a> {
    JsonInstance {
        source: name,
        instance: &instance.folder,
        game: instance.title.map(|title| title.id),
        game_dir: instance.game.as_deref(),
        profile: instance.profile.as_deref(),
        profiles: instance.profiles.iter().map(|(name, _)| name.as_str()).collect(),
        mods: instance.mods,
    }
}

/// Maximum number of profiles that are printed of an instance, without `-v`.
const PROFILES_SHOWN: usize = 8;

fn write_instance(
    out: &mut impl Write,
    instance: &FoundInstance,
    name: Option<&str>,
    is_verbose: bool,
) -> std::io::Result<()> {
    // Without a name, the folder is the source.
    let folder = instance.folder.to_string_lossy();
    let source = quoted(name.unwrap_or(&folder));
    let profile =
        instance.profile.as_ref().map_or("no profile".into(), |it| format!("profile \"{}\"", it.shown()));
    writeln!(out, "{source}  Mod Organizer 2 ({profile}, {})", count(instance.mods, "mod"))?;
    if name.is_some() || is_verbose {
        writeln!(out, "  instance  {}", instance.folder.shown())?;
    }
    let others = instance.profiles.iter().filter(|(it, _)| instance.profile.as_ref() != Some(it));
    let source = |(profile, folder): &(String, PathBuf)| match name {
        Some(name) => quoted(&format!("{name}/{profile}")),
        None => quoted(&folder.to_string_lossy()),
    };
    let others: Vec<String> = others.map(source).collect();
    let shown = if is_verbose { others.len() } else { PROFILES_SHOWN.min(others.len()) };
    if !others.is_empty() {
        let more = match others.len() - shown {
            0 => String::new(),
            more => format!(" and {more} more (-v)"),
        };
        writeln!(out, "  profiles  {}{more}", others[..shown].join(" "))?;
    }
    match &instance.game {
        Some(game) if is_verbose => writeln!(out, "  folder    {}", game.shown()),
        _ => Ok(()),
    }
}

/// The error if no game was found: what was searched for, and where.
fn not_found(found: &Installations) -> String {
    format!(
        "no game was found; searched for Bethesda's games from Morrowind to Starfield in:{}\n\
         If a game is elsewhere, use its folder as the source.",
        looked_in(found)
    )
}
