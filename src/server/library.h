/*
 * library.h
 *	  Whether the library and the extension's objects in this database fit each other.
 *
 * A package replaces the library under a server that runs, each database is updated by a statement
 * of its own, and a standby or a dump brings objects of any version.  So the two have versions of
 * their own.  Only the first two numbers of a version count, see docs/compatibility.md: the library
 * works with objects of its own version and of those before, from LIBRARY_OLDEST_OBJECTS on.
 */
#ifndef DYNAMO_TABLE_SERVER_LIBRARY_H
#define DYNAMO_TABLE_SERVER_LIBRARY_H

/* A test builds others. */
#ifndef LIBRARY_VERSION
#define LIBRARY_VERSION "0.2.0"
#define LIBRARY_OLDEST_OBJECTS "0.2.0"
#endif

extern void library_check(int level);

#endif
