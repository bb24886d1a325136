/*
 * key_loader.h
 *	  The thread that loads access keys from the server.
 */
#ifndef GATEWAY_KEY_LOADER_H
#define GATEWAY_KEY_LOADER_H

#include "keys.h"

typedef struct KeyLoader KeyLoader;

/* Start the thread, which calls keys_replace().  NULL and a message, to be freed, if the key file is
 * not usable or no thread can be started. */
extern KeyLoader *key_loader_start(Keys *keys, const KeysSource *source, char **failure);

/* Read the key file again, and have the keys loaded soon, over this connection from now on. */
extern bool key_loader_reload(KeyLoader *loader, const char *connection, char **failure);

/* End the thread. */
extern void key_loader_stop(KeyLoader *loader);

#endif
