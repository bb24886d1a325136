/*
 * invalidate.c
 *	  The library's one callback for the relation cache, and one for each system cache.
 *
 * Callbacks cannot be unregistered, and the server calls them in the middle of whatever it does.
 * So the list of subscribers only grows, at its head, and consists of their own static structs.
 */
#include "postgres.h"

#include "catalog/pg_extension.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "server/invalidate.h"

static Subscriber *subscribers = NULL;

static void
relation_changed(Datum arg, Oid relid)
{
	/* a script of the extension has run (library.c), which may have changed whatever it likes */
	if (relid == ExtensionRelationId)
		relid = InvalidOid;
	for (Subscriber *subscriber = subscribers; subscriber != NULL; subscriber = subscriber->next)
		subscriber->relation_changed(relid);
}

/* Tells all: a renamed schema or type changes qualified names without touching any relation. */
static void
name_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	for (Subscriber *subscriber = subscribers; subscriber != NULL; subscriber = subscriber->next)
	{
		if (cacheid == NAMESPACEOID ? subscriber->schemas
			: cacheid == TYPEOID    ? subscriber->types
									: subscriber->roles)
			subscriber->relation_changed(InvalidOid);
	}
}

/*
 * Registers the callbacks once: a library whose initialization failed is initialized again at the
 * next attempt to load it, with its variables as they were.
 */
void
invalidation_init(void)
{
	static bool registered = false;

	if (registered)
		return;
	registered = true;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, name_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, name_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, name_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, name_changed, (Datum) 0);
}

/*
 * Calls the subscriber at each invalidation from now on until the session ends.  The subscriber is
 * a static variable.  Subscribing again has no effect.  Does not fail.
 */
void
invalidation_subscribe(Subscriber *subscriber)
{
	for (Subscriber *other = subscribers; other != NULL; other = other->next)
	{
		if (other == subscriber)
			return;
	}
	subscriber->next = subscribers;
	subscribers = subscriber;
}
