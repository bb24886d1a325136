/*
 * authorization.c
 *	  The Authorization header of Signature Version 4, taken apart.
 *
 *		AWS4-HMAC-SHA256 Credential=…/20130609/us-east-1/dynamodb/aws4_request,
 *			SignedHeaders=host;x-amz-date;x-amz-target, Signature=…
 *
 * Blanks, commas and both may stand between the parts, as the service has it.
 */
#include "authorization.h"

#include <string.h>

#define SEPARATORS ", \t"

/* Returns the next piece between separators; its data is NULL at the end of the header. */
static Part
next_piece(const char **header)
{
	Part piece = {0};

	*header += strspn(*header, SEPARATORS);
	if (**header == '\0')
		return piece;
	piece.data = *header;
	piece.length = strcspn(*header, SEPARATORS);
	*header += piece.length;
	return piece;
}

/* Returns whether the header is ours. */
bool
authorization_is_ours(const char *header)
{
	return strncmp(header + strspn(header, " \t"), "AWS4-", 5) == 0;
}

/* Returns whether the part is this string. */
bool
part_is(Part part, const char *string)
{
	size_t length = strlen(string);

	return part.data != NULL && part.length == length && memcmp(part.data, string, length) == 0;
}

/* Returns the value of the parameter of this name, if the header has it once. */
static Part
find_parameter(const char *header, const char *name)
{
	Part value = {0};
	Part piece;

	while (piece = next_piece(&header), piece.data != NULL)
	{
		const char *equals = memchr(piece.data, '=', piece.length);

		if (equals == NULL)
			continue;
		if (!part_is((Part){piece.data, (size_t) (equals - piece.data)}, name))
			continue;
		if (value.data != NULL)
			return (Part){0};
		value.data = equals + 1;
		value.length = (size_t) (piece.data + piece.length - value.data);
	}
	return value;
}

/* Take the header apart. */
void
authorization_parse(const char *header, Authorization *authorization)
{
	authorization->algorithm = next_piece(&header);
	authorization->credential = find_parameter(header, "Credential");
	authorization->signed_headers = find_parameter(header, "SignedHeaders");
	authorization->signature = find_parameter(header, "Signature");
}

/* Take Credential apart. */
bool
credential_parse(Part text, Credential *credential)
{
	Part *elements[] = {&credential->key_id, &credential->day, &credential->region,
						&credential->service, &credential->terminator};
	const size_t count = sizeof(elements) / sizeof(*elements);

	while (text.length > 0 && text.data[text.length - 1] == '/')
		text.length--;
	for (size_t i = 0; i < count; i++)
	{
		const char *slash = memchr(text.data, '/', text.length);

		if ((slash != NULL) != (i < count - 1))
			return false;
		elements[i]->data = text.data;
		elements[i]->length = slash != NULL ? (size_t) (slash - text.data) : text.length;
		if (slash != NULL)
		{
			text.length -= elements[i]->length + 1;
			text.data = slash + 1;
		}
	}
	return true;
}

/* Keep the region. */
void
region_keep(Part text, char region[REGION_SIZE])
{
	size_t length = 0;

	while (length < text.length && text.data[length] != '\0' &&
		   strchr("abcdefghijklmnopqrstuvwxyz0123456789-", text.data[length]) != NULL)
		length++;
	if (length < text.length || length >= REGION_SIZE)
		length = 0;
	if (length > 0)
		memcpy(region, text.data, length);
	region[length] = '\0';
}
