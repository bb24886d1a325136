/*
 * backend_fuzz.c
 *	  libFuzzer inside a server: for what needs more of one than stubs can
 *give.
 *
 * The extension's sources are built with this file into one instrumented
 *library.  A single-user server loads it and calls backend_fuzz(target,
 *arguments), which does not come back: LLVMFuzzerRunDriver() exits.  Each run
 *is a subtransaction that is rolled back.  On 15 the memory contexts in which
 *the code under test works give each chunk a malloc() of its own, so
 *AddressSanitizer sees its bounds; later versions do not let anybody bring
 *contexts.
 *
 * An input is pieces of text with \x1f between them.  Internal errors (SQLSTATE
 *XX…) end a target like a crash does.
 */
#include "postgres.h"

#include <sanitizer/asan_interface.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "check.h"
#include "catalog/definition/description.h"
#include "catalog/definition/index_spec.h"
#include "catalog/definition/label.h"
#include "catalog/lookup.h"
#include "server/compat.h"
#include "server/errors.h"
#include "models/entity/entity.h"
#include "models/entity/model.h"
#include "expr/expr.h"
#include "models/migrate/migrate.h"
#include "models/view/member.h"
#include "api/request/request.h"
#include "services/stream/subject.h"

extern int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *, size_t));

#define MOST_PIECES 8
#define MOST_OPTIONS 32

typedef struct Input
{
	int n;
	ItemSpan pieces[MOST_PIECES]; /* terminated */
} Input;

typedef void (*Target)(const Input *input);

static Target target;
static MemoryContext run_context;

/*
 * Memory contexts whose chunks are malloc()ed
 */

#if PG_VERSION_NUM < 160000

typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *previous;
	Size size;
	MemoryContext context; /* where GetMemoryChunkContext() looks */
} Chunk;

typedef struct ChunkContext
{
	MemoryContextData header;
	Chunk list;
} ChunkContext;

static Chunk *
chunk_of(void *pointer)
{
	return (Chunk *) pointer - 1;
}

static void *
chunk_alloc(MemoryContext context, Size size)
{
	Chunk *list = &((ChunkContext *) context)->list;
	Chunk *chunk = malloc(sizeof(Chunk) + size);

	*chunk = (Chunk){list->next, list, size, context};
	list->next->previous = chunk;
	list->next = chunk;
	return chunk + 1;
}

static void
chunk_free(MemoryContext context, void *pointer)
{
	Chunk *chunk = chunk_of(pointer);

	chunk->previous->next = chunk->next;
	chunk->next->previous = chunk->previous;
	free(chunk);
}

/* Always moves, so that a stale pointer is found. */
static void *
chunk_realloc(MemoryContext context, void *pointer, Size size)
{
	void *to = chunk_alloc(context, size);

	memcpy(to, pointer, Min(size, chunk_of(pointer)->size));
	chunk_free(context, pointer);
	return to;
}

static void
chunk_reset(MemoryContext context)
{
	Chunk *list = &((ChunkContext *) context)->list;

	while (list->next != list)
		chunk_free(context, list->next + 1);
}

static void
chunk_delete(MemoryContext context)
{
	chunk_reset(context);
	free(context);
}

static Size
chunk_space(MemoryContext context, void *pointer)
{
	return chunk_of(pointer)->size;
}

static bool
chunk_is_empty(MemoryContext context)
{
	return ((ChunkContext *) context)->list.next == &((ChunkContext *) context)->list;
}

static void
chunk_stats(MemoryContext context, MemoryStatsPrintFunc print, void *passthru,
			MemoryContextCounters *totals, bool to_stderr)
{
}

#ifdef MEMORY_CONTEXT_CHECKING
static void
chunk_check(MemoryContext context)
{
}
#endif

static const MemoryContextMethods chunk_methods = {
	.alloc = chunk_alloc,
	.free_p = chunk_free,
	.realloc = chunk_realloc,
	.reset = chunk_reset,
	.delete_context = chunk_delete,
	.get_chunk_space = chunk_space,
	.is_empty = chunk_is_empty,
	.stats = chunk_stats,
#ifdef MEMORY_CONTEXT_CHECKING
	.check = chunk_check,
#endif
};

/* In the place of AllocSetContextCreateInternal() in all that is built here:
 * see test/fuzz/backend. */
MemoryContext
fuzz_context_create(MemoryContext parent, const char *name, Size min, Size initial, Size max)
{
	ChunkContext *context = calloc(1, sizeof(ChunkContext));

	context->list.next = context->list.previous = &context->list;
	MemoryContextCreate((MemoryContext) context, T_AllocSetContext, &chunk_methods, parent, name);
	return (MemoryContext) context;
}

#endif

/*
 * Arguments
 */

static ItemSpan
piece(const Input *input, int i)
{
	return i < input->n ? input->pieces[i] : (ItemSpan){"", 0};
}

static Datum
piece_text(const Input *input, int i)
{
	ItemSpan p = piece(input, i);

	return PointerGetDatum(cstring_to_text_with_len(p.data, (int) p.len));
}

/* An item in typed or plain JSON; NULL: an empty piece. */
static const DynItem *
piece_item(const Input *input, int i, ItemSyntax syntax)
{
	ItemSpan p = piece(input, i);

	return p.len == 0 ? NULL : item_parse(p.data, (int) p.len, syntax, NULL);
}

static const Jsonb *
piece_jsonb(const Input *input, int i)
{
	ItemSpan p = piece(input, i);

	return p.len == 0 ? NULL
					  : DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(p.data)));
}

static Relation
open_table(const char *name, DynTable **table)
{
	return dyn_table_find((ItemSpan){name, strlen(name)}, AccessShareLock, table);
}

/*
 * Targets
 */

/* What an expression makes of an item: a kind, an expression, names, values, an
 * item. */
static void
fuzz_expression(const Input *input)
{
	const Jsonb *names = piece_jsonb(input, 2);
	ExprRequest *request = expr_request(names, piece_item(input, 3, ITEM_SYNTAX_ITEM));
	const DynItem *item = piece_item(input, 4, ITEM_SYNTAX_ITEM);
	ItemSpan text = piece(input, 1);
	const DynItem *result = NULL;
	Expr *expr;

	switch (*piece(input, 0).data)
	{
		case 'k':
			(void) expr_key_condition(request, text);
			expr_request_done(request);
			return;
		case 'u':
			expr = expr_update(request, text);
			expr_request_done(request);
			result = expr_apply(expr, item, NULL);
			break;
		case 'p':
			expr = expr_projection(request, text);
			expr_request_done(request);
			if (item != NULL)
				result = expr_project(expr, item);
			break;
		default:
			expr = expr_condition(request, EXPR_CONDITION, text);
			expr_request_done(request);
			(void) expr_matches(expr, item);
			break;
	}
	if (result != NULL)
		CHECK(item_validate(item_root(result)));
}

extern Datum dyn_request(PG_FUNCTION_ARGS);

/* Calls dyn_request(text, text), which looks at how it is called. */
static Datum
call_request(const char *operation, Datum request)
{
	Oid signature[] = {TEXTOID, TEXTOID};

	return OidFunctionCall2(LookupFuncName(list_make1(makeString("dyn_request")),
										   lengthof(signature), signature, false),
							CStringGetTextDatum(operation), request);
}

/* Requests on tables that are there, with expressions and with legacy
 * parameters: an operation, a request. */
static void
fuzz_request(const Input *input)
{
	static const char *const operations[] = {"Query",
											 "Scan",
											 "GetItem",
											 "PutItem",
											 "UpdateItem",
											 "DeleteItem",
											 "BatchGetItem",
											 "BatchWriteItem",
											 "TransactGetItems",
											 "TransactWriteItems",
											 "BatchExecuteStatement",
											 "ExecuteTransaction",
											 "CreateTable"};
	const char *operation =
		operations[(unsigned char) *piece(input, 0).data % lengthof(operations)];
	Datum response = call_request(operation, piece_text(input, 1));

	DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(response)));
}

/* The request of a page of a statement; an empty token is none. */
static char *
statement_request(const Input *input, const char *token)
{
	StringInfoData request;

	initStringInfo(&request);
	appendStringInfoString(&request, "{\"Statement\":");
	escape_json(&request, piece(input, 0).data);
	if (piece(input, 1).len > 0)
		appendStringInfo(&request, ",\"Parameters\":%s", piece(input, 1).data);
	if (*piece(input, 2).data > '0')
		appendStringInfo(&request, ",\"Limit\":%d", *piece(input, 2).data - '0');
	if (*token != '\0')
	{
		appendStringInfoString(&request, ",\"NextToken\":");
		escape_json(&request, token);
	}
	appendStringInfoChar(&request, '}');
	return request.data;
}

/* The token of a response; NULL: it has none. */
static const char *
next_token(Datum response)
{
	Datum json = DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(response)));
	JsonbValue key = {.type = jbvString,
					  .val.string = {.len = strlen("NextToken"), .val = "NextToken"}};
	JsonbValue *found = findJsonbValueFromContainer(&DatumGetJsonbP(json)->root, JB_FOBJECT, &key);

	return found == NULL ? NULL : pnstrdup(found->val.string.val, found->val.string.len);
}

/* A statement, its parameters, Limit, and a token that it did not give; the first pages. */
static void
fuzz_statement(const Input *input)
{
	const char *token = piece(input, 3).data;

	for (int page = 0; page < 4 && token != NULL; page++)
		token = next_token(
			call_request("ExecuteStatement", CStringGetTextDatum(statement_request(input, token))));
}

/* A template, attributes, and another template. */
static void
fuzz_template(const Input *input)
{
	Template *t = template_parse(piece(input, 0));
	const DynItem *item = piece_item(input, 1, ITEM_SYNTAX_ITEM);
	Template *other = template_parse(piece(input, 2));
	const TemplatePart *missing;
	StringInfoData out;

	(void) template_overlaps(t, other);
	(void) template_is_injective(t);
	(void) template_fits(t, piece(input, 2));
	if (item == NULL || t->whole)
		return;
	initStringInfo(&out);
	if (template_render(t, item_root(item), &out, &missing))
		CHECK(template_fits(t, (ItemSpan){out.data, (uint32) out.len}));
}

/* A declaration, an item by its names, and a stored one; what is printed of it is read the same. */
static void
fuzz_entity(const Input *input)
{
	DynTable *table;
	Relation rel = open_table("app", &table);
	const DynItem *declaration = piece_item(input, 0, ITEM_SYNTAX_PLAIN_ITEM);
	const DynItem *logical = piece_item(input, 1, ITEM_SYNTAX_ITEM);
	const DynItem *stored = piece_item(input, 2, ITEM_SYNTAX_ITEM);
	Entity *entity;
	char *printed;

	if (declaration == NULL)
		return;
	entity = entity_parse(table, declaration, true);
	printed = entity_print(entity);
	declaration = item_parse(printed, (int) strlen(printed), ITEM_SYNTAX_PLAIN_ITEM, NULL);
	CHECK(strcmp(printed, entity_print(entity_parse(table, declaration, true))) == 0);
	for (int i = 0; i < entity->nkeys; i++)
	{
		const MemberKey of_table = {&entity->keys[i]};
		const MemberKey of_index = {&entity->keys[i], true, entity->nattributes > 0 ? 1 : 0,
									entity->nattributes > 0 ? &entity->attributes[0].name : NULL};

		(void) member_definition(entity, &of_table);
		(void) member_definition(entity, &of_index);
	}
	if (stored != NULL)
	{
		(void) entity_problems(entity, stored);
		CHECK(item_validate(item_root(entity_logical(entity, stored))));
		CHECK(item_validate(item_root(entity_shown(entity, stored))));
	}
	if (logical != NULL)
	{
		const DynItem *item = entity_item(entity, logical);

		CHECK(item_validate(item_root(item)));
		CHECK(entity_problems(entity, item) == NIL);
	}
	relation_close(rel, AccessShareLock);
}

/* What dynamo_internal.is_entity() and the planner's conditions are given: a definition, an
 * item, how many values, texts. */
static void
fuzz_member(const Input *input)
{
	Oid types[] = {TEXTOID,  NUMERICOID, INT4OID,        DATEOID,
				   BYTEAOID, UUIDOID,    TIMESTAMPTZOID, JSONBOID};
	Oid signature[] = {ANYELEMENTOID, TEXTOID, INT4OID, BOOLOID, ANYOID};
	const Member *member = member_parse(piece(input, 0));
	const DynItem *item = piece_item(input, 1, ITEM_SYNTAX_ITEM);
	FmgrInfo flinfo;

	if (item != NULL)
	{
		const ItemSpan column = piece(input, 0);

		(void) member_matches(member, item_root(item), NULL, member_memory(member));
		(void) member_matches(member, item_root(item), &column, member_memory(member));
	}
	fmgr_info(LookupFuncName(list_make2(makeString("dynamo_internal"), makeString("entity_key")),
							 lengthof(signature), signature, false),
			  &flinfo);
	for (int i = 0; i < lengthof(types); i++)
	{
		LOCAL_FCINFO(fcinfo, 4 + MOST_PIECES);
		Oid column = types[i % 2 == 0 ? 0 : i % 4 == 1 ? 1 : 4];
		List *args = list_make4(
			makeNullConst(column, -1, InvalidOid), makeNullConst(TEXTOID, -1, InvalidOid),
			makeNullConst(INT4OID, -1, InvalidOid), makeNullConst(BOOLOID, -1, InvalidOid));
		int n = Max(input->n - 3, 0);
		Oid in;
		Oid io;

		getTypeInputInfo(types[i], &in, &io);
		InitFunctionCallInfoData(*fcinfo, &flinfo, 4 + n, InvalidOid, NULL, NULL);
		memset(fcinfo->args, 0, (4 + n) * sizeof(NullableDatum));
		fcinfo->args[0].isnull = true;
		fcinfo->args[1].value = piece_text(input, 0);
		fcinfo->args[2].value = Int32GetDatum(*piece(input, 2).data - '0');
		fcinfo->args[3].value = BoolGetDatum(i % 3 == 0);
		for (int v = 0; v < n; v++)
		{
			args = lappend(args, makeNullConst(types[i], -1, InvalidOid));
			fcinfo->args[4 + v].value =
				OidInputFunctionCall(in, pstrdup(input->pieces[3 + v].data), io, -1);
		}
		flinfo.fn_extra = NULL;
		flinfo.fn_expr = (Node *) makeFuncExpr(flinfo.fn_oid, column, args, InvalidOid, InvalidOid,
											   COERCE_EXPLICIT_CALL);
		(void) FunctionCallInvoke(fcinfo);
	}
}

/* Whether two texts are the same JSON, whatever the order of members. */
static bool
same_json(const char *a, const char *b)
{
	return DatumGetBool(DirectFunctionCall2(jsonb_eq,
											DirectFunctionCall1(jsonb_in, CStringGetDatum(a)),
											DirectFunctionCall1(jsonb_in, CStringGetDatum(b))));
}

/* Steps of a migration, as they are declared and kept; what is printed of them
 * is read the same. */
static void
fuzz_migration(const Input *input)
{
	DynTable *table;
	Relation rel = open_table("target", &table);
	Migration *migration = migration_parse(rel, table, piece(input, 0).data);
	char *printed = migration_print(migration);

	CHECK(same_json(printed, migration_print(migration_parse(rel, table, printed))));
	relation_close(rel, AccessShareLock);
}

/* A condition on a view of an entity, which the planner derives conditions on
 * keys from. */
static void
fuzz_plan(const Input *input)
{
	static const char *const views[] = {"\"Org\"", "\"User\"", "\"Ticket\"", "\"Ticket_GSI1\""};
	char *sql = psprintf("SELECT * FROM %s a, \"Ticket\" b WHERE %s",
						 views[(unsigned char) *piece(input, 0).data % lengthof(views)],
						 piece(input, 1).data);
	ListCell *cell;

	foreach (cell, pg_parse_query(sql))
	{
		RawStmt *statement = lfirst_node(RawStmt, cell);

		if (IsA(statement->stmt, SelectStmt))
			(void) pg_plan_queries(
				pg_analyze_and_rewrite_fixedparams(statement, sql, NULL, 0, NULL), sql, 0, NULL);
	}
}

/* Names and values in turn. */
static void
fuzz_options(const Input *input)
{
	StreamOptions options;
	List *given = NIL;

	for (int i = 0; i < input->n; i += 2)
		given =
			lappend(given, makeDefElem(pstrdup(input->pieces[i].data),
									   i + 1 < input->n
										   ? (Node *) makeString(pstrdup(input->pieces[i + 1].data))
										   : NULL,
									   -1));
	stream_options_read(&options, given);
}

/* Arguments of a table's triggers: an index, settings, keys. */
static void
fuzz_arguments(const Input *input)
{
	DynSettings settings = {0};
	ItemSpan attribute;
	ItemType type;

	switch (*piece(input, 0).data)
	{
		case 'i':
			(void) dyn_index_spec_print(dyn_index_spec_parse_argument(piece(input, 1).data));
			break;
		case 's':
			dyn_settings_parse(piece(input, 1).data, &settings);
			break;
		default:
			dyn_parse_key_spec(piece(input, 1), &attribute, &type);
			break;
	}
}

static void
read_label_declarations(Relation rel, DynTable *table)
{
	for (ModelKind kind = MODEL_ENTITY; kind <= MODEL_MIGRATION; kind++)
	{
		ListCell *cell;

		foreach (cell, model_declarations(rel, kind))
			CHECK(model_find(model_cached(rel, kind), ((ModelDeclaration *) lfirst(cell))->name) !=
				  NULL);
	}
	(void) entities_of(rel, table);
}

/*
 * A label of a table; an entity is declared beside what is in it, and what is said of the table is
 * read and written: the members that are not known stay.
 */
static void
fuzz_label(const Input *input)
{
	DynTable *table;
	Relation rel = open_table("app", &table);
	Oid relid = RelationGetRelid(rel);
	int n;

	if (SPI_execute(psprintf("SECURITY LABEL FOR dynamo_table ON TABLE app IS %s",
							 quote_literal_cstr(piece(input, 0).data)),
					false, 0) != SPI_OK_UTILITY)
		abort();
	MemoryContextSwitchTo(run_context);
	n = list_length(label_read(relid));
	if (*piece(input, 1).data == 's')
	{
		DynDescription *description = description_read(relid);

		description_set_tag(description, (ItemSpan){"k", 1}, (ItemSpan){"v", 1});
		description_write(relid, description);
		CHECK(description_read(relid)->ntags >= 1);
		CHECK(list_length(label_read(relid)) >= n);
		relation_close(rel, AccessShareLock);
		return;
	}
	if (migration_declarations(relid) == NIL)
		(void) migration_is_declared(relid, piece(input, 1));
	read_label_declarations(rel, table);
	rel = model_lock_table(rel, MODEL_ENTITY, &table);
	model_set(rel, MODEL_ENTITY, (ItemSpan){"Z", 1}, "{\"entity\": \"Z\"}");
	CHECK(list_length(label_read(relid)) >= n);
}

/*
 * Rows as the WAL may have them: any bytes for an item
 */

static void
print_everyhow(StreamPlugin *plugin, const StreamRecord *record)
{
	for (StreamFormat format = STREAM_TYPED; format <= STREAM_API; format++)
	{
		StringInfoData out;

		initStringInfo(&out);
		stream_record_print(&out, record, format);
	}
}

/* 17 has decoded tuples as such, without a buffer around them. */
#if PG17_GE
typedef HeapTupleData DecodedRow;
#else
typedef ReorderBufferTupleBuf DecodedRow;
#endif

static DecodedRow *
make_row(TupleDesc desc, ItemSpan bytes, int item)
{
	DecodedRow *row = palloc0(sizeof(DecodedRow));
	Datum *values = palloc0(desc->natts * sizeof(Datum));
	bool *nulls = palloc(desc->natts * sizeof(bool));

	memset(nulls, true, desc->natts * sizeof(bool));
	values[item] = PointerGetDatum(cstring_to_text_with_len(bytes.data, (int) bytes.len));
	nulls[item] = false;
	*decoded_tuple(row) = *heap_form_tuple(desc, values, nulls);
	return row;
}

/* What has happened, and the old and the new item's bytes. */
static void
fuzz_row(const Input *input)
{
	DynTable *table;
	Relation rel = open_table("num", &table);
	StreamPlugin plugin = {.deliver = print_everyhow,
						   .options.view = DYN_STREAM_NEW_AND_OLD_IMAGES};
	StreamSubject subject = {.relid = RelationGetRelid(rel),
							 .valid = true,
							 .wanted = true,
							 .named = RelationGetRelid(rel),
							 .table = {"num", 3},
							 .item_attnum = table->item_attnum,
							 .nkeys = table->nkeys,
							 .shards = 3,
							 .view = DYN_STREAM_NEW_AND_OLD_IMAGES,
							 .ttl = {"n", 1}};
	ReorderBufferChange change = {0};
	char action = *piece(input, 0).data;

	memcpy(subject.keys, table->keys, table->nkeys * sizeof(DynKey));
	change.action = action == 'i'   ? REORDER_BUFFER_CHANGE_INSERT
					: action == 'd' ? REORDER_BUFFER_CHANGE_DELETE
									: REORDER_BUFFER_CHANGE_UPDATE;
	if (action != 'i')
		change.data.tp.oldtuple =
			make_row(RelationGetDescr(rel), piece(input, 1), table->item_attnum - 1);
	if (action != 'd')
		change.data.tp.newtuple =
			make_row(RelationGetDescr(rel), piece(input, 2), table->item_attnum - 1);
	stream_change(&plugin, &subject, RelationGetDescr(rel), &change);
	relation_close(rel, AccessShareLock);
}

static const struct
{
	const char *name;
	Target run;
	bool pure; /* looks at no catalog, so nothing has to be released */
	bool binary;
} targets[] = {
	{"expression", fuzz_expression, .pure = true},
	{"request", fuzz_request},
	{"statement", fuzz_statement},
	{"template", fuzz_template, .pure = true},
	{"entity", fuzz_entity},
	{"member", fuzz_member},
	{"migration", fuzz_migration},
	{"plan", fuzz_plan},
	{"options", fuzz_options, .pure = true},
	{"arguments", fuzz_arguments, .pure = true},
	{"label", fuzz_label},
	{"row", fuzz_row, .binary = true},
};

static bool is_pure;
static bool is_binary;

/*
 * Running
 */

/* Of its own size, so that reading on behind the end is seen. */
static ItemSpan
copied(const char *from, size_t len)
{
	char *copy = palloc(len + 1);

	memcpy(copy, from, len);
	copy[len] = '\0';
	return (ItemSpan){copy, (uint32) len};
}

/* The server hands over verified UTF-8 without NUL. */
static bool
split(const uint8_t *data, size_t size, Input *input)
{
	char *copy = palloc(size + 1);
	char *at = copy;

	memcpy(copy, data, size);
	copy[size] = '\0';
	if (!is_binary && pg_encoding_verifymbstr(PG_UTF8, copy, (int) size) != (int) size)
		return false;
	input->n = 0;
	for (size_t i = 0; i <= size && input->n < MOST_PIECES; i++)
	{
		if (i < size && copy[i] != '\x1f')
			continue;
		input->pieces[input->n++] = copied(at, copy + i - at);
		at = copy + i + 1;
	}
	return true;
}

static void
run(const Input *input)
{
	ResourceOwner owner = CurrentResourceOwner;

	if (!is_pure)
		BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(run_context);
	PG_TRY();
	{
		target(input);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(run_context);
		error = CopyErrorData();
		FlushErrorState();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_INTERNAL_ERROR)
		{
			fprintf(stderr, "internal error: %s (%s, %s:%d)\n", error->message, error->funcname,
					error->filename, error->lineno);
			abort();
		}
	}
	PG_END_TRY();
	if (!is_pure)
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(run_context);
	CurrentResourceOwner = owner;
}

static int
run_one(const uint8_t *data, size_t size)
{
	Input input;

	MemoryContextSwitchTo(run_context);
	if (split(data, size, &input))
		run(&input);
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextReset(run_context);
	return 0;
}

/* backend_fuzz(target, options): libFuzzer's options, with blanks between them
 */
PG_FUNCTION_INFO_V1(backend_fuzz);
Datum
backend_fuzz(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char *words[MOST_OPTIONS] = {"backend_fuzz"};
	char **argv = words;
	int argc = 1;

	for (char *word = strtok(text_to_cstring(PG_GETARG_TEXT_PP(1)), " ");
		 word != NULL && argc < MOST_OPTIONS - 1; word = strtok(NULL, " "))
		words[argc++] = word;
	for (int i = 0; i < lengthof(targets); i++)
	{
		if (strcmp(targets[i].name, name) == 0)
		{
			target = targets[i].run;
			is_pure = targets[i].pure;
			is_binary = targets[i].binary;
		}
	}
	if (target == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown target \"%s\"", name)));
	run_context = AllocSetContextCreate(TopMemoryContext, "fuzz", ALLOCSET_DEFAULT_SIZES);
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	exit(LLVMFuzzerRunDriver(&argc, &argv, run_one));
}
