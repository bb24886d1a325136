/*
 * value.h
 *	  Between SQL values and attributes.
 *
 * An attribute of an entity has a type of DynamoDB's and a type of SQL's: how it is stored, and
 * what it is in views and migrations.  Written "N integer", "S timestamptz(3)", "SS text[]", "M
 * jsonb"; DynamoDB's type alone implies a type of SQL:
 *
 *		S text		N numeric		B bytea		BOOL boolean	NULL text
 *		L jsonb		M jsonb			SS text[]	NS numeric[]	BS bytea[]
 *		VECTOR(n) real[], an L of n numbers
 *
 * What is stored, by the type of SQL:
 *		timestamptz, timestamp	S: ISO 8601, UTC with "Z" (timestamp: no zone), as many digits of
 *								the second as the type says, 6 without: one width, so bytes sort
 *								N: seconds since 1970
 *		date					S: 2024-05-01; N: seconds since 1970
 *		bytea					B; S: base64
 *		boolean					BOOL; N: 0 and 1; S: true and false
 *		numbers					N; S: as printed
 *		json, jsonb				M, L: plain JSON, as the casts do it; S: its text
 *		arrays					L; SS, NS, BS: duplicates once, empty: absent
 *		all others				S: the output of the type, with the settings of a dump, in UTC
 *
 * SQL NULL is an absent attribute; NULLs in an array are NULL in a list.  What the attribute
 * cannot hold (NaN, infinity, a number of more than 38 digits, an empty or NULL element of a set,
 * too deep nesting) is ERRCODE_DYN_VALIDATION.
 *
 *		value.c		types of attributes: which type of SQL goes with which of DynamoDB
 *		form.h		how a type of SQL is stored: what writing and reading share
 *		write.c		from values of SQL to attributes
 *		read.c		from attributes to values of SQL
 *		attribute.c	dynamo_internal.attribute(): an attribute of an item as a value of SQL
 */
#ifndef DYNAMO_TABLE_MODELS_VALUE_VALUE_H
#define DYNAMO_TABLE_MODELS_VALUE_VALUE_H

#include "fmgr.h"

#include "item/build.h"

typedef struct ValueType
{
	ItemType type;
	Oid sql;
	int32 typmod;
	int32 length; /* of an L that is a vector: it has so many numbers; 0: it is none */
} ValueType;

/* Parses "N integer", looking types up by search_path; raises ERRCODE_DYN_VALIDATION. */
extern void value_type_parse(ItemSpan text, ValueType *type);

/*
 * Prints it as declarations store it: "N integer", "S public.mood": the type with its schema,
 * unless that is pg_catalog.
 */
extern char *value_type_print(const ValueType *type);
extern char *value_type_sql(const ValueType *type); /* the type of SQL alone */

/* These are of the type of DynamoDB's alone, "N" or "VECTOR(3)"; false: there is no such type. */
extern bool value_code_parse(ItemSpan code, ValueType *type);
extern const char *value_code(const ValueType *type);

/* Returns how a type of SQL is stored by default: N, S, B, BOOL, L, M; and pgvector's as VECTOR(n). */
extern ItemType value_item_type(Oid sql);
extern ValueType value_type_of(Oid sql, int32 typmod);

/* Returns whether a type is that of the extension citext, whose values are equal in any case. */
extern bool value_is_citext(Oid sql);

/* Returns whether all values of the type of DynamoDB's are of it, but for strings with U+0000. */
extern bool value_type_is_open(const ValueType *type);

/* Returns the placeholder's format under which a type's numbers sort by value, or NULL. */
extern const char *value_sort_format(const ValueType *type);

/*
 * A ValueWriter is a way from SQL values of a type to attributes, made once and used for many:
 * *converter lives in the memory context that it was made in.  It is an error if the two types do
 * not go together: no value of one is ever taken for one of the other.
 */
typedef struct ValueWriter ValueWriter;
extern ValueWriter *value_writer(const ValueType *type);

/* A value that is not absent is written after item_build_name() or item_build_element(). */
extern bool value_is_absent(const ValueWriter *writer, Datum value);
extern void value_write(ValueWriter *writer, ItemBuilder *b, Datum value);

/*
 * A ValueReader is the way back.  False: it is NULL, or not of the type and lenient was asked for.
 * Before PostgreSQL 17 that may take a subtransaction, where the type is none of those that are
 * converted by hand; in a parallel query it is the type's own error then.
 */
typedef struct ValueReader ValueReader;
extern ValueReader *value_reader(const ValueType *type);
extern bool value_read(ValueReader *reader, ItemSpan attribute, bool lenient, Datum *value);
extern bool value_is_as_written(ValueWriter *writer, ValueReader *reader, ItemSpan attribute);

#endif
