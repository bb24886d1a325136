/*
 * value.c
 *	  Types of attributes: a type of DynamoDB's and one of SQL's, and which go together.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "catalog/definition/vector_spec.h"
#include "models/value/form.h"
#include "server/errors.h"
#include "server/pgvector.h"

/* Returns the SQL type that is used if only DynamoDB's type is given. */
static Oid
own_type(const ValueType *type)
{
	if (type->length > 0)
		return FLOAT4ARRAYOID;
	switch (type->type)
	{
		case ITEM_S:
		case ITEM_NULL:
			return TEXTOID;
		case ITEM_N:
			return NUMERICOID;
		case ITEM_B:
			return BYTEAOID;
		case ITEM_BOOL:
			return BOOLOID;
		case ITEM_L:
		case ITEM_M:
			return JSONBOID;
		case ITEM_SS:
			return TEXTARRAYOID;
		case ITEM_NS:
			return NUMERICARRAYOID;
		case ITEM_BS:
			return BYTEAARRAYOID;
	}
	pg_unreachable();
}

/* Reads a type of DynamoDB's, without one of SQL; returns false if there is none of that name. */
bool
value_code_parse(ItemSpan code, ValueType *type)
{
	static const char vector[] = "VECTOR(";
	uint32 i = sizeof(vector) - 1;

	*type = (ValueType){item_type_from_code(code), InvalidOid, -1, 0};
	if (type->type != 0 || code.len <= i || memcmp(code.data, vector, i) != 0)
		return type->type != 0;
	type->type = ITEM_L;
	while (i < code.len && code.data[i] >= '0' && code.data[i] <= '9' &&
		   type->length <= DYN_MAX_DIMENSIONS)
		type->length = type->length * 10 + (code.data[i++] - '0');
	return i + 1 == code.len && code.data[i] == ')' && type->length >= 1 &&
		   type->length <= DYN_MAX_DIMENSIONS;
}

/* Returns it as it is read. */
const char *
value_code(const ValueType *type)
{
	return type->length > 0 ? psprintf("VECTOR(%d)", type->length) : item_type_code(type->type);
}

#define HINT_TYPE "Write a type like \"S\", \"N integer\", \"S timestamptz(3)\" or \"VECTOR(384)\"."

pg_noreturn static void
fail_type(ItemSpan text, const char *message, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid type \"%s\" of an attribute: %s", item_quoted(text), message),
					errhint("%s", hint)));
}

/*
 * Returns the type of an array's elements, or InvalidOid.  oidvector and int2vector subscript like
 * arrays, but code that has them expects one dimension that begins at 0, and no NULLs, so they are
 * not taken for arrays.
 */
static Oid
element_of_base(Oid base)
{
	return base == OIDVECTOROID || base == INT2VECTOROID ? InvalidOid : get_element_type(base);
}

static ItemType
item_type_of_base(Oid base)
{
	switch (base)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			return ITEM_N;
		case BOOLOID:
			return ITEM_BOOL;
		case BYTEAOID:
			return ITEM_B;
		case JSONOID:
		case JSONBOID:
			return ITEM_M;
		/* the usual ones of the rest, without a look-up */
		case TEXTOID:
		case VARCHAROID:
		case TIMESTAMPTZOID:
		case DATEOID:
		case UUIDOID:
			return ITEM_S;
		default:
			return OidIsValid(element_of_base(base)) ? ITEM_L : ITEM_S;
	}
}

/* Returns the type below domains, which have no OID that the server's catalogs assign by hand. */
static Oid
base_of(Oid sql, int32 *typmod)
{
	return sql < FirstGenbkiObjectId ? sql : getBaseTypeAndTypmod(sql, typmod);
}

static bool
is_of_extension(Oid sql, const char *extension)
{
	Oid its = sql < FirstNormalObjectId ? InvalidOid : getExtensionOfObject(TypeRelationId, sql);
	const char *name = OidIsValid(its) ? get_extension_name(its) : NULL;

	return name != NULL && strcmp(name, extension) == 0;
}

/* Returns whether a type is that of the extension citext, whose values are equal in any case. */
bool
value_is_citext(Oid sql)
{
	return is_of_extension(sql, "citext");
}

/* Returns whether a type is pgvector's "vector", whose library is loaded for no other one. */
static bool
is_vector(Oid sql)
{
	return is_of_extension(sql, "vector") && pgvector_is_vector(sql);
}

/*
 * Returns the type of attribute that stores a type of SQL if a declaration does not name one: N, S,
 * B, BOOL, L or M.  Domains are stored as their base types.
 */
ItemType
value_item_type(Oid sql)
{
	int32 typmod = -1;

	return item_type_of_base(base_of(sql, &typmod));
}

/* Returns the types of an attribute that stores a type of SQL; vectors of known dimensions are lists. */
ValueType
value_type_of(Oid sql, int32 typmod)
{
	if (typmod >= 1 && typmod <= DYN_MAX_DIMENSIONS && is_vector(sql))
		return (ValueType){ITEM_L, sql, -1, typmod};
	return (ValueType){value_item_type(sql), sql, typmod, 0};
}

/* Returns the kind of a type of SQL by itself. */
static ValueKind
kind_of_base(Oid base)
{
	switch (base)
	{
		case TEXTOID:
		case VARCHAROID:
			return VALUE_TEXT;
		case BPCHAROID:
			return VALUE_CHAR;
		case INT2OID:
			return VALUE_INT2;
		case INT4OID:
			return VALUE_INT4;
		case INT8OID:
			return VALUE_INT8;
		case NUMERICOID:
			return VALUE_NUMERIC;
		case FLOAT4OID:
			return VALUE_FLOAT4;
		case FLOAT8OID:
			return VALUE_FLOAT8;
		case BOOLOID:
			return VALUE_BOOL;
		case BYTEAOID:
			return VALUE_BYTEA;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return VALUE_TIMESTAMP;
		case DATEOID:
			return VALUE_DATE;
		case UUIDOID:
			return VALUE_UUID;
		case JSONOID:
		case JSONBOID:
			return VALUE_JSON;
		default:
			break;
	}
	if (OidIsValid(element_of_base(base)))
		return VALUE_LIST;
	return get_typtype(base) == TYPTYPE_ENUM ? VALUE_ENUM : VALUE_OUTPUT;
}

/*
 * These are the kinds of SQL's types that each of DynamoDB's types goes with.  A writer takes a
 * Datum for what its kind says, and a reader makes one, so a pair that does not fit would take
 * bytes of one type for another's.
 */
#define KIND(kind) (1 << (kind))
#define KINDS_OF_NUMBERS \
	(KIND(VALUE_INT2) | KIND(VALUE_INT4) | KIND(VALUE_INT8) | KIND(VALUE_NUMERIC) | \
	 KIND(VALUE_FLOAT4) | KIND(VALUE_FLOAT8))

static const struct
{
	int kinds; /* that the type of SQL is of by itself */
	const char *hint;
} pairs[ITEM_TYPE_LAST + 1] = {
	[ITEM_S] = {KIND(VALUE_TEXT) | KIND(VALUE_CHAR) | KINDS_OF_NUMBERS | KIND(VALUE_BOOL) |
					KIND(VALUE_BYTEA) | KIND(VALUE_TIMESTAMP) | KIND(VALUE_DATE) |
					KIND(VALUE_UUID) | KIND(VALUE_ENUM) | KIND(VALUE_JSON) | KIND(VALUE_OUTPUT),
				"Arrays are of type L, SS, NS or BS."},
	[ITEM_N] = {KINDS_OF_NUMBERS | KIND(VALUE_BOOL) | KIND(VALUE_TIMESTAMP) | KIND(VALUE_DATE),
				"An N is a number, boolean, timestamp or date."},
	[ITEM_B] = {KIND(VALUE_BYTEA), "A B is bytea."},
	[ITEM_BOOL] = {KIND(VALUE_BOOL), "A BOOL is boolean."},
	[ITEM_NULL] = {KIND(VALUE_TEXT), "A NULL is text."},
	[ITEM_L] = {KIND(VALUE_JSON) | KIND(VALUE_LIST), "An L is json, jsonb or an array."},
	[ITEM_M] = {KIND(VALUE_JSON), "An M is json or jsonb."},
	[ITEM_SS] = {KIND(VALUE_LIST), "A set is an array of what its elements are."},
	[ITEM_NS] = {KIND(VALUE_LIST), "A set is an array of what its elements are."},
	[ITEM_BS] = {KIND(VALUE_LIST), "A set is an array of what its elements are."},
};

/* Returns whether a type of SQL has numbers as a vector does. */
static bool
has_numbers(Oid base)
{
	int32 typmod = -1;
	Oid element = element_of_base(base);

	if (!OidIsValid(element))
		return is_vector(base);
	return (KIND(kind_of_base(base_of(element, &typmod))) & KINDS_OF_NUMBERS) != 0;
}

/* Returns NULL, or what the type of DynamoDB's can be of types of SQL's. */
static const char *
mismatch(const ValueType *given, Oid base, ValueKind kind)
{
	ItemType type = given->type;
	ValueType of_set = {item_element_type(type), InvalidOid, -1, 0};
	int32 typmod = -1;
	Oid element;

	if (given->length > 0)
		return has_numbers(base) ? NULL : "A VECTOR is an array of numbers, or pgvector's vector.";
	if ((pairs[type].kinds & KIND(kind)) == 0 || (type == ITEM_NULL && base != TEXTOID))
		return pairs[type].hint;
	if (!item_type_is_set(type))
		return NULL;
	/* none of the elements' types goes with arrays */
	element = base_of(element_of_base(base), &typmod);
	if (mismatch(&of_set, element, kind_of_base(element)) != NULL)
		return pairs[type].hint;
	return NULL;
}

static void
require_values(ItemSpan text, char typtype)
{
	if (typtype == TYPTYPE_PSEUDO)
		fail_type(text, "no value has this type of SQL", "Use a type that columns can have.");
}

/*
 * Raises ERRCODE_DYN_VALIDATION if the type of SQL is a pseudo-type, of which there are no values.
 */
void
value_type_require_values(const ValueType *type)
{
	if (get_typtype(type->sql) == TYPTYPE_PSEUDO)
		require_values(item_span(value_type_print(type)), TYPTYPE_PSEUDO);
}

/* All writers and readers are made of this, so it is here that the pair is checked. */
void
value_form(const ValueType *type, ValueForm *form)
{
	const char *hint;

	/* where a function is called without its expression, nothing says of what type an argument is */
	if (!OidIsValid(type->sql))
		ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
						errmsg("could not determine the type of SQL of an attribute")));
	form->type = type->type;
	form->length = type->length;
	form->typmod = type->typmod;
	form->sql = base_of(type->sql, &form->typmod);
	form->any_json = false;
	form->kind = kind_of_base(form->sql);
	hint = mismatch(type, form->sql, form->kind);
	if (hint != NULL)
		fail_type(item_span(value_type_print(type)), "the two types do not go together", hint);
	form->element = form->kind == VALUE_LIST ? element_of_base(form->sql) : InvalidOid;
	if (type->length > 0 && form->kind != VALUE_LIST)
	{
		form->kind = VALUE_VECTOR;
		form->element = FLOAT4OID;
	}
	else if (item_type_is_set(type->type))
		form->kind = VALUE_SET;
	else if (type->type == ITEM_NULL)
		form->kind = VALUE_NOTHING;
	/* as text, a number or JSON is what its type prints */
	else if (type->type == ITEM_S && form->kind != VALUE_BOOL &&
			 item_type_of_base(form->sql) != ITEM_S && form->kind != VALUE_BYTEA)
		form->kind = VALUE_OUTPUT;
}

/* Returns how many digits numeric has, and how many of them behind the point; 0: as many as a value has. */
int
value_numeric_digits(int32 typmod, int *scale)
{
	*scale = 0;
	if (typmod < VARHDRSZ)
		return 0;
	/* as numeric.c of the server packs them */
	*scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	return ((typmod - VARHDRSZ) >> 16) & 0xffff;
}

/* Returns the format of numeric with a precision; one with digits after the point has none. */
static const char *
numeric_sort_format(int32 typmod)
{
	int scale;
	int precision = value_numeric_digits(typmod, &scale);

	if (scale > 0)
		return NULL;
	return psprintf("0%d", Min(precision - scale, ITEM_NUMBER_DIGITS));
}

/*
 * Returns the format with which a placeholder of a key template has numbers of that type sort by
 * value, like "010" for an integer of ten digits; NULL if they may have fractions, for which there
 * is none.
 */
const char *
value_sort_format(const ValueType *type)
{
	ValueForm form;

	value_form(type, &form);
	if (form.kind == VALUE_INT2)
		return "05";
	if (form.kind == VALUE_INT8)
		return "019";
	if (form.kind == VALUE_FLOAT4 || form.kind == VALUE_FLOAT8)
		return NULL;
	if (form.kind == VALUE_TIMESTAMP)
		return "second";
	if (form.kind == VALUE_DATE)
		return "day";
	if (form.kind == VALUE_NUMERIC && form.typmod >= 0)
		return numeric_sort_format(form.typmod);
	/* numeric without a precision is what attributes of type N have by default */
	return "010";
}

/* Returns how the elements of an array are stored. */
void
value_element_type(const ValueForm *form, ValueType *type)
{
	type->length = 0;
	type->sql = form->element;
	type->typmod = form->typmod;
	type->type =
		form->kind == VALUE_SET ? item_element_type(form->type) : value_item_type(form->element);
}

/* Returns how many digits of the second a timestamp is printed with, from 0 to 6. */
int
value_timestamp_digits(const ValueForm *form)
{
	return form->typmod < 0 ? MAX_TIMESTAMP_PRECISION : Min(form->typmod, MAX_TIMESTAMP_PRECISION);
}

/*
 * Reads the two types of an attribute, such as "N integer" or "N" alone, and raises
 * ERRCODE_DYN_VALIDATION if there is no such type or they do not go together.  A type of SQL
 * without a schema is looked up by search_path.
 */
void
value_type_parse(ItemSpan text, ValueType *type)
{
	const char *space = memchr(text.data, ' ', text.len);
	ItemSpan code = {text.data, space == NULL ? text.len : (uint32) (space - text.data)};
	const char *problem;
	int32 typmod = -1;
	Oid base;
	char *name;
	TypeName *parsed;
	HeapTuple tuple;

	if (!value_code_parse(code, type))
		fail_type(text, "it does not begin with a type of DynamoDB's",
				  type->length > DYN_MAX_DIMENSIONS
					  ? "A VECTOR has at most " CppAsString2(DYN_MAX_DIMENSIONS) " dimensions."
					  : HINT_TYPE);
	type->sql = own_type(type);
	if (space == NULL)
		return;
	name = pnstrdup(space + 1, text.len - code.len - 1);
	if (strspn(name, " ") == strlen(name))
		fail_type(text, "nothing follows the blank", HINT_TYPE);
	parsed = parse_type_name(name);
	tuple = LookupTypeName(NULL, parsed, &type->typmod, true);
	if (parsed->setof || !HeapTupleIsValid(tuple))
		fail_type(text, "there is no such type of SQL", "The type is looked for by search_path.");
	type->sql = ((Form_pg_type) GETSTRUCT(tuple))->oid;
	require_values(text, ((Form_pg_type) GETSTRUCT(tuple))->typisdefined
							 ? ((Form_pg_type) GETSTRUCT(tuple))->typtype
							 : TYPTYPE_PSEUDO);
	ReleaseSysCache(tuple);
	base = base_of(type->sql, &typmod);
	problem = mismatch(type, base, kind_of_base(base));
	if (problem != NULL)
		fail_type(text, "the two types do not go together", problem);
	if (type->length > 0 && is_vector(base))
	{
		if (type->sql != base || (type->typmod >= 0 && type->typmod != type->length))
			fail_type(text, "the two types do not go together",
					  "Vectors of SQL have the same dimensions, and no domain.");
		/* views show it without: they call no function of another extension */
		type->typmod = -1;
	}
}

/* Returns the type of SQL with its modifier and schema. */
char *
value_type_sql(const ValueType *type)
{
	return format_type_extended(type->sql, type->typmod,
								FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

/*
 * Returns the two types of an attribute as a declaration keeps them: the type of SQL with its
 * schema, or none if it is the default one.
 */
char *
value_type_print(const ValueType *type)
{
	if (type->sql == own_type(type) && type->typmod < 0)
		return pstrdup(value_code(type));
	return psprintf("%s %s", value_code(type), value_type_sql(type));
}

/*
 * Returns whether all attributes of the DynamoDB type can be read as the SQL type, so that none has
 * to be checked.  Strings with U+0000, which SQL cannot hold, are not considered.
 */
bool
value_type_is_open(const ValueType *type)
{
	return type->typmod < 0 && type->length == 0 &&
		   (type->sql == own_type(type) || (type->sql == VARCHAROID && type->type == ITEM_S) ||
			(type->sql == JSONOID && (type->type == ITEM_L || type->type == ITEM_M)));
}
