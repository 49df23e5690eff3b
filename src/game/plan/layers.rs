//! Computes a game's plan from its lists, names and times. It reads the disk only through the functions in
//! [`Inputs`].

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::archives::{self, ArchivePlanner, LoadedArchive};
use super::data::DataFolders;
use super::load_order::{LoadOrder, OrderLayer};
use super::plugins::{self, Header, PluginLists};
use crate::format::is_archive_name;
use crate::game::precedence::{ArchiveRule, Confidence, LooseRule, Precedence};
use crate::game::settings::ini::{Ini, IniFiles, list};
use crate::game::titles::title::{LooseSetting, Title};
use crate::kinds::{PLUGINS, ends, is_plugin};
use crate::note::{Because, Note, NoteCode, NoteRule, Setting};

/// Everything that a game's plan depends on.
pub(crate) struct Inputs<'a> {
    pub(crate) title: &'static Title,
    /// The language code of the game.
    pub(crate) language: &'a str,
    pub(crate) inis: &'a IniFiles,
    /// The files in the game's data folders.
    pub(crate) data: &'a DataFolders,
    /// One layer of loose files for each data folder, lowest first.
    pub(crate) folders: Vec<OrderLayer>,
    pub(crate) lists: &'a PluginLists,
    pub(crate) header: &'a dyn Fn(&Path) -> Option<Header>,
    /// Reads an INI file in a data folder.
    pub(crate) ini: &'a dyn Fn(&Path) -> Option<Ini>,
    /// Finds a file in a subfolder of the data folders by its path with `/`, highest folder first.
    pub(crate) find_in_subfolder: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// The user's choice of which archive wins.
    pub(crate) precedence: Option<ArchiveRule>,
    /// Whether an OBSE plugin is installed that makes the last archive win.
    pub(crate) has_sky_bsa: bool,
}

pub(crate) fn plan(inputs: Inputs<'_>) -> LoadOrder {
    let mut notes = Vec::new();
    let (plugins, inactive, because_plugins) = plugins(&inputs, &mut notes);
    let mut archives = archives(&inputs, &plugins);
    archives.report_others(inactive.iter().map(String::as_str));
    notes.append(&mut archives.notes);
    let (precedence, confidence, doubts) = precedence(&inputs, &archives);
    let loaded = archives.loaded;
    let archives = by_rule(precedence.archives, &loaded);
    let layers = with_folders(&precedence.loose, archives, inputs.folders);
    let game = inputs.title.id;
    let because_loose = Because::of(loose_settings(inputs.title.loose, inputs.inis));
    LoadOrder {
        game,
        layers,
        notes,
        plugins,
        precedence,
        because_loose,
        because_plugins,
        confidence,
        doubts,
        ..LoadOrder::default()
    }
}

/// The active plugins in load order, the installed plugins that are not active, and the settings that replace
/// the list of plugins.
fn plugins(inputs: &Inputs<'_>, notes: &mut Vec<Note>) -> (Vec<String>, Vec<String>, Because) {
    let rules = &inputs.title.plugins;
    let mut installed = plugins::installed(rules, inputs.data, inputs.header);
    let ignored = take_ignored(inputs, &mut installed);
    let mut listed =
        plugins::listed(rules, inputs.lists, inputs.inis, (&installed, &ignored), inputs.data, notes);
    plugins::add_implied(rules, inputs.data, &installed, &mut listed.active);
    let order = plugins::order(rules, &listed, &installed);
    let (mut active, mut inactive): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|&at| listed.active.contains(&installed[at].folded));
    // Without the plugin of a script extender, small plugins are unknown to the game.
    let small = if lacks_extender(inputs) { &[] } else { rules.small };
    inactive.extend(plugins::take_past_limits((rules.full_max, small), &mut active, &installed, notes));
    report_masters(&active, &installed, notes);
    let names = |order: Vec<usize>| order.into_iter().map(|at| installed[at].name.clone()).collect();
    if !listed.because.is_empty() {
        let text = format!(
            "the game does not read its list of plugins, because test files replace it: {}",
            listed.because
        );
        let note = Note::new(NoteCode::SettingsIgnored, "Plugins.txt", text);
        notes.push(note.because(listed.because.clone()));
    }
    let mut inactive: Vec<String> = names(inactive);
    inactive.extend(ignored);
    (names(active), inactive, listed.because)
}

/// Removes the plugins that the game ignores, because the plugin of a script extender is missing. Returns
/// their names.
fn take_ignored(inputs: &Inputs<'_>, installed: &mut Vec<plugins::Plugin>) -> Vec<String> {
    if !lacks_extender(inputs) {
        return Vec::new();
    }
    let is_ignored = |plugin: &mut plugins::Plugin| ends(&plugin.folded, &PLUGINS[2..]);
    installed.extract_if(.., is_ignored).map(|plugin| plugin.name).collect()
}

/// Whether the game needs the plugin of a script extender to load `.esl` plugins, and lacks it.
fn lacks_extender(inputs: &Inputs<'_>) -> bool {
    let has = |path: &&str| (inputs.find_in_subfolder)(path).is_some();
    inputs.title.plugins.esl_needs.is_some_and(|needs| !needs.paths.iter().any(has))
}

/// Adds notes on missing masters of active plugins.
fn report_masters(active: &[usize], installed: &[plugins::Plugin], notes: &mut Vec<Note>) {
    let exists: HashSet<&str> = installed.iter().map(|plugin| plugin.folded.as_str()).collect();
    let mut noted = HashSet::new();
    for plugin in active.iter().map(|&at| &installed[at]) {
        for master in &plugin.header.masters {
            let folded = crate::game::caseless::fold(master);
            if !exists.contains(folded.as_str()) && noted.insert(folded) {
                let text = format!(
                    "{0} needs this master, which is missing; the game stops or skips {0}",
                    plugin.name
                );
                let because = Because::rule(NoteRule::NeededBy(plugin.name.clone()));
                notes.push(Note::new(NoteCode::MasterMissing, master, text).because(because));
            }
        }
    }
}

fn archives<'a>(inputs: &Inputs<'a>, plugins: &[String]) -> ArchivePlanner<'a> {
    let mut archives =
        ArchivePlanner::new(inputs.title, inputs.data, inputs.language, inputs.find_in_subfolder);
    archives.load_lists(inputs.inis);
    if let Some(confidence) = inputs.title.inis.of_plugins {
        for plugin in plugins {
            let found = inputs.data.find(&format!("{}.ini", plugins::stem(plugin)));
            if let Some((found, ini)) = found.and_then(|it| Some((it, (inputs.ini)(&it.path())?))) {
                archives.load_plugin_ini(found.name(), &ini, confidence);
            }
        }
    }
    for (number, plugin) in (1..).zip(plugins) {
        archives.load_attached(plugin, &format!("plugin {number} of {}", plugins.len()));
    }
    archives.load_last_list(inputs.inis);
    archives
}

/// The rules, how certain they are for what was found, and what they may decide wrongly.
fn precedence(inputs: &Inputs<'_>, loaded: &ArchivePlanner<'_>) -> (Precedence, Confidence, Vec<String>) {
    let (archives, of_archives) = inputs.title.archives;
    let (loose, of_loose) = loose_rule(inputs.title.loose, inputs.inis);
    let count = loaded.loaded.len();
    let is_loose = |name: &str| !is_plugin(name) && !is_archive_name(name.as_bytes());
    let mut doubts = Vec::new();
    let mut confidence = Confidence::High;
    if count > 1 && of_archives < Confidence::High {
        confidence = of_archives;
        doubts.push(match of_archives {
            Confidence::Medium => format!("which of these {count} archives wins was not tried in the game"),
            _ => format!("sources differ on which of these {count} archives wins, or only one says it"),
        });
    }
    if count > 0 && of_loose < Confidence::High && inputs.data.has_loose(is_loose) {
        confidence = confidence.min(of_loose);
        doubts.push("when the loose files here win over the archives was not tried in the game".to_owned());
    }
    let of_lists = loaded.doubts();
    if !of_lists.is_empty() {
        confidence = confidence.min(Confidence::Medium);
        doubts.extend(of_lists);
    }
    let mut precedence = Precedence { archives, loose };
    if inputs.has_sky_bsa && archives == ArchiveRule::Oblivion {
        precedence = Precedence { archives: ArchiveRule::LastWins, loose: LooseRule::Always };
    }
    match inputs.precedence {
        Some(ArchiveRule::Oblivion) => {
            precedence = Precedence { archives: ArchiveRule::Oblivion, loose: LooseRule::ByDate };
        }
        Some(rule) => precedence.archives = rule,
        None => {}
    }
    (precedence, confidence, doubts)
}

/// The section and the keys that decide when loose files beat archives.
const SECTION: &str = "Archive";
const INVALIDATE: &str = "bInvalidateOlderFiles";
const FINAL: &str = "sResourceDataDirsFinal";

/// Text after the reason for a folder in which the game reads only some subfolders.
pub(crate) const ONLY_BELOW: &str = ", but only those below the folders in sResourceDataDirsFinal";

/// The settings that decide when loose files beat archives. If the game ignores loose files, only those that
/// would have to differ.
fn loose_settings(setting: LooseSetting, inis: &IniFiles) -> Vec<Setting> {
    let invalidate = || inis.setting(SECTION, INVALIDATE);
    match setting {
        LooseSetting::Always => Vec::new(),
        LooseSetting::Dates | LooseSetting::Invalidate => vec![invalidate()],
        LooseSetting::DataDirsFinal => {
            let is_empty = inis.get(SECTION, FINAL).is_some_and(|(value, _)| list(value).next().is_none());
            let is_set = inis.is_set(SECTION, INVALIDATE, false);
            let invalidate = (!is_set).then(invalidate);
            invalidate.into_iter().chain((!is_empty).then(|| inis.setting(SECTION, FINAL))).collect()
        }
    }
}

/// When loose files beat archives according to the INI files, and how certain that is.
pub(super) fn loose_rule(setting: LooseSetting, inis: &IniFiles) -> (LooseRule, Confidence) {
    let (is_set, is_set_by_default) =
        (inis.is_set(SECTION, INVALIDATE, false), inis.is_set(SECTION, INVALIDATE, true));
    match setting {
        LooseSetting::Always => (LooseRule::Always, Confidence::High),
        LooseSetting::Dates if is_set_by_default => (LooseRule::ByDate, Confidence::Medium),
        LooseSetting::Invalidate if is_set_by_default => (LooseRule::Always, Confidence::Medium),
        LooseSetting::Dates | LooseSetting::Invalidate => (LooseRule::Never, Confidence::Medium),
        LooseSetting::DataDirsFinal => {
            let folders = inis.get(SECTION, FINAL).map_or("STRINGS\\", |(value, _)| value);
            let folder = |name: &str| name.replace('\\', "/").trim_matches('/').to_ascii_lowercase();
            let folders: Vec<String> = list(folders).map(folder).collect();
            if is_set && folders.is_empty() {
                (LooseRule::Always, Confidence::High)
            } else {
                (LooseRule::Below(folders), Confidence::Medium)
            }
        }
    }
}

/// Turns archives in load order into layers, lowest first.
fn by_rule(rule: ArchiveRule, loaded: &[LoadedArchive]) -> Vec<OrderLayer> {
    let layer = |archive: &LoadedArchive| OrderLayer {
        plugin: archive.plugin.clone(),
        ..OrderLayer::archive(&archive.path, &archive.why)
    };
    let names: Vec<&str> = loaded.iter().map(|archive| archive.name.as_str()).collect();
    lowest_first(rule, &names).into_iter().map(|index| layer(&loaded[index])).collect()
}

/// The indexes of archives, lowest first. `names` are in load order and in the game's spelling.
pub(crate) fn lowest_first(rule: ArchiveRule, names: &[&str]) -> Vec<usize> {
    match rule {
        ArchiveRule::LastWins => (0..names.len()).collect(),
        ArchiveRule::FirstWins | ArchiveRule::Oblivion => (0..names.len()).rev().collect(),
        ArchiveRule::NewVegas => {
            let mut searched = archives::searched(names.iter().copied());
            searched.reverse();
            searched
        }
    }
}

/// Puts the folders of loose files above the archives, or below them unless loose files always win.
fn with_folders(
    rule: &LooseRule,
    archives: Vec<OrderLayer>,
    mut folders: Vec<OrderLayer>,
) -> Vec<OrderLayer> {
    let remark = match rule {
        LooseRule::Always => "",
        LooseRule::Never => ", below the archives because bInvalidateOlderFiles is off",
        LooseRule::ByDate => ", hidden by archives that are not older",
        LooseRule::Below(_) => ONLY_BELOW,
    };
    for folder in &mut folders {
        folder.why.push_str(remark);
        if let LooseRule::Below(named) = rule {
            folder.shown.only = Some(named.clone());
        }
    }
    match rule {
        LooseRule::Always => archives.into_iter().chain(folders).collect(),
        _ => folders.into_iter().chain(archives).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{LooseRule, LooseSetting, loose_rule};
    use crate::game::settings::ini::{Ini, IniFiles};

    fn of(setting: LooseSetting, text: &str) -> LooseRule {
        let mut inis = IniFiles::default();
        inis.push("Main.ini", Ini::parse(format!("[Archive]\n{text}").as_bytes()));
        loose_rule(setting, &inis).0
    }

    #[test]
    fn fallout_4_needs_both_settings_to_see_loose_files() {
        let strings = LooseRule::Below(vec!["strings".into()]);
        assert_eq!(of(LooseSetting::DataDirsFinal, ""), strings);
        assert_eq!(of(LooseSetting::DataDirsFinal, "bInvalidateOlderFiles=1"), strings);
        let text = "bInvalidateOlderFiles=1\nsResourceDataDirsFinal=";
        assert_eq!(of(LooseSetting::DataDirsFinal, text), LooseRule::Always);
        assert_eq!(of(LooseSetting::DataDirsFinal, "sResourceDataDirsFinal="), LooseRule::Below(Vec::new()));
        let text = "bInvalidateOlderFiles=1\nsResourceDataDirsFinal=Strings\\, Textures\\New\\";
        let below = LooseRule::Below(vec!["strings".into(), "textures/new".into()]);
        assert_eq!(of(LooseSetting::DataDirsFinal, text), below);
    }

    #[test]
    fn the_old_games_see_loose_files_unless_the_setting_is_off() {
        assert_eq!(of(LooseSetting::Dates, ""), LooseRule::ByDate);
        assert_eq!(of(LooseSetting::Dates, "bInvalidateOlderFiles=0"), LooseRule::Never);
        assert_eq!(of(LooseSetting::Invalidate, ""), LooseRule::Always);
        assert_eq!(of(LooseSetting::Invalidate, "bInvalidateOlderFiles=0"), LooseRule::Never);
        assert_eq!(of(LooseSetting::Always, "bInvalidateOlderFiles=0"), LooseRule::Always);
    }
}
