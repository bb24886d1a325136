/*
 * collide.h
 *	  Rows that make one item: whether there can be any, and which there are.
 */
#ifndef DYNAMO_TABLE_MODELS_MIGRATE_COLLIDE_H
#define DYNAMO_TABLE_MODELS_MIGRATE_COLLIDE_H

#include "utils/hsearch.h"

#include "models/migrate/migrate.h"

/*
 * This is a row that makes the same item as another row.  Of such rows the first one, in the order
 * of steps and keys, is migrated, and the others lose.
 */
typedef struct Collision
{
	uint64 hash; /* of step and row */
	bool loses;
	const char *other; /* the row that it collides with */
} Collision;

/* Returns false only as a proof. */
extern bool steps_may_collide(const MigrationStep *a, const MigrationStep *b);
extern bool step_key_is_told(const MigrationStep *step);
extern bool step_key_needs(const MigrationStep *step, const EntityAttribute *attribute);
extern bool step_key_is_injective(const MigrationStep *step);

extern HTAB *collisions_find(const Migration *migration);
extern const Collision *collision_of_row(HTAB *collisions, const char *step, const char *row);
extern const Collision *collision_of(HTAB *collisions, const MigrationRow *row);

#endif
