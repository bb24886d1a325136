/*
 * copy.h
 *	  Copies of other items' attributes, as a refresh makes them again.
 */
#ifndef DYNAMO_TABLE_MODELS_ENTITY_COPY_H
#define DYNAMO_TABLE_MODELS_ENTITY_COPY_H

#include "models/entity/entity.h"

typedef struct EntityCopies EntityCopies;

extern EntityCopies *copies_open(Relation rel, DynTable *table, const Entity *entity);
extern void copies_note(EntityCopies *copies, const DynItem *stored);
extern void copies_read(EntityCopies *copies);
extern DynItem *copies_shown(EntityCopies *copies, const DynItem *stored);

#endif
