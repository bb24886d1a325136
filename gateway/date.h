/*
 * date.h
 *	  Dates of requests.
 */
#ifndef GATEWAY_DATE_H
#define GATEWAY_DATE_H

#include <stdbool.h>
#include <time.h>

#define DATE_SIZE 17 /* YYYYMMDDThhmmssZ with the NUL */

/* Read a date in the basic format of ISO 8601, YYYYMMDDThhmmssZ. */
extern bool date_parse_basic(const char *text, time_t *time);

/* Read a date as the header Date has it: Sun, 09 Jun 2013 10:00:15 GMT. */
extern bool date_parse_http(const char *text, time_t *time);

/* Write a date in the basic format. */
extern void date_print_basic(time_t time, char text[DATE_SIZE]);

#endif
