/*
 * write.h
 *	  Writing the items of a batch.
 */
#ifndef DYNAMO_TABLE_MODELS_MIGRATE_WRITE_H
#define DYNAMO_TABLE_MODELS_MIGRATE_WRITE_H

#include "models/migrate/migrate.h"

extern int write_rows(Relation rel, DynTable *table, MigrationRow *rows, int n);

#endif
