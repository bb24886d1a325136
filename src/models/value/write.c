/*
 * write.c
 *	  From SQL values to attributes.
 *
 * A migration goes through here once for each column of each row, so the usual types are
 * converted by hand, and all others by their output functions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "models/value/form.h"
#include "server/call_site.h"
#include "server/errors.h"
#include "server/pgvector.h"

struct ValueWriter
{
	ValueForm form;
	FmgrInfo output;
	ValueWriter *element;
	int16 elmlen;
	bool elmbyval;
	char elmalign;
	char text[VALUE_MAX_TEXT]; /* of the last scalar */
	char number[ITEM_NUMBER_SIZE];
};

/*
 * Returns a writer of attributes of a type, which lives in the current memory context.  Raises an
 * error if the two types do not go together.
 */
ValueWriter *
value_writer(const ValueType *type)
{
	ValueWriter *writer = palloc0(sizeof(ValueWriter));
	Oid output;
	bool varlena;

	value_form(type, &writer->form);
	if (OidIsValid(writer->form.element))
	{
		ValueType element;

		value_element_type(&writer->form, &element);
		writer->element = value_writer(&element);
		writer->element->form.any_json = true;
		get_typlenbyvalalign(writer->form.element, &writer->elmlen, &writer->elmbyval,
							 &writer->elmalign);
	}
	if (writer->form.kind == VALUE_OUTPUT || writer->form.kind == VALUE_ENUM)
	{
		getTypeOutputInfo(writer->form.sql, &output, &varlena);
		fmgr_info(output, &writer->output);
	}
	return writer;
}

pg_noreturn static void
fail_value(const ItemBuilder *b, const char *what)
{
	StringInfoData path;

	initStringInfo(&path);
	item_build_path(b, b->depth, &path);
	if (path.len == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("an attribute cannot be %s", what)));
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("attribute \"%s\" cannot be %s", path.data, what)));
}

/*
 * Payloads of S, N and B; good until the next one of the same writer
 */

static ItemSpan
number_span(ValueWriter *writer, const ItemBuilder *b, int len)
{
	if (len < 0)
		fail_value(b, psprintf("a number that %s", item_number_error(len)));
	return (ItemSpan){writer->number, (uint32) len};
}

static ItemSpan
integer_payload(ValueWriter *writer, const ItemBuilder *b, int64 value, int places)
{
	return number_span(writer, b, item_number_from_int64(value, places, writer->number));
}

static ItemSpan
numeric_payload(ValueWriter *writer, const ItemBuilder *b, Datum value)
{
	Numeric numeric = DatumGetNumeric(value);

	if (numeric_is_nan(numeric) || numeric_is_inf(numeric))
		fail_value(b, "NaN or infinity");
	return number_span(writer, b, item_number_from_numeric(numeric, writer->number));
}

/* Returns the shortest text that reads back as the same number, for any extra_float_digits. */
static ItemSpan
float_payload(ValueWriter *writer, const ItemBuilder *b, Datum value)
{
	bool wide = writer->form.kind == VALUE_FLOAT8;
	float8 number = wide ? DatumGetFloat8(value) : (float8) DatumGetFloat4(value);
	int len;

	if (isnan(number) || isinf(number))
		fail_value(b, "NaN or infinity");
	len = wide ? double_to_shortest_decimal_buf(number, writer->text)
			   : float_to_shortest_decimal_buf(DatumGetFloat4(value), writer->text);
	return number_span(writer, b, item_number_parse(writer->text, len, writer->number));
}

static char *
put_digits(char *p, int value, int digits)
{
	for (int i = digits - 1; i >= 0; i--)
	{
		p[i] = (char) ('0' + value % 10);
		value /= 10;
	}
	return p + digits;
}

/* Checks days since 2000, of years with four digits. */
static void
check_days(const ItemBuilder *b, int64 days)
{
	if (days < VALUE_FIRST_DAY || days > VALUE_LAST_DAY)
		fail_value(b, "a date before the year 1 or after 9999");
}

static char *
put_date(char *p, int64 days)
{
	int year;
	int month;
	int day;

	j2date((int) days + POSTGRES_EPOCH_JDATE, &year, &month, &day);
	p = put_digits(p, year, 4);
	*p++ = '-';
	p = put_digits(p, month, 2);
	*p++ = '-';
	return put_digits(p, day, 2);
}

static char *
put_time(char *p, int64 microseconds, int digits)
{
	int seconds = (int) (microseconds / USECS_PER_SEC);
	int fraction = (int) (microseconds % USECS_PER_SEC);

	p = put_digits(p, seconds / SECS_PER_HOUR, 2);
	*p++ = ':';
	p = put_digits(p, seconds / SECS_PER_MINUTE % MINS_PER_HOUR, 2);
	*p++ = ':';
	p = put_digits(p, seconds % SECS_PER_MINUTE, 2);
	if (digits > 0)
	{
		*p++ = '.';
		put_digits(p, fraction, MAX_TIMESTAMP_PRECISION);
		p += digits;
	}
	return p;
}

static ItemSpan
timestamp_payload(ValueWriter *writer, const ItemBuilder *b, Timestamp value)
{
	char *p = writer->text;
	int64 days;

	if (TIMESTAMP_NOT_FINITE(value))
		fail_value(b, "infinity");
	days = value / USECS_PER_DAY - (value % USECS_PER_DAY < 0);
	check_days(b, days);
	if (writer->form.type == ITEM_N)
		/* a place of a number is worth a hundred */
		return integer_payload(writer, b, value + VALUE_EPOCH_DAYS * USECS_PER_DAY, 3);
	p = put_date(p, days);
	*p++ = 'T';
	p = put_time(p, value - days * USECS_PER_DAY, value_timestamp_digits(&writer->form));
	if (writer->form.sql == TIMESTAMPTZOID)
		*p++ = 'Z';
	return (ItemSpan){writer->text, (uint32) (p - writer->text)};
}

static ItemSpan
date_payload(ValueWriter *writer, const ItemBuilder *b, DateADT value)
{
	if (DATE_NOT_FINITE(value))
		fail_value(b, "infinity");
	check_days(b, value);
	if (writer->form.type == ITEM_N)
		return integer_payload(writer, b, ((int64) value + VALUE_EPOCH_DAYS) * SECS_PER_DAY, 0);
	return (ItemSpan){writer->text, (uint32) (put_date(writer->text, value) - writer->text)};
}

static ItemSpan
uuid_payload(ValueWriter *writer, const pg_uuid_t *uuid)
{
	static const char digits[] = "0123456789abcdef";
	char *p = writer->text;

	for (int i = 0; i < UUID_LEN; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = digits[uuid->data[i] >> 4];
		*p++ = digits[uuid->data[i] & 15];
	}
	return (ItemSpan){writer->text, (uint32) (p - writer->text)};
}

static ItemSpan
bool_payload(ValueWriter *writer, const ItemBuilder *b, bool value)
{
	if (writer->form.type == ITEM_N)
		return integer_payload(writer, b, value, 0);
	return value ? (ItemSpan){"true", 4} : (ItemSpan){"false", 5};
}

static ItemSpan
bytes_payload(const ValueWriter *writer, Datum value)
{
	const struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	ItemSpan span = text_span(bytes);
	int len;

	if (writer->form.kind == VALUE_BYTEA && writer->form.type == ITEM_S)
	{
		char *text = item_base64(span, &len);

		return (ItemSpan){text, (uint32) len};
	}
	while (writer->form.kind == VALUE_CHAR && span.len > 0 && span.data[span.len - 1] == ' ')
		span.len--;
	return span;
}

/* Returns whether the settings print values always alike, as any other session reads them. */
static bool
prints_portably(void)
{
	return DateStyle == USE_ISO_DATES && IntervalStyle == INTSTYLE_POSTGRES &&
		   extra_float_digits > 0 && strcmp(pg_get_timezone_name(session_timezone), "UTC") == 0;
}

static void
set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
							 false);
}

/* Prints ranges of timestamps, intervals and floats: what a type prints may depend on settings. */
static char *
portable_output(ValueWriter *writer, Datum value)
{
	char *text;
	int level;

	if (writer->form.kind == VALUE_ENUM || prints_portably())
		return OutputFunctionCall(&writer->output, value);
	level = NewGUCNestLevel();
	set_locally("datestyle", "ISO");
	set_locally("intervalstyle", "postgres");
	set_locally("extra_float_digits", "3");
	set_locally("timezone", "UTC");
	text = OutputFunctionCall(&writer->output, value);
	AtEOXact_GUC(true, level);
	return text;
}

static ItemSpan
scalar_payload(ValueWriter *writer, const ItemBuilder *b, Datum value)
{
	switch (writer->form.kind)
	{
		case VALUE_TEXT:
		case VALUE_CHAR:
		case VALUE_BYTEA:
			return bytes_payload(writer, value);
		case VALUE_INT2:
			return integer_payload(writer, b, DatumGetInt16(value), 0);
		case VALUE_INT4:
			return integer_payload(writer, b, DatumGetInt32(value), 0);
		case VALUE_INT8:
			return integer_payload(writer, b, DatumGetInt64(value), 0);
		case VALUE_NUMERIC:
			return numeric_payload(writer, b, value);
		case VALUE_FLOAT4:
		case VALUE_FLOAT8:
			return float_payload(writer, b, value);
		case VALUE_BOOL:
			return bool_payload(writer, b, DatumGetBool(value));
		case VALUE_TIMESTAMP:
			return timestamp_payload(writer, b, DatumGetTimestamp(value));
		case VALUE_DATE:
			return date_payload(writer, b, DatumGetDateADT(value));
		case VALUE_UUID:
			return uuid_payload(writer, DatumGetUUIDP(value));
		case VALUE_ENUM:
		case VALUE_OUTPUT:
			return item_span(portable_output(writer, value));
		case VALUE_JSON:
		case VALUE_LIST:
		case VALUE_VECTOR:
		case VALUE_SET:
		case VALUE_NOTHING:
			break;
	}
	elog(ERROR, "no scalar is made of kind %d", (int) writer->form.kind);
}

/*
 * Returns whether a writer of scalars would write an attribute as it is, after a reader of the same
 * type has read it.
 */
bool
value_is_as_written(ValueWriter *writer, ValueReader *reader, ItemSpan attribute)
{
	/* no error names where it is: what was stored can be written */
	static const ItemBuilder nowhere;
	const ValueForm *form = &writer->form;
	ItemSpan payload = item_payload(attribute);
	int scale;
	int before;
	int behind;
	Datum value;

	if (item_type(attribute) != form->type)
		return false;
	if (form->kind == VALUE_CHAR)
		return payload.len == 0 || payload.data[payload.len - 1] != ' ';
	if (!value_read(reader, attribute, true, &value))
		return false;
	/* these are read in one form, and with so many digits */
	if (form->kind == VALUE_DATE && form->type == ITEM_S)
		return true;
	if (form->kind == VALUE_NUMERIC && value_numeric_digits(form->typmod, &scale) > 0 && scale >= 0)
	{
		item_number_places(payload, &before, &behind);
		return behind <= scale;
	}
	return item_compare_bytes(scalar_payload(writer, &nowhere, value), payload) == 0;
}

/*
 * JSON, lists and sets
 */

static void
write_json(const ValueWriter *writer, ItemBuilder *b, Datum value)
{
	Jsonb *jsonb;
	bool object;

	if (writer->form.sql == JSONOID)
		value = DirectFunctionCall1(jsonb_in, CStringGetDatum(TextDatumGetCString(value)));
	jsonb = DatumGetJsonbP(value);
	object = JB_ROOT_IS_OBJECT(jsonb);
	if (!writer->form.any_json &&
		(JB_ROOT_IS_SCALAR(jsonb) || object != (writer->form.type == ITEM_M)))
		fail_value(b, writer->form.type == ITEM_M ? "JSON that is no object"
												  : "JSON that is no array");
	item_build_jsonb(b, JsonbPGetDatum(jsonb));
}

/* Writes the elements of one dimension of an array, from *elements on, which it moves. */
static void
write_dimension(ValueWriter *writer, ItemBuilder *b, const int *dims, int ndims, Datum **elements,
				bool **nulls)
{
	if (!item_build_may_begin(b, ITEM_L))
		fail_value(b, "an array of so many dimensions");
	item_build_begin(b, ITEM_L);
	for (int i = 0; ndims > 0 && i < dims[0]; i++)
	{
		item_build_element(b);
		if (ndims > 1)
		{
			write_dimension(writer, b, dims + 1, ndims - 1, elements, nulls);
			continue;
		}
		if (**nulls)
			item_build_null(b);
		else
			value_write(writer->element, b, **elements);
		(*elements)++;
		(*nulls)++;
	}
	(void) item_build_end(b);
}

static int
take_elements(const ValueWriter *writer, ArrayType *array, Datum **elements, bool **nulls)
{
	int n;

	deconstruct_array(array, writer->form.element, writer->elmlen, writer->elmbyval,
					  writer->elmalign, elements, nulls, &n);
	return n;
}

static void
write_list(ValueWriter *writer, ItemBuilder *b, Datum value)
{
	ArrayType *array = DatumGetArrayTypeP(value);
	Datum *elements;
	bool *nulls;

	/* nested lists of JSON could not be told from arrays in it */
	if (ARR_NDIM(array) > 1 && writer->element->form.kind == VALUE_JSON)
		fail_value(b, "an array of JSON with several dimensions");
	if (writer->form.length > 0 &&
		(ARR_NDIM(array) != 1 || *ARR_DIMS(array) != writer->form.length ||
		 array_contains_nulls(array)))
		fail_value(b, psprintf("an array of other than %d numbers", writer->form.length));
	take_elements(writer, array, &elements, &nulls);
	write_dimension(writer, b, ARR_DIMS(array), ARR_NDIM(array), &elements, &nulls);
}

static void
write_vector(ValueWriter *writer, ItemBuilder *b, Datum value)
{
	const PgVector *vector = (const PgVector *) PG_DETOAST_DATUM(value);

	if (vector->dimensions != writer->form.length)
		fail_value(b, psprintf("a vector of other than %d dimensions", writer->form.length));
	item_build_begin(b, ITEM_L);
	for (int i = 0; i < vector->dimensions; i++)
	{
		item_build_element(b);
		value_write(writer->element, b, Float4GetDatum(vector->values[i]));
	}
	(void) item_build_end(b);
}

static int
compare_elements(const void *a, const void *b, void *arg)
{
	return item_element_compare(*(ItemType *) arg, *(const ItemSpan *) a, *(const ItemSpan *) b);
}

static void
write_set(ValueWriter *writer, ItemBuilder *b, Datum value)
{
	ItemType type = writer->form.type;
	ArrayType *array = DatumGetArrayTypeP(value);
	ItemSpan *payloads;
	Datum *elements;
	bool *nulls;
	int n;

	if (ARR_NDIM(array) > 1)
		fail_value(b, "a set of an array with several dimensions");
	n = take_elements(writer, array, &elements, &nulls);
	payloads = palloc(n * sizeof(ItemSpan));
	for (int i = 0; i < n; i++)
	{
		ItemSpan payload;
		char *copy;

		if (nulls[i])
			fail_value(b, "a set with a NULL in it");
		payload = scalar_payload(writer->element, b, elements[i]);
		if (payload.len == 0 && type != ITEM_NS)
			fail_value(b, "a set with an empty element");
		copy = palloc(payload.len + 1);
		memcpy(copy, payload.data, payload.len);
		payloads[i] = (ItemSpan){copy, payload.len};
	}
	qsort_arg(payloads, n, sizeof(ItemSpan), compare_elements, &type);
	n = (int) qunique_arg(payloads, n, sizeof(ItemSpan), compare_elements, &type);
	item_build_begin(b, type);
	for (int i = 0; i < n; i++)
	{
		item_build_element(b);
		item_build_scalar(b, item_element_type(type), payloads[i]);
	}
	(void) item_build_end(b);
}

/* A set is never empty. */
bool
value_is_absent(const ValueWriter *writer, Datum value)
{
	AnyArrayType *array;

	if (writer->form.kind != VALUE_SET)
		return false;
	array = DatumGetAnyArrayP(value);
	return AARR_NDIM(array) == 0;
}

/*
 * Adds a value to an item under construction, after its name or as an element.  The value is not
 * NULL, and value_is_absent() is false of it.  Raises ERRCODE_DYN_VALIDATION if an attribute of the
 * writer's type cannot hold it.
 */
void
value_write(ValueWriter *writer, ItemBuilder *b, Datum value)
{
	ValueKind kind = writer->form.kind;

	if (kind == VALUE_JSON)
		write_json(writer, b, value);
	else if (kind == VALUE_LIST)
		write_list(writer, b, value);
	else if (kind == VALUE_VECTOR)
		write_vector(writer, b, value);
	else if (kind == VALUE_SET)
		write_set(writer, b, value);
	else if (kind == VALUE_NOTHING)
		fail_value(b, "a value, since its type is NULL");
	else if (writer->form.type == ITEM_BOOL)
		item_build_bool(b, DatumGetBool(value));
	else
		item_build_scalar(b, writer->form.type, scalar_payload(writer, b, value));
}

/*
 * dyn_to_value()
 */

static ValueWriter *
make_writer(FunctionCallInfo fcinfo)
{
	Oid sql = get_fn_expr_argtype(fcinfo->flinfo, 0);
	ValueType type = {ITEM_S, sql, -1};

	if (OidIsValid(sql))
		type.type = value_item_type(sql);
	if (!PG_ARGISNULL(1))
	{
		text *given = PG_GETARG_TEXT_PP(1);
		ItemSpan span = text_span(given);

		/* a type of DynamoDB's alone is with the type of the value here */
		if (memchr(span.data, ' ', span.len) == NULL)
		{
			char *both =
				psprintf("%.*s %s", (int) span.len, span.data, format_type_be_qualified(sql));

			span = item_span(both);
		}
		value_type_parse(span, &type);
		if (getBaseType(type.sql) != getBaseType(sql))
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("type \"%s\" is not for values of type %s",
								   text_to_cstring(given), format_type_be(sql))));
	}
	return value_writer(&type);
}

/* dyn_to_value(value, type): NULL where the attribute would be absent */
PG_FUNCTION_INFO_V1(dyn_to_value);
Datum
dyn_to_value(PG_FUNCTION_ARGS)
{
	bool constant = PG_ARGISNULL(1) || call_argument_is_constant(fcinfo->flinfo, 1);
	ValueWriter *writer = constant ? fcinfo->flinfo->fn_extra : NULL;
	ItemBuilder b;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (writer == NULL)
	{
		MemoryContext old =
			MemoryContextSwitchTo(constant ? fcinfo->flinfo->fn_mcxt : CurrentMemoryContext);

		writer = make_writer(fcinfo);
		MemoryContextSwitchTo(old);
		if (constant)
			fcinfo->flinfo->fn_extra = writer;
	}
	if (value_is_absent(writer, PG_GETARG_DATUM(0)))
		PG_RETURN_NULL();
	item_build_init(&b, 64);
	value_write(writer, &b, PG_GETARG_DATUM(0));
	PG_RETURN_POINTER(item_build_finish(&b));
}
