/*
 * kept.h
 *	  What a backend keeps of relations, made anew after they have changed.
 *
 *		plan = kept_get(RelationGetRelid(rel), &plan_kind, make_plan, rel);
 *
 * The address of a variable stands for a kind, so that several users keep what they make of one
 * relation.  What is kept is good until the transaction ends, even if it becomes invalid before.
 */
#ifndef DYNAMO_TABLE_SERVER_KEPT_H
#define DYNAMO_TABLE_SERVER_KEPT_H

/*
 * Makes what is to be kept, in the current memory context, which belongs to it.  May set *also to
 * another relation that it depends on.
 */
typedef void *(*KeptMake)(void *arg, Oid *also);

extern void *kept_get(Oid relid, const void *kind, KeptMake make, void *arg);

#endif
