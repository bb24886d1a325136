/*
 * copy.c
 *	  Copies: attributes that items of an entity have from other items of the table.
 *
 * Nothing keeps them when an owner, the item that they are copied from, changes.  A refresh does: it
 * reads the owners of a batch of items, each once, and then changes these.  An owner that changes
 * afterwards is seen by the next refresh.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/hsearch.h"

#include "actions/several.h"
#include "catalog/key_grant.h"
#include "models/entity/copy.h"
#include "server/errors.h"
#include "store/store.h"

/* This is an owner, by a hash of its entity and of what makes its key. */
typedef struct Owner
{
	uint64 hash;
	const Entity *entity;
	DynItem *by;
	DynItem *key;
	ErrorData *error; /* there is no such key */
	DynItem *attributes; /* by their declared names; NULL: there is no such item */
} Owner;

struct EntityCopies
{
	DynTable *table;
	const Entity *entity;
	const Entity **of; /* by the entity's attributes; NULL: it is no copy */
	HTAB *owners;
};

pg_noreturn static void
fail_copy(const Entity *entity, const EntityAttribute *attribute, const char *problem)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("attribute \"%s\" of entity \"%s\" cannot be copied from entity \"%s\"",
						   item_quoted(attribute->name), item_quoted(entity->name),
						   item_quoted(attribute->copy->entity)),
					errdetail("%s", problem)));
}

/* Checks a copy by the declaration of its owners, which may be newer. */
static void
check_copy(const Entity *entity, const EntityAttribute *attribute, const Entity *owner)
{
	const EntityCopy *copy = attribute->copy;
	const EntityAttribute *original = entity_attribute(owner, copy->attribute);
	ItemChildren by = item_children(copy->by);

	if (original == NULL || original->type.type != attribute->type.type)
		fail_copy(entity, attribute,
				  psprintf("It has no attribute \"%s\" of type %s.", item_quoted(copy->attribute),
						   item_type_code(attribute->type.type)));
	for (uint32 i = 0; i < by.count; i++)
	{
		ItemSpan name;

		(void) item_entry(item_child(&by, i), &name);
		if (entity_attribute(owner, name) == NULL)
			fail_copy(entity, attribute,
					  psprintf("It has no attribute \"%s\".", item_quoted(name)));
	}
}

/*
 * Returns what a batch of items of an entity needs for its copies, in the current memory context, or
 * NULL if it has none.  Raises an error if a copy does not fit its owner's entity, or if policies
 * could hide owners: what is not seen would be taken for gone.
 */
EntityCopies *
copies_open(Relation rel, DynTable *table, const Entity *entity)
{
	HASHCTL ctl = {
		.keysize = sizeof(uint64), .entrysize = sizeof(Owner), .hcxt = CurrentMemoryContext};
	EntityCopies *copies = NULL;

	for (int i = 0; i < entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &entity->attributes[i];

		if (attribute->copy == NULL)
			continue;
		if (copies == NULL)
		{
			copies = palloc0(sizeof(EntityCopies));
			copies->of = palloc0(entity->nattributes * sizeof(Entity *));
		}
		copies->of[i] = entity_find(rel, table, attribute->copy->entity);
		check_copy(entity, attribute, copies->of[i]);
	}
	if (copies == NULL)
		return NULL;
	if (dyn_policies_hide(table->relid))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("row-level security may hide items of table \"%s\" that entity "
							   "\"%s\" has copies of",
							   table->name, item_quoted(entity->name))));
	copies->table = table;
	copies->entity = entity;
	copies->owners =
		hash_create("owners of copies", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return copies;
}

/*
 * Takes the attributes of an item that make the key of a copy's owner, with the hash that it is known by.
 * False: the item lacks one, and has no owner.
 */
static bool
take_by(const EntityCopies *copies, int i, const DynItem *logical, DynItem **taken, uint64 *hash)
{
	ItemChildren by = item_children(copies->entity->attributes[i].copy->by);
	ItemChildren map = item_children(item_root(logical));
	ItemBuilder b;

	item_build_init(&b, 64);
	item_build_begin(&b, ITEM_M);
	for (uint32 k = 0; k < by.count; k++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&by, k), &name);

		if (!item_find(&map, item_payload(value), &value))
			return false;
		item_build_name(&b, name);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	*taken = item_build_finish(&b);
	*hash = hash_bytes_extended((const unsigned char *) *taken, (int) VARSIZE(*taken),
								(uint64) (uintptr_t) copies->of[i]);
	return true;
}

/* Notes the owners of an item's copies.  It only computes. */
void
copies_note(EntityCopies *copies, const DynItem *stored)
{
	DynItem *logical = entity_logical(copies->entity, stored);

	for (int i = 0; i < copies->entity->nattributes; i++)
	{
		Owner *owner;
		DynItem *by;
		uint64 hash;
		bool found;

		if (copies->of[i] == NULL || !take_by(copies, i, logical, &by, &hash))
			continue;
		owner = hash_search(copies->owners, &hash, HASH_ENTER, &found);
		if (!found)
			*owner = (Owner){.hash = hash, .entity = copies->of[i], .by = by};
	}
	pfree(logical);
}

static void
make_key(void *arg)
{
	Owner *owner = arg;

	owner->key = entity_keys(owner->entity, owner->by, true);
}

/* Reads the owners that were noted, under the active snapshot. */
void
copies_read(EntityCopies *copies)
{
	StoreReader *reader = store_reader();
	ErrorContextCallback callback;
	HASH_SEQ_STATUS scan;
	Owner *owner;

	store_begin(&callback);
	hash_seq_init(&scan, copies->owners);
	while ((owner = hash_seq_search(&scan)) != NULL)
	{
		DynKeyValues key;
		DynItem *item;

		CHECK_FOR_INTERRUPTS();
		owner->error = action_attempt(make_key, owner);
		if (owner->error != NULL)
			continue;
		dyn_key_of_item(copies->table, owner->key, &key);
		item = store_read(reader, copies->table, &key, NULL);
		if (item != NULL && entity_has(owner->entity, item))
			owner->attributes = entity_logical(owner->entity, item);
		if (item != NULL)
			pfree(item);
	}
	store_end(&callback);
	store_reader_close(reader);
}

/*
 * Finds what a copy is by now; false: nothing, as there is no owner, or it has not got the attribute.
 * Raises ERRCODE_DYN_VALIDATION if the item's attributes make no key of an owner.
 * An item that has got another owner since it was read keeps its copy: the next refresh knows better.
 */
static bool
find_copy(const EntityCopies *copies, int i, const DynItem *logical, ItemSpan *value)
{
	const EntityAttribute *attribute = &copies->entity->attributes[i];
	ItemSpan name = attribute->copy->attribute;
	const Owner *owner;
	ItemChildren map;
	DynItem *by;
	uint64 hash;

	if (!take_by(copies, i, logical, &by, &hash))
		return false;
	owner = hash_search(copies->owners, &hash, HASH_FIND, NULL);
	if (owner != NULL && owner->error != NULL)
		ReThrowError(owner->error);
	if (owner == NULL)
		name = attribute->name;
	else
		logical = owner->attributes;
	if (logical == NULL)
		return false;
	map = item_children(item_root(logical));
	return item_find(&map, name, value);
}

/*
 * Returns a stored item by its declared names, as entity_shown() does, with the copies as their owners
 * were when they were read.  Copies without an owner are left out.
 */
DynItem *
copies_shown(EntityCopies *copies, const DynItem *stored)
{
	const Entity *entity = copies->entity;
	DynItem *logical = entity_logical(entity, stored);
	ItemChildren map = item_children(item_root(entity_shown(entity, stored)));
	ItemSpan value;
	ItemBuilder b;

	item_build_init(&b, item_root(stored).len + 64);
	item_build_begin(&b, ITEM_M);
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		const EntityAttribute *attribute;

		value = item_entry(item_child(&map, i), &name);
		attribute = entity_attribute(entity, name);
		if (attribute != NULL && attribute->copy != NULL)
			continue;
		item_build_name(&b, name);
		item_build_value(&b, value);
	}
	for (int i = 0; i < entity->nattributes; i++)
	{
		if (copies->of[i] == NULL || !find_copy(copies, i, logical, &value))
			continue;
		item_build_name(&b, entity->attributes[i].name);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}
