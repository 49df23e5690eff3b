//! The table of topics.

use std::fmt::Write;

#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// What the topic is about, from its title.
    pub(crate) about: &'static str,
    /// The text, in Markdown.
    pub(crate) text: &'static str,
}

/// The row of a topic in [`TOPICS`], whose text is in the file of its name.
macro_rules! topic {
    ($name:literal, $about:literal) => {
        Topic { name: $name, about: $about, text: include_str!(concat!($name, ".md")) }
    };
}

/// All topics, in the order in which help lists them.
pub(crate) const TOPICS: [Topic; 15] = [
    topic!("sources", "what can be mounted, listed and compared"),
    topic!("load-order", "which games are found, and what they load"),
    topic!("textures", "which programs open them"),
    topic!("meshes", "which texture a mesh lacks"),
    topic!("pages", "pictures of conflicts and differences"),
    topic!("formats", "which archives bsafs reads"),
    topic!("writing", "changes go to your own folder"),
    topic!("packing", "archives from your files"),
    topic!("profiles", "saved mounts, systemd and fstab"),
    topic!("network", "shares and backups"),
    topic!("desktop", "double clicks, menus and thumbnails"),
    topic!("speed", "what to expect"),
    topic!("limits", "what bsafs does not do"),
    topic!("troubleshooting", "from the symptom to the cause"),
    topic!("scripting", "output for programs"),
];

pub(crate) fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name.eq_ignore_ascii_case(name))
}

/// The list of topics, as help shows it.
pub(crate) fn list() -> String {
    let line = |topic: &Topic| format!("\n  {:<16} {}", topic.name, topic.about);
    format!("Topics of `bsafs help TOPIC`:{}", TOPICS.iter().map(line).collect::<String>())
}

// Manual pages of topics, made from their Markdown.

pub(crate) fn page(topic: &Topic) -> String {
    let mut page = Page::default();
    let version = env!("CARGO_PKG_VERSION");
    page.line(&format!(".TH \"bsafs-{}\" 7 \"\" \"bsafs {version}\"", topic.name));
    page.line(&format!(".SH NAME\nbsafs\\-{} \\- {}\n.SH DESCRIPTION", topic.name, roff(topic.about)));
    let mut lines = topic.text.lines().skip(1).peekable();
    while let Some(line) = lines.next() {
        let is_table = |line: &&str| line.starts_with('|');
        if line.is_empty() {
            continue;
        } else if line.starts_with("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            page.verbatim(code.iter().map(|line| roff(line)));
        } else if let Some(heading) = line.strip_prefix("## ") {
            page.line(&format!(".SH \"{}\"", roff(heading).replace('"', "\\(dq")));
        } else if is_table(&line) {
            let mut rows = vec![cells(line)];
            while let Some(row) = lines.next_if(is_table) {
                rows.push(cells(row));
            }
            page.table(&rows);
        } else {
            let (request, first) = line.strip_prefix("* ").map_or((".PP", line), |it| (".IP \\(bu 2", it));
            let mut text = first.to_owned();
            while let Some(more) = lines.next_if(|it| !it.is_empty() && !it.starts_with(['*', '|'])) {
                text += " ";
                text += more.trim_start();
            }
            page.line(&format!("{request}\n{}", inline(&text)));
        }
    }
    page.line(".SH \"SEE ALSO\"\nbsafs(1)");
    page.0
}

/// A manual page that is being written.
#[derive(Default)]
struct Page(String);

/// Maximum number of characters in a line of a table. The rows of a wider one become paragraphs.
const TABLE_MAX: usize = 76;

impl Page {
    fn line(&mut self, line: &str) {
        self.0 += line;
        self.0.push('\n');
    }

    /// Lines that are neither filled nor wrapped.
    fn verbatim(&mut self, lines: impl Iterator<Item = String>) {
        self.line(".PP\n.RS 2\n.nf");
        lines.for_each(|line| self.line(&line));
        self.line(".fi\n.RE\n.PP");
    }

    fn table(&mut self, rows: &[Vec<&str>]) {
        let [heads, _, rows @ ..] = rows else { return };
        let width = |column: usize| {
            let cells = std::iter::once(heads).chain(rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.replace('`', "").chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heads.len()).map(width).collect();
        if widths.iter().map(|width| width + 2).sum::<usize>() <= TABLE_MAX {
            let row = |row: &Vec<&str>| {
                let mut line = String::new();
                for (cell, width) in row.iter().zip(&widths) {
                    // Writing to a string cannot fail.
                    let _ = write!(line, "{:<width$}  ", cell.replace('`', ""));
                }
                roff(line.trim_end())
            };
            return self.verbatim(std::iter::once(heads).chain(rows).map(row));
        }
        for row in rows {
            let mut cells = row.iter().zip(heads);
            let Some((first, _)) = cells.next() else { continue };
            let rest: Vec<String> = match row.len() {
                2 => cells.map(|(cell, _)| inline(cell)).collect(),
                _ => cells.map(|(cell, head)| format!("{}: {}", inline(head), inline(cell))).collect(),
            };
            self.line(&format!(".TP\n\\fB{}\\fR\n{}", roff(&first.replace('`', "")), rest.join("; ")));
        }
        self.line(".PP");
    }
}

fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

/// A paragraph: code is bold.
fn inline(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let text = parts.map(|(number, part)| match number % 2 {
        0 => roff(part),
        _ => format!("\\fB{}\\fR", roff(part)),
    });
    text.collect()
}

/// Escapes text for groff, where a backslash begins a request and a minus is a hyphen that cannot be pasted.
/// A dot at the beginning would be a request, too.
pub(crate) fn roff(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '\\' => escaped.write_str(r"\e"),
            '-' => escaped.write_str(r"\-"),
            '\'' => escaped.write_str(r"\(aq"),
            '.' if escaped.is_empty() => escaped.write_str(r"\&."),
            '…' => escaped.write_str("..."),
            c if c.is_ascii() => escaped.write_char(c),
            c => write!(escaped, r"\[u{:04X}]", u32::from(c)),
        };
    }
    escaped
}
