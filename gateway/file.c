/*
 * file.c
 *	  Files that are read as a whole.
 */
#include "file.h"

#include <stdio.h>

#include "log.h"

/* Read the whole of a file; false, and a line in the log, if that fails. */
bool
file_read(const char *path, Text *text)
{
	FILE *file = fopen(path, "r");
	char piece[4096];
	size_t n;
	bool good;

	while (file != NULL && (n = fread(piece, 1, sizeof(piece), file)) > 0)
		text_add(text, piece, n);
	good = file != NULL && !ferror(file) && !text->failed;
	if (!good)
	{
		log_message(LEVEL_ERROR, "could not read \"%s\": %m", path);
		text_free(text);
	}
	if (file != NULL)
		fclose(file);
	return good;
}
