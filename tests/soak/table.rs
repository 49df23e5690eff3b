//! The figures of a run, printed at its end.

use std::sync::PoisonError;

use crate::disturb::can_drop_caches;
use crate::failing::Figures;
use crate::memory::Life;
use crate::run::{Count, Run};

/// Formats the figures, one per line.
pub(crate) fn table(run: &Run, readers: usize, life: &Life) -> String {
    let counts = &run.counts;
    let minutes = run.began.elapsed().as_secs_f64() / 60.0;
    let gib = counts.compared_bytes.get() as f64 / f64::from(1 << 30);
    let drops =
        if can_drop_caches() { counts.drops.get().to_string() } else { "none: only root can".to_owned() };
    let mut out = String::new();
    let mut row = |name: &str, value: String| out.push_str(&row(name, &value));
    row("minutes; readers; seed", format!("{minutes:.1}; {readers}; {}", run.seed));
    row(
        "reads; GiB compared; copies by cp",
        format!("{}; {gib:.2}; {}", counts.reads.get(), counts.copies.get()),
    );
    row("wrong bytes, in reads", counts.wrong.get().to_string());
    let lookups = [&counts.folders, &counts.lookups, &counts.absent].map(|it| it.get().to_string());
    row("folders listed; names found; names absent", lookups.join("; "));
    row("caches dropped; pages of files dropped", format!("{drops}; {}", counts.advised.get()));
    row("archives touched, linked, exchanged", counts.touches.get().to_string());
    row("archives swapped; rewritten in place", format!("{}; {}", counts.swaps.get(), counts.rewrites.get()));
    row("loose files changed", counts.loose.get().to_string());
    let mean = counts.shown_after.get() / counts.shown.get().max(1);
    row("changes shown; after ms on average", format!("{}; {mean}", counts.shown.get()));
    row("daemons killed; stopped", format!("{}; {}", counts.kills.get(), counts.stops.get()));
    row("mounted again; of these lazily", format!("{}; {}", counts.remounts.get(), counts.lazy.get()));
    row("EIO: archives rewritten in place; other", two(&counts.overwritten, &counts.refused_io));
    row("ESTALE: loose files replaced while open; other", two(&counts.replaced, &counts.refused_stale));
    row("names that came, went or were replaced", counts.moved.get().to_string());
    row("reads of loose files being written", counts.mixed.get().to_string());
    row("errors of killed daemons", counts.dead_errors.get().to_string());
    if let (Some(first), Some(last)) = (life.samples.first(), life.samples.last()) {
        let mib = |kib: u64| format!("{:.1}", kib as f64 / 1024.0);
        let largest = life.samples.iter().map(|it| it.resident).max().unwrap_or(0);
        let resident = [first.resident, last.resident, largest, last.peak].map(mib).join("; ");
        row("resident MiB: first; last; largest; peak", resident);
        if let Some((early, late)) = life.trend() {
            row("resident MiB: first quarter; last quarter", [early, late].map(mib).join("; "));
        }
        let each: Vec<String> = life.samples.iter().map(|it| (it.resident >> 10).to_string()).collect();
        row("resident MiB: each sample", each.join(" "));
        row("RssAnon MiB: each sample", anonymous(life));
        let each: Vec<String> = life.samples.iter().map(|it| it.descriptors.to_string()).collect();
        row("descriptors: each sample", each.join(" "));
        row("threads: first; last", format!("{}; {}", first.threads, last.threads));
    }
    row("failures", run.failures().to_string());
    out
}

/// Formats the figures of the mount whose sources fail.
pub(crate) fn failing(figures: &Figures, life: &Life) -> String {
    let longest = *figures.longest.lock().unwrap_or_else(PoisonError::into_inner);
    let mean = figures.shown_after.get() / figures.rounds.get().max(1);
    let mib = figures.bytes.get() >> 20;
    let three = |counts: &[Count; 3]| counts.each_ref().map(|it| it.get().to_string()).join("; ");
    let descriptors: Vec<String> = life.samples.iter().map(|it| it.descriptors.to_string()).collect();
    [
        row("failing sources: reads; MiB compared", &format!("{}; {mib}", figures.reads.get())),
        row("  wrong reads and sizes", &figures.wrong.get().to_string()),
        row("  torn: being written; a second after: mixed; cut", &three(&figures.torn)),
        row("  errors while something changed", &figures.errors()),
        row("  other errors", &figures.unexplained.get().to_string()),
        row("  failed or came back: link; profile; disk", &three(&figures.outages)),
        row("  files changed", &figures.changes.get().to_string()),
        row(
            "  changes shown; after ms on average; at most",
            &format!("{}; {mean}; {longest}", figures.rounds.get()),
        ),
        row("  RssAnon MiB: each sample", &anonymous(life)),
        row("  descriptors: each sample", &descriptors.join(" ")),
    ]
    .concat()
}

fn row(name: &str, value: &str) -> String {
    format!("{name:<48} {value}\n")
}

fn anonymous(life: &Life) -> String {
    let each: Vec<String> =
        life.samples.iter().map(|it| format!("{:.1}", it.anonymous as f64 / 1024.0)).collect();
    each.join(" ")
}

fn two(first: &Count, second: &Count) -> String {
    format!("{}; {}", first.get(), second.get())
}
