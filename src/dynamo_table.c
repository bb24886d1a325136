/*
 * dynamo_table.c
 *	  The library's entry.
 *
 * Autovacuum workers, walsenders and parallel workers load the library on demand,
 * so nothing here may fail because of the moment at which it is loaded.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "actions/operation.h"
#include "am/am.h"
#include "api/partiql/partiql.h"
#include "catalog/check/check.h"
#include "catalog/definition/arn.h"
#include "catalog/definition/label.h"
#include "catalog/definition/settings.h"
#include "catalog/derive.h"
#include "catalog/entries.h"
#include "models/entity/request.h"
#include "models/migrate/migrate.h"
#include "models/view/member_plan.h"
#include "models/view/view.h"
#include "server/invalidate.h"
#include "server/library.h"
#include "server/progress.h"
#include "server/quiet.h"
#include "server/sent_settings.h"
#include "server/sql.h"
#include "server/work/place.h"
#include "server/work/service.h"
#include "services/index/index.h"
#include "services/stream/service.h"
#include "services/stream/stream.h"
#include "services/ttl/service.h"
#include "services/ttl/ttl.h"
#include "store/entries.h"
#include "store/store.h"
#include "store/vector.h"

#if PG_VERSION_NUM >= 180000
PG_MODULE_MAGIC_EXT(.name = "dynamo_table", .version = LIBRARY_VERSION);
#else
PG_MODULE_MAGIC;
#endif

/*
 * What layers add to those below them
 */

const CheckStep check_steps[] = {store_vector_check, store_entries_check, entity_check,
								 stream_check, NULL};
const ItemKinds *const item_kinds = &entity_kinds;
const TransactOthers *const transact_others = &entity_actions;

void
_PG_init(void)
{
	invalidation_init();
	label_init();
	dyn_am_init();
	dyn_settings_init();
	progress_init();
	quiet_init();
	sql_init();
	sent_settings_init();
	dyn_arn_init();
	dyn_derive_init();
	dyn_vector_init();
	dyn_entries_guard_init();
	store_init();
	counters_init();
	partiql_init();
	entity_enforce_init();
	migration_truncate_init();
	member_path_init();
	member_narrow_init();
	member_distinct_init();
	entity_view_release_init();
	entity_view_upsert_init();
	place_settings_init();
	dyn_stream_init();
	stream_drop_init();
	dyn_ttl_init();
	if (process_shared_preload_libraries_in_progress)
	{
		service_register(&ttl_service);
		service_register(&stream_service);
		service_register(&index_build_service);
		visit_add_look(stream_tell_slot);
		shared_add(ttl_turns_size, ttl_turns_start);
		shared_add(stream_progress_size, stream_progress_start);
		launcher_init();
	}
	MarkGUCPrefixReserved("dynamo_table");
}
