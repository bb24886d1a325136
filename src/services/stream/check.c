/*
 * check.c
 *	  A step of dyn_check_table(): what the stream of a table needs.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "catalog/check/check.h"
#include "services/stream/stream.h"

/* Reports if the WAL lacks the old rows that the records of the table's stream are to have. */
void
stream_check(TableCheck *check)
{
	const DynStream *stream =
		check->table == NULL ? NULL : dyn_settings_stream(&check->table->settings);
	DynSettings settings;

	if (stream == NULL)
		return;
	if (check->rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		check_report(check, "stream", "changes of the table are not in the WAL",
					 psprintf("ALTER TABLE %s SET LOGGED;", check->qualified));
	if (stream_identity_suffices(check->rel, stream->view))
		return;
	settings = check->table->settings;
	check_report(check, "stream",
				 psprintf("the table's replica identity leaves out what view %s has",
						  dyn_stream_view_names[stream->view]),
				 psprintf("%s;", stream_identity_change(check->rel, stream->view, &settings)));
}
