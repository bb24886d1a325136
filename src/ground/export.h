/*
 * export.h
 *	  What others see of the library: what PostgreSQL looks up by name, and nothing else.
 *
 * Libraries share one space of names, where the first that was loaded wins: a function of ours that
 * others can see may be called instead of their own of that name, and theirs instead of ours.  So
 * symbols are hidden unless they are PGDLLEXPORT.  From 16 on the server has it so; before, it marks
 * nothing.  The Makefile includes this file before all others, so no source file can forget it.
 */
#ifndef DYNAMO_TABLE_EXPORT_H
#define DYNAMO_TABLE_EXPORT_H

#include "postgres.h"

#include "fmgr.h"

#if PG_VERSION_NUM < 160000

#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))

/* As in fmgr.h, where the function itself is not marked. */
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(funcname) \
	extern PGDLLEXPORT Datum funcname(PG_FUNCTION_ARGS); \
	extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_, funcname)(void); \
	const Pg_finfo_record *CppConcat(pg_finfo_, funcname)(void) \
	{ \
		static const Pg_finfo_record my_finfo = {1}; \
		return &my_finfo; \
	} \
	extern int no_such_variable

extern PGDLLEXPORT void _PG_init(void);

#endif

#endif
