// fts FOLDER: prints the number of files and folders that a walk finds which trusts link counts.
#include <err.h>
#include <fts.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char *paths[] = { argc == 2 ? argv[1] : "", NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOSTAT, NULL);
	int count = 0;
	FTSENT *entry;
	if (!walk)
		err(1, "%s", argv[1]);
	while ((entry = fts_read(walk)))
		if (entry->fts_info != FTS_DP)
			count++;
	printf("%d\n", count);
	return 0;
}
