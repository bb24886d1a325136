/*
 * place.h
 *	  Places for the background workers that make and remove indexes.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_PLACE_H
#define DYNAMO_TABLE_SERVER_WORK_PLACE_H

#include "storage/lock.h"

/* A Place is one that a session has, as locks. */
typedef struct Place
{
	bool taken;
	LOCKTAG database;
	LOCKTAG role;
} Place;

extern int dyn_max_index_workers;

extern void place_settings_init(void);
extern bool place_try(Oid role, Place *place);
extern void place_leave(Place *place);
extern bool place_take_own(void);

#endif
