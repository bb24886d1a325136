/*
 * table_settings.c
 *	  Settings of a table: read, checked, changed, printed.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/json.h"

#include "ground/errors.h"
#include "ground/table_settings.h"

#define ARGUMENT_START "{\"settings\":"

const char *const dyn_billing_names[] = {"PAY_PER_REQUEST", "PROVISIONED", NULL};
const char *const dyn_index_status_names[] = {"ACTIVE", "CREATING", "DELETING", NULL};
const char *const dyn_table_class_names[] = {"", "STANDARD", "STANDARD_INFREQUENT_ACCESS", NULL};
const char *const dyn_stream_view_names[] = {"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE",
											 "NEW_AND_OLD_IMAGES", NULL};

/*
 * Read: an argument may be anything that somebody has written there.
 */

/* An attribute's name may begin and end as JSON does, but a key ends with its type. */
bool
dyn_argument_is_json(const char *argument)
{
	size_t len = strlen(argument);

	return len > 1 && argument[0] == '{' && argument[len - 1] == '}';
}

/* An index has a name as well, so no index begins like this. */
bool
dyn_settings_is_argument(const char *argument)
{
	return dyn_argument_is_json(argument) &&
		   strncmp(argument, ARGUMENT_START, strlen(ARGUMENT_START)) == 0;
}

pg_noreturn static void
fail_member(const char *name, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid settings of a table: \"%s\" %s", name, message)));
}

/* Whether a number is an integer. */
bool
dyn_settings_integer(ItemSpan value, int64 *integer)
{
	char text[ITEM_NUMBER_TEXT];
	char *end;

	if (item_type(value) != ITEM_N)
		return false;
	item_number_print(item_payload(value), text);
	errno = 0;
	*integer = strtoi64(text, &end, 10);
	return *end == '\0' && errno == 0;
}

static int64
read_integer(const char *name, ItemSpan value)
{
	int64 integer;

	if (!dyn_settings_integer(value, &integer) || integer < 0)
		fail_member(name, "must be a count");
	return integer;
}

static double
read_number(const char *name, ItemSpan value)
{
	char text[ITEM_NUMBER_TEXT];

	if (item_type(value) != ITEM_N)
		fail_member(name, "must be a number");
	item_number_print(item_payload(value), text);
	return strtod(text, NULL);
}

static bool
read_bool(const char *name, ItemSpan value)
{
	if (item_type(value) != ITEM_BOOL)
		fail_member(name, "must be true or false");
	return item_bool(value);
}

static ItemSpan
read_string(const char *name, ItemSpan value)
{
	if (item_type(value) != ITEM_S)
		fail_member(name, "must be a string");
	return item_payload(value);
}

/* The name of an attribute, as dyn_settings_check_ttl() lets it in; empty: there is none. */
static ItemSpan
read_attribute(const char *name, ItemSpan value)
{
	ItemSpan string = read_string(name, value);

	if (string.len > DYN_MAX_TTL_ATTRIBUTE || memchr(string.data, '\0', string.len) != NULL)
		fail_member(name,
					psprintf("must have at most %d bytes, and no U+0000", DYN_MAX_TTL_ATTRIBUTE));
	return string;
}

static int
read_choice(const char *name, ItemSpan value, const char *const *choices)
{
	ItemSpan string = read_string(name, value);

	for (int i = 0; choices[i] != NULL; i++)
	{
		if (string.len == strlen(choices[i]) && memcmp(string.data, choices[i], string.len) == 0)
			return i;
	}
	fail_member(name, "has an unknown value");
}

/* The members of an object are in byte order. */
static void
read_tags(DynSettings *settings, ItemSpan value)
{
	ItemChildren children;

	if (item_type(value) != ITEM_M)
		fail_member("tags", "must be an object");
	children = item_children(value);
	settings->tags = palloc(children.count * sizeof(DynTag));
	for (uint32 i = 0; i < children.count; i++)
	{
		DynTag *tag = &settings->tags[settings->ntags++];

		tag->value = read_string("tags", item_entry(item_child(&children, i), &tag->key));
	}
}

/* Milliseconds since 1970, which have to be printed as labels. */
static int64
read_time(const char *name, ItemSpan value)
{
	int64 time = read_integer(name, value);

	if (time > DYN_MAX_LABEL)
		fail_member(name, "is out of range");
	return time;
}

static void
read_stream(DynStream *stream, ItemSpan value)
{
	ItemChildren members;
	ItemSpan name;

	if (item_type(value) != ITEM_M)
		fail_member("streams", "must be an array of objects");
	members = item_children(value);
	for (uint32 i = 0; i < members.count; i++)
	{
		value = item_entry(item_child(&members, i), &name);
		if (item_span_is(name, "label"))
			stream->label = read_time("label", value);
		else if (item_span_is(name, "view_type"))
			stream->view = (DynStreamView) read_choice("view_type", value, dyn_stream_view_names);
		else if (item_span_is(name, "shards"))
			stream->shards = (int) Min(read_integer("shards", value), DYN_MAX_SHARDS);
		else if (item_span_is(name, "disabled"))
			stream->disabled = read_time("disabled", value);
		else
			fail_member("streams", "has a member that is not known");
	}
	if (stream->label == 0 || stream->shards == 0)
		fail_member("streams", "has a stream without label or shards");
}

static void
read_streams(DynSettings *settings, ItemSpan value)
{
	ItemChildren children;

	if (item_type(value) != ITEM_L)
		fail_member("streams", "must be an array");
	children = item_children(value);
	settings->nstreams = (int) children.count;
	settings->streams = palloc0(children.count * sizeof(DynStream));
	for (uint32 i = 0; i < children.count; i++)
		read_stream(&settings->streams[i], item_child(&children, i));
}

static void
read_member(DynSettings *settings, const char *name, ItemSpan value)
{
	if (strcmp(name, "name") == 0)
		settings->name = read_string(name, value);
	else if (strcmp(name, "id") == 0)
		settings->id = read_string(name, value);
	else if (strcmp(name, "created") == 0)
		settings->created = read_number(name, value);
	else if (strcmp(name, "billing_mode") == 0)
		settings->billing = (DynBilling) read_choice(name, value, dyn_billing_names);
	else if (strcmp(name, "read_capacity_units") == 0)
		settings->capacity.read = read_integer(name, value);
	else if (strcmp(name, "write_capacity_units") == 0)
		settings->capacity.write = read_integer(name, value);
	else if (strcmp(name, "deletion_protection") == 0)
		settings->deletion_protection = read_bool(name, value);
	else if (strcmp(name, "table_class") == 0)
		settings->table_class = (DynTableClass) read_choice(name, value, dyn_table_class_names);
	else if (strcmp(name, "ttl_attribute") == 0)
		settings->ttl = read_attribute(name, value);
	else if (strcmp(name, "placement") == 0)
		settings->no_placement = !read_bool(name, value);
	else if (strcmp(name, "ttl_status") == 0)
		settings->ttl_status = (DynIndexStatus) read_choice(name, value, dyn_index_status_names);
	else if (strcmp(name, "hide_expired") == 0)
		settings->hide_expired = read_bool(name, value);
	else if (strcmp(name, "streams") == 0)
		read_streams(settings, value);
	else if (strcmp(name, "replica_identity") == 0)
		settings->identity = read_string(name, value);
	else if (strcmp(name, "tags") == 0)
		read_tags(settings, value);
	else
		fail_member(name, "is not known");
}

/*
 * Reads settings from a derive trigger's argument.  They point into memory of the current context.
 * Raises an error if the argument has another form than table_settings.h describes.
 */
void
dyn_settings_parse(const char *json, DynSettings *settings)
{
	DynItem *item = item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL);
	ItemChildren outer = item_children(item_root(item));
	ItemChildren members;
	ItemSpan name;
	ItemSpan value = {0};

	memset(settings, 0, sizeof(DynSettings));
	if (outer.count == 1)
		value = item_entry(item_child(&outer, 0), &name);
	if (value.len == 0 || item_type(value) != ITEM_M)
		fail_member("settings", "must be an object, and alone");
	members = item_children(value);
	for (uint32 i = 0; i < members.count; i++)
	{
		value = item_entry(item_child(&members, i), &name);
		read_member(settings, pnstrdup(name.data, name.len), value);
	}
}

/*
 * Print
 */

static void
append_member(StringInfo out, const char *name)
{
	if (out->data[out->len - 1] != '{')
		appendStringInfoString(out, ", ");
	appendStringInfo(out, "\"%s\": ", name);
}

static void
append_span(StringInfo out, ItemSpan span)
{
	escape_json(out, pnstrdup(span.data, span.len));
}

static void
append_string(StringInfo out, const char *name, ItemSpan value)
{
	if (value.len == 0)
		return;
	append_member(out, name);
	append_span(out, value);
}

static void
append_integer(StringInfo out, const char *name, int64 value)
{
	if (value == 0)
		return;
	append_member(out, name);
	appendStringInfo(out, INT64_FORMAT, value);
}

static void
append_choice(StringInfo out, const char *name, const char *const *choices, int choice)
{
	if (choice == 0)
		return;
	append_member(out, name);
	escape_json(out, choices[choice]);
}

static void
append_true(StringInfo out, const char *name, bool value)
{
	if (!value)
		return;
	append_member(out, name);
	appendStringInfoString(out, "true");
}

static void
append_tags(StringInfo out, const DynSettings *settings)
{
	if (settings->ntags == 0)
		return;
	append_member(out, "tags");
	for (int i = 0; i < settings->ntags; i++)
	{
		appendStringInfoString(out, i > 0 ? ", " : "{");
		append_span(out, settings->tags[i].key);
		appendStringInfoString(out, ": ");
		append_span(out, settings->tags[i].value);
	}
	appendStringInfoChar(out, '}');
}

static void
append_streams(StringInfo out, const DynSettings *settings)
{
	if (settings->nstreams == 0)
		return;
	append_member(out, "streams");
	for (int i = 0; i < settings->nstreams; i++)
	{
		const DynStream *stream = &settings->streams[i];

		appendStringInfoString(out, i > 0 ? ", {" : "[{");
		append_integer(out, "label", stream->label);
		append_member(out, "view_type");
		escape_json(out, dyn_stream_view_names[stream->view]);
		append_integer(out, "shards", stream->shards);
		append_integer(out, "disabled", stream->disabled);
		appendStringInfoChar(out, '}');
	}
	appendStringInfoChar(out, ']');
}

/* As an argument of the derive trigger; NULL if nothing is set. */
char *
dyn_settings_print(const DynSettings *settings)
{
	StringInfoData out;
	int start;

	initStringInfo(&out);
	appendStringInfoString(&out, ARGUMENT_START " {");
	start = out.len;
	append_string(&out, "name", settings->name);
	append_string(&out, "id", settings->id);
	if (settings->created != 0)
	{
		append_member(&out, "created");
		appendStringInfo(&out, "%.3f", settings->created);
	}
	append_choice(&out, "billing_mode", dyn_billing_names, (int) settings->billing);
	append_integer(&out, "read_capacity_units", settings->capacity.read);
	append_integer(&out, "write_capacity_units", settings->capacity.write);
	append_true(&out, "deletion_protection", settings->deletion_protection);
	append_choice(&out, "table_class", dyn_table_class_names, (int) settings->table_class);
	append_string(&out, "ttl_attribute", settings->ttl);
	if (settings->no_placement)
	{
		append_member(&out, "placement");
		appendStringInfoString(&out, "false");
	}
	append_choice(&out, "ttl_status", dyn_index_status_names, (int) settings->ttl_status);
	append_true(&out, "hide_expired", settings->hide_expired);
	append_streams(&out, settings);
	append_string(&out, "replica_identity", settings->identity);
	append_tags(&out, settings);
	if (out.len == start)
		return NULL;
	appendStringInfoString(&out, "}}");
	return out.data;
}

/*
 * Rules
 */

/* index: its name, or NULL for the table. */
void
dyn_settings_check_capacity(DynBilling billing, const DynCapacity *capacity, const ItemSpan *index)
{
	bool both = capacity->read > 0 && capacity->write > 0;
	bool none = capacity->read == 0 && capacity->write == 0;

	if (billing == DYN_PROVISIONED ? both : none)
		return;
	if (index != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "One or more parameter values were invalid: ProvisionedThroughput %s specified "
				  "for index: %.*s%s",
				  billing == DYN_PROVISIONED ? "must be" : "should not be", (int) index->len,
				  index->data,
				  billing == DYN_PROVISIONED ? "" : " when BillingMode is PAY_PER_REQUEST");
	dyn_error(ERRCODE_DYN_VALIDATION, "One or more parameter values were invalid: %s",
			  billing == DYN_PROVISIONED
				  ? "ReadCapacityUnits and WriteCapacityUnits must both be specified when "
					"BillingMode is PROVISIONED"
				  : "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
					"BillingMode is PAY_PER_REQUEST");
}

/* Settings are kept in an argument, which is a C string; JSON's \u0000 would end it. */
static bool
has_nul(ItemSpan span)
{
	return memchr(span.data, '\0', span.len) != NULL;
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a table cannot have time to live by an attribute of that name.
 */
void
dyn_settings_check_ttl(ItemSpan attribute)
{
	if (attribute.len == 0 || attribute.len > DYN_MAX_TTL_ATTRIBUTE || has_nul(attribute))
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "TimeToLive attribute name must have 1 to %d bytes, and no U+0000",
				  DYN_MAX_TTL_ATTRIBUTE);
}

/* The stream that is enabled, or NULL. */
const DynStream *
dyn_settings_stream(const DynSettings *settings)
{
	int n = settings->nstreams;

	return n > 0 && settings->streams[n - 1].disabled == 0 ? &settings->streams[n - 1] : NULL;
}

/* The place of a tag, or where it would be. */
static int
tag_place(const DynSettings *settings, ItemSpan key, bool *found)
{
	int i = 0;

	while (i < settings->ntags && item_compare_bytes(settings->tags[i].key, key) < 0)
		i++;
	*found = i < settings->ntags && item_compare_bytes(settings->tags[i].key, key) == 0;
	return i;
}

static void
check_tag(ItemSpan key, ItemSpan value)
{
	if (key.len == 0 || pg_mbstrlen_with_len(key.data, (int) key.len) > DYN_MAX_TAG_KEY ||
		has_nul(key))
		dyn_error(ERRCODE_DYN_VALIDATION, "Tag keys must have 1 to %d characters, and no U+0000",
				  DYN_MAX_TAG_KEY);
	if (pg_mbstrlen_with_len(value.data, (int) value.len) > DYN_MAX_TAG_VALUE || has_nul(value))
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Tag values must have at most %d characters, and no U+0000", DYN_MAX_TAG_VALUE);
	if (key.len >= 4 && memcmp(key.data, "aws:", 4) == 0)
		dyn_error(ERRCODE_DYN_VALIDATION, "Tag keys must not begin with aws:");
}

/* A copy that may be changed, with room for one more: settings share their tags with the cache. */
static void
copy_tags(DynSettings *settings)
{
	DynTag *tags = palloc((settings->ntags + 1) * sizeof(DynTag));

	if (settings->ntags > 0)
		memcpy(tags, settings->tags, settings->ntags * sizeof(DynTag));
	settings->tags = tags;
}

/*
 * Adds a tag, or replaces the one of the same key.  Key and value are not copied.  Raises
 * ERRCODE_DYN_VALIDATION if the tag is not valid, ERRCODE_DYN_LIMIT_EXCEEDED if there are
 * DYN_MAX_TAGS others.
 */
void
dyn_settings_set_tag(DynSettings *settings, ItemSpan key, ItemSpan value)
{
	bool found;
	int i = tag_place(settings, key, &found);

	check_tag(key, value);
	if (!found && settings->ntags == DYN_MAX_TAGS)
		dyn_error(ERRCODE_DYN_LIMIT_EXCEEDED, "A table has at most %d tags", DYN_MAX_TAGS);
	copy_tags(settings);
	if (!found)
	{
		memmove(settings->tags + i + 1, settings->tags + i, (settings->ntags - i) * sizeof(DynTag));
		settings->ntags++;
	}
	settings->tags[i] = (DynTag){key, value};
}

/* Removes the tag of that key.  Does nothing if there is none. */
void
dyn_settings_remove_tag(DynSettings *settings, ItemSpan key)
{
	bool found;
	int i = tag_place(settings, key, &found);

	if (!found)
		return;
	copy_tags(settings);
	settings->ntags--;
	memmove(settings->tags + i, settings->tags + i + 1, (settings->ntags - i) * sizeof(DynTag));
}
