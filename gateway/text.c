/*
 * text.c
 *	  Text that grows.
 */
#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for so many more bytes and a NUL. */
static bool
text_reserve(Text *text, size_t length)
{
	size_t capacity = text->capacity == 0 ? 256 : text->capacity;
	char *data;

	if (text->failed || length >= SIZE_MAX / 2 - text->length)
	{
		text->failed = true;
		return false;
	}
	while (capacity <= text->length + length)
		capacity *= 2;
	if (capacity == text->capacity)
		return true;
	data = realloc(text->data, capacity);
	if (data == NULL)
	{
		text->failed = true;
		return false;
	}
	text->data = data;
	text->capacity = capacity;
	return true;
}

/* Add bytes. */
void
text_add(Text *text, const void *data, size_t length)
{
	if (!text_reserve(text, length))
		return;
	if (length > 0)
		memcpy(text->data + text->length, data, length);
	text->length += length;
	text->data[text->length] = '\0';
}

/* Add one byte. */
void
text_add_char(Text *text, char c)
{
	text_add(text, &c, 1);
}

/* Add strings. */
void
text_add_strings(Text *text, ...)
{
	va_list strings;
	const char *string;

	va_start(strings, text);
	while ((string = va_arg(strings, const char *)) != NULL)
		text_add(text, string, strlen(string));
	va_end(strings);
}

/* Hand the text over to the caller. */
char *
text_take(Text *text)
{
	char *data;

	text_add(text, "", 0);
	if (text->failed)
	{
		text_free(text);
		return NULL;
	}
	data = text->data;
	*text = (Text){0};
	return data;
}

/* Free the text, which is empty then. */
void
text_free(Text *text)
{
	free(text->data);
	*text = (Text){0};
}
