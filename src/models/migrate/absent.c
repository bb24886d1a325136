/*
 * absent.c
 *	  Rows that refer to one that is not there, and the transaction that adds it.
 *
 * A transaction adds a row that refers to another row, and another transaction adds that
 * one.  They do not see each other, so neither would put the two together.  A foreign key that is
 * checked at once does not let this happen.  Where there is none, or it is deferrable or not
 * checked, both lock the values by which the rows belong together, in two modes that exclude each
 * other and not themselves.  Who gets the lock second waits, and then sees the other's row.
 *
 * A row that refers to one that is there needs no such lock: either that row is locked itself, or
 * the item is, which both transactions change.
 *
 * A transaction locks values one by one, and from MOST_LOCKS on all values of a relation by one
 * lock.  For that there are two more locks of each relation: one says that there are rows that
 * refer, the other that there are rows that are added.  Whoever locks values takes the one of its
 * own side, in a mode that it shares with others of this side.  Whoever locks all values takes that
 * of the other side, too, in a mode that excludes these.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "models/migrate/refresh.h"
#include "server/compat.h"

/* Advisory locks of values, and the two of a whole relation, have these classes. */
#define VALUE_LOCK_CLASS 0x445C
#define REFERRING_LOCK_CLASS 0x445D
#define ADDED_LOCK_CLASS 0x445E

/* A transaction locks so many values; the server's table has at least 64 for each session. */
#define MOST_LOCKS 500

/*
 * Foreign keys
 */

static bool
is_immediate(Oid constraint)
{
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	bool immediate;

	if (!HeapTupleIsValid(tuple))
		return false;
	immediate = !((Form_pg_constraint) GETSTRUCT(tuple))->condeferrable;
	ReleaseSysCache(tuple);
	return immediate;
}

/* Returns whether a foreign key is between these columns, in any order. */
static bool
key_is_of_pairs(const ForeignKeyCacheInfo *key, const StepRelation *relation, bool inverse)
{
	if (key->nkeys != relation->npairs)
		return false;
	for (int i = 0; i < relation->npairs; i++)
	{
		AttrNumber from = inverse ? relation->pairs[i].column : relation->pairs[i].other;
		AttrNumber to = inverse ? relation->pairs[i].other : relation->pairs[i].column;
		int k = 0;

		while (k < key->nkeys && (key->conkey[k] != from || key->confkey[k] != to))
			k++;
		if (k == key->nkeys)
			return false;
	}
	return true;
}

/* Returns whether a foreign key guards it; inverse: of columns that refer to the other one's. */
static bool
is_guarded(const StepRelation *relation, bool inverse)
{
	const StepRelation *to = inverse ? relation->other : relation;
	Relation rel =
		relation_open(inverse ? relation->relid : relation->other->relid, AccessShareLock);
	/* a copy: what looks into the catalogs may have the relation's own list freed */
	List *keys = copyObject(RelationGetFKeyList(rel));
	bool found = false;
	ListCell *cell;

	foreach (cell, keys)
	{
		const ForeignKeyCacheInfo *key = lfirst(cell);

		found = found || (key->confrelid == to->relid && foreign_key_is_enforced(key) &&
						  key_is_of_pairs(key, relation, inverse) && is_immediate(key->conoid));
	}
	relation_close(rel, AccessShareLock);
	return found;
}

/* Sets which relations of a step have a foreign key that makes locks of values needless. */
void
step_find_guards(MigrationStep *step)
{
	for (int i = 0; i < step->nparents; i++)
		step->parents[i].relation.is_guarded = is_guarded(&step->parents[i].relation, false);
	for (int i = 0; i < step->nchildren; i++)
	{
		StepChild *child = &step->children[i];

		child->relation.is_guarded = is_guarded(&child->relation, true);
		for (int k = 0; k < child->njoins; k++)
			child->joins[k].is_guarded = is_guarded(&child->joins[k], false);
	}
}

/*
 * Returns whether a row may refer to one that is not there.  Where the session's role is "replica",
 * foreign keys are not checked: a subscription copies several tables at the same time.
 */
bool
absent_is_possible(const StepRelation *relation)
{
	return !relation->is_guarded || SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA;
}

/*
 * Hashes of values: equal ones, of either column of a pair, have the same
 */

/* Returns the type whose function hashes both columns alike, or NULL if there is none. */
static TypeCacheEntry *
hashed_type(const StepRelation *relation, const StepPair *pair, Oid type)
{
	Form_pg_attribute one = TupleDescAttr(relation->desc, pair->column - 1);
	Form_pg_attribute other = TupleDescAttr(relation->other->desc, pair->other - 1);
	int flags = TYPECACHE_HASH_OPFAMILY | TYPECACHE_HASH_PROC_FINFO;
	TypeCacheEntry *a = lookup_type_cache(getBaseType(one->atttypid), flags);
	TypeCacheEntry *b = lookup_type_cache(getBaseType(other->atttypid), flags);

	if (!OidIsValid(a->hash_proc_finfo.fn_oid) || !OidIsValid(b->hash_proc_finfo.fn_oid) ||
		a->hash_opf != b->hash_opf)
		return NULL;
	if ((OidIsValid(one->attcollation) && !get_collation_isdeterministic(one->attcollation)) ||
		(OidIsValid(other->attcollation) && !get_collation_isdeterministic(other->attcollation)))
		return NULL;
	return getBaseType(type) == a->type_id ? a : b;
}

static uint32
hash_row(const StepRelation *relation, const Several *several, TypeCacheEntry *const *types,
		 int row)
{
	uint32 hash = 0;

	for (int i = 0; i < relation->npairs; i++)
	{
		const StepPair *pair = &relation->pairs[i];

		hash = hash_combine(hash, (uint32) pair->column << 16 | (uint16) pair->other);
		if (types[i] == NULL)
			continue;
		hash = hash_combine(hash, DatumGetUInt32(FunctionCall1Coll(
									  &types[i]->hash_proc_finfo,
									  TupleDescAttr(relation->desc, pair->column - 1)->attcollation,
									  several->values[i][row])));
	}
	return hash;
}

static int
compare_hashes(const void *a, const void *b)
{
	uint32 one = *(const uint32 *) a;
	uint32 other = *(const uint32 *) b;

	return one < other ? -1 : one > other;
}

/* Sets *n to the number of hashes, each once, in ascending order: the order of all lockers. */
static uint32 *
hash_rows(const StepRelation *relation, const Several *several, int *n)
{
	TypeCacheEntry **types = palloc(relation->npairs * sizeof(TypeCacheEntry *));
	uint32 *hashes = palloc(several->n * sizeof(uint32));

	for (int i = 0; i < relation->npairs; i++)
		types[i] = hashed_type(relation, &relation->pairs[i], several->types[i]);
	for (int i = 0; i < several->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		hashes[i] = hash_row(relation, several, types, i);
	}
	qsort(hashes, several->n, sizeof(uint32), compare_hashes);
	*n = (int) qunique(hashes, several->n, sizeof(uint32), compare_hashes);
	return hashes;
}

/*
 * Locks, until the transaction ends
 */

static void
absent_lock_value(Oid relid, uint32 number, uint16 class, LOCKMODE mode, int *taken)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, relid, number, class);
	if (LockAcquire(&tag, mode, false, false) == LOCKACQUIRE_OK)
		(*taken)++;
}

/* Counts what the transaction has locked; what a subtransaction gave back counts as well. */
static int *
locks_of_transaction(void)
{
	static TransactionId transaction = InvalidTransactionId;
	static int n = 0;

	if (transaction != GetTopTransactionId())
	{
		transaction = GetTopTransactionId();
		n = 0;
	}
	return &n;
}

/*
 * Locks the values by which rows belong to each other, for a transaction that changes rows that
 * refer to others, or that adds rows to which others may refer.  Waits for transactions that do the
 * opposite.  several has the values, in the types of the rows that the transaction changes, and no
 * NULL.  Called between migration_enter() and migration_leave().
 */
void
absent_lock(const StepRelation *relation, bool refers, const Several *several)
{
	/* either of the two, but the same for both sides */
	Oid relid = relation->relid;
	int *taken = locks_of_transaction();
	uint32 *hashes;
	int n;

	if (several->n == 0)
		return;
	absent_lock_value(relid, 0, refers ? REFERRING_LOCK_CLASS : ADDED_LOCK_CLASS, RowExclusiveLock,
					  taken);
	hashes = hash_rows(relation, several, &n);
	if (*taken + n > MOST_LOCKS)
	{
		absent_lock_value(relid, 0, refers ? ADDED_LOCK_CLASS : REFERRING_LOCK_CLASS, ShareLock,
						  taken);
		return;
	}
	for (int i = 0; i < n; i++)
		absent_lock_value(relid, hashes[i], VALUE_LOCK_CLASS, refers ? RowExclusiveLock : ShareLock,
						  taken);
}
