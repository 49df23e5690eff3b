//! Parser for Valve's text format VDF (`libraryfolders.vdf`, `appmanifest_*.acf`). A key has a value, or more
//! keys in braces.
//!
//! Not keyvalues-parser, because it recurses once per level and needs a parser generator.

/// Maximum depth of nested keys; deeper ones are an error. Steam's own lists have four levels.
const DEPTH_MAX: usize = 32;

/// Calls `visit` with each value and the keys that lead to it, outermost first, in file order. On
/// an error, the values before it have been visited.
pub fn visit_values(text: &str, mut visit: impl FnMut(&[String], &str)) -> Result<(), String> {
    let mut tokens = Tokens { rest: text.trim_start_matches('\u{feff}') };
    let mut keys: Vec<String> = Vec::new();
    // Whether the last of `keys` still waits for its value.
    let mut has_key = false;
    while let Some(token) = tokens.next()? {
        match token {
            Token::Text(value) if has_key => {
                visit(&keys, &value);
                keys.pop();
                has_key = false;
            }
            Token::Text(_) if keys.len() == DEPTH_MAX => {
                return Err(format!("it has more than {DEPTH_MAX} levels"));
            }
            Token::Text(key) => {
                keys.push(key);
                has_key = true;
            }
            Token::Open if has_key => has_key = false,
            Token::Close if !has_key && keys.pop().is_some() => {}
            Token::Open => return Err("a brace opens without a key".to_owned()),
            Token::Close => return Err("a closing brace has no opening brace".to_owned()),
        }
    }
    if keys.is_empty() { Ok(()) } else { Err("the last brace is not closed".to_owned()) }
}

enum Token {
    Open,
    Close,
    Text(String),
}

struct Tokens<'a> {
    rest: &'a str,
}

impl Tokens<'_> {
    fn next(&mut self) -> Result<Option<Token>, String> {
        loop {
            self.rest = self.rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '\0');
            let Some(first) = self.rest.chars().next() else { return Ok(None) };
            match first {
                '/' if self.rest.starts_with("//") => {
                    self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
                }
                // A condition after a value: `[$WIN32]`.
                '[' => {
                    let (_, rest) = self.rest.split_once(']').ok_or("a condition is not closed")?;
                    self.rest = rest;
                }
                '{' | '}' => {
                    self.rest = &self.rest[1..];
                    return Ok(Some(if first == '{' { Token::Open } else { Token::Close }));
                }
                '"' => return self.quoted().map(Some),
                _ => {
                    let is_end =
                        |letter: char| letter.is_whitespace() || matches!(letter, '{' | '}' | '"' | '\0');
                    let (text, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
                    self.rest = rest;
                    return Ok(Some(Token::Text(text.to_owned())));
                }
            }
        }
    }

    fn quoted(&mut self) -> Result<Token, String> {
        let mut text = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(Token::Text(text));
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, escaped)) => text.push(escaped),
                    None => break,
                },
                letter => text.push(letter),
            }
        }
        Err("a quote is not closed".to_owned())
    }
}
