//! Decides which plugins are active, from the lists of the game and the user and from file names.

use std::collections::{HashMap, HashSet, VecDeque};

use super::code_page::ReadList;
use super::data::DataFolders;
use super::plugin::Header;
use crate::game::caseless::fold;
use crate::game::settings::ini::IniFiles;
use crate::game::settings::settings_text::name_of;
use crate::game::titles::title::{ActiveRule, ExtenderPlugin, MasterRule, OrderRule, PluginRules, TestFiles};
use crate::note::{Because, Note, NoteCode, Setting};
use crate::shown::excerpt;

/// The lists of plugins that a game reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct PluginLists {
    /// `Plugins.txt`. Its code page is also that of the names in plugins.
    pub(crate) read: ReadList,
    /// The lines of the `.ccc` file.
    pub(crate) creation_club: Vec<String>,
}

/// An installed plugin.
#[derive(Clone, Debug)]
pub(crate) struct Plugin {
    /// The name as the disk spells it.
    pub(crate) name: String,
    pub(crate) folded: String,
    pub(crate) header: Header,
    pub(crate) changed: super::data::Time,
    pub(crate) is_master: bool,
    /// Whether the plugin loads after all others.
    pub(crate) is_blueprint: bool,
}

/// Names from the lists that decide which plugins are active and where they load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    /// Plugins that load before all others.
    pub(crate) early: Vec<String>,
    /// The user's order of plugins, active or not.
    pub(crate) order: Vec<String>,
    /// Folded names of active plugins that exist.
    pub(crate) active: HashSet<String>,
    /// The settings that replace the list of plugins; empty if none does.
    pub(crate) because: Because,
}

/// File name extensions of plugins, folded.
const EXTENSIONS: [&str; 3] = [".ESM", ".ESP", ".ESL"];

/// Whether a file name has the extension of a plugin.
pub(crate) fn is_plugin(name: &str) -> bool {
    let folded = fold(name);
    EXTENSIONS.iter().any(|extension| folded.ends_with(extension))
}

/// The name of a plugin or an archive without its extension.
pub(crate) fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Collects the installed plugins. `header` reads the header of a plugin.
pub(crate) fn installed(
    rules: &PluginRules,
    data: &DataFolders,
    header: &dyn Fn(&std::path::Path) -> Option<Header>,
) -> Vec<Plugin> {
    let mut plugins = Vec::new();
    for found in data.all().into_iter().filter(|found| is_plugin(found.name())) {
        // A file without a plugin header may still be listed. It then has no flags and no masters.
        let header = header(&found.path()).unwrap_or_default();
        let folded = fold(found.name());
        let flag = header.flags & Header::MASTER != 0;
        let is_master = match rules.masters {
            MasterRule::Flag => flag,
            MasterRule::FlagOrExtension => flag || folded.ends_with(".ESM") || folded.ends_with(".ESL"),
        };
        let is_blueprint = rules.blueprints && is_master && header.flags & Header::BLUEPRINT != 0;
        let (name, changed) = (found.name().to_owned(), found.file.changed);
        plugins.push(Plugin { name, folded, header, changed, is_master, is_blueprint });
    }
    plugins
}

/// Collects the names in the lists and adds notes on plugins that do not exist, or that the game ignores.
pub(crate) fn listed(
    rules: &PluginRules,
    lists: &PluginLists,
    inis: &IniFiles,
    (plugins, ignored): (&[Plugin], &[String]),
    data: &DataFolders,
    notes: &mut Vec<Note>,
) -> Listed {
    let exists: HashMap<&str, &Plugin> =
        plugins.iter().map(|plugin| (plugin.folded.as_str(), plugin)).collect();
    let tests = test_files(rules, inis, &exists);
    let replaces = matches!(rules.test_files, TestFiles::Replace | TestFiles::ReplaceInOrder);
    let replaced = replaces && !tests.is_empty();
    let mut listed = Listed { because: because(inis, replaced), ..Listed::default() };
    let mut wanted: Vec<String> = Vec::new();
    match rules.active {
        ActiveRule::Fixed => {}
        ActiveRule::GameFiles => wanted = game_files(inis),
        _ if replaced => {
            if rules.test_files == TestFiles::ReplaceInOrder {
                listed.order.clone_from(&tests);
            }
        }
        ActiveRule::Lines => {
            wanted.clone_from(&lists.read.lines);
            listed.order.clone_from(&lists.read.lines);
        }
        ActiveRule::Starred => {
            wanted = starred(&lists.read.lines);
            listed.order = lists.read.lines.iter().map(|line| name_of(line).to_owned()).collect();
        }
    }
    if let Some(needs) = rules.esl_needs {
        note_ignored(&wanted, ignored, needs, notes);
    }
    let is_ignored = |name: &String| {
        let names = ignored.iter().map(String::as_str).chain(rules.never_shipped.iter().copied());
        names.into_iter().any(|it| fold(it) == fold(name))
    };
    let expected: Vec<String> = wanted.iter().filter(|name| !is_ignored(name)).cloned().collect();
    note_missing(&expected, &exists, data, notes);
    let club: &[String] = if replaced { &[] } else { &lists.creation_club };
    listed.early = match rules.order {
        OrderRule::PluginsFile => {
            rules.hard_coded.iter().map(|it| (*it).to_owned()).chain(club.iter().cloned()).collect()
        }
        OrderRule::PluginsFileAfterFirst => {
            rules.hard_coded.iter().take(1).map(|it| (*it).to_owned()).collect()
        }
        OrderRule::Times | OrderRule::AsWritten => Vec::new(),
    };
    let hard_coded = rules.hard_coded.iter().map(|it| fold(it));
    let all = wanted.iter().chain(club).chain(&tests).map(|it| fold(it)).chain(hard_coded);
    listed.active = all.filter(|name| exists.contains_key(name.as_str())).collect();
    listed
}

/// Adds the plugins that other plugins or `.nam` files activate.
pub(crate) fn add_implied(
    rules: &PluginRules,
    data: &DataFolders,
    plugins: &[Plugin],
    active: &mut HashSet<String>,
) {
    let exists: HashMap<&str, &Plugin> =
        plugins.iter().map(|plugin| (plugin.folded.as_str(), plugin)).collect();
    if rules.blueprints {
        let of = |name: &String| format!("BLUEPRINTSHIPS-{}.ESM", stem(name));
        let ships: Vec<_> = active.iter().map(of).filter(|it| exists.contains_key(it.as_str())).collect();
        active.extend(ships);
    }
    if !rules.nam_files {
        return;
    }
    for plugin in plugins.iter().filter(|plugin| !plugin.folded.ends_with(".ESL")) {
        if data.find(&format!("{}.nam", stem(&plugin.name))).is_some() {
            active.insert(plugin.folded.clone());
        }
    }
    // The engine that reads `.nam` files also activates the masters of active plugins.
    let mut queue: VecDeque<String> = active.iter().cloned().collect();
    while let Some(name) = queue.pop_front() {
        let masters = exists.get(name.as_str()).map_or(&[][..], |plugin| &plugin.header.masters[..]);
        for master in masters.iter().map(|it| fold(it)) {
            if exists.contains_key(master.as_str()) && active.insert(master.clone()) {
                queue.push_back(master);
            }
        }
    }
}

/// The names in lines with a star. If a name is listed twice, the last line counts.
fn starred(lines: &[String]) -> Vec<String> {
    let last: HashMap<String, usize> =
        lines.iter().enumerate().map(|(at, line)| (fold(name_of(line)), at)).collect();
    let is_last = |(at, line): &(usize, &String)| last.get(&fold(name_of(line))) == Some(at);
    let lines = lines.iter().enumerate().filter(is_last).map(|(_, line)| line);
    let starred = lines.filter(|line| line.starts_with('*')).map(|line| name_of(line).to_owned());
    starred.filter(|name| !name.is_empty()).collect()
}

/// The existing plugins among `sTestFile1` to `sTestFile10`.
fn test_files(rules: &PluginRules, inis: &IniFiles, exists: &HashMap<&str, &Plugin>) -> Vec<String> {
    if rules.test_files == TestFiles::Ignored {
        return Vec::new();
    }
    let keys = (1..=10).map(|number| format!("sTestFile{number}"));
    let names = keys.filter_map(|key| inis.get("General", &key).map(|(value, _)| value.to_owned()));
    names.filter(|name| exists.contains_key(fold(name).as_str())).collect()
}

/// The settings with test files, if these replace the list of plugins.
fn because(inis: &IniFiles, is_replaced: bool) -> Because {
    let settings = (1..=10).map(|number| inis.setting("General", &format!("sTestFile{number}")));
    let is_set = |it: &Setting| is_replaced && it.value.as_ref().is_some_and(|value| !value.is_empty());
    Because::of(settings.filter(is_set).collect())
}

/// The plugins of all `GameFile<number>` keys. The numbers may have gaps.
fn game_files(inis: &IniFiles) -> Vec<String> {
    let mut names = Vec::new();
    for (key, value) in inis.iter().flat_map(|(_, ini)| ini.keys("Game Files")) {
        let number = fold(key).strip_prefix("GAMEFILE").map(str::to_owned);
        let is_number =
            number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()));
        if is_number && !value.is_empty() {
            names.push(value.to_owned());
        }
    }
    names
}

/// The ending that Wrye Bash and Vortex add to the name of a plugin to hide it from the game.
const GHOST: &str = ".ghost";

pub(crate) fn is_ghost(name: &str) -> bool {
    ghosted(name).is_some()
}

/// The name that a ghosted plugin has otherwise.
pub(crate) fn ghosted(name: &str) -> Option<&str> {
    let end = name.len().checked_sub(GHOST.len())?;
    let (plugin, ending) = name.split_at_checked(end)?;
    (ending.eq_ignore_ascii_case(GHOST) && is_plugin(plugin)).then_some(plugin)
}

/// Adds notes on plugins that the list names, and that the game ignores without the plugin of its script
/// extender.
fn note_ignored(wanted: &[String], ignored: &[String], needs: &ExtenderPlugin, notes: &mut Vec<Note>) {
    let wanted: HashSet<String> = wanted.iter().map(|name| fold(name)).collect();
    for name in ignored.iter().filter(|name| wanted.contains(&fold(name))) {
        let text = format!(
            "the game loads no .esl plugin without {} ({}), which is not there; install it, or leave the \
             plugin out",
            needs.name,
            needs.paths.join(" or ")
        );
        notes.push(Note::new(NoteCode::PluginIgnored, excerpt(name), text));
    }
}

fn note_missing(
    wanted: &[String],
    exists: &HashMap<&str, &Plugin>,
    data: &DataFolders,
    notes: &mut Vec<Note>,
) {
    let mut noted = HashSet::new();
    for name in wanted {
        let folded = fold(name);
        if !exists.contains_key(folded.as_str()) && noted.insert(folded) {
            let ghost = data.find(name).filter(|_| is_ghost(name));
            let text = match ghost.or_else(|| data.find(&format!("{name}{GHOST}"))) {
                Some(ghost) => {
                    let ghost = ghost.name();
                    format!("it is ghosted, so the game does not see it; remove {GHOST} from {ghost}")
                }
                None => {
                    "the list of plugins names this plugin, but the data folder does not contain it".into()
                }
            };
            notes.push(Note::new(NoteCode::PluginMissing, excerpt(name), text));
        }
    }
}
