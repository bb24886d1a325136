/*
 * file.h
 *	  Files that are read as a whole.
 */
#ifndef GATEWAY_FILE_H
#define GATEWAY_FILE_H

#include <stdbool.h>

#include "text.h"

extern bool file_read(const char *path, Text *text);

#endif
