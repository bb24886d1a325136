/*
 * log.h
 *	  The log: one line an event on standard error, as logfmt or as JSON.
 *
 * Lines never hold items, secrets or the Authorization header.  What clients send (ids of keys,
 * names of tables) is escaped and cut, so that it can forge no line.
 */
#ifndef GATEWAY_LOG_H
#define GATEWAY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LogLevel
{
	LEVEL_ERROR,
	LEVEL_WARNING,
	LEVEL_INFO,
	LEVEL_DEBUG
} LogLevel;

typedef enum LogFormat
{
	FORMAT_LOGFMT,
	FORMAT_JSON
} LogFormat;

/* A LogLine is a line that is being written. */
typedef struct LogLine
{
	size_t length;
	char text[4096];
} LogLine;

extern void log_set(LogLevel level, LogFormat format);
extern bool log_wants(LogLevel level);

extern void log_begin(LogLine *line, LogLevel level, const char *event);
extern void log_text(LogLine *line, const char *name, const char *value);
extern void log_integer(LogLine *line, const char *name, int64_t value);
extern void log_milliseconds(LogLine *line, const char *name, int64_t microseconds);
extern void log_end(LogLine *line);

extern void log_message(LogLevel level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
extern void log_flush(void);

#endif
