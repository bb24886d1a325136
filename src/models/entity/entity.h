/*
 * entity.h
 *	  Entities: what kinds of items a table holds, and how the keys of each are made.
 *
 * A declaration in the table's label (see model.h):
 *
 *		{"entity": "Project", "type_attribute": "Type", "type": "Project",
 *		 "keys": {"pk": "ORG#<OrgId>", "sk": "PRO#<Kind>#<ProjectId:05>",
 *				  "GSI1PK": "ORG#<OrgId>", "GSI1SK": [{"when": {"Status": "OPEN"},
 *				  "template": "OPEN#<ProjectId:05>"}, {"template": "OTHER#<ProjectId:05>"}]},
 *		 "attributes": {"OrgId": {"type": "S text", "required": true},
 *						"ProjectId": {"type": "N integer"}, "Kind": {"type": "S text"},
 *						"Id": {"type": "S text", "default": "ksuid"},
 *						"Description": {"type": "S text", "stored": "d"},
 *						"OrgName": {"type": "S text", "copy": {"entity": "Org", "attribute": "Name",
 *									"by": {"OrgId": "OrgId"}}}}}
 *
 * "keys" has the table's key attributes, all of which are required, and key attributes of its
 * indexes.  A list of templates is tried in order: the first one whose "when" holds, attributes
 * equal to plain values (null: absent), is taken.  A key of an index whose template lacks an
 * attribute, or of which none is taken, is absent: the item is not in the index.  A key of the
 * table must be made.
 *
 * The attributes of an application have the names of the declaration; "stored" is the name in the
 * item, where a shorter one is wanted.  Templates use the declared names.  Undeclared attributes
 * are allowed too; they keep their names and types.
 *
 * "logical" below means: by the names of the declaration, without the key attributes that templates
 * make and without the type attribute.  "stored": the item in the table.
 *
 *		entity.c	declarations of entities: read, checked, printed, found
 *		declare.c	dyn_create_entity() and what goes with it
 *		model.c		where declarations of all kinds are kept: the table's label
 *		hint.c		what to do about attributes that do not fit
 *		item.c		from an application's attributes to stored items and back; problems of an item
 *		complete.c	attributes that an item lacks, made of its keys
 *		request.h	requests for items by their logical attributes, for the actions
 *		actions.c	what transactions and batches do with items of entities
 *		check.c		steps of dyn_check_table(): the declarations of a table
 *		functions.c	dyn_put_entity() and what goes with it
 *		cache.c		the declarations of tables in use, kept parsed
 *		enforce.c	enforcement: items must fit one of the entities
 *		refresh.c	dyn_refresh_entity(): keys made again, by the current templates
 *		copy.h		attributes that are copies of other items', made again by a refresh
 *		copy.c		these copies: which items they are of, and what they are now
 */
#ifndef DYNAMO_TABLE_MODELS_ENTITY_ENTITY_H
#define DYNAMO_TABLE_MODELS_ENTITY_ENTITY_H

#include "catalog/key.h"
#include "catalog/kinds.h"
#include "item/json_writer.h"
#include "models/entity/model.h"
#include "models/template/template.h"
#include "models/value/value.h"

typedef enum EntityDefault
{
	ENTITY_NO_DEFAULT,
	ENTITY_KSUID, /* S */
	ENTITY_NOW /* timestamps and dates */
} EntityDefault;

/* Says what an attribute is a copy of: one of another item of the table, its owner. */
typedef struct EntityCopy
{
	ItemSpan entity; /* the owner's */
	ItemSpan attribute; /* of that entity */
	ItemSpan by; /* an M: attributes of the owner's key, and the names of those that they equal */
} EntityCopy;

typedef struct EntityAttribute
{
	ItemSpan name;
	ItemSpan stored; /* the same, or shorter */
	ValueType type;
	bool required; /* declared as required, or needed for the table's key */
	EntityDefault missing;
	const EntityCopy *copy; /* NULL: it is none */
	ValueReader *reader; /* NULL: the type of DynamoDB's says all */
} EntityAttribute;

/* This is one of the templates of a key. */
typedef struct EntityTemplate
{
	const DynItem *when; /* attributes that must equal these; NULL: always */
	Template *template;
} EntityTemplate;

typedef struct EntityKey
{
	ItemSpan attribute;
	ItemType type; /* S, N, B */
	int place; /* position in the table's keys, see DynTable; -1: its index was dropped */
	bool of_table; /* of its primary key: it must be made */
	int ntemplates;
	EntityTemplate *templates;
} EntityKey;

struct Entity
{
	ItemSpan name;
	ItemSpan type_attribute; /* of length 0: none */
	ItemSpan type; /* its value */
	ItemSpan declared_keys; /* as declared: an M */
	/*
	 * of a definition in a view: each of its items that has certain attributes has the key, see
	 * models/view/member.h
	 */
	bool required;
	int ngiven;
	ItemSpan *given;
	int nkeys;
	EntityKey *keys; /* those of the table first, in their order */
	int nattributes;
	EntityAttribute *attributes; /* by name, or in the order declared, see entity_order() */
};

/*
 * Returns what a declaration says, in the current memory context.  For a new one it is checked that
 * the table has the keys; an older one may name keys that the table has lost.
 */
extern Entity *entity_parse(const DynTable *table, const DynItem *declaration, bool is_new);
extern void entity_order(Entity *entity, ItemSpan attributes);
extern char *entity_print(const Entity *entity);
extern void entity_print_names(JsonWriter *json, const Entity *entity);
extern void entity_print_choice(JsonWriter *json, const EntityTemplate *choice);

/*
 * These are of an open table: from the cache, valid until the transaction ends; or parsed into the
 * current memory context.
 */
extern const ItemKinds entity_kinds;
struct TableCheck;
extern void entity_check(struct TableCheck *check);
extern List *entities_of(Relation rel, const DynTable *table); /* in the order declared */
extern const Entity *entity_find(Relation rel, const DynTable *table, ItemSpan name);
extern const Entity *entity_read(Relation rel, const DynTable *table, ItemSpan name);
extern const EntityAttribute *entity_attribute(const Entity *entity, ItemSpan name);
extern const EntityAttribute *entity_stored_attribute(const Entity *entity, ItemSpan stored);
extern const EntityKey *entity_key(const Entity *entity, ItemSpan attribute);

/*
 * "Shown" is the stored item by the names of the declaration, with keys and type attribute:
 * conditions and updates refer to it. entity_restored() converts back, with the keys that the
 * attributes make; those of the table must be equal to those in key.
 */
extern DynItem *entity_shown(const Entity *entity, const DynItem *stored);
extern DynItem *entity_restored(const Entity *entity, const DynItem *shown, const DynItem *key);

/*
 * Returns the stored item of logical attributes: NULLs left out, defaults filled in, types and
 * required ones checked, the type attribute and all keys added.  Raises ERRCODE_DYN_VALIDATION if
 * something does not fit.  Key attributes may be given if they equal what the templates make.
 */
extern DynItem *entity_item(const Entity *entity, const DynItem *logical);

/* Returns the key attributes alone; only the attributes that their templates use are required. */
extern DynItem *entity_keys(const Entity *entity, const DynItem *logical, bool table_only);

/*
 * Returns the stored item with the keys that its attributes make now: those of indexes are made
 * again, added, or removed; those of the table must not change.
 */
extern DynItem *entity_rekeyed(const Entity *entity, const DynItem *stored);

/* Returns the logical attributes of a stored item. */
extern DynItem *entity_logical(const Entity *entity, const DynItem *stored);

/* Returns whether an item is of the entity: by its type attribute or else by its keys' form. */
extern bool entity_has(const Entity *entity, const DynItem *stored);

/* Returns whether its keys of the table have the form of the entity's. */
extern bool entity_has_form(const Entity *entity, const DynItem *stored);
extern bool entity_makes_key(const Entity *entity, const EntityKey *key, const DynItem *stored);

/*
 * These make attributes of keys (complete.c): an item gets those that it lacks, and its type
 * attribute, if the templates make its keys of them.  It may lack the type attribute, if its keys
 * have the form of one entity alone.
 */
extern const Entity *entity_by_keys(const List *entities, const DynItem *item);
extern const DynItem *entity_completed(const Entity *entity, const DynItem *item);
extern const DynItem *entity_completed_of(const List *entities, const DynItem *item);

/* Returns which of the entities it is, or NULL: types come first, and keys if none matches. */
extern const Entity *entity_of_item(const List *entities, const DynItem *stored);

/*
 * Returns the problems of an item that is of the entity, as a list of texts ("\"GSI1SK\" is \"x\",
 * its template makes \"y\""), or NIL.
 */
extern List *entity_problems(const Entity *entity, const DynItem *stored);

/* Returns what a person can do about attributes that do not fit, or NULL if nothing is known. */
extern const char *entity_value_hint(const EntityAttribute *attribute, ItemSpan value);
extern const char *entity_case_hint(const Entity *entity, const ItemChildren *map);
extern const char *entity_attribute_hint(const Entity *entity, ItemSpan name);

/*
 * Checks an item before it is written to a table whose entities are enforced: it must fit one of
 * them.
 */
extern void entity_enforce(Relation rel, const DynTable *table, const DynItem *item);
extern void entity_enforce_init(void);

#endif
