/*
 * sent_settings.h
 *	  Settings that Citus sends to other nodes, over connections of other roles too.
 */
#ifndef DYNAMO_TABLE_SERVER_SENT_SETTINGS_H
#define DYNAMO_TABLE_SERVER_SENT_SETTINGS_H

/* Called once by _PG_init(). */
extern void sent_settings_init(void);

/*
 * The transaction takes the rights of another role.  Raises an error if settings may have been sent
 * in it; from now on none are.
 */
extern void sent_settings_forbid(void);

#endif
