/*
 * transact_request.c
 *	  What a transaction's request may be, and which requests are the same.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "mb/pg_wchar.h"
#include "utils/rel.h"

#include "actions/several.h"
#include "catalog/definition/settings.h"
#include "catalog/local_shards.h"
#include "server/errors.h"

static Size
text_size(const text *t)
{
	return t == NULL ? 0 : VARSIZE_ANY_EXHDR(t);
}

/* Returns the size of what the action itself brings, whatever it finds. */
static Size
action_size(const TransactAction *action)
{
	const ItemRequest *request = &action->request;
	Size size = 0;

	if (action->content != NULL)
		size += VARSIZE_ANY_EXHDR(action->content);
	else if (request->item != NULL)
		size += item_size(item_root(request->item));
	size += text_size(request->condition) + text_size(request->update);
	size += text_size(request->projection);
	if (action->names != NULL)
		size += VARSIZE_ANY_EXHDR(action->names);
	if (action->vals != NULL)
		size += item_size(item_root(action->vals));
	return size;
}

/* An item that is there twice is told before its table is looked up (docs/semantics.md, X06). */
static void
check_distinct(const TransactRequest *request)
{
	DistinctItem *items = palloc(request->nactions * sizeof(DistinctItem));
	int n = 0;

	for (int i = 0; i < request->nactions; i++)
	{
		const ItemRequest *one = &request->actions[i].request;

		/* it has none if it is invalid */
		if (one->item != NULL)
			items[n++] = (DistinctItem){one->table, one->item, i};
	}
	distinct_check(items, n, "the transaction", TRANSACT_TWICE_WORDS);
}

/*
 * Checks the number of actions and the token of a call that is no request, whose members have these
 * limits (docs/semantics.md, X07, X09).
 */
void
transact_check_arguments(const TransactRequest *request)
{
	ItemSpan token;
	int length;

	if (request->nactions < 1 || request->nactions > dyn_max_transaction_actions)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("a transaction must have 1 to %d actions", dyn_max_transaction_actions),
				 errdetail("It has %d.", request->nactions)));
	if (request->token == NULL)
		return;
	token = text_span(request->token);
	length = pg_mbstrlen_with_len(token.data, (int) token.len);
	if (length < 1 || length > DYN_MAX_TOKEN)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a token must have 1 to %d characters", DYN_MAX_TOKEN)));
}

/* Checks what needs no table: the size (docs/semantics.md, X08), and items that are there twice. */
void
transact_check_request(const TransactRequest *request)
{
	Size size = 0;

	for (int i = 0; i < request->nactions; i++)
		size += action_size(&request->actions[i]);
	if (size > (Size) dyn_max_transaction_size)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a transaction must not exceed %d bytes", dyn_max_transaction_size),
						errdetail("It has %zu bytes.", size)));
	/* of statements the tables are looked at first */
	if (!request->statements)
		check_distinct(request);
}

static void
forbid_empty_key(const DynTable *table, const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));
	ItemSpan value;

	for (int i = 0; i < table->primary.nkeys; i++)
	{
		const DynKey *key = dyn_index_key(table, &table->primary, i);

		if (item_find(&attributes, key->attribute, &value) && dyn_key_is_empty(key, value))
			(void) dyn_key_attribute(table, &table->primary, item, i);
	}
}

/* Finds the value of an attribute as an item that is put, or an update, writes it. */
static bool
written_value(const DynItem *item, const Expr *update, ItemSpan attribute, ItemSpan *value)
{
	if (item == NULL)
		return update != NULL && expr_sets_value(update, attribute, value);
	return item_lookup(item_root(item), attribute, value);
}

/*
 * Raises ERRCODE_DYN_VALIDATION if an item that is put, or an update, each of which may be NULL,
 * would write an empty key of an index.
 */
void
transact_forbid_empty_index_keys(const DynTable *table, const DynItem *item, const Expr *update)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		for (int k = 0; k < index->nkeys; k++)
		{
			const DynKey *key = dyn_index_key(table, index, k);
			ItemSpan value;

			if (written_value(item, update, key->attribute, &value) && dyn_key_is_empty(key, value))
				dyn_fail_index_key(index, key, k < index->npartition, value,
								   item == NULL ? DYN_KEY_UPDATED : DYN_KEY_PUT);
		}
	}
}

/*
 * Raises ERRCODE_DYN_VALIDATION if the action has an empty key of its table, or writes an empty key
 * of an index.  That refuses the request, while other keys that do not fit are reasons for which it
 * is cancelled (docs/semantics.md, X14).  The update, NULL if there is none, is that of the action.
 */
void
transact_forbid_empty_keys(const TransactAction *action, const DynTable *table, const Expr *update)
{
	const DynItem *item = action->request.item;

	forbid_empty_key(table, item);
	transact_forbid_empty_index_keys(table, action->kind == TRANSACT_PUT ? item : NULL, update);
}

/*
 * Identity
 */

static void
hash_bytes_of(pg_cryptohash_ctx *ctx, const void *data, Size len)
{
	if (pg_cryptohash_update(ctx, data, len) < 0)
		elog(ERROR, "could not compute a hash: %s", pg_cryptohash_error(ctx));
}

/* Hashes a part with its length, so that parts cannot run into each other. */
static void
hash_part(pg_cryptohash_ctx *ctx, const void *varlena)
{
	int64 len = varlena == NULL ? -1 : (int64) VARSIZE_ANY_EXHDR(varlena);

	hash_bytes_of(ctx, &len, sizeof(len));
	if (varlena != NULL)
		hash_bytes_of(ctx, VARDATA_ANY(varlena), len);
}

/*
 * Hashes which table a name stands for.  An OID may be given out again, so there are two of them,
 * and the UUID that a table of CreateTable has.  None of them changes while the table exists.  A
 * distributed table has other OIDs on each node, but the same name and shards.
 */
static void
hash_table(pg_cryptohash_ctx *ctx, const ItemTarget *target)
{
	const DynTable *table = target->table;
	Oid oids[] = {RelationGetRelid(target->rel), target->rel->rd_rel->reltype};
	ItemSpan id = table->settings.id;
	int64 shard;

	if (table->distributed)
	{
		shard = dyn_oldest_shard(table->relid);
		hash_bytes_of(ctx, &shard, sizeof(shard));
		hash_bytes_of(ctx, table->qualified, strlen(table->qualified));
	}
	else
		hash_bytes_of(ctx, oids, sizeof(oids));
	hash_bytes_of(ctx, &id.len, sizeof(id.len));
	hash_bytes_of(ctx, id.data, id.len);
}

static void
hash_action(pg_cryptohash_ctx *ctx, const TransactAction *action, const ItemTarget *target)
{
	const ItemRequest *request = &action->request;
	unsigned char flags[] = {(unsigned char) action->kind, request->old_on_failure,
							 (unsigned char) request->return_values};

	hash_bytes_of(ctx, flags, sizeof(flags));
	hash_table(ctx, target);
	hash_part(ctx, request->table);
	/* what is made of the content may be another item each time */
	hash_part(ctx, action->content == NULL ? request->item : NULL);
	hash_part(ctx, request->condition);
	hash_part(ctx, request->update);
	hash_part(ctx, action->names);
	hash_part(ctx, action->vals);
	hash_part(ctx, action->content);
}

/*
 * Returns a hash that is equal for requests with equal actions on the same tables; items, names and
 * values compare by value.  The targets are those of the actions, and locked.
 */
bytea *
transact_request_hash(const TransactRequest *request, const ItemTarget *targets)
{
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(PG_SHA256);
	bytea *hash = palloc(VARHDRSZ + PG_SHA256_DIGEST_LENGTH);

	SET_VARSIZE(hash, VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
	if (ctx == NULL || pg_cryptohash_init(ctx) < 0)
		elog(ERROR, "could not compute a hash");
	for (int i = 0; i < request->nactions; i++)
		hash_action(ctx, &request->actions[i], &targets[i]);
	if (pg_cryptohash_final(ctx, (uint8 *) VARDATA(hash), PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not compute a hash: %s", pg_cryptohash_error(ctx));
	pg_cryptohash_free(ctx);
	return hash;
}

/*
 * What is kept with the token of a transaction: of each action the size that it was counted by, the
 * length of what it has returned, and that.
 */

typedef struct PackedAction
{
	uint32 size;
	uint32 len;
} PackedAction;

/*
 * Returns what is to be kept of the request, which may have sizes (NULL: they are not known); NULL
 * if there is nothing.
 */
bytea *
transact_pack(const TransactRequest *request, const uint32 *sizes)
{
	StringInfoData packed;
	bool any = sizes != NULL;

	initStringInfo(&packed);
	appendStringInfoSpaces(&packed, VARHDRSZ);
	for (int i = 0; i < request->nactions; i++)
	{
		const DynItem *item = request->returned == NULL ? NULL : request->returned[i];
		ItemSpan root = item == NULL ? (ItemSpan){NULL, 0} : item_root(item);
		PackedAction action = {sizes == NULL ? TRANSACT_SIZE_UNKNOWN : sizes[i], root.len};

		any |= item != NULL;
		appendBinaryStringInfo(&packed, (const char *) &action, sizeof(action));
		if (root.len > 0)
			appendBinaryStringInfo(&packed, root.data, (int) root.len);
	}
	SET_VARSIZE(packed.data, packed.len);
	return any ? (bytea *) packed.data : NULL;
}

/*
 * Sets what the request returns to what transact_pack() has packed; NULL: nothing.  Returns the
 * sizes, each of which may be TRANSACT_SIZE_UNKNOWN.
 */
uint32 *
transact_unpack(const TransactRequest *request, bytea *packed)
{
	uint32 *sizes = palloc(request->nactions * sizeof(uint32));
	const char *from = packed == NULL ? NULL : VARDATA_ANY(packed);
	const char *end = packed == NULL ? NULL : from + VARSIZE_ANY_EXHDR(packed);

	for (int i = 0; i < request->nactions; i++)
	{
		PackedAction action = {TRANSACT_SIZE_UNKNOWN, 0};

		if (packed != NULL)
		{
			if (end - from < (ptrdiff_t) sizeof(action))
				item_fail_invalid();
			memcpy(&action, from, sizeof(action));
			from += sizeof(action);
			if (end - from < (ptrdiff_t) action.len)
				item_fail_invalid();
		}
		sizes[i] = action.size;
		if (request->returned != NULL)
			request->returned[i] =
				action.len == 0 ? NULL : item_from_value((ItemSpan){from, action.len});
		if (action.len > 0)
			from += action.len;
	}
	return sizes;
}
