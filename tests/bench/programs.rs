//! Programs that read whole trees, and the commands of bsafs that do.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::corpus::Set;
use crate::{Bench, Outcome, decode, process, run};

/// A program that reads all files of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// GNU tar reads no file if its output is `/dev/null`. So another process reads the output.
    Tar,
    Copy,
    Grep,
    Rsync,
    /// Lists only.
    Ls,
}

/// Processor times and times of commands on the archive of [`Set::Tree`].
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Processor time to decode the archive in one thread.
    pub(crate) bare: Vec<Duration>,
    /// Decoded size of the archive.
    pub(crate) bytes: u64,
    pub(crate) verify: Vec<Duration>,
    pub(crate) extract: Vec<Duration>,
    /// Times of [`EDITS`] in a writable mount of an ordinary user, and in an overlay that caches writes.
    pub(crate) edits: [[Vec<Duration>; 2]; EDITS.len()],
}

/// What is written to a writable mount, and the command that writes it there.
pub(crate) const EDITS: [(&str, &str); 3] = [
    ("--edit: cp -r of 2,000 files", "cp -r $from/many $to"),
    ("--edit: cp of 100 MB", "cp $from/large $to"),
    ("--edit: 20,000 writes of 512 bytes", "dd if=$from/small of=$to/small bs=512 status=none"),
];
/// Makes what [`EDITS`] write, and both overlays: `ours` and `cached`, over the archive `$archive`.
const OVERLAYS: &str = "\
mkdir from from/many lower upper work cached
head -c 100000000 /dev/zero >from/large
head -c 10240000 /dev/zero >from/small
for n in $(seq 2000); do head -c 5000 from/small >from/many/$n; done
$bsafs mount --quiet --edit edit $archive ours
$bsafs mount --quiet -o exact,static $archive lower
fuse-overlayfs -o lowerdir=lower,upperdir=upper,workdir=work cached
";
const OVERLAYS_END: &str = "$bsafs umount --quiet ours; fusermount3 -u cached; $bsafs umount --quiet lower";

/// A folder in memory that programs copy to.
struct Target(PathBuf);

impl Program {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::Copy => "cp -r",
            Self::Grep => "grep -r",
            Self::Rsync => "rsync -a",
            Self::Ls => "ls -lR (program)",
        }
    }

    /// Runs the program on a tree. Returns its time, and a number that must be the same for all subjects: of
    /// bytes that were read or copied, or of lines.
    pub(crate) fn run(self, tree: &Path) -> io::Result<(Duration, u64)> {
        let target = Target::create()?;
        let start = Instant::now();
        let found = match self {
            Self::Tar => output(Command::new("tar").args(["-cf", "-", "-C"]).arg(tree).arg("."), length)?,
            Self::Copy => output(Command::new("cp").arg("-r").arg(tree).arg(&target.0), length)?,
            // The pattern is in no file. -a has binary files read like text.
            Self::Grep => output(Command::new("grep").args(["-raF", "no file has this"]).arg(tree), length)?,
            Self::Rsync => output(Command::new("rsync").arg("-a").arg(tree).arg(&target.0), length)?,
            Self::Ls => output(Command::new("ls").arg("-lR").arg(tree), lines)?,
        };
        let time = start.elapsed();
        Ok((time, found + bytes_below(&target.0)?))
    }
}

impl Commands {
    /// Measures one round.
    pub(crate) fn measure(&mut self, bench: &Bench) -> Outcome<()> {
        let archive = Set::Tree.folder(&bench.corpora).join("gnrl.ba2");
        process::warm(&archive)?;
        let (bare, bytes) = decode::bare(&archive)?;
        self.bare.push(bare);
        self.bytes = bytes;
        let start = Instant::now();
        run(Command::new(&bench.bsafs).arg("verify").arg(&archive))?;
        self.verify.push(start.elapsed());
        let target = Target::create()?;
        let start = Instant::now();
        run(Command::new(&bench.bsafs).arg("extract").arg(&archive).arg("-C").arg(target.0.join("files")))?;
        self.extract.push(start.elapsed());
        // Both use one place.
        drop(target);
        self.measure_edits(bench, &archive)
    }

    /// Writes to both overlays in turn, as an ordinary user.
    fn measure_edits(&mut self, bench: &Bench, archive: &Path) -> Outcome<()> {
        let target = Target::create()?;
        // The user may be unable to reach both where they are.
        for (from, name) in [(&*bench.bsafs, "bsafs"), (archive, "a.ba2")] {
            fs::copy(from, target.0.join(name))?;
        }
        run(Command::new("chown").arg("-R").arg("nobody").arg(&target.0))?;
        let shell = |script: &str| {
            let set = format!("set -e; bsafs=./bsafs archive=a.ba2; {script}");
            let mut command = Command::new("runuser");
            command.args(["-u", "nobody", "--", "sh", "-c", &set]).current_dir(&target.0);
            command
        };
        run(&mut shell(OVERLAYS))?;
        let written = self.edits.iter_mut().zip(EDITS).try_for_each(|(times, (_, command))| {
            times.iter_mut().zip(["ours", "cached"]).try_for_each(|(times, to)| {
                let start = Instant::now();
                run(&mut shell(&format!("from=from to={to}; {command}")))?;
                times.push(start.elapsed());
                Ok(())
            })
        });
        run(&mut shell(OVERLAYS_END))?;
        written
    }
}

impl Target {
    fn create() -> io::Result<Self> {
        let path = Path::new("/dev/shm").join(format!("bsafs-bench-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("bench: {}: {error}", self.0.display());
        }
    }
}

/// Runs a program, reads its output to the end, and returns what `count` adds up of it.
fn output(command: &mut Command, count: impl Fn(&[u8]) -> u64) -> io::Result<u64> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let mut found = 0;
    if let Some(mut output) = child.stdout.take() {
        let mut buffer = vec![0; 1 << 20];
        loop {
            match output.read(&mut buffer)? {
                0 => break,
                len => found += count(&buffer[..len]),
            }
        }
    }
    match child.wait()?.code() {
        // grep ends with 1 if it found nothing.
        Some(0 | 1) => Ok(found),
        _ => Err(io::Error::other(format!("{command:?} failed"))),
    }
}

fn length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
