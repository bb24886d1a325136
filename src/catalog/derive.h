/*
 * derive.h
 *	  The derive trigger, by whose function a table of ours is recognized.
 */
#ifndef DYNAMO_TABLE_CATALOG_DERIVE_H
#define DYNAMO_TABLE_CATALOG_DERIVE_H

#include "fmgr.h"

extern PGDLLEXPORT Datum dyn_derive_keys(PG_FUNCTION_ARGS);

#endif
