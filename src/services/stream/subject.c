/*
 * subject.c
 *	  What the output plugin knows of the tables whose changes it decodes.
 *
 * It is read from the relation that the decoder has opened, and from the catalogs beside it, under
 * the historic snapshot: never through the schema cache, which has the tables as they are now.
 * The decoder invalidates what a transaction changed at the same points where its snapshot changes,
 * so an entry that is not invalidated is right for the next change.
 *
 * Nothing that a table's owner can do to the table raises an error here, since that would stop
 * decoding for all tables: a table that is broken is treated as no table of items, and the log says
 * why.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/lookup.h"
#include "catalog/partition.h"
#include "catalog/pg_index.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/definition/definition.h"
#include "catalog/definition/stream_shards.h"
#include "catalog/derive.h"
#include "catalog/key.h"
#include "server/compat.h"
#include "server/invalidate.h"
#include "services/stream/subject.h"

/* So many invalid entries are kept at most from one transaction to the next. */
#define MAX_INVALID 64

typedef struct StreamSubjects
{
	HTAB *entries;
	MemoryContext context;
	int ninvalid;
	bool partitions; /* any entry is of a partition */
} StreamSubjects;

/* These are of the decoding context that there is; a callback cannot be unregistered. */
static StreamSubjects *current = NULL;

/*
 * Invalidation, which only marks entries
 */

static void
mark_invalid(StreamSubject *subject)
{
	current->ninvalid += subject->valid;
	subject->valid = false;
}

static void
mark_all_invalid(Oid named)
{
	HASH_SEQ_STATUS scan;
	StreamSubject *subject;

	hash_seq_init(&scan, current->entries);
	while ((subject = hash_seq_search(&scan)) != NULL)
	{
		if (!OidIsValid(named) || subject->named == named)
			mark_invalid(subject);
	}
}

static void
relation_changed(Oid relid)
{
	StreamSubject *subject;

	if (current == NULL)
		return;
	if (!OidIsValid(relid) || current->partitions)
	{
		mark_all_invalid(relid);
		if (!OidIsValid(relid))
			return;
	}
	subject = hash_search(current->entries, &relid, HASH_FIND, NULL);
	if (subject != NULL)
		mark_invalid(subject);
}

static Subscriber subscriber = {.relation_changed = relation_changed, .schemas = true};

static void
subject_forget(void *arg)
{
	if (current == arg)
		current = NULL;
}

/*
 * Gives the plugin an empty cache of what is known of tables, which lives as long as its decoding
 * context.  Of several in a process, only the one created last hears of invalidations.
 */
void
stream_subjects_create(StreamPlugin *plugin)
{
	MemoryContext context = AllocSetContextCreate(
		plugin->decoding->context, "dynamo_table stream subjects", ALLOCSET_SMALL_SIZES);
	StreamSubjects *subjects = MemoryContextAllocZero(context, sizeof(StreamSubjects));
	MemoryContextCallback *callback = MemoryContextAlloc(context, sizeof(MemoryContextCallback));
	HASHCTL ctl = {.keysize = sizeof(Oid), .entrysize = sizeof(StreamSubject), .hcxt = context};

	subjects->context = context;
	subjects->entries = hash_create("dynamo_table stream subjects", 16, &ctl,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	*callback = (MemoryContextCallback){.func = subject_forget, .arg = subjects};
	MemoryContextRegisterResetCallback(context, callback);
	invalidation_subscribe(&subscriber);
	current = plugin->subjects = subjects;
}

/* Lets go of tables that may be gone, between transactions. */
void
stream_subjects_clear(StreamSubjects *subjects)
{
	HASH_SEQ_STATUS scan;
	StreamSubject *subject;

	if (subjects->ninvalid <= MAX_INVALID)
		return;
	hash_seq_init(&scan, subjects->entries);
	while ((subject = hash_seq_search(&scan)) != NULL)
	{
		if (subject->valid)
			continue;
		MemoryContextDelete(subject->context);
		hash_search(subjects->entries, &subject->relid, HASH_REMOVE, NULL);
	}
	subjects->ninvalid = 0;
}

/*
 * Reading a table: each step says why it cannot be one of ours, or NULL.
 */

static const char *
read_item_column(StreamSubject *subject, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped || strcmp(NameStr(column->attname), DYN_ITEM_COLUMN) != 0)
			continue;
		if (!column->attnotnull)
			return "Column \"item\" is not NOT NULL.";
		if (!dyn_is_item_type(getBaseType(column->atttypid)))
			return "Column \"item\" has another type than dyn_item.";
		subject->item_attnum = column->attnum;
		return NULL;
	}
	return "It has no column \"item\".";
}

static const char *
read_key_columns(StreamSubject *subject, Relation rel)
{
	TupleDesc desc = RelationGetDescr(rel);
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(primary_key_index(rel)));
	Form_pg_index index;

	if (!HeapTupleIsValid(tuple))
		return "It has no primary key.";
	index = (Form_pg_index) GETSTRUCT(tuple);
	subject->nkeys = Min(index->indnkeyatts, DYN_MAX_KEYS + 1);
	for (int i = 0; i < Min(subject->nkeys, DYN_MAX_KEYS); i++)
		subject->keys[i].attnum = index->indkey.values[i];
	ReleaseSysCache(tuple);
	if (subject->nkeys > DYN_MAX_KEYS)
		return "Its primary key has more columns than a key has attributes.";
	for (int i = 0; i < subject->nkeys; i++)
	{
		DynKey *key = &subject->keys[i];
		Form_pg_attribute column = TupleDescAttr(desc, key->attnum - 1);

		if (key->attribute.len == 0)
			return "Its trigger has no key attribute for a column of the primary key.";
		if (column->atttypid != dyn_key_column_type(key->type))
			return "A column of its primary key has another type than the key attribute.";
		key->column = pstrdup(NameStr(column->attname));
	}
	return NULL;
}

/*
 * The first arguments are the keys; settings may be the last.  Raises an error for what is neither.
 * False: the relation has none.
 */
static bool
parse_arguments(StreamSubject *subject, DynSettings *settings, Relation rel)
{
	List *arguments = dyn_derive_arguments(rel);

	memset(settings, 0, sizeof(DynSettings));
	for (int i = 0; i < list_length(arguments); i++)
	{
		char *argument = list_nth(arguments, i);

		if (dyn_settings_is_argument(argument))
			dyn_settings_parse(argument, settings);
		else if (dyn_argument_is_json(argument))
			continue;
		else if (i < DYN_MAX_KEYS)
			dyn_parse_key_spec(item_span(argument), &subject->keys[i].attribute,
							   &subject->keys[i].type);
	}
	return arguments != NIL;
}

/*
 * Parses the arguments likewise, with an error as its message.  Parsing takes nothing but memory,
 * so the transaction is sound after an error in it; other errors than its own go on.
 */
static const char *
try_arguments(StreamSubject *subject, DynSettings *settings, Relation rel, volatile bool *found)
{
	MemoryContext context = CurrentMemoryContext;
	const char *volatile problem = NULL;

	PG_TRY();
	{
		*found = parse_arguments(subject, settings, rel);
	}
	PG_CATCH();
	{
		int category = ERRCODE_TO_CATEGORY(geterrcode());
		ErrorData *error;

		if (category == ERRCODE_OPERATOR_INTERVENTION ||
			category == ERRCODE_INSUFFICIENT_RESOURCES || category == ERRCODE_INTERNAL_ERROR)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		problem = subject->placed ? psprintf("Its constraint \"%s\": %s.", DEFINITION_CONSTRAINT,
											 error->message)
								  : psprintf("An argument of trigger \"%s\": %s.",
											 DYN_DERIVE_TRIGGER, error->message);
	}
	PG_END_TRY();
	return problem;
}

static bool
has_cloned_trigger(Relation rel)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (strcmp(trigger->tgname, DYN_DERIVE_TRIGGER) == 0)
			return trigger->tgisclone;
	}
	return false;
}

/* Returns the partitioned table whose trigger a partition has; the table itself if it is none. */
static Oid
trigger_origin(Relation rel)
{
	Oid origin = RelationGetRelid(rel);
	ListCell *cell;

	if (!rel->rd_rel->relispartition || !has_cloned_trigger(rel))
		return origin;
	foreach (cell, get_partition_ancestors(RelationGetRelid(rel)))
	{
		Relation ancestor = RelationIdGetRelation(lfirst_oid(cell));
		bool cloned;

		if (!RelationIsValid(ancestor))
			return origin;
		origin = lfirst_oid(cell);
		cloned = has_cloned_trigger(ancestor);
		RelationClose(ancestor);
		if (!cloned)
			break;
	}
	return origin;
}

static bool
is_wanted(const StreamOptions *options, const char *schema, const char *relation)
{
	ListCell *cell;

	foreach (cell, options->tables)
	{
		List *names = lfirst(cell);

		if (strcmp(strVal(llast(names)), relation) == 0 &&
			(list_length(names) == 1 || strcmp(strVal(linitial(names)), schema) == 0))
			return true;
	}
	return options->tables == NIL;
}

static bool
read_stream(StreamSubject *subject, const StreamOptions *options, const DynSettings *settings)
{
	const DynStream *stream = dyn_settings_stream(settings);

	if (stream == NULL && options->only_streams)
		return false;
	subject->stream = stream != NULL ? stream->label : 0;
	subject->generation = stream != NULL ? stream->nearlier : 0;
	subject->first_shard = stream != NULL ? stream_first_shard(stream, stream->nearlier) : 0;
	subject->shards = stream != NULL ? stream->shards : 1;
	subject->begun = false;
	subject->view_asked = options->view_given || stream != NULL;
	subject->view = options->view_given ? options->view
					: stream != NULL    ? stream->view
										: DYN_STREAM_NEW_AND_OLD_IMAGES;
	return true;
}

/* A shard is called as its table, and then "_" and its number. */
static char *
name_without_shard(StreamSubject *subject, Relation rel)
{
	char *name = pstrdup(RelationGetRelationName(rel));
	char *last = strrchr(name, '_');
	char *end;

	if (!subject->placed || last == NULL)
		return name;
	subject->citus_shard = strtoll(last + 1, &end, 10);
	if (subject->citus_shard <= 0 || *end != '\0')
		subject->citus_shard = 0;
	else
		*last = '\0';
	return name;
}

static const char *
read_subject(StreamSubject *subject, const StreamOptions *options, Relation rel, Relation named)
{
	const char *relation = name_without_shard(subject, named);
	volatile bool found = true;
	DynSettings settings;
	const char *problem;

	if (!is_wanted(options, get_namespace_name(RelationGetNamespace(named)), relation))
		return NULL;
	problem = try_arguments(subject, &settings, named, &found);
	if (!found)
		return NULL;
	if (problem == NULL)
		problem = read_item_column(subject, RelationGetDescr(rel));
	if (problem == NULL)
		problem = read_key_columns(subject, rel);
	if (problem != NULL)
		return problem;
	subject->wanted = read_stream(subject, options, &settings);
	subject->table = dyn_name_of_relation(relation, &settings);
	subject->relation = item_span(relation);
	subject->ttl = settings.ttl;
	return NULL;
}

/* Reads a table for the first time, or again. */
static void
fill_subject(StreamPlugin *plugin, StreamSubject *subject, Relation rel)
{
	MemoryContext old = MemoryContextSwitchTo(subject->context);
	const char *problem;
	Relation named;

	MemoryContextReset(subject->context);
	memset(subject->keys, 0, sizeof(subject->keys));
	subject->wanted = false;
	/* before anything is looked at: what is invalidated meanwhile is read again */
	subject->valid = true;
	subject->placed = definition_exists(rel) && dyn_trigger_find(rel, DYN_TRIGGER_DERIVE) == NULL;
	subject->citus_shard = 0;
	subject->schema = RelationGetNamespace(rel);
	subject->owner = rel->rd_rel->relowner;
	subject->named = trigger_origin(rel);
	plugin->subjects->partitions |= subject->named != subject->relid;
	named = RelationIdGetRelation(subject->named);
	problem = RelationIsValid(named) ? read_subject(subject, &plugin->options, rel, named) : NULL;
	if (problem != NULL && !subject->refused)
	{
		subject->refused = true;
		ereport(LOG, (errmsg("changes of table \"%s\" are not decoded: it has not the shape of a "
							 "table of items",
							 RelationGetRelationName(rel)),
					  errdetail("%s", problem)));
	}
	if (RelationIsValid(named))
		RelationClose(named);
	MemoryContextSwitchTo(old);
}

/* Returns by the name alone, since it is called for each change, whether there may be one. */
static bool
may_have_definition(Relation rel)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
	{
		if (strncmp(constraints->check[i].ccname, DEFINITION_CONSTRAINT,
					strlen(DEFINITION_CONSTRAINT)) == 0)
			return true;
	}
	return false;
}

/* Returns what is known of a relation that is decoded; NULL if its changes give no records. */
StreamSubject *
stream_subject(StreamPlugin *plugin, Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	StreamSubjects *subjects = plugin->subjects;
	StreamSubject *subject;
	bool found;

	/* most of other tables */
	if (rel->trigdesc == NULL && !may_have_definition(rel))
		return NULL;
	subject = hash_search(subjects->entries, &relid, HASH_ENTER, &found);
	if (!found)
	{
		memset((char *) subject + sizeof(Oid), 0, sizeof(StreamSubject) - sizeof(Oid));
		subject->context = AllocSetContextCreate(subjects->context, "dynamo_table stream subject",
												 ALLOCSET_SMALL_SIZES);
	}
	if (!subject->valid)
	{
		subjects->ninvalid -= found;
		fill_subject(plugin, subject, rel);
	}
	return subject->wanted ? subject : NULL;
}
