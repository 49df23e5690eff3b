//! Whether output has colours. The rules are those of clap's own messages: `--color`, then the variables
//! NO_COLOR, CLICOLOR_FORCE and CLICOLOR, then whether the output is a terminal.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use clap::ColorChoice;

/// The value of `--color`.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Sets the value of `--color`. Only the first call has an effect.
pub(crate) fn choose(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// Whether output has colours. `is_terminal` is whether it goes to a terminal.
pub(crate) fn are_shown(is_terminal: bool) -> bool {
    decide(CHOICE.get().copied().unwrap_or_default(), is_terminal, |name| std::env::var_os(name))
}

/// The value of `--color` among the arguments. clap needs it before it parses them, for its own messages.
pub(crate) fn choice_among(arguments: &[OsString]) -> ColorChoice {
    let mut words = arguments.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let value = if word == "--color" { words.next() } else { word.strip_prefix("--color=") };
        choice = value.and_then(|value| value.parse().ok()).unwrap_or(choice);
    }
    choice
}

fn decide(choice: ColorChoice, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let is_zero = |name: &str| variable(name).as_deref() == Some(OsStr::new("0"));
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is_set("NO_COLOR") => false,
        ColorChoice::Auto if is_set("CLICOLOR_FORCE") => true,
        ColorChoice::Auto if is_zero("CLICOLOR") => false,
        ColorChoice::Auto => {
            let is_capable = variable("TERM").is_some_and(|term| term != "dumb");
            is_terminal && (is_capable || variable("CLICOLOR").is_some())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide_with(choice: ColorChoice, is_terminal: bool, variables: &[(&str, &str)]) -> bool {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|it| it.1.into());
        decide(choice, is_terminal, value)
    }

    #[test]
    fn only_a_capable_terminal_has_colours_unless_the_user_decides_otherwise() {
        let auto = |is_terminal, variables: &[_]| decide_with(ColorChoice::Auto, is_terminal, variables);
        let xterm = ("TERM", "xterm");
        assert!(auto(true, &[xterm]) && !auto(false, &[xterm]));
        assert!(!auto(true, &[("TERM", "dumb")]) && !auto(true, &[]));
        assert!(!auto(true, &[xterm, ("NO_COLOR", "1")]) && auto(true, &[xterm, ("NO_COLOR", "")]));
        assert!(!auto(true, &[xterm, ("CLICOLOR", "0")]) && auto(true, &[("CLICOLOR", "1")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]) && !auto(false, &[("CLICOLOR_FORCE", "")]));
        assert!(!auto(true, &[xterm, ("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(decide_with(ColorChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!decide_with(ColorChoice::Never, true, &[xterm, ("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn the_last_color_argument_decides_about_the_messages_of_clap() {
        let choice = |line: &str| choice_among(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(choice("bsafs order --color=never a"), ColorChoice::Never);
        assert_eq!(choice("bsafs --color never order --color always"), ColorChoice::Always);
        assert_eq!(choice("bsafs order --color=x -- --color=never"), ColorChoice::Auto);
    }
}
