/*
 * label.c
 *	  Security labels of tables: the provider, reading and writing.
 *
 * The provider's hook is called by SECURITY LABEL with the lock held and the owner checked.  A
 * restore sets a label before the table has data, a primary key or triggers, so the hook looks at
 * the form alone.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_seclabel.h"
#include "commands/seclabel.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "ground/errors.h"
#include "ground/json_writer.h"
#include "ground/label.h"
#include "item/reader.h"

#define MAX_LABEL (1024 * 1024) /* bytes */

static const char *const array_names[] = {LABEL_ENTITIES, LABEL_PATTERNS, LABEL_MIGRATIONS};

/*
 * The provider
 */

pg_noreturn static void
fail_form(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid security label of provider \"%s\": %s", LABEL_PROVIDER, message)));
}

static void
check_object(const ObjectAddress *object)
{
	char kind = RELKIND_VIEW;

	if (object->classId == RelationRelationId && object->objectSubId == 0)
		kind = get_rel_relkind(object->objectId);
	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("security labels of provider \"%s\" are for tables", LABEL_PROVIDER)));
}

static bool
is_array_name(ItemSpan name)
{
	for (int i = 0; i < lengthof(array_names); i++)
	{
		if (item_span_is(name, array_names[i]))
			return true;
	}
	return false;
}

static void
check_declarations(ItemSpan name, ItemSpan value)
{
	ItemChildren elements;

	if (item_type(value) != ITEM_L)
		fail_form(psprintf("\"%s\" must be an array", item_quoted(name)));
	elements = item_children(value);
	for (uint32 i = 0; i < elements.count; i++)
	{
		if (item_type(item_child(&elements, i)) != ITEM_M)
			fail_form(psprintf("\"%s\" must be an array of objects", item_quoted(name)));
	}
}

static void
check_form(const char *label)
{
	DynItem *item;
	ItemChildren members;

	if (strlen(label) > MAX_LABEL)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("a security label of provider \"%s\" has at most %d bytes",
							   LABEL_PROVIDER, MAX_LABEL)));
	/* says where JSON is wrong */
	(void) DirectFunctionCall1(json_in, CStringGetDatum(label));
	if (label[strspn(label, " \t\n\r")] != '{')
		fail_form("it must be a JSON object");
	item = item_parse(label, (int) strlen(label), ITEM_SYNTAX_PLAIN_ITEM, NULL);
	members = item_children(item_root(item));
	for (uint32 i = 0; i < members.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&members, i), &name);

		if (is_array_name(name))
			check_declarations(name, value);
		else if (!item_span_is(name, LABEL_SETTINGS))
			ereport(WARNING,
					(errmsg("member \"%s\" of a security label of provider \"%s\" is not known",
							item_quoted(name), LABEL_PROVIDER)));
		else if (item_type(value) != ITEM_M)
			fail_form("\"" LABEL_SETTINGS "\" must be an object");
	}
}

/*
 * Invalidates the relcache entries of the table and its partitions: SECURITY LABEL itself does not
 * tell other sessions that a label has changed.
 */
static void
invalidate(Oid relid)
{
	ListCell *cell;

	foreach (cell, find_all_inheritors(relid, NoLock, NULL))
	{
		HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(cell)));

		/* one that goes as we look needs none */
		if (!HeapTupleIsValid(tuple))
			continue;
		CacheInvalidateRelcacheByTuple(tuple);
		ReleaseSysCache(tuple);
	}
}

static void
check_label(const ObjectAddress *object, const char *label)
{
	check_object(object);
	if (label != NULL)
		check_form(label);
	invalidate(object->objectId);
}

/* Makes the library a provider of security labels.  Called once by _PG_init(). */
void
label_init(void)
{
	register_label_provider(LABEL_PROVIDER, check_label);
}

/*
 * Reading
 */

static void
init_reader(JsonReader *reader, const char *json)
{
	json_reader_begin(reader, json, (int) strlen(json), "security label",
					  ERRCODE_INVALID_TABLE_DEFINITION);
}

static const char *
copy_raw(JsonReader *reader)
{
	ItemSpan raw = json_read_raw(reader);

	return pnstrdup(raw.data, raw.len);
}

/*
 * Returns the members of a label in their order.  Raises ERRCODE_INVALID_TABLE_DEFINITION if it is no
 * JSON object.
 */
List *
label_parse(const char *label)
{
	List *members = NIL;
	JsonReader reader;
	ItemSpan name;

	init_reader(&reader, label);
	for (json_read_object(&reader); json_read_member(&reader, &name);)
	{
		LabelMember *member = palloc(sizeof(LabelMember));

		*member = (LabelMember){name.data, copy_raw(&reader)};
		members = lappend(members, member);
	}
	json_reader_done(&reader);
	return members;
}

/* Returns the members of a table's newest label; NIL if it has none. */
List *
label_read(Oid relid)
{
	ObjectAddress object = {RelationRelationId, relid, 0};
	char *label = GetSecurityLabel(&object, LABEL_PROVIDER);

	return label == NULL ? NIL : label_parse(label);
}

/* Returns the texts of an array's elements.  Raises an error if it is no array. */
List *
label_elements(const char *json)
{
	List *elements = NIL;
	JsonReader reader;

	init_reader(&reader, json);
	for (json_read_array(&reader); json_read_element(&reader);)
		elements = lappend(elements, (void *) copy_raw(&reader));
	return elements;
}

/* Returns the text of the member of that name, or NULL. */
const char *
label_member(List *members, const char *name)
{
	ListCell *cell;

	foreach (cell, members)
	{
		const LabelMember *member = lfirst(cell);

		if (strcmp(member->name, name) == 0)
			return member->json;
	}
	return NULL;
}

/* True for the label of a table, unless it is a temporary table of another session. */
static bool
is_within_reach(const FormData_pg_seclabel *form)
{
	HeapTuple tuple;
	Form_pg_class class;
	bool within;

	if (form->classoid != RelationRelationId || form->objsubid != 0)
		return false;
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(form->objoid));
	if (!HeapTupleIsValid(tuple))
		return false;
	class = (Form_pg_class) GETSTRUCT(tuple);
	within =
		class->relpersistence != RELPERSISTENCE_TEMP || !isOtherTempNamespace(class->relnamespace);
	ReleaseSysCache(tuple);
	return within;
}

/*
 * Returns all tables with a label, copied into the current memory context, without a lock on any.
 * It sees what was committed last, and not the transaction's snapshot, which may be older.
 */
List *
label_tables(void)
{
	Relation rel = table_open(SecLabelRelationId, AccessShareLock);
	List *tables = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_seclabel_provider, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(LABEL_PROVIDER));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		const FormData_pg_seclabel *form = (const FormData_pg_seclabel *) GETSTRUCT(tuple);
		LabelledTable *table;
		bool isnull;
		Datum label = heap_getattr(tuple, Anum_pg_seclabel_label, RelationGetDescr(rel), &isnull);

		if (isnull || !is_within_reach(form))
			continue;
		table = palloc(sizeof(LabelledTable));
		*table = (LabelledTable){form->objoid, TextDatumGetCString(label)};
		tables = lappend(tables, table);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return tables;
}

/*
 * Writing
 */

/* Returns the members with one of them replaced, or added at the end; json is NULL to leave it out. */
List *
label_with(List *members, const char *name, const char *json)
{
	LabelMember *new = palloc(sizeof(LabelMember));
	ListCell *cell;

	*new = (LabelMember){name, json};
	foreach (cell, members)
	{
		if (strcmp(((const LabelMember *) lfirst(cell))->name, name) != 0)
			continue;
		if (json == NULL)
			return list_delete_cell(members, cell);
		lfirst(cell) = new;
		return members;
	}
	return json == NULL ? members : lappend(members, new);
}

static char *
print(List *members)
{
	JsonWriter json = json_writer(JSON_SPACED);
	ListCell *cell;

	json_write_begin(&json, NULL);
	foreach (cell, members)
	{
		const LabelMember *member = lfirst(cell);

		json_write_member(&json, (ItemSpan){member->name, (uint32) strlen(member->name)});
		json_write_raw(&json, NULL, member->json);
	}
	json_write_end(&json);
	return json.text->data;
}

/*
 * Writes the label of a table by SECURITY LABEL, so that the statement's checks, event triggers and
 * auditing apply.  Without members, the label is removed.
 */
void
label_write(Oid relid, List *members)
{
	char *qualified = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
												 get_rel_name(relid));
	char *sql = psprintf("SECURITY LABEL FOR %s ON TABLE %s IS %s", LABEL_PROVIDER, qualified,
						 members == NIL ? "NULL" : quote_literal_cstr(print(members)));
	MemoryContext context = CurrentMemoryContext;
	int result = SPI_execute(sql, false, 0);

	if (result != SPI_OK_UTILITY)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	MemoryContextSwitchTo(context);
}
