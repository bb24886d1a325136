/*
 * config.h
 *	  The settings: one file, then the environment, then flags; what comes later wins.
 */
#ifndef GATEWAY_CONFIG_H
#define GATEWAY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum AuthMode
{
	AUTH_KEYS,
	AUTH_NONE
} AuthMode;

typedef enum SessionTokens
{
	TOKENS_IGNORE,
	TOKENS_REFUSE
} SessionTokens;

/* Texts are never NULL: what is not set is empty.  Times are in milliseconds. */
typedef struct Config
{
	/* where it listens */
	const char *listen;
	const char *health_listen;
	bool metrics;
	const char *tls_certificate;
	const char *tls_key;
	bool insecure_http;
	const char *origins;
	const char *hosts;
	bool console;
	const char *console_files;

	/* Postgres */
	const char *database;
	int pool_size;
	const char *read_database;
	int read_pool_size;
	bool prepared;
	const char *nodes;
	int64_t queue_time;
	int64_t request_time;

	/* who may */
	int auth;
	const char *auth_role;
	const char *key_file;
	const char *region;
	int session_tokens;
	bool debug_signature;

	/* limits */
	int http_threads;
	int connections;
	int connections_per_address;
	int64_t idle_time;
	int64_t header_time;
	int64_t body_time;
	int64_t drain_time;
	int64_t body_memory;
	int requests_per_second;
	int requests_at_once;
	int64_t compress_responses_above;

	/* the log */
	int log_level;
	int log_format;
	int64_t slow_request;

	/* how the program is run */
	const char *user;
	const char *role;
	const char *postgres;
} Config;

/* A Command is what the program was told to do. */
typedef struct Command
{
	enum
	{
		COMMAND_SERVE,
		COMMAND_CHECK,
		COMMAND_CREATE_KEY,
		COMMAND_CREATE_KEY_FILE,
		COMMAND_SETUP,
		COMMAND_EMBEDDED,
		COMMAND_HELP,
		COMMAND_VERSION
	} what;
	const char *argument; /* the role, or the folder */
} Command;

extern Config *config_new(void);
extern bool config_load(int argc, char **argv, Config *config, Command *command, char *problem,
						size_t size);
extern const char *config_keep_started(const Config *running, Config *loaded);
extern void config_set(const Config *config);
extern const Config *config_now(void);
extern void config_help(void);

#endif
