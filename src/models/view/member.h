/*
 * member.h
 *	  Whether an item is of an entity, for the conditions of views: dyn_is_entity().
 *
 *		dynamo_internal.is_entity(item, '{"entity": "Project", "keys": {"pk": "ORG#<OrgId>"}, …}', pk)
 *
 * is true if the type attribute says so, and the one key of the definition is what its templates make
 * of the item's attributes.  The key's column is there for the planner alone, which asks functions
 * about conditions on the columns that they are given, and takes one column's from each call: so a
 * view has a call for each key.
 *
 * The definition is part of the view, and not looked up: what the planner concludes from the
 * templates is right only if the rows are judged by the same ones, and a declaration may change
 * while a statement runs.  So the function is immutable, and a dump of the view is complete.  After
 * a change of an entity its views have to be created again; dyn_check_entities() names those that
 * are out of date.
 *
 * A definition with "required": true is one of an index in which all items of the entity are, since all
 * attributes of its keys are required.  A view of the entity has it for the planner, and does without it
 * if the index is dropped.  With "given" as well only the items are in the index that have all of these
 * attributes, and nothing is said of others: is_entity_in_index(), which is not strict, is true of them.
 * Without "required" the key is one of the table, or the view is of what is in an index.
 *
 * Attributes in templates must determine their keys by their SQL values, since these are what
 * queries give.  Many types are read in one way only; those that are not (member_is_canonical())
 * must be written as the extension would write them.
 */
#ifndef DYNAMO_TABLE_MODELS_VIEW_MEMBER_H
#define DYNAMO_TABLE_MODELS_VIEW_MEMBER_H

#include "nodes/supportnodes.h"

#include "models/entity/entity.h"
#include "server/text_cache.h"

/* These are arguments of dyn_is_entity(). */
#define MEMBER_ITEM_ARGUMENT 0
#define MEMBER_DEFINITION_ARGUMENT 1
#define MEMBER_COLUMN_ARGUMENT 2
#define MEMBER_ARGUMENTS 3

/* This is an attribute that has to be written as its SQL value would be. */
typedef struct MemberExact
{
	ItemSpan stored;
	ValueReader *reader;
	ValueWriter *writer;
} MemberExact;

typedef struct Member
{
	TextEntry entry;
	Entity *entity; /* its templates have the stored names */
	const EntityKey *key; /* its only one */
	int ngiven;
	const EntityAttribute **given; /* it says something of the items that have these */
	int nexact;
	MemberExact *exact;
} Member;

/* This is a key of an entity as a view has it. */
typedef struct MemberKey
{
	const EntityKey *key;
	bool required; /* it is of an index in which all items are that have the given attributes */
	int ngiven;
	const ItemSpan *given; /* declared names in their order */
} MemberKey;

/* Holds where attributes were found last, since items of an entity have the same ones. */
typedef struct MemberMemory
{
	ItemSpan made; /* what the template makes of the item, if that is known; or without data */
	bool typed; /* it has the type, as a test before has found */
	uint32 type;
	uint32 key;
	uint32 *given;
	uint32 *parts; /* of templates */
	uint32 *exact;
} MemberMemory;

/* member.c */
extern const Member *member_parse(ItemSpan definition);
extern MemberMemory *member_memory(const Member *member);
extern bool member_matches(const Member *member, ItemSpan root, const ItemSpan *column,
						   MemberMemory *memory);
extern char *member_definition(const Entity *entity, const MemberKey *key);

/* member_type.c */
extern ValueType member_base_type(const ValueType *type);
extern bool member_is_determined(const ValueType *type);
extern bool member_is_canonical(const ValueType *type);
extern bool member_makes_one(const ValueType *type, const TemplatePart *part, Oid compared);

/* member_constant.c: the definition as a constant in plans */
extern Node *member_simplify(const SupportRequestSimplify *request);

/* Holds what the first parts of the key's only template make of values (member_key.c). */
typedef struct MemberValues
{
	int n;
	Oid *types;
	Datum *values;
	bool *nulls;
} MemberValues;

extern ItemType member_column_type(Oid column);
extern bool member_is_highest(Datum key);
extern bool member_render(const Member *member, ItemType type, int nparts, bool upper,
						  const MemberValues *values, Datum *result);

#endif
