//! The results as Markdown: the aims, then every median.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::Bench;
use crate::corpus::Set;
use crate::measure::{Heat, Key, Log, median};
use crate::mounts::Subject;
use crate::plan::Facts;
use crate::process;
use crate::rows::Row;
use crate::work::Work;

/// The whole report.
pub(crate) fn markdown(bench: &Bench, log: &Log, rows: &[Row], facts: &Facts) -> String {
    let mut out = String::new();
    let _ = write_report(&mut out, bench, log, rows, facts);
    out
}

fn write_report(out: &mut String, bench: &Bench, log: &Log, rows: &[Row], facts: &Facts) -> std::fmt::Result {
    let scale = &bench.scale;
    writeln!(out, "# Benchmark, {}", scale.name)?;
    writeln!(out, "\n{}. Medians of up to {} rounds in turn.", process::machine(), scale.rounds)?;
    writeln!(
        out,
        "Listings walk {} files in {} folders; {} small files are read.",
        thousands(scale.files as u64),
        thousands(scale.folders as u64),
        thousands(scale.sample as u64)
    )?;
    writeln!(out, "\n## Aims\n\n| work | must be at most | measured | met |\n|---|---|---|---|")?;
    for Row { what, target, measured, met } in rows {
        let met = match met {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not measured",
        };
        writeln!(out, "| {what} | {target} | {measured} | {met} |")?;
    }
    let met = rows.iter().filter(|row| row.met == Some(true)).count();
    writeln!(out, "\n{met} of {} are met.", rows.len())?;
    write_medians(out, log)?;
    if !facts.bare.is_empty() {
        let (time, bytes) = (milliseconds(median(&facts.bare)), thousands(facts.bare_bytes));
        writeln!(
            out,
            "
A bare decode of the textures: {time} ms for {bytes} bytes."
        )?;
    }
    let [anywhere, one] = facts.round_trips.each_ref().map(|trips| median(trips).as_secs_f64() * 1e6);
    writeln!(
        out,
        "\nA thread that asks another waits {anywhere:.1} us for the answer; {one:.1} us where both are on one processor."
    )?;
    if let Some(lookups) = &facts.lookups {
        lookups.write(out)?;
    }
    for text in &log.left_out {
        writeln!(out, "\nLeft out: {text}.")?;
    }
    for text in &log.faults {
        writeln!(out, "\n**Wrong:** {text}.")?;
    }
    Ok(())
}

/// A line for each work on each subject.
fn write_medians(out: &mut String, log: &Log) -> std::fmt::Result {
    writeln!(out, "\n## Medians in ms (requests; requests an operation; MiB decoded)\n")?;
    writeln!(
        out,
        "| set | work | subject | disk-cold | cold | hot | cold, one processor | rounds |\n|---|---|---|---|---|---|---|---|"
    )?;
    let mut lines: BTreeMap<(Set, Work, Subject), [String; 4]> = BTreeMap::new();
    let mut rounds: BTreeMap<(Set, Work, Subject), usize> = BTreeMap::new();
    for &key in log.keys() {
        let Key { set, work, subject, heat } = key;
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
        let place = match heat {
            Heat::DiskCold => 0,
            Heat::Cold => 1,
            Heat::Hot => 2,
            Heat::OneProcessor => 3,
        };
        lines.entry((set, work, subject)).or_default()[place] = cell;
        rounds.insert((set, work, subject), count);
    }
    for ((set, work, subject), [disk, cold, hot, one]) in &lines {
        let rounds = rounds.get(&(*set, *work, *subject)).copied().unwrap_or(0);
        let (set, work, subject) = (set.name(), work.label(), subject.label());
        writeln!(out, "| {set} | {work} | {subject} | {disk} | {cold} | {hot} | {one} | {rounds} |")?;
    }
    Ok(())
}

/// A time in milliseconds, with three digits at least.
pub(crate) fn milliseconds(time: Duration) -> String {
    let value = time.as_secs_f64() * 1000.0;
    match value {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
