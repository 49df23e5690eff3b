// idmap FROM TO COMMAND...: shows the mount FROM on the folder TO, with user 0 as user 12345 and group 0 as
// group 12345, and runs a command. Only the command and its children see TO.
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_map(int pid, const char *file)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	int fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0 12345 1", 9) != 9)
		err(1, "%s", path);
	close(fd);
}

// A descriptor of a user namespace with this map.
static int mapped_users(void)
{
	int ready[2], end[2];
	char byte = 0, path[64];
	if (pipe(ready) || pipe(end))
		err(1, "pipe");
	int child = fork();
	if (child == 0) {
		close(end[1]);
		if (unshare(CLONE_NEWUSER) || write(ready[1], &byte, 1) != 1)
			err(1, "unshare");
		_exit(read(end[0], &byte, 1) != 0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "no user namespace");
	write_map(child, "uid_map");
	write_map(child, "gid_map");
	snprintf(path, sizeof path, "/proc/%d/ns/user", child);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	close(end[1]);
	waitpid(child, NULL, 0);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		errx(1, "idmap FROM TO COMMAND...");
	struct mount_attr map = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = mapped_users() };
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		err(1, "mount namespace");
	int tree = syscall(SYS_open_tree, AT_FDCWD, argv[1], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		err(1, "open_tree %s", argv[1]);
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &map, sizeof map))
		err(1, "mount_setattr");
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, argv[2], MOVE_MOUNT_F_EMPTY_PATH))
		err(1, "move_mount %s", argv[2]);
	execvp(argv[3], argv + 3);
	err(1, "%s", argv[3]);
}
