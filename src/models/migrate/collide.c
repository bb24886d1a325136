/*
 * collide.c
 *	  Whether two rows can make one item.
 *
 * Most often the templates of the key prove that they cannot: the values can be read back from the
 * key, and among them are the columns by which rows differ.  Only where they do not, all rows are
 * read.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "models/migrate/collide.h"
#include "server/extension.h"
#include "server/sql.h"

/* This is more than a step has rows, so that the places of all steps have one order. */
#define STEP_PLACES (INT64CONST(1) << 40)

/*
 * Proofs
 */

/* Returns whether different values of a column become different values of the attribute. */
static bool
keeps_differences(const MigrationStep *step, const StepAttribute *attribute)
{
	Form_pg_attribute column = TupleDescAttr(step->source.desc, attribute->column - 1);
	const ValueType *type = &attribute->attribute->type;

	if (column->atttypid == type->sql)
		return type->typmod < 0 || type->typmod == column->atttypmod;
	switch (column->atttypid)
	{
		case INT2OID:
			return type->sql == INT4OID || type->sql == INT8OID || type->sql == TEXTOID ||
				   (type->sql == NUMERICOID && type->typmod < 0);
		case INT4OID:
			return type->sql == INT8OID || type->sql == TEXTOID ||
				   (type->sql == NUMERICOID && type->typmod < 0);
		case INT8OID:
			return type->sql == TEXTOID || (type->sql == NUMERICOID && type->typmod < 0);
		case BOOLOID:
			return type->sql == TEXTOID || type->sql == INT4OID;
		case VARCHAROID:
		case BPCHAROID:
		case UUIDOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return type->sql == TEXTOID;
		default:
			return type->sql == TEXTOID && get_typtype(column->atttypid) == TYPTYPE_ENUM;
	}
}

static bool
template_uses(const Template *template, ItemSpan attribute)
{
	for (int i = 0; i < template->nparts; i++)
	{
		const TemplatePart *part = &template->parts[i];

		if (part->npath == 1 && item_compare_bytes(part->path[0], attribute) == 0)
			return true;
	}
	return false;
}

/* Returns whether the attribute's value can be told from some key of the table. */
static bool
key_tells(const Entity *entity, ItemSpan attribute)
{
	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *key = &entity->keys[i];
		bool tells = key->of_table;

		for (int k = 0; k < key->ntemplates && tells; k++)
			tells = template_uses(key->templates[k].template, attribute);
		if (tells)
			return true;
	}
	return false;
}

/* Returns whether no item has a key without the attribute. */
bool
step_key_needs(const MigrationStep *step, const EntityAttribute *attribute)
{
	return key_tells(step->entity, attribute->name);
}

/* Returns whether the keys of the table are made by templates whose results can be read back. */
static bool
keys_are_injective(const Entity *entity)
{
	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *key = &entity->keys[i];

		for (int k = 0; key->of_table && k < key->ntemplates; k++)
		{
			const Template *template = key->templates[k].template;

			if (!template->whole && !template_is_injective(template))
				return false;
			for (int other = 0; other < k; other++)
			{
				if (template_overlaps(key->templates[other].template, template))
					return false;
			}
		}
	}
	return true;
}

/* Returns columns whose values can be told from the item's key. */
static Bitmapset *
told_columns(const MigrationStep *step)
{
	Bitmapset *columns = NULL;

	for (int i = 0; i < step->attributes.n; i++)
	{
		const StepAttribute *attribute = &step->attributes.list[i];

		if (attribute->column != InvalidAttrNumber && keeps_differences(step, attribute) &&
			key_tells(step->entity, attribute->attribute->name))
			columns = bms_add_member(columns, attribute->column);
	}
	return columns;
}

/* Returns whether the key of the row can be told from the item's key. */
bool
step_key_is_told(const MigrationStep *step)
{
	Bitmapset *told = told_columns(step);

	if (!keys_are_injective(step->entity))
		return false;
	for (int i = 0; i < step->nkeys; i++)
	{
		if (!bms_is_member(step->keys[i].attnum, told))
			return false;
	}
	return true;
}

/*
 * Returns whether the templates of the table's keys make different keys whenever the attributes in
 * them are different.  False is no proof that they do not.
 */
bool
step_key_is_injective(const MigrationStep *step)
{
	return keys_are_injective(step->entity);
}

/*
 * Returns whether two rows of the step may make the same item.  False is a proof that no two do:
 * the item's key tells the row's key, or the columns of a unique index.
 */
static bool
step_collides_itself(const MigrationStep *step)
{
	if (!keys_are_injective(step->entity))
		return true;
	return !step_key_is_told(step) && !(OidIsValid(step->source.relid) &&
										step_columns_are_unique(&step->source, told_columns(step)));
}

static bool
keys_overlap(const EntityKey *a, const EntityKey *b)
{
	for (int i = 0; i < a->ntemplates; i++)
	{
		for (int k = 0; k < b->ntemplates; k++)
		{
			const Template *one = a->templates[i].template;
			const Template *other = b->templates[k].template;

			if (one->whole || other->whole || template_overlaps(one, other))
				return true;
		}
	}
	return false;
}

/*
 * Returns whether a row of one step and a row of another one may make the same item.  False is a
 * proof that none do: the templates of a key of the table have no string in common.
 */
bool
steps_may_collide(const MigrationStep *a, const MigrationStep *b)
{
	for (int i = 0; i < a->entity->nkeys; i++)
	{
		/* keys of the table come first, in its order, in each entity */
		if (a->entity->keys[i].of_table && i < b->entity->nkeys &&
			!keys_overlap(&a->entity->keys[i], &b->entity->keys[i]))
			return false;
	}
	return true;
}

/*
 * Returns whether a row of the step may make the item of any other row of the migration.  False is
 * a proof that none does.
 */
static bool
step_may_collide(const Migration *migration, const MigrationStep *step)
{
	for (int i = 0; i < migration->nsteps; i++)
	{
		const MigrationStep *other = &migration->steps[i];

		if (other == step ? step_collides_itself(step) : steps_may_collide(step, other))
			return true;
	}
	return false;
}

/*
 * Looking
 */

/*
 * Selects all rows of the steps that may collide, by the keys that they make; NULL: there are none.
 */
static char *
collision_select(const Migration *migration)
{
	StringInfoData sql;
	bool any = false;

	initStringInfo(&sql);
	appendStringInfoString(&sql,
						   "SELECT pg_catalog.array_agg(m.step),"
						   " pg_catalog.array_agg(m.source_row), pg_catalog.array_agg(m.place)"
						   " FROM (");
	for (int i = 0; i < migration->nsteps; i++)
	{
		if (!step_may_collide(migration, &migration->steps[i]))
			continue;
		appendStringInfo(&sql,
						 "%sSELECT i.ordinality OPERATOR(pg_catalog.+) " INT64_FORMAT " AS place,"
						 " i.step, i.source_row, i.key"
						 " FROM " DYN_INTERNAL ".migration_items(%s, %s) WITH ORDINALITY AS i"
						 " WHERE i.key IS NOT NULL",
						 any ? " UNION ALL " : "", i * STEP_PLACES,
						 quote_literal_cstr(migration->name),
						 quote_literal_cstr(migration->steps[i].name));
		any = true;
	}
	appendStringInfo(&sql,
					 ") AS m GROUP BY m.key HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1");
	return any ? sql.data : NULL;
}

static uint64
row_hash(const char *step, const char *row)
{
	char *text = psprintf("%s\n%s", step, row);

	return hash_bytes_extended((const unsigned char *) text, (int) strlen(text), 0);
}

static char **
texts(Datum array, int *n)
{
	Datum *values;
	bool *nulls;
	char **list;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls,
					  n);
	list = palloc(*n * sizeof(char *));
	for (int i = 0; i < *n; i++)
		list[i] = TextDatumGetCString(values[i]);
	return list;
}

/* Returns the first row.  The groups are hashed, so their rows come in any order. */
static int
first_row(Datum array)
{
	Datum *places;
	bool *nulls;
	int n;
	int first = 0;

	deconstruct_array(DatumGetArrayTypeP(array), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &places, &nulls, &n);
	for (int i = 1; i < n; i++)
	{
		if (DatumGetInt64(places[i]) < DatumGetInt64(places[first]))
			first = i;
	}
	return first;
}

typedef struct Found
{
	HTAB *collisions;
	MemoryContext context;
} Found;

/* Adds rows that make one key, of which the first one is migrated. */
static bool
add_rows(void *arg, const SPITupleTable *groups, uint64 group)
{
	const Found *found = arg;
	int n;
	char **steps = texts(sql_value(groups, group, 1), &n);
	char **rows = texts(sql_value(groups, group, 2), &n);
	int first = first_row(sql_value(groups, group, 3));

	for (int i = 0; i < n; i++)
	{
		uint64 hash = row_hash(steps[i], rows[i]);
		Collision *collision = hash_search(found->collisions, &hash, HASH_ENTER, NULL);
		int other = i != first ? first : first == 0 ? 1 : 0;

		collision->loses = i != first;
		collision->other = MemoryContextStrdup(
			found->context, strcmp(steps[i], steps[other]) == 0
								? rows[other]
								: psprintf("%s of step \"%s\"", rows[other], steps[other]));
	}
	return true;
}

/*
 * Finds rows that make the same items, in the current memory context, or returns NULL if none can.
 * The caller is connected to SPI, under the active snapshot.
 */
HTAB *
collisions_find(const Migration *migration)
{
	char *sql = collision_select(migration);
	Found found = {.context = CurrentMemoryContext};
	HASHCTL ctl = {
		.keysize = sizeof(uint64), .entrysize = sizeof(Collision), .hcxt = found.context};

	if (sql == NULL)
		return NULL;
	found.collisions =
		hash_create("migration collisions", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	sql_scan(sql_on(InvalidOid, sql), add_rows, &found);
	return found.collisions;
}

/* Returns what a row collides with, or NULL. */
const Collision *
collision_of_row(HTAB *collisions, const char *step, const char *row)
{
	uint64 hash;

	if (collisions == NULL || hash_get_num_entries(collisions) == 0)
		return NULL;
	hash = row_hash(step, row);
	return hash_search(collisions, &hash, HASH_FIND, NULL);
}

/*
 * Returns the collision of a row, or NULL if it has none.  collisions is what collisions_find() has
 * returned, NULL included, and owns the result.
 */
const Collision *
collision_of(HTAB *collisions, const MigrationRow *row)
{
	/* checked first, since most often there are none, and making the name takes long */
	if (collisions == NULL || hash_get_num_entries(collisions) == 0)
		return NULL;
	return collision_of_row(collisions, row->step->name,
							row_name(row->step, row->tuple, row->desc));
}
