/*
 * fields.h
 *	  JSON objects whose members are fields of a struct.  One table of fields reads and prints them:
 *
 *		static const Field fields[] = {
 *			{"type", FIELD_NAME, true, FIELD_AT(Place, type)},
 *			{"projection", FIELD_CHOICE, FIELD_AT(Place, projection), .choices = names, .always = true},
 *			{"keys", FIELD_OWN, .read = read_keys, .print = print_keys},
 *			{NULL}};
 *
 *		fields_read(&reader, fields, &place, value);
 *		fields_print(&json, fields, &place);
 *
 * Members are read and printed in the order of the table.  A member that is not in it is an error.
 * A field that is zero is not printed; the struct must be zeroed before it is read into.
 */
#ifndef DYNAMO_TABLE_ITEM_FIELDS_H
#define DYNAMO_TABLE_ITEM_FIELDS_H

#include "item/json_writer.h"

typedef enum FieldKind
{
	FIELD_STRING, /* ItemSpan */
	FIELD_NAME, /* ItemSpan of a string that is not empty */
	FIELD_TEXT, /* const char *: a copy of such a string, without U+0000; NULL: not given */
	FIELD_BOOL, /* bool */
	FIELD_NOT, /* bool: the opposite of the member */
	FIELD_COUNT, /* int64, 0 or more */
	FIELD_CHOICE, /* an enum: the place in choices */
	FIELD_OBJECT, /* ItemSpan: an M, with its tag */
	FIELD_OWN /* whatever read and print make of it */
} FieldKind;

typedef struct Field Field;

/* A FieldReader holds the subject of a reader and the function that raises its errors. */
typedef struct FieldReader
{
	/* raises an error; detail may be NULL */
	void (*fail)(const struct FieldReader *reader, const char *message, const char *detail);
	const char *of; /* the object that messages name, like "attribute \"Id\""; NULL: fail adds it */
	void *context; /* of fail and of the functions of fields */
	bool null_is_missing; /* a member that is null is not there */
} FieldReader;

struct Field
{
	const char *name;
	FieldKind kind;
	Size offset;
	bool required;
	bool always; /* printed even if it is zero */
	const char *const *choices; /* the list ends with NULL; an empty string cannot be given */
	const char *wanted; /* what the member must be, for the error; NULL: the text of its kind */

	/*
	 * replace the kind's functions, and are called even if the member is absent; print writes the
	 * name too
	 */
	void (*read)(const FieldReader *reader, const Field *field, void *target, ItemSpan value);
	void (*missing)(const FieldReader *reader, const Field *field, void *target);
	void (*print)(JsonWriter *json, const Field *field, const void *target);
};

#define FIELD_AT(type, member) .offset = offsetof(type, member)
#define FIELD_POINTER(field, type, target) ((type *) ((char *) (target) + (field)->offset))

extern void fields_read(const FieldReader *reader, const Field *fields, void *target,
						ItemSpan object);
extern void fields_print(JsonWriter *json, const Field *fields, const void *target);
extern void fields_print_object(JsonWriter *json, const char *name, const Field *fields,
								const void *target);

/*
 * Read functions of fields use these: raise any error; raise that the member must be something;
 * read a string that is not empty, an array of strings, a count.
 */
pg_noreturn extern void fields_fail(const FieldReader *reader, const char *message,
									const char *detail);
pg_noreturn extern void field_fail(const FieldReader *reader, const char *name, const char *wanted);
extern ItemSpan field_string(const FieldReader *reader, const char *name, ItemSpan value);
extern int field_strings(const FieldReader *reader, const Field *field, ItemSpan value,
						 const char *wanted, ItemSpan **strings);
extern bool field_count(ItemSpan value, int64 *count);

#endif
