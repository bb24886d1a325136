/*
 * notification.h
 *	  Notifications of the extension's own, which may be left out.
 */
#ifndef DYNAMO_TABLE_SERVER_NOTIFICATION_H
#define DYNAMO_TABLE_SERVER_NOTIFICATION_H

extern bool dyn_notification_queue_is_full(void);
extern void dyn_notify(const char *channel, const char *payload);

#endif
