/*
 * view.h
 *	  Views of entities: what dyn_create_entity_view() has made of a declaration.
 *
 *		CREATE VIEW "Project" WITH (security_invoker = true) AS
 *		SELECT dynamo_internal.attribute(t.item, 'OrgId', 'S', NULL::text) AS "OrgId", …
 *		FROM app t
 *		WHERE dynamo_internal.is_entity(t.item, '{"entity": "Project", …}', t.pk)
 *			AND dynamo_internal.is_entity(t.item, '{"entity": "Project", …}', t.sk)
 *
 * A column of a type with a modifier is attribute(…, NULL::numeric(8,2))::numeric(8,2), one of a domain
 * domain_attribute(…, NULL::flag[]); see README.md.
 *
 * The view's rule says all there is to know about it: table, entity, and the attribute behind each
 * column.  So views may be renamed, their columns too, and be dumped, and no name has to be kept
 * beside them.
 *
 *		view.c			dyn_create_entity_view(): making a view
 *		check.c			dyn_check_entities(): items and views that do not agree with the declarations
 *		key.c			what keys a view's items are known by, and whether it is what it would be today
 *		release.c		views do without the keys of an index that is dropped
 *		empty.c			telling that a new view shows nothing of what looks like its items
 *		rule.c			reading what a view is, from its rule
 *		writer.c		what writing to a view needs of it, kept by the session
 *		change.c		writing to views: their INSTEAD OF trigger
 *		upsert.c		ON CONFLICT, which they refuse
 *		member.c		dyn_is_entity(): whether an item is one of an entity
 *		member_type.c	whether equal values of a type make one key
 *		member_constant.c	its definition in plans, which EXPLAIN shows by the entity's name
 *		narrow.c		attributes in place of items above scans
 *		member_key.c	keys of such items, by values of SQL
 *		member_plan.h	what a query says of the keys of an entity's items
 *		member_plan.c	planner support for dyn_is_entity(): conditions on keys
 *		estimate.c		and how many items there are
 *		distinct.c		how many different values attributes have
 *		path.c			scans of indexes by what joins say of keys
 *		route.c			partition keys, for the planner of Citus
 */
#ifndef DYNAMO_TABLE_MODELS_VIEW_VIEW_H
#define DYNAMO_TABLE_MODELS_VIEW_VIEW_H

#include "nodes/parsenodes.h"

#include "models/view/member.h"

/* This is a column: the attribute that it shows; of length 0: something else. */
typedef struct ViewColumn
{
	ItemSpan stored;
	ValueType type;
	Node *item; /* in the rule */
} ViewColumn;

typedef struct EntityView
{
	Oid table;
	int nkeys;
	ItemSpan *definitions; /* of dyn_is_entity(), one for each key */
	bool plain; /* of the table alone: no list is unnested */
	int ncolumns;
	ViewColumn *columns; /* by their numbers */
} EntityView;

/* rule.c: in the current memory context; NULL: it is none */
extern EntityView *entity_view_read(Relation view);
extern char *entity_view_value(const char *item, ItemSpan stored, const ValueType *type);
extern Node *entity_view_uncast(Node *node);
extern bool entity_view_attribute(Node *node, ViewColumn *column);
extern bool entity_view_shows(const ViewColumn *column, const EntityAttribute *attribute);
extern Query *entity_view_query(Relation view);
extern List *entity_views_of(Oid table); /* of Oid */
extern const Member *entity_view_member(Node *condition);

/*
 * Tells what the items of a view are known by (key.c).  With an index: what is in it.  Without: also the
 * keys of indexes in which all items of the entity are, or all that have certain attributes.
 */
extern List *entity_view_keys(const Entity *entity, const DynTable *table, const DynIndex *index,
							  bool use_indexes); /* of MemberKey */
extern bool entity_view_has_key(List *keys, ItemSpan attribute);
extern bool entity_view_needs_index(const Entity *entity, const DynTable *table,
									const DynIndex *index, const DynItem *item);

/* Tells whether a view was made of what the entity is now. */
typedef enum EntityViewState
{
	ENTITY_VIEW_CURRENT,
	ENTITY_VIEW_OTHER_KEYS,
	ENTITY_VIEW_OTHER_TYPE, /* another type of DynamoDB's: the view can be created again */
	ENTITY_VIEW_OTHER_COLUMN /* another type of SQL, which a view's column cannot get */
} EntityViewState;

extern EntityViewState entity_view_state(const Entity *entity, const EntityView *view,
										 const EntityAttribute **changed);

/* empty.c */
extern List *entity_view_members(const Entity *entity, List *keys);
extern bool entity_view_has(List *members, const DynItem *item);
extern void entity_view_tell_empty(const char *view, const Entity *entity, List *keys, Relation rel,
								   const DynTable *table);

/* release.c */
extern void entity_view_release_init(void);

/* upsert.c */
extern void entity_view_upsert_init(void);

/* writer.c: valid until the transaction ends, even if the view or the declaration changes. */
typedef struct ViewWriterColumn
{
	const EntityAttribute *attribute; /* NULL: it cannot be written to */
	ValueReader *reader; /* NULL: it shows no attribute */
	ValueWriter *writer;
	bool in_key; /* the table's key is made of it */
	bool inexact; /* and may have it in another form than its type prints */
} ViewWriterColumn;

typedef struct EntityViewWriter
{
	EntityView *view;
	const Entity *entity;
	int nchecked;
	const Member **checked; /* those whose conditions an item of the entity may not meet */
	ViewWriterColumn *columns; /* as those of the view */
	bool twice; /* two columns show one attribute: the view was written by hand */
} EntityViewWriter;

extern const EntityViewWriter *entity_view_writer(Relation rel, Relation *items);
extern DynTable *entity_view_table(Relation items);

#endif
