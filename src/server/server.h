/*
 * server.h
 *	  What every layer uses.  The Makefile includes this file before all others, so that no source
 *	  file can omit it.
 *
 * This file limits the symbols that the library exports to those that PostgreSQL looks up by name.
 * Loaded libraries share one namespace, in which the library that was loaded first wins: without
 * this, a function of the extension could be called in place of another library's function of the
 * same name, and vice versa.  So symbols are hidden unless they are PGDLLEXPORT.  From 16 on the
 * server does this itself; 15 does not.
 *
 *		compat.h			what differs between PostgreSQL 15, 16, 17, 18 and 19
 *		errors.c			the SQLSTATEs, and errors in the words of DynamoDB
 *		span.c				bytes that belong to something else, and how messages show them
 *		words.c				what DynamoDB says of an error, beside the extension's own message
 *		analyse.c			what a query says, whose text may be anybody's
 *		attempt.c			steps whose errors undo them alone
 *		invalidate.c		invalidation: one callback for all caches of the library
 *		object_access.c		accesses to objects of the catalogs: one hook for all who are told
 *		kept.c				what a backend keeps of relations, made anew after they have changed
 *		call_site.h			whether a function may keep something from one call to the next
 *		catalogs.c			rows of the catalogs that have an OID, and names of relations for SQL
 *		sql.c				statements of the extension's own: what they may name, and the values that they find
 *		extension.c			the schema that the extension is in, and its version
 *		library.c			whether the library fits that version
 *		arguments.c			arguments of SQL functions; choices and numbers in them; texts that they return
 *		chart.c				charts for people, as text or in Markdown
 *		text_cache.c		what a backend has parsed, kept by its text
 *		name.c				names that tables and indexes may have
 *		citus.c				what Citus says of a relation
 *		sent_settings.c		settings that Citus sends over connections of other roles
 *		pgvector.c			what is used of the extension "vector"
 *		progress.c			when a NOTICE about the progress of long work is due
 *		mark.c				marks in the WAL for readers of changes, and their signatures
 *		quiet.c				messages of the server that are not logged
 *		notification.c		notifications of the extension's own
 */
#ifndef DYNAMO_TABLE_SERVER_SERVER_H
#define DYNAMO_TABLE_SERVER_SERVER_H

#include "postgres.h"

#include "fmgr.h"

#include "server/library.h"

#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
extern PGDLLEXPORT void _PG_init(void);
#endif

/*
 * This is as in fmgr.h, of which 15 does not mark the function itself.  Each session has the server
 * ask for the record before it calls the function for the first time.
 */
#define FUNCTION_RECORD(funcname, check) \
	extern PGDLLEXPORT Datum funcname(PG_FUNCTION_ARGS); \
	extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_, funcname)(void); \
	const Pg_finfo_record *CppConcat(pg_finfo_, funcname)(void) \
	{ \
		static const Pg_finfo_record my_finfo = {1}; \
		check; \
		return &my_finfo; \
	} \
	extern int no_such_variable

#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(funcname) FUNCTION_RECORD(funcname, library_check(ERROR))

/* This serves what works with objects of any version, and must: VACUUM and DROP of a table. */
#define PG_FUNCTION_INFO_ANY_VERSION(funcname) FUNCTION_RECORD(funcname, (void) 0)

#endif
