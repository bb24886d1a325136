/*
 * object_access.h
 *	  Commands that touch objects of the catalogs, as the server's hook tells of them.
 */
#ifndef DYNAMO_TABLE_SERVER_OBJECT_ACCESS_H
#define DYNAMO_TABLE_SERVER_OBJECT_ACCESS_H

#include "catalog/objectaccess.h"

/* An ObjectAccess is told of each access; part is the number of a column, or 0. */
typedef void (*ObjectAccess)(ObjectAccessType access, Oid class, Oid object, int part);

/* Subscribes from now on and for the rest of the session.  Called by what _PG_init() calls. */
extern void object_access_subscribe(ObjectAccess told);

#endif
