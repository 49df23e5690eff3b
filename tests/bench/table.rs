//! The report as Markdown: the targets, then all medians. Headings begin at the second level, so
//! that the report can be copied into RESULTS.md.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::Bench;
use crate::corpus::Set;
use crate::measure::{Condition, Key, Log, median};
use crate::mounts::Subject;
use crate::plan::Facts;
use crate::process;
use crate::rows::{Table, Verdict};
use crate::slow::SlowRow;
use crate::work::Work;

/// Explains the names of [`Subject::short`].
const SHORT_NAMES: &str = "\
`BSA` is v104.bsa, `BA2` gnrl.ba2, `DX10` dx10.ba2, all packed with zlib. `LZ4` is v105.bsa, and `stored`
gnrl-stored.ba2. squashfuse is squashfuse_ll. Like the kernel's squashfs, it reads an image packed with gzip,
or for `stored` and for listings an image that is not packed. Of two times, the first is that of bsafs.
";

/// Formats the whole report.
pub(crate) fn markdown(bench: &Bench, log: &Log, tables: &[Table], facts: &Facts) -> String {
    let mut out = String::new();
    let _ = write_report(&mut out, bench, log, tables, facts);
    out
}

fn write_report(
    out: &mut String,
    bench: &Bench,
    log: &Log,
    tables: &[Table],
    facts: &Facts,
) -> std::fmt::Result {
    let scale = &bench.scale;
    writeln!(out, "## Benchmark, {}", scale.name)?;
    writeln!(out, "\n{}. Medians of up to {} rounds in turn.", process::machine(), scale.rounds)?;
    writeln!(
        out,
        "Listings walk {} files in {} folders; {} small files are read.",
        thousands(scale.files as u64),
        thousands(scale.folders as u64),
        thousands(scale.sample as u64)
    )?;
    writeln!(out, "\n### Targets\n\n{SHORT_NAMES}")?;
    tables.iter().try_for_each(|table| write_table(out, table))?;
    let verdicts = || tables.iter().flat_map(|table| &table.rows).map(|row| row.verdict);
    let met = verdicts().filter(|it| *it == Verdict::Met).count();
    let missed = verdicts().filter(|it| *it == Verdict::NotMet).count();
    writeln!(out, "{met} of the {} that were measured are met.", met + missed)?;
    write_medians(out, log)?;
    if !facts.bare.is_empty() {
        let (time, bytes) = (milliseconds(median(&facts.bare)), thousands(facts.bare_bytes));
        writeln!(out, "\nA bare decode of the textures: {time} ms for {bytes} bytes.")?;
    }
    let [anywhere, one] = facts.round_trips.each_ref().map(|trips| median(trips).as_secs_f64() * 1e6);
    writeln!(
        out,
        "\nA round trip between two threads takes {anywhere:.1} us, {one:.1} us with both on one processor."
    )?;
    if let Some(lookups) = &facts.lookups {
        lookups.write(out)?;
    }
    if let Some(meshes) = &facts.meshes {
        meshes.write(out, bench.scale.meshes)?;
    }
    if !facts.slow.is_empty() {
        write_slow(out, &facts.slow)?;
    }
    for text in &log.left_out {
        writeln!(out, "\nLeft out: {text}.")?;
    }
    for text in &log.mismatches {
        writeln!(out, "\n**Wrong:** {text}.")?;
    }
    Ok(())
}

/// Writes the works on the slow disk, with the ratio to reading the whole archive.
fn write_slow(out: &mut String, rows: &[SlowRow]) -> std::fmt::Result {
    writeln!(out, "\n### A disk that seeks\n\n| work | subject | seconds | requests | to `cat` |")?;
    writeln!(out, "|---|---|---:|---:|---:|")?;
    for SlowRow { work, subject, time, requests } in rows {
        let whole = rows.iter().find(|row| row.work == "cat" && row.subject == *subject);
        let ratio = whole.map(|whole| format!("{:.2}", time.as_secs_f64() / whole.time.as_secs_f64()));
        let (seconds, ratio) = (time.as_secs_f64(), ratio.unwrap_or_default());
        writeln!(out, "| {work} | {subject} | {seconds:.2} | {} | {ratio} |", thousands(*requests))?;
    }
    Ok(())
}

/// Writes a table of targets.
fn write_table(out: &mut String, table: &Table) -> std::fmt::Result {
    writeln!(out, "{}\n\n| {} | met |", table.text, table.columns.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(table.columns.len() + 1))?;
    for row in &table.rows {
        let met = match row.verdict {
            Verdict::Met => "yes",
            Verdict::NotMet => "**no**",
            Verdict::NotMeasured => "not measured",
            Verdict::NoLimit => "-",
        };
        writeln!(out, "| {} | {met} |", row.cells.join(" | "))?;
    }
    writeln!(out)
}

/// Writes a row for each work on each subject.
fn write_medians(out: &mut String, log: &Log) -> std::fmt::Result {
    writeln!(out, "\n### Medians in ms (requests; requests an operation; MiB decoded)\n")?;
    writeln!(
        out,
        "| set | work | subject | disk-cold | cold | hot | cold, one processor | rounds |\n\
         |---|---|---|---|---|---|---|---|"
    )?;
    let mut lines: BTreeMap<(Set, Work, Subject), [String; 4]> = BTreeMap::new();
    let mut rounds: BTreeMap<(Set, Work, Subject), usize> = BTreeMap::new();
    for &key in log.keys() {
        let Key { set, work, subject, condition } = key;
        let Some((sample, count)) = log.median(key) else { continue };
        let mut cell = milliseconds(sample.time);
        if let Some(ours) = &sample.ours {
            let each = ours.requests as f64 / sample.operations.max(1) as f64;
            let _ = write!(
                cell,
                " ({}; {each:.2}; {:.1})",
                thousands(ours.requests),
                ours.decoded as f64 / 1_048_576.0
            );
        }
        let column = match condition {
            Condition::DiskCold => 0,
            Condition::Cold => 1,
            Condition::Hot => 2,
            Condition::OneProcessor => 3,
        };
        lines.entry((set, work, subject)).or_default()[column] = cell;
        rounds.insert((set, work, subject), count);
    }
    for ((set, work, subject), [disk, cold, hot, one]) in &lines {
        let rounds = rounds.get(&(*set, *work, *subject)).copied().unwrap_or(0);
        let (set, work, subject) = (set.name(), work.label(), subject.label());
        writeln!(out, "| {set} | {work} | {subject} | {disk} | {cold} | {hot} | {one} | {rounds} |")?;
    }
    Ok(())
}

/// Formats a time in milliseconds, to three digits.
pub(crate) fn milliseconds(time: Duration) -> String {
    let value = time.as_secs_f64() * 1000.0;
    match value {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Formats a number with commas between its thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
