//! The templates of pages, and the page that they make.
//!
//! A template escapes every value, except for parts marked `safe`: those were made by a template of this
//! file, or are the style.

use std::io::{self, Write};
use std::time::SystemTime;

use askama::Template;
use sha2::{Digest, Sha256};

use super::contents::{Contents, LayerBar, PageHead, Part, Row, Section};
use super::pictures::{Pictures, Shown, ShownRow, add_base64, size_of};
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
        let (pictures, shown) = Pictures::of(&rows, &steps("making pictures", textures));
        let mut body = Body { is_small: files <= SMALL, ..Body::default() };
        let mut next = shown.iter();
        for part in parts.iter().filter(|part| !part.sections.is_empty()) {
            body.add_part(part, &mut next);
        }
        body.add_layers(&layers);
        let pictured = shown.iter().flatten().count();
        let mut notes = Vec::new();
        let narrow = format!("To narrow the page, {narrowing}.");
        if pictured < textures {
            let left = count(textures - pictured, "texture");
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
        Self { head, notes, body: body.text, pictures, listed: body.listed }
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
        let digest = Sha256::new().chain_update(STYLE).chain_update(pictures).finalize();
        let mut policy = format!("{POLICY}; style-src 'sha256-");
        add_base64(&digest, &mut policy);
        policy.push('\'');
        out.write_all(BEGINNING.as_bytes())?;
        let Self { head: PageHead { title, line, facts }, notes, body, .. } = self;
        let (date, version) = (date(SystemTime::now()), env!("CARGO_PKG_VERSION"));
        let line = format!("{line}, {date}, bsafs {version}");
        let page =
            PageHtml { title, line: &line, facts, notes, body, style: STYLE, pictures, policy: &policy };
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
            let Section { name, over, about, files, equal, rows } = section;
            let (over, files, id) = (over.as_deref(), count(*files, "file"), self.sections + 1);
            let is_open = sections.len() == 1 && !is_closed || self.is_small;
            if !self.add(&rendered(&SectionHtml {
                id,
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
            if !self.add(&rendered(&FolderHtml { name: &name, files: rows.len() })) {
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
<style>{{ style|safe }}{{ pictures|safe }}</style>
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
{{ body|safe }}</main>
</body>
</html>
"#
)]
struct PageHtml<'p> {
    title: &'p str,
    line: &'p str,
    facts: &'p [(&'static str, String)],
    notes: &'p [String],
    body: &'p str,
    style: &'p str,
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
    source = r##"<details id="pair-{{ id }}"{% if is_open %} open{% endif %}><summary>
<h3><bdi>{{ name }}</bdi>
{%- if let Some(over) = over %} hides <bdi>{{ over }}</bdi>{% endif %}</h3>
<small>{{ files }}{% if has_equal %}, {{ equal }} equal{% endif %}</small></summary><div class="files">
<p class="soft"><a href="#pair-{{ id }}">#pair-{{ id }}</a></p>
{% for line in about %}<p class="soft">{{ line }}</p>
{% endfor %}"##
)]
struct SectionHtml<'p> {
    id: usize,
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
    source = r#"<details open><summary><h4><bdi>{{ name }}</bdi></h4> <small>{{ files }}</small></summary><ul>
"#
)]
struct FolderHtml<'p> {
    name: &'p str,
    files: usize,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<li id="f{{ id }}"><a href="#f{{ id }}"><bdi>{{ name }}</bdi></a>
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
    mark: Option<&'static str>,
    figures: Vec<FigureHtml>,
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
        let sizes: Vec<String> = row.sides.iter().map(|side| size_of(&side.file)).collect();
        let Some(shown) = shown else {
            let line = row.sides.iter().zip(&sizes).map(|(side, size)| format!("{} {size}", side.role));
            let line = line.collect::<Vec<_>>().join(", ");
            return Self { id, name, mark: row.mark, figures: Vec::new(), line };
        };
        let figure = |(at, Shown { picture, about }): (usize, &Shown)| {
            let why = picture.as_ref().err().map(|why| format!("no picture: {why}"));
            let parts = [about.clone(), sizes[at].clone()].into_iter().chain(why);
            let about = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            FigureHtml { picture: picture.as_ref().ok().copied(), role: row.sides[at].role, about }
        };
        let mut figures: Vec<FigureHtml> = shown.sides.iter().enumerate().map(figure).collect();
        figures.extend(shown.difference.map(|picture| FigureHtml {
            picture: Some(picture),
            role: "difference",
            about: "four times as bright".into(),
        }));
        let mark = if shown.has_equal_pixels { Some("equal pixels") } else { row.mark };
        Self { id, name, mark, figures, line: String::new() }
    }
}
