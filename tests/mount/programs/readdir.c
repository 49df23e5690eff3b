// readdir FOLDER: prints the number of names in a folder. Fails if listing fails, or if `seekdir` does not
// return to the place that `telldir` gave.
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	if (!folder)
		err(1, "%s", argv[1]);
	static char names[4096][256];
	static long places[4096];
	int count = 0;
	struct dirent *entry;
	for (;;) {
		places[count] = telldir(folder);
		errno = 0;
		if (!(entry = readdir(folder)))
			break;
		if (count == 4095)
			errx(1, "too many names");
		strcpy(names[count++], entry->d_name);
	}
	if (errno)
		err(1, "readdir after %d names", count);
	for (int at = 0; at < count; at++) {
		seekdir(folder, places[at]);
		entry = readdir(folder);
		if (!entry || strcmp(entry->d_name, names[at]))
			errx(1, "after seekdir: %s instead of %s", entry ? entry->d_name : "the end", names[at]);
	}
	printf("%d\n", count);
	return 0;
}
