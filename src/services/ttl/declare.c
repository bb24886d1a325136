/*
 * declare.c
 *	  Tables with time to live, and without: their definition.
 *
 * It is made and removed like a global index: declared under a lock that keeps all others out for
 * a moment, so that every write fills its column from then on; then the other items are filled in,
 * and the btree is built.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/rel.h"

#include "server/errors.h"
#include "server/work/service.h"
#include "services/index/index.h"
#include "services/ttl/ttl.h"

/* Its btree is named after the table and this. */
#define NAME "ttl"

/*
 * Sets up work, which is all zeros, as work on time to live instead of an index.  procedure is the
 * name of what the user called; the pointer is kept.
 */
void
ttl_begin_work(IndexBuild *work, const char *procedure)
{
	work->procedure.name = procedure;
	work->ttl = true;
	index_build_name(work, item_span(NAME));
}

/* Another attribute comes only after the first was disabled (docs/semantics.md, TT13). */
void
ttl_check_attribute(const DynTable *table, ItemSpan attribute)
{
	if (item_compare_bytes(table->ttl->name, attribute) != 0)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "TimeToLive is active on a different AttributeName: current AttributeName is "
				  "%.*s",
				  (int) table->ttl->name.len, table->ttl->name.data);
}

/* An unfinished declaration of the same attribute may be continued. */
void
ttl_check_enable(const DynTable *table, ItemSpan attribute)
{
	dyn_settings_check_ttl(attribute);
	if (table->ttl == NULL)
		return;
	ttl_check_attribute(table, attribute);
	if (table->ttl->status == DYN_INDEX_ACTIVE)
		dyn_error(ERRCODE_DYN_VALIDATION, "TimeToLive is already enabled");
}

/*
 * Raises ERRCODE_DYN_VALIDATION if the table has no time to live.  One that is being enabled or
 * disabled is no error.
 */
void
ttl_check_disable(const DynTable *table)
{
	if (table->ttl == NULL)
		dyn_error(ERRCODE_DYN_VALIDATION, "TimeToLive is already disabled");
}

static DynShape *
shape_with(Relation rel, const DynTable *table, ItemSpan attribute, DynIndexStatus status)
{
	DynShape *shape = dyn_shape_of(rel, table);

	shape->settings.ttl = attribute;
	shape->settings.ttl_status = status;
	dyn_shape_check(shape);
	return shape;
}

/* Checks whether a table could be declared, before a lock is taken for it. */
void
ttl_check_declaration(Relation rel, const DynTable *table, ItemSpan attribute)
{
	index_build_declaration(rel, table, shape_with(rel, table, attribute, DYN_INDEX_CREATING));
}

/*
 * Declares it in a transaction that has locked the table so that no other session uses it, and is
 * connected to SPI.  Closes the relation.  Returns true if nothing is left to do: the table is
 * empty.
 */
bool
ttl_declare(IndexBuild *work, Relation rel, const DynTable *table, ItemSpan attribute,
			bool hide_expired)
{
	bool empty = index_build_is_empty(rel, table);
	bool has_btree = table->ttl != NULL && OidIsValid(table->ttl->relid);
	DynShape *shape =
		shape_with(rel, table, attribute, empty ? DYN_INDEX_ACTIVE : DYN_INDEX_CREATING);
	char *btree = index_build_btree_sql(work, shape, rel, false);

	shape->settings.hide_expired = hide_expired;
	ttl_forget_state(table);
	index_build_declare(rel, table, shape, empty);
	if (empty && !has_btree)
		dyn_execute(btree);
	if (empty)
		launcher_wake();
	return empty;
}

/*
 * Removes it from a table that has it, and that no other session can change; closes the relation.
 */
void
ttl_set_hide(Relation rel, const DynTable *table, bool hide_expired)
{
	DynShape *shape = dyn_shape_of(rel, table);

	shape->settings.hide_expired = hide_expired;
	relation_close(rel, NoLock);
	dyn_shape_write_trigger(shape);
}
