//! `bsafs conflicts`: lists the files that several layers have, and which layer wins.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::answers::comparison::{
    Compared, Conflict, Groups, HiddenCopy, OutsideCopies, OutsideCopy, Pair, Tally, compare_all, conflicts,
    count_equal, outside_of, tally,
};
use crate::answers::fate::{Fate, FateReason, out_of_place};
use crate::cli::exit::{Exit, Failure};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::OpenArgs;
use crate::cli::options::selection::Selection;
use crate::cli::page::conflict_page::{conflict_page, unused_copies};
use crate::cli::page::contents::{Contents, PageHead};
use crate::cli::page::page_file::PageArgs;
use crate::cli::surroundings::check_memory;
use crate::cli::terminal::output::{StyledWrite, WINNER, write_json};
use crate::cli::terminal::progress::steps;
use crate::cli::terminal::shown_layers::ShownLayers;
use crate::cli::ui::Ui;
use crate::game::caseless::{fold, same};
use crate::game::{ArchiveRule, Disk, LoadOrder, OrderLayer, title};
use crate::note::NoteCode;
use crate::shown::Shown;
use crate::system::text::count;
use crate::tree::NodeId;
use crate::vfs::{Layout, Vfs, VfsFile, VfsLayer};

/// Print which mods and layers hide files of others, and each hidden file
///
/// A summary comes first: mods without a winning file, files that mods hide from each other, equal
/// copies, and what bsafs left out. Pairs of mods follow, most hidden files first. A mod is its folder
/// and the archives in it. Then each conflict has its winner and the copies that it hides. The last table
/// has the layers with conflicts, lowest first: how many files they have, how many win, and how many are
/// hidden.
///
/// Every mod that replaces something hides files of the game's own archives. Such files are only counted
/// unless --with-game, --of, paths or patterns ask for them. With paths or patterns, only matching files
/// count. If an archive stores only the hash of a file, the file is known by the path that --names or another
/// layer has for it.
///
/// With --json, each conflict is an object with "path", "winner" (an object with "layer" and "why")
/// and "hidden" (a list of such objects; the first one would win without the winner). With
/// --compare it also has "equal": for each hidden file, whether its bytes are those of the winner,
/// or null if one of the two cannot be read. Each layer is then an object with "layer", "why",
/// "files", "winning", "hidden", "wholly_shadowed" (whether none of its files wins) and, with
/// --compare, "equal": how many of its hidden files equal the file that hides them.
///
/// The exit status is 0 whether or not there are conflicts. It is 1 if no file matches a pattern, if
/// --compare found a file that cannot be read, or if something else in the sources was not looked at.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Conflicts {
    /// Sources (the rightmost wins), then paths or patterns of files in them, ignoring case
    #[arg(required_unless_present = "game_dir=", value_name = "SOURCE|PATH")]
    sources: Vec<PathBuf>,
    /// Select only conflicts that involve this layer
    ///
    /// LAYER is the name of an archive, folder or mod, or the end of its path in whole names, ignoring
    /// case. A mod is its folder and the archives in it.
    #[arg(long, value_name = "LAYER")]
    of: Option<String>,
    /// Also print files that hide only files of the game's own archives. --json always has them
    #[arg(long, conflicts_with = "json")]
    with_game: bool,
    /// Read the files, and print whether each hidden file equals the winner
    #[arg(long)]
    compare: bool,
    /// Print one JSON object per line: the conflicts, then the layers
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "\
Examples:
  bsafs conflicts skyrimse                               which files are hidden, and by what
  bsafs conflicts ~/MO2 --of SkyUI                       what one mod hides, and what hides it
  bsafs conflicts Base.bsa Patch.bsa --compare           which hidden files are only copies
  bsafs conflicts ~/MO2 --html conflicts.html --open     look at the textures, in the browser
  bsafs conflicts ~/MO2 --json --glob '*.nif' | jq .path";

struct FoundConflicts {
    /// What was compared, in a title and a line.
    subject: Subject,
    names: ShownLayers,
    groups: Groups,
    conflicts: Vec<Conflict>,
    /// For each conflict, how its hidden files compare. Empty if nothing was compared.
    compared: Vec<Vec<Compared>>,
    /// The mods and layers that hide files of each other.
    pairs: Vec<Pair>,
    /// The groups that the user asked for.
    is_asked: Vec<bool>,
    /// The layer that the user asked for.
    of: Option<String>,
    /// Whether those are mods of a game.
    has_game: bool,
    /// Number of archives, folders and files that could not be looked at.
    unseen: usize,
    /// Each layer, and after it the mods that were deployed into it, by the number of the group.
    layers: Vec<(usize, Tally)>,
    /// Why the game has no use for some of the winners, by the node of the file.
    unused: HashMap<NodeId, FateReason>,
    /// The copies that no layer shows.
    outside: OutsideCopies,
    /// Why the game ignores some of them.
    why_ignored: String,
    /// The files that the answer is about, in words. `None` if it is about all.
    part: Option<String>,
}

#[derive(Serialize)]
struct LayerName {
    layer: String,
    /// Why the layer is loaded. Empty if the user named it.
    why: String,
    /// The mod from which a mod manager deployed the file into the layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    deployed_from: Option<String>,
    /// What became of the copy; left out for a layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    fate: Option<Fate>,
    /// The rule that decided it, as `why` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

#[derive(Serialize)]
struct JsonConflict {
    path: String,
    winner: LayerName,
    hidden: Vec<LayerName>,
    /// Loose copies that the game ignores, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<LayerName>,
    /// Copies in mods that a mod manager did not deploy, because it deployed the path from another mod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_deployed: Vec<LayerName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    equal: Option<Vec<Option<bool>>>,
}

/// A layer's tally, as JSON.
#[derive(Serialize)]
struct LayerLine {
    #[serde(flatten)]
    name: LayerName,
    files: usize,
    winning: usize,
    hidden: usize,
    /// Unknown if only a part of the files was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    wholly_shadowed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    equal: Option<usize>,
}

/// Number of bytes that a conflict of two layers takes, with the lists that grow beside it.
const CONFLICT: usize = 200;

impl Conflicts {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        Inquiry::run(self.json, |inquiry| self.answer(inquiry, ui))
    }

    fn answer(&self, inquiry: &mut Inquiry, ui: &Ui) -> Result<(), Failure> {
        let (sources, selected) = self.selection.split(&self.sources)?;
        let mut selected = selected.of_any_copy();
        let page = self.page.file()?;
        let options = self.open.options().layout(Layout::Union);
        let options = options.advice_to_root(self.page.advice_to_root());
        let set = source_set(sources, options)?;
        let vfs = Vfs::from(set.open()?);
        check_memory(vfs.opened().tree.files().saturating_mul(CONFLICT))?;
        let files = inquiry.select(&mut selected, &vfs)?;
        let mut conflicts = conflicts(files.iter().cloned());
        let groups = Groups::new(vfs.layers().collect(), vfs.order());
        let mut tallies = vec![Tally::default(); vfs.layers().len()];
        tally(&mut tallies, files.iter().cloned(), |file| groups.of(file));
        let outside = groups.outside(&vfs, &files);
        tallies.resize(groups.count(), Tally::default());
        let not_deployed = outside.values().flatten().filter(|copy| copy.fate == Fate::Loses);
        not_deployed.for_each(|copy| tallies[copy.group].hidden += 1);
        let known: HashSet<NodeId> = conflicts.iter().map(|conflict| conflict.winner.node()).collect();
        let others = files
            .iter()
            .filter(|it| outside.contains_key(&it.node()))
            .filter(|it| !known.contains(&it.node()));
        conflicts.extend(others.map(|it| Conflict { winner: it.clone(), hidden: Vec::new() }));
        let is_asked = match &self.of {
            Some(of) => groups_named(&vfs, &groups, of)?,
            None => vec![true; groups.count()],
        };
        conflicts.retain(|conflict| {
            let mut outside = outside.get(&conflict.winner.node()).into_iter().flatten();
            conflict.copies().any(|file| is_asked[groups.of(file)]) || outside.any(|it| is_asked[it.group])
        });
        conflicts.sort_by_cached_key(|conflict| conflict.winner.path_bytes().to_ascii_lowercase());
        let compared = if self.compare || page.is_some() && self.page.is_compared() {
            compare_all(vfs.opened(), &conflicts, &steps("comparing", conflicts.len()))
        } else {
            Vec::new()
        };
        count_equal(&mut tallies, &conflicts, &compared, |file| groups.of(file));
        let mut layers: Vec<(usize, Tally)> = tallies.into_iter().enumerate().collect();
        layers.sort_by_cached_key(|(group, _)| (groups.layer(*group).number(), groups.mod_name(*group)));
        let names = vfs.layers().collect::<Vec<_>>();
        let names = ShownLayers::of(names.iter().map(|layer| (layer.path(), layer.is_folder())));
        let why_ignored = vfs.order().why_loose_ignored();
        let part = selected.in_words();
        let pairs = groups.pairs(&conflicts, &outside, &is_asked);
        if page.is_some() {
            // Errors are found again below, and the page says which sizes are unknown.
            let copies = || conflicts.iter().flat_map(Conflict::copies);
            let _ = vfs.store().learn_sizes(copies().map(VfsFile::entry));
            inquiry.unseen.add_sizes(copies());
        }
        let order = std::slice::from_ref(vfs.order());
        let unused = conflicts.iter().filter_map(|Conflict { winner, .. }| {
            Some((winner.node(), out_of_place(order, vfs.notes(), winner)?))
        });
        let unused = unused.collect();
        let found = FoundConflicts {
            subject: Subject::of(&set.paths, vfs.order()).part(part.as_deref()),
            pairs,
            is_asked,
            of: self.of.clone(),
            has_game: vfs.order().layers.iter().any(|layer| layer.is_managed || layer.is_of_game),
            unseen: inquiry.unseen.count(),
            unused,
            names,
            groups,
            conflicts,
            compared,
            layers,
            outside,
            why_ignored,
            part,
        };
        match page {
            Some(page) => self.page.write(&page, found.page(), &mut inquiry.unseen, ui.is_quiet)?,
            None if self.json => inquiry.out.text(|out| self.write_json(out, &found))?,
            None => inquiry.out.text(|out| self.write(out, &found))?,
        }
        if let Some(what) = unsure(&vfs, &found.conflicts) {
            log::warn!("{what}");
        }
        for (conflict, compared) in found.conflicts.iter().zip(&found.compared) {
            for what in compared.iter().filter_map(Compared::unreadable) {
                log::error!("{}: {what}", conflict.winner.path());
                inquiry.set_exit(Exit::No);
            }
        }
        Ok(())
    }

    fn write_json(&self, out: &mut impl Write, found: &FoundConflicts) -> io::Result<()> {
        for (index, Conflict { winner, hidden }) in found.conflicts.iter().enumerate() {
            let line = JsonConflict {
                path: winner.path(),
                winner: found.winner_name(winner),
                hidden: hidden.iter().map(|file| found.copy_name(file, Fate::Loses, "hidden")).collect(),
                ignored: found.outside(winner, Fate::Ignored),
                not_deployed: found.outside(winner, Fate::Loses),
                equal: found.compared.get(index).map(|it| it.iter().map(Compared::is_equal).collect()),
            };
            write_json(out, &line)?;
        }
        for (group, tally) in found.shown_layers() {
            let line = LayerLine {
                name: found.layer_name(*group),
                files: tally.files(),
                winning: tally.winning,
                hidden: tally.hidden,
                wholly_shadowed: found.part.is_none().then(|| tally.is_wholly_shadowed()),
                equal: self.compare.then_some(tally.equal),
            };
            write_json(out, &line)?;
        }
        Ok(())
    }

    fn write(&self, out: &mut impl StyledWrite, found: &FoundConflicts) -> io::Result<()> {
        found.names.write_folders(out, "in")?;
        let with_game = self.with_game || self.of.is_some() || found.part.is_some();
        found.write_summary(out, with_game, self.compare)?;
        let is_shown = |(_, it): &(usize, &Conflict)| with_game || !found.hides_only_the_game(it);
        for (index, conflict) in found.conflicts.iter().enumerate().filter(is_shown) {
            let Conflict { winner, hidden } = conflict;
            writeln!(out, "{}", winner.path().shown())?;
            write!(out, "  from    ")?;
            out.write_styled(WINNER, found.name(found.groups.of(winner)))?;
            writeln!(out)?;
            if let Some(FateReason { fate: Some(fate), text, .. }) = found.unused.get(&winner.node()) {
                writeln!(out, "  {:<7} {}", fate.in_words(), text.shown())?;
            }
            for (at, file) in hidden.iter().enumerate() {
                let compared = match found.compared.get(index).and_then(|it| it.get(at)) {
                    None => "",
                    Some(Compared::Equal) => "  equal",
                    Some(Compared::Different) => "  different",
                    Some(Compared::Unreadable(_)) => "  cannot be compared",
                };
                writeln!(out, "  hides   {}{compared}", found.name(found.groups.of(file)))?;
            }
            for copy in outside_of(&found.outside, winner, Fate::Loses) {
                writeln!(out, "  hides   {}  not deployed", found.name(copy.group))?;
            }
            for copy in outside_of(&found.outside, winner, Fate::Ignored) {
                writeln!(out, "  ignored {}", found.name(copy.group))?;
            }
        }
        if found.ignored() > 0 {
            writeln!(out, "\nignored: {}", found.why_ignored.shown())?;
        }
        let layers = found.fighting_layers();
        if !layers.is_empty() {
            let equal = if self.compare { "     equal" } else { "" };
            writeln!(out, "\n     files   winning    hidden{equal}  layer, lowest first")?;
        }
        for (group, tally) in layers {
            let Tally { winning, hidden, equal } = tally;
            let equal = if self.compare { format!("{equal:>10}") } else { String::new() };
            let shadowed = match &found.part {
                _ if !tally.is_wholly_shadowed() => "",
                None => "  (all files hidden)",
                Some(_) => "  (all of these files hidden)",
            };
            let (files, name) = (tally.files(), found.name(group));
            writeln!(out, "{files:>10}{winning:>10}{hidden:>10}{equal}  {name}{shadowed}")?;
        }
        let part = found.part.as_ref().map(|part| format!(" in {part}")).unwrap_or_default();
        writeln!(out, "{}{part}", count(found.conflicts.len(), "conflict"))
    }
}

impl FoundConflicts {
    /// Number of loose copies that the game ignores.
    fn ignored(&self) -> usize {
        self.outside.values().flatten().filter(|copy| copy.fate == Fate::Ignored).count()
    }

    /// The copies of a file that no layer shows, and that became of them so, as JSON.
    fn outside(&self, winner: &VfsFile, fate: Fate) -> Vec<LayerName> {
        let name = |copy: &OutsideCopy| match fate {
            Fate::Ignored => LayerName {
                why: self.why_ignored.clone(),
                fate: Some(fate),
                code: Some(NoteCode::LooseDisabled.as_str()),
                ..self.layer_name(copy.group)
            },
            _ => LayerName {
                layer: copy.folder.to_string_lossy().into_owned(),
                why: {
                    let by = self.name(self.groups.of(winner));
                    format!("the mod manager deployed this path from {by}")
                },
                deployed_from: self.groups.mod_name(copy.group),
                fate: Some(fate),
                code: Some("hidden"),
            },
        };
        outside_of(&self.outside, winner, fate).map(name).collect()
    }

    /// The name of a layer or mod.
    fn name(&self, group: usize) -> String {
        let layer = || self.names.shown(self.groups.layer(group).path()).to_string();
        self.groups.mod_name(group).map_or_else(layer, |name| name.shown().to_string())
    }

    fn layer_name(&self, group: usize) -> LayerName {
        let layer = self.groups.layer(group);
        LayerName {
            layer: layer.path().to_string_lossy().into_owned(),
            why: self.groups.why(group).to_owned(),
            deployed_from: self.groups.mod_name(group),
            fate: None,
            code: None,
        }
    }

    /// The winner, which the game may have no use for.
    fn winner_name(&self, winner: &VfsFile) -> LayerName {
        let Some(unused) = self.unused.get(&winner.node()) else {
            return self.copy_name(winner, Fate::Wins, "there");
        };
        let name = self.copy_name(winner, unused.fate.unwrap_or(Fate::Ignored), unused.code);
        LayerName { why: unused.text.clone(), ..name }
    }

    fn copy_name(&self, copy: &VfsFile, fate: Fate, code: &'static str) -> LayerName {
        let name = self.layer_name(self.groups.of(copy));
        LayerName { why: copy.layer().why().to_owned(), fate: Some(fate), code: Some(code), ..name }
    }

    /// The layers that the user asked for. Most layers of a game have none of some files, and are left out.
    fn shown_layers(&self) -> impl Iterator<Item = &(usize, Tally)> {
        let is_mod = |group| self.groups.mod_name(group).is_some();
        let is_shown = move |(group, tally): &&(usize, Tally)| {
            tally.files() > 0 || self.part.is_none() && !is_mod(*group)
        };
        let is_one = |group| self.is_asked[group] && !self.groups.is_part(group);
        self.layers.iter().filter(move |(group, _)| is_one(*group)).filter(is_shown)
    }

    /// Those of the shown layers that have conflicts.
    fn fighting_layers(&self) -> Vec<(usize, Tally)> {
        let copies = self.conflicts.iter().flat_map(Conflict::copies).map(|copy| self.groups.of(copy));
        let not_deployed = self.outside.values().flatten().filter(|copy| copy.fate == Fate::Loses);
        let fighting: HashSet<usize> = copies.chain(not_deployed.map(|copy| copy.group)).collect();
        self.shown_layers().filter(|(group, _)| fighting.contains(group)).copied().collect()
    }

    /// Whether a conflict is only that a file replaces one of the game.
    fn hides_only_the_game(&self, conflict: &Conflict) -> bool {
        let node = conflict.winner.node();
        let is_of_game = |file: &VfsFile| self.groups.is_of_game(self.groups.of(file));
        let is_other = self.outside.contains_key(&node);
        !is_other && !self.unused.contains_key(&node) && conflict.hidden.iter().all(is_of_game)
    }

    /// The mods, and layers outside of mods, without a winning file.
    fn fully_hidden(&self) -> Vec<String> {
        let mut tallies: BTreeMap<usize, Tally> = BTreeMap::new();
        for (group, tally) in self.shown_layers().filter(|(group, _)| !self.groups.is_of_game(*group)) {
            let sum = tallies.entry(self.groups.mod_of(*group)).or_default();
            *sum = sum.plus(*tally);
        }
        tallies
            .into_iter()
            .filter(|(_, it)| it.is_wholly_shadowed())
            .map(|(group, _)| self.name(group))
            .collect()
    }

    /// The number of hidden files of a pair that equal the winner.
    fn equal_copies(&self, pair: &Pair) -> usize {
        let compared = |&(index, at): &HiddenCopy| self.compared.get(index)?.get(at?);
        pair.copies.iter().filter_map(compared).filter(|it| **it == Compared::Equal).count()
    }

    /// How many files the layers that were asked about hide of others, and how many they lose to others. The
    /// game's own archives have a fact of their own.
    fn hides_and_loses(&self) -> String {
        let against = |ours: &dyn Fn(&Pair) -> [usize; 2]| {
            let is_between = |pair: &&Pair| {
                let [one, other] = ours(pair);
                self.is_asked[one] && !self.is_asked[other] && !pair.is_of_game
            };
            let pairs: Vec<&Pair> = self.pairs.iter().filter(is_between).collect();
            (pairs.iter().map(|pair| pair.copies.len()).sum(), pairs.len())
        };
        let (files, others) = against(&|pair| [pair.winner, pair.hidden]);
        let (lost, winners) = against(&|pair| [pair.hidden, pair.winner]);
        let what = if self.has_game { "mod" } else { "layer" };
        let (others, winners) = (count(others, what), count(winners, what));
        format!("hides {} of {others}, loses {lost} to {winners}", count(files, "file"))
    }

    /// What a reader wants to know first: a name and a text for each.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let (of_game, pairs): (Vec<&Pair>, Vec<&Pair>) = self.pairs.iter().partition(|pair| pair.is_of_game);
        let copies = |pairs: &[&Pair]| pairs.iter().map(|pair| pair.copies.len()).sum::<usize>();
        let among = |pairs: &[&Pair]| match pairs.len() {
            0 => "no conflicts".to_owned(),
            number => format!("{} in {}", count(copies(pairs), "hidden file"), count(number, "pair")),
        };
        let equal = self.pairs.iter().map(|pair| self.equal_copies(pair)).sum::<usize>();
        let equal = if self.is_compared() {
            let all = self.pairs.iter().map(|pair| pair.copies.len()).sum();
            format!("{equal} of {}", count(all, "hidden file"))
        } else {
            "not compared".to_owned()
        };
        let mut facts = Vec::new();
        // A mod that loses a part of its files may win others.
        if let Some(of) = &self.of {
            // Of other mods nothing is said.
            let all = self.shown_layers().fold(Tally::default(), |sum, (_, tally)| sum.plus(*tally));
            let is_hidden = self.part.is_none() && all.is_wholly_shadowed();
            let fully = if is_hidden { ", and no file of it wins" } else { "" };
            facts.push(("Asked about", format!("{}: {}{fully}", of.shown(), self.hides_and_loses())));
        } else if self.part.is_none() {
            let hidden = self.fully_hidden();
            let fully = match hidden.len() {
                0 => "none".to_owned(),
                number => format!("{number}: {}", some_of(&hidden)),
            };
            facts.push((if self.has_game { "Mods fully hidden" } else { "Layers fully hidden" }, fully));
        }
        facts.push((if self.has_game { "Mods against mods" } else { "Conflicts" }, among(&pairs)));
        if !self.pairs.is_empty() {
            facts.push(("Equal copies", equal));
        }
        if !of_game.is_empty() {
            facts.push(("The game's archives", among(&of_game)));
        }
        let left_out = [(self.unseen, "could not be looked at"), (self.ignored(), "ignored by the game")];
        let left_out = left_out.into_iter().filter(|(number, _)| *number > 0);
        let left_out: Vec<String> = left_out.map(|(number, why)| format!("{number} {why}")).collect();
        if !left_out.is_empty() {
            facts.push(("Left out", left_out.join(", ")));
        }
        facts
    }

    /// Whether the bytes of files were compared.
    fn is_compared(&self) -> bool {
        !self.compared.is_empty() || self.conflicts.is_empty()
    }

    /// Writes what is compared, the facts and the pairs.
    fn write_summary(
        &self,
        out: &mut impl StyledWrite,
        with_game: bool,
        is_compared: bool,
    ) -> io::Result<()> {
        writeln!(out, "{}", self.subject.line)?;
        for (name, text) in self.facts() {
            writeln!(out, "  {name:<21}{text}")?;
        }
        let pairs = self.pairs.iter().filter(|pair| with_game || !pair.is_of_game);
        let mut pairs = pairs.peekable();
        if pairs.peek().is_some() {
            let equal = if is_compared { "     equal" } else { "" };
            writeln!(out, "\n    hidden{equal}  pair, most hidden files first")?;
        }
        for pair in pairs {
            let equal = if is_compared { format!("{:>10}", self.equal_copies(pair)) } else { String::new() };
            write!(out, "{:>10}{equal}  ", pair.copies.len())?;
            out.write_styled(WINNER, self.name(pair.winner))?;
            writeln!(out, " hides {}", self.name(pair.hidden))?;
        }
        if self.pairs.iter().any(|pair| !with_game && pair.is_of_game) {
            writeln!(out, "--with-game also lists what hides the game's own archives")?;
        }
        if !self.conflicts.is_empty() {
            writeln!(out)?;
        }
        Ok(())
    }

    fn page(&self) -> Contents {
        let layers = self.fighting_layers();
        let layers = layers.into_iter().map(|(group, tally)| (self.name(group), tally)).collect();
        let about = PageHead {
            title: match &self.of {
                Some(of) => format!("Conflicts of {}: {}", of.shown(), self.subject.title),
                None => format!("Conflicts: {}", self.subject.title),
            },
            line: self.subject.line.clone(),
            facts: self.facts(),
        };
        let name = |group| self.name(group);
        let asked = |group: usize| self.is_asked.get(group).is_some_and(|is_asked| *is_asked);
        let asked = self.of.is_some().then_some(&asked as &dyn Fn(usize) -> bool);
        let mut page =
            conflict_page(about, &self.pairs, &name, asked, (&self.conflicts, &self.compared), layers);
        let why = format!("{}: {}", NoteCode::LooseDisabled.as_str(), self.why_ignored);
        let unused = self.conflicts.iter().flat_map(|Conflict { winner, .. }| {
            let place = |group| (self.name(group), Fate::Ignored, why.clone());
            let ignored = outside_of(&self.outside, winner, Fate::Ignored);
            ignored.map(move |copy| (place(copy.group), winner)).collect::<Vec<_>>()
        });
        page.parts.insert(1, unused_copies(unused));
        page
    }
}

/// What a command is about.
pub(super) struct Subject {
    /// The name of the game, or the names of the sources.
    pub(super) title: String,
    /// The game, the profile and the paths of the sources.
    pub(super) line: String,
}

impl Subject {
    pub(super) fn of(sources: &[PathBuf], order: &LoadOrder) -> Self {
        let game = title(order.game).map(|it| it.name);
        let profile = order.profile.as_ref().and_then(|it| it.file_name()).map(|it| it.shown().to_string());
        // A game is named by its id.
        let path = |source: &PathBuf| match source.canonicalize() {
            Ok(absolute) => absolute.shown().to_string(),
            Err(_) => source.shown().to_string(),
        };
        let paths: Vec<String> = sources.iter().map(path).collect();
        let names = sources.iter().map(|source| source.file_name().unwrap_or(source.as_os_str()).shown());
        let names: Vec<String> = names.map(|name| name.to_string()).collect();
        let of_profile = profile.as_ref().map(|profile| format!("profile {profile}"));
        let title = match game {
            Some(game) => {
                [Some(game.to_owned()), profile].into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
            None => some_of(&names),
        };
        let line = [game.map(str::to_owned), of_profile, Some(paths.join(", "))];
        Self { title, line: line.into_iter().flatten().collect::<Vec<_>>().join(", ") }
    }

    /// Says that the answer is only about some files, in words.
    pub(super) fn part(self, part: Option<&str>) -> Self {
        let Some(part) = part else { return self };
        Self { title: format!("{}; only {part}", self.title), line: format!("{}; only {part}", self.line) }
    }
}

/// The first of some names, and how many there are.
fn some_of(names: &[String]) -> String {
    const NAMED: usize = 6;
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(NAMED)].join(", "))
}

/// A warning if the game itself does not always use the winner. It is not a note of the load order, because
/// almost every order of Oblivion would have it.
fn unsure(vfs: &Vfs, conflicts: &[Conflict]) -> Option<String> {
    if vfs.order().precedence.archives != ArchiveRule::Oblivion {
        return None;
    }
    // A layer that the user named has no reason, and is not an archive of the game.
    let is_of_game = |file: &VfsFile| !file.layer().is_folder() && !file.layer().why().is_empty();
    let is_shared = |it: &&Conflict| is_of_game(&it.winner) && it.hidden.iter().any(is_of_game);
    let shared = conflicts.iter().filter(is_shared).count();
    let code = NoteCode::ArchivesSharePath.as_str();
    let files = count(shared, "file");
    let text = "the game first searches the archive that it read last, so any of them may win";
    (shared > 0).then(|| format!("{code}: {files} in several archives: {text}"))
}

/// For each layer, whether `--of` names it or the folder of the mod that has it.
pub(super) fn layers_named(vfs: &Vfs, of: &str) -> Result<Vec<bool>, Failure> {
    let groups = Groups::new(vfs.layers().collect(), vfs.order());
    let found = named_layers(vfs, of);
    if found.contains(&true) { Ok(found) } else { Err(not_named(vfs.order(), &groups, of)) }
}

/// For each layer and deployed mod, whether `--of` names it, or the layer or mod that has it.
fn groups_named(vfs: &Vfs, groups: &Groups, of: &str) -> Result<Vec<bool>, Failure> {
    let of_layers = named_layers(vfs, of);
    let is_named = |group: usize| {
        let layer = groups.layer(group);
        let name = match groups.mod_name(group) {
            None if !layer.is_folder() => groups.mod_of_archive(layer),
            name => name,
        };
        of_layers[layer.number()] || name.is_some_and(|name| is_named(Path::new(&name), of))
    };
    let found: Vec<bool> = (0..groups.count()).map(is_named).collect();
    if found.contains(&true) { Ok(found) } else { Err(not_named(vfs.order(), groups, of)) }
}

/// For each layer, whether a text names it. The folder of a mod also names the archives at its top. The data
/// folder of a game does not, because most archives there are the game's own.
fn named_layers(vfs: &Vfs, of: &str) -> Vec<bool> {
    let order = vfs.order();
    let mut folders: HashSet<PathBuf> =
        vfs.layers().filter(VfsLayer::is_folder).map(|layer| layer.path().to_owned()).collect();
    let is_own = |layer: &&OrderLayer| !layer.is_managed && order.installation.is_some();
    for own in order.layers.iter().filter(is_own) {
        folders.remove(&own.path);
    }
    let is_mod = |folder: &&Path| {
        let mods = order.mods.as_ref().map(|mods| &*mods.folder);
        folders.contains(*folder) || mods.is_some_and(|mods| folder.parent() == Some(mods))
    };
    let is_of_mod = |layer: &VfsLayer| {
        let folder = layer.path().parent().filter(|_| !layer.is_folder()).filter(is_mod);
        folder.is_some_and(|folder| is_named(folder, of))
    };
    vfs.layers().map(|layer| is_named(layer.path(), of) || is_of_mod(&layer)).collect()
}

/// Whether a text names a path, ignoring case: the path ends with the text, in whole names.
pub(super) fn is_named(path: &Path, text: &str) -> bool {
    let wanted = fold(&text.replace('\\', "/"));
    let end = wanted.trim_start_matches("./").trim_end_matches('/');
    !end.is_empty() && Path::new(&fold(&path.to_string_lossy())).ends_with(end)
}

/// Why `--of` names nothing that the game has.
fn not_named(order: &LoadOrder, groups: &Groups, of: &str) -> Failure {
    let name = of.trim_end_matches('/');
    let profile = order.profile.as_ref().and_then(|it| it.file_name()).unwrap_or_default().shown();
    let of_manager = order.mods.as_ref().and_then(|mods| {
        let is_on = mods.enabled.iter().any(|it| same(it, name));
        let is_there = Disk::default().find_folder(&mods.folder, name).is_some();
        let off = format!("the mod is off in the profile \"{profile}\"; turn it on");
        let empty = format!("the mod is on in the profile \"{profile}\", but the game has no file of it");
        (is_on || is_there).then_some(if is_on { empty } else { off })
    });
    let of_deployed = || {
        let deployed = "a mod manager deployed this mod, but none of the files here is from it";
        let not_deployed = "the mod is not deployed; deploy it in the mod manager";
        let is_deployed = groups.is_deployed(order, name)?;
        Some(if is_deployed { deployed } else { not_deployed }.to_owned())
    };
    let what = of_manager.or_else(of_deployed);
    let what = what.unwrap_or_else(|| "no such layer; `bsafs order SOURCE...` lists the layers".to_owned());
    Failure::new(Exit::NoInput, format!("--of {of}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_named_by_the_end_of_its_path_in_whole_names() {
        let paths = ["/g/Data/Skyrim.bsa", "/g/Data", "/m/SkyUI", "/m/SkyUI/SkyUI.bsa", "/m/Größe"];
        let named = |text: &str| -> Vec<usize> {
            (0..paths.len()).filter(|&index| is_named(Path::new(paths[index]), text)).collect()
        };
        assert_eq!(named("skyui"), [2]);
        assert_eq!(named("SKYUI.BSA"), [3]);
        assert_eq!(named("data"), [1]);
        assert_eq!(named("/g/Data/"), [1]);
        assert_eq!(named("SkyUI\\skyui.bsa"), [3]);
        assert_eq!(named("skyui/"), [2]);
        assert_eq!(named("GRÖSSE"), [0; 0]);
        assert_eq!(named("GRÖßE"), [4]);
        for part in ["kyui", "ui", "a", "", "/", "nothing"] {
            assert_eq!(named(part), [0; 0], "{part}");
        }
    }
}
