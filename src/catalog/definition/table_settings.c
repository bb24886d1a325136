/*
 * table_settings.c
 *	  Settings of a table: read, checked, changed, printed.
 */
#include "postgres.h"

#include "catalog/definition/table_settings.h"
#include "item/fields.h"
#include "server/errors.h"

#define ARGUMENT_START "{\"settings\":"

const char *const dyn_index_status_names[] = {"ACTIVE", "CREATING", "DELETING", NULL};
const char *const dyn_stream_view_names[] = {"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE",
											 "NEW_AND_OLD_IMAGES", NULL};

/*
 * Reading and printing
 */

/*
 * Settings end with "}".  A key cannot, even if its attribute's name looks like JSON: it ends with
 * its type.
 */
bool
dyn_argument_is_json(const char *argument)
{
	size_t len = strlen(argument);

	return len > 1 && argument[0] == '{' && argument[len - 1] == '}';
}

/* The definition of an index begins with its name, so it never begins like this. */
bool
dyn_settings_is_argument(const char *argument)
{
	return dyn_argument_is_json(argument) &&
		   strncmp(argument, ARGUMENT_START, strlen(ARGUMENT_START)) == 0;
}

pg_noreturn static void
settings_fail(const FieldReader *reader, const char *message, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid settings of a table: %s", message),
			 detail == NULL ? 0 : errdetail("%s", detail)));
}

/* Settings are kept in an argument, which is a C string; JSON's \u0000 would end it. */
static bool
is_attribute(ItemSpan name)
{
	return name.len <= DYN_MAX_TTL_ATTRIBUTE && memchr(name.data, '\0', name.len) == NULL;
}

/* Reads the name of an attribute that dyn_settings_check_ttl() has accepted; empty: none. */
static void
read_attribute(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	ItemSpan string = item_payload(value);

	if (!is_attribute(string))
		fields_fail(reader,
					psprintf("\"%s\" must have at most %d bytes, and no U+0000", field->name,
							 DYN_MAX_TTL_ATTRIBUTE),
					NULL);
	*FIELD_POINTER(field, ItemSpan, target) = string;
}

/* Reads milliseconds since 1970, in the range that can be printed as labels. */
static void
read_time(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	int64 *time = FIELD_POINTER(field, int64, target);

	(void) field_count(value, time);
	if (*time > DYN_MAX_LABEL)
		field_fail(reader, field->name, "a time up to the year 9999");
}

static void
read_shards(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	int64 shards;

	(void) field_count(value, &shards);
	*FIELD_POINTER(field, int, target) = (int) Min(shards, DYN_MAX_SHARDS);
}

static void
read_earlier(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynStream *stream = target;
	ItemChildren children;
	int64 shards;

	if (item_type(value) != ITEM_L)
		field_fail(reader, field->name, "an array");
	children = item_children(value);
	if (children.count > DYN_MAX_SPLITS)
		field_fail(reader, field->name, psprintf("an array of at most %d numbers", DYN_MAX_SPLITS));
	for (uint32 i = 0; i < children.count; i++)
	{
		if (!field_count(item_child(&children, i), &shards))
			field_fail(reader, field->name, "an array of counts");
		stream->earlier[stream->nearlier++] = (int) Min(shards, DYN_MAX_SHARDS);
	}
}

static void
print_earlier(JsonWriter *json, const Field *field, const void *target)
{
	const DynStream *stream = target;

	if (stream->nearlier == 0)
		return;
	json_write_begin_array(json, field->name);
	for (int i = 0; i < stream->nearlier; i++)
		json_write_integer(json, NULL, stream->earlier[i]);
	json_write_end_array(json);
}

static void
print_shards(JsonWriter *json, const Field *field, const void *target)
{
	json_write_integer(json, field->name, *FIELD_POINTER(field, const int, target));
}

static const Field stream_fields[] = {
	{"label", FIELD_COUNT, FIELD_AT(DynStream, label), .required = true, .read = read_time},
	{"view_type", FIELD_CHOICE, FIELD_AT(DynStream, view), .always = true,
	 .choices = dyn_stream_view_names},
	{"shards", FIELD_COUNT, FIELD_AT(DynStream, shards), .required = true, .read = read_shards,
	 .print = print_shards},
	{"earlier_shards", FIELD_OWN, .read = read_earlier, .print = print_earlier},
	{"disabled", FIELD_COUNT, FIELD_AT(DynStream, disabled), .read = read_time},
	{NULL}};

/* Each number of shards has the ones before it as divisors, so that a shard has one parent. */
static void
check_stream(const FieldReader *reader, const DynStream *stream)
{
	if (stream->label == 0 || stream->shards == 0)
		fields_fail(reader, "a stream must have a label and shards", NULL);
	for (int i = 0; i < stream->nearlier; i++)
	{
		int next = i + 1 < stream->nearlier ? stream->earlier[i + 1] : stream->shards;

		if (stream->earlier[i] == 0 || next <= stream->earlier[i] || next % stream->earlier[i] != 0)
			fields_fail(reader,
						"each number of shards of a stream must be a multiple of the one "
						"before",
						NULL);
	}
}

static void
read_streams(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	FieldReader of_stream = {settings_fail, "a stream"};
	DynSettings *settings = target;
	ItemChildren children;

	if (item_type(value) != ITEM_L)
		field_fail(reader, field->name, "an array");
	children = item_children(value);
	settings->nstreams = (int) children.count;
	settings->streams = palloc0(children.count * sizeof(DynStream));
	for (uint32 i = 0; i < children.count; i++)
	{
		DynStream *stream = &settings->streams[i];

		fields_read(&of_stream, stream_fields, stream, item_child(&children, i));
		check_stream(reader, stream);
	}
}

static void
print_streams(JsonWriter *json, const Field *field, const void *target)
{
	const DynSettings *settings = target;

	if (settings->nstreams == 0)
		return;
	json_write_begin_array(json, field->name);
	for (int i = 0; i < settings->nstreams; i++)
		fields_print_object(json, NULL, stream_fields, &settings->streams[i]);
	json_write_end_array(json);
}

static const Field settings_fields[] = {
	{"name", FIELD_STRING, FIELD_AT(DynSettings, name)},
	{"id", FIELD_STRING, FIELD_AT(DynSettings, id)},
	{"ttl_attribute", FIELD_STRING, FIELD_AT(DynSettings, ttl), .read = read_attribute},
	{"placement", FIELD_NOT, FIELD_AT(DynSettings, no_placement)},
	{"ttl_status", FIELD_CHOICE, FIELD_AT(DynSettings, ttl_status),
	 .choices = dyn_index_status_names},
	{"hide_expired", FIELD_BOOL, FIELD_AT(DynSettings, hide_expired)},
	{"streams", FIELD_OWN, .read = read_streams, .print = print_streams},
	{"replica_identity", FIELD_STRING, FIELD_AT(DynSettings, identity)},
	{NULL}};

/*
 * Reads settings from a derive trigger's argument, in which the table's owner may have written
 * anything.  They point into memory of the current context.  Raises an error if the argument has
 * another form than table_settings.h describes.
 */
void
dyn_settings_parse(const char *json, DynSettings *settings)
{
	FieldReader reader = {settings_fail};
	DynItem *item = item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL);
	ItemChildren outer = item_children(item_root(item));
	ItemSpan name;
	ItemSpan value = {0};

	memset(settings, 0, sizeof(DynSettings));
	if (outer.count == 1)
		value = item_entry(item_child(&outer, 0), &name);
	if (value.len == 0 || item_type(value) != ITEM_M)
		field_fail(&reader, "settings", "an object, and alone");
	fields_read(&reader, settings_fields, settings, value);
}

/* Returns the settings as an argument of the derive trigger; NULL if nothing is set. */
char *
dyn_settings_print(const DynSettings *settings)
{
	JsonWriter json = json_writer(JSON_SPACED);
	bool any;

	json_write_begin(&json, NULL);
	json_write_begin(&json, "settings");
	fields_print(&json, settings_fields, settings);
	any = json.comma;
	json_write_end(&json);
	json_write_end(&json);
	return any ? json.text->data : NULL;
}

/*
 * Rules
 */

/*
 * Raises ERRCODE_DYN_VALIDATION if a table cannot have time to live by an attribute of that name.
 */
void
dyn_settings_check_ttl(ItemSpan attribute)
{
	if (attribute.len == 0 || !is_attribute(attribute))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("name of the attribute of time to live must have 1 to %d bytes, and "
							   "no U+0000",
							   DYN_MAX_TTL_ATTRIBUTE)));
}

/* Returns the stream that is enabled, or NULL. */
const DynStream *
dyn_settings_stream(const DynSettings *settings)
{
	int n = settings->nstreams;

	return n > 0 && settings->streams[n - 1].disabled == 0 ? &settings->streams[n - 1] : NULL;
}
