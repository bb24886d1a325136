/*
 * console.c
 *	  The console: static files at /console/, which a browser shows.
 *
 * They are read at the start, so no request opens a file, and a path is one of their names or nothing.
 * What they show they ask for as any client does: they give no rights.
 */
#include "console.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "log.h"

#define CONSOLE_PATH "/console/"
#define CONSOLE_PAGE "index.html"

/* A folder that has more, or larger ones, is not the console's. */
#define MAX_FILES 32
#define MAX_FILE_SIZE (256 * 1024)

typedef struct ConsoleFile
{
	char *name;
	const char *content_type;
	Text text;
} ConsoleFile;

static ConsoleFile files[MAX_FILES];
static int file_count;

/* What the page may do in a browser: run its own files, and ask where it came from.  Types of the
 * browser's own see to it that no text becomes HTML. */
static const char *const fields[] = {
	"Content-Security-Policy",
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	"require-trusted-types-for 'script'; trusted-types 'none'",
	"X-Content-Type-Options",
	"nosniff",
	"Referrer-Policy",
	"no-referrer",
	"Cache-Control",
	"no-cache",
	NULL,
};

static const char *const to_page[] = {"Location", CONSOLE_PATH, NULL};

/* Returns the type of a file by the end of its name; NULL: it is not served. */
static const char *
type_of(const char *name)
{
	static const char *const types[][2] = {
		{".html", "text/html; charset=utf-8"},
		{".css", "text/css; charset=utf-8"},
		{".js", "text/javascript; charset=utf-8"},
		{".svg", "image/svg+xml"},
	};
	const char *end = strrchr(name, '.');

	for (size_t i = 0; end != NULL && end > name && i < sizeof(types) / sizeof(types[0]); i++)
	{
		if (strcmp(end, types[i][0]) == 0)
			return types[i][1];
	}
	return NULL;
}

/* Finds the folder: the one that is set, or the one that is installed with the program. */
static bool
find_folder(const Config *config, char *folder, size_t size)
{
	char program[PATH_MAX] = "";
	const char *set = config->console_files;
	char *end = program;
	int n;

	if (*set != '\0')
		return snprintf(folder, size, "%s", set) < (int) size;
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return false;
	/* twice: the program, and its folder */
	for (int i = 0; i < 2 && end != NULL; i++)
	{
		end = strrchr(program, '/');
		if (end != NULL)
			*end = '\0';
	}
	n = snprintf(folder, size, "%s/share/dynamo_gateway/console", program);
	return n >= 0 && (size_t) n < size;
}

/* Returns whether the files are there, which are a package of their own. */
bool
console_is_installed(const Config *config)
{
	char folder[PATH_MAX];
	char page[PATH_MAX + sizeof("/" CONSOLE_PAGE)];

	if (!find_folder(config, folder, sizeof(folder)))
		return false;
	snprintf(page, sizeof(page), "%s/%s", folder, CONSOLE_PAGE);
	return access(page, R_OK) == 0;
}

static bool
add_file(const char *folder, const char *name)
{
	ConsoleFile *file = &files[file_count];
	char path[PATH_MAX + NAME_MAX + 2];
	struct stat found;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (stat(path, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size > MAX_FILE_SIZE ||
		file_count == MAX_FILES)
	{
		log_message(LEVEL_ERROR, "\"%s\" is no file of the console", path);
		return false;
	}
	file->name = strdup(name);
	file->content_type = type_of(name);
	if (file->name == NULL || !file_read(path, &file->text))
		return false;
	file_count++;
	return true;
}

static const ConsoleFile *
find_file(const char *name)
{
	for (int i = 0; i < file_count; i++)
	{
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	}
	return NULL;
}

static bool
read_folder(const char *folder)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;
	bool good = true;

	while (good && entries != NULL && (entry = readdir(entries)) != NULL)
		good = type_of(entry->d_name) == NULL || add_file(folder, entry->d_name);
	if (entries != NULL)
		closedir(entries);
	return good;
}

/* Read the files, if the console is on.  False, and a line in the log, if they are not there. */
bool
console_start(const Config *config)
{
	char folder[PATH_MAX] = "";

	if (!config->console)
		return true;
	if (!find_folder(config, folder, sizeof(folder)) || !read_folder(folder))
		return false;
	if (find_file(CONSOLE_PAGE) != NULL)
		return true;
	log_message(LEVEL_ERROR, "the console is not installed: there is no \"%s/%s\"", folder,
				CONSOLE_PAGE);
	return false;
}

/* Answers a request to read a path of the console.  Returns false, without an answer, for others. */
bool
console_answer(const char *method, const char *path, Answer *answer)
{
	const ConsoleFile *file;
	size_t length = strlen(CONSOLE_PATH);

	if (file_count == 0 || (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0))
		return false;
	if (strncmp(path, CONSOLE_PATH, length - 1) == 0 && path[length - 1] == '\0')
	{
		answer_constant(answer, 301, "text/plain", "");
		answer->fields = to_page;
		return true;
	}
	if (strncmp(path, CONSOLE_PATH, length) != 0)
		return false;
	file = find_file(path[length] == '\0' ? CONSOLE_PAGE : path + length);
	if (file == NULL)
		return false;
	answer_owned(answer, 200, file->text.data, file->text.length, NULL, NULL);
	answer->content_type = file->content_type;
	answer->fields = fields;
	return true;
}
