/*
 * extension.h
 *	  The schemas that the extension's objects are in.
 *
 * Types, operators, and what users call are in the extension's own schema.  What only the extension
 * itself needs is in DYN_INTERNAL, whose name is fixed.  That schema is a member of the extension:
 * CREATE EXTENSION makes it, and fails if there is another one of that name.
 */
#ifndef DYNAMO_TABLE_SERVER_EXTENSION_H
#define DYNAMO_TABLE_SERVER_EXTENSION_H

/* This stands in SQL text, and needs no quotes. */
#define DYN_INTERNAL "dynamo_internal"

extern char *extension_version_of(const char *name, Oid *schema);
extern char *extension_version(void);
extern bool extension_installed(void);
extern bool extension_lock(bool wait);
extern void extension_keep_schema(Oid schema);
extern const char *extension_keep_own_schema(void);
extern bool extension_has(Oid class, Oid object, Oid schema);
extern const char *extension_schema(void);
extern Oid extension_relation(const char *extension, const char *name);

#endif
