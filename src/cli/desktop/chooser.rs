//! Asks on the desktop which game to open or to pack for, where to save a picture, or whether to go on, with
//! kdialog or zenity.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::message::{self, Away, has_display, in_lines, in_tags};
use crate::cli::exit::{Exit, Failure};
use crate::game::find::find;
use crate::game::{Disk, Environment, find_instances};
use crate::pack::packed_games;
use crate::shown::Shown;
use crate::system::subprocess::Program;
use crate::system::text::count;

/// A game or an instance that the user can choose.
struct Choice {
    label: String,
    source: String,
}

/// How long the list may stay on the screen.
const SHOWN_TIME: Duration = Duration::from_secs(3600);
/// The title and the text of the lists of games.
const OPEN: [&str; 2] = ["Open game as folder", "Which game should be shown as a folder?"];
const PACK: [&str; 2] = ["Pack as archive", "Which game should load the archives?"];

/// Asks for an installed game or an instance of Mod Organizer 2. Returns the source to open; `None` if the
/// user closed the list.
pub(crate) fn choose_game() -> Result<Option<String>, Failure> {
    if !has_display() {
        let what = "--choose: there is no desktop; `bsafs games` lists the games, and `bsafs open` opens one";
        return Err(Failure::new(Exit::Unavailable, what));
    }
    let choices = choices();
    if choices.is_empty() {
        let what = "no game was found; `bsafs games` prints where it searched. Open the folder of a game \
                    with `bsafs open FOLDER`";
        return Err(Failure::new(Exit::No, what));
    }
    match answer(kdialog(OPEN, &choices), zenity(OPEN, &choices)) {
        Some(answer) => {
            let number = String::from_utf8_lossy(&answer).parse::<usize>().ok();
            let chosen = number.and_then(|number| choices.into_iter().nth(number));
            Ok(chosen.map(|choice| choice.source))
        }
        None => {
            let what = "--choose: cannot show a list of games; install zenity or kdialog";
            Err(Failure::new(Exit::Unavailable, what))
        }
    }
}

/// Asks for which game to pack, and returns its id. `None` if the user closed the list.
pub(crate) fn choose_packed_game() -> Result<Option<&'static str>, Failure> {
    let choices: Vec<Choice> =
        packed_games().map(|(game, _)| Choice { label: game.name.into(), source: game.id.into() }).collect();
    let what = "--pack: cannot show a list of games; install zenity or kdialog, or run \
                `bsafs pack FOLDER --game ID`";
    match has_display().then(|| answer(kdialog(PACK, &choices), zenity(PACK, &choices))).flatten() {
        Some(answer) => {
            let number = String::from_utf8_lossy(&answer).parse::<usize>().ok();
            Ok(number.and_then(|number| packed_games().nth(number)).map(|(game, _)| game.id))
        }
        None => Err(Failure::new(Exit::Unavailable, what)),
    }
}

/// Shows a text that may have names of strangers, and asks whether to go on.
pub(crate) fn confirm(text: &str) -> Result<bool, Failure> {
    let _away = Away::new();
    let text = &*message::text(text);
    let zenity = Program::of_desktop("zenity");
    let zenity = zenity.args(["--question", "--no-markup", "--width=700", "--title", PACK[0], "--text"]);
    let kdialog = Program::of_desktop("kdialog").args(["--title", PACK[0], "--yesno"]);
    for program in in_order(kdialog.arg(in_tags(text)), zenity.arg(in_lines(text))) {
        match program.output_within(SHOWN_TIME) {
            Ok(Some(output)) if output.status.code().is_some_and(|code| code <= 1) => {
                return Ok(output.status.success());
            }
            Ok(None) => return Ok(false),
            Ok(Some(_)) | Err(_) => {}
        }
    }
    Err(Failure::new(Exit::Unavailable, "--pack: cannot ask; install zenity or kdialog"))
}

/// Asks where to save a texture as a picture. `None` if the user closed the window.
pub(crate) fn choose_picture(texture: &Path) -> Result<Option<PathBuf>, Failure> {
    let name = Path::new(texture.file_name().unwrap_or_default()).with_extension("png");
    let proposed = Environment::of_process().home.join(name);
    let kdialog = Program::of_desktop("kdialog").arg("--getsavefilename").arg(&proposed).arg("*.png");
    let zenity = Program::of_desktop("zenity").args(["--file-selection", "--save", "--confirm-overwrite"]);
    let zenity = zenity.arg("--filename").arg(&proposed);
    match has_display().then(|| answer(kdialog, zenity)).flatten() {
        Some(answer) if answer.is_empty() => Ok(None),
        Some(answer) => Ok(Some(OsStr::from_bytes(&answer).into())),
        None => {
            let what = "--as-png: cannot ask where to save the picture; install zenity or kdialog, or run \
                        `bsafs thumbnail --size full TEXTURE PNG`";
            Err(Failure::new(Exit::Unavailable, what))
        }
    }
}

/// The answer of the user, empty if the user closed the window. `None` if neither program can ask.
fn answer(kdialog: Program, zenity: Program) -> Option<Vec<u8>> {
    let _away = Away::new();
    for program in in_order(kdialog, zenity) {
        match program.output_within(SHOWN_TIME) {
            Ok(Some(output)) if output.status.code().is_some_and(|code| code <= 1) => {
                return Some(output.stdout.trim_ascii().to_vec());
            }
            Ok(None) => return Some(Vec::new()),
            // The program is missing, or failed.
            Ok(Some(_)) | Err(_) => {}
        }
    }
    None
}

/// Both programs, the one of the desktop first.
fn in_order(kdialog: Program, zenity: Program) -> [Program; 2] {
    let is_kde = std::env::var("XDG_CURRENT_DESKTOP").is_ok_and(|desktop| desktop.contains("KDE"));
    if is_kde { [kdialog, zenity] } else { [zenity, kdialog] }
}

/// The games that are installed, and the instances.
fn choices() -> Vec<Choice> {
    let (disk, environment) = (Disk::default(), Environment::of_process());
    let found = find(&disk, &environment);
    let mut choices = Vec::new();
    for game in &found.installations {
        let is_only = found.installations.iter().filter(|it| it.title.id == game.title.id).count() == 1;
        let folder = game.folder.to_string_lossy();
        choices.push(if is_only {
            Choice { label: game.title.name.into(), source: game.title.id.into() }
        } else {
            Choice {
                label: format!("{} ({})", game.title.name, game.folder.shown()),
                source: folder.into_owned(),
            }
        });
    }
    for instance in find_instances(&disk, &environment, &found, None) {
        let game = instance.title.map_or("Game", |title| title.name);
        let (mods, folder) = (count(instance.mods, "mod"), instance.folder.to_string_lossy());
        let label = format!("{game} with {mods} of Mod Organizer 2 ({})", instance.folder.shown());
        // The folder of a profile stands for the instance with this profile.
        for (name, path) in
            instance.profiles.iter().filter(|(name, _)| Some(name) != instance.profile.as_ref())
        {
            let label = format!(
                "{game} with the profile {} of Mod Organizer 2 ({})",
                name.shown(),
                instance.folder.shown()
            );
            choices.push(Choice { label, source: path.to_string_lossy().into_owned() });
        }
        choices.push(Choice { label, source: folder.into_owned() });
    }
    choices.sort_by(|a, b| a.label.cmp(&b.label));
    choices
}

/// A list of zenity. It prints the hidden number of the chosen row.
fn zenity([title, text]: [&str; 2], choices: &[Choice]) -> Program {
    Program::of_desktop("zenity")
        .args(["--list", "--title", title, "--text", text, "--width=600", "--height=400"])
        .args(["--column=", "--column=Game", "--hide-column=1", "--print-column=1", "--hide-header"])
        .args(numbered(choices))
}

/// A list of kdialog. It prints the tag of the chosen row.
fn kdialog([title, text]: [&str; 2], choices: &[Choice]) -> Program {
    Program::of_desktop("kdialog").args(["--title", title, "--menu", text]).args(numbered(choices))
}

/// The rows of a list: the number of each choice, and its text.
fn numbered(choices: &[Choice]) -> impl Iterator<Item = String> {
    choices.iter().enumerate().flat_map(|(number, choice)| [number.to_string(), choice.label.clone()])
}
