/*
 * date.c
 *	  Dates of requests.
 */
#include "date.h"

#include <stdio.h>
#include <string.h>

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
									 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

/* Returns whether the text has a pattern's shape: # stands for a digit, @ for any character. */
static bool
has_shape(const char *text, const char *pattern)
{
	for (; *pattern != '\0'; text++, pattern++)
	{
		if (*text == '\0')
			return false;
		if (*pattern == '#' ? *text < '0' || *text > '9' : *pattern != '@' && *text != *pattern)
			return false;
	}
	return *text == '\0';
}

/* Returns the number of so many digits. */
static int
digits(const char *text, int count)
{
	int number = 0;

	while (count-- > 0)
		number = number * 10 + (*text++ - '0');
	return number;
}

/* Returns the time of a date, unless it has a thirteenth month or the like. */
static bool
time_of(const struct tm *date, time_t *time)
{
	struct tm normal = *date;

	*time = timegm(&normal);
	return normal.tm_year == date->tm_year && normal.tm_mon == date->tm_mon &&
		   normal.tm_mday == date->tm_mday && normal.tm_hour == date->tm_hour &&
		   normal.tm_min == date->tm_min && normal.tm_sec == date->tm_sec;
}

/* Read a date in the basic format. */
bool
date_parse_basic(const char *text, time_t *time)
{
	struct tm date = {0};

	if (!has_shape(text, "########T######Z"))
		return false;
	date.tm_year = digits(text, 4) - 1900;
	date.tm_mon = digits(text + 4, 2) - 1;
	date.tm_mday = digits(text + 6, 2);
	date.tm_hour = digits(text + 9, 2);
	date.tm_min = digits(text + 11, 2);
	date.tm_sec = digits(text + 13, 2);
	return time_of(&date, time);
}

/* Returns where a name of three letters is in a list, or -1. */
static int
index_of(const char *text, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (strncmp(text, names[i], 3) == 0)
			return i;
	}
	return -1;
}

/* Read a date as the header Date has it. */
bool
date_parse_http(const char *text, time_t *time)
{
	struct tm date = {0};

	if (!has_shape(text, "@@@, ## @@@ #### ##:##:## GMT") || index_of(text, days, 7) < 0)
		return false;
	date.tm_mday = digits(text + 5, 2);
	date.tm_mon = index_of(text + 8, months, 12);
	date.tm_year = digits(text + 12, 4) - 1900;
	date.tm_hour = digits(text + 17, 2);
	date.tm_min = digits(text + 20, 2);
	date.tm_sec = digits(text + 23, 2);
	return date.tm_mon >= 0 && time_of(&date, time);
}

/* Write a date in the basic format; years have four digits. */
void
date_print_basic(time_t time, char text[DATE_SIZE])
{
	struct tm date;

	if (gmtime_r(&time, &date) == NULL || date.tm_year < -1900 || date.tm_year > 9999 - 1900)
	{
		strcpy(text, "?");
		return;
	}
	snprintf(text, 5, "%04u", (unsigned) (date.tm_year + 1900) % 10000);
	strftime(text + 4, DATE_SIZE - 4, "%m%dT%H%M%SZ", &date);
}
