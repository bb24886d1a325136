/*
 * log.c
 *	  The log: one line an event on standard error, as logfmt or as JSON.
 *
 * Lines about requests are kept for a moment and written together; those about errors and warnings
 * are written at once.
 */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "utf8.h"

/* A value of one field takes so much at most, escaped, and the end of a line so much. */
#define MAX_VALUE 1024
#define END_OF_LINE 4

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static _Atomic LogLevel log_level = LEVEL_INFO;
static _Atomic LogFormat log_format = FORMAT_LOGFMT;

static struct
{
	pthread_mutex_t lock;
	size_t length;
	char text[65536];
} buffer = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Sets what is written from now on, and how. */
void
log_set(LogLevel level, LogFormat format)
{
	log_level = level;
	log_format = format;
}

/* Returns whether lines of a level are written. */
bool
log_wants(LogLevel level)
{
	return level <= log_level;
}

/* Writes the lines; what standard error does not take is lost. */
static void
write_out(void)
{
	size_t written = 0;

	while (written < buffer.length)
	{
		ssize_t n = write(STDERR_FILENO, buffer.text + written, buffer.length - written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		written += (size_t) n;
	}
	buffer.length = 0;
}

/* Write the lines that are kept. */
void
log_flush(void)
{
	pthread_mutex_lock(&buffer.lock);
	write_out();
	pthread_mutex_unlock(&buffer.lock);
}

static size_t
room(const LogLine *line)
{
	return sizeof(line->text) - END_OF_LINE - line->length;
}

static void
log_append(LogLine *line, const char *text, size_t length)
{
	if (length > room(line))
		length = room(line);
	memcpy(line->text + line->length, text, length);
	line->length += length;
}

static size_t
escaped(const char *text, size_t length, char *out)
{
	if (length == 0)
		return (size_t) sprintf(out, "\\ufffd");
	if (text[0] == '"' || text[0] == '\\')
		return (size_t) sprintf(out, "\\%c", text[0]);
	if ((unsigned char) text[0] < 0x20 || text[0] == 0x7f)
		return (size_t) sprintf(out, "\\u%04x", (unsigned) text[0]);
	/* control characters of two bytes: terminals obey them, too */
	if ((unsigned char) text[0] == 0xc2 && (unsigned char) text[1] < 0xa0)
		return (size_t) sprintf(out, "\\u%04x", (unsigned char) text[1]);
	memcpy(out, text, length);
	return length;
}

static void
append_quoted(LogLine *line, const char *value)
{
	size_t left = strlen(value);
	size_t begin = line->length;

	log_append(line, "\"", 1);
	while (left > 0)
	{
		char out[8];
		size_t length = utf8_length(value, left);
		size_t n = escaped(value, length, out);

		/* the rest is left out */
		if (line->length - begin + n > MAX_VALUE || n + 1 > room(line))
			break;
		log_append(line, out, n);
		length = length == 0 ? 1 : length;
		value += length;
		left -= length;
	}
	log_append(line, "\"", 1);
}

/* Returns whether logfmt may have the value as it is. */
static bool
is_plain(const char *value)
{
	if (*value == '\0' || strlen(value) > MAX_VALUE)
		return false;
	for (; *value != '\0'; value++)
	{
		if (*value <= ' ' || *value >= 0x7f || *value == '"' || *value == '=' || *value == '\\')
			return false;
	}
	return true;
}

static bool
append_name(LogLine *line, const char *name)
{
	/* a field is written whole or not at all */
	if (room(line) < strlen(name) + MAX_VALUE + 16)
		return false;
	if (log_format == FORMAT_JSON)
	{
		log_append(line, line->length > 1 ? ",\"" : "\"", line->length > 1 ? 2 : 1);
		log_append(line, name, strlen(name));
		log_append(line, "\":", 2);
	}
	else
	{
		if (line->length > 0)
			log_append(line, " ", 1);
		log_append(line, name, strlen(name));
		log_append(line, "=", 1);
	}
	return true;
}

/* Add a field with a text; none if value is NULL. */
void
log_text(LogLine *line, const char *name, const char *value)
{
	if (value == NULL || !append_name(line, name))
		return;
	if (log_format == FORMAT_LOGFMT && is_plain(value))
		log_append(line, value, strlen(value));
	else
		append_quoted(line, value);
}

/* Add a field with a number. */
void
log_integer(LogLine *line, const char *name, int64_t value)
{
	char text[32];

	if (append_name(line, name))
		log_append(line, text, (size_t) snprintf(text, sizeof(text), "%lld", (long long) value));
}

/* Add a field with a time, in milliseconds. */
void
log_milliseconds(LogLine *line, const char *name, int64_t microseconds)
{
	char text[32];

	if (append_name(line, name))
		log_append(line, text,
				   (size_t) snprintf(text, sizeof(text), "%lld.%03lld",
									 (long long) microseconds / 1000,
									 (long long) microseconds % 1000));
}

static void
add_time(LogLine *line)
{
	char text[48];
	struct timeval now;
	struct tm parts;

	gettimeofday(&now, NULL);
	gmtime_r(&now.tv_sec, &parts);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), ".%03dZ",
			 (int) (now.tv_usec / 1000));
	log_text(line, "time", text);
}

/* Begin a line about an event. */
void
log_begin(LogLine *line, LogLevel level, const char *event)
{
	line->length = 0;
	if (log_format == FORMAT_JSON)
		log_append(line, "{", 1);
	add_time(line);
	log_text(line, "level", level_names[level]);
	log_text(line, "event", event);
}

/* End a line: it is kept until log_flush(), or until there are many. */
void
log_end(LogLine *line)
{
	if (line->text[0] == '{')
		line->text[line->length++] = '}';
	line->text[line->length++] = '\n';

	pthread_mutex_lock(&buffer.lock);
	if (buffer.length + line->length > sizeof(buffer.text))
		write_out();
	memcpy(buffer.text + buffer.length, line->text, line->length);
	buffer.length += line->length;
	pthread_mutex_unlock(&buffer.lock);
}

/* Writes a line about the program itself at once. */
void
log_message(LogLevel level, const char *format, ...)
{
	LogLine line;
	char text[MAX_VALUE];
	va_list args;

	if (!log_wants(level))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_begin(&line, level, "message");
	log_text(&line, "message", text);
	log_end(&line);
	log_flush();
}
