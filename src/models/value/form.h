/*
 * form.h
 *	  How a type of SQL is stored: what writing and reading share.
 */
#ifndef DYNAMO_TABLE_MODELS_VALUE_FORM_H
#define DYNAMO_TABLE_MODELS_VALUE_FORM_H

#include "models/value/value.h"

typedef enum ValueKind
{
	VALUE_TEXT,
	VALUE_CHAR, /* blanks at its end do not count, and are not stored */
	VALUE_INT2,
	VALUE_INT4,
	VALUE_INT8,
	VALUE_NUMERIC,
	VALUE_FLOAT4,
	VALUE_FLOAT8,
	VALUE_BOOL, /* as BOOL, 0 and 1, or true and false */
	VALUE_BYTEA,
	VALUE_TIMESTAMP, /* with time zone or without */
	VALUE_DATE,
	VALUE_UUID,
	VALUE_ENUM,
	VALUE_JSON,
	VALUE_LIST, /* arrays */
	VALUE_VECTOR, /* pgvector's */
	VALUE_SET,
	VALUE_NOTHING, /* NULL */
	VALUE_OUTPUT /* by the functions of the type */
} ValueKind;

/* A ValueForm is a type without its domains. */
typedef struct ValueForm
{
	ValueKind kind;
	ItemType type;
	Oid sql;
	int32 typmod;
	bool any_json; /* JSON of any kind, as it may be in a list */
	Oid element; /* of an array or vector */
	int32 length; /* see ValueType */
} ValueForm;

/* Raises an error unless the two types go together. */
extern void value_form(const ValueType *type, ValueForm *form);

/* Raises an error if no value is of the type of SQL, a pseudo-type. */
extern void value_type_require_values(const ValueType *type);
extern void value_element_type(const ValueForm *form, ValueType *type);

/* These are days since 2000: of 1970, and of the years that ISO 8601 has. */
#define VALUE_EPOCH_DAYS INT64CONST(10957)
#define VALUE_FIRST_DAY (-730119) /* 0001-01-01 */
#define VALUE_LAST_DAY 2921939 /* 9999-12-31 */

/* Texts of scalars are no longer; timestamps print so many digits of the second as that returns. */
#define VALUE_MAX_TEXT 64
extern int value_timestamp_digits(const ValueForm *form);
extern int value_numeric_digits(int32 typmod, int *scale);

#endif
