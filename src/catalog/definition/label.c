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

#include "catalog/definition/label.h"
#include "item/json_writer.h"
#include "item/reader.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "server/extension.h"

#define MAX_LABEL (1024 * 1024) /* bytes */

static const char *const known_names[] = {LABEL_ENTITIES, LABEL_PATTERNS, LABEL_MIGRATIONS,
										  LABEL_SETTINGS};

/*
 * Members
 */

static const char *
copy_raw(JsonReader *reader)
{
	ItemSpan raw = json_read_raw(reader);

	return span_string(raw);
}

/* Returns them in their order.  Raises an error with this SQLSTATE if the label is no JSON object. */
static List *
read_members(const char *label, int sqlerrcode)
{
	List *members = NIL;
	JsonReader reader;
	ItemSpan name;

	json_reader_begin(&reader, label, (int) strlen(label), "security label", sqlerrcode);
	for (json_read_object(&reader); json_read_member(&reader, &name);)
	{
		LabelMember *member = palloc(sizeof(LabelMember));

		*member = (LabelMember){name, copy_raw(&reader)};
		members = lappend(members, member);
	}
	json_reader_done(&reader);
	return members;
}

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

static void
check_declarations(const char *name, const char *json)
{
	JsonReader reader;

	json_reader_begin(&reader, json, (int) strlen(json), "security label",
					  ERRCODE_INVALID_PARAMETER_VALUE);
	if (*json != '[')
		fail_form(psprintf("\"%s\" must be an array", name));
	for (json_read_array(&reader); json_read_element(&reader);)
	{
		if (*json_read_raw(&reader).data != '{')
			fail_form(psprintf("\"%s\" must be an array of objects", name));
	}
}

static void
check_member(List *members, const LabelMember *member)
{
	for (int i = 0; i < lengthof(known_names); i++)
	{
		const char *name = known_names[i];

		if (!item_span_is(member->name, name))
			continue;
		if (label_member(members, name) != member->json)
			fail_form(psprintf("\"%s\" is there twice", name));
		if (strcmp(name, LABEL_SETTINGS) != 0)
			check_declarations(name, member->json);
		else if (*member->json != '{')
			fail_form("\"" LABEL_SETTINGS "\" must be an object");
		return;
	}
	ereport(WARNING, (errmsg("member \"%s\" of a security label of provider \"%s\" is not known",
							 item_quoted(member->name), LABEL_PROVIDER)));
}

static void
check_form(const char *label)
{
	List *members;
	ListCell *cell;

	if (strlen(label) > MAX_LABEL)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("a security label of provider \"%s\" has at most %d bytes",
							   LABEL_PROVIDER, MAX_LABEL)));
	/* says where JSON is wrong */
	(void) DirectFunctionCall1(json_in, CStringGetDatum(label));
	if (label[strspn(label, " \t\n\r")] != '{')
		fail_form("it must be a JSON object");
	members = read_members(label, ERRCODE_INVALID_PARAMETER_VALUE);
	foreach (cell, members)
	{
		CHECK_FOR_INTERRUPTS();
		check_member(members, lfirst(cell));
	}
}

/*
 * Invalidates the relcache entries of the table and its partitions: SECURITY LABEL itself does not
 * tell other sessions that a label has changed.
 */
static void
label_invalidate(Oid relid)
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
	label_invalidate(object->objectId);
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

/*
 * Returns the members of a table's newest label in their order; NIL if it has none.  Raises
 * ERRCODE_INVALID_TABLE_DEFINITION if it is no JSON object.
 */
List *
label_read(Oid relid)
{
	char *label = label_text(relid);

	return label == NULL ? NIL : read_members(label, ERRCODE_INVALID_TABLE_DEFINITION);
}

/* Returns the newest label of a table, or NULL. */
char *
label_text(Oid relid)
{
	ObjectAddress object = {RelationRelationId, relid, 0};

	return GetSecurityLabel(&object, LABEL_PROVIDER);
}

/*
 * Returns the texts of the elements of an object's member, in a label or a part of one.  NIL: it is
 * not there.  Raises an error if it is no array.  There may be hundreds of declarations, so what is
 * not asked for is passed over once.
 */
List *
label_elements(const char *json, const char *name)
{
	List *elements = NIL;
	JsonReader reader;
	ItemSpan member;

	json_reader_begin(&reader, json, (int) strlen(json), "security label",
					  ERRCODE_INVALID_TABLE_DEFINITION);
	for (json_read_object(&reader); json_read_member(&reader, &member); json_read_raw(&reader))
	{
		if (!item_span_is(member, name))
			continue;
		for (json_read_array(&reader); json_read_element(&reader);)
			elements = lappend(elements, (void *) copy_raw(&reader));
		break;
	}
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

		if (item_span_is(member->name, name))
			return member->json;
	}
	return NULL;
}

/*
 * Returns the OIDs of all tables with a label in their order, without a lock on any.  It sees what
 * was committed last, and not the transaction's snapshot, which may be older.
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

		if (form->classoid == RelationRelationId && form->objsubid == 0 &&
			catalogs_within_reach(form->objoid))
			tables = lappend_oid(tables, form->objoid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	list_sort(tables, list_oid_cmp);
	return tables;
}

/*
 * Writing
 */

/* Returns the members with one of them replaced, or added at the end; json is NULL to leave it out. */
static List *
with_member(List *members, const char *name, const char *json)
{
	LabelMember *new = palloc(sizeof(LabelMember));
	ListCell *cell;

	*new = (LabelMember){{name, (uint32) strlen(name)}, json};
	foreach (cell, members)
	{
		if (!item_span_is(((const LabelMember *) lfirst(cell))->name, name))
			continue;
		if (json == NULL)
			return list_delete_cell(members, cell);
		lfirst(cell) = new;
		return members;
	}
	return json == NULL ? members : lappend(members, new);
}

static char *
label_print(List *members)
{
	JsonWriter json = json_writer(JSON_SPACED);
	ListCell *cell;

	json_write_begin(&json, NULL);
	foreach (cell, members)
	{
		const LabelMember *member = lfirst(cell);

		json_write_member(&json, member->name);
		json_write_raw(&json, NULL, member->json);
	}
	json_write_end(&json);
	return json.text->data;
}

/*
 * Writes the label of a table by SECURITY LABEL, so that the statement's checks, event triggers and
 * auditing apply.  Without members, the label is removed.  The caller has locked the table; its
 * schema is kept from being renamed, so that the statement names no other table.
 */
static void
write_label(Oid relid, List *members)
{
	char *qualified;
	char *sql;
	int result;

	extension_keep_schema(get_rel_namespace(relid));
	qualified = catalogs_qualified(relid);
	sql = psprintf("SECURITY LABEL FOR %s ON TABLE %s IS %s", LABEL_PROVIDER, qualified,
				   members == NIL ? "NULL" : quote_literal_cstr(label_print(members)));
	SPI_connect();
	result = SPI_execute(sql, false, 0);
	if (result != SPI_OK_UTILITY)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	SPI_finish();
}

/*
 * Sets a member of a table's label, or removes it if json is NULL.  The caller still holds the lock
 * under which it has read the member.
 */
void
label_set_member(Oid relid, const char *name, const char *json)
{
	write_label(relid, with_member(label_read(relid), name, json));
}
