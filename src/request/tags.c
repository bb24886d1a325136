/*
 * tags.c
 *	  TagResource, UntagResource, ListTagsOfResource.
 */
#include "postgres.h"

#include "access/relation.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "ground/arn.h"
#include "ground/description.h"
#include "ground/errors.h"
#include "request/request.h"
#include "catalog/resource.h"

typedef struct TagRequest
{
	ItemSpan arn;
	List *tags; /* of DynTag */
	List *keys; /* of ItemSpan */
	ItemSpan next;
} TagRequest;

/*
 * Read Tags: append a DynTag for each element to a List *.  A key that is there twice is
 * ERRCODE_DYN_VALIDATION.
 */
void
request_read_tags(JsonReader *reader, void *list)
{
	static const RequestMember members[] = {
		{"Key", MEMBER_STRING, offsetof(DynTag, key), true},
		{"Value", MEMBER_STRING, offsetof(DynTag, value), true}};

	for (json_read_array(reader); json_read_element(reader);)
	{
		DynTag *tag = palloc0(sizeof(DynTag));
		ListCell *cell;

		request_read_members(reader, members, lengthof(members), tag);
		foreach (cell, *(List **) list)
		{
			if (item_compare_bytes(((DynTag *) lfirst(cell))->key, tag->key) == 0)
				dyn_error(ERRCODE_DYN_VALIDATION,
						  "One or more parameter values were invalid: Tag keys must be unique");
		}
		*(List **) list = lappend(*(List **) list, tag);
	}
}

/* Only an ARN names a resource. */
static void
read_request(JsonReader *reader, const RequestMember *members, int n, TagRequest *request)
{
	ItemSpan name;

	request_read(reader, members, n, request, NULL);
	request_names(reader, request->arn);
	if (dyn_parse_table_arn(request->arn, &name))
		return;
	dyn_error(ERRCODE_DYN_VALIDATION, "Invalid TableArn: Invalid ResourceArn provided as input %s",
			  item_quoted(request->arn));
}

/* Run TagResource, which only the table's owner may do.  A tag that exists gets the new value. */
void
request_tag_resource(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"ResourceArn", MEMBER_STRING, offsetof(TagRequest, arn), true},
		{"Tags", MEMBER_CUSTOM, offsetof(TagRequest, tags), true, NULL, request_read_tags}};
	TagRequest request = {0};
	DynDescription *description;
	DynTable *table;
	Relation rel;
	ListCell *cell;

	read_request(reader, members, lengthof(members), &request);
	if (request.tags == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "One or more parameter values were invalid: List of Tags is empty");
	rel = resource_lock(request.arn, ShareUpdateExclusiveLock, &table);
	description = description_read(RelationGetRelid(rel));
	foreach (cell, request.tags)
		description_set_tag(description, ((DynTag *) lfirst(cell))->key,
							((DynTag *) lfirst(cell))->value);
	description_write(RelationGetRelid(rel), description);
	relation_close(rel, NoLock);
	json_write_raw(response, NULL, "{}");
}

/*
 * Run UntagResource, which only the table's owner may do.  Keys of tags that do not exist are
 * ignored.
 */
void
request_untag_resource(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"ResourceArn", MEMBER_STRING, offsetof(TagRequest, arn), true},
		{"TagKeys", MEMBER_STRINGS, offsetof(TagRequest, keys), true}};
	TagRequest request = {0};
	DynDescription *description;
	DynTable *table;
	Relation rel;
	ListCell *cell;

	read_request(reader, members, lengthof(members), &request);
	if (request.keys == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "One or more parameter values were invalid: List of TagKeys is empty");
	rel = resource_lock(request.arn, ShareUpdateExclusiveLock, &table);
	description = description_read(RelationGetRelid(rel));
	foreach (cell, request.keys)
		description_remove_tag(description, *(ItemSpan *) lfirst(cell));
	description_write(RelationGetRelid(rel), description);
	relation_close(rel, NoLock);
	json_write_raw(response, NULL, "{}");
}

/* All at once, so there is never a token for more. */
void
request_list_tags_of_resource(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"ResourceArn", MEMBER_STRING, offsetof(TagRequest, arn), true},
		{"NextToken", MEMBER_STRING, offsetof(TagRequest, next)}};
	TagRequest request = {0};
	const DynDescription *description;
	DynTable *table;
	Relation rel;

	read_request(reader, members, lengthof(members), &request);
	if (request.next.len > 0)
		dyn_error(ERRCODE_DYN_VALIDATION, "Invalid NextToken");
	rel = resource_open(request.arn, &table);
	description = description_read(RelationGetRelid(rel));
	json_write_begin(response, NULL);
	json_write_begin_array(response, "Tags");
	for (int i = 0; i < description->ntags; i++)
	{
		json_write_begin(response, NULL);
		json_write_span(response, "Key", description->tags[i].key);
		json_write_span(response, "Value", description->tags[i].value);
		json_write_end(response);
	}
	json_write_end_array(response);
	json_write_end(response);
	relation_close(rel, NoLock);
}
