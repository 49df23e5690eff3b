//! What the command line expects at the cursor: a command, an option, or the value of an argument.
//! The answer comes from the definitions that also make `--help`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{Arg, Command, FromArgMatches};

use super::candidates::{self, Candidate, DiskFiles};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::OpenArgs;
use crate::cli::options::selection::is_source;
use crate::cli::topics::topic::TOPICS;
use crate::folder::OnlyPaths;
use crate::format::is_archive_name;
use crate::game::{ArchiveRule, OrderLayer};
use crate::vfs::Vfs;
use crate::vfs::sources::profile::{SourceSet, is_game};
use crate::vfs::sources::resolve;

/// What may complete a word.
#[derive(Debug)]
pub(crate) struct Expected {
    /// The part of the word before the value: `--glob=`, or earlier items of a list.
    prefix: Vec<u8>,
    value: Value,
}

#[derive(Debug)]
enum Value {
    Words(Vec<Candidate>),
    OfKind(ValueKind),
    Tree {
        /// The sources. They are opened for one folder of their tree at a time.
        set: Box<SourceSet>,
        is_pattern: bool,
        /// Whether another source may follow instead.
        or_source: bool,
        /// The only source, if it is a folder: its names on the disk are offered if it takes too long to
        /// open.
        folder: Option<PathBuf>,
    },
    /// Mounts, except for those that the line names already.
    Mounts(Vec<PathBuf>),
}

/// The kind of value that an argument takes, by its value name in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    /// A value that only the user knows.
    Unknown,
    Source,
    /// A source, or a path inside the sources before it.
    SourceOrPath,
    Mount,
    /// A file in a mount. If the line names sources, a path inside them.
    Path,
    /// A pattern for paths inside the sources.
    Pattern,
    File,
    Folder,
    CodePage,
    Precedence,
    Command,
    /// A layer of the sources.
    Layer,
    /// A profile of an instance among the sources.
    Profile,
    /// Ids of games.
    Game,
}

/// Value names in `--help`, and their kinds.
const KINDS: [(&str, ValueKind); 32] = [
    ("SOURCE", ValueKind::Source),
    ("SOURCE... [MOUNTPOINT]", ValueKind::Source),
    ("SOURCE|PATH", ValueKind::SourceOrPath),
    ("ARCHIVE", ValueKind::Source),
    ("A", ValueKind::Source),
    ("B", ValueKind::Source),
    ("MOUNTPOINT", ValueKind::Mount),
    ("PATH", ValueKind::Path),
    ("FILE|PLUGIN|MOD", ValueKind::Path),
    ("PATTERN", ValueKind::Pattern),
    ("FILE", ValueKind::File),
    ("LIST", ValueKind::File),
    ("TEXTURE", ValueKind::File),
    ("PNG", ValueKind::File),
    ("LINE", ValueKind::Unknown),
    ("BREAKS", ValueKind::Unknown),
    ("FOLDER", ValueKind::Folder),
    ("DIR", ValueKind::Folder),
    ("CODE PAGE", ValueKind::CodePage),
    ("RULE", ValueKind::Precedence),
    ("COMMAND|TOPIC", ValueKind::Command),
    ("NAME", ValueKind::Unknown),
    ("LAYER", ValueKind::Layer),
    ("PROFILE", ValueKind::Profile),
    ("BYTES", ValueKind::Unknown),
    ("PIXELS", ValueKind::Unknown),
    ("OUTPUT", ValueKind::Folder),
    ("ID", ValueKind::Game),
    ("GAME", ValueKind::Source),
    ("SIZE", ValueKind::Unknown),
    ("NUMBER", ValueKind::Unknown),
    ("LEVEL", ValueKind::Unknown),
];

impl Expected {
    /// Finds what may complete `word` after the words `before`, of which the first is the program.
    pub(crate) fn at_end(mut bsafs: Command, before: &[Vec<u8>], word: &[u8]) -> Self {
        bsafs.build();
        let line = ParsedLine::read(&bsafs, before.get(1..).unwrap_or_default());
        let words = |words| Self { prefix: Vec::new(), value: Value::Words(words) };
        if let Some(argument) = line.pending {
            return line.value(&bsafs, argument, word, 0);
        }
        if !line.is_escaped && word.starts_with(b"-") {
            return match word.iter().position(|&byte| byte == b'=').filter(|_| word.starts_with(b"--")) {
                Some(at) => match line.long(&word[2..at]) {
                    Some(argument) => line.value(&bsafs, argument, word, at + 1),
                    None => words(Vec::new()),
                },
                None => match word.get(1).and_then(|&byte| line.short(byte)).filter(|_| word.len() > 2) {
                    Some(argument) if takes_value(argument) => line.value(&bsafs, argument, word, 2),
                    _ => words(line.options()),
                },
            };
        }
        if line.command.has_subcommands() {
            return words(commands(line.command));
        }
        match line.positional() {
            Some(argument) => line.value(&bsafs, argument, word, 0),
            None => words(Vec::new()),
        }
    }

    pub(crate) fn are_mounts(&self) -> bool {
        matches!(self.value, Value::Mounts(_))
    }

    /// Whether the candidates are paths inside archives.
    pub(crate) fn are_in_tree(&self) -> bool {
        matches!(self.value, Value::Tree { .. })
    }

    /// The candidates that begin with `word`.
    pub(crate) fn candidates(&self, word: &[u8]) -> Vec<Candidate> {
        let Some(typed) = word.strip_prefix(&self.prefix[..]) else { return Vec::new() };
        let found = match &self.value {
            Value::Words(words) => words.iter().filter(|it| it.text.starts_with(typed)).cloned().collect(),
            Value::Tree { set, is_pattern, or_source, folder } => {
                let path = if *is_pattern { candidates::unescaped(typed) } else { Some(typed.to_vec()) };
                let vfs = path.and_then(|path| vfs_at(set, &path));
                let mut found = match (vfs, folder, is_pattern) {
                    (Some(vfs), _, true) => candidates::patterns_in_tree(vfs.tree(), typed),
                    (Some(vfs), _, false) => candidates::in_tree(vfs.tree(), typed),
                    (None, Some(folder), false) => candidates::below(folder, typed),
                    (None, ..) => Vec::new(),
                };
                found.extend(or_source.then(|| candidates::sources(typed)).into_iter().flatten());
                found
            }
            Value::Mounts(named) => {
                let mounts = candidates::mounts(typed).into_iter();
                mounts.filter(|it| !named.contains(&absolute(&it.text))).collect()
            }
            Value::OfKind(kind) => match kind {
                ValueKind::Source => candidates::sources(typed),
                ValueKind::SourceOrPath => {
                    let mut found = candidates::in_mounts(typed);
                    let known: Vec<_> = found.iter().map(|it| it.text.clone()).collect();
                    let sources = candidates::sources(typed).into_iter();
                    found.extend(sources.filter(|it| !known.contains(&it.text)));
                    found
                }
                ValueKind::Path => candidates::in_mounts(typed),
                ValueKind::File => candidates::on_disk(typed, DiskFiles::All),
                ValueKind::Folder => candidates::on_disk(typed, DiskFiles::Folders),
                ValueKind::Unknown
                | ValueKind::Mount
                | ValueKind::Pattern
                | ValueKind::CodePage
                | ValueKind::Precedence
                | ValueKind::Command
                | ValueKind::Layer
                | ValueKind::Profile
                | ValueKind::Game => Vec::new(),
            },
        };
        let whole = |it: Candidate| Candidate { text: [&self.prefix, &it.text[..]].concat(), ..it };
        found.into_iter().map(whole).collect()
    }
}

/// A command line, as far as it has been read.
struct ParsedLine<'a> {
    command: &'a Command,
    /// The words after the program's name.
    words: &'a [Vec<u8>],
    /// The option whose value comes next.
    pending: Option<&'a Arg>,
    /// Whether `--` ended the options.
    is_escaped: bool,
    /// Values of positional arguments.
    positionals: Vec<&'a [u8]>,
    /// The sources among all values.
    sources: Vec<&'a [u8]>,
}

impl<'a> ParsedLine<'a> {
    fn read(bsafs: &'a Command, words: &'a [Vec<u8>]) -> Self {
        let mut line = Self {
            command: bsafs,
            words,
            pending: None,
            is_escaped: false,
            positionals: Default::default(),
            sources: Default::default(),
        };
        for word in words {
            line.read_word(word);
        }
        line
    }

    fn read_word(&mut self, word: &'a [u8]) {
        if let Some(argument) = self.pending.take() {
            return self.note(argument, word);
        }
        match word {
            _ if self.is_escaped => self.read_positional(word),
            b"--" => self.is_escaped = true,
            [b'-', b'-', name @ ..] => {
                let end = name.iter().position(|&byte| byte == b'=');
                let argument = self.long(&name[..end.unwrap_or(name.len())]);
                match (argument.filter(|it| takes_value(it)), end) {
                    (Some(argument), Some(end)) => self.note(argument, &name[end + 1..]),
                    (argument, _) => self.pending = argument,
                }
            }
            [b'-', letters @ ..] if !letters.is_empty() => {
                let takes = |byte: &u8| self.short(*byte).is_some_and(takes_value);
                let Some(at) = letters.iter().position(takes) else { return };
                match (self.short(letters[at]), &letters[at + 1..]) {
                    (argument, []) => self.pending = argument,
                    (Some(argument), value) => self.note(argument, value),
                    (None, _) => {}
                }
            }
            _ => self.read_positional(word),
        }
    }

    fn read_positional(&mut self, word: &'a [u8]) {
        if !self.command.has_subcommands() {
            if let Some(argument) = self.positional() {
                self.note(argument, word);
            }
            return self.positionals.push(word);
        }
        let name = OsStr::from_bytes(word);
        // A word that is not a command is the source of a mount, as when mount(8) calls the program.
        match self.command.find_subcommand(name) {
            Some(command) => self.command = command,
            None => {
                self.command = self.command.find_subcommand("mount").unwrap_or(self.command);
                self.positionals.push(word);
            }
        }
    }

    fn note(&mut self, argument: &Arg, value: &'a [u8]) {
        let path = Path::new(OsStr::from_bytes(value));
        let is_source = match kind(argument) {
            Some(ValueKind::Source) => true,
            Some(ValueKind::SourceOrPath) if self.sources.is_empty() && self.is_which() => {
                is_archive_name(value) || is_game(path) || path.is_dir()
            }
            Some(ValueKind::SourceOrPath) => self.sources.is_empty() || is_source(path),
            _ => false,
        };
        if is_source {
            self.sources.push(value);
        }
    }

    /// Whether the command also takes files in mounts.
    fn is_which(&self) -> bool {
        self.command.get_name() == "which"
    }

    fn long(&self, name: &[u8]) -> Option<&'a Arg> {
        let is_named = |argument: &&Arg| {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long().into_iter().chain(aliases).any(|it| it.as_bytes() == name)
        };
        self.command.get_arguments().find(is_named)
    }

    fn short(&self, letter: u8) -> Option<&'a Arg> {
        let is_named = |argument: &&Arg| {
            let aliases = argument.get_all_short_aliases().unwrap_or_default();
            argument.get_short().into_iter().chain(aliases).any(|it| it == char::from(letter))
        };
        self.command.get_arguments().find(is_named)
    }

    /// The positional argument that comes next.
    fn positional(&self) -> Option<&'a Arg> {
        let all: Vec<&Arg> = self.command.get_positionals().collect();
        let takes_many = |it: &&&Arg| it.get_num_args().is_some_and(|number| number.max_values() > 1);
        let repeats = |it: &&&Arg| takes_many(it) || matches!(it.get_action(), clap::ArgAction::Append);
        all.get(self.positionals.len()).or(all.last().filter(repeats)).copied()
    }

    /// The options of the command. Short names are offered only if an option has no long name.
    fn options(&self) -> Vec<Candidate> {
        let shown = self.command.get_arguments().filter(|it| !it.is_hide_set() && !it.is_positional());
        let option = |argument: &Arg| {
            let name = match (argument.get_long(), argument.get_short()) {
                (Some(long), _) => format!("--{long}"),
                (None, letter) => format!("-{}", letter?),
            };
            Some(Candidate { text: name.into(), help: first_line(argument.get_help()) })
        };
        shown.filter_map(option).collect()
    }

    /// Finds what may complete the value of an argument. The value begins at `start` in the word.
    fn value(&self, bsafs: &Command, argument: &Arg, word: &[u8], start: usize) -> Expected {
        let possible = argument.get_possible_values();
        // In a list, complete the last item.
        let last = word.iter().rposition(|&byte| byte == b',').map_or(start, |at| at + 1);
        let is_list = value_name(argument).is_some_and(|name| name.ends_with(",..."));
        let start = if is_list { last.max(start) } else { start };
        let of = |value| Expected { prefix: word[..start].to_vec(), value };
        if !possible.is_empty() {
            let word = |it: &clap::builder::PossibleValue| Candidate {
                text: it.get_name().into(),
                help: first_line(it.get_help()),
            };
            return of(Value::Words(possible.iter().map(word).collect()));
        }
        let names = |names: &[&str]| Value::Words(names.iter().map(|it| Candidate::name(*it)).collect());
        of(match kind(argument).unwrap_or(ValueKind::Unknown) {
            ValueKind::CodePage => names(&["1250", "1251", "1252", "utf-8"]),
            ValueKind::Precedence => names(&ArchiveRule::ALL.map(|(name, _)| name)),
            ValueKind::Command => Value::Words(commands(bsafs).into_iter().chain(topics()).collect()),
            ValueKind::Layer => Value::Words(self.layers(bsafs)),
            ValueKind::Profile => Value::Words(candidates::profiles(&self.sources)),
            ValueKind::Game => Value::Words(candidates::games()),
            // `mount` takes a folder to mount on, not an existing mount.
            ValueKind::Mount if self.command.get_name() == "mount" => Value::OfKind(ValueKind::Folder),
            ValueKind::SourceOrPath if self.sources.is_empty() => {
                Value::OfKind(if self.is_which() { ValueKind::SourceOrPath } else { ValueKind::Source })
            }
            ValueKind::SourceOrPath => self.tree(bsafs, false, true),
            ValueKind::Pattern => self.tree(bsafs, true, false),
            ValueKind::Path if !self.sources.is_empty() => self.tree(bsafs, false, false),
            ValueKind::Mount => Value::Mounts(self.positionals.iter().map(|it| absolute(it)).collect()),
            kind => Value::OfKind(kind),
        })
    }

    /// The names of the layers of the sources on the line.
    fn layers(&self, bsafs: &Command) -> Vec<Candidate> {
        let Some(set) = self.source_set(bsafs) else { return Vec::new() };
        let orders = resolve::plan_each(&set.paths, &set.options).unwrap_or_default();
        let layers = orders.iter().flat_map(|order| &order.layers);
        let name = |layer: &OrderLayer| Some(Candidate::name(layer.path.file_name()?.as_bytes()));
        layers.filter_map(name).collect()
    }

    /// The only source, if it is a folder.
    fn folder(&self) -> Option<PathBuf> {
        let [source] = self.sources[..] else { return None };
        Some(PathBuf::from(OsStr::from_bytes(source))).filter(|source| source.is_dir())
    }

    /// Paths in the sources on the line.
    fn tree(&self, bsafs: &Command, is_pattern: bool, or_source: bool) -> Value {
        match self.source_set(bsafs).map(Box::new) {
            Some(set) => Value::Tree { set, is_pattern, or_source, folder: self.folder() },
            None if or_source => Value::OfKind(ValueKind::Source),
            None => Value::OfKind(ValueKind::Unknown),
        }
    }

    /// The sources on the line, with the options on the line.
    fn source_set(&self, bsafs: &Command) -> Option<SourceSet> {
        let words = self.words.iter().map(|word| OsStr::from_bytes(word));
        let parsed = bsafs.clone().ignore_errors(true).no_binary_name(true).try_get_matches_from(words).ok();
        let parsed = parsed.as_ref().and_then(|it| it.subcommand()).map(|(_, parsed)| parsed);
        let open: OpenArgs = parsed.and_then(|it| OpenArgs::from_arg_matches(it).ok()).unwrap_or_default();
        let sources: Vec<PathBuf> = self.sources.iter().map(|it| OsStr::from_bytes(it).into()).collect();
        source_set(&sources, open.options()).ok()
    }
}

/// How long the Tab key may open sources. Afterwards, names of a folder are completed as on the disk.
const OPEN_TIME: Duration = Duration::from_secs(1);

/// Opens sources to list the folder of a path in their tree. `None` if that fails or takes too long: `/` may
/// be a source, and has millions of files.
fn vfs_at(set: &SourceSet, path: &[u8]) -> Option<Vfs> {
    let end = path.iter().rposition(|byte| matches!(byte, b'/' | b'\\')).unwrap_or(0);
    let folder: Vec<u8> = path[..end].iter().map(|&it| if it == b'\\' { b'/' } else { it }).collect();
    let limited = OnlyPaths::listed(&folder).and_then(|only| set.limited(only));
    let set = limited.unwrap_or_else(|| set.clone());
    within(OPEN_TIME, move || set.open().ok().map(Vfs::from)).flatten()
}

/// Runs `work` on another thread, which ends with this process if it takes longer than `limit`.
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || sender.send(work())).ok()?;
    receiver.recv_timeout(limit).ok()
}

fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

fn value_name(argument: &Arg) -> Option<&str> {
    argument.get_value_names()?.first().map(clap::builder::Str::as_str)
}

fn kind(argument: &Arg) -> Option<ValueKind> {
    let name = value_name(argument)?;
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// A path from the root, without an end.
fn absolute(path: &[u8]) -> PathBuf {
    let path = Path::new(OsStr::from_bytes(path));
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.components().collect()
}

fn commands(bsafs: &Command) -> Vec<Candidate> {
    let shown = bsafs.get_subcommands().filter(|it| !it.is_hide_set());
    let command = |it: &Command| Candidate { text: it.get_name().into(), help: first_line(it.get_about()) };
    shown.map(command).collect()
}

fn topics() -> impl Iterator<Item = Candidate> {
    TOPICS.iter().map(|topic| Candidate { text: topic.name.into(), help: topic.about.into() })
}

fn first_line(help: Option<&clap::builder::StyledStr>) -> String {
    help.map(|help| help.to_string().lines().next().unwrap_or_default().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::run::Cli;

    #[test]
    fn every_argument_of_every_command_can_be_completed() {
        let mut bsafs = Cli::command();
        bsafs.build();
        for command in bsafs.get_subcommands().filter(|it| it.get_name() != "help") {
            for argument in command.get_arguments().filter(|it| takes_value(it) && !it.is_hide_set()) {
                let is_known = !argument.get_possible_values().is_empty() || kind(argument).is_some();
                assert!(is_known, "{} {}: {:?}", command.get_name(), argument.get_id(), value_name(argument));
            }
        }
    }

    /// The candidates for `word` after a line.
    fn words(line: &[&str], word: &str) -> Vec<String> {
        let before: Vec<_> = line.iter().map(|word| word.as_bytes().to_vec()).collect();
        let expected = Expected::at_end(Cli::command(), &before, word.as_bytes());
        let found = expected.candidates(word.as_bytes()).into_iter();
        found.map(|it| String::from_utf8(it.text).expect("not UTF-8")).collect()
    }

    #[test]
    fn a_source_that_takes_too_long_to_open_does_not_hold_up_the_tab_key() {
        let (keep, never) = mpsc::channel::<()>();
        assert_eq!(within(Duration::ZERO, move || never.recv()), None);
        drop(keep);
        assert_eq!(within(Duration::from_secs(60), || 1), Some(1));
    }

    #[test]
    fn commands_options_and_their_values_are_completed() {
        assert_eq!(words(&["bsafs"], "mou"), ["mount", "mounts"]);
        assert_eq!(words(&["bsafs", "help"], "uno"), [""; 0]);
        assert_eq!(words(&["bsafs", "help"], "umo"), ["umount"]);
        assert_eq!(words(&["bsafs", "-q", "list"], "--lay"), ["--layout"]);
        assert_eq!(words(&["bsafs", "list", "--layout"], "per"), ["per-archive"]);
        assert_eq!(words(&["bsafs", "list"], "--layout=u"), ["--layout=union"]);
        assert_eq!(words(&["bsafs", "mount", "-o"], "xattr,allow"), ["xattr,allow_other"]);
        assert_eq!(words(&["bsafs", "mount"], "-oallow"), ["-oallow_other"]);
        assert_eq!(words(&["bsafs", "x.bsa", "mnt"], "-o"), ["-o"]);
        assert_eq!(words(&["bsafs", "x.bsa", "mnt", "-o"], "xa"), ["xattr"]);
        assert_eq!(words(&["bsafs", "order", "--precedence"], "o"), ["oblivion"]);
        assert_eq!(words(&["bsafs", "man"], "cat"), ["cat"]);
        assert_eq!(words(&["bsafs", "completions"], "z"), ["zsh"]);
        assert_eq!(words(&["bsafs", "umount", "--"], "--la"), [""; 0]);
        assert!(!words(&["bsafs"], "").contains(&"complete".to_owned()));
    }
}
