/*
 * search_shard.c
 *	  nearest(): the items in a shard whose vectors are nearest, or their entries, as a sample.
 *
 * A search of a distributed table is one statement, which Citus sends to all shards at the same
 * time, or to one:
 *
 *		SELECT … FROM items TABLESAMPLE dynamo_internal.nearest(definition, vector, condition, …)
 *
 * On the node of a shard the sample is what the store finds among the shard's entries, by the same
 * code as in the entries of a table of one node.  The method is for everybody who may read all
 * columns and all rows of what is sampled: policies, which are applied to what was found, would
 * tell of what they hide.
 */
#include "postgres.h"

#include "access/tsmapi.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "parser/parse_relation.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "actions/search.h"
#include "catalog/derive.h"
#include "catalog/key.h"
#include "catalog/rights.h"
#include "server/compat.h"
#include "server/errors.h"

/* What the planner takes it for: Citus plans the rest. */
#define EXPECTED_FOUND 10

typedef struct Nearest
{
	MemoryContext context; /* of what is found, until the next scan */
	StoreFound *found;
	int n;
	int next;
	bool given; /* the one before the next */
} Nearest;

static void
sample_size(PlannerInfo *root, RelOptInfo *rel, List *arguments, BlockNumber *pages, double *tuples)
{
	*pages = 1;
	*tuples = EXPECTED_FOUND;
}

pg_noreturn static void
fail_unfit(Relation rel)
{
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
					errmsg("table \"%s\" does not have the entries of such a vector index",
						   RelationGetRelationName(rel))));
}

/* Raises an error unless the role that samples a relation may read all of it. */
static void
check_rights(const SampleScanState *node)
{
	Relation rel = node->ss.ss_currentRelation;
	Oid relid = RelationGetRelid(rel);
	EState *estate = node->ss.ps.state;
	RangeTblEntry *entry = exec_rt_fetch(((const Scan *) node->ss.ps.plan)->scanrelid, estate);
	const ReadChecks *checks = read_checks(estate, entry);
	Oid role;

	/* of a child those of its parent are checked */
	if (checks == NULL)
		fail_unfit(rel);
	role = OidIsValid(checks->checkAsUser) ? checks->checkAsUser : GetUserId();
	if (!rights_to_read(relid, role))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(rel));
	if (check_enable_rls(relid, role, true) == RLS_ENABLED)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("table \"%s\" cannot be sampled under row-level security",
							   RelationGetRelationName(rel)),
						errhint("Call dyn_search.")));
}

static void
init_sample(SampleScanState *node, int flags)
{
	Nearest *nearest = palloc0(sizeof(Nearest));

	check_rights(node);
	nearest->context = AllocSetContextCreate(node->ss.ps.state->es_query_cxt, "nearest items",
											 ALLOCSET_DEFAULT_SIZES);
	node->tsm_state = nearest;
}

/* Sets the type of a key of items by its column. */
static void
set_key(Relation rel, int attnum, DynKey *key)
{
	static const ItemType types[] = {ITEM_S, ITEM_N, ITEM_B};
	Oid type = TupleDescAttr(RelationGetDescr(rel), attnum - 1)->atttypid;

	for (int i = 0; i < (int) lengthof(types); i++)
	{
		if (dyn_key_column_type(types[i]) == type)
		{
			key->type = types[i];
			return;
		}
	}
	fail_unfit(rel);
}

/* Sets a table of items, and its vector index, as far as entries tell of them. */
static void
set_entries(Relation rel, const DynVectorSpec *spec, DynTable *table, DynVector *vector)
{
	TupleDesc desc = RelationGetDescr(rel);
	Oid type;

	table->relid = RelationGetRelid(rel);
	table->name = RelationGetRelationName(rel);
	table->nkeys = desc->natts - (DYN_ENTRY_KEY_COLUMN - 1) - (spec->hash.len > 0 ? 1 : 0);
	if (table->nkeys < 1 || table->nkeys > DYN_MAX_KEYS)
		fail_unfit(rel);
	type = TupleDescAttr(desc, DYN_FILTERS_COLUMN - 1)->atttypid;
	if (!OidIsValid(type) || !dyn_is_item_type(type))
		fail_unfit(rel);
	table->item_type = type;
	table->keys = palloc0(table->nkeys * sizeof(DynKey));
	for (int i = 0; i < table->nkeys; i++)
		set_key(rel, DYN_ENTRY_KEY_COLUMN + i, &table->keys[i]);
	dyn_vector_set(table, spec, vector);
	vector->relid = vector->index.relid = table->relid;
	dyn_vector_check_fits(table, vector, rel);
}

static void
set_condition(StoreSearch *search, const text *condition, const Jsonb *names, const text *values)
{
	ItemSpan json = text_span(values);
	const DynItem *item = item_parse(json.data, (int) json.len, ITEM_SYNTAX_VALUES, NULL);

	search_set_condition(search, VARSIZE_ANY_EXHDR(condition) == 0
									 ? NULL
									 : expr_condition(expr_request(names, item),
													  EXPR_SEARCH_CONDITION, text_span(condition)));
}

/* Sets what is searched: a shard of items, or of entries. */
static void
set_searched(Relation rel, const DynVectorSpec *spec, StoreSearch *search)
{
	DynTable *items = dyn_schema_shard(rel);
	const DynVector *vector = items == NULL ? NULL : dyn_find_vector(items, spec->index.name);

	if (vector == NULL)
	{
		set_entries(rel, spec, search->table, search->vector);
		return;
	}
	store_vector_of_shard(rel, items, vector, search->vector);
	search->table = items;
}

/* Searches, by (definition, vector, condition, names, values, most, exact). */
static void
begin_sample(SampleScanState *node, Datum *params, int nparams, uint32 seed)
{
	Nearest *nearest = node->tsm_state;
	Relation rel = node->ss.ss_currentRelation;
	MemoryContext old = MemoryContextSwitchTo(nearest->context);
	DynTable entries = {0};
	DynVector vector = {0};
	StoreSearch search = {.table = &entries, .vector = &vector};
	DynVectorSpec *spec;

	MemoryContextReset(nearest->context);
	spec = dyn_vector_spec_parse(TextDatumGetCString(params[0]));
	set_searched(rel, spec, &search);
	search.query = store_vector_query(vector.spec, DatumGetArrayTypeP(params[1]));
	set_condition(&search, DatumGetTextPP(params[2]), DatumGetJsonbP(params[3]),
				  DatumGetTextPP(params[4]));
	search.most = DatumGetInt32(params[5]);
	search.exact = DatumGetBool(params[6]);
	if (search.most < 1 || search.most > (int) (MaxAllocSize / sizeof(StoreFound)))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid number of entries: %d", search.most)));
	nearest->n = store_search(&search, &nearest->found);
	if (search.table != &entries)
		nearest->n = store_found_items(rel, search.table, nearest->found, nearest->n);
	nearest->next = 0;
	nearest->given = true;
	node->use_bulkread = node->use_pagemode = false;
	MemoryContextSwitchTo(old);
}

static BlockNumber
next_block(SampleScanState *node, BlockNumber nblocks)
{
	Nearest *nearest = node->tsm_state;

	if (nearest->next == nearest->n)
		return InvalidBlockNumber;
	nearest->given = false;
	nearest->next++;
	return ItemPointerGetBlockNumber(&nearest->found[nearest->next - 1].place);
}

static OffsetNumber
next_tuple(SampleScanState *node, BlockNumber block, OffsetNumber largest)
{
	Nearest *nearest = node->tsm_state;
	bool given = nearest->given;

	nearest->given = true;
	return given ? InvalidOffsetNumber
				 : ItemPointerGetOffsetNumber(&nearest->found[nearest->next - 1].place);
}

PG_FUNCTION_INFO_V1(dyn_nearest);
Datum
dyn_nearest(PG_FUNCTION_ARGS)
{
	static const Oid types[] = {TEXTOID, FLOAT4ARRAYOID, TEXTOID, JSONBOID,
								TEXTOID, INT4OID,        BOOLOID};
	TsmRoutine *method = makeNode(TsmRoutine);

	for (int i = 0; i < (int) lengthof(types); i++)
		method->parameterTypes = lappend_oid(method->parameterTypes, types[i]);
	method->SampleScanGetSampleSize = sample_size;
	method->InitSampleScan = init_sample;
	method->BeginSampleScan = begin_sample;
	method->NextSampleBlock = next_block;
	method->NextSampleTuple = next_tuple;
	PG_RETURN_POINTER(method);
}
