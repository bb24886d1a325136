/*
 * tags.c
 *	  TagResource, UntagResource, ListTagsOfResource.
 */
#include "postgres.h"

#include "access/relation.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "api/request/request.h"
#include "catalog/definition/arn.h"
#include "catalog/definition/description.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "server/errors.h"

typedef struct TagRequest
{
	ItemSpan arn;
	List *tags; /* of DynTag */
	List *keys; /* of ItemSpan */
	ItemSpan next;
} TagRequest;

static const RequestMember tag_members[] = {
	{"Key", MEMBER_STRING, offsetof(DynTag, key), true},
	{"Value", MEMBER_STRING, offsetof(DynTag, value), true}};
const RequestType request_tag = {tag_members, lengthof(tag_members), sizeof(DynTag)};

/* Checks for letters, numbers, blanks and some signs.  Outside of ASCII all count as letters. */
static void
check_text(ItemSpan text, const char *what)
{
	for (uint32 i = 0; i < text.len; i++)
	{
		unsigned char c = (unsigned char) text.data[i];

		if (c < 0x80 && (c == '\0' || (!isalnum(c) && strchr(" +-=._:/@", c) == NULL)))
			dyn_error(ERRCODE_DYN_VALIDATION, "The Tag %s provided is invalid, %s: %s", what, what,
					  item_quoted_words(text));
	}
}

/*
 * Raises ERRCODE_DYN_VALIDATION if there are too many tags, two have one key, or one has characters
 * that DynamoDB's do not have.
 */
void
request_check_tags(const List *tags)
{
	if (list_length(tags) > DYN_MAX_TAGS)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Number of Tags exceed the current limit for the provided ResourceArn");
	for (int i = 0; i < list_length(tags); i++)
	{
		const DynTag *tag = list_nth(tags, i);

		check_text(tag->key, "Key");
		check_text(tag->value, "Value");
		if (request_find_name(tags, tag->key) != tag)
			dyn_error(ERRCODE_DYN_VALIDATION,
					  "Duplicate Tag Keys provided as input: Duplicate Tag Key found %s",
					  item_quoted_words(tag->key));
	}
}

#define RESOURCE_MEMBER \
	{ \
		"ResourceArn", MEMBER_STRING, offsetof(TagRequest, arn), true, \
			.missing = "Invalid TableArn" \
	}

/* Reads a request.  Only an ARN names a resource. */
static void
read_request(JsonReader *reader, const RequestMember *members, int n, TagRequest *request)
{
	ItemSpan name;

	request_read(reader, members, n, request, NULL);
	request_names(reader, request->arn);
	if (dyn_parse_table_arn(request->arn, &name))
		return;
	dyn_error(ERRCODE_DYN_VALIDATION,
			  request->arn.len >= 4 && memcmp(request->arn.data, "arn:", 4) == 0
				  ? "Invalid TableArn: Invalid ResourceArn provided as input %s"
				  : "One or more parameter values were invalid: ARNs must start with 'arn:': %s",
			  item_quoted_words(request->arn));
}

/* Opens a table; the errors of these operations name the ARN. */
static Relation
open_table(ItemSpan arn, DynTable **table)
{
	Relation rel = dyn_table_find(arn, AccessShareLock, table);

	if (rel == NULL)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND,
				  "Requested resource not found: ResourceArn: %s not found",
				  item_quoted_words(arn));
	return rel;
}

/* Sets and removes tags, which only the table's owner may do. */
static void
change_tags(const TagRequest *request)
{
	DynDescription *description;
	DynTable *table;
	Relation rel;
	ListCell *cell;

	relation_close(open_table(request->arn, &table), AccessShareLock);
	rel = resource_lock(request->arn, ShareUpdateExclusiveLock, &table);
	description = description_read(table->relid);
	foreach (cell, request->tags)
		description_set_tag(description, ((DynTag *) lfirst(cell))->key,
							((DynTag *) lfirst(cell))->value);
	foreach (cell, request->keys)
		description_remove_tag(description, *(ItemSpan *) lfirst(cell));
	description_write(table->relid, description);
	relation_close(rel, NoLock);
}

/* Runs TagResource, which only the table's owner may do.  A tag that exists gets the new value. */
void
request_tag_resource(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		RESOURCE_MEMBER,
		{"Tags", MEMBER_OBJECTS, offsetof(TagRequest, tags), true, .of = &request_tag}};
	TagRequest request = {0};

	read_request(reader, members, lengthof(members), &request);
	if (request.tags == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION, "Atleast one Tag needs to be provided as Input.");
	request_check_tags(request.tags);
	change_tags(&request);
}

/*
 * Runs UntagResource, which only the table's owner may do.  Keys of tags that do not exist are
 * ignored.
 */
void
request_untag_resource(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		RESOURCE_MEMBER, {"TagKeys", MEMBER_STRINGS, offsetof(TagRequest, keys), true}};
	TagRequest request = {0};

	read_request(reader, members, lengthof(members), &request);
	if (request.keys == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION, "Atleast one Tag Key needs to be provided as Input.");
	change_tags(&request);
}

/* Lists tags all at once, so there is never a token for more. */
void
request_list_tags_of_resource(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		RESOURCE_MEMBER, {"NextToken", MEMBER_STRING, offsetof(TagRequest, next)}};
	TagRequest request = {0};
	const DynDescription *description;
	DynTable *table;
	Relation rel;

	read_request(reader, members, lengthof(members), &request);
	if (request.next.len > 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid NextToken")));
	rel = open_table(request.arn, &table);
	description = description_read(RelationGetRelid(rel));
	json_write_begin_array(response, "Tags");
	for (int i = 0; i < description->ntags; i++)
	{
		json_write_begin(response, NULL);
		json_write_span(response, "Key", description->tags[i].key);
		json_write_span(response, "Value", description->tags[i].value);
		json_write_end(response);
	}
	json_write_end_array(response);
	relation_close(rel, NoLock);
}
