/*
 * authorize.c
 *	  Whether grants by leading keys cover a request.
 *
 * Each action comes here when it knows the keys that its request names, and before it reads
 * anything.  What is refused is refused by these keys alone, so nobody learns whether there is such
 * an item.  What is covered is cleared: the store does not ask permissive policies, which are the
 * same grants as plain SQL knows them.  A caller for whom there is no grant is left to the
 * policies.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/rls.h"

#include "actions/authorize.h"
#include "catalog/definition/arn.h"
#include "catalog/lookup.h"
#include "server/errors.h"

/* Raises AccessDeniedException in the words of the service, which name who, what and where. */
pg_noreturn static void
fail(const DynTable *table, const DynIndex *index, DynAction action)
{
	const char *arn = dyn_table_arn(dyn_name_of_relation(table->name, &table->settings));
	const char *words;

	if (!dyn_index_is_table(index))
		arn = dyn_index_arn(arn, index->name);
	words = psprintf("User: %s is not authorized to perform: dynamodb:%s on resource: %s",
					 GetUserNameFromId(GetUserId(), false), dyn_action_names[action], arn);
	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg_internal("%s", words),
					errwords("%s", words)));
}

/*
 * Raises an error unless grants by leading keys, if there are any for the caller, cover an action
 * on the table or an index.  The values are those of the partition keys that the request names, as
 * many for each as the index has.  Sets *clearance, which is zero before.
 */
void
authorize(const DynTable *table, const DynIndex *index, DynAction action, int nvalues,
		  const Datum *values, StoreClearance *clearance)
{
	if (!table->grants->any)
		return;
	if (check_enable_rls(table->relid, InvalidOid, true) == RLS_ENABLED)
	{
		switch (dyn_key_granted_for(table, index, action, nvalues, values))
		{
			case GRANTED_NOTHING:
				return;
			case GRANTED_OTHERS:
				fail(table, index, action);
			case GRANTED_ALL:
			case GRANTED_KEYS:
				break;
		}
	}
	*clearance = (StoreClearance){table->relid, GetUserId()};
}

/* Does so for the key of a write. */
void
authorize_write(ItemWriter *writer, DynAction action, const ItemWrite *write)
{
	const DynIndex *primary = &writer->table->primary;

	authorize(writer->table, primary, action, primary->npartition, write->key.values,
			  &writer->clearance);
}

/* Does so for all targets of a batch that are in the same table, which are one request. */
void
authorize_batch(ItemTarget *const *targets, int n, DynAction action)
{
	Datum *values = palloc((Size) Max(n, 1) * DYN_MAX_KEY_PART * sizeof(Datum));

	for (int i = 0; i < n; i++)
	{
		const DynTable *table = targets[i]->table;
		int nvalues = 0;

		if (!table->grants->any || OidIsValid(targets[i]->writer->clearance.relid))
			continue;
		for (int k = 0; k < n; k++)
		{
			for (int v = 0; v < table->primary.npartition && targets[k]->table == table; v++)
				values[nvalues++] = targets[k]->write.key.values[v];
		}
		authorize(table, &table->primary, action, nvalues, values, &targets[i]->writer->clearance);
	}
	pfree(values);
}
