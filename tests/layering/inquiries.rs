//! Whether every command that opens sources to answer goes through `cli/inquiry.rs`, which decides what a
//! selection without files, a reader that leaves and what was not looked at mean.

use super::{Sources, assert_none, sources, texts};

/// What opens sources.
const OPENS: [&str; 6] =
    ["source_set(", "open_sources_for(", "with_archive(", "Asked::new(", "Asked::about(", "find_instances("];

/// What only the skeleton does: it names what was not looked at, and decides the exit status by it.
const ENDS: [&str; 2] = ["unseen.end(", "unseen.write_json("];

/// The commands that open sources, or meet what cannot be looked at, to do something else than to answer.
const OTHERS: [&str; 4] = [
    "explain/why.rs", // names what was not looked at among the reasons
    "mount/mount.rs",
    "mount/open.rs",
    "mount/reload.rs",
];

#[test]
fn every_command_that_opens_sources_to_answer_goes_through_the_skeleton() {
    assert_none(&wrong(&sources()));
}

fn wrong(sources: &Sources) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in sources {
        let Some(command) = path.strip_prefix("cli/command/") else { continue };
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let opens = OPENS.iter().any(|call| code.contains(call)) && !OTHERS.contains(&command);
        if opens && !["Inquiry::run(", "Inquiry::run_to("].iter().any(|call| code.contains(call)) {
            wrong.push(format!("src/{path} opens sources without `Inquiry::run`"));
        }
        for call in ENDS.iter().filter(|call| code.contains(*call) && !OTHERS.contains(&command)) {
            wrong.push(format!("src/{path} calls `{call}`, which is the business of `Inquiry`"));
        }
    }
    wrong
}

#[test]
fn a_command_that_ends_by_hand_is_found() {
    let by_hand = "fn run() { let vfs = source_set(a, b)?; Ok(unseen.end(Exit::Ok)) }";
    let through = "fn run() { Inquiry::run(json, |inquiry| source_set(a, b)) }";
    assert_eq!(wrong(&texts(&[("cli/command/look/a.rs", by_hand)])).len(), 2);
    assert!(
        wrong(&texts(&[("cli/command/look/a.rs", through), ("cli/command/mount/open.rs", by_hand)]))
            .is_empty()
    );
}
