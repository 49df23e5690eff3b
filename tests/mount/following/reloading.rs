//! Tests of reloads: on request, a hundred of them, without watches, and with a service manager.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::files::{archive, content, replace, views, wait_for_view_after};
use crate::mounted::{TestDir, run, signal};

#[test]
fn a_static_mount_reloads_only_on_request() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("a.txt", "one")]));
    let mount = dir.mount(["a.bsa", "-o", "static"]);
    assert_eq!(content(&mount.join("a.txt")), Ok("one".into()));
    replace(&dir, "a.bsa", &archive(&[("a.txt", "two")]));
    assert_eq!(dir.run(["reload", "mnt"]).success(), "mnt: a.bsa: 1 file replaced\n");
    assert_eq!(content(&mount.join("a.txt")), Ok("two".into()));
    assert_eq!(dir.run(["reload", "mnt"]).success(), "mnt: nothing changed\n");
    replace(&dir, "a.bsa", &archive(&[("a.txt", "three")]));
    signal(mount.pid, Signal::USR1);
    wait_for_view_after(&mount, 1);
    assert_eq!(content(&mount.join("a.txt")), Ok("three".into()));
    replace(&dir, "a.bsa", b"no archive");
    let finished = dir.run(["reload", "mnt"]);
    assert!(finished.code == 65 && finished.err.contains("a.bsa: "), "{finished:?}");
    assert_eq!((content(&mount.join("a.txt")), views(&mount)), (Ok("three".into()), 2));
}

#[test]
fn a_hundred_reloads_leak_no_memory_and_no_descriptors() {
    let dir = TestDir::new();
    let bytes = |n: usize| {
        let files: Vec<(String, String)> =
            (0..2000).map(|file| (format!("f{}\\{file}.txt", file % 20), format!("{n} {file}"))).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        archive(&files)
    };
    dir.archive("a.bsa", &bytes(0));
    let mount = dir.mount(["a.bsa", "-o", "static"]);
    let measure = || {
        let memory = fs::read_to_string(format!("/proc/{}/smaps_rollup", mount.pid)).unwrap();
        let line = memory.lines().find(|line| line.starts_with("Anonymous:")).unwrap();
        let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        (kib, fs::read_dir(format!("/proc/{}/fd", mount.pid)).unwrap().count())
    };
    let reload = |n| {
        replace(&dir, "a.bsa", &bytes(n));
        signal(mount.pid, Signal::USR1);
        wait_for_view_after(&mount, n as u64 - 1);
        for file in 0..40 {
            assert!(
                content(&mount.join(format!("F{}/{file}.TXT", file % 20)))
                    .unwrap()
                    .starts_with(&n.to_string())
            );
        }
    };
    (1..=20).for_each(reload);
    let (memory, descriptors) = measure();
    (21..=100).for_each(reload);
    let (later_memory, later_descriptors) = measure();
    assert!(later_memory < memory + memory / 4 + 2048, "{memory} KiB, then {later_memory}");
    assert!(later_descriptors <= descriptors + 2, "{descriptors} descriptors, then {later_descriptors}");
}

#[test]
fn folders_beyond_the_watch_limit_are_polled_and_this_is_logged_once() {
    let dir = TestDir::new();
    for n in 0..20 {
        fs::create_dir_all(dir.path(format!("mod/f{n}"))).unwrap();
        fs::write(dir.path(format!("mod/f{n}/a.txt")), "one").unwrap();
        fs::write(dir.path(format!("mod/f{n}/unread")), "five.").unwrap();
    }
    // The namespace has a separate limit on watches. Mounts of other tests end in it when they end outside.
    let script = "echo 8 > /proc/sys/user/max_inotify_watches && mkdir mnt && \
         \"$0\" mount --log-file log mod mnt > said && \
         echo new > mod/f18/c.txt && until [ -e mnt/f18/c.txt ]; do sleep 0.05; done; cat mnt/f*/a.txt && \
         for n in 1 2; do for f in mod/f*; do echo $n > $f/a.txt; done; \
         until [ \"$(cat mnt/f*/a.txt | sort -u)\" = $n ]; do sleep 0.05; done; done; \
         stat mnt/f*/unread > statted && for f in mod/f*; do echo longer >> $f/unread; done && \
         until [ \"$(stat -c %s mnt/f*/unread | sort -u)\" = 12 ]; do sleep 0.05; done && \
         echo new > mod/f19/b.txt && until [ -e mnt/f19/b.txt ]; do sleep 0.05; done; \
         \"$0\" umount mnt";
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "--propagation=slave", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_bsafs"))
        .current_dir(dir.path(""));
    let finished = run(&mut command);
    // A sandbox may forbid user namespaces, even to root. Mounts do not need them.
    if finished.err.starts_with("unshare: ") {
        return eprintln!("SKIPPED: needs user namespaces: {}", finished.err);
    }
    assert_eq!(finished.success(), "one".repeat(20));
    let log = fs::read_to_string(dir.path("log")).unwrap();
    assert_eq!(log.matches("folders: fs.inotify.max_user_watches is too low (raise it").count(), 1, "{log}");
}

#[test]
fn the_limit_of_inotify_instances_is_not_taken_for_that_of_watches() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/sub")).unwrap();
    fs::write(dir.path("mod/sub/a.txt"), "one").unwrap();
    let script = "echo 0 > /proc/sys/user/max_inotify_instances && mkdir mnt && \
         \"$0\" mount --log-file log mod mnt && \
         until \"$0\" status --json mnt | grep -q '\"polled\":[1-9]'; do sleep 0.05; done; \
         \"$0\" status mnt | grep watches && echo two > mod/sub/b.txt && \
         until [ -e mnt/sub/b.txt ]; do sleep 0.05; done; \"$0\" umount mnt";
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "--propagation=slave", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_bsafs"))
        .current_dir(dir.path(""));
    let finished = run(&mut command);
    if finished.err.starts_with("unshare: ") {
        return eprintln!("SKIPPED: needs user namespaces: {}", finished.err);
    }
    let outputs = [finished.success(), fs::read_to_string(dir.path("log")).unwrap()];
    let instances = "fs.inotify.max_user_instances is too low";
    // The command that mounts says it, and so do `status` and the log.
    let counts = outputs.each_ref().map(|output| output.matches(instances).count());
    assert_eq!(counts, [2, 1], "{outputs:?}");
    assert!(outputs[0].contains("odd: changes show up within 28 seconds"), "{outputs:?}");
    assert!(outputs.iter().all(|output| !output.contains("max_user_watches")), "{outputs:?}");
}

#[test]
fn a_folder_that_a_program_uses_gets_a_watch_of_another_one() {
    let dir = TestDir::new();
    for n in 10..30 {
        fs::create_dir_all(dir.path(format!("mod/f{n}"))).unwrap();
        fs::write(dir.path(format!("mod/f{n}/a.txt")), "one").unwrap();
    }
    let script = "echo 12 > /proc/sys/user/max_inotify_watches && mkdir mnt && \
         \"$0\" mount mod mnt > said && status() { \"$0\" status --json mnt; } && \
         until status | grep -q '\"polled\":[1-9]'; do sleep 0.05; done; \
         cat mnt/f29/a.txt && until status | grep -q '\"used\":[1-9]'; do sleep 0.05; done; \
         \"$0\" status mnt | grep -q 'in use; ' && \
         for n in 1 2 3; do echo $n > mod/f29/new && mv mod/f29/new mod/f29/a.txt; \
         until [ \"$(cat mnt/f29/a.txt)\" = $n ]; do sleep 0.05; done; done; \
         ls mnt/* > listed; for f in mod/f*; do echo last > $f/a.txt; done; \
         until [ \"$(cat mnt/f*/a.txt | sort -u)\" = last ]; do sleep 0.05; done; \
         \"$0\" umount mnt";
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "--propagation=slave", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_bsafs"))
        .current_dir(dir.path(""));
    let finished = run(&mut command);
    if finished.err.starts_with("unshare: ") {
        return eprintln!("SKIPPED: needs user namespaces: {}", finished.err);
    }
    assert_eq!(finished.success(), "one");
}

#[test]
fn the_service_manager_is_notified_of_each_reload() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("a.txt", "one")]));
    let socket = std::os::unix::net::UnixDatagram::bind(dir.path("notify")).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    let mut buffer = [0; 4096];
    let mut next = || {
        let len = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..len]).into_owned()
    };
    let mut command = dir.bsafs(["mount", "--foreground", "a.bsa", "mnt"]);
    let mut child = command.env("NOTIFY_SOCKET", dir.path("notify")).stdout(Stdio::null()).spawn().unwrap();
    assert!(next().starts_with("READY=1\n"));
    replace(&dir, "a.bsa", &archive(&[("a.txt", "two")]));
    let reloading = next();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert!(next().starts_with("READY=1\n"));
    assert_eq!(content(&dir.path("mnt/a.txt")), Ok("two".into()));
    dir.run(["umount", "mnt"]).success();
    assert!(child.wait().unwrap().success());
}
