/*
 * index_spec.c
 *	  Definitions of secondary indexes: read, checked, printed.
 *
 * They are JSON in the derive trigger's arguments and in the arguments of dyn_create_table().
 */
#include "postgres.h"

#include "lib/qunique.h"
#include "utils/json.h"

#include "ground/errors.h"
#include "ground/index_spec.h"
#include "ground/name.h"

const char *const dyn_projection_names[] = {"ALL", "KEYS_ONLY", "INCLUDE", NULL};

pg_noreturn static void
fail(const DynIndexSpec *spec, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid index \"%s\": %s", item_quoted(spec->name), message)));
}

/* Whether a member of the definition is there, and is a string. */
static bool
get_string(const DynIndexSpec *spec, const ItemChildren *members, const char *name,
		   ItemSpan *string)
{
	ItemSpan value;

	if (!item_find(members, (ItemSpan){name, (uint32) strlen(name)}, &value) ||
		item_type(value) == ITEM_NULL)
		return false;
	if (item_type(value) != ITEM_S)
		fail(spec, psprintf("\"%s\" must be a string", name));
	*string = item_payload(value);
	return true;
}

/* A member that is a string or an array of strings; returns their number. */
static int
get_strings(const DynIndexSpec *spec, const ItemChildren *members, const char *name,
			ItemSpan **strings)
{
	ItemSpan value;
	ItemChildren elements;

	*strings = NULL;
	if (!item_find(members, (ItemSpan){name, (uint32) strlen(name)}, &value) ||
		item_type(value) == ITEM_NULL)
		return 0;
	if (item_type(value) == ITEM_S)
	{
		*strings = palloc(sizeof(ItemSpan));
		**strings = item_payload(value);
		return 1;
	}
	if (item_type(value) != ITEM_L)
		fail(spec, psprintf("\"%s\" must be a string or an array of strings", name));
	elements = item_children(value);
	*strings = palloc(elements.count * sizeof(ItemSpan));
	for (uint32 i = 0; i < elements.count; i++)
	{
		ItemSpan element = item_child(&elements, i);

		if (item_type(element) != ITEM_S)
			fail(spec, psprintf("\"%s\" must be a string or an array of strings", name));
		(*strings)[i] = item_payload(element);
	}
	return (int) elements.count;
}

static int
get_choice(const DynIndexSpec *spec, const ItemChildren *members, const char *name,
		   const char *const *choices)
{
	ItemSpan value;

	if (!get_string(spec, members, name, &value))
		return 0;
	for (int i = 0; choices[i] != NULL; i++)
	{
		if (item_span_is(value, choices[i]))
			return i;
	}
	fail(spec, psprintf("\"%s\" cannot be \"%s\"", name, item_quoted(value)));
}

static int64
get_count(const DynIndexSpec *spec, const ItemChildren *members, const char *name)
{
	ItemSpan value;
	int64 count;

	if (!item_find(members, (ItemSpan){name, (uint32) strlen(name)}, &value))
		return 0;
	if (!dyn_settings_integer(value, &count) || count < 0)
		fail(spec, psprintf("\"%s\" must be a count", name));
	return count;
}

/* known ends with NULL. */
static void
check_members(const DynIndexSpec *spec, const ItemChildren *members, const char *const *known)
{
	for (uint32 i = 0; i < members->count; i++)
	{
		StringInfoData names;
		ItemSpan name;
		int k = 0;

		item_entry(item_child(members, i), &name);
		while (known[k] != NULL && !item_span_is(name, known[k]))
			k++;
		if (known[k] != NULL)
			continue;
		initStringInfo(&names);
		for (k = 0; known[k] != NULL; k++)
			appendStringInfo(&names, "%s\"%s\"", k > 0 ? ", " : "", known[k]);
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid index \"%s\": unknown member \"%s\"",
							   item_quoted(spec->name), item_quoted(name)),
						errdetail("Known members are %s.", names.data)));
	}
}

static void
set_part(DynIndexSpec *spec, const char *part, const ItemSpan *keys, int n)
{
	if (n > DYN_MAX_KEY_PART)
		fail(spec, psprintf("a %s has at most %d attributes", part, DYN_MAX_KEY_PART));
	for (int i = 0; i < n; i++)
		spec->keys[spec->nkeys++] = keys[i];
}

/* What both forms have: keys and projection. */
static void
read_members(DynIndexSpec *spec, const ItemChildren *members)
{
	ItemSpan *strings;
	int n = get_strings(spec, members, "partition_key", &strings);

	set_part(spec, "partition key", strings, n);
	spec->npartition = spec->nkeys;
	n = get_strings(spec, members, "sort_key", &strings);
	set_part(spec, "sort key", strings, n);
	spec->projection =
		(DynProjection) get_choice(spec, members, "projection", dyn_projection_names);
	spec->nincluded = get_strings(spec, members, "non_key_attributes", &spec->included);
}

/* An argument of the derive trigger, which may be anything that somebody has written there. */
DynIndexSpec *
dyn_index_spec_parse_argument(const char *json)
{
	static const char *const known[] = {"name",
										"type",
										"partition_key",
										"sort_key",
										"status",
										"projection",
										"non_key_attributes",
										"read_capacity_units",
										"write_capacity_units",
										NULL};
	DynItem *item = item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL);
	ItemChildren members = item_children(item_root(item));
	DynIndexSpec *spec = palloc0(sizeof(DynIndexSpec));
	ItemSpan type = {NULL, 0};

	if (!get_string(spec, &members, "name", &spec->name))
		fail(spec, "it has no name");
	check_members(spec, &members, known);
	get_string(spec, &members, "type", &type);
	spec->local = item_span_is(type, "local");
	if (!spec->local && !item_span_is(type, "global"))
		fail(spec, "its type must be global or local");
	spec->status = (DynIndexStatus) get_choice(spec, &members, "status", dyn_index_status_names);
	spec->capacity.read = get_count(spec, &members, "read_capacity_units");
	spec->capacity.write = get_count(spec, &members, "write_capacity_units");
	read_members(spec, &members);
	dyn_index_spec_check(spec);
	return spec;
}

/*
 * A definition that a user gives with the index's name: the members of a JSON object.  table_key is the
 * table's partition key, which a local index has.
 */
DynIndexSpec *
dyn_index_spec_parse(ItemSpan name, ItemSpan definition, bool local, ItemSpan table_key)
{
	static const char *const known[] = {"partition_key", "sort_key", "projection",
										"non_key_attributes", NULL};
	DynIndexSpec *spec = palloc0(sizeof(DynIndexSpec));
	ItemChildren members;

	spec->name = name;
	spec->local = local;
	if (item_type(definition) != ITEM_M)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("invalid index \"%s\": its definition must be a JSON object",
						item_quoted(name)),
				 errdetail("It has the form %s.", local ? LOCAL_INDEX_FORM : GLOBAL_INDEX_FORM)));
	members = item_children(definition);
	/* it is not named there */
	if (local)
	{
		spec->keys[spec->nkeys++] = table_key;
		check_members(spec, &members, known + 1);
	}
	else
		check_members(spec, &members, known);
	read_members(spec, &members);
	dyn_index_spec_check(spec);
	return spec;
}

/*
 * Checks
 */

static int
compare_spans(const void *a, const void *b)
{
	return item_compare_bytes(*(const ItemSpan *) a, *(const ItemSpan *) b);
}

/* Non-key attributes go with INCLUDE, each once (docs/semantics.md, I13, I17). */
static void
check_projection(DynIndexSpec *spec)
{
	if (spec->projection != DYN_PROJECT_INCLUDE && spec->nincluded > 0)
		fail(spec, "non-key attributes go with the projection INCLUDE only");
	if (spec->projection == DYN_PROJECT_INCLUDE && spec->nincluded == 0)
		fail(spec, "the projection INCLUDE needs non-key attributes");
	for (int i = 0; i < spec->nincluded; i++)
	{
		if (spec->included[i].len == 0 || spec->included[i].len > ITEM_MAX_NAME)
			fail(spec, psprintf("names of attributes have 1 to %d bytes", ITEM_MAX_NAME));
		/* a trigger's argument is a C string */
		if (memchr(spec->included[i].data, '\0', spec->included[i].len) != NULL)
			fail(spec, "a non-key attribute has U+0000 in its name");
	}
	if (spec->nincluded == 0)
		return;
	qsort(spec->included, spec->nincluded, sizeof(ItemSpan), compare_spans);
	if (qunique(spec->included, spec->nincluded, sizeof(ItemSpan), compare_spans) <
		(size_t) spec->nincluded)
		fail(spec, "a non-key attribute is named twice");
}

/* What can be wrong with an index by itself.  Puts the included attributes in order. */
void
dyn_index_spec_check(const DynIndexSpec *given)
{
	DynIndexSpec *spec = (DynIndexSpec *) given;
	ItemSpan attributes[DYN_MAX_INDEX_KEYS];

	dyn_check_name("index", spec->name);
	if (spec->npartition == 0)
		fail(spec, "it has no partition key");
	if (spec->local && spec->nkeys != 2)
		fail(spec, "a local index has one sort key");
	for (int i = 0; i < spec->nkeys; i++)
	{
		ItemType type;

		dyn_parse_key_spec(spec->keys[i], &attributes[i], &type);
		for (int j = 0; j < i; j++)
		{
			if (item_compare_bytes(attributes[i], attributes[j]) == 0)
				fail(spec, psprintf("attribute \"%s\" occurs twice in its key",
									item_quoted(attributes[i])));
		}
	}
	check_projection(spec);
}

static bool
same_spans(const ItemSpan *a, int na, const ItemSpan *b, int nb)
{
	for (int i = 0; i < na && na == nb; i++)
	{
		if (item_compare_bytes(a[i], b[i]) != 0)
			return false;
	}
	return na == nb;
}

/* Whether two definitions say the same, whatever their status. */
bool
dyn_index_spec_equal(const DynIndexSpec *a, const DynIndexSpec *b)
{
	return item_compare_bytes(a->name, b->name) == 0 && a->local == b->local &&
		   a->npartition == b->npartition && a->projection == b->projection &&
		   same_spans(a->keys, a->nkeys, b->keys, b->nkeys) &&
		   same_spans(a->included, a->nincluded, b->included, b->nincluded);
}

/*
 * Print
 */

static void
append_string(StringInfo out, ItemSpan span)
{
	escape_json(out, pnstrdup(span.data, span.len));
}

static void
append_strings(StringInfo out, const char *member, const ItemSpan *strings, int n)
{
	if (n == 0)
		return;
	appendStringInfo(out, ", \"%s\": [", member);
	for (int i = 0; i < n; i++)
	{
		appendStringInfoString(out, i > 0 ? ", " : "");
		append_string(out, strings[i]);
	}
	appendStringInfoChar(out, ']');
}

/* As an argument of the derive trigger. */
char *
dyn_index_spec_print(const DynIndexSpec *spec)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"name\": ");
	append_string(&out, spec->name);
	appendStringInfo(&out, ", \"type\": \"%s\"", spec->local ? "local" : "global");
	append_strings(&out, "partition_key", spec->keys, spec->npartition);
	append_strings(&out, "sort_key", spec->keys + spec->npartition, spec->nkeys - spec->npartition);
	appendStringInfo(&out, ", \"projection\": \"%s\"", dyn_projection_names[spec->projection]);
	append_strings(&out, "non_key_attributes", spec->included, spec->nincluded);
	if (spec->capacity.read != 0 || spec->capacity.write != 0)
		appendStringInfo(&out,
						 ", \"read_capacity_units\": " INT64_FORMAT
						 ", \"write_capacity_units\": " INT64_FORMAT,
						 spec->capacity.read, spec->capacity.write);
	if (spec->status != DYN_INDEX_ACTIVE)
		appendStringInfo(&out, ", \"status\": \"%s\"", dyn_index_status_names[spec->status]);
	appendStringInfoChar(&out, '}');
	return out.data;
}
