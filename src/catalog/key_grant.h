/*
 * key_grant.h
 *	  What roles may do with items by their partition keys: actions and leading keys, as IAM has them.
 *
 * Grants are policies of row-level security, see the README.
 */
#ifndef DYNAMO_TABLE_CATALOG_KEY_GRANT_H
#define DYNAMO_TABLE_CATALOG_KEY_GRANT_H

#include "catalog/table.h"

/* These are the actions of IAM that can be granted, in the order of dyn_action_names. */
typedef enum DynAction
{
	ACTION_GET_ITEM,
	ACTION_BATCH_GET_ITEM,
	ACTION_QUERY,
	ACTION_SCAN,
	ACTION_CONDITION_CHECK_ITEM,
	ACTION_PUT_ITEM,
	ACTION_UPDATE_ITEM,
	ACTION_DELETE_ITEM,
	ACTION_BATCH_WRITE_ITEM,
	ACTION_PARTIQL_SELECT,
	ACTION_PARTIQL_INSERT,
	ACTION_PARTIQL_UPDATE,
	ACTION_PARTIQL_DELETE
} DynAction;

#define DYN_NACTIONS (ACTION_PARTIQL_DELETE + 1)
#define ACTION_BIT(action) (UINT32_C(1) << (action))

extern const char *const dyn_action_names[];

/* This is a policy that grants something. */
typedef struct DynKeyGrant
{
	const char *policy;
	int nroles;
	const Oid *roles; /* ACL_ID_PUBLIC: all */
	bool all; /* it shows all rows for all commands, whoever has made it */
	uint32 actions; /* otherwise: bits of these */
	ItemSpan index; /* of length 0: the table itself */
	bool any_key;
	int nkeys;
	const ItemSpan *keys; /* otherwise: patterns */
} DynKeyGrant;

/* Holds what the policies of a table grant. */
typedef struct DynKeyGrants
{
	bool any; /* of dyn_grant_keys() */
	bool foreign; /* there are policies of other kinds */
	bool restricted; /* there are restrictive policies, too */
	int n;
	DynKeyGrant *grants;
} DynKeyGrants;

typedef enum DynGranted
{
	GRANTED_NOTHING, /* no grant is for the role: policies decide */
	GRANTED_ALL, /* policies hide nothing from the role */
	GRANTED_KEYS,
	GRANTED_OTHERS /* the role has grants, and none covers the request */
} DynGranted;

extern const DynKeyGrants *dyn_read_key_grants(Relation rel);
extern DynGranted dyn_key_granted_for(const DynTable *table, const DynIndex *index,
									  DynAction action, int nvalues, const Datum *values);
extern bool dyn_policies_hide(Oid relid);
extern bool dyn_reads_all(Oid relid);
extern uint32 dyn_actions_of(ItemSpan pattern);
extern void dyn_check_key_pattern(ItemSpan pattern);

#endif
