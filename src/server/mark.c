/*
 * mark.c
 *	  Marks in the WAL: signed, written and read.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "common/hmac.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "replication/message.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/catalogs.h"
#include "server/compat.h"
#include "server/extension.h"
#include "server/mark.h"

#define SIGNATURE_BYTES 16
#define MAX_TEXT 100 /* of a mark; all are shorter */

static const char *const kind_names[] = {"expiry", "backfill", "placeholder", "closing",
										 "unlogged"};

/*
 * The secret
 */

/* Returns whether a table of a historic snapshot still exists: it may have been dropped since. */
static bool
is_there_now(Oid relid)
{
	Snapshot snapshot = RegisterSnapshot(GetNonHistoricCatalogSnapshot(RelationRelationId));
	bool found = catalogs_relation_shown(snapshot, relid) != NULL;

	UnregisterSnapshot(snapshot);
	return found;
}

/* Returns the first row's secret; replication of all tables may have added others. */
static bytea *
first_secret(Relation rel)
{
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tuple = systable_getnext(scan);
	bytea *secret = NULL;
	bool isnull = true;
	Datum datum = 0;

	if (HeapTupleIsValid(tuple))
		datum = heap_getattr(tuple, 1, RelationGetDescr(rel), &isnull);
	if (!isnull)
		secret = DatumGetByteaPCopy(datum);
	systable_endscan(scan);
	return secret;
}

/*
 * Returns the database's secret, by the current catalogs, or by those of the past while decoding.
 * NULL if there is none: the extension was not installed then, or that installation's table has
 * been dropped since.
 */
bytea *
dyn_mark_secret(void)
{
	Oid relid = extension_installed()
					? get_relname_relid(DYN_SECRET_TABLE, get_namespace_oid(DYN_INTERNAL, false))
					: InvalidOid;
	bytea *secret;
	Relation rel;

	if (!OidIsValid(relid))
		return NULL;
	LockRelationOid(relid, AccessShareLock);
	if (HistoricSnapshotActive() && !is_there_now(relid))
	{
		UnlockRelationOid(relid, AccessShareLock);
		return NULL;
	}
	rel = table_open(relid, NoLock);
	secret = first_secret(rel);
	table_close(rel, AccessShareLock);
	return secret;
}

/*
 * Text and signature
 */

static void
mark_sign(const char *text, const bytea *secret, uint8 digest[PG_SHA256_DIGEST_LENGTH])
{
	pg_hmac_ctx *hmac = pg_hmac_create(PG_SHA256);

	if (hmac == NULL ||
		pg_hmac_init(hmac, (const uint8 *) VARDATA_ANY(secret), VARSIZE_ANY_EXHDR(secret)) < 0 ||
		pg_hmac_update(hmac, (const uint8 *) text, strlen(text)) < 0 ||
		pg_hmac_final(hmac, digest, PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not sign a mark: %s", pg_hmac_error(hmac));
	pg_hmac_free(hmac);
}

/* Prints the text of a mark of transaction xid. */
static void
print_mark(char text[MAX_TEXT], const DynMark *mark, TransactionId xid, const bytea *secret)
{
	uint8 digest[PG_SHA256_DIGEST_LENGTH];
	char body[MAX_TEXT];
	uint64 len;

	snprintf(body, MAX_TEXT, "%s %s %u", kind_names[mark->kind], mark->start ? "start" : "end",
			 mark->relid);
	snprintf(text, MAX_TEXT, "%u %u %s", MyDatabaseId, xid, body);
	mark_sign(text, secret, digest);
	len = snprintf(text, MAX_TEXT, "%s ", body);
	len += hex_encode((const char *) digest, SIGNATURE_BYTES, text + len);
	text[len] = '\0';
}

/* Reads what a message says it is. */
static bool
parse_mark(const char *text, DynMark *mark)
{
	char kind[MAX_TEXT];
	char what[MAX_TEXT];

	if (sscanf(text, "%s %s %u", kind, what, &mark->relid) != 3)
		return false;
	mark->start = strcmp(what, "start") == 0;
	for (int i = 0; i < lengthof(kind_names); i++)
	{
		mark->kind = (DynMarkKind) i;
		if (strcmp(kind, kind_names[i]) == 0)
			return true;
	}
	return false;
}

/* Returns whether a message of transaction xid is a mark of the extension's. */
bool
dyn_mark_read(const char *message, Size size, TransactionId xid, const bytea *secret, DynMark *mark)
{
	char given[MAX_TEXT];
	char right[MAX_TEXT];

	if (size >= MAX_TEXT || secret == NULL)
		return false;
	memcpy(given, message, size);
	given[size] = '\0';
	if (!parse_mark(given, mark))
		return false;
	print_mark(right, mark, xid, secret);
	return strlen(right) == size && memcmp(right, message, size) == 0;
}

/*
 * Writing
 */

static void
write_mark(const DynMarked *marked, bool start)
{
	const DynMark mark = {marked->kind, start, marked->relid};
	char text[MAX_TEXT];

	print_mark(text, &mark, GetTopTransactionId(), marked->secret);
	log_logical_message(DYN_MARK_PREFIX, text, strlen(text));
}

/* An error before the end rolls the start back too, with its subtransaction. */
void
dyn_mark_start(DynMarked *marked, DynMarkKind kind, Oid relid)
{
	*marked = (DynMarked){kind, relid, NULL};
	if (!XLogLogicalInfoActive())
		return;
	marked->secret = dyn_mark_secret();
	if (marked->secret == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" of the extension has no secret", DYN_SECRET_TABLE),
				 errdetail("Readers of changes know by it what the extension itself does.")));
	write_mark(marked, true);
}

/* Writes the end of what dyn_mark_start() has marked.  Does nothing if that wrote no mark. */
void
dyn_mark_end(DynMarked *marked)
{
	if (marked->secret == NULL)
		return;
	write_mark(marked, false);
	pfree(marked->secret);
}
