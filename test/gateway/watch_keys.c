/*
 * watch_keys.c
 *	  Loads access keys from a server, and tells what becomes of one.
 *
 *		watch_keys CONNECTION KEY_FILE KEY_ID REFRESH_SECONDS
 *
 * A line is written whenever the key changes: "unknown", or its role, whether it is enabled, and the
 * length of its secret.  Ends with its standard input.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"

static void
report(bool failed, const char *message)
{
	fprintf(stderr, "%s: %s\n", failed ? "failed" : "works", message);
}

/* Write how the key is, unless it is so still. */
static void
tell(Keys *keys, const char *key_id)
{
	static char before[256];
	char now[256] = "unknown";
	AccessKey key;

	if (keys_find(keys, key_id, &key))
		snprintf(now, sizeof(now), "%s %s %zu", key.caller.role_name,
				 key.enabled ? "enabled" : "disabled", key.secret_length);
	if (keys_loaded(keys) && strcmp(before, now) != 0)
	{
		printf("%s\n", now);
		fflush(stdout);
		strcpy(before, now);
	}
}

int
main(int argc, char **argv)
{
	Keys *keys = keys_new();
	char *failure = NULL;
	KeysSource source;

	if (argc != 5)
		return 2;
	source = (KeysSource){argv[1], argv[2], atoi(argv[4]), report};
	if (!keys_start(keys, &source, &failure))
	{
		fprintf(stderr, "%s\n", failure);
		return 1;
	}
	for (;;)
	{
		struct pollfd input = {.fd = 0, .events = POLLIN};

		tell(keys, argv[3]);
		if (poll(&input, 1, 5) > 0)
			break;
	}
	keys_free(keys);
	return 0;
}
