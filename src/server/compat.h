/*
 * compat.h
 *	  What differs between the supported majors, one shim each, with the reason.
 */
#ifndef DYNAMO_TABLE_SERVER_COMPAT_H
#define DYNAMO_TABLE_SERVER_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "dynamo_table supports PostgreSQL 15 to 19"
#endif

#define PG16_GE (PG_VERSION_NUM >= 160000)
#define PG17_GE (PG_VERSION_NUM >= 170000)
#define PG18_GE (PG_VERSION_NUM >= 180000)
#define PG19_GE (PG_VERSION_NUM >= 190000)

/* 16 moved the varlena macros out of postgres.h. */
#if PG16_GE
#include "varatt.h"
#endif

/* 16 brought soft errors; before, every error is raised at once. */
#if PG16_GE
#include "nodes/miscnodes.h"
#else
struct Node;
#define errsave(context, ...) ereport(ERROR, __VA_ARGS__)
#endif

/* 18 moved the argument to the front, and dropped the old name. */
#if !PG18_GE
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 18 can return a deferrable primary key too, which ON CONFLICT cannot use. */
#if PG18_GE
#define primary_key_index(rel) RelationGetPrimaryKeyIndex((rel), false)
#else
#define primary_key_index(rel) RelationGetPrimaryKeyIndex(rel)
#endif

/* 16 has one function for the owners of all kinds of objects. */
#if !PG16_GE
#define object_ownercheck(class, object, role) pg_class_ownercheck((object), (role))
#define schema_ownercheck(object, role) pg_namespace_ownercheck((object), (role))
#define schema_aclcheck(object, role, mode) pg_namespace_aclcheck((object), (role), (mode))
#define function_aclcheck(object, role, mode) pg_proc_aclcheck((object), (role), (mode))
#else
#define schema_ownercheck(object, role) object_ownercheck(NamespaceRelationId, (object), (role))
#define schema_aclcheck(object, role, mode) \
	object_aclcheck(NamespaceRelationId, (object), (role), (mode))
#define function_aclcheck(object, role, mode) \
	object_aclcheck(ProcedureRelationId, (object), (role), (mode))
#endif

/* 16 keeps what the executor checks of a relation apart from the range table; children have nothing there. */
#if PG16_GE
#define ReadChecks RTEPermissionInfo
#define read_checks(estate, rte) \
	((rte)->perminfoindex == 0 ? NULL : getRTEPermissionInfo((estate)->es_rteperminfos, (rte)))
#else
#define ReadChecks RangeTblEntry
#define read_checks(estate, rte) (((rte)->requiredPerms & ACL_SELECT) == 0 ? NULL : (rte))
#endif

/* 18 returns old rows too. */
#if PG18_GE
#define returns_default(var) ((var)->varreturningtype == VAR_RETURNING_DEFAULT)
#else
#define returns_default(var) true
#endif

/* 16 lets a role be granted without the right to set it. */
#if PG16_GE
#define may_set_role(member, role) member_can_set_role((member), (role))
#else
#define may_set_role(member, role) is_member_of_role((member), (role))
#endif

/* 17 lets a background worker connect as a role that may not log in. */
#if PG17_GE
#define WORKER_CONNECTION_FLAGS BGWORKER_BYPASS_ROLELOGINCHECK
#define WORKER_NEEDS_LOGIN false
#else
#define WORKER_CONNECTION_FLAGS 0
#define WORKER_NEEDS_LOGIN true
#endif

/* 18 runs every portal once. */
#if PG18_GE
#define portal_run(portal, receiver, completion) \
	PortalRun((portal), FETCH_ALL, true, (receiver), (receiver), (completion))
#else
#define portal_run(portal, receiver, completion) \
	PortalRun((portal), FETCH_ALL, true, true, (receiver), (receiver), (completion))
#endif

/* 18 counts searches for EXPLAIN; 19 is told what a scan is for. */
#if PG19_GE
#define begin_index_scan(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), NULL, (nkeys), 0, SO_NONE)
#elif PG18_GE
#define begin_index_scan(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), NULL, (nkeys), 0)
#else
#define begin_index_scan(rel, index, snapshot, nkeys) \
	index_beginscan((rel), (index), (snapshot), (nkeys), 0)
#endif

/* Does so for a scan in the order of an operator. */
#if PG19_GE
#define begin_ordered_scan(rel, index, snapshot) \
	index_beginscan((rel), (index), (snapshot), NULL, 0, 1, SO_NONE)
#elif PG18_GE
#define begin_ordered_scan(rel, index, snapshot) \
	index_beginscan((rel), (index), (snapshot), NULL, 0, 1)
#else
#define begin_ordered_scan(rel, index, snapshot) index_beginscan((rel), (index), (snapshot), 0, 1)
#endif

#if PG19_GE
#define begin_table_scan(rel, snapshot) table_beginscan((rel), (snapshot), 0, NULL, SO_NONE)
#else
#define begin_table_scan(rel, snapshot) table_beginscan((rel), (snapshot), 0, NULL)
#endif

#if PG19_GE
#define begin_tid_scan(rel, snapshot, first, last) \
	table_beginscan_tidrange((rel), (snapshot), (first), (last), SO_NONE)
#else
#define begin_tid_scan(rel, snapshot, first, last) \
	table_beginscan_tidrange((rel), (snapshot), (first), (last))
#endif

/* 18 calls the order of a sort by what it compares with, not by a strategy of btrees. */
#if PG18_GE
#define pathkey_is_descending(key) ((key)->pk_cmptype == COMPARE_GT)
#else
#define pathkey_is_descending(key) ((key)->pk_strategy == BTGreaterStrategyNumber)
#endif

/* 17 can flush a message that is not transactional. */
#if PG17_GE
#define log_logical_message(prefix, text, len) \
	LogLogicalMessage((prefix), (text), (len), true, false)
#else
#define log_logical_message(prefix, text, len) LogLogicalMessage((prefix), (text), (len), true)
#endif

/* 17 passes decoded tuples directly, without a buffer around them. */
#if PG17_GE
#define decoded_tuple(tuple) (tuple)
#else
#define decoded_tuple(buffer) ((buffer) == NULL ? NULL : &(buffer)->tuple)
#endif

/* 16 reports progress by itself while a plugin writes nothing. */
#define PLUGIN_TELLS_PROGRESS (!PG16_GE)

/* 16 brought soft errors here too. */
#if PG16_GE
#define qualified_name_list(text) stringToQualifiedNameList((text), NULL)
#else
#define qualified_name_list(text) stringToQualifiedNameList(text)
#endif

#if PG16_GE
#define parse_type_name(text) typeStringToTypeName((text), NULL)
#else
#define parse_type_name(text) typeStringToTypeName(text)
#endif

/* 17 lets an extension define wait events. */
#if PG17_GE
#define custom_wait_event(name) WaitEventExtensionNew(name)
#else
#define custom_wait_event(name) PG_WAIT_EXTENSION
#endif

/* 17 lets the caller allocate the lexer's struct. */
#if PG17_GE
#define make_json_lexer(json, len) makeJsonLexContextCstringLen(NULL, (json), (len), PG_UTF8, false)
#else
#define make_json_lexer(json, len) \
	makeJsonLexContextCstringLen((char *) (json), (len), PG_UTF8, false)
#endif

/*
 * 16 passes the table along with its index; 17 dropped the snapshot of old_snapshot_threshold; 19
 * notes the way to a leaf only if it is asked to.
 */
#if PG19_GE
#define bt_search(index, table, key, buffer) \
	((void) _bt_search((index), (table), (key), (buffer), BT_READ, false))
#elif PG17_GE
#define bt_search(index, table, key, buffer) \
	_bt_freestack(_bt_search((index), (table), (key), (buffer), BT_READ))
#elif PG16_GE
#define bt_search(index, table, key, buffer) \
	_bt_freestack(_bt_search((index), (table), (key), (buffer), BT_READ, NULL))
#else
#define bt_search(index, table, key, buffer) \
	_bt_freestack(_bt_search((index), (key), (buffer), BT_READ, NULL))
#endif

/* 18 remembers the left sibling of a scan's leaf, as all do the right one. */
#if PG18_GE
#define bt_left_sibling(leaf) ((leaf)->prevPage)
#else
#define bt_left_sibling(leaf) P_NONE
#endif

/* 17 removed old_snapshot_threshold; before, reading a page of an index checks for it. */
#if PG17_GE
#define OldSnapshotThresholdActive() false
#endif

/* 16 can extend by several pages. */
#if PG16_GE
#define heap_page_for(rel, len, options, vm_buffer) \
	RelationGetBufferForTuple((rel), (len), InvalidBuffer, (options), NULL, (vm_buffer), NULL, 0)
#else
#define heap_page_for(rel, len, options, vm_buffer) \
	RelationGetBufferForTuple((rel), (len), InvalidBuffer, (options), NULL, (vm_buffer), NULL)
#endif

/* 16 reports updates that only summarizing indexes must be told of. */
#if PG16_GE
#define UpdateIndexes TU_UpdateIndexes
#define NO_INDEXES_TO_UPDATE TU_None
#else
#define UpdateIndexes bool
#define NO_INDEXES_TO_UPDATE false
#endif

/* 18 distinguishes regular backends from all others, 19 all kinds. */
#if PG19_GE
#define is_background_worker(process) ((process)->backendType != B_BACKEND)
#elif PG18_GE
#define is_background_worker(process) (!(process)->isRegularBackend)
#else
#define is_background_worker(process) ((process)->isBackgroundWorker)
#endif

/* 19 gives a hash table in shared memory all of its entries at once. */
#if PG_VERSION_NUM >= 190000
#define shmem_init_hash(name, n, control, flags) ShmemInitHash(name, n, control, flags)
#else
#define shmem_init_hash(name, n, control, flags) ShmemInitHash(name, n, n, control, flags)
#endif

/* 17 combined the parts of the virtual transaction's ID in one struct. */
#if PG17_GE
#define my_local_xid() (MyProc->vxid.lxid)
#else
#define my_local_xid() (MyProc->lxid)
#endif

/* 16 records the reason of an invalidation; 15 records the place that the slot had before. */
#if PG16_GE
#define slot_is_invalid(slot) ((slot)->data.invalidated != RS_INVAL_NONE)
#else
#define slot_is_invalid(slot) (!XLogRecPtrIsInvalid((slot)->data.invalidated_at))
#endif

/* 18 refuses an invalid slot here, and decoding relies on that; before 18, decoding checks. */
#if PG18_GE
#define acquire_slot(name) ReplicationSlotAcquire((name), true, true)
#else
#define acquire_slot(name) ReplicationSlotAcquire((name), true)
#endif

/* 16 can insert into summarizing indexes only; 19 has flags for what to insert. */
#if PG19_GE
#define insert_index_entries(info, slot, estate) \
	ExecInsertIndexTuples((info), (estate), 0, (slot), NIL, NULL)
#elif PG16_GE
#define insert_index_entries(info, slot, estate) \
	ExecInsertIndexTuples((info), (slot), (estate), false, false, NULL, NIL, false)
#else
#define insert_index_entries(info, slot, estate) \
	ExecInsertIndexTuples((info), (slot), (estate), false, false, NULL, NIL)
#endif

/* Makes the index entries of a speculative insertion, whose arbiter is the primary key. */
#if PG19_GE
#define insert_speculative_entries(info, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples((info), (estate), EIIT_NO_DUPE_ERROR, (slot), (arbiters), (conflict))
#elif PG16_GE
#define insert_speculative_entries(info, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples((info), (slot), (estate), false, true, (conflict), (arbiters), false)
#else
#define insert_speculative_entries(info, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples((info), (slot), (estate), false, true, (conflict), (arbiters))
#endif

/* 16 tells after an update which indexes need entries. */
#if PG19_GE
#define update_index_entries(info, slot, estate, indexes) \
	ExecInsertIndexTuples((info), (estate), \
						  EIIT_IS_UPDATE | \
							  ((indexes) == TU_Summarizing ? EIIT_ONLY_SUMMARIZING : 0), \
						  (slot), NIL, NULL)
#elif PG16_GE
#define update_index_entries(info, slot, estate, indexes) \
	ExecInsertIndexTuples((info), (slot), (estate), true, false, NULL, NIL, \
						  (indexes) == TU_Summarizing)
#else
#define update_index_entries(info, slot, estate, indexes) \
	ExecInsertIndexTuples((info), (slot), (estate), true, false, NULL, NIL)
#endif
#if PG16_GE
#define ALL_INDEXES_TO_UPDATE TU_All
#else
#define ALL_INDEXES_TO_UPDATE true
#endif

/* 16 moved the permissions out of the range table; 18 tells which relations are not pruned. */
#if PG18_GE
#define init_range_table_of(estate, entry, infos) \
	ExecInitRangeTable((estate), list_make1(entry), (infos), bms_make_singleton(1))
#elif PG16_GE
#define init_range_table_of(estate, entry, infos) \
	ExecInitRangeTable((estate), list_make1(entry), (infos))
#else
#define init_range_table_of(estate, entry, infos) \
	((void) (infos), ExecInitRangeTable((estate), list_make1(entry)))
#endif

/* 16 is told of all result relations of a plan; a state that evaluates nothing has none. */
#if PG16_GE
#define init_evaluation_again(state, estate) EvalPlanQualInit((state), (estate), NULL, NIL, -1, NIL)
#else
#define init_evaluation_again(state, estate) EvalPlanQualInit((state), (estate), NULL, NIL, -1)
#endif

/* 16 returns the state of the row too, and 18 is told of MERGE. */
#if PG18_GE
#define before_row_update(estate, again, info, tid, slot) \
	ExecBRUpdateTriggers((estate), (again), (info), (tid), NULL, (slot), NULL, NULL, false)
#define before_row_delete(estate, again, info, tid) \
	ExecBRDeleteTriggers((estate), (again), (info), (tid), NULL, NULL, NULL, NULL, false)
#elif PG16_GE
#define before_row_update(estate, again, info, tid, slot) \
	ExecBRUpdateTriggers((estate), (again), (info), (tid), NULL, (slot), NULL, NULL)
#define before_row_delete(estate, again, info, tid) \
	ExecBRDeleteTriggers((estate), (again), (info), (tid), NULL, NULL, NULL, NULL)
#else
#define before_row_update(estate, again, info, tid, slot) \
	ExecBRUpdateTriggers((estate), (again), (info), (tid), NULL, (slot), NULL)
#define before_row_delete(estate, again, info, tid) \
	ExecBRDeleteTriggers((estate), (again), (info), (tid), NULL, NULL)
#endif

/* 18 has constraints that are NOT ENFORCED, and generated columns that are not stored. */
#if PG18_GE
#define check_is_enforced(check) ((check)->ccenforced)
#define check_expression(rel, node) \
	((Expr *) expand_generated_columns_in_expr((Node *) (node), (rel), 1))
#define set_check_expressions(info, expressions) ((info)->ri_CheckConstraintExprs = (expressions))
#else
#define check_is_enforced(check) true
#define check_expression(rel, node) ((Expr *) (node))
#define set_check_expressions(info, expressions) ((info)->ri_ConstraintExprs = (expressions))
#endif

/* 17 has failover slots, which may not be ahead of the standbys that take them over. */
#if PG17_GE
#define slot_is_failover(slot) ((slot)->data.failover)
#define slot_may_confirm(slot, lsn) \
	(!slot_is_failover(slot) || StandbySlotsHaveCaughtup((lsn), DEBUG1))
#else
#define slot_is_failover(slot) false
#define slot_may_confirm(slot, lsn) true
#endif

/* 18 has foreign keys that are NOT ENFORCED. */
#if PG18_GE
#define foreign_key_is_enforced(key) ((key)->conenforced)
#else
#define foreign_key_is_enforced(key) true
#endif

/*
 * 19 marks the pages that are visible to all while it reads them, for which it keeps one of the
 * visibility map, unless the rows are about to change.
 */
#if PG19_GE
#define prune_page(rel, page, map) heap_page_prune_opt((rel), (page), (map), true)
#else
#define prune_page(rel, page, map) heap_page_prune_opt((rel), (page))
#endif

/* 19 has options of updates and deletes, and these of inserts without a sign. */
#if PG19_GE
#define TableOptions uint32
#define UPDATE_OPTIONS_DECLARED uint32 options,
#define UPDATE_OPTIONS options,
#define update_version(rel, tid, slot, command, snapshot, failure, mode, indexes) \
	table_tuple_update((rel), (tid), (slot), (command), 0, (snapshot), InvalidSnapshot, true, \
					   (failure), (mode), (indexes))
#define delete_version(rel, tid, command, snapshot, failure) \
	table_tuple_delete((rel), (tid), (command), 0, (snapshot), InvalidSnapshot, true, (failure))
#else
#define TableOptions int
#define UPDATE_OPTIONS_DECLARED
#define UPDATE_OPTIONS
#define update_version(rel, tid, slot, command, snapshot, failure, mode, indexes) \
	table_tuple_update((rel), (tid), (slot), (command), (snapshot), InvalidSnapshot, true, \
					   (failure), (mode), (indexes))
#define delete_version(rel, tid, command, snapshot, failure) \
	table_tuple_delete((rel), (tid), (command), (snapshot), InvalidSnapshot, true, (failure), false)
#endif

/* Replaces a row by a version that is the same, which decoding need not see. */
#if PG19_GE
#define heap_move_version(rel, tid, slot, command, snapshot, failure, mode, indexes) \
	GetHeapamTableAmRoutine()->tuple_update((rel), (tid), (slot), (command), \
											TABLE_UPDATE_NO_LOGICAL, (snapshot), InvalidSnapshot, \
											true, (failure), (mode), (indexes))
#else
#define heap_move_version(rel, tid, slot, command, snapshot, failure, mode, indexes) \
	GetHeapamTableAmRoutine()->tuple_update((rel), (tid), (slot), (command), (snapshot), \
											InvalidSnapshot, true, (failure), (mode), (indexes))
#endif

/* 19 copies what a snapshot shows, for REPACK. */
#if PG19_GE
#define COPY_SNAPSHOT_DECLARED Snapshot snapshot,
#define COPY_SNAPSHOT snapshot,
#else
#define COPY_SNAPSHOT_DECLARED
#define COPY_SNAPSHOT
#endif

/* 19 is told what rows are fetched for. */
#if PG19_GE
#define begin_index_fetch(rel) table_index_fetch_begin((rel), SO_NONE)
#else
#define begin_index_fetch(rel) table_index_fetch_begin(rel)
#endif

/* 19 calls it for what is no table too, and no longer from where the indexes are found. */
#if PG19_GE
#define relation_hook build_simple_rel_hook
#define relation_hook_type build_simple_rel_hook_type
#define RELATION_HOOK_DECLARED PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *entry
#define RELATION_HOOK_ARGUMENTS root, rel, entry
#else
#define relation_hook get_relation_info_hook
#define relation_hook_type get_relation_info_hook_type
#define RELATION_HOOK_DECLARED PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define RELATION_HOOK_ARGUMENTS root, relid, inhparent, rel
#endif

/* 19 leaves the result in the state. */
#if PG19_GE
#define push_jsonb(state, token, value) pushJsonbValue((state), (token), (value))
#else
typedef struct JsonbInState
{
	struct JsonbValue *result;
	struct JsonbParseState *parseState;
} JsonbInState;

#define push_jsonb(state, token, value) \
	((void) ((state)->result = pushJsonbValue(&(state)->parseState, (token), (value))))
#endif

/* 19 asks whether it is REPACK that decodes. */
#if PG19_GE
#define check_decoding() CheckLogicalDecodingRequirements(false)
#else
#define check_decoding() CheckLogicalDecodingRequirements()
#endif

/* 19 prints eight digits of what was as short as it could be. */
#if PG19_GE
#define LSN "%X/%08X"
#else
#define LSN "%X/%X"
#endif

/* 19 keeps the time of the commit alone. */
#if PG19_GE
#define commit_time_of(txn) ((txn)->commit_time)
#else
#define commit_time_of(txn) ((txn)->xact_time.commit_time)
#endif

/* 19 renamed origins, and keeps what a session has of them together. */
#if PG19_GE
#define OriginId ReplOriginId
#define NO_ORIGIN InvalidReplOriginId
#define session_origin (replorigin_xact_state.origin)
#else
#define OriginId RepOriginId
#define NO_ORIGIN InvalidRepOriginId
#define session_origin replorigin_session_origin
#endif

/* 19 lets hooks only read what identifies a query. */
#if PG19_GE
#define HookJumble const JumbleState
#else
#define HookJumble JumbleState
#endif

/* 19 knows the process of a slot by its number. */
#if PG19_GE
#define slot_is_used(slot) ((slot)->active_proc != INVALID_PROC_NUMBER)
#else
#define slot_is_used(slot) ((slot)->active_pid != 0)
#endif

/* 19 has a level for each kind of process. */
#if PG19_GE
#define least_logged_level() (log_min_messages[MyBackendType])
#else
#define least_logged_level() log_min_messages
#endif

/* 19 renamed the path, as there is one kind of it only. */
#if PG19_GE
#define T_UpperUniquePath T_UniquePath
#define UpperUniquePath UniquePath
#endif

#endif
