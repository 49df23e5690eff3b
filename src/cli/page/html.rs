//! The templates of pages, and the page that they make.
//!
//! A template escapes every value, except for parts marked `safe`: those were made by a template of this
//! file, or are the style.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};
use std::slice;
use std::time::SystemTime;

use askama::Template;
use sha2::{Digest, Sha256};

use super::contents::{Contents, LayerBar, NameList, PageHead, Part, ROW_KINDS, Row, Section, Side, State};
use super::pictures::{Pictures, ShownRow, Third, add_base64, size_of};
use crate::cli::terminal::progress::steps;
use crate::limits::{PAGE_FILES_MAX, PAGE_TEXT_MAX};
use crate::note::Note;
use crate::shown::Shown as _;
use crate::system::clock::date;
use crate::system::text::count;

/// How every page begins. A file that begins like this may be replaced by a page.
pub(super) const BEGINNING: &str = "<!DOCTYPE html>\n<!-- A page of bsafs -->\n";

/// The style of every page. That of the pictures is added.
const STYLE: &str = include_str!("style.css");

/// What the browser may do with a page, besides its style.
const POLICY: &str = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'";

/// A page that can be written.
pub(crate) struct Page {
    head: PageHead,
    note: Option<String>,
    filters: Filters,
    body: String,
    /// Where the filters are in it: before the files.
    filters_at: usize,
    pictures: Pictures,
    listed: usize,
}

impl Page {
    /// Makes the pictures and the text of a page. Shows progress.
    pub(crate) fn of(contents: Contents) -> Self {
        let Contents { head, lists, parts, layers, narrowing } = contents;
        let sections = || parts.iter().flat_map(|part| &part.sections);
        let files: usize = sections().map(|section| section.files).sum();
        let rows: Vec<&Row> = sections().flat_map(|section| &section.rows).take(PAGE_FILES_MAX).collect();
        let textures = rows.iter().filter(|row| row.is_texture()).count();
        let (pictures, shown) = Pictures::of(&rows, &steps("looking for differences", textures));
        // What names every pair and layer goes before files: who finds no pair of a mod sees no conflict.
        let mut last = Body::default();
        last.add_layers(&layers);
        let mut body = Body { is_small: files <= SMALL, reserved: last.text.len(), ..Body::default() };
        body.reserved += sections()
            .map(|section| body.heading(section, PAGE_FILES_MAX, false).len() + LEFT_MAX)
            .sum::<usize>();
        lists.iter().filter(|list| !list.is_closed).for_each(|list| body.add_lines(list));
        let filters_at = body.text.len();
        let mut next = shown.iter();
        for part in parts.iter().filter(|part| !part.sections.is_empty()) {
            body.add_part(part, &mut next);
        }
        lists.iter().filter(|list| list.is_closed).for_each(|list| body.add_lines(list));
        body.end(&last.text);
        let unpictured = textures - shown.iter().flatten().filter(|row| !row.is_left_out).count();
        let left = [
            (unpictured, format!("pictures of {}", count(unpictured, "texture"))),
            (files - body.listed, count(files - body.listed, "file")),
            (body.lines_left, count(body.lines_left, "line")),
            (last.layers_left, count(last.layers_left, "layer")),
        ];
        let left: Vec<String> =
            left.into_iter().filter(|(number, _)| *number > 0).map(|(_, what)| what).collect();
        let note = || format!("The page has no room for {}; to narrow it, {narrowing}.", left.join(" and "));
        let note = (!left.is_empty()).then(note);
        let filters = Filters::of(&parts);
        Self { head, note, filters, body: body.text, filters_at, pictures, listed: body.listed }
    }

    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    /// The textures that could not be read.
    pub(crate) fn unread(&self) -> &[Note] {
        self.pictures.unread()
    }

    /// The number of different pictures.
    pub(crate) fn pictures(&self) -> usize {
        self.pictures.count()
    }

    /// A sentence about what the page has no room for.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Writes the page.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let pictures = self.pictures.style();
        // The browser compares the hash of what is between the tags.
        let Self { head: PageHead { title, line, facts }, note, filters, body, .. } = self;
        let Filters { html: filters, rules } = filters;
        let (lists, body) = body.split_at(self.filters_at);
        let digest = Sha256::new().chain_update(STYLE).chain_update(rules).chain_update(pictures).finalize();
        let mut policy = format!("{POLICY}; style-src 'sha256-");
        add_base64(&digest, &mut policy);
        policy.push('\'');
        out.write_all(BEGINNING.as_bytes())?;
        let (date, version) = (date(SystemTime::now()), env!("CARGO_PKG_VERSION"));
        let line = format!("{line}, {date}, bsafs {version}");
        let (line, policy, style) = (&*line, &*policy, STYLE);
        let page =
            PageHtml { title, line, facts, note, lists, filters, body, style, rules, pictures, policy };
        page.write_into(out)
    }
}

/// The part of a page whose size is limited.
#[derive(Default)]
struct Body {
    text: String,
    /// The number of rows in it.
    listed: usize,
    /// The number of sections in it.
    sections: usize,
    /// The number of lines of lists that are not in it.
    lines_left: usize,
    /// The number of layers that are not in it.
    layers_left: usize,
    /// Whether all sections are open.
    is_small: bool,
    /// Number of bytes of what is still to be added before any more files.
    reserved: usize,
    /// Whether there is no room for more files.
    is_full: bool,
}

/// Maximum number of bytes of what ends a section, and says how many files are left out.
const LEFT_MAX: usize = 100;
/// Maximum number of files of a page that is shown open, and of lines of a list.
const SMALL: usize = 40;

impl Body {
    /// Adds text, unless the page has no room for it. Returns whether it was added.
    fn add(&mut self, text: &str) -> bool {
        let has_room = self.text.len() + text.len() <= PAGE_TEXT_MAX;
        if has_room {
            self.text.push_str(text);
        }
        has_room
    }

    /// Adds a file or a folder, as [`Self::add`] does, if there is room for all headings besides.
    fn add_file(&mut self, text: &str) -> bool {
        self.is_full |= self.listed == PAGE_FILES_MAX;
        self.is_full |= self.text.len() + text.len() + self.reserved > PAGE_TEXT_MAX;
        !self.is_full && self.add(text)
    }

    /// The heading of a section.
    fn heading(&self, section: &Section, id: usize, is_open: bool) -> String {
        let Section { name, over, about, files, equal, wins, rows } = section;
        let side = match wins {
            Some(true) => " w",
            Some(false) => " l",
            None => "",
        };
        rendered(&SectionHtml {
            id,
            letters: letters(rows) + side,
            name,
            over: over.as_deref(),
            about,
            files: count(*files, "file"),
            equal: *equal,
            has_equal: *equal > 0,
            is_open: is_open || self.is_small,
        })
    }

    /// Adds what ends an element. It is short, or room is reserved for it.
    fn end(&mut self, tags: &str) {
        self.text.push_str(tags);
    }

    /// Adds the lines of a list as far as there is room.
    fn add_lines(&mut self, list: &NameList) {
        let NameList { id, heading, is_closed, lines } = list;
        let files = count(lines.len(), "line");
        // A long list would leave no room for the files on the first screen.
        let is_closed = *is_closed || lines.len() > SMALL;
        let part = PartHtml { id, heading, about: "", is_closed, files: &files };
        if lines.is_empty() || !self.add(&(rendered(&part) + "<div class=\"lines\" role=\"list\">\n")) {
            self.lines_left += lines.len();
            return;
        }
        let added = lines.iter().take_while(|(what, name, about)| {
            let what = what.map(|what| (what.sign(), what.in_words()));
            self.add(&rendered(&LineHtml { what, name, about }))
        });
        let added = added.count();
        self.lines_left += lines.len() - added;
        self.end(if is_closed { "</div></details>\n" } else { "</div></section>\n" });
    }

    fn add_layers(&mut self, layers: &[LayerBar]) {
        let most = layers.iter().map(|layer| layer.winning + layer.hidden).max().unwrap_or(0).max(1);
        if layers.is_empty() || !self.add(LAYERS) {
            return;
        }
        for (at, layer) in layers.iter().enumerate() {
            // In tenths of a percent, so that a layer of few files has a bar, too.
            let width = |files: usize| (files * 1000).div_ceil(most);
            let LayerBar { name, winning, hidden } = layer;
            let (wins, hides) = (width(*winning), width(*hidden));
            let row = LayerHtml { name, files: winning + hidden, winning, hidden, wins, hides };
            if !self.add(&rendered(&row)) {
                self.layers_left = layers.len() - at;
                break;
            }
        }
        self.end("</tbody></table></details>\n");
    }

    /// Adds the sections of a part as far as there is room. `shown` are the pictures of the next rows.
    fn add_part<'s>(&mut self, part: &Part, shown: &mut impl Iterator<Item = &'s Option<ShownRow>>) {
        let Part { id, heading, about, is_closed, sections } = part;
        let files = count(sections.iter().map(|section| section.files).sum(), "file");
        if !self.add(&rendered(&PartHtml { id, heading, about, is_closed: *is_closed, files: &files })) {
            return;
        }
        for section in sections {
            let heading = self.heading(section, self.sections + 1, sections.len() == 1 && !is_closed);
            self.reserved = self.reserved.saturating_sub(heading.len());
            if !self.add(&heading) {
                break;
            }
            self.sections += 1;
            let before = self.listed;
            self.add_rows(&section.rows, shown);
            self.reserved = self.reserved.saturating_sub(LEFT_MAX);
            let left = section.files - (self.listed - before);
            if left > 0 {
                self.end(&format!("<p class=\"soft\">{} not on this page</p>\n", count(left, "more file")));
            }
            self.end("</div></details>\n");
        }
        self.end(if *is_closed { "</details>\n" } else { "</section>\n" });
    }

    /// Adds the rows of a section: first those that are alone in their folder, then an element for each other
    /// folder, as far as there is room.
    fn add_rows<'s>(&mut self, rows: &[Row], shown: &mut impl Iterator<Item = &'s Option<ShownRow>>) {
        let of_one_folder =
            |one: &Row, two: &Row| one.folder_and_name().0.eq_ignore_ascii_case(two.folder_and_name().0);
        let alone = rows.chunk_by(of_one_folder).take_while(|rows| rows.len() == 1).count();
        let (alone, others) = rows.split_at(alone);
        if !alone.is_empty() && self.add_file("<ul>\n") {
            self.add_list(alone, true, "</ul>\n", shown);
        }
        for rows in others.chunk_by(of_one_folder) {
            let folder = rows.first().map_or("", |row| row.folder_and_name().0);
            let name = if folder.is_empty() { "top folder".into() } else { folder.shown().to_string() };
            let folder = FolderHtml { name: &name, files: rows.len(), letters: &letters(rows) };
            if self.add_file(&rendered(&folder)) {
                self.add_list(rows, false, "</ul></details>\n", shown);
            }
        }
    }

    /// Adds rows as far as there is room, with their folders or without, and ends the list.
    fn add_list<'s>(
        &mut self,
        rows: &[Row],
        has_folders: bool,
        end: &str,
        shown: &mut impl Iterator<Item = &'s Option<ShownRow>>,
    ) {
        self.reserved += end.len();
        for (row, shown) in rows.iter().zip(shown) {
            let row = RowHtml::of(self.listed + 1, row, has_folders, shown.as_ref());
            if !self.add_file(&rendered(&row)) {
                break;
            }
            self.listed += 1;
        }
        self.reserved = self.reserved.saturating_sub(end.len());
        self.end(end);
    }
}

/// Writing into a string cannot fail.
fn rendered(template: &impl Template) -> String {
    template.render().unwrap_or_default()
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy|safe }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{ title }}</title>
<style>{{ style|safe }}{{ rules|safe }}{{ pictures|safe }}</style>
</head>
<body>
<header>
<h1>{{ title }}</h1>
<p class="soft">{{ line }}</p>
<dl>
{% for (name, text) in facts %}<div><dt>{{ name }}</dt><dd><bdi>{{ text }}</bdi></dd></div>
{% endfor %}</dl>
{% if let Some(note) = note %}<p class="note" role="note">{{ note }}</p>
{% endif %}</header>
<main>
{{ lists|safe }}{{ filters|safe }}{{ body|safe }}</main>
</body>
</html>
"#
)]
struct PageHtml<'p> {
    title: &'p str,
    line: &'p str,
    facts: &'p [(&'static str, String)],
    note: &'p Option<String>,
    lists: &'p str,
    filters: &'p str,
    body: &'p str,
    style: &'p str,
    rules: &'p str,
    pictures: &'p str,
    policy: &'p str,
}

/// The beginning of the table of layers.
const LAYERS: &str = r#"<details class="part" id="order"><summary><h2>Load order</h2>
<small>layers with conflicts</small></summary>
<table><thead><tr><th scope="col">Layer, lowest first</th>
<th scope="col">Files</th><th scope="col">Win</th><th scope="col">Hidden</th></tr></thead><tbody>
"#;

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<tr><th scope="row"><bdi>{{ name }}</bdi>
<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
<rect class="wins" width="{{ wins }}" height="10"/>
<rect class="hidden" x="{{ wins }}" width="{{ hides }}" height="10"/></svg></th>
<td>{{ files }}</td><td>{{ winning }}</td><td>{{ hidden }}</td></tr>
"#
)]
struct LayerHtml<'p> {
    name: &'p str,
    files: usize,
    winning: &'p usize,
    hidden: &'p usize,
    /// Widths of the two parts of the bar, in thousandths.
    wins: usize,
    hides: usize,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if is_closed %}<details class="part" id="{{ id }}"><summary><h2>{{ heading }}</h2>
<small>{{ files }}</small></summary>
{% else %}<section class="part" id="{{ id }}"><h2>{{ heading }}</h2>{% endif %}
{% if !about.is_empty() %}<p class="soft">{{ about }}</p>
{% endif %}"#
)]
struct PartHtml<'p> {
    id: &'p str,
    heading: &'p str,
    about: &'p str,
    is_closed: bool,
    files: &'p str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<p role="listitem">{% if let Some((sign, word)) = what -%}
<b class="{{ word }}" role="img" aria-label="{{ word }}">{{ sign }}</b> {% endif -%}
<bdi>{{ name }}</bdi>{% if !about.is_empty() %}<small>{{ about }}</small>{% endif %}</p>
"#
)]
struct LineHtml<'p> {
    /// A sign, and the word that it stands for.
    what: Option<(char, &'static str)>,
    name: &'p str,
    about: &'p str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<details class="pair {{ letters }}" id="pair-{{ id }}"
{%- if is_open %} open{% endif %}><summary>
<h3><bdi>{{ name }}</bdi>
{%- if let Some(over) = over %} hides <bdi>{{ over }}</bdi>{% endif %}</h3>
<small>{{ files }}{% if has_equal %}, {{ equal }} equal{% endif %}</small></summary><div class="files">
<a class="here" href="#pair-{{ id }}">#pair-{{ id }}</a>
{% if !about.is_empty() %}<p class="soft">{{ about.join("; ") }}</p>
{% endif %}"##
)]
struct SectionHtml<'p> {
    id: usize,
    letters: String,
    name: &'p str,
    over: Option<&'p str>,
    about: &'p [String],
    files: String,
    equal: usize,
    has_equal: bool,
    is_open: bool,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<details open class="{{ letters }}"><summary><h4><bdi>{{ name }}</bdi></h4>
<small>{{ files }}</small></summary><ul>
"#
)]
struct FolderHtml<'p> {
    name: &'p str,
    files: usize,
    letters: &'p str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<li id="f{{ id }}" class="{{ letters }}
{%- if figures.is_empty() %} line{% else if is_wide %} wide{% endif %}">
{#- -#}
<a href="#f{{ id }}">{% if !folder.is_empty() %}<small>{{ folder }}/</small>{% endif -%}
<bdi>{{ name }}</bdi></a>
{%- for mark in marks %} <mark>{{ mark }}</mark>{% endfor -%}
{% if figures.is_empty() %} <small>{{ line }}</small></li>
{% else %}<div class="pictures">
{%- for figure in figures %}<figure{% if figure.is_double %} class="double"{% endif %}>
{%- if let Some(picture) = figure.picture -%}
<i class="p{{ picture }}" role="img" aria-label="{{ figure.role }}: {{ name }}"></i>
{%- endif -%}
<figcaption><b>{{ figure.role }}</b> {{ figure.about }}</figcaption></figure>
{%- endfor %}</div></li>
{% endif %}"##
)]
struct RowHtml {
    id: usize,
    /// The folder of the file, if nothing above says it.
    folder: String,
    name: String,
    letters: String,
    marks: Vec<String>,
    figures: Vec<FigureHtml>,
    /// Whether there are more than two figures.
    is_wide: bool,
    /// What is written instead of pictures.
    line: String,
}

struct FigureHtml {
    picture: Option<usize>,
    role: &'static str,
    about: String,
    /// Whether the picture has two halves.
    is_double: bool,
}

impl RowHtml {
    fn of(id: usize, row: &Row, has_folder: bool, shown: Option<&ShownRow>) -> Self {
        let (folder, name) = row.folder_and_name();
        let folder = if has_folder { folder.shown().to_string() } else { String::new() };
        let about = |(at, side): (usize, &Side)| {
            let of_mod = side.of_mod.as_ref().map(|name| name.shown().to_string());
            let shown = shown.and_then(|shown| shown.sides.get(at));
            let why = shown.and_then(|it| it.picture.as_ref().err()).map(|why| format!("no picture: {why}"));
            let parts = [of_mod, shown.map(|it| it.about.clone()), Some(size_of(&side.file)), why];
            let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(", ")
        };
        let abouts: Vec<String> = row.sides.iter().enumerate().map(about).collect();
        let roles = || row.sides.iter().map(|side| side.role).zip(abouts.iter().cloned());
        let has_pictures = |it: &&ShownRow| {
            let has_any = it.sides.iter().any(|side| side.picture.as_ref().map_or(true, Option::is_some));
            !it.is_left_out && has_any
        };
        let mut figures = Vec::new();
        if let Some(shown) = shown.filter(has_pictures) {
            let pictures = shown.sides.iter().map(|side| side.picture.clone().ok().flatten());
            let figure = |((role, about), picture)| FigureHtml { picture, role, about, is_double: false };
            figures.extend(roles().zip(pictures).map(figure));
            if let Some((third, picture)) = shown.third {
                let both = || row.sides.iter().map(|side| side.role).collect::<Vec<_>>().join(" and ");
                let (role, about) = match third {
                    Third::Difference => ("difference", "four times as bright".to_owned()),
                    Third::Alpha => ("alpha", both()),
                };
                let is_double = third == Third::Alpha;
                figures.push(FigureHtml { picture: Some(picture), role, about, is_double });
            }
        }
        let line = match &abouts[..] {
            [one, two] if one == two => format!("both {one}"),
            _ => roles().map(|(role, about)| format!("{role} {about}")).collect::<Vec<_>>().join("; "),
        };
        Self {
            id,
            folder,
            name: name.shown().to_string(),
            letters: letters(slice::from_ref(row)),
            marks: marks(row, shown),
            is_wide: figures.len() > 2,
            figures,
            line,
        }
    }
}

/// How the files of a row compare, in words.
fn marks(row: &Row, shown: Option<&ShownRow>) -> Vec<String> {
    let words = shown.map(|shown| shown.what.clone()).unwrap_or_default();
    let sizes = || row.sides.iter().map(|side| side.file.size().ok()).collect::<HashSet<_>>();
    let word = match row.state {
        State::Unknown => return Vec::new(),
        State::Different if !words.is_empty() => return words,
        State::Equal => "equal",
        // If the sizes differ, the line says so.
        State::Different if sizes().len() > 1 => return Vec::new(),
        State::Different => "other bytes",
        State::Unreadable => "cannot be compared",
        State::Added => "added",
        State::Removed(Some(fate)) => return vec!["removed".to_owned(), fate.in_words().to_owned()],
        State::Removed(None) => "removed",
        State::Other(fate) => fate.in_words(),
    };
    vec![word.to_owned()]
}

// Filters, which are buttons and rules of the style. Elements have a letter for the state of a file, one for
// its kind, and both together. Those around files have the letters of all.

/// The states with their letters.
const STATES: [(char, &str); 5] =
    [('d', "differs"), ('e', "equal"), ('a', "added"), ('r', "removed"), ('u', "others")];

/// The letters of some rows.
fn letters(rows: &[Row]) -> String {
    let mut found = BTreeSet::new();
    for row in rows {
        let state = match row.state {
            State::Different => 'd',
            State::Equal => 'e',
            State::Added => 'a',
            State::Removed(_) => 'r',
            State::Unknown | State::Unreadable | State::Other(_) => 'u',
        };
        let kind = row.kind().map_or('o', |kind| kind.id);
        found.extend([format!("{state}"), format!("{kind}"), format!("{state}{kind}")]);
    }
    found.into_iter().collect::<Vec<_>>().join(" ")
}

/// The filters of a page, and the rules with which they act.
#[derive(Default)]
struct Filters {
    html: String,
    rules: String,
}

impl Filters {
    fn of(parts: &[Part]) -> Self {
        let sections = || parts.iter().flat_map(|part| &part.sections);
        let found: BTreeSet<String> = sections()
            .flat_map(|section| section.rows.chunks(1))
            .flat_map(|row| letters(row).split(' ').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let has = |letter: char| found.contains(&letter.to_string());
        let states: Vec<(char, &str)> = STATES.into_iter().filter(|(letter, _)| has(*letter)).collect();
        let kinds = ROW_KINDS.iter().map(|kind| (kind.id, kind.name)).chain([('o', "other files")]);
        let kinds: Vec<(char, &str)> = kinds.filter(|(letter, _)| has(*letter)).collect();
        let sides = [(true, ('w', "wins")), (false, ('l', "loses"))];
        let has_side = |wins: bool| sections().any(|section| section.wins == Some(wins));
        let sides: Vec<(char, &str)> =
            sides.into_iter().filter(|(wins, _)| has_side(*wins)).map(|(_, side)| side).collect();
        let mut filters = Self::default();
        for (name, choices) in [("Layer", &sides), ("Files", &states), ("Kind", &kinds)] {
            if choices.len() > 1 {
                filters.html += &rendered(&FilterHtml { name, choices });
                for (letter, _) in choices {
                    filters.add_rule(&[*letter]);
                }
            }
        }
        if states.len() > 1 && kinds.len() > 1 {
            for (state, kind) in states.iter().flat_map(|state| kinds.iter().map(move |kind| (state, kind))) {
                filters.add_rule(&[state.0, kind.0]);
            }
        }
        if !filters.html.is_empty() {
            filters.html = format!("<div class=\"filters\">{}</div>\n", filters.html);
        }
        filters
    }

    /// Adds the rule that hides what does not have all these letters.
    fn add_rule(&mut self, letters: &[char]) {
        let checked = letters.iter().map(|letter| format!(":has(#show-{letter}:checked)"));
        let what = if matches!(letters, ['w' | 'l']) { ".pair" } else { ":is(li,.pair,.pair details)" };
        let class: String = letters.iter().collect();
        let checked: String = checked.collect();
        self.rules += &format!(":root{checked} {what}:not(.{class}){{display:none}}\n");
    }
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<fieldset><legend>{{ name }}</legend>
<label><input type="radio" name="{{ name }}" checked> all</label>
{% for (letter, choice) in choices %}<label><input type="radio" name="{{ name }}" id="show-{{ letter }}">
{{ choice }}</label>
{% endfor %}</fieldset>
"#
)]
struct FilterHtml<'p> {
    name: &'p str,
    choices: &'p [(char, &'p str)],
}
