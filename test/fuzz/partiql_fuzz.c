/*
 * partiql_fuzz.c
 *	  libFuzzer harness over PartiQL, without a server: from the text of a statement to its
 *	  expressions and its plan.
 *
 * The first byte chooses the keys of the table or index and which parameters there are; the rest is a
 * statement.  What is refused is refused as a ValidationException.  What is accepted is bound and run
 * against some items: each that the condition matches has to be in what the plan reads, and the other
 * way round if the plan is exact.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "check.h"
#include "catalog/key.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/text_cache.h"
#include "item/build.h"
#include "api/partiql/compile.h"
#include "api/partiql/plan.h"
#include "store/range.h"
#include "standin.h"

/*
 * What other layers would provide
 */

/* Nothing is kept, so that each text is compiled. */
TextEntry *
text_cache_find(TextCache *cache, const TextKey *key)
{
	return NULL;
}

void
text_cache_keep(TextCache *cache, TextEntry *entry)
{
}

void
text_cache_unpin(TextEntry *entry)
{
}

void
text_cache_unpin_later(TextEntry *entry, MemoryContextCallback *callback)
{
}

/* The column's value is the payload. */
Datum
dyn_key_datum(ItemType type, ItemSpan payload)
{
	ItemSpan *datum = palloc(sizeof(ItemSpan));

	*datum = payload;
	return PointerGetDatum(datum);
}

int
store_column_compare(ItemType type, Datum a, Datum b)
{
	const ItemSpan *x = (const ItemSpan *) DatumGetPointer(a);
	const ItemSpan *y = (const ItemSpan *) DatumGetPointer(b);

	return type == ITEM_N ? item_number_compare(*x, *y) : item_compare_bytes(*x, *y);
}

/* Above all that begin with the prefix, as far as keys here go. */
bool
dyn_key_prefix_end(ItemType type, ItemSpan prefix, Datum *end)
{
	char *bytes = palloc(prefix.len + 8);

	memcpy(bytes, prefix.data, prefix.len);
	memset(bytes + prefix.len, 0xff, 8);
	*end = dyn_key_datum(type, (ItemSpan){bytes, prefix.len + 8});
	return true;
}

void
dyn_key_check(const DynKey *key, bool partition, ItemSpan value)
{
	if (key->type != ITEM_N && value.len == 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("the key is empty")));
}

bool
dyn_index_projects(const DynTable *table, const DynIndex *index, ItemSpan attribute)
{
	return dyn_index_has_key(table, index, attribute);
}

/* Requests have names and values of their own, and statements have none of them. */
#define NOT_CALLED(function) CHECK(!"" #function " is called")

JsonbIterator *
JsonbIteratorInit(JsonbContainer *container)
{
	NOT_CALLED(JsonbIteratorInit);
	return NULL;
}

JsonbIteratorToken
JsonbIteratorNext(JsonbIterator **it, JsonbValue *value, bool skip)
{
	NOT_CALLED(JsonbIteratorNext);
	return WJB_DONE;
}

struct varlena *
pg_detoast_datum(struct varlena *datum)
{
	NOT_CALLED(pg_detoast_datum);
	return NULL;
}

struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	NOT_CALLED(pg_detoast_datum_packed);
	return NULL;
}

void
MemoryContextRegisterResetCallback(MemoryContext context, MemoryContextCallback *callback)
{
	NOT_CALLED(MemoryContextRegisterResetCallback);
}

/*
 * Tables and items
 */

static DynKey keys[] = {
	{{"pk", 2}, ITEM_S}, {{"sk", 2}, ITEM_S}, {{"sk", 2}, ITEM_N}, {{"sk", 2}, ITEM_B},
	{{"g", 1}, ITEM_S},  {{"n", 1}, ITEM_N},  {{"pk", 2}, ITEM_N},
};

/* By their keys; a name makes it an index. */
static DynTable tables[] = {
	{.keys = keys, .primary = {.nkeys = 2, .ncolumns = 2, .columns = {0, 1}}},
	{.keys = keys, .primary = {.nkeys = 2, .ncolumns = 2, .columns = {0, 2}}},
	{.keys = keys, .primary = {.nkeys = 1, .ncolumns = 1, .columns = {0}}},
	{.keys = keys, .primary = {.name = {"i", 1}, .nkeys = 2, .ncolumns = 2, .columns = {4, 5}}},
	{.keys = keys, .primary = {.nkeys = 2, .ncolumns = 2, .columns = {6, 3}}},
	{.keys = keys, .primary = {.name = {"i", 1}, .nkeys = 1, .ncolumns = 1, .columns = {5}}},
};

#define MOST_ITEMS 64
#define MOST_PARAMETERS 128

static DynItem *items[MOST_ITEMS];
static int nitems;
static ItemSpan parameters[MOST_PARAMETERS]; /* each of those below, over and over */

static const char *const parameter_texts[] = {
	"{\"S\":\"a\"}",
	"{\"S\":\"b\"}",
	"{\"N\":\"1\"}",
	"{\"N\":\"2.5\"}",
	"{\"B\":\"AQ==\"}",
	"{\"BOOL\":true}",
	"{\"NULL\":true}",
	"{\"SS\":[\"a\"]}",
	"{\"NS\":[\"1\",\"2\"]}",
	"{\"BS\":[\"\",\"AA==\"]}",
	"{\"L\":[{\"N\":\"1\"}]}",
	"{\"M\":{\"k\":{\"S\":\"a\"}}}",
	"{\"S\":\"\"}",
	"{\"S\":\"ab\"}",
	"{\"N\":\"-1e100\"}",
	"{\"B\":\"\"}",
};

/* What is beside the keys. */
static const char *const item_texts[] = {
	"",
	",\"g\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"},\"a\":{\"N\":\"1\"},\"l\":{\"L\":[{\"N\":\"1\"},{"
	"\"S\":\"a\"},{\"M\":{\"k\":{\"N\":\"2\"}}}]}",
	",\"g\":{\"S\":\"b\"},\"n\":{\"N\":\"2\"},\"a\":{\"S\":\"a\"},\"m\":{\"M\":{\"k\":{\"S\":\"a\"}"
	",\"j\":{\"L\":[{\"BOOL\":true}]}}}",
	",\"g\":{\"S\":\"ab\"},\"n\":{\"N\":\"2.5\"},\"a\":{\"NULL\":true},\"s\":{\"SS\":[\"a\",\"b\"]}"
	",\"t\":{\"NS\":[\"1\",\"2\"]}",
	",\"g\":{\"N\":\"1\"},\"n\":{\"S\":\"x\"},\"a\":{\"BOOL\":false},\"b\":{\"B\":\"AQ==\"},\"t\":{"
	"\"BS\":[\"AQ==\"]}",
};

static const char *const sort_keys[] = {
	"{\"S\":\"a\"}", "{\"S\":\"ab\"}",  "{\"S\":\"b\"}",    "{\"N\":\"1\"}",
	"{\"N\":\"2\"}", "{\"N\":\"2.5\"}", "{\"B\":\"AQ==\"}", "{\"B\":\"AQI=\"}",
};

static const char *const partition_keys[] = {"{\"S\":\"a\"}", "{\"S\":\"b\"}", "{\"N\":\"1\"}"};

/* Each partition key with each sort key, and with one of the others. */
static void
make_items(void)
{
	for (int p = 0; p < lengthof(partition_keys); p++)
	{
		for (int s = 0; s < lengthof(sort_keys); s++)
		{
			char *text = psprintf("{\"pk\":%s,\"sk\":%s%s}", partition_keys[p], sort_keys[s],
								  item_texts[(p * lengthof(sort_keys) + s) % lengthof(item_texts)]);

			items[nitems++] = item_parse(text, (int) strlen(text), ITEM_SYNTAX_ITEM, NULL);
		}
	}
	Assert(nitems <= MOST_ITEMS);
}

static void
make_parameters(void)
{
	for (int i = 0; i < MOST_PARAMETERS; i++)
	{
		const char *text = parameter_texts[i % lengthof(parameter_texts)];

		parameters[i] = item_root(item_parse(text, (int) strlen(text), ITEM_SYNTAX_VALUE, NULL));
	}
}

/* Once for all runs. */
static void
prepare(void)
{
	if (nitems > 0)
		return;
	make_items();
	make_parameters();
	standin_keep_chunks();
}

/*
 * The properties
 */

/* Sets the columns of an index from an item; false: it is not in the index. */
static bool
index_values(const DynTable *table, const DynItem *item, Datum *values)
{
	ItemChildren attributes = item_children(item_root(item));

	for (int i = 0; i < table->primary.nkeys; i++)
	{
		const DynKey *key = dyn_index_key(table, &table->primary, i);
		ItemSpan value;

		if (!item_find(&attributes, key->attribute, &value) || item_type(value) != key->type)
			return false;
		values[i] = dyn_key_datum(key->type, item_payload(value));
	}
	return true;
}

static bool
is_above(ItemType type, const StoreBound *bound, Datum value)
{
	int cmp = bound->given ? store_column_compare(type, value, bound->value) : 1;

	return cmp > 0 || (cmp == 0 && bound->inclusive);
}

static bool
is_below(ItemType type, const StoreBound *bound, Datum value)
{
	int cmp = bound->given ? store_column_compare(type, value, bound->value) : -1;

	return cmp < 0 || (cmp == 0 && bound->inclusive);
}

static bool
read_has(const PartiqlPlan *plan, const PartiqlRead *read, const Datum *values)
{
	const DynIndex *index = plan->index;
	ItemType type = dyn_index_key(plan->table, index, 0)->type;

	if (store_column_compare(type, values[0], read->partition) != 0)
		return false;
	if (index->nkeys == 1)
		return true;
	type = dyn_index_key(plan->table, index, 1)->type;
	return is_above(type, &read->lower, values[1]) && is_below(type, &read->upper, values[1]);
}

static int
count_reads(const PartiqlPlan *plan, const Datum *values)
{
	int n = 0;

	for (int i = 0; i < plan->nreads; i++)
		n += read_has(plan, &plan->reads[i], values);
	return n;
}

/* A read finds what it has to, once. */
static void
check_plan(const PartiqlBound *bound, const DynTable *table)
{
	PartiqlPlan *plan = partiql_plan(bound, table, &table->primary);

	(void) partiql_unprojected(plan);
	CHECK(plan->nreads <= PARTIQL_MAX_READS);
	if (plan->scan)
		return;
	for (int i = 0; i < nitems; i++)
	{
		Datum values[DYN_MAX_INDEX_COLUMNS];
		bool matches;
		int n;

		if (!index_values(table, items[i], values))
			continue;
		matches = expr_matches(bound->condition, items[i]);
		n = count_reads(plan, values);
		CHECK(n <= 1);
		CHECK(!matches || n == 1);
		CHECK(!plan->exact || matches == (n == 1));
	}
}

/* Whether an item has the attributes of a key. */
static bool
has_key(const DynItem *item, const DynItem *key)
{
	ItemChildren attributes = item_children(item_root(item));
	ItemChildren wanted = item_children(item_root(key));

	for (uint32 i = 0; i < wanted.count; i++)
	{
		ItemSpan name;
		ItemSpan expected = item_entry(item_child(&wanted, i), &name);
		ItemSpan value;

		if (!item_find(&attributes, name, &value) || item_compare_bytes(value, expected) != 0)
			return false;
	}
	return true;
}

/* The key and the conditions beside it are the whole condition. */
static void
check_key(const PartiqlBound *bound, const DynTable *table, PartiqlKeyUse use)
{
	PartiqlKey key = partiql_find_key(bound, table, use);
	const Expr *others = key.others == NIL ? NULL : partiql_build_joined(bound, key.others);

	for (int i = 0; i < nitems && bound->condition != NULL; i++)
	{
		bool matches =
			has_key(items[i], key.item) && (others == NULL || expr_matches(others, items[i]));

		CHECK(matches == expr_matches(bound->condition, items[i]));
	}
}

static void
check_valid(const DynItem *item)
{
	CHECK(item == NULL || item_validate(item_root(item)));
}

/* An update fails by what is in the item. */
static void
check_update(const Expr *update)
{
	for (volatile int i = 0; i < nitems; i++)
	{
		if (sigsetjmp(standin_error, 0) != 0)
		{
			CHECK(standin_sqlstate == ERRCODE_DYN_VALIDATION);
			continue;
		}
		check_valid(expr_apply(update, items[i], NULL));
		check_valid(expr_updated_old(update, items[i]));
		check_valid(expr_updated_new(update, items[i], NULL));
	}
}

static void
check_bound(const PartiqlBound *bound, const DynTable *table)
{
	for (int i = 0; i < nitems && bound->projection != NULL; i++)
		check_valid(expr_project(bound->projection, items[i]));
	for (int i = 0; i < nitems && bound->condition != NULL; i++)
		(void) expr_matches(bound->condition, items[i]);
	check_valid(bound->item);
	switch (partiql_kind(bound->compiled))
	{
		case PARTIQL_SELECT:
			check_key(bound, table, PARTIQL_KEY_READ);
			check_plan(bound, table);
			break;
		case PARTIQL_INSERT:
			CHECK(bound->item != NULL);
			break;
		case PARTIQL_EXISTS:
			check_key(bound, table, PARTIQL_KEY_CHECKED);
			break;
		case PARTIQL_DELETE:
		case PARTIQL_UPDATE:
			check_key(bound, table, PARTIQL_KEY_WRITTEN);
			break;
	}
}

/* NULL: it is refused. */
static const PartiqlCompiled *
compile(ItemSpan text)
{
	if (sigsetjmp(standin_error, 0) == 0)
		return partiql_compile(span_copy(text));
	CHECK(standin_sqlstate == ERRCODE_DYN_VALIDATION ||
		  standin_sqlstate == ERRCODE_STATEMENT_TOO_COMPLEX);
	return NULL;
}

/* Blanks around a statement change nothing but the places in it. */
static void
check_blanks(ItemSpan text, bool accepted)
{
	char *longer = psprintf("/* ' */ %.*s\n", (int) text.len, text.data);

	if (strlen(longer) > PARTIQL_MAX_TEXT)
		return;
	CHECK((compile((ItemSpan){longer, (uint32) strlen(longer)}) != NULL) == accepted);
}

static void
fuzz_statement(ItemSpan text, const DynTable *table, int first)
{
	const PartiqlCompiled *compiled;
	PartiqlBound *volatile bound = NULL;

	compiled = compile(text);
	check_blanks(text, compiled != NULL);
	if (compiled == NULL)
		return;
	if (sigsetjmp(standin_error, 0) == 0)
	{
		bound = partiql_bind(compiled, MOST_PARAMETERS - first, parameters + first);
		check_bound(bound, table);
	}
	else
		CHECK(standin_sqlstate == ERRCODE_DYN_VALIDATION);
	if (bound != NULL && bound->update != NULL)
		check_update(bound->update);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ItemSpan text = {(const char *) data + 1, (uint32) size - 1};

	/* The server hands over verified UTF-8 without NUL. */
	if (size == 0 || memchr(text.data, '\0', text.len) != NULL ||
		pg_encoding_verifymbstr(PG_UTF8, text.data, (int) text.len) != (int) text.len)
		return 0;
	prepare();
	fuzz_statement(text, &tables[data[0] % lengthof(tables)],
				   data[0] / lengthof(tables) % lengthof(parameter_texts));
	standin_free_chunks();
	return 0;
}
