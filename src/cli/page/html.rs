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

use super::contents::{Contents, KINDS, LayerBar, PageHead, Part, Row, Section, Side, State};
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
    notes: Vec<String>,
    filters: Filters,
    body: String,
    pictures: Pictures,
    listed: usize,
}

impl Page {
    /// Makes the pictures and the text of a page. Shows progress.
    pub(crate) fn of(contents: Contents) -> Self {
        let Contents { head, parts, layers, narrowing } = contents;
        let sections = || parts.iter().flat_map(|part| &part.sections);
        let files: usize = sections().map(|section| section.files).sum();
        let rows: Vec<&Row> = sections().flat_map(|section| &section.rows).take(PAGE_FILES_MAX).collect();
        let textures = rows.iter().filter(|row| row.is_texture()).count();
        let (pictures, shown) = Pictures::of(&rows, &steps("looking for differences", textures));
        let mut body = Body { is_small: files <= SMALL, ..Body::default() };
        let mut next = shown.iter();
        for part in parts.iter().filter(|part| !part.sections.is_empty()) {
            body.add_part(part, &mut next);
        }
        body.add_layers(&layers);
        let unpictured = textures - shown.iter().flatten().filter(|row| !row.is_left_out).count();
        let mut notes = Vec::new();
        let narrow = format!("To narrow the page, {narrowing}.");
        if unpictured > 0 {
            let left = count(unpictured, "texture");
            notes.push(format!("The page has no room for the pictures of {left}. {narrow}"));
        }
        if body.listed < files {
            let left = count(files - body.listed, "file");
            notes.push(format!("The page has no room for {left}, which are not listed. {narrow}"));
        }
        if body.layers_left > 0 {
            let left = count(body.layers_left, "layer");
            notes.push(format!("The page has no room for {left}, which are not listed."));
        }
        Self { head, notes, filters: Filters::of(&parts), body: body.text, pictures, listed: body.listed }
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

    /// Sentences about what the page has no room for.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Writes the page.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let pictures = self.pictures.style();
        // The browser compares the hash of what is between the tags.
        let Self { head: PageHead { title, line, facts }, notes, filters, body, .. } = self;
        let Filters { html: filters, rules } = filters;
        let digest = Sha256::new().chain_update(STYLE).chain_update(rules).chain_update(pictures).finalize();
        let mut policy = format!("{POLICY}; style-src 'sha256-");
        add_base64(&digest, &mut policy);
        policy.push('\'');
        out.write_all(BEGINNING.as_bytes())?;
        let (date, version) = (date(SystemTime::now()), env!("CARGO_PKG_VERSION"));
        let line = format!("{line}, {date}, bsafs {version}");
        let (line, policy, style) = (&*line, &*policy, STYLE);
        let page = PageHtml { title, line, facts, notes, filters, body, style, rules, pictures, policy };
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
    /// The number of layers that are not in it.
    layers_left: usize,
    /// Whether all sections are open.
    is_small: bool,
}

/// Maximum number of files of a page that is shown open.
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

    /// Adds what ends an element. It is short, so that it needs no room.
    fn end(&mut self, tags: &str) {
        self.text.push_str(tags);
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
            let Section { name, over, about, files, equal, wins, rows } = section;
            let side = match wins {
                Some(true) => " w",
                Some(false) => " l",
                None => "",
            };
            let letters = letters(rows) + side;
            let (over, files, id) = (over.as_deref(), count(*files, "file"), self.sections + 1);
            let is_open = sections.len() == 1 && !is_closed || self.is_small;
            if !self.add(&rendered(&SectionHtml {
                id,
                letters,
                name,
                over,
                about,
                files,
                equal: *equal,
                has_equal: *equal > 0,
                is_open,
            })) {
                break;
            }
            self.sections += 1;
            let is_whole = self.add_rows(rows, shown);
            self.end("</div></details>\n");
            if !is_whole {
                break;
            }
        }
        self.end(if *is_closed { "</details>\n" } else { "</section>\n" });
    }

    /// Adds the rows of a section, with an element for each folder. Returns whether there was room for all.
    fn add_rows<'s>(&mut self, rows: &[Row], shown: &mut impl Iterator<Item = &'s Option<ShownRow>>) -> bool {
        for rows in
            rows.chunk_by(|one, two| one.folder_and_name().0.eq_ignore_ascii_case(two.folder_and_name().0))
        {
            let folder = rows.first().map_or("", |row| row.folder_and_name().0);
            let name = if folder.is_empty() { "top folder".into() } else { folder.shown().to_string() };
            if !self.add(&rendered(&FolderHtml { name: &name, files: rows.len(), letters: &letters(rows) })) {
                return false;
            }
            for row in rows {
                let is_added = match shown.next() {
                    Some(shown) => self.add(&rendered(&RowHtml::of(self.listed + 1, row, shown.as_ref()))),
                    None => false,
                };
                if !is_added {
                    self.end("</ul></details>\n");
                    return false;
                }
                self.listed += 1;
            }
            self.end("</ul></details>\n");
        }
        true
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
{% for note in notes %}<p class="note" role="note">{{ note }}</p>
{% endfor %}</header>
<main>
{{ filters|safe }}{{ body|safe }}</main>
</body>
</html>
"#
)]
struct PageHtml<'p> {
    title: &'p str,
    line: &'p str,
    facts: &'p [(&'static str, String)],
    notes: &'p [String],
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
    source = r##"<details class="pair {{ letters }}" id="pair-{{ id }}"
{%- if is_open %} open{% endif %}><summary>
<h3><bdi>{{ name }}</bdi>
{%- if let Some(over) = over %} hides <bdi>{{ over }}</bdi>{% endif %}</h3>
<small>{{ files }}{% if has_equal %}, {{ equal }} equal{% endif %}</small></summary><div class="files">
<p class="soft"><a href="#pair-{{ id }}">#pair-{{ id }}</a>{% for line in about %}; {{ line }}{% endfor %}</p>
"##
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
<a href="#f{{ id }}"><bdi>{{ name }}</bdi></a>
{%- if let Some(mark) = mark %} <mark>{{ mark }}</mark>{% endif %}
{% if figures.is_empty() %}<small>{{ line }}</small>
{% else %}<div class="pictures">
{% for figure in figures %}<figure>
{%- if let Some(picture) = figure.picture -%}
<i class="p{{ picture }}" role="img" aria-label="{{ figure.role }}: {{ name }}"></i>
{%- endif -%}
<figcaption><b>{{ figure.role }}</b> {{ figure.about }}</figcaption></figure>
{% endfor %}</div>
{% endif %}</li>
"##
)]
struct RowHtml {
    id: usize,
    name: String,
    letters: String,
    mark: Option<String>,
    figures: Vec<FigureHtml>,
    /// Whether a picture of two halves is among the figures.
    is_wide: bool,
    /// What is written instead of pictures.
    line: String,
}

struct FigureHtml {
    picture: Option<usize>,
    role: &'static str,
    about: String,
}

impl RowHtml {
    fn of(id: usize, row: &Row, shown: Option<&ShownRow>) -> Self {
        let name = row.folder_and_name().1.shown().to_string();
        let about = |(at, side): (usize, &Side)| {
            let shown = shown.and_then(|shown| shown.sides.get(at));
            let why = shown.and_then(|it| it.picture.as_ref().err()).map(|why| format!("no picture: {why}"));
            let parts = [shown.map(|it| it.about.clone()), Some(size_of(&side.file)), why];
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
        let mut is_wide = false;
        if let Some(shown) = shown.filter(has_pictures) {
            let pictures = shown.sides.iter().map(|side| side.picture.clone().ok().flatten());
            let figure = |((role, about), picture)| FigureHtml { picture, role, about };
            figures.extend(roles().zip(pictures).map(figure));
            figures.extend(
                shown
                    .third
                    .map(|(third, picture)| match third {
                        Third::Difference => ("difference", "four times as bright".to_owned(), picture),
                        Third::Alpha => {
                            is_wide = true;
                            let both: Vec<&str> = row.sides.iter().map(|side| side.role).collect();
                            ("alpha", both.join(" and "), picture)
                        }
                    })
                    .map(|(role, about, picture)| FigureHtml { picture: Some(picture), role, about }),
            );
        }
        let line = roles().map(|(role, about)| format!("{role} {about}")).collect::<Vec<_>>().join("; ");
        Self {
            id,
            name,
            letters: letters(slice::from_ref(row)),
            mark: mark(row, shown),
            figures,
            is_wide,
            line,
        }
    }
}

/// How the files of a row compare, in words.
fn mark(row: &Row, shown: Option<&ShownRow>) -> Option<String> {
    let words = shown.map(|shown| shown.what.join(", ")).filter(|words| !words.is_empty());
    let sizes = || row.sides.iter().map(|side| side.file.size().ok()).collect::<HashSet<_>>();
    match row.state {
        State::Unknown => None,
        State::Equal => Some("equal".into()),
        // If the sizes differ, the line says so.
        State::Different => words.or_else(|| (sizes().len() == 1).then(|| "other bytes".into())),
        State::Unreadable => Some("cannot be compared".into()),
        State::Other(fate) => Some(fate.in_words().into()),
    }
}

// Filters, which are buttons and rules of the style. Elements have a letter for the state of a file, one for
// its kind, and both together. Those around files have the letters of all.

/// The states with their letters.
const STATES: [(char, &str); 3] = [('d', "differs"), ('e', "equal"), ('u', "others")];

/// The letters of some rows.
fn letters(rows: &[Row]) -> String {
    let mut found = BTreeSet::new();
    for row in rows {
        let state = match row.state {
            State::Different => 'd',
            State::Equal => 'e',
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
        let kinds = KINDS.iter().map(|kind| (kind.id, kind.name)).chain([('o', "other files")]);
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
