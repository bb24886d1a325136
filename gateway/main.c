/*
 * main.c
 *	  What the program is told to do.
 */
#include <stdio.h>

#include "check.h"
#include "config.h"
#include "create_key.h"
#include "embedded.h"
#include "metrics.h"
#include "serve.h"
#include "setup.h"
#include "user.h"

#define VERSION "0.2.0"

static void
main_help(void)
{
	printf(
		"dynamo_gateway speaks DynamoDB's protocol in front of PostgreSQL with dynamo_table.\n\n"
		"Usage:\n"
		"  dynamo_gateway [SETTING]...          serve\n"
		"  dynamo_gateway --check               whether a gateway with these settings answers\n"
		"  dynamo_gateway --setup               make what is missing: extension, roles, key file, "
		"key\n"
		"  dynamo_gateway --create-key-file F   make the file that secrets are encrypted with\n"
		"  dynamo_gateway --create-key ROLE     make an access key of a role, and print it\n"
		"  dynamo_gateway --embedded FOLDER     serve with a PostgreSQL server of its own\n"
		"\n"
		"Settings, as flags, as \"name = value\" in the file of --config, or in the environment,\n"
		"as DYNAMO_GATEWAY_NAME.  Flags win over the environment, which wins over the file.\n\n");
	config_help();
}

static int
main_run(const Command *command, const Config *config, const Arguments *arguments)
{
	switch (command->what)
	{
		case COMMAND_HELP:
			main_help();
			return 0;
		case COMMAND_VERSION:
			printf("dynamo_gateway %s\n", VERSION);
			return 0;
		case COMMAND_CHECK:
			return check(config);
		case COMMAND_CREATE_KEY:
			return create_key(config->database, config->key_file, config->user, command->argument);
		case COMMAND_CREATE_KEY_FILE:
			return create_key_file(command->argument);
		case COMMAND_SETUP:
			return setup(config);
		case COMMAND_EMBEDDED:
			return embedded(config, command->argument, arguments);
		case COMMAND_SERVE:
			return serve(config, arguments);
	}
	return 1;
}

int
main(int argc, char **argv)
{
	Arguments arguments = {argc, argv, NULL};
	Config *config = config_new();
	char problem[1024];
	Command command;

	if (!config_load(argc, argv, config, &command, problem, sizeof(problem)))
	{
		fprintf(stderr, "dynamo_gateway: %s\n", problem);
		return 2;
	}
	/* root alone may read the key file, which these need first */
	if (command.what != COMMAND_SETUP && command.what != COMMAND_CREATE_KEY &&
		!become_user(config->user))
		return 1;
	config_set(config);
	metrics_start(VERSION);
	serve_block_signals();
	return main_run(&command, config, &arguments);
}
