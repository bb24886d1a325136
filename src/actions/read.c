/*
 * read.c
 *	  What Query and Scan share: the index, the attributes, filter, limits, pages, and where they
 *	  begin and end.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "utils/memutils.h"

#include "actions/read.h"
#include "catalog/definition/settings.h"
#include "catalog/expiry.h"
#include "server/errors.h"

/*
 * Raises an error where a read cannot be consistent, which is to see all that was acknowledged
 * before it.  A read of a global index could be, since indexes are written with their items; but
 * applications that move to DynamoDB must not rely on it.
 */
void
action_check_consistent(const DynIndex *index)
{
	if (!dyn_index_is_table(index) && !index->local)
	{
		StringInfoData name;

		initStringInfo(&name);
		item_quote(&name, index->name);
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("consistent reads are not supported on global index \"%s\"", name.data),
				 errwords("Consistent reads are not supported on global secondary indexes")));
	}
	if (RecoveryInProgress())
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("consistent reads are not possible on a standby"),
						errhint("Read from the primary, or not consistently.")));
}

/* Select may be one of these (docs/semantics.md, Q17). */
const char *const option_select[] = {"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES",
									 "SPECIFIC_ATTRIBUTES", "COUNT", NULL};

pg_noreturn static void
fail_select(const char *message, const char *words)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", message), errwords("%s", words),
					errwords_kind(WORDS_SELECT)));
	pg_unreachable();
}

/*
 * Checks what Select has to say of the projection, without the table (docs/semantics.md, Q17).
 * projection is the parameter that has one, or NULL.
 */
void
action_check_select(ReadSelect select, bool index, const char *projection)
{
	if (projection != NULL && select != SELECT_DEFAULT && select != SELECT_SPECIFIC_ATTRIBUTES)
		fail_select("a projection goes with SPECIFIC_ATTRIBUTES only",
					psprintf("Cannot specify the %s when choosing to get %s", projection,
							 select == SELECT_COUNT
								 ? "only the Count"
								 : option_select[select - SELECT_ALL_ATTRIBUTES]));
	if (projection == NULL && select == SELECT_SPECIFIC_ATTRIBUTES)
		fail_select("SPECIFIC_ATTRIBUTES needs a projection",
					"Must specify the AttributesToGet or ProjectionExpression when choosing to get "
					"SPECIFIC_ATTRIBUTES");
	if (!index && select == SELECT_ALL_PROJECTED_ATTRIBUTES)
		fail_select("ALL_PROJECTED_ATTRIBUTES needs an index",
					"ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
}

/* Checks what Select has to say in a request whose expressions are there. */
void
read_check(const ReadRequest *request)
{
	bool projected = request->projection != NULL || request->built.projection != NULL;

	action_check_select(request->select, request->index != NULL,
						projected ? "ProjectionExpression" : NULL);
}

static void
fail_projection(const Read *read, const char *kind, const char *what, const char *words)
{
	StringInfoData name;

	initStringInfo(&name);
	item_quote(&name, read->index->name);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid %s: index \"%s\" does not project %s", kind, name.data, what),
			 errwords(DYN_INVALID_WORDS "%s", words),
			 errhint("A global index returns what it projects; read the items from the table.")));
}

/* Returns an attribute of the expression that the index does not project, or NULL. */
static const ItemSpan *
find_unprojected(const Read *read, const Expr *expr)
{
	const ItemSpan *attributes;
	int n = 0;

	if (expr == NULL)
		return NULL;
	attributes = expr_attributes(expr, &n);
	for (int i = 0; i < n; i++)
	{
		if (!dyn_index_projects(read->table, read->index, attributes[i]))
			return &attributes[i];
	}
	return NULL;
}

/* Returns all attributes that the index does not project, as DynamoDB lists them. */
static const char *
list_unprojected(const Read *read, const Expr *expr)
{
	StringInfoData list;
	const ItemSpan *attributes;
	int n;

	initStringInfo(&list);
	attributes = expr_attributes(expr, &n);
	for (int i = 0; i < n; i++)
	{
		if (!dyn_index_projects(read->table, read->index, attributes[i]))
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
							 item_quoted_words(attributes[i]));
	}
	return list.data;
}

static const char *
unprojected_words(const Read *read, const Expr *expr)
{
	const char *index = item_quoted_words(read->index->name);
	const char *list = list_unprojected(read, expr);

	if (expr_kind(expr) == EXPR_PROJECTION)
		return psprintf("Global secondary index %s does not project [%s]", index, list);
	return psprintf("Secondary index %s does not project one or more filter attributes: [%s]",
					index, list);
}

/* Refuses attributes that a global index does not project (docs/semantics.md, I15). */
static void
check_projected(const Read *read, const Expr *expr)
{
	const ItemSpan *attribute = find_unprojected(read, expr);
	StringInfoData name;

	if (attribute == NULL)
		return;
	initStringInfo(&name);
	appendStringInfoString(&name, "attribute \"");
	item_quote(&name, *attribute);
	appendStringInfoChar(&name, '"');
	fail_projection(read, expr_parameter(expr), name.data, unprojected_words(read, expr));
}

/* Refuses paths into keys. */
void
read_check_paths(const Read *read)
{
	action_check_paths(read->table, read->projection);
	action_check_paths(read->table, read->filter);
}

static bool
is_partial(const DynIndex *index)
{
	return !index->local && index->projection != DYN_PROJECT_ALL;
}

/*
 * Refuses a filter, too, that names what a global index does not project.  This is for queries: to
 * a filter of a scan such an attribute is missing (docs/semantics.md, F07).
 */
void
read_forbid_unprojected(const Read *read)
{
	if (is_partial(read->index))
		check_projected(read, read->filter);
}

/* Returns whether the index's columns are all that an expression looks at. */
static bool
looks_at_keys(const Read *read, const Expr *expr)
{
	const ItemSpan *attributes;
	int n = 0;

	attributes = expr_attributes(expr, &n);
	for (int i = 0; i < n; i++)
	{
		int column = 0;

		while (column < read->index->ncolumns &&
			   item_compare_bytes(dyn_index_key(read->table, read->index, column)->attribute,
								  attributes[i]) != 0)
			column++;
		if (column == read->index->ncolumns)
			return false;
	}
	return true;
}

/* Returns whether a read can do without the items themselves. */
static bool
keys_suffice(const Read *read)
{
	bool keys = read->index->projection == DYN_PROJECT_KEYS_ONLY;

	if (read->hides || (read->request->paged && !keys))
		return false;
	if (read->filter != NULL && !looks_at_keys(read, read->filter))
		return false;
	if (read->request->select == SELECT_COUNT)
		return true;
	if (read->projection != NULL)
		return looks_at_keys(read, read->projection);
	return keys && !read->whole;
}

/*
 * Returns whether what the index projects is all that a read looks at, and the index is covering.
 * An entry counts by what the index projects in any case.
 */
static bool
part_suffices(const Read *read)
{
	if (read->index->carried == NULL)
		return false;
	if (read->index->projection == DYN_PROJECT_ALL)
		return true;
	return !read->whole && !read->hides && find_unprojected(read, read->projection) == NULL &&
		   (read->filters_part || find_unprojected(read, read->filter) == NULL);
}

/*
 * Begins a read: parses its filter and its projection.  Those of a query come after the text of its
 * key condition, and before what is no condition of a key (docs/semantics.md, SV28).  counted is
 * NULL if nothing will be read.
 */
void
read_begin(Read *read, const ReadRequest *request, const ReadCall *caller, OperationTable *counted)
{
	*read = (Read){.request = request,
				   .counted = counted,
				   .callback = caller->callback,
				   .arg = caller->arg,
				   .result = caller->result,
				   .context = CurrentMemoryContext,
				   .filter = request->built.condition,
				   .projection = request->built.projection};
	if (request->filter != NULL)
		read->filter =
			expr_condition(request->expressions, EXPR_FILTER, text_span(request->filter));
	if (request->projection != NULL)
		read->projection = expr_projection(request->expressions, text_span(request->projection));
}

/*
 * Opens and checks what Query and Scan share.  read_check() and read_begin() were called before,
 * and Query has parsed its key condition: the expressions' placeholders are all used now.
 */
void
read_open(Read *read)
{
	const ReadRequest *request = read->request;
	OperationTable *counted = read->counted;
	bool projects_all;

	expr_request_done(request->expressions);
	action_open(request->call, request->table, AccessShareLock, &read->call);
	read->table = read->call.table;
	read->index = request->index == NULL ? &read->table->primary
										 : dyn_active_index(read->table, text_span(request->index));
	*read->result = (ReadResult){.table = read->table, .index = read->index};
	if (counted != NULL)
		operation_opened(counted, read->call.rel, read->index->name);
	if (request->consistent)
		action_check_consistent(read->index);

	/*
	 * A global index has what it projects and no more.  A local one fetches the rest from the
	 * table, where it is wanted (docs/semantics.md, I16).
	 */
	projects_all = read->index->projection == DYN_PROJECT_ALL;
	read->whole = projects_all || request->select == SELECT_ALL_ATTRIBUTES;
	if (is_partial(read->index))
	{
		if (read->whole)
			fail_projection(read, "selection of ALL_ATTRIBUTES", "all attributes",
							psprintf("Select type ALL_ATTRIBUTES is not supported for global "
									 "secondary index %s because its projection type is not ALL",
									 item_quoted_words(read->index->name)));
		check_projected(read, read->projection);
		read->filters_part = find_unprojected(read, read->filter) != NULL;
	}
	if (request->parts && !projects_all)
		read->filters_part = true;
	if (read->call.meter != NULL && !projects_all)
		read->fetches = read->whole || find_unprojected(read, read->projection) != NULL ||
						(!read->filters_part && find_unprojected(read, read->filter) != NULL);

	read->sized = request->paged || request->explanation != NULL || read->call.meter != NULL;
	read->hides = expiry_hides(read->table);
	read->keys_only = keys_suffice(read);
	read->part = part_suffices(read);
}

/*
 * Closes the table that read_open() has opened, and counts what was read.  The table stays locked
 * until the transaction ends.
 */
void
read_close(Read *read)
{
	if (read->counted != NULL)
	{
		read->counted->read = read->result->scanned;
		read->counted->returned = read->result->count;
	}
	relation_close(read->call.rel, NoLock);
}

/*
 * Returns whether the page ends with this item, which is the last one evaluated then: whether
 * another one follows, nobody has looked (docs/semantics.md, Q08, Q09, Q10, Q11).
 */
static bool
page_ends(Read *read, const DynItem *item)
{
	const ReadRequest *request = read->request;
	MemoryContext old;

	if (!request->paged ||
		(read->result->scanned != request->page_size && read->result->bytes < dyn_max_page_size))
		return false;
	old = MemoryContextSwitchTo(read->context);
	read->result->last_key = dyn_key_item(read->table, read->index, item);
	MemoryContextSwitchTo(old);
	return true;
}

/* Returns whether the filter lets an item through, which may have only what the index projects. */
static bool
read_passes(const Read *read, const DynItem *item, bool projected)
{
	if (read->filter == NULL)
		return true;
	if (read->filters_part && !projected)
		item = dyn_index_part(read->table, read->index, item);
	return expr_matches(read->filter, item);
}

static DynItem *
returned_item(const Read *read, DynItem *item, bool projected)
{
	if (read->projection != NULL)
		return expr_project(read->projection, item);
	if (read->whole || read->keys_only || projected)
		return item;
	return dyn_index_part(read->table, read->index, item);
}

/* Takes the next item; false if the read ends with it. */
bool
read_item(Read *read, const StoreRow *row)
{
	const ReadRequest *request = read->request;
	ReadResult *result = read->result;
	DynItem *item;

	result->scanned++;
	/* The item may go out as it came, without being fetched from TOAST. */
	if (read->filter == NULL && read->projection == NULL && read->whole && !read->sized &&
		!read->hides)
	{
		read->callback(row->item, read->arg);
		return ++result->count != request->max_items;
	}
	item = DatumGetDynItem(row->item);
	if (read->sized)
		result->bytes += (int64) dyn_index_entry_size(read->table, read->index, item);
	if (read->fetches)
		read->call.meter->fetched(item_size(item_root(item)), read->call.meter->arg);
	if (read_passes(read, item, row->projected) &&
		!(read->hides && expiry_has_passed(read->table, item)))
	{
		result->count++;
		if (request->select != SELECT_COUNT)
			read->callback(PointerGetDatum(returned_item(read, item, row->projected)), read->arg);
		if (result->count == request->max_items)
			return false;
	}
	return !page_ends(read, item);
}

static bool
receive_row(const StoreRow *row, void *arg)
{
	return read_item(arg, row);
}

/*
 * Sets what a range gives of its entries, and how many of them the read will take, as far as its
 * limits tell.  A filter may have it take more.
 */
void
read_set_range(const Read *read, StoreRange *range)
{
	const ReadRequest *request = read->request;

	range->want = read->keys_only ? STORE_WANT_KEYS
				  : read->part    ? STORE_WANT_PART
								  : STORE_WANT_ITEM;
	range->site = read->call.site;
	range->likely = request->paged ? request->page_size : request->max_items;
	if (!request->paged)
		return;
	range->likely_bytes = dyn_max_page_size;
	range->bytes = &read->result->bytes;
}

/* Tells the meter what was read since it was told last. */
void
read_tell_meter(Read *read)
{
	const ReadMeter *meter = read->call.meter;

	if (meter == NULL)
		return;
	meter->read(read->result->bytes - read->told, meter->arg);
	read->told = read->result->bytes;
}

/* Raises an error unless the caller may read all of the ranges, by the partition keys that they have. */
void
read_authorize(Read *read, DynAction action, int n, const StoreRange *ranges)
{
	int npartition = read->index->npartition;
	Datum *values;
	int nvalues = 0;

	if (!read->table->grants->any)
		return;
	values = palloc((Size) Max(n, 1) * npartition * sizeof(Datum));
	for (int i = 0; i < n; i++)
	{
		for (int k = 0; k < npartition && ranges[i].nequal >= npartition; k++)
			values[nvalues++] = ranges[i].equal[k];
	}
	authorize(read->table, read->index, action, nvalues, values, &read->clearance);
	pfree(values);
}

/* Reads all items of a range, or as many as are wanted. */
void
read_range(Read *read, const StoreRange *range)
{
	ErrorContextCallback callback;
	StoreExplanation *explanation = read->request->explanation;

	store_begin_cleared(&callback, &read->clearance);
	if (explanation != NULL)
		store_explain_range(read->table, range, receive_row, read, explanation);
	else
		store_range(read->table, range, receive_row, read);
	store_end(&callback);
}

/*
 * Continues after the start key, which must be a full key.  If the read is of one collection, the
 * key must lie in that.  No item needs to be there (docs/semantics.md, Q13, Q14).
 */
void
read_start(const Read *read, StoreRange *range)
{
	DynKeyValues key;

	if (read->request->start_key == NULL)
		return;
	dyn_key_exact(read->table, read->index, read->request->start_key,
				  range->nequal > 0 ? DYN_KEY_OF_QUERY_START : DYN_KEY_OF_SCAN_START, &key);
	Assert(key.nkeys == read->index->ncolumns);
	for (int i = 0; range->nequal > 0 && i < read->index->npartition; i++)
	{
		if (store_column_compare(dyn_index_key(read->table, read->index, i)->type, key.values[i],
								 range->equal[i]) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("the start key has another partition key than the key condition"),
					 errwords("The provided starting key is outside query boundaries based on "
							  "provided conditions")));
	}
	range->nposition = key.nkeys;
	memcpy(range->position, key.values, key.nkeys * sizeof(Datum));
}
