/*
 * description.h
 *	  Settings of a table that are stored only to be described: those in its label.
 *
 * As a member of the label (label.h) it is a JSON object, like
 *
 *		{"created": 1700000000.123, "billing_mode": "PROVISIONED", "read_capacity_units": 5,
 *		 "write_capacity_units": 5, "warm_read_units": 12000, "deletion_protection": true,
 *		 "encrypted": true, "table_class": "STANDARD", "recovery_days": 35,
 *		 "global_indexes": {"GSI1": {"read_capacity_units": 1, "write_capacity_units": 1}},
 *		 "tags": {"team": "a"}}
 *
 * Settings that rows depend on are not here but in the derive trigger (table_settings.h).
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_DESCRIPTION_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_DESCRIPTION_H

#include "nodes/pg_list.h"

#include "item/item.h"

#define DYN_MAX_TAGS 50
#define DYN_MAX_TAG_KEY 128 /* characters */
#define DYN_MAX_TAG_VALUE 256

typedef enum DynBilling
{
	DYN_PAY_PER_REQUEST,
	DYN_PROVISIONED
} DynBilling;

/* In a DynCapacity 0 means that nothing is said. */
typedef struct DynCapacity
{
	int64 read;
	int64 write;
} DynCapacity;

/* A DynUnits is what a table or a global index is declared to have.  It does not limit anything. */
typedef struct DynUnits
{
	DynCapacity provisioned; /* of a table with DYN_PROVISIONED */
	DynCapacity maximum; /* of a table with DYN_PAY_PER_REQUEST */
	DynCapacity warm; /* a second */
} DynUnits;

typedef enum DynTableClass
{
	DYN_CLASS_UNSAID,
	DYN_CLASS_STANDARD,
	DYN_CLASS_INFREQUENT_ACCESS
} DynTableClass;

typedef struct DynTag
{
	ItemSpan key;
	ItemSpan value;
} DynTag;

/* A DynIndexUnits holds the units of a global index, which may no longer exist. */
typedef struct DynIndexUnits
{
	ItemSpan index;
	DynUnits units;
} DynIndexUnits;

/* A DynDescription that is all zero says nothing. */
typedef struct DynDescription
{
	double created; /* seconds since 1970 */
	DynBilling billing;
	double on_demand_since; /* seconds since 1970; 0: not known, or never */
	DynUnits units;
	bool deletion_protection;
	bool encrypted;
	DynTableClass table_class;
	int64 recovery_days; /* point-in-time recovery is wanted, so far back; 0: it is not */
	List *indexes; /* of DynIndexUnits */
	int ntags;
	DynTag *tags; /* by key, in byte order */
} DynDescription;

extern const char *const dyn_billing_names[]; /* these end with NULL */
extern const char *const dyn_table_class_names[];

extern DynDescription *description_read(Oid relid);
extern void description_write(Oid relid, const DynDescription *description);

extern double description_now(void);
extern bool description_is_unsaid(const DynUnits *units);
extern void description_change_units(DynUnits *units, const DynUnits *given, const ItemSpan *index);
extern DynUnits description_index_units(const DynDescription *description, ItemSpan index);
extern void description_set_index_units(DynDescription *description, ItemSpan index,
										const DynUnits *units);
extern void description_set_billing(DynDescription *description, DynBilling billing);
extern void description_check_units(DynBilling billing, const DynUnits *units,
									const ItemSpan *index);
extern void description_check_indexes(const DynDescription *description, List *indexes);
extern void description_set_tag(DynDescription *description, ItemSpan key, ItemSpan value);
extern void description_remove_tag(DynDescription *description, ItemSpan key);

#endif
