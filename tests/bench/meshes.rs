//! The time and memory of `bsafs needs` over all meshes of a game, compared with `bsafs verify`, which reads
//! the same bytes and no names.

use std::fmt::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::measure::median;
use crate::process::{self, peak};
use crate::support::mesh::Nif;
use crate::table::{milliseconds, thousands};
use crate::{Bench, Outcome, assets};

/// Number of meshes in an archive.
pub(crate) const PER_ARCHIVE: usize = 2_000;
/// One mesh of this number names a texture that is in no archive.
const GAP: usize = 1_000;

/// What `verify` and `needs` took.
#[derive(Debug, Default)]
pub(crate) struct Meshes {
    verify: Vec<Duration>,
    needs: Vec<Duration>,
    /// The largest resident memory of each, in bytes.
    peaks: [u64; 2],
}

/// The bytes of a mesh of Skyrim SE: names, and vertices of up to 128 KiB.
pub(crate) fn mesh(number: usize) -> Vec<u8> {
    let names = ["", "_n", "_s", "_e"].map(|end| texture(number, end));
    let mut bytes = Nif::SkyrimSe.naming(&names.each_ref().map(String::as_str));
    // Seeds that are not a multiple of three give vertices.
    bytes.extend(assets::small_up_to(3 * number as u64 + 1, 256));
    bytes
}

/// The textures that are there. 50 meshes share their textures.
pub(crate) fn textures(meshes: usize) -> impl Iterator<Item = String> {
    (1..meshes).step_by(50).flat_map(|number| ["", "_n", "_s", "_e"].map(|end| texture(number, end)))
}

fn texture(number: usize, end: &str) -> String {
    match number % GAP {
        0 if end == "_e" => format!("textures\\gap{number:05}{end}.dds"),
        _ => format!("textures\\set{:04}\\wood{end}.dds", number / 50),
    }
}

impl Meshes {
    /// Measures one round, in turn.
    pub(crate) fn measure(&mut self, bench: &Bench) -> Outcome<()> {
        let folder = Set::Meshes.folder(&bench.corpora);
        let mut archives: Vec<_> =
            std::fs::read_dir(&folder)?.map(|it| it.map(|it| it.path())).collect::<Result<_, _>>()?;
        archives.retain(|path| path.extension().is_some_and(|it| it == "bsa"));
        archives.sort();
        archives.iter().try_for_each(|path| process::warm(path))?;
        let gaps = bench.scale.meshes.div_ceil(GAP);
        let archives: Vec<&Path> = archives.iter().map(|path| path.as_path()).collect();
        let (time, memory, _) = timed(Command::new(&bench.bsafs).args(["verify", "-q"]).args(&archives))?;
        self.verify.push(time);
        self.peaks[0] = self.peaks[0].max(memory);
        let needs = ["needs", "--missing"];
        let (time, memory, output) = timed(Command::new(&bench.bsafs).args(needs).args(&archives))?;
        self.needs.push(time);
        self.peaks[1] = self.peaks[1].max(memory);
        let found = output.lines().filter(|line| line.ends_with("missing") && line.starts_with(' ')).count();
        if found != gaps {
            return Err(format!("needs found {found} missing textures, not {gaps}").into());
        }
        Ok(())
    }

    pub(crate) fn write(&self, out: &mut String, meshes: usize) -> fmt::Result {
        let (verify, needs) = (median(&self.verify), median(&self.needs));
        let ratio = needs.as_secs_f64() / verify.as_secs_f64().max(1e-9);
        writeln!(
            out,
            "\nNames in {} meshes: `needs --missing` {} ms and {} KiB; `verify` {} ms and {} KiB; \
             {ratio:.2} x.",
            thousands(meshes as u64),
            milliseconds(needs),
            thousands(self.peaks[1] >> 10),
            milliseconds(verify),
            thousands(self.peaks[0] >> 10),
        )
    }
}

/// Runs a command that ends with 0 or 1. Returns its time, its largest resident memory, and its output.
fn timed(command: &mut Command) -> Outcome<(Duration, u64, String)> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let pid = child.id();
    let output = thread::spawn(move || child.wait_with_output());
    let mut memory = 0;
    while !output.is_finished() {
        memory = peak(pid).unwrap_or(memory);
        thread::sleep(Duration::from_millis(2));
    }
    let time = start.elapsed();
    let output = output.join().map_err(|_| "the thread that reads the output panicked")??;
    match output.status.code() {
        Some(0 | 1) => Ok((time, memory, String::from_utf8_lossy(&output.stdout).into_owned())),
        _ => Err(format!("{command:?}: {}", output.status).into()),
    }
}
