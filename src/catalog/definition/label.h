/*
 * label.h
 *	  Declarations about a table: its security label of provider "dynamo_table".
 *
 * A label is a JSON object, like
 *
 *		{"entities": [{"entity": "Project", …}, …],
 *		 "access_patterns": [{"pattern": "projects_of_org", …}, …],
 *		 "migrations": [{"migration": "shop", …}, …],
 *		 "settings": {"deletion_protection": true, "tags": {"team": "a"}, …}}
 *
 * It is transactional, dumped with the table, kept when the table is renamed, and dropped with it.
 * Changing it takes a ShareUpdateExclusiveLock: readers and writers do not wait.  So nothing that
 * running writers must obey may depend on a label alone.
 *
 * All users can read labels.  The table's owner can write labels by hand, so a well-formed label
 * may still be invalid: the call that needs a label checks it.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_LABEL_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_LABEL_H

#include "nodes/pg_list.h"

#include "item/item.h"

#define LABEL_PROVIDER "dynamo_table"

#define LABEL_ENTITIES "entities"
#define LABEL_PATTERNS "access_patterns"
#define LABEL_MIGRATIONS "migrations"
#define LABEL_SETTINGS "settings"

/* A LabelMember may be an unknown one, which is kept: a later version may have written it. */
typedef struct LabelMember
{
	ItemSpan name;
	const char *json;
} LabelMember;

/* Called once by _PG_init(). */
extern void label_init(void);

/* These results are copied into the current memory context. */
extern List *label_read(Oid relid); /* of LabelMember */
extern char *label_text(Oid relid);
extern List *label_elements(const char *json, const char *name); /* of char * */
extern const char *label_member(List *members, const char *name); /* NULL: it is not there */

/* The caller still holds the lock under which it has read what it changes. */
extern void label_set_member(Oid relid, const char *name, const char *json); /* NULL: remove it */

extern List *label_tables(void); /* of Oid: all tables with a label */

#endif
