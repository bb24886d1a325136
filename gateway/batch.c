/*
 * batch.c
 *	  Batches whose items are on several nodes: a part for each node, and one answer of all.
 *
 * A part is a batch, too, of the items that are on its node; those of which no node is known are in the
 * part of the server of "database".  What a part that failed would have done is left for the client to
 * send again, as DynamoDB does: UnprocessedKeys and UnprocessedItems are written as RequestItems are.
 *
 * The capacity that parts have consumed is added.  Item collections are in one part each.
 *
 * A batch goes as a whole where it is larger than DynamoDB allows, or is written in a way that this does
 * not take apart.
 */
#include "batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"
#include "shards.h"
#include "text.h"

#define MAX_KEYS 100
#define MAX_WRITES 25
#define MAX_PARTS 64

/* Reads of more bytes are not taken apart, since what a table's object has beside keys is in each
 * part.  A hundred keys are never as large. */
#define MAX_READ (1024 * 1024)

/* What the batch has beside items is in each part, too. */
#define MAX_OTHERS 256

/* An Element is a key to read, or a write. */
typedef struct Element
{
	int table; /* number in the batch */
	int part;
	Member text;
} Element;

/* An Entry is a table in an object of tables. */
typedef struct Entry
{
	Member name;
	Member value;
} Entry;

/* A Split is a batch that is being taken apart. */
typedef struct Split
{
	bool reads;
	Text others; /* the members of the batch but RequestItems, each after a comma */
	int tables;
	Member names[MAX_KEYS]; /* in quotes */
	Member rests[MAX_KEYS]; /* of reads: the object that has the keys */
	int count;
	Element elements[MAX_KEYS];
	int parts;
	Target *targets[MAX_PARTS];
	uint32_t roles[MAX_PARTS];
	Text named[MAX_PARTS]; /* the tables of a part, as an array of SQL without its braces */
	bool names_table[MAX_PARTS]; /* the table that is looked at is among them */
} Split;

static bool
is_same_name(Member one, Member other)
{
	return one.length == other.length && memcmp(one.text, other.text, one.length) == 0;
}

/* Returns the key or the item of a write, or nothing. */
static Member
key_of_write(Member write)
{
	Member request = member_find(write.text, write.length, "PutRequest");

	if (request.text != NULL)
		return member_find(request.text, request.length, "Item");
	request = member_find(write.text, write.length, "DeleteRequest");
	return request.text == NULL ? request : member_find(request.text, request.length, "Key");
}

/* Returns the number of the part of a node; -1: there are too many. */
static int
find_part(Split *split, const Place *place)
{
	int part = 0;

	while (part < split->parts && split->targets[part] != place->target)
		part++;
	if (part == MAX_PARTS)
		return -1;
	if (part == split->parts)
	{
		split->targets[part] = place->target;
		split->roles[part] = place->role;
		split->parts++;
	}
	if (place->tables != NULL && !split->names_table[part])
	{
		if (split->named[part].length > 0)
			text_add_char(&split->named[part], ',');
		text_add(&split->named[part], place->tables + 1, strlen(place->tables) - 2);
		split->names_table[part] = true;
	}
	return part;
}

/* Takes the elements of a table.  False if the batch goes as a whole. */
static bool
take_table(Split *split, const Caller *caller, Member name, Member elements)
{
	MemberScan scan = member_scan(elements);
	Member element;

	memset(split->names_table, 0, sizeof(split->names_table));
	while (member_next_element(&scan, &element))
	{
		Place place;
		int part;

		if (split->count == (split->reads ? MAX_KEYS : MAX_WRITES))
			return false;
		shards_find_item(caller, name, split->reads ? element : key_of_write(element), &place);
		part = find_part(split, &place);
		free(place.tables);
		if (part < 0)
			return false;
		split->elements[split->count++] = (Element){split->tables, part, element};
	}
	return scan.whole;
}

static bool
take_tables(Split *split, const Caller *caller, Member tables)
{
	MemberScan scan = member_scan(tables);
	Member name;
	Member value;

	while (member_next(&scan, &name, &value))
	{
		Member quoted = {name.text - 1, name.length + 2};

		/* ARNs, and names that an answer may write in another way */
		if (split->tables == MAX_KEYS || memchr(name.text, '\\', name.length) != NULL ||
			memchr(name.text, ':', name.length) != NULL)
			return false;
		for (int i = 0; i < split->tables; i++)
		{
			if (is_same_name(split->names[i], quoted))
				return false;
		}
		split->names[split->tables] = quoted;
		split->rests[split->tables] = value;
		if (!take_table(split, caller, quoted,
						split->reads ? member_find(value.text, value.length, "Keys") : value))
			return false;
		split->tables++;
	}
	return scan.whole;
}

/* Begins the elements of a table: of reads the object that has them has other members, too. */
static void
begin_table(Text *text, bool reads, Member name, Member object)
{
	MemberScan others = member_scan(object);
	Member other;
	Member value;

	text_add(text, name.text, name.length);
	text_add_strings(text, reads ? ":{" : ":[", NULL);
	while (reads && member_next(&others, &other, &value))
	{
		if (member_is(other, "Keys"))
			continue;
		text_add(text, other.text - 1, other.length + 2);
		text_add_char(text, ':');
		text_add(text, value.text, value.length);
		text_add_char(text, ',');
	}
	if (reads)
		text_add_strings(text, "\"Keys\":[", NULL);
}

static void
end_table(Text *text, bool reads)
{
	text_add_strings(text, reads ? "]}" : "]", NULL);
}

/* Writes the body of a part.  Elements are in the order of tables. */
static bool
write_part(const Split *split, int part, Request *request)
{
	Text text = {0};
	int before = -1;

	text_add_strings(&text, "{\"RequestItems\":{", NULL);
	for (int i = 0; i < split->count; i++)
	{
		const Element *element = &split->elements[i];

		if (element->part != part)
			continue;
		if (element->table != before)
		{
			if (before >= 0)
			{
				end_table(&text, split->reads);
				text_add_char(&text, ',');
			}
			before = element->table;
			begin_table(&text, split->reads, split->names[before], split->rests[before]);
		}
		else
			text_add_char(&text, ',');
		text_add(&text, element->text.text, element->text.length);
	}
	end_table(&text, split->reads);
	text_add_char(&text, '}');
	text_add(&text, split->others.data, split->others.length);
	text_add_char(&text, '}');
	request->body = (Body){.size = text.length};
	request->body.data = text_take(&text);
	return request->body.data != NULL;
}

/* Lists the tables of several objects, each of which is read once: they may be large.  A batch has no
 * more of them. */
static int
list_entries(const Member *objects, int n, Entry *entries)
{
	int count = 0;

	for (int i = 0; i < n; i++)
	{
		MemberScan scan = member_scan(objects[i]);
		int end = count + MAX_KEYS;

		while (count < end && member_next(&scan, &entries[count].name, &entries[count].value))
			count++;
	}
	return count;
}

/* Adds an object of tables, whose elements are those of several such objects. */
static void
add_tables(Text *text, bool reads, Member tables, const Entry *entries, int n)
{
	MemberScan scan = member_scan(tables);
	Member name;
	Member ignored;
	bool any = false;

	text_add_char(text, '{');
	while (member_next(&scan, &name, &ignored))
	{
		bool begun = false;
		bool filled = false;

		for (int i = 0; i < n; i++)
		{
			Member value = entries[i].value;
			MemberScan elements;
			Member element;

			if (!is_same_name(entries[i].name, name))
				continue;
			if (!begun && any)
				text_add_char(text, ',');
			if (!begun)
				begin_table(text, reads, (Member){name.text - 1, name.length + 2}, value);
			begun = any = true;
			elements = member_scan(reads ? member_find(value.text, value.length, "Keys") : value);
			while (member_next_element(&elements, &element))
			{
				if (filled)
					text_add_char(text, ',');
				filled = true;
				text_add(text, element.text, element.length);
			}
		}
		if (begun)
			end_table(text, reads);
	}
	text_add_char(text, '}');
}

/*
 * Answers
 */

static bool
may_be_sent_again(const Request *part)
{
	return part->answer.status >= 500;
}

/* Takes the answer of a part as that of the whole. */
static void
take_answer(Request *whole, Request *part)
{
	whole->answer = part->answer;
	whole->from_standby = part->from_standby;
	part->answer = (Answer){0};
}

/* Returns the part whose answer is that of the whole: one that says what is wrong with the request, or
 * any if all have failed.  NULL: there is something to tell. */
static Request *
find_failure(Batch *batch)
{
	bool all = true;

	for (int i = 0; i < batch->count; i++)
	{
		Request *part = &batch->parts[i].request;

		if (part->answer.status != 200 && !may_be_sent_again(part))
			return part;
		all = all && part->answer.status != 200;
	}
	return all ? &batch->parts[0].request : NULL;
}

/* Returns a member of the answer of a part, if that is one. */
static Member
member_of_answer(const Request *part, const char *name)
{
	return part->answer.status == 200 ? member_find(part->answer.data, part->answer.length, name)
									  : (Member){NULL, 0};
}

/* Adds the sum of numbers, as they are written: units have a decimal, bytes of vectors have none. */
static void
add_number(Text *text, const Member *values, int n)
{
	char number[32];
	double sum = 0;

	for (int i = 0; i < n; i++)
	{
		snprintf(number, sizeof(number), "%.*s", (int) values[i].length, values[i].text);
		sum += strtod(number, NULL);
	}
	snprintf(number, sizeof(number), "%.*f", strchr(number, '.') != NULL, sum);
	text_add(text, number, strlen(number));
}

/* Adds the sum of values, which of objects is that of their members.  Strings are all the same. */
static void
add_sum(Text *text, const Member *values, int n)
{
	Member name;
	Member of_name[MAX_PARTS];
	char before = '{';

	if (*values[0].text == '"')
	{
		text_add(text, values[0].text, values[0].length);
		return;
	}
	if (*values[0].text != '{')
	{
		add_number(text, values, n);
		return;
	}
	for (int i = 0; i < n; i++)
	{
		MemberScan scan = member_scan(values[i]);

		while (member_next(&scan, &name, &of_name[0]))
		{
			int count = 1;
			int k = 0;

			while (k < i && member_of(values[k], name).text == NULL)
				k++;
			if (k < i)
				continue;
			while (++k < n)
			{
				of_name[count] = member_of(values[k], name);
				count += of_name[count].text != NULL;
			}
			text_add_char(text, before);
			text_add(text, name.text - 1, name.length + 2);
			text_add_char(text, ':');
			add_sum(text, of_name, count);
			before = ',';
		}
	}
	text_add_char(text, '}');
}

/* Adds what all parts have consumed of each table: each part has a list, or none. */
static void
add_capacity(Text *text, Member tables, const Member *lists, int n)
{
	MemberScan scan = member_scan(tables);
	const char *before = ",\"ConsumedCapacity\":[";
	Member name;
	Member ignored;

	while (member_next(&scan, &name, &ignored))
	{
		Member quoted = {name.text - 1, name.length + 2};
		Member consumed[MAX_PARTS];
		int count = 0;

		for (int i = 0; i < n; i++)
		{
			MemberScan elements = member_scan(lists[i]);

			while (count < MAX_PARTS && member_next_element(&elements, &consumed[count]))
				count += is_same_name(
					member_find(consumed[count].text, consumed[count].length, "TableName"), quoted);
		}
		if (count == 0)
			continue;
		text_add_strings(text, before, NULL);
		before = ",";
		add_sum(text, consumed, count);
	}
	if (before[1] == '\0')
		text_add_char(text, ']');
}

/* Writes the answer of the whole. */
static void
join_answers(Batch *batch)
{
	Request *whole = batch->whole;
	bool reads = whole->operation->kind == OPERATION_READ;
	const char *left = reads ? "UnprocessedKeys" : "UnprocessedItems";
	bool collections = false;
	Member tables = member_find(whole->body.data, whole->body.size, "RequestItems");
	Member objects[MAX_PARTS];
	/* one more, for list_entries() to find no other */
	Entry *entries = calloc((size_t) batch->count * MAX_KEYS + 1, sizeof(Entry));
	Text text = {0};
	size_t length;
	char *data;

	if (entries == NULL)
	{
		answer_error(&whole->answer, ERROR_INTERNAL, NULL, NULL);
		return;
	}
	text_add_char(&text, '{');
	if (reads)
	{
		for (int i = 0; i < batch->count; i++)
			objects[i] = member_of_answer(&batch->parts[i].request, "Responses");
		text_add_strings(&text, "\"Responses\":", NULL);
		add_tables(&text, false, tables, entries, list_entries(objects, batch->count, entries));
		text_add_char(&text, ',');
	}
	for (int i = 0; i < batch->count; i++)
	{
		const Request *part = &batch->parts[i].request;

		objects[i] = part->answer.status == 200
						 ? member_of_answer(part, left)
						 : member_find(part->body.data, part->body.size, "RequestItems");
	}
	text_add_strings(&text, "\"", left, "\":", NULL);
	add_tables(&text, reads, tables, entries, list_entries(objects, batch->count, entries));
	for (int i = 0; i < batch->count; i++)
		objects[i] = member_of_answer(&batch->parts[i].request, "ConsumedCapacity");
	add_capacity(&text, tables, objects, batch->count);
	for (int i = 0; i < batch->count; i++)
	{
		objects[i] = member_of_answer(&batch->parts[i].request, "ItemCollectionMetrics");
		collections |= objects[i].text != NULL;
	}
	if (collections)
	{
		text_add_strings(&text, ",\"ItemCollectionMetrics\":", NULL);
		add_tables(&text, false, tables, entries, list_entries(objects, batch->count, entries));
	}
	text_add_char(&text, '}');
	free(entries);
	length = text.length;
	data = text_take(&text);
	if (data == NULL)
		answer_error(&whole->answer, ERROR_INTERNAL, NULL, NULL);
	else
		answer_owned(&whole->answer, 200, data, length, data, free);
}

static void
free_batch(Batch *batch)
{
	for (int i = 0; i < batch->count; i++)
	{
		answer_release(&batch->parts[i].request.answer);
		free(batch->parts[i].request.node_tables);
		body_free(&batch->parts[i].request.body);
	}
	free(batch->parts);
	free(batch);
}

/* A part has its answer. */
static void
part_done(Request *request)
{
	Batch *batch = ((BatchPart *) request)->batch;
	Request *whole = batch->whole;
	Request *failure;

	if (--batch->unanswered > 0)
		return;
	failure = find_failure(batch);
	if (failure != NULL)
		take_answer(whole, failure);
	else
		join_answers(batch);
	free_batch(batch);
	whole->done(whole);
}

/*
 * Taking apart
 */

/* Finds the items of a batch, and keeps the members beside them.  False if there may be others. */
static bool
take_members(Split *split, Member request, Member *tables)
{
	MemberScan scan = member_scan(request);
	Member name;
	Member value;
	bool found = false;

	while (member_next(&scan, &name, &value))
	{
		if (member_is(name, "RequestItems") && !found)
		{
			*tables = value;
			found = true;
			continue;
		}
		if (!member_is(name, "ReturnConsumedCapacity") &&
			!member_is(name, "ReturnItemCollectionMetrics"))
			return false;
		text_add_char(&split->others, ',');
		text_add(&split->others, name.text - 1, name.length + 2);
		text_add_char(&split->others, ':');
		text_add(&split->others, value.text, value.length);
		if (split->others.length > MAX_OTHERS)
			return false;
	}
	return scan.whole && found && !split->others.failed;
}

/* Sets what a part is: the batch itself, if there is no other. */
static bool
make_part(Split *split, int number, const Request *whole, BatchPart *part)
{
	Text tables = {0};

	part->target = split->targets[number];
	part->request = *whole;
	part->request.done = part_done;
	part->request.body = (Body){0};
	part->request.node_role = split->roles[number];
	if (part->target != NULL)
	{
		text_add_char(&tables, '{');
		text_add_strings(&tables, split->named[number].data, "}", NULL);
		part->request.node_tables = text_take(&tables);
		if (part->request.node_tables == NULL)
			return false;
	}
	return write_part(split, number, &part->request);
}

static Batch *
make_batch(Split *split, Request *request)
{
	Batch *batch = calloc(1, sizeof(*batch));

	if (batch == NULL)
		return NULL;
	batch->parts = calloc((size_t) split->parts, sizeof(BatchPart));
	batch->whole = request;
	for (int i = 0; batch->parts != NULL && i < split->parts; i++)
	{
		batch->count = i + 1;
		batch->parts[i].batch = batch;
		if (make_part(split, i, request, &batch->parts[i]))
			continue;
		free_batch(batch);
		return NULL;
	}
	if (batch->parts != NULL)
	{
		batch->unanswered = batch->count;
		return batch;
	}
	free(batch);
	return NULL;
}

/*
 * Take a batch apart, whose parts are to be sent, and whose request is answered then.  NULL if it is no
 * batch, or goes to the server of "database" as a whole.
 */
Batch *
batch_split(Request *request)
{
	Member tables;
	Batch *batch = NULL;
	Split *split;
	bool reads;

	if (!shards_are_known() || request->operation == NULL)
		return NULL;
	reads = strcmp(request->operation->name, "BatchGetItem") == 0;
	if ((!reads && strcmp(request->operation->name, "BatchWriteItem") != 0) ||
		(reads && request->body.size > MAX_READ))
		return NULL;
	split = calloc(1, sizeof(*split));
	if (split == NULL)
		return NULL;
	split->reads = reads;
	if (take_members(split, (Member){request->body.data, request->body.size}, &tables) &&
		take_tables(split, &request->caller, tables) && split->parts > 0 &&
		(split->parts > 1 || split->targets[0] != NULL))
		batch = make_batch(split, request);
	for (int i = 0; i < split->parts; i++)
		text_free(&split->named[i]);
	text_free(&split->others);
	free(split);
	return batch;
}
