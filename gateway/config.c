/*
 * config.c
 *	  The settings: one file, then the environment, then flags; what comes later wins.
 *
 * A setting has one name: "pool_size" in the file, DYNAMO_GATEWAY_POOL_SIZE in the environment, and
 * --pool-size as a flag.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define ENVIRONMENT_PREFIX "DYNAMO_GATEWAY_"

typedef enum SettingType
{
	TYPE_TEXT,
	TYPE_SWITCH,
	TYPE_INTEGER,
	TYPE_TIME, /* in milliseconds */
	TYPE_SIZE, /* in bytes */
	TYPE_CHOICE /* the number of one of the words in unit */
} SettingType;

typedef struct Setting
{
	const char *name;
	SettingType type;
	size_t offset;
	const char *standard;
	int64_t min;
	int64_t max;
	bool restart; /* takes effect only at the start */
	const char *help;
	const char *words; /* of a choice, with blanks between */
} Setting;

#define AT(member) offsetof(Config, member)

static const Setting settings[] = {
	{"listen", TYPE_TEXT, AT(listen), "127.0.0.1:8000", 0, 0, true,
	 "address:port, [address]:port or unix:/path; port 0 is a free one", NULL},
	{"health_listen", TYPE_TEXT, AT(health_listen), "", 0, 0, true,
	 "where /healthz, /readyz and /metrics are, if elsewhere; plain HTTP", NULL},
	{"metrics", TYPE_SWITCH, AT(metrics), "off", 0, 0, false,
	 "/metrics at the address of listen too, for everybody who reaches it", NULL},
	{"tls_certificate", TYPE_TEXT, AT(tls_certificate), "", 0, 0, false,
	 "file with the certificate and its chain, in PEM", NULL},
	{"tls_key", TYPE_TEXT, AT(tls_key), "", 0, 0, false, "file with its private key, in PEM", NULL},
	{"insecure_http", TYPE_SWITCH, AT(insecure_http), "off", 0, 0, true,
	 "listen beyond this machine without TLS", NULL},
	{"origins", TYPE_TEXT, AT(origins), "", 0, 0, false,
	 "origins that browsers may come from, with blanks between, or *", NULL},
	{"hosts", TYPE_TEXT, AT(hosts), "", 0, 0, false,
	 "names that clients may call the gateway by with auth = none, with blanks between, or *",
	 NULL},
	{"console", TYPE_SWITCH, AT(console), "off", 0, 0, true,
	 "a page for browsers at /console/; on with --embedded where it is installed", NULL},
	{"console_files", TYPE_TEXT, AT(console_files), "", 0, 0, true,
	 "folder with its files; empty: ../share/dynamo_gateway/console from the program's folder",
	 NULL},
	{"database", TYPE_TEXT, AT(database), "", 0, 0, false,
	 "libpq's connection string; what it lacks is taken from PGHOST and so on", NULL},
	{"pool_size", TYPE_INTEGER, AT(pool_size), "0", 0, 1000, true,
	 "connections to Postgres; 0: four times the processors and 4", NULL},
	{"read_database", TYPE_TEXT, AT(read_database), "", 0, 0, false,
	 "connection string of a standby, for reads that are not consistent", NULL},
	{"read_pool_size", TYPE_INTEGER, AT(read_pool_size), "0", 0, 1000, true,
	 "connections to the standby; 0: as many as to the primary", NULL},
	{"prepared", TYPE_SWITCH, AT(prepared), "on", 0, 0, false,
	 "prepare the statement; off for poolers that lose it", NULL},
	{"nodes", TYPE_TEXT, AT(nodes), "on", 0, 0, false,
	 "on: requests go to the node of Citus that has the shard; name:port=host:port where a node "
	 "has "
	 "another address, with blanks between; off",
	 NULL},
	{"queue_time", TYPE_TIME, AT(queue_time), "1s", 1, 600000, false,
	 "how long a request waits for a connection to Postgres", NULL},
	{"request_time", TYPE_TIME, AT(request_time), "60s", 1, 3600000, false,
	 "how long a request waits for Postgres' answer", NULL},
	{"auth", TYPE_CHOICE, AT(auth), "keys", 0, 0, true,
	 "keys: signed requests; none: on this machine only", "keys none"},
	{"auth_role", TYPE_TEXT, AT(auth_role), "", 0, 0, true,
	 "the role of all requests, with auth = none", NULL},
	{"key_file", TYPE_TEXT, AT(key_file), "", 0, 0, true,
	 "file with the key that secrets are encrypted with", NULL},
	{"region", TYPE_TEXT, AT(region), "", 0, 0, true,
	 "the region that keys are scoped to, and that ARNs have; empty: any", NULL},
	{"session_tokens", TYPE_CHOICE, AT(session_tokens), "ignore", 0, 0, true,
	 "session tokens of requests, which no key has: ignore or refuse", "ignore refuse"},
	{"debug_signature", TYPE_SWITCH, AT(debug_signature), "off", 0, 0, true,
	 "refusals of signatures show what should have been signed", NULL},
	{"http_threads", TYPE_INTEGER, AT(http_threads), "0", 0, 256, true,
	 "threads that serve clients; 0: one for every three processors", NULL},
	{"connections", TYPE_INTEGER, AT(connections), "1000", 1, 1000000, false,
	 "connections of clients", NULL},
	{"connections_per_address", TYPE_INTEGER, AT(connections_per_address), "500", 0, 1000000, false,
	 "connections of one address of other machines; 0: no limit", NULL},
	{"idle_time", TYPE_TIME, AT(idle_time), "60s", 1000, 86400000, false,
	 "how long a connection may be idle", NULL},
	{"header_time", TYPE_TIME, AT(header_time), "10s", 100, 3600000, false,
	 "how long the header of a request may take", NULL},
	{"body_time", TYPE_TIME, AT(body_time), "60s", 100, 3600000, false,
	 "how long its body, or the answer, may take", NULL},
	{"drain_time", TYPE_TIME, AT(drain_time), "30s", 0, 3600000, false,
	 "how long running requests may take after SIGTERM", NULL},
	{"body_memory", TYPE_SIZE, AT(body_memory), "1GB", 16777216, INT64_MAX, false,
	 "memory for bodies, and answers that are not read yet, of all requests", NULL},
	{"requests_per_second", TYPE_INTEGER, AT(requests_per_second), "0", 0, 10000000, false,
	 "requests of one key; 0: no limit", NULL},
	{"requests_at_once", TYPE_INTEGER, AT(requests_at_once), "0", 0, 1000000, false,
	 "running requests of one key; 0: no limit", NULL},
	{"compress_responses_above", TYPE_SIZE, AT(compress_responses_above), "0", 0, INT_MAX, false,
	 "size from which answers are compressed for clients that ask for it; 0: never", NULL},
	{"log_level", TYPE_CHOICE, AT(log_level), "info", 0, 0, false,
	 "error, warning (without a line for each request), info or debug", "error warning info debug"},
	{"log_format", TYPE_CHOICE, AT(log_format), "logfmt", 0, 0, false, "logfmt or json",
	 "logfmt json"},
	{"slow_request", TYPE_TIME, AT(slow_request), "1s", 0, 3600000, false,
	 "requests that take longer are logged as warnings; 0: none is", NULL},
	{"user", TYPE_TEXT, AT(user), "", 0, 0, true, "the user to become, if started as root", NULL},
	{"role", TYPE_TEXT, AT(role), "dynamo", 0, 0, true, "the role of requests, for --setup", NULL},
	{"postgres", TYPE_TEXT, AT(postgres), "", 0, 0, true,
	 "folder with initdb and postgres, for --embedded; empty: where they usually are", NULL},
};

#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

/* A Problem says where the value of a setting comes from, and what is wrong with it. */
typedef struct Problem
{
	char *text;
	size_t size;
} Problem;

__attribute__((format(printf, 2, 3))) static bool
fail(Problem *problem, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(problem->text, problem->size, format, args);
	va_end(args);
	return false;
}

/*
 * Settings and their texts are never freed: after a reload, threads may still read the earlier ones.
 * They are small.
 */
typedef struct Kept
{
	struct Kept *next;
	_Alignas(Config) char data[];
} Kept;

static Kept *kept_data;

static void *
config_keep(const void *data, size_t size)
{
	Kept *kept = malloc(sizeof(Kept) + size);

	if (kept == NULL)
		abort();
	memcpy(kept->data, data, size);
	kept->next = kept_data;
	kept_data = kept;
	return kept->data;
}

/* Makes settings that stay until the end, to be loaded. */
Config *
config_new(void)
{
	static const Config empty;

	return config_keep(&empty, sizeof(empty));
}

static const Setting *
find_setting(const char *name, size_t length)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
	{
		size_t at = 0;

		while (at < length && settings[i].name[at] != '\0' &&
			   (name[at] == '-' ? '_' : tolower((unsigned char) name[at])) == settings[i].name[at])
			at++;
		if (at == length && settings[i].name[at] == '\0')
			return &settings[i];
	}
	return NULL;
}

typedef struct Unit
{
	const char *name;
	int64_t factor;
} Unit;

static const Unit no_units[] = {{"", 1}, {NULL, 0}};
static const Unit time_units[] = {{"", 1000},     {"ms", 1},      {"s", 1000},
								  {"min", 60000}, {"h", 3600000}, {NULL, 0}};
static const Unit size_units[] = {
	{"", 1}, {"B", 1}, {"kB", 1024}, {"MB", 1024 * 1024}, {"GB", 1024 * 1024 * 1024}, {NULL, 0}};

/* Reads a number and its unit, between the bounds of the setting. */
static bool
read_number(const Setting *setting, const Unit *units, const char *value, int64_t *number)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(value, &end, 10);
	if (end == value || errno != 0)
		return false;
	while (*end == ' ')
		end++;
	for (; units->name != NULL; units++)
	{
		if (strcmp(units->name, end) == 0)
			return !__builtin_mul_overflow((int64_t) n, units->factor, number) &&
				   *number >= setting->min && *number <= setting->max;
	}
	return false;
}

static bool
read_switch(const char *value, bool *on)
{
	static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
	{
		if (strcmp(value, words[i]) == 0)
		{
			*on = i % 2 == 1;
			return true;
		}
	}
	return false;
}

/* Finds the number of a word among words with blanks between. */
static bool
read_choice(const char *words, const char *value, int *number)
{
	size_t length = strlen(value);

	for (*number = 0; length > 0; (*number)++)
	{
		size_t word = strcspn(words, " ");

		if (word == length && strncmp(words, value, length) == 0)
			return true;
		if (words[word] == '\0')
			return false;
		words += word + 1;
	}
	return false;
}

static bool
read_value(const Setting *setting, const char *value, Config *config)
{
	void *at = (char *) config + setting->offset;
	int64_t number;

	switch (setting->type)
	{
		case TYPE_TEXT:
			*(const char **) at = config_keep(value, strlen(value) + 1);
			return true;
		case TYPE_SWITCH:
			return read_switch(value, at);
		case TYPE_CHOICE:
			return read_choice(setting->words, value, at);
		case TYPE_TIME:
			return read_number(setting, time_units, value, at);
		case TYPE_INTEGER:
			if (!read_number(setting, no_units, value, &number))
				return false;
			*(int *) at = (int) number;
			return true;
		case TYPE_SIZE:
			return read_number(setting, size_units, value, at);
	}
	return false;
}

static bool
config_assign(const Setting *setting, const char *value, const char *source, Config *config,
			  Problem *problem)
{
	/* a value may be a secret, so none is shown */
	if (!read_value(setting, value, config))
		return fail(problem, "%s: invalid value of \"%s\": %s", source, setting->name,
					setting->help);
	return true;
}

static bool
set_standards(Config *config, Problem *problem)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
	{
		if (!config_assign(&settings[i], settings[i].standard, "standard", config, problem))
			return false;
	}
	return true;
}

static char *
trimmed(char *text)
{
	char *end;

	while (isspace((unsigned char) *text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char) end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* Reads one line of the file: name = value, or nothing, or a comment. */
static bool
read_line(char *line, const char *source, Config *config, Problem *problem)
{
	char *name = trimmed(line);
	char *equals = strchr(name, '=');
	const Setting *setting;

	if (*name == '\0' || *name == '#')
		return true;
	if (equals == NULL)
		return fail(problem, "%s: a line is \"name = value\"", source);
	*equals = '\0';
	name = trimmed(name);
	setting = find_setting(name, strlen(name));
	if (setting == NULL)
		return fail(problem, "%s: there is no setting \"%.64s\"", source, name);
	return config_assign(setting, trimmed(equals + 1), source, config, problem);
}

static bool
read_file(const char *path, Config *config, Problem *problem)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	bool good = true;

	if (file == NULL)
		return fail(problem, "could not open \"%s\": %s", path, strerror(errno));
	for (int number = 1; good && getline(&line, &size, file) >= 0; number++)
	{
		char source[PATH_MAX + 16];

		snprintf(source, sizeof(source), "%s:%d", path, number);
		good = read_line(line, source, config, problem);
	}
	if (good && ferror(file))
		good = fail(problem, "could not read \"%s\": %s", path, strerror(errno));
	free(line);
	fclose(file);
	return good;
}

static bool
read_environment(Config *config, Problem *problem)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
	{
		char name[64] = ENVIRONMENT_PREFIX;
		char *at = name + strlen(name);
		const char *value;

		for (const char *c = settings[i].name; *c != '\0'; c++)
			*at++ = (char) toupper((unsigned char) *c);
		value = getenv(name);
		if (value != NULL && !config_assign(&settings[i], value, name, config, problem))
			return false;
	}
	return true;
}

/* Flags that are no settings. */
static const struct
{
	const char *name;
	int command;
	bool argument;
} commands[] = {
	{"check", COMMAND_CHECK, false},
	{"create-key", COMMAND_CREATE_KEY, true},
	{"create-key-file", COMMAND_CREATE_KEY_FILE, true},
	{"setup", COMMAND_SETUP, false},
	{"embedded", COMMAND_EMBEDDED, true},
	{"help", COMMAND_HELP, false},
	{"version", COMMAND_VERSION, false},
};

/* A Flag is one as it is written: --name, --name=value or --name value. */
typedef struct Flag
{
	const char *name;
	size_t length;
	const char *value; /* NULL: none behind a "=" */
} Flag;

static bool
read_flag(const char *text, Flag *flag)
{
	if (strncmp(text, "--", 2) != 0 || text[2] == '\0')
		return false;
	flag->name = text + 2;
	flag->length = strcspn(flag->name, "=");
	flag->value = flag->name[flag->length] == '=' ? flag->name + flag->length + 1 : NULL;
	return true;
}

/* Returns whether the flag is a command; then its argument is in *at or next. */
static bool
take_command(const Flag *flag, const char *next, int *used, Command *command)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
	{
		if (strlen(commands[i].name) != flag->length ||
			strncmp(commands[i].name, flag->name, flag->length) != 0)
			continue;
		command->what = commands[i].command;
		if (commands[i].argument)
		{
			command->argument = flag->value != NULL ? flag->value : next;
			*used += flag->value == NULL;
		}
		return true;
	}
	return false;
}

static bool
is_file_flag(const Flag *flag)
{
	return flag->length == strlen("config") && strncmp(flag->name, "config", flag->length) == 0;
}

/* Returns what a flag of a setting says.  A switch may stand alone. */
static const char *
flag_value(const Setting *setting, const Flag *flag, const char *next, int *used)
{
	bool ignored;

	if (flag->value != NULL)
		return flag->value;
	if (setting != NULL && setting->type == TYPE_SWITCH &&
		(next == NULL || !read_switch(next, &ignored)))
		return "on";
	(*used)++;
	return next;
}

/* Read the flags: those that set anything only in the second pass, when the file has been read. */
static bool
read_flags(int argc, char **argv, bool second, const char **path, Config *config, Command *command,
		   Problem *problem)
{
	int used;

	for (int i = 1; i < argc; i += used)
	{
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;
		const Setting *setting;
		const char *value;
		Flag flag;

		used = 1;
		if (!read_flag(argv[i], &flag))
			return fail(problem, "\"%s\" is no flag; try --help", argv[i]);
		if (take_command(&flag, next, &used, command))
		{
			if (i + used > argc)
				return fail(problem, "--%s needs a value", flag.name);
			continue;
		}
		setting = find_setting(flag.name, flag.length);
		if (setting == NULL && !is_file_flag(&flag))
			return fail(problem, "there is no flag --%.*s; try --help", (int) flag.length,
						flag.name);
		value = flag_value(setting, &flag, next, &used);
		if (value == NULL)
			return fail(problem, "--%s needs a value", flag.name);
		if (setting == NULL)
			*path = value;
		else if (second && !config_assign(setting, value, argv[i], config, problem))
			return false;
	}
	return true;
}

static bool
config_check(const Config *config, Problem *problem)
{
	if ((*config->tls_certificate == '\0') != (*config->tls_key == '\0'))
		return fail(problem, "tls_certificate and tls_key go together");
	if (config->auth == AUTH_NONE && *config->auth_role == '\0')
		return fail(problem, "auth = none needs auth_role");
	if (config->auth == AUTH_KEYS && *config->auth_role != '\0')
		return fail(problem, "auth_role is for auth = none");
	return true;
}

/*
 * Read all settings, and what the program is told to do.  Returns false and what is wrong in
 * problem.  The texts stay.
 */
bool
config_load(int argc, char **argv, Config *config, Command *command, char *text, size_t size)
{
	Problem problem = {text, size};
	const char *path = getenv(ENVIRONMENT_PREFIX "CONFIG");

	memset(config, 0, sizeof(*config));
	*command = (Command){COMMAND_SERVE, NULL};
	return set_standards(config, &problem) &&
		   read_flags(argc, argv, false, &path, config, command, &problem) &&
		   (path == NULL || *path == '\0' || read_file(path, config, &problem)) &&
		   read_environment(config, &problem) &&
		   read_flags(argc, argv, true, &path, config, command, &problem) &&
		   config_check(config, &problem);
}

/* Returns how many bytes the setting has. */
static size_t
size_of(const Setting *setting)
{
	switch (setting->type)
	{
		case TYPE_TEXT:
			return sizeof(const char *);
		case TYPE_SWITCH:
			return sizeof(bool);
		case TYPE_INTEGER:
		case TYPE_CHOICE:
			return sizeof(int);
		case TYPE_TIME:
		case TYPE_SIZE:
			return sizeof(int64_t);
	}
	return 0;
}

static bool
is_same(const Setting *setting, const Config *a, const Config *b)
{
	const void *first = (const char *) a + setting->offset;
	const void *second = (const char *) b + setting->offset;

	if (setting->type == TYPE_TEXT)
		return strcmp(*(const char *const *) first, *(const char *const *) second) == 0;
	return memcmp(first, second, size_of(setting)) == 0;
}

/*
 * Keeps the running values of the settings that take effect only at the start: what the program asks
 * of them later has to fit what it was started with.  Returns the name of one that was changed, or
 * NULL.
 */
const char *
config_keep_started(const Config *running, Config *loaded)
{
	const char *changed = NULL;

	for (size_t i = 0; i < SETTING_COUNT; i++)
	{
		const Setting *setting = &settings[i];

		if (!setting->restart || is_same(setting, running, loaded))
			continue;
		changed = changed == NULL ? setting->name : changed;
		memcpy((char *) loaded + setting->offset, (const char *) running + setting->offset,
			   size_of(setting));
	}
	return changed;
}

static _Atomic(const Config *) current;

/* Make these the settings of the program.  The structure stays, too. */
void
config_set(const Config *config)
{
	log_set((LogLevel) config->log_level, (LogFormat) config->log_format);
	atomic_store(&current, config);
}

/* Returns the settings as they are now. */
const Config *
config_now(void)
{
	return atomic_load(&current);
}

/* Print all settings. */
void
config_help(void)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
	{
		char name[64];

		snprintf(name, sizeof(name), "--%s", settings[i].name);
		for (char *c = name; *c != '\0'; c++)
		{
			if (*c == '_')
				*c = '-';
		}
		printf("  %-27s%s", name, settings[i].help);
		if (*settings[i].standard != '\0')
			printf(" (%s)", settings[i].standard);
		printf("\n");
	}
}
