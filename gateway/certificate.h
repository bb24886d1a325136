/*
 * certificate.h
 *	  Whether a certificate is valid by now.
 */
#ifndef GATEWAY_CERTIFICATE_H
#define GATEWAY_CERTIFICATE_H

#include <stdbool.h>

extern bool certificate_is_current(const char *path);

#endif
