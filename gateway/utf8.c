/*
 * utf8.c
 *	  Text in UTF-8.
 */
#include "utf8.h"

/* Sets the least and the greatest second byte after this first one: no long forms, no surrogates,
 * nothing above U+10FFFF. */
static void
second_range(unsigned char first, unsigned char *least, unsigned char *greatest)
{
	*least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
	*greatest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
}

/* Returns how many bytes follow such a first byte and itself; 0: it is none. */
static size_t
length_by_first(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xC2 || first > 0xF4)
		return 0;
	return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* Returns how many bytes the character has. */
size_t
utf8_length(const char *text, size_t left)
{
	const unsigned char *bytes = (const unsigned char *) text;
	size_t length = left > 0 ? length_by_first(bytes[0]) : 0;
	unsigned char least;
	unsigned char greatest;

	if (length <= 1)
		return length;
	if (length > left)
		return 0;
	second_range(bytes[0], &least, &greatest);
	if (bytes[1] < least || bytes[1] > greatest)
		return 0;
	for (size_t i = 2; i < length; i++)
	{
		if ((bytes[i] & 0xC0) != 0x80)
			return 0;
	}
	return length;
}

/* Put question marks in place of what is no character. */
void
utf8_repair(char *text, size_t length)
{
	for (size_t i = 0; i < length;)
	{
		size_t character = utf8_length(text + i, length - i);

		if (character == 0)
		{
			text[i] = '?';
			character = 1;
		}
		i += character;
	}
}
