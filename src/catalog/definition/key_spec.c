/*
 * key_spec.c
 *	  "name TYPE": how a key attribute is declared.
 */
#include "postgres.h"

#include "catalog/definition/key_spec.h"
#include "server/errors.h"

/* The last word is the type, so that any attribute name can be written. */
void
dyn_parse_key_spec(ItemSpan spec, ItemSpan *attribute, ItemType *type)
{
	uint32 space = spec.len;
	ItemSpan code;

	while (space > 0 && spec.data[space - 1] != ' ')
		space--;
	code = (ItemSpan){spec.data + space, spec.len - space};
	*type = item_type_from_code(code);
	*attribute = (ItemSpan){spec.data, space > 0 ? space - 1 : 0};
	if (attribute->len == 0 || *type == 0 || *type > ITEM_B)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid key \"%s\"", span_string(spec)),
				 errhint("Write the attribute's name and its type S, N or B, like \"pk S\".")));
	/* a trigger's argument is a C string */
	if (memchr(attribute->data, '\0', attribute->len) != NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("name of a key attribute must not contain U+0000")));
	if (attribute->len > DYN_MAX_KEY_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("name of a key attribute is longer than %d bytes", DYN_MAX_KEY_NAME)));
}

/* Returns the declaration of a key attribute: its name and the code of its type. */
ItemSpan
dyn_key_spec(ItemSpan attribute, const char *code)
{
	char *spec = palloc(attribute.len + 2);

	memcpy(spec, attribute.data, attribute.len);
	spec[attribute.len] = ' ';
	spec[attribute.len + 1] = *code;
	return (ItemSpan){spec, attribute.len + 2};
}
