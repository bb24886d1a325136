/*
 * member_plan.h
 *	  What a query says of an entity's items, as far as it says something of their keys.
 *
 * Shared by the conditions that the planner asks for (member_plan.c), the estimates (estimate.c),
 * and the paths that use join clauses (path.c).
 */
#ifndef DYNAMO_TABLE_MODELS_VIEW_MEMBER_PLAN_H
#define DYNAMO_TABLE_MODELS_VIEW_MEMBER_PLAN_H

#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"

#include "models/view/member.h"

/* This is a call of dyn_is_entity() as it is in views. */
typedef struct MemberCall
{
	RestrictInfo *clause; /* NULL: it is no condition of a table's */
	Oid function;
	const Member *member;
	Const *definition;
	Var *item;
	Var *column;
	const Template *t; /* NULL: which one of several is taken depends on the item */
} MemberCall;

/* Tells where a key column is compared. */
typedef struct KeyOperators
{
	Oid family;
	Oid collation;
} KeyOperators;

/* Tells what clauses say of the values of a template's first placeholders. */
typedef struct KnownValues
{
	int nparts; /* parts that are known by them */
	List *values; /* of Node * */
	const Const *list; /* the one of the values that is an array, of which any will do; or NULL */
	int before_list; /* parts that come before it */
	int values_before_list;
	Node *lower; /* of the next placeholder: the least that it can be, or NULL */
	Node *upper;
	List *clauses; /* of RestrictInfo *: what they come from */
	bool constant; /* all of the values are, and will stay what they are */
} KnownValues;

/* member_plan.c */
extern bool member_read_call(Node *node, MemberCall *call);
extern List *member_calls(const RelOptInfo *rel); /* of MemberCall *: among its restrictions */
extern bool member_is_said(List *clauses, const MemberCall *call);
extern bool member_find_values(List *clauses, List *assumed, const MemberCall *call,
							   KnownValues *known);
extern void member_find_literals(const MemberCall *call, KnownValues *known);
extern bool member_names_attribute(Node *node, const MemberCall *call, const TemplatePart *part);
extern Node *member_attribute_item(Node *node);
extern bool member_is_in_order(Node *node, const MemberCall *call, const TemplatePart *part);
extern const EntityAttribute *member_part_attribute(const MemberCall *call,
													const TemplatePart *part);
extern List *member_key_clauses(const MemberCall *call, const KnownValues *known,
								const KeyOperators *operators);
extern bool member_is_whole(const MemberCall *call, const KnownValues *known);

/* estimate.c */
typedef bool (*KeyIsKnown)(const MemberCall *call, const void *arg);

extern bool member_estimate(SupportRequestSelectivity *request);
extern double member_items(PlannerInfo *root, const RelOptInfo *rel, List *calls);
extern double member_keys(PlannerInfo *root, const MemberCall *call);
extern void member_estimate_index(IndexOptInfo *index);
extern double member_together(PlannerInfo *root, const IndexPath *path);
extern bool member_is_one_row(const RelOptInfo *rel, List *calls, KeyIsKnown is_known,
							  const void *arg);

/* distinct.c: how many different values attributes have */
extern void member_distinct_add(PlannerInfo *root, RelOptInfo *rel, List *calls);
extern void member_distinct_init(void);

/* narrow.c */
typedef struct MemberUses
{
	const RelOptInfo *rel;
	const Var *item;
	List *attributes; /* of Node *, and of the placeholders that outer joins make of these */
	bool whole; /* the item itself is asked for */
} MemberUses;

extern MemberUses *member_uses(const PlannerInfo *root, const RelOptInfo *rel, const List *calls);
extern void member_narrow_init(void);

/* route.c */
extern AttrNumber member_distribution_column(Oid relid);
extern bool member_route(PlannerInfo *root, RelOptInfo *rel, Oid relid, List *calls);

/* path.c */
extern void member_path_init(void);

#endif
