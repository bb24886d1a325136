/*
 * enable.c
 *	  dyn_enable_stream(), dyn_alter_stream() and dyn_disable_stream(): streams of tables.
 *
 * A stream is declared in the table's settings, under a lock that keeps writers out until the
 * transaction ends.  So no transaction has changes on both sides of it in the WAL: what is
 * committed after it has what the view needs, and its reader finds the stream in the catalogs as
 * they were then.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/definition/arn.h"
#include "catalog/resource.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/mark.h"
#include "server/sql.h"
#include "server/work/owned.h"
#include "services/stream/nodes.h"
#include "services/stream/stream.h"

/*
 * Returns the lock that a change of the stream needs: the strongest if the replica identity changes
 * too.  view is that of one that is to be enabled, or -1.
 */
LOCKMODE
stream_lock_mode(ItemSpan name, int view)
{
	DynTable *table;
	Relation rel = resource_open(name, &table);
	bool identity = view >= 0 ? !stream_identity_suffices(rel, (DynStreamView) view)
							  : table->settings.identity.len > 0;

	relation_close(rel, AccessShareLock);
	return identity ? AccessExclusiveLock : ShareRowExclusiveLock;
}

static void
check_table(Relation rel)
{
	rights_require_plain_table(rel, "change streams");
	if (!RelationNeedsWAL(rel) || rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("table \"%s\" cannot have a change stream", RelationGetRelationName(rel)),
				 errdetail("Changes of %s tables are not in the WAL.",
						   rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP ? "temporary"
																			  : "unlogged")));
}

/* Returns whether its stream has the shards of the table, and each is collected where it is. */
static bool
is_distributed(ItemSpan name)
{
	DynTable *table;
	Relation rel = resource_open(name, &table);
	bool distributed = table->distributed;

	relation_close(rel, AccessShareLock);
	return distributed;
}

/* A distributed table can have a stream if all nodes are ready, and of its own shards. */
static void
check_nodes(ItemSpan name, int shards)
{
	DynTable *table;
	Relation rel = resource_open(name, &table);
	Oid relid = RelationGetRelid(rel);

	rights_require_owner(rel);
	relation_close(rel, AccessShareLock);
	if (shards > 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("the stream of a distributed table has no number of shards"),
						errdetail("Each shard of the table is a shard of its stream.")));
	stream_nodes_require(relid);
}

/*
 * Keeps the slot for the owner of a table: it cannot be replaced or removed until the transaction
 * ends.  So no stream is without a slot, and a stream that is disabled when the slot is replaced
 * was disabled before the new slot begins.
 */
static void
keep_slot(ItemSpan name)
{
	DynTable *table;
	Relation rel = resource_open(name, &table);

	rights_require_owner(rel);
	relation_close(rel, AccessShareLock);
	if (!stream_try_lock(STREAM_LOCK_LIFE, ShareLock, false))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
				 errmsg("change streams are being set up, reset or torn down by another session"),
				 errhint("Try again when it is done.")));
}

/* Forgets past streams that cannot have records any more; the last one is always described. */
static void
forget_expired(DynSettings *settings)
{
	int n = 0;

	for (int i = 0; i < settings->nstreams; i++)
	{
		if (i == settings->nstreams - 1 || stream_is_kept(&settings->streams[i]))
			settings->streams[n++] = settings->streams[i];
	}
	settings->nstreams = n;
}

/*
 * Returns a new label: those of a table grow even if the clock is set back.  A gap concerns the
 * streams with labels before it was noticed, so this one gets a later label than all that there
 * are.
 */
static int64
new_label(const DynSettings *settings)
{
	int64 label = stream_milliseconds(GetCurrentTimestamp());
	bool isnull;
	Datum noticed;

	if (settings->nstreams > 0)
		label = Max(label, settings->streams[settings->nstreams - 1].label + 1);
	owned_execute(STREAM_GAPS_TABLE,
				  "SELECT pg_catalog.max(noticed) FROM " DYN_INTERNAL "." STREAM_GAPS_TABLE, 0,
				  NULL);
	noticed = sql_nullable(SPI_tuptable, 0, 1, &isnull);
	if (!isnull)
		label = Max(label, stream_milliseconds(DatumGetTimestampTz(noticed)) + 1);
	SPI_freetuptable(SPI_tuptable);
	return label;
}

static void
add_stream(DynSettings *settings, int64 label, DynStreamView view, int shards)
{
	DynStream *streams = palloc((settings->nstreams + 1) * sizeof(DynStream));

	if (settings->nstreams > 0)
		memcpy(streams, settings->streams, settings->nstreams * sizeof(DynStream));
	streams[settings->nstreams++] = (DynStream){.label = label, .view = view, .shards = shards};
	settings->streams = streams;
}

/* Closes the relation, which is locked for it; connected to SPI. */
static void
write_stream(Relation rel, const DynShape *shape, const char *identity)
{
	relation_close(rel, NoLock);
	if (identity != NULL)
		dyn_execute(identity);
	dyn_shape_write_trigger(shape);
}

pg_noreturn static void
fail_stream(ItemSpan given, const char *problem)
{
	ItemSpan name = dyn_table_name(given);

	dyn_error(ERRCODE_DYN_VALIDATION, "%s: TableName: %.*s", problem, (int) name.len, name.data);
}

/* The table's stream is the one that is wanted, or it is an error. */
static void
check_same_stream(const DynTable *table, const DynStream *stream, DynStreamView view, int shards)
{
	if (stream->view != view)
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("table \"%s\" has another stream", table->name),
						errdetail("Its view type is %s.", dyn_stream_view_names[stream->view]),
						errhint("Disable it with dyn_disable_stream() first.")));
	if (shards > 0 && shards != stream->shards)
		ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
						errmsg("table \"%s\" has another stream", table->name),
						errdetail("It has %d shards.", stream->shards),
						errhint("Call dyn_alter_stream() to split them.")));
	ereport(NOTICE, (errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("table \"%s\" has the stream already, skipping", table->name)));
}

/*
 * Enables a stream of a view, which is fixed, on a table that has no enabled one
 * (docs/semantics.md, ST04, ST10), or, with if_not_exists, has that one.  Of so many shards, 0: as the
 * setting has it.  Returns the label.
 */
int64
stream_enable(ItemSpan name, DynStreamView view, int shards, bool if_not_exists)
{
	LOCKMODE mode = stream_lock_mode(name, (int) view);
	const DynStream *enabled;
	const char *identity;
	DynTable *table;
	Relation rel;
	DynShape *shape;
	int64 label;

	PreventCommandDuringRecovery("dyn_enable_stream");
	if (is_distributed(name))
		check_nodes(name, shards);
	keep_slot(name);
	(void) extension_lock(true);
	rel = resource_lock(name, mode, &table);
	check_table(rel);
	enabled = dyn_settings_stream(&table->settings);
	if (enabled != NULL && !if_not_exists)
		fail_stream(name, "Table already has an enabled stream");
	if (enabled != NULL)
	{
		check_same_stream(table, enabled, view, shards);
		relation_close(rel, NoLock);
		return enabled->label;
	}
	shape = dyn_shape_of(rel, table);
	SPI_connect();
	stream_require_slot_to_enable();
	label = new_label(&shape->settings);
	add_stream(&shape->settings, label, view,
			   table->distributed ? 1
			   : shards > 0       ? shards
								  : dyn_stream_shards);
	forget_expired(&shape->settings);
	identity = stream_identity_change(rel, view, &shape->settings);
	write_stream(rel, shape, identity);
	SPI_finish();
	return label;
}

/*
 * Writes the settings where open shards are closed.  The mark comes before the catalogs change: its
 * decoding must find these shards in them.
 */
static void
write_closing(Relation rel, const DynShape *shape, const char *identity)
{
	DynMarked marked;

	dyn_mark_start(&marked, DYN_MARK_CLOSING, RelationGetRelid(rel));
	write_stream(rel, shape, identity);
	dyn_mark_end(&marked);
}

static void
check_split(Relation rel, const DynStream *stream, int shards)
{
	if (shards <= stream->shards || shards % stream->shards != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("the number of shards of table \"%s\" cannot be changed from %d to %d",
						RelationGetRelationName(rel), stream->shards, shards),
				 errdetail("Shards are split into others, so their number can only be multiplied, "
						   "up to %d.",
						   DYN_MAX_SHARDS),
				 errhint("Disable the stream and enable another one, which may have any number of "
						 "shards.")));
}

/*
 * Splits the shards of the enabled stream into a multiple of them (stream_shards.h).  Who reads a shard
 * comes to its end, and goes on with its children.
 */
static void
split_shards(ItemSpan name, int shards)
{
	DynTable *table;
	Relation rel;
	DynShape *shape;
	DynSettings *settings;
	DynStream *stream;

	PreventCommandDuringRecovery("dyn_alter_stream");
	if (is_distributed(name))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the shards of a distributed table's stream cannot be split"),
				 errdetail("Each shard of the table is a shard of its stream."),
				 errhint("Split shards of the table by Citus, and the stream's are split too.")));
	keep_slot(name);
	rel = resource_lock(name, ShareRowExclusiveLock, &table);
	check_table(rel);
	shape = dyn_shape_of(rel, table);
	settings = &shape->settings;
	if (dyn_settings_stream(settings) == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("table \"%s\" has no enabled stream", RelationGetRelationName(rel)),
						errhint("Enable one by dyn_enable_stream.")));
	stream = &settings->streams[settings->nstreams - 1];
	check_split(rel, stream, shards);
	/* a multiple of each number before, so there is room for it */
	stream->earlier[stream->nearlier++] = stream->shards;
	stream->shards = shards;
	SPI_connect();
	stream_require_slot();
	write_closing(rel, shape, NULL);
	SPI_finish();
}

/* Its records can be read as long as they are kept. */
void
stream_disable(ItemSpan name)
{
	LOCKMODE mode = stream_lock_mode(name, -1);
	const char *identity;
	DynTable *table;
	Relation rel;
	DynShape *shape;
	DynSettings *settings;
	DynStream *last;

	PreventCommandDuringRecovery("dyn_disable_stream");
	keep_slot(name);
	rel = resource_lock(name, mode, &table);
	shape = dyn_shape_of(rel, table);
	settings = &shape->settings;
	if (dyn_settings_stream(settings) == NULL)
		fail_stream(name, "Table has no stream to disable");
	last = &settings->streams[settings->nstreams - 1];
	last->disabled = Max(last->label, stream_milliseconds(GetCurrentTimestamp()));
	identity = stream_identity_restore(rel, last->view, settings);
	settings->identity = (ItemSpan){0};
	forget_expired(settings);
	SPI_connect();
	write_closing(rel, shape, identity);
	SPI_finish();
}

static ItemSpan
name_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("table name must not be null")));
	return text_span(PG_GETARG_TEXT_PP(0));
}

static int
shards_argument(int64 shards)
{
	if (shards < 1 || shards > DYN_MAX_SHARDS)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("shards must be from 1 to %d", DYN_MAX_SHARDS)));
	return (int) shards;
}

/* dyn_enable_stream(table_name, view_type, shards, if_not_exists) */
PG_FUNCTION_INFO_V1(dyn_enable_stream);
Datum
dyn_enable_stream(PG_FUNCTION_ARGS)
{
	ItemSpan name = name_argument(fcinfo);
	DynStreamView view;
	int shards = 0;
	int64 label;

	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("view type must not be null")));
	view = (DynStreamView) option_choice("view type", text_span(PG_GETARG_TEXT_PP(1)),
										 dyn_stream_view_names);
	if (!PG_ARGISNULL(2))
		shards = shards_argument(PG_GETARG_INT64(2));
	label = stream_enable(name, view, shards, argument_flag(fcinfo, 3, false));
	PG_RETURN_TEXT_P(cstring_to_text(dyn_stream_arn(dyn_table_name(name), label)));
}

/* dyn_alter_stream(table_name, shards) */
PG_FUNCTION_INFO_V1(dyn_alter_stream);
Datum
dyn_alter_stream(PG_FUNCTION_ARGS)
{
	ItemSpan name = name_argument(fcinfo);

	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("shards must not be null")));
	split_shards(name, shards_argument(PG_GETARG_INT64(1)));
	PG_RETURN_VOID();
}

/* dyn_disable_stream(table_name) */
PG_FUNCTION_INFO_V1(dyn_disable_stream);
Datum
dyn_disable_stream(PG_FUNCTION_ARGS)
{
	stream_disable(name_argument(fcinfo));
	PG_RETURN_VOID();
}
