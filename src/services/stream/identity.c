/*
 * identity.c
 *	  What the WAL has of rows that are changed: the replica identity that a view of a stream needs.
 *
 * Keys and new images need the primary key, old images the whole row.  An identity that does not
 * suffice is changed, and the old one stored so that disabling the stream restores it.  A change
 * that another session makes meanwhile is kept.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "server/catalogs.h"
#include "server/compat.h"
#include "services/stream/stream.h"

#define INDEX "INDEX "

static bool
needs_old_row(DynStreamView view)
{
	return view == DYN_STREAM_OLD_IMAGE || view == DYN_STREAM_NEW_AND_OLD_IMAGES;
}

/* Returns the identity that is set if the present one does not suffice. */
static char
identity_for(Relation rel, DynStreamView view)
{
	return needs_old_row(view) || dyn_is_distributed(rel) ? REPLICA_IDENTITY_FULL
														  : REPLICA_IDENTITY_DEFAULT;
}

static const char *
identity_word(char identity)
{
	switch (identity)
	{
		case REPLICA_IDENTITY_FULL:
			return "FULL";
		case REPLICA_IDENTITY_NOTHING:
			return "NOTHING";
		default:
			return "DEFAULT";
	}
}

/*
 * Returns whether the WAL has of changed rows what the view needs.  A table of ours that is open
 * has a primary key, which the identity DEFAULT is.  Shards of distributed tables need the whole
 * row: whether the store deletes an item, or what it has held a place with, is told by the item.
 */
bool
stream_identity_suffices(Relation rel, DynStreamView view)
{
	if (dyn_is_distributed(rel))
		return rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	switch (rel->rd_rel->relreplident)
	{
		case REPLICA_IDENTITY_FULL:
			return true;
		case REPLICA_IDENTITY_DEFAULT:
			return !needs_old_row(view);
		case REPLICA_IDENTITY_INDEX:
			return !needs_old_row(view) && RelationGetReplicaIndex(rel) == primary_key_index(rel);
		default:
			return false;
	}
}

/* Returns the identity as the settings have it; one by index is as good as none without it. */
static ItemSpan
current_identity(Relation rel)
{
	char identity = rel->rd_rel->relreplident;
	Oid index = RelationGetReplicaIndex(rel);
	const char *text;

	if (identity != REPLICA_IDENTITY_INDEX)
		text = identity_word(identity);
	else if (OidIsValid(index))
		text = psprintf(INDEX "%s", get_rel_name(index));
	else
		text = identity_word(REPLICA_IDENTITY_NOTHING);
	return item_span(text);
}

static char *
identity_alter(Relation rel, const char *identity)
{
	return psprintf("ALTER TABLE %s REPLICA IDENTITY %s", catalogs_qualified(RelationGetRelid(rel)),
					identity);
}

/* Returns the statement that makes it suffice, and notes what it was; NULL: it does. */
const char *
stream_identity_change(Relation rel, DynStreamView view, DynSettings *settings)
{
	settings->identity = (ItemSpan){0};
	if (stream_identity_suffices(rel, view))
		return NULL;
	settings->identity = current_identity(rel);
	return identity_alter(rel, identity_word(identity_for(rel, view)));
}

/* Returns whether the table still has the index. */
static bool
has_index(Relation rel, const char *name)
{
	Oid index = get_relname_relid(name, RelationGetNamespace(rel));

	return OidIsValid(index) && list_member_oid(RelationGetIndexList(rel), index);
}

/*
 * Returns the statement that brings back what the settings remember; NULL: none is stored, or the
 * identity was changed since.
 */
const char *
stream_identity_restore(Relation rel, DynStreamView view, const DynSettings *settings)
{
	const char *identity = span_string(settings->identity);
	const char *index = identity + strlen(INDEX);

	if (settings->identity.len == 0 || rel->rd_rel->relreplident != identity_for(rel, view))
		return NULL;
	if (strncmp(identity, INDEX, strlen(INDEX)) == 0)
	{
		if (has_index(rel, index))
			return identity_alter(rel, psprintf("USING INDEX %s", quote_identifier(index)));
		ereport(NOTICE, (errmsg("replica identity of table \"%s\" is DEFAULT now",
								RelationGetRelationName(rel)),
						 errdetail("It was index \"%s\", which is gone.", index)));
		return identity_alter(rel, identity_word(REPLICA_IDENTITY_DEFAULT));
	}
	for (const char *known = "dfn"; *known != '\0'; known++)
	{
		if (strcmp(identity, identity_word(*known)) == 0)
			return identity_alter(rel, identity);
	}
	return NULL;
}
