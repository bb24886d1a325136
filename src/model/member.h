/*
 * member.h
 *	  Whether an item is one of an entity's, as views ask it: dyn_is_entity().
 *
 *		dyn_is_entity(item, '{"entity": "Project", …}', 'pk', pk, 'sk', sk)
 *
 * is true if the type attribute says so, and the keys that are named are what their templates make
 * of the item's attributes.  Columns stand behind the names of keys for the planner alone,
 * which asks functions about conditions on the columns that they are given.
 *
 * The definition is part of the view, and not looked up: what the planner concludes from the
 * templates is right only if the rows are judged by the same ones, and a declaration may change
 * while a statement runs.  So the function is immutable, a view needs no table to be what it is, and
 * a dump has all of it.  Who changes an entity makes its views anew; dyn_entity_check() names
 * those that are out of date.
 *
 * Attributes in templates must determine their keys by their SQL values, since these are what
 * queries give.  Most types are read in one way only; those that are not (is_canonical() in
 * member.c) must be written as they would be by us.
 */
#ifndef DYNAMO_TABLE_MODEL_MEMBER_H
#define DYNAMO_TABLE_MODEL_MEMBER_H

#include "model/entity.h"

/* Arguments of dyn_is_entity() */
#define MEMBER_ITEM_ARGUMENT 0
#define MEMBER_DEFINITION_ARGUMENT 1
#define MEMBER_FIRST_KEY 2 /* its name; the column follows */

/* An attribute that has to be written as its SQL value would be. */
typedef struct MemberExact
{
	ItemSpan stored;
	ValueReader *reader;
	ValueWriter *writer;
} MemberExact;

typedef struct Member
{
	Entity *entity; /* its templates have the stored names */
	int nexact;
	MemberExact *exact;
} Member;

/* member.c */
extern Member *member_parse(ItemSpan definition);
extern const EntityKey *member_key(const Member *member, ItemSpan attribute);
extern bool member_matches(Member *member, const EntityKey *const *keys, int nkeys, ItemSpan root);
extern char *member_definition(const Entity *entity, List *keys);
extern bool member_is_canonical(const ValueType *type);

/* member_key.c: what the first parts of a key's only template make of values */
typedef struct MemberValues
{
	int n;
	Oid *types;
	Datum *values;
	bool *nulls;
} MemberValues;

extern bool member_render(const Member *member, const EntityKey *key, ItemType type, int nparts,
						  bool upper, const MemberValues *values, Datum *result);

#endif
