/*
 * user.c
 *	  The user of the system that the program is.
 */
#include "user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Be this user; the one that we are if it has no name.  Only root can. */
bool
become_user(const char *name)
{
	struct passwd *user;

	if (*name == '\0' || geteuid() != 0)
		return true;
	user = getpwnam(name);
	if (user != NULL && initgroups(name, user->pw_gid) == 0 && setgid(user->pw_gid) == 0 &&
		setuid(user->pw_uid) == 0)
		return true;
	fprintf(stderr, "dynamo_gateway: could not become the user \"%s\": %s\n", name,
			user == NULL ? "there is none" : strerror(errno));
	return false;
}
