/*
 * write.h
 *	  Writing the items of a batch.
 */
#ifndef DYNAMO_TABLE_MIGRATE_WRITE_H
#define DYNAMO_TABLE_MIGRATE_WRITE_H

#include "migrate/migrate.h"

extern int write_rows(Relation rel, DynTable *table, MigrationRow *rows, int n);

#endif
