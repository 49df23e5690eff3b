//! A list of all texts that the program may print, with the condition that prints each.
//!
//! The list is read from the source: every string literal of two words or more, outside of tests. It is a
//! snapshot, so that a new text is read before it is released. Help texts have their own snapshot.

use std::fmt::Write as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::layering::sources;
use crate::snapshot::assert_snapshots;

/// A text, and where the source prints it.
struct Message {
    place: Place,
    text: String,
}

/// Where a text stands in the source.
#[derive(Clone, Default, PartialEq)]
struct Place {
    /// The type of the surrounding `impl`.
    owner: String,
    /// The function or constant.
    item: String,
    /// The innermost `if`, `let … else` or match arm, as source text.
    condition: String,
}

/// Calls whose text only a developer sees.
const FOR_DEVELOPERS: [&str; 7] =
    ["assert", "assert_eq", "debug_assert", "debug_assert_eq", "expect", "matches", "unreachable"];

/// Longest condition in the list, in characters.
const CONDITION_MAX: usize = 90;

#[test]
fn all_messages_match_the_snapshot() {
    let mut list = String::new();
    for (file, text) in sources() {
        let messages = messages(text.parse().unwrap());
        if messages.is_empty() {
            continue;
        }
        writeln!(list, "# src/{file}").unwrap();
        let mut last = None;
        for Message { place, text } in messages {
            if last.as_ref() != Some(&place) {
                writeln!(list, "{place}").unwrap();
            }
            writeln!(list, "    {text}").unwrap();
            last = Some(place);
        }
    }
    assert_snapshots(&[("messages.txt", list)]);
}

fn messages(tokens: TokenStream) -> Vec<Message> {
    let mut found = Vec::new();
    find(tokens, &Place::default(), &mut found);
    found
}

/// Finds the texts among the tokens of one group.
fn find(tokens: TokenStream, place: &Place, found: &mut Vec<Message>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut place = place.clone();
    let outer = place.condition.clone();
    // The tokens of the statement, field or match arm so far.
    let mut statement: Vec<TokenTree> = Vec::new();
    while let Some(token) = tokens.next() {
        match (&token, &*token.to_string()) {
            (TokenTree::Punct(_), "#") => {
                tokens.next_if(|next| next.to_string() == "!");
                let attribute = tokens.next().map_or_else(String::new, |group| group.to_string());
                if attribute.replace(' ', "") == "[cfg(test)]" {
                    while tokens.next().is_some_and(|token| !is_block(&token) && token.to_string() != ";") {}
                }
            }
            // A comma in generic arguments does not end the head of an item.
            (_, ",") if position(&statement, "fn").or(position(&statement, "impl")).is_some() => {}
            (_, "," | ";") => {
                statement.clear();
                place.condition.clone_from(&outer);
            }
            (_, ">") if statement.last().is_some_and(|last| last.to_string() == "=") => {
                statement.pop();
                place.condition = source_text(&statement);
                statement.clear();
            }
            (TokenTree::Literal(_), literal) => {
                let text = text_of(literal);
                found.extend(text.map(|text| Message { place: place.clone(), text }));
                statement.push(token);
            }
            (TokenTree::Group(group), _) => {
                if !is_for_developers(&statement) {
                    find(group.stream(), &place.within(&statement, is_block(&token)), found);
                }
                // A pattern with braces is followed by the rest of a match arm.
                let is_pattern =
                    tokens.peek().is_some_and(|next| ["if", "=", "|"].contains(&&*next.to_string()));
                let ends = is_block(&token) && !is_pattern;
                statement.push(token);
                if ends {
                    statement.clear();
                }
            }
            _ => statement.push(token),
        }
    }
}

impl Place {
    /// The place of a group that follows the tokens of a statement.
    fn within(&self, statement: &[TokenTree], is_block: bool) -> Self {
        let name = |keyword| Some(statement.get(position(statement, keyword)? + 1)?.to_string());
        let mut place = self.clone();
        if let Some(item) = name("fn").or_else(|| name("const")).or_else(|| name("static")) {
            place.item = item;
            place.condition.clear();
        } else if let (Some(at), true) = (position(statement, "impl"), is_block) {
            let subject = position(statement, "for").unwrap_or(at);
            let is_name = |name: &String| name.starts_with(char::is_uppercase);
            place.owner =
                statement[subject..].iter().map(ToString::to_string).find(is_name).unwrap_or_default();
        } else if let (Some(at), true) =
            (["if", "let", "else"].iter().find_map(|it| position(statement, it)), is_block)
        {
            place.condition = source_text(&statement[at..]);
        }
        place
    }
}

/// Where a keyword stands last among the tokens.
fn position(tokens: &[TokenTree], keyword: &str) -> Option<usize> {
    tokens.iter().rposition(|token| matches!(token, TokenTree::Ident(name) if name == keyword))
}

fn is_block(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [&self.owner, &self.item].into_iter().filter(|part| !part.is_empty());
        f.write_str(&parts.cloned().collect::<Vec<_>>().join("::"))?;
        if !self.condition.is_empty() {
            write!(f, ": {}", self.condition)?;
        }
        Ok(())
    }
}

fn is_for_developers(statement: &[TokenTree]) -> bool {
    let last = statement.iter().rev().map(ToString::to_string).find(|token| token != "!");
    last.is_some_and(|name| FOR_DEVELOPERS.contains(&&*name))
}

/// The text of a string literal as it is printed; `None` unless it has two words or more.
fn text_of(literal: &str) -> Option<String> {
    if !literal.starts_with(['"', 'r']) {
        return None;
    }
    let quoted = literal.split_once('"')?.1.rsplit_once('"')?.0;
    let mut lines = quoted.split("\\\n");
    let first = lines.next()?.to_owned();
    let text = lines.fold(first, |text, line| text + line.trim_start()).replace("\\\"", "\"");
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_alphabetic());
    let words = text.split(' ').map(|word| word.trim_matches([',', '.', ':', ';', '(', ')']));
    (words.filter(is_word).count() > 1).then(|| text.replace('\n', "\n    "))
}

/// Tokens as a person would write them, cut to [`CONDITION_MAX`].
fn source_text(tokens: &[TokenTree]) -> String {
    let text = TokenStream::from_iter(tokens.iter().cloned()).to_string();
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (from, to) in [
        (" :: ", "::"),
        (" . ", "."),
        (" (", "("),
        (" !(", "!("),
        (" ,", ","),
        (" ?", "?"),
        (" ! ", " !"),
        ("& ", "&"),
        ("&&", "&& "),
    ] {
        text = text.replace(from, to);
    }
    match text.char_indices().nth(CONDITION_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[test]
fn texts_are_listed_with_their_conditions_but_not_those_of_tests() {
    let source = r##"
        /// A doc comment.
        impl std::fmt::Display for Error {
            fn fmt(&self) {
                match self {
                    Self::Empty => write!(f, "the file is \
                        empty"),
                    Self::Damaged { at } if at > &0 => { f.write_str("the file is damaged") }
                }
            }
        }
        fn open(len: u64) {
            if len > MAX { return Err("more than \"MAX\" bytes".into()); }
            let Some(x) = y else { panic!(r#"no y"#) };
            call("word", b"two words");
            assert!(x, "not for users");
        }
        #[cfg(test)]
        mod tests { const X: &str = "not for users either"; }
    "##;
    let listed: Vec<String> =
        messages(source.parse().unwrap()).iter().map(|it| format!("{} | {}", it.place, it.text)).collect();
    assert_eq!(
        listed,
        [
            "Error::fmt: Self::Empty | the file is empty",
            "Error::fmt: Self::Damaged { at } if at > &0 | the file is damaged",
            "open: if len > MAX | more than \"MAX\" bytes",
        ]
    );
}
