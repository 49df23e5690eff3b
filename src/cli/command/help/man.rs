//! `bsafs man`: prints the manual, which is made from the same definitions as `--help`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::options::option_table::{MOUNT_OPTIONS, MountOption};
use crate::cli::terminal::output::stdout;
use crate::cli::topics::topic::{self, TOPICS, roff, topic};
use crate::cli::ui::Ui;
use crate::shown::Shown;
use crate::system::output_place::OutputPlace;
use crate::system::subprocess::Program;
use crate::system::walk::Missing;

/// Show the manual page of bsafs, or of a command or topic
///
/// If standard output is not a terminal, the page is printed as roff.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Command or topic whose page to show
    #[arg(value_name = "COMMAND|TOPIC")]
    command: Option<String>,
    /// Write all pages to this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    all: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let bsafs = (ui.definition)();
        let mut bsafs = bsafs;
        bsafs.build();
        if let Some(folder) = &self.all {
            let shown = bsafs.get_subcommands().filter(|it| !it.is_hide_set());
            let commands = std::iter::once(&bsafs).chain(shown);
            let commands = commands.map(|it| page(it).map(|page| (format!("{}.1", name(it)), page)));
            let topics =
                TOPICS.iter().map(|it| (format!("bsafs-{}.7", it.name), topic::page(it).into_bytes()));
            for page in commands.chain(topics.map(Ok)) {
                let (name, page) = page.map_err(OutputError)?;
                let path = folder.join(name);
                let place = OutputPlace::of(&path, Missing::Fail);
                place
                    .and_then(|place| place.replace(&page))
                    .map_err(|error| Failure::not_made("the page", &path, &error))?;
            }
            return Ok(Exit::Ok);
        }
        let page = match self.command.as_deref().map(|name| (topic(name), bsafs.find_subcommand(name))) {
            None => page(&bsafs).map_err(OutputError)?,
            Some((Some(topic), _)) => topic::page(topic).into_bytes(),
            Some((None, Some(command))) => page(command).map_err(OutputError)?,
            Some((None, None)) => {
                let name = self.command.as_deref().unwrap_or_default().shown();
                let what = "there is no such command or topic; `bsafs help` lists both";
                return Err(Failure::new(Exit::Usage, format!("{name}: {what}")));
            }
        };
        if std::io::stdout().is_terminal() && show(&page).is_ok() {
            return Ok(Exit::Ok);
        }
        let mut out = stdout();
        out.write_all(&page)?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}

/// Shows a page with man(1). Fails if man is not installed, or cannot show it.
pub(super) fn show(page: &[u8]) -> io::Result<()> {
    let shown = Program::of_terminal("man").args(["-l", "-"]).show(page)?;
    if shown.success() { Ok(()) } else { Err(io::Error::other("man failed")) }
}

/// The name of a page: `bsafs`, `bsafs-mount`.
fn name(command: &Command) -> String {
    match command.get_name() {
        "bsafs" => "bsafs".into(),
        name => format!("bsafs-{name}"),
    }
}

/// The manual page of a command. The writes to memory do not fail.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let is_mount = command.get_name() == "mount";
    let mut named = command.clone().name(name(command)).version(env!("CARGO_PKG_VERSION"));
    if is_mount {
        // Mount options have a section of their own.
        named = named.mut_arg("options", |options| options.hide_possible_values(true));
    }
    let has_commands = named.has_subcommands();
    let page = Page::new(named);
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if is_mount {
        writeln!(text, ".SH \"MOUNT OPTIONS\"")?;
        for MountOption { name, example, help, .. } in MOUNT_OPTIONS {
            writeln!(text, ".TP\n\\fB{}\\fR{}\n{}", roff(name), roff(example), roff(help))?;
        }
    }
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    if let Some(help) = command.get_after_help().or(command.get_after_long_help()) {
        let help = help.to_string();
        for part in help.split("\n\n") {
            let (title, lines) = part.split_once('\n').unwrap_or((part, ""));
            if lines.starts_with("  ") {
                let title = title.split([' ', ':']).next().unwrap_or_default().to_uppercase();
                let lines = lines.lines().map(roff).collect::<Vec<_>>().join("\n");
                writeln!(text, ".SH {title}\n.nf\n{lines}\n.fi")?;
            } else {
                writeln!(text, ".PP\n{}", part.lines().map(roff).collect::<Vec<_>>().join("\n"))?;
            }
        }
    }
    writeln!(text, ".SH \"EXIT STATUS\"")?;
    for (exit, meaning) in Exit::ALL {
        writeln!(text, ".TP\n{}\n{meaning}", exit as i32)?;
    }
    writeln!(text, ".PP\nCalled by mount(8), the program exits with the codes of mount(8): 0, 1, 2 or 32.")?;
    if !has_commands {
        writeln!(text, ".SH \"SEE ALSO\"\nbsafs(1)")?;
    }
    Ok(text)
}
