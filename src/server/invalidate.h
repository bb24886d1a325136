/*
 * invalidate.h
 *	  How what a backend keeps of relations learns that they have changed.
 *
 * A backend has ten slots for relcache callbacks, which all libraries and the server share, and
 * ends with a FATAL error when there are no more.  So the whole library takes one, and one for
 * each syscache, when it is loaded; its caches subscribe here.
 */
#ifndef DYNAMO_TABLE_SERVER_INVALIDATE_H
#define DYNAMO_TABLE_SERVER_INVALIDATE_H

typedef struct Subscriber
{
	/*
	 * Relation relid has changed; InvalidOid: any may have.  It comes at any moment, also outside a
	 * transaction, in an aborted one, and while the subscriber's own cache is being read: it
	 * allocates nothing, frees nothing, opens nothing and raises no error.
	 */
	void (*relation_changed)(Oid relid);

	/* What else makes any relation count as changed: the name of a schema or type may have, or a role. */
	bool schemas;
	bool types;
	bool roles;

	struct Subscriber *next;
} Subscriber;

/* It is called once in a process, when the library is loaded. */
extern void invalidation_init(void);

/*
 * Subscribes from now on and for the rest of the session.  The subscriber is a static variable, and
 * may subscribe again without effect.  Cannot fail.
 */
extern void invalidation_subscribe(Subscriber *subscriber);

#endif
