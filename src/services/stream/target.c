/*
 * target.c
 *	  The stream that a caller wants to read, and whether the caller may.
 *
 * Records hold whole items, past ones too.  So a reader needs the right to read the whole table:
 * SELECT on some columns does not suffice, and where row-level security applies, reading the stream
 * is refused.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/key_grant.h"
#include "server/errors.h"
#include "services/stream/read.h"

/* A disabled stream is there for as long as its records are kept at least. */
bool
stream_is_kept(const DynStream *stream)
{
	int64 now = stream_milliseconds(GetCurrentTimestamp());

	return stream->disabled == 0 ||
		   stream->disabled + dyn_stream_retention * INT64CONST(1000) > now;
}

/*
 * Raises an error unless the current user may read all of an open table: SELECT on the table, and
 * no row-level security that may hide rows.
 */
void
stream_check_reader(Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	AclResult result = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, RelationGetRelationName(rel));
	if (dyn_policies_hide(relid))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("streams of table \"%s\" cannot be read under row-level security",
							   RelationGetRelationName(rel)),
						errdetail("Records hold whole items, which no policy is applied to.")));
}

/* Returns the stream with a label, the latest one for 0; NULL if there is none that is kept. */
const DynStream *
stream_find(const DynSettings *settings, int64 label)
{
	for (int i = settings->nstreams - 1; i >= 0; i--)
	{
		const DynStream *stream = &settings->streams[i];

		if ((label == 0 || stream->label == label) && stream_is_kept(stream))
			return stream;
	}
	return NULL;
}

/* Sets the target to a stream, which is one of the table's. */
void
stream_set_target(StreamTarget *target, const DynTable *table, const DynStream *stream,
				  ItemSpan name)
{
	target->relid = table->relid;
	target->table = name;
	target->stream = *stream;
	target->distributed = InvalidOid;
	target->began = 0;
	target->nolder = (int) (stream - table->settings.streams);
	target->older = palloc(target->nolder * sizeof(int64));
	for (int i = 0; i < target->nolder; i++)
		target->older[i] = table->settings.streams[i].label;
}
