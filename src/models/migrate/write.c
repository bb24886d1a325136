/*
 * write.c
 *	  Items of a batch, written in the order of their keys, as all calls of several items do.
 *
 * An error that only the write finds (a trigger, a policy, a key that its index cannot hold) fails
 * the batch.  Then its items are written one by one, and those at fault become problems.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "actions/write.h"
#include "models/migrate/write.h"
#include "server/attempt.h"

typedef struct Put
{
	Relation rel;
	DynTable *table;
	MigrationRow *const *rows;
	int n;
} Put;

static void
put_rows(void *arg)
{
	const Put *put = arg;
	ItemWrite *writes = palloc(put->n * sizeof(ItemWrite));
	ItemWrite **in_order = palloc(put->n * sizeof(ItemWrite *));
	ItemWriter writer;

	write_open(&writer, &(FrontCall){.rel = put->rel, .table = put->table});
	for (int i = 0; i < put->n; i++)
	{
		write_prepare(&writer, put->rows[i]->item, &writes[i]);
		in_order[i] = &writes[i];
	}
	write_put_many(&writer, put->n, in_order);
	write_close(&writer);
}

/* Returns an error that a row may be to blame for; raises others. */
static ErrorData *
try_put(Relation rel, DynTable *table, MigrationRow *const *rows, int n)
{
	Put put = {rel, table, rows, n};
	ErrorData *error = attempt(put_rows, &put);

	if (error != NULL && !item_is_to_blame(error, table->row_security))
		ReThrowError(error);
	return error;
}

static int
compare_rows(const void *a, const void *b, void *arg)
{
	const MigrationRow *one = *(MigrationRow *const *) a;
	const MigrationRow *other = *(MigrationRow *const *) b;
	int cmp = store_key_compare(arg, &one->key, &other->key);

	/* rows with equal keys keep the order of the step */
	return cmp != 0 ? cmp : one < other ? -1 : 1;
}

/*
 * Sorts the rows with items.  Of rows that make the same item, all but the first become problems.
 */
static int
sort_rows(DynTable *table, MigrationRow *rows, int n, MigrationRow **sorted)
{
	int nsorted = 0;
	int kept = 0;

	for (int i = 0; i < n; i++)
	{
		if (rows[i].item != NULL)
			sorted[nsorted++] = &rows[i];
	}
	qsort_arg(sorted, nsorted, sizeof(MigrationRow *), compare_rows, table);
	for (int i = 0; i < nsorted; i++)
	{
		if (kept > 0 && store_key_compare(table, &sorted[kept - 1]->key, &sorted[i]->key) == 0)
			row_set_collision(
				sorted[i], true,
				row_name(sorted[kept - 1]->step, sorted[kept - 1]->tuple, sorted[kept - 1]->desc));
		else
			sorted[kept++] = sorted[i];
	}
	return kept;
}

/* Returns how many rows were written; the others have become problems. */
int
write_rows(Relation rel, DynTable *table, MigrationRow *rows, int n)
{
	MigrationRow **sorted = palloc(Max(n, 1) * sizeof(MigrationRow *));
	int nsorted = sort_rows(table, rows, n, sorted);
	int written = nsorted;

	if (nsorted == 0 || try_put(rel, table, sorted, nsorted) == NULL)
		return nsorted;
	for (int i = 0; i < nsorted; i++)
	{
		ErrorData *error;

		CHECK_FOR_INTERRUPTS();
		error = try_put(rel, table, &sorted[i], 1);
		if (error == NULL)
			continue;
		sorted[i]->problem = ROW_ERROR;
		sorted[i]->message = error->message;
		sorted[i]->item = NULL;
		written--;
	}
	return written;
}
