//! The plugins of a game: their headers, which of them are active, and in which order they load.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use super::code_page::{CodePage, ReadList};
use super::data::DataFolders;
use crate::game::caseless::fold;
use crate::game::disk::Disk;
use crate::game::settings::ini::IniFiles;
use crate::game::settings::settings_text::name_of;
use crate::game::titles::title::{
    ActiveRule, ExtenderPlugin, MasterRule, OrderRule, PluginRules, SmallPlugins, TestFiles,
};
use crate::kinds::{PLUGINS, ends, is_plugin};
use crate::note::{Because, Note, NoteCode, Setting};
use crate::read::{Reader, UnexpectedEnd};
use crate::shown::excerpt;

// Decides which plugins are active, from the lists of the game and the user and from file names.

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
            MasterRule::FlagOrExtension => flag || ends(&folded, &PLUGINS[1..]),
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
        report_ignored(&wanted, ignored, needs, notes);
    }
    let is_ignored = |name: &String| {
        let names = ignored.iter().map(String::as_str).chain(rules.never_shipped.iter().copied());
        names.into_iter().any(|it| fold(it) == fold(name))
    };
    let expected: Vec<String> = wanted.iter().filter(|name| !is_ignored(name)).cloned().collect();
    report_missing(&expected, &exists, data, notes);
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
    for plugin in plugins.iter().filter(|plugin| !ends(&plugin.folded, &PLUGINS[2..])) {
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

/// Takes active plugins out of the order that are past a limit of the game, which loads the first that fit,
/// and adds notes on them. The limits are those of full plugins and of each kind of small ones.
pub(crate) fn take_past_limits(
    (full_max, small): (usize, &[SmallPlugins]),
    active: &mut Vec<usize>,
    plugins: &[Plugin],
    notes: &mut Vec<Note>,
) -> Vec<usize> {
    let kind = |at: usize| {
        let plugin = &plugins[at];
        let of_flag = small.iter().position(|kind| plugin.header.flags & kind.flag != 0);
        of_flag.or_else(|| (!small.is_empty() && ends(&plugin.folded, &PLUGINS[2..])).then_some(0))
    };
    let mut counts = vec![0; small.len() + 1];
    for &at in active.iter() {
        counts[kind(at).unwrap_or(small.len())] += 1;
    }
    let kinds_used = counts.iter().take(small.len()).filter(|count| **count > 0).count();
    let full = SmallPlugins { name: "full", flag: 0, max: full_max.saturating_sub(kinds_used) };
    counts.fill(0);
    let mut is_past = |at: &mut usize| {
        let kind = kind(*at).unwrap_or(small.len());
        let SmallPlugins { name, max, .. } = small.get(kind).unwrap_or(&full);
        counts[kind] += 1;
        let is_past = counts[kind] > *max;
        if is_past {
            let text = format!(
                "the game loads at most {max} {name} plugins, and {max} come before this one; turn others off"
            );
            notes.push(Note::new(NoteCode::PluginIgnored, excerpt(&plugins[*at].name), text));
        }
        is_past
    };
    active.extract_if(.., &mut is_past).collect()
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
fn report_ignored(wanted: &[String], ignored: &[String], needs: &ExtenderPlugin, notes: &mut Vec<Note>) {
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

fn report_missing(
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
                None if exists.contains_key(fold(name.trim_start_matches('*')).as_str()) => {
                    "its line begins with a star, which the game takes for a letter of the name; remove the \
                     star"
                        .into()
                }
                None => {
                    "the list of plugins names this plugin, but the data folder does not contain it".into()
                }
            };
            notes.push(Note::new(NoteCode::PluginMissing, excerpt(name), text));
        }
    }
}

// The header of a plugin: its flags and masters.
//
// A plugin begins with a record: `TES3` in Morrowind, `TES4` in later games. Its `MAST` fields
// name the plugin's masters. Nothing after this record is read.

/// Number of bytes of a plugin to read first. Nearly all headers fit into them.
pub(crate) const HEADER_FIRST: usize = 4 << 10;

/// Maximum number of bytes of a plugin to read. The largest real headers have some 100 KiB, most of
/// it after the masters.
pub(crate) const HEADER_MAX: usize = 1 << 20;

/// Maximum number of masters. Plugin indexes are a byte; light and medium plugins allow thousands.
const MASTERS_MAX: usize = 1 << 13;

/// The part of a plugin's header that affects its place in the load order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub flags: u32,
    /// The names of the plugins that this one needs.
    pub masters: Vec<String>,
}

impl Header {
    /// Reads the header of a plugin. `None` if the file is not a plugin or cannot be read. What is not read
    /// of a header may have decided the place of the plugin, so the disk notes it. An empty file has none.
    pub(crate) fn read(disk: &Disk, path: &Path) -> Option<Self> {
        let mut bytes = disk.read_start(path, HEADER_FIRST).ok()?;
        let len = Self::len(&bytes);
        if len > bytes.len() && bytes.len() == HEADER_FIRST {
            bytes = disk.read_start(path, len).ok()?;
        }
        let flaw = match Self::parse_whole(&bytes) {
            None if bytes.is_empty() => None,
            None => Some("it does not begin like a plugin"),
            // What is beyond the limit is not needed.
            Some((_, false)) if bytes.len() < HEADER_MAX => Some("its header is cut off or damaged"),
            Some(_) => None,
        };
        if let Some(flaw) = flaw {
            let text = format!("{flaw}, so its flags and masters may be other ones, and with them its place");
            disk.add_unseen(Note::not_read(path, &text));
        }
        Self::parse(&bytes)
    }

    /// The header with the names of masters decoded in another code page.
    pub(crate) fn recoded(mut self, code_page: CodePage) -> Self {
        for master in self.masters.iter_mut().filter(|master| !master.is_ascii()) {
            *master = code_page.recoded(master);
        }
        self
    }

    /// Flag of a master, a plugin that others may need.
    pub const MASTER: u32 = 0x1;
    /// Flag of a Starfield plugin that loads after all others.
    pub const BLUEPRINT: u32 = 0x800;

    /// Parses the beginning of a plugin, which may be cut short. `None` if it is not a plugin.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::parse_whole(bytes).map(|(header, _)| header)
    }

    /// As [`Self::parse`]. Also returns whether the header is whole.
    fn parse_whole(bytes: &[u8]) -> Option<(Self, bool)> {
        let mut reader = Reader::new(bytes);
        let magic = reader.take(4, "the record's type").ok()?;
        let mut header = Self::default();
        // If the header is cut short, keep the masters found so far.
        let parsed = match magic {
            b"TES3" => header.parse_tes3(&mut reader),
            b"TES4" => header.parse_tes4(&mut reader),
            _ => return None,
        };
        Some((header, parsed.is_ok()))
    }

    /// Size of the header record in bytes as the record states it, at most [`HEADER_MAX`].
    pub(crate) fn len(bytes: &[u8]) -> usize {
        let size =
            Reader::at(bytes, 4, "the record's size").and_then(|mut reader| reader.u32("the record's size"));
        let size = size.ok().and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        size.saturating_add(24).min(HEADER_MAX)
    }

    fn parse_tes3(&mut self, reader: &mut Reader<'_>) -> Result<(), UnexpectedEnd> {
        let size = reader.u32("the record's size")?;
        reader.skip(8, "the record's flags")?;
        let end = reader.position().saturating_add(u64::from(size));
        while reader.position() < end {
            let kind = reader.take(4, "a field's type")?;
            let len = u64::from(reader.u32("a field's size")?);
            match kind {
                b"HEDR" => self.flags = flags_of_hedr(reader.take(len, "the header")?),
                b"MAST" => self.add_master(reader.take(len, "a master's name")?),
                _ => reader.skip(len, "a field")?,
            }
        }
        Ok(())
    }

    fn parse_tes4(&mut self, reader: &mut Reader<'_>) -> Result<(), UnexpectedEnd> {
        let size = reader.u32("the record's size")?;
        self.flags = reader.u32("the record's flags")?;
        reader.skip(8, "the record's number")?;
        // In Oblivion the record's header ends here; since Fallout 3 four more bytes follow. In
        // both, `HEDR` is the first field.
        if !reader.clone().take(4, "the first field").is_ok_and(|kind| kind == b"HEDR") {
            reader.skip(4, "the record's version")?;
        }
        let end = reader.position().saturating_add(u64::from(size));
        let mut long = None;
        while reader.position() < end {
            let kind = reader.take(4, "a field's type")?;
            let short = u64::from(reader.u16("a field's size")?);
            let len = long.take().unwrap_or(short);
            match kind {
                b"MAST" => self.add_master(reader.take(len, "a master's name")?),
                // The size of the next field, if it does not fit into two bytes.
                b"XXXX" if len == 4 => long = Some(u64::from(reader.u32("a field's long size")?)),
                _ => reader.skip(len, "a field")?,
            }
        }
        Ok(())
    }

    fn add_master(&mut self, name: &[u8]) {
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        if self.masters.len() < MASTERS_MAX && !name.is_empty() {
            self.masters.push(encoding_rs::WINDOWS_1252.decode_without_bom_handling(name).0.into_owned());
        }
    }
}

/// Reads Morrowind's flags, which follow the version in `HEDR`.
fn flags_of_hedr(field: &[u8]) -> u32 {
    Reader::at(field, 4, "the flags").and_then(|mut reader| reader.u32("the flags")).unwrap_or(0)
}

// Decides the order in which plugins load.
//
// Early plugins load first, then masters, then the others. Within each group, listed plugins keep
// the order of the list and unlisted ones follow by time. If a master needs a plugin that would
// load later, that plugin moves before it. If it needs several, the one that it names last loads
// first: Fallout: New Vegas inserts each at the position that the master had, before the ones that
// it has moved (a decompilation; the other games have the same engine). libloadorder's document
// leaves the order open.

/// Indexes of all plugins in load order. Inactive plugins count, as they can move others.
pub(crate) fn order(rules: &PluginRules, listed: &Listed, plugins: &[Plugin]) -> Vec<usize> {
    let index: HashMap<&str, usize> =
        plugins.iter().enumerate().map(|(at, plugin)| (plugin.folded.as_str(), at)).collect();
    let written = as_listed(rules, listed, plugins, &index);
    match rules.order {
        OrderRule::AsWritten => written,
        _ => with_needed_first(&by_kind(rules, listed, plugins, &index, &written), plugins, &index),
    }
}

/// Listed plugins, followed by the others by time.
fn as_listed(
    rules: &PluginRules,
    listed: &Listed,
    plugins: &[Plugin],
    index: &HashMap<&str, usize>,
) -> Vec<usize> {
    let mut is_placed = vec![false; plugins.len()];
    let mut place = |at: &usize| !std::mem::replace(&mut is_placed[*at], true);
    let mut order = Vec::with_capacity(plugins.len());
    if rules.order != OrderRule::Times {
        // If a name is listed twice, its last line counts.
        let at = |name: &String| index.get(fold(name).as_str()).copied();
        order.extend(listed.order.iter().rev().filter_map(at).filter(&mut place));
        order.reverse();
    }
    let mut rest: Vec<usize> = (0..plugins.len()).filter(place).collect();
    rest.sort_by(|&a, &b| by_time(&plugins[a], &plugins[b]));
    order.extend(rest);
    order
}

/// Compares by time. Plugins with equal times are in reverse order of name.
fn by_time(a: &Plugin, b: &Plugin) -> Ordering {
    a.changed.cmp(&b.changed).then(b.folded.cmp(&a.folded))
}

/// Groups plugins into early ones, masters, others and blueprints. Each group keeps its order.
fn by_kind(
    rules: &PluginRules,
    listed: &Listed,
    plugins: &[Plugin],
    index: &HashMap<&str, usize>,
    written: &[usize],
) -> Vec<usize> {
    let mut early = HashMap::new();
    for name in &listed.early {
        if let Some(&at) = index.get(fold(name).as_str()) {
            let place = early.len();
            early.entry(at).or_insert(place);
        }
    }
    let kind = |at: &usize| match (early.get(at), &plugins[*at]) {
        // An early blueprint comes first only among the blueprints.
        (place, plugin) if plugin.is_blueprint && rules.blueprints => (3, *place.unwrap_or(&usize::MAX)),
        (Some(place), _) => (0, *place),
        (None, plugin) => (if plugin.is_master { 1 } else { 2 }, 0),
    };
    let mut order = written.to_vec();
    order.sort_by_key(kind);
    order
}

/// Moves the plugins that a master needs before it, in the reverse order of its header.
fn with_needed_first(order: &[usize], plugins: &[Plugin], index: &HashMap<&str, usize>) -> Vec<usize> {
    let mut is_placed = vec![false; plugins.len()];
    let mut is_waiting = vec![false; plugins.len()];
    let mut ordered = Vec::with_capacity(order.len());
    for &start in order {
        // A plugin, and how many of its masters were already visited.
        let mut stack = vec![(start, 0)];
        while let Some((at, looked)) = stack.pop() {
            if is_placed[at] {
                continue;
            }
            let plugin = &plugins[at];
            let master = plugin.is_master.then(|| plugin.header.masters.iter().rev().nth(looked)).flatten();
            let Some(master) = master else {
                is_placed[at] = true;
                ordered.push(at);
                continue;
            };
            is_waiting[at] = true;
            stack.push((at, looked + 1));
            if let Some(&needed) = index.get(fold(master).as_str())
                && !is_placed[needed]
                // Two plugins may need each other.
                && !is_waiting[needed]
                // Only another blueprint can move a blueprint.
                && (plugin.is_blueprint || !plugins[needed].is_blueprint)
            {
                stack.push((needed, 0));
            }
        }
    }
    ordered
}
