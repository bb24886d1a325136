/*
 * target.c
 *	  What a procedure makes or removes: a global index, or time to live.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/rel.h"

#include "server/errors.h"
#include "services/index/index.h"

/* Names the index; time to live has a name too, for its btree. */
void
index_build_name(IndexBuild *work, ItemSpan name)
{
	work->name = name;
	work->index = span_string(name);
	work->procedure.what = work->ttl ? "time to live" : psprintf("index \"%s\"", work->index);
}

/*
 * Returns what the table has of it.  It may be gone after each transaction: nothing keeps the
 * table's owner from replacing the derive trigger by plain SQL.
 */
const DynIndex *
index_build_find(const IndexBuild *work, const DynTable *table)
{
	const DynIndex *index = work->ttl ? table->ttl : dyn_find_index(table, work->name);
	const DynVector *vector =
		work->ttl || index != NULL ? NULL : dyn_find_vector(table, work->name);

	if (vector != NULL)
		return &vector->index;
	if (index == NULL)
		index_build_fail_dropped(work);
	return index;
}

/* Returns its status in a shape, which is there to be changed, or NULL if the shape has none. */
DynIndexStatus *
index_build_status(const IndexBuild *work, const DynShape *shape)
{
	DynVectorSpec *vector = work->ttl ? NULL : dyn_shape_vector(shape, work->name);
	DynIndexSpec *spec;

	if (vector != NULL)
		return &vector->index.status;
	if (work->ttl)
		return shape->settings.ttl.len > 0 ? (DynIndexStatus *) &shape->settings.ttl_status : NULL;
	spec = dyn_shape_index(shape, work->name);
	return spec == NULL ? NULL : &spec->status;
}

/*
 * Raises ERRCODE_DYN_RESOURCE_NOT_FOUND: the index, or time to live, is not declared any more.
 * Does not return.
 */
void
index_build_fail_dropped(const IndexBuild *work)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
					errmsg("%s of table \"%s\" was dropped meanwhile", work->procedure.what,
						   work->procedure.table)));
}

/* Takes it from a shape. */
void
index_build_forget(const IndexBuild *work, DynShape *shape)
{
	if (index_build_status(work, shape) == NULL)
		index_build_fail_dropped(work);
	if (!work->ttl)
	{
		shape->indexes = list_delete_ptr(shape->indexes, dyn_shape_index(shape, work->name));
		return;
	}
	shape->settings.ttl = (ItemSpan){NULL, 0};
	shape->settings.ttl_status = DYN_INDEX_ACTIVE;
	shape->settings.hide_expired = false;
}

/* Returns the statement that builds its btree, or NULL if another one serves as that. */
char *
index_build_btree_sql(const IndexBuild *work, const DynShape *shape, Relation rel,
					  bool concurrently)
{
	char *name = dyn_index_relation_name(RelationGetNamespace(rel), RelationGetRelationName(rel),
										 work->name);

	return work->ttl
			   ? dyn_shape_ttl_sql(shape, name, concurrently)
			   : dyn_shape_index_sql(shape, dyn_shape_index(shape, work->name), name, concurrently);
}
