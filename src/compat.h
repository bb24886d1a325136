/*
 * compat.h
 *	  What differs between the supported majors, one shim each, with the reason.
 */
#ifndef DYNAMO_TABLE_COMPAT_H
#define DYNAMO_TABLE_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "dynamo_table supports PostgreSQL 15 to 18"
#endif

#define PG16_GE (PG_VERSION_NUM >= 160000)
#define PG17_GE (PG_VERSION_NUM >= 170000)
#define PG18_GE (PG_VERSION_NUM >= 180000)

/* 16 moved the varlena macros out of postgres.h. */
#if PG16_GE
#include "varatt.h"
#endif

/* 16 brought soft errors; before, every error is raised at once. */
#if PG16_GE
#include "nodes/miscnodes.h"
#else
struct Node;
#define errsave(context, ...) ereport(ERROR, __VA_ARGS__)
#endif

/* 18 puts it first, and dropped the old name. */
#if !PG18_GE
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 18 can name a deferrable one as well, which no ON CONFLICT can use. */
#if PG18_GE
#define primary_key_index(rel) RelationGetPrimaryKeyIndex((rel), false)
#else
#define primary_key_index(rel) RelationGetPrimaryKeyIndex(rel)
#endif

/* 16 has one function for the owners of all kinds of objects. */
#if !PG16_GE
#define object_ownercheck(class, object, role) pg_class_ownercheck((object), (role))
#endif

/* 17 lets a background worker connect as a role that may not log in. */
#if PG17_GE
#define WORKER_CONNECTION_FLAGS BGWORKER_BYPASS_ROLELOGINCHECK
#else
#define WORKER_CONNECTION_FLAGS 0
#endif

/* 18 runs every portal once. */
#if PG18_GE
#define portal_run(portal, receiver, completion) \
	PortalRun((portal), FETCH_ALL, true, (receiver), (receiver), (completion))
#else
#define portal_run(portal, receiver, completion) \
	PortalRun((portal), FETCH_ALL, true, true, (receiver), (receiver), (completion))
#endif

/* 17 can flush a message that is not transactional. */
#if PG17_GE
#define log_logical_message(prefix, text, len) \
	LogLogicalMessage((prefix), (text), (len), true, false)
#else
#define log_logical_message(prefix, text, len) LogLogicalMessage((prefix), (text), (len), true)
#endif

/* 18 counts what a scan of an index does. */
#if PG18_GE
#define index_begin(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), NULL, (nkeys), 0)
#else
#define index_begin(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), (nkeys), 0)
#endif

/* 17 lets an extension name what it waits for. */
#if PG17_GE
#define custom_wait_event(name) WaitEventExtensionNew(name)
#else
#define custom_wait_event(name) PG_WAIT_EXTENSION
#endif

/* 17 lets the caller own the lexer's struct. */
#if PG17_GE
#define make_json_lexer(json, len) makeJsonLexContextCstringLen(NULL, (json), (len), PG_UTF8, false)
#else
#define make_json_lexer(json, len) \
	makeJsonLexContextCstringLen((char *) (json), (len), PG_UTF8, false)
#endif

#endif
