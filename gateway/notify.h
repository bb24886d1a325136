/*
 * notify.h
 *	  What systemd is told: that the program is ready, reloads, or stops.
 */
#ifndef GATEWAY_NOTIFY_H
#define GATEWAY_NOTIFY_H

extern void notify_system(const char *state);

#endif
