/*
 * read.c
 *	  From attributes to SQL values.
 *
 * Items may hold any values, so each attribute is checked to be a value of the type before a
 * function of the type can raise an error.  Only types that are not converted by hand are left to
 * their own input functions.
 */
#include "postgres.h"

#include <math.h>

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/base64.h"
#include "common/int.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "models/value/form.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/errors.h"
#include "server/pgvector.h"

struct ValueReader
{
	ValueForm form;
	Oid declared; /* a domain, or the same as form.sql */
	FmgrInfo input; /* VALUE_ENUM and VALUE_OUTPUT */
	Oid ioparam;
	bool computes; /* it only does, and leaves nothing behind when it fails */
	ValueReader *element;
	int16 elmlen;
	bool elmbyval;
	char elmalign;
	void *domain; /* what checks a value of it, once one was checked */
	DomainConstraintRef *constraints; /* of a domain, as they are now */
	MemoryContext context;
};

/* Returns whether the input function of a type is the server's own, and calls no others. */
static bool
input_computes(const ValueForm *form, Oid input)
{
	Oid sql = form->sql;

	return form->kind == VALUE_ENUM ||
		   (sql < FirstGenbkiObjectId &&
			(func_volatile(input) == PROVOLATILE_IMMUTABLE || sql == TIMEOID || sql == TIMETZOID));
}

/*
 * Returns a reader of attributes of a type, which lives in the current memory context.  Raises an
 * error if the two types do not go together, or if the type of SQL is a pseudo-type.
 */
ValueReader *
value_reader(const ValueType *type)
{
	ValueReader *reader = palloc0(sizeof(ValueReader));
	Oid input;

	reader->context = CurrentMemoryContext;
	reader->declared = type->sql;
	value_form(type, &reader->form);
	if (reader->declared != reader->form.sql)
	{
		reader->constraints = palloc0(sizeof(DomainConstraintRef));
		InitDomainConstraintRef(reader->declared, reader->constraints, reader->context, false);
	}
	/* the other kinds are not of pseudo-types */
	if (reader->form.kind == VALUE_OUTPUT || OidIsValid(reader->form.element))
		value_type_require_values(type);
	if (OidIsValid(reader->form.element))
	{
		ValueType element;

		value_element_type(&reader->form, &element);
		reader->element = value_reader(&element);
		reader->element->form.any_json = true;
		get_typlenbyvalalign(reader->form.element, &reader->elmlen, &reader->elmbyval,
							 &reader->elmalign);
	}
	if (reader->form.kind == VALUE_OUTPUT || reader->form.kind == VALUE_ENUM)
	{
		getTypeInputInfo(reader->form.sql, &input, &reader->ioparam);
		fmgr_info(input, &reader->input);
		reader->computes = input_computes(&reader->form, input);
	}
	return reader;
}

/*
 * Types that are left to their own functions
 */

/* Calls the input function, or checks the constraints of the domain. */
static bool
call_type(ValueReader *reader, char *text, Datum *value, struct Node *escontext)
{
#if PG17_GE
	if (text != NULL)
		return InputFunctionCallSafe(&reader->input, text, reader->ioparam, reader->form.typmod,
									 escontext, value);
	return domain_check_safe(*value, false, reader->declared, &reader->domain, reader->context,
							 escontext);
#else
	if (text != NULL)
		*value = InputFunctionCall(&reader->input, text, reader->ioparam, reader->form.typmod);
	else
		domain_check(*value, false, reader->declared, &reader->domain, reader->context);
	return true;
#endif
}

typedef struct TypeCall
{
	ValueReader *reader;
	char *text;
	Datum *value;
} TypeCall;

static void
make_call(void *arg)
{
	const TypeCall *call = arg;

	call_type(call->reader, call->text, call->value, NULL);
}

/* Does what only computes.  The server's own errors of that are noted, where it can note them. */
static bool
try_to_compute(TypeCall *call)
{
#if PG17_GE
	ErrorSaveContext soft = {T_ErrorSaveContext};

	return call_type(call->reader, call->text, call->value, (Node *) &soft);
#else
	return attempt_to_compute(make_call, call, value_is_to_blame) == NULL;
#endif
}

/*
 * Reads a value by functions of its type.  False: one of them has raised an error, which is taken
 * back with all that they have done, such as a change of the current user, since callers go on
 * after it.  Constraints of a domain, which a type may have inside, call any functions, and these
 * raise errors that the server cannot note.  Before PostgreSQL 17 there cannot be a subtransaction
 * while workers run, and the type's own error is raised.
 */
static bool
try_type(ValueReader *reader, char *text, Datum *value)
{
	TypeCall call = {reader, text, value};
	ErrorData *error;

	if (text != NULL && reader->computes)
		return try_to_compute(&call);
#if !PG17_GE
	if (IsInParallelMode())
		return call_type(reader, text, value, NULL);
#endif
	error = attempt(make_call, &call);
	if (error == NULL)
		return true;
	FreeErrorData(error);
	return false;
}

static bool
by_type(ValueReader *reader, char *text, bool lenient, Datum *value)
{
	return lenient ? try_type(reader, text, value) : call_type(reader, text, value, NULL);
}

/* Returns whether a domain may refuse a value that is not NULL. */
static bool
is_checked(const ValueReader *reader)
{
	ListCell *cell;

	UpdateDomainConstraintRef(reader->constraints);
	foreach (cell, reader->constraints->constraints)
	{
		const DomainConstraintState *constraint = lfirst(cell);

		if (constraint->constrainttype == DOM_CONSTRAINT_CHECK)
			return true;
	}
	return false;
}

/*
 * Numbers
 */

/* Returns the place of the first digit that is not 0 before the point; 0 and less are behind it. */
static int
leading_place(const char *number)
{
	const char *point = strchr(number, '.');
	int before = (int) (point == NULL ? strlen(number) : point - number);

	for (int i = 0; number[i] != '\0'; i++)
	{
		if (number[i] >= '1' && number[i] <= '9')
			return i < before ? before - i : before - i + 1;
	}
	return PG_INT32_MIN;
}

/* Reads a number, rounded as a cast does it, if it then has no more digits than the type. */
static bool
read_numeric(const ValueReader *reader, ItemSpan number, Datum *value)
{
	int scale;
	int precision = value_numeric_digits(reader->form.typmod, &scale);
	int before;
	int behind;
	Numeric scaled;

	item_number_places(number, &before, &behind);
	if (precision > 0 && scale >= 0 && before <= precision - scale &&
		(scaled = item_number_to_scaled(number, scale)) != NULL)
	{
		*value = NumericGetDatum(scaled);
		return true;
	}
	*value = NumericGetDatum(item_number_to_numeric(number));
	if (precision == 0)
		return true;
	*value = DirectFunctionCall2(numeric_round, *value, Int32GetDatum(scale));
	if (leading_place(DatumGetCString(DirectFunctionCall1(numeric_out, *value))) >
		precision - scale)
		return false;
	*value = DirectFunctionCall2(numeric, *value, Int32GetDatum(reader->form.typmod));
	return true;
}

static bool
read_float(const ValueReader *reader, ItemSpan number, Datum *value)
{
	char text[ITEM_NUMBER_TEXT];
	float narrow;

	item_number_print(number, text);
	if (reader->form.kind == VALUE_FLOAT8)
	{
		*value = Float8GetDatum(strtod(text, NULL));
		return true;
	}
	narrow = strtof(text, NULL);
	if (isinf(narrow) || (narrow == 0 && number.len > 0))
		return false;
	*value = Float4GetDatum(narrow);
	return true;
}

/* Converts seconds since 1970 to microseconds since 2000. */
static bool
seconds_to_timestamp(ItemSpan number, Timestamp *value)
{
	int64 microseconds;

	/* a place of a number is worth a hundred */
	if (!item_number_to_int64(number, 3, &microseconds) ||
		microseconds < (VALUE_FIRST_DAY + VALUE_EPOCH_DAYS) * USECS_PER_DAY ||
		microseconds >= (VALUE_LAST_DAY + 1 + VALUE_EPOCH_DAYS) * USECS_PER_DAY)
		return false;
	*value = microseconds - VALUE_EPOCH_DAYS * USECS_PER_DAY;
	return true;
}

static Timestamp
with_precision(const ValueReader *reader, Timestamp value)
{
	if (reader->form.typmod < 0)
		return value;
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_scale, TimestampGetDatum(value),
												 Int32GetDatum(reader->form.typmod)));
}

static int64
day_of(Timestamp value)
{
	return value / USECS_PER_DAY - (value % USECS_PER_DAY < 0);
}

static bool
read_integer(ItemSpan number, int64 min, int64 max, int64 *integer)
{
	*integer = 0;
	return item_number_to_int64(number, 0, integer) && *integer >= min && *integer <= max;
}

static bool
read_time(const ValueReader *reader, ItemSpan number, Datum *value)
{
	Timestamp timestamp;

	if (!seconds_to_timestamp(number, &timestamp))
		return false;
	*value = reader->form.kind == VALUE_DATE ? DateADTGetDatum((DateADT) day_of(timestamp))
											 : TimestampGetDatum(with_precision(reader, timestamp));
	return true;
}

static bool
read_number(const ValueReader *reader, ItemSpan number, Datum *value)
{
	int64 integer;
	bool fits = false;

	switch (reader->form.kind)
	{
		case VALUE_NUMERIC:
			return read_numeric(reader, number, value);
		case VALUE_FLOAT4:
		case VALUE_FLOAT8:
			return read_float(reader, number, value);
		case VALUE_TIMESTAMP:
		case VALUE_DATE:
			return read_time(reader, number, value);
		case VALUE_INT2:
			fits = read_integer(number, PG_INT16_MIN, PG_INT16_MAX, &integer);
			*value = Int16GetDatum((int16) integer);
			break;
		case VALUE_INT4:
			fits = read_integer(number, PG_INT32_MIN, PG_INT32_MAX, &integer);
			*value = Int32GetDatum((int32) integer);
			break;
		case VALUE_INT8:
			fits = read_integer(number, PG_INT64_MIN, PG_INT64_MAX, &integer);
			*value = Int64GetDatum(integer);
			break;
		case VALUE_BOOL:
			fits = read_integer(number, 0, 1, &integer);
			*value = BoolGetDatum(integer == 1);
			break;
		case VALUE_TEXT:
		case VALUE_CHAR:
		case VALUE_BYTEA:
		case VALUE_UUID:
		case VALUE_ENUM:
		case VALUE_JSON:
		case VALUE_LIST:
		case VALUE_VECTOR:
		case VALUE_SET:
		case VALUE_NOTHING:
		case VALUE_OUTPUT:
			break; /* value_form() makes no N of them */
	}
	return fits;
}

/*
 * Timestamps and dates in ISO 8601
 */

/* Takes the digits of a fixed number; returns false if there are fewer. */
static bool
take_digits(const char **p, const char *end, int digits, int *number)
{
	*number = 0;
	if (end - *p < digits)
		return false;
	for (; digits > 0; digits--, (*p)++)
	{
		if (**p < '0' || **p > '9')
			return false;
		*number = *number * 10 + (**p - '0');
	}
	return true;
}

static bool
take_char(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

/* Takes a date as days since 2000. */
static bool
take_date(const char **p, const char *end, int64 *days)
{
	int year;
	int month;
	int day;

	if (!take_digits(p, end, 4, &year) || !take_char(p, end, '-') ||
		!take_digits(p, end, 2, &month) || !take_char(p, end, '-') ||
		!take_digits(p, end, 2, &day) || year < 1 || month < 1 || month > MONTHS_PER_YEAR ||
		day < 1 || day > day_tab[isleap(year)][month - 1])
		return false;
	*days = date2j(year, month, day) - POSTGRES_EPOCH_JDATE;
	return true;
}

/* Takes a point and digits, of which six count. */
static bool
take_fraction(const char **p, const char *end, int *microseconds)
{
	int digits = 0;

	*microseconds = 0;
	if (!take_char(p, end, '.'))
		return true;
	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++, digits++)
	{
		if (digits < MAX_TIMESTAMP_PRECISION)
			*microseconds = *microseconds * 10 + (**p - '0');
	}
	for (int i = digits; i < MAX_TIMESTAMP_PRECISION; i++)
		*microseconds *= 10;
	return digits > 0;
}

static bool
take_time(const char **p, const char *end, int64 *microseconds)
{
	int hour;
	int minute;
	int second = 0;
	int fraction = 0;

	if (!take_digits(p, end, 2, &hour) || !take_char(p, end, ':') ||
		!take_digits(p, end, 2, &minute))
		return false;
	if (take_char(p, end, ':') &&
		(!take_digits(p, end, 2, &second) || !take_fraction(p, end, &fraction)))
		return false;
	*microseconds = ((hour * INT64CONST(60) + minute) * 60 + second) * USECS_PER_SEC + fraction;
	return hour < 24 && minute < 60 && second < 60;
}

/* Takes nothing, "Z", "+01:00", "-0130" or "+01", east of UTC. */
static bool
take_zone(const char **p, const char *end, bool *given, int64 *microseconds)
{
	bool west;
	int hour;
	int minute = 0;

	*microseconds = 0;
	*given = *p < end;
	if (*p == end || take_char(p, end, 'Z'))
		return *p == end;
	west = take_char(p, end, '-');
	if (!west && !take_char(p, end, '+'))
		return false;
	if (!take_digits(p, end, 2, &hour))
		return false;
	if (*p < end)
	{
		take_char(p, end, ':');
		if (!take_digits(p, end, 2, &minute))
			return false;
	}
	*microseconds = (hour * INT64CONST(60) + minute) * SECS_PER_MINUTE * USECS_PER_SEC;
	if (west)
		*microseconds = -*microseconds;
	return *p == end && hour < 16 && minute < 60;
}

/* Reads a timestamp, by default midnight in UTC; for type timestamp no other zone is allowed. */
static bool
read_timestamp(const ValueReader *reader, ItemSpan s, Datum *value)
{
	const char *p = s.data;
	const char *end = s.data + s.len;
	int64 days;
	int64 time = 0;
	int64 zone = 0;
	bool zoned = false;

	if (!take_date(&p, end, &days))
		return false;
	if (p < end)
	{
		if (!take_char(&p, end, 'T') && !take_char(&p, end, ' '))
			return false;
		if (!take_time(&p, end, &time) || !take_zone(&p, end, &zoned, &zone))
			return false;
	}
	if (zone != 0 && reader->form.sql != TIMESTAMPTZOID)
		return false;
	*value = TimestampGetDatum(with_precision(reader, days * USECS_PER_DAY + time - zone));
	return true;
}

static bool
read_date(ItemSpan s, Datum *value)
{
	const char *p = s.data;
	const char *end = s.data + s.len;
	int64 days;

	if (!take_date(&p, end, &days) || p != end)
		return false;
	*value = DateADTGetDatum((DateADT) days);
	return true;
}

/*
 * Strings and bytes
 */

static Datum
bytes_datum(ItemSpan bytes)
{
	return PointerGetDatum(span_text(bytes));
}

static bool
has_nul(ItemSpan s)
{
	return memchr(s.data, '\0', s.len) != NULL;
}

static bool
read_text(const ValueReader *reader, ItemSpan s, Datum *value)
{
	if (has_nul(s))
		return false;
	*value = bytes_datum(s);
	if (reader->form.typmod < VARHDRSZ)
		return true;
	if (pg_mbstrlen_with_len(s.data, (int) s.len) > reader->form.typmod - VARHDRSZ)
		return false;
	if (reader->form.kind == VALUE_CHAR)
		*value = DirectFunctionCall3(bpchar, *value, Int32GetDatum(reader->form.typmod),
									 BoolGetDatum(false));
	return true;
}

static bool
read_base64(ItemSpan s, Datum *value)
{
	int room = pg_b64_dec_len((int) s.len);
	bytea *bytes = palloc(VARHDRSZ + room);
	int len = pg_b64_decode(s.data, (int) s.len, (void *) VARDATA(bytes), room);

	if (len < 0)
		return false;
	SET_VARSIZE(bytes, VARHDRSZ + len);
	*value = PointerGetDatum(bytes);
	return true;
}

static bool
read_uuid(ItemSpan s, Datum *value)
{
	pg_uuid_t *uuid = palloc0(sizeof(pg_uuid_t));
	int digits = 0;

	if (s.len != 36)
		return false;
	for (int i = 0; i < 36; i++)
	{
		char c = s.data[i];

		if (i == 8 || i == 13 || i == 18 || i == 23)
		{
			if (c != '-')
				return false;
			continue;
		}
		if (!isxdigit((unsigned char) c))
			return false;
		uuid->data[digits / 2] = (unsigned char) (uuid->data[digits / 2] << 4 |
												  (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10));
		digits++;
	}
	*value = UUIDPGetDatum(uuid);
	return true;
}

static bool
read_enum(const ValueReader *reader, ItemSpan s, Datum *value)
{
	HeapTuple tuple;
	char *label;

	if (s.len >= NAMEDATALEN || has_nul(s))
		return false;
	label = span_string(s);
	tuple =
		SearchSysCache2(ENUMTYPOIDNAME, ObjectIdGetDatum(reader->form.sql), CStringGetDatum(label));
	if (!HeapTupleIsValid(tuple))
		return false;
	ReleaseSysCache(tuple);
	/* it may not be committed yet, which the input function knows */
	*value = FunctionCall3((FmgrInfo *) &reader->input, CStringGetDatum(label),
						   ObjectIdGetDatum(reader->ioparam), Int32GetDatum(-1));
	return true;
}

static bool
read_string(ValueReader *reader, ItemSpan s, bool lenient, Datum *value)
{
	switch (reader->form.kind)
	{
		case VALUE_TEXT:
		case VALUE_CHAR:
			return read_text(reader, s, value);
		case VALUE_BYTEA:
			return read_base64(s, value);
		case VALUE_BOOL:
			*value = BoolGetDatum(item_span_is(s, "true"));
			return DatumGetBool(*value) || item_span_is(s, "false");
		case VALUE_TIMESTAMP:
			return read_timestamp(reader, s, value);
		case VALUE_DATE:
			return read_date(s, value);
		case VALUE_UUID:
			return read_uuid(s, value);
		case VALUE_ENUM:
			return read_enum(reader, s, value);
		case VALUE_OUTPUT:
			return !has_nul(s) && by_type(reader, span_string(s), lenient, value);
		case VALUE_INT2:
		case VALUE_INT4:
		case VALUE_INT8:
		case VALUE_NUMERIC:
		case VALUE_FLOAT4:
		case VALUE_FLOAT8:
		case VALUE_JSON:
		case VALUE_LIST:
		case VALUE_VECTOR:
		case VALUE_SET:
		case VALUE_NOTHING:
			break; /* value_form() makes VALUE_OUTPUT of an S of these */
	}
	return false;
}

/*
 * JSON, lists and sets
 */

/* Returns whether json and jsonb can hold a value: U+0000 is nothing that they have. */
static bool
is_json(ItemSpan value)
{
	ItemType type = item_type(value);
	ItemChildren c;

	if (type == ITEM_S)
		return !has_nul(item_payload(value));
	if (!item_type_has_children(type))
		return true;
	check_stack_depth();
	c = item_children(value);
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan child = item_child(&c, i);

		if (type == ITEM_SS && has_nul(child))
			return false;
		if (type == ITEM_M)
		{
			ItemSpan name;

			child = item_entry(child, &name);
			if (has_nul(name))
				return false;
		}
		if ((type == ITEM_M || type == ITEM_L) && !is_json(child))
			return false;
	}
	return true;
}

static bool
read_json(const ValueReader *reader, ItemSpan value, Datum *json)
{
	StringInfoData text;

	if (!is_json(value))
		return false;
	if (reader->form.sql == JSONBOID)
	{
		*json = item_to_jsonb(value);
		return true;
	}
	initStringInfo(&text);
	item_print_plain(&text, value);
	*json = bytes_datum((ItemSpan){text.data, (uint32) text.len});
	return true;
}

/* An ArrayWork is an array in the making. */
typedef struct ArrayWork
{
	int ndims;
	int dims[MAXDIM];
	int n;
	Datum *values;
	bool *nulls;
} ArrayWork;

/* Measures as deep as the first elements are lists: array elements are none, but for JSON. */
static bool
measure_list(const ValueReader *reader, ItemSpan value, ArrayWork *work)
{
	int total = 1;

	work->ndims = 0;
	while (item_type(value) == ITEM_L)
	{
		ItemChildren c = item_children(value);

		if (c.count == 0)
		{
			/* '{}' has no dimension, and '{{}}' is nothing else */
			work->ndims = 0;
			return work->dims[0] == 0;
		}
		if (work->ndims == MAXDIM || pg_mul_s32_overflow(total, (int32) c.count, &total))
			return false;
		work->dims[work->ndims++] = (int) c.count;
		value = item_child(&c, 0);
		if (reader->element->form.kind == VALUE_JSON)
			break;
	}
	if (total > MaxArraySize)
		return false;
	work->values = palloc(total * sizeof(Datum));
	work->nulls = palloc(total * sizeof(bool));
	return true;
}

static bool
read_dimension(ValueReader *reader, ItemSpan value, int dim, bool lenient, ArrayWork *work)
{
	ItemChildren c;

	if (item_type(value) != ITEM_L)
		return false;
	c = item_children(value);
	if (c.count != work->dims[dim])
		return false;
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan child = item_child(&c, i);

		if (dim + 1 < work->ndims)
		{
			if (!read_dimension(reader, child, dim + 1, lenient, work))
				return false;
			continue;
		}
		work->nulls[work->n] =
			item_type(child) == ITEM_NULL && !(reader->element->form.kind == VALUE_JSON);
		if (work->nulls[work->n] && reader->form.length > 0)
			return false;
		if (!work->nulls[work->n] &&
			!value_read(reader->element, child, lenient, &work->values[work->n]))
			return false;
		work->n++;
	}
	return true;
}

static Datum
make_array(const ValueReader *reader, ArrayWork *work)
{
	int lower[MAXDIM] = {1, 1, 1, 1, 1, 1};

	if (work->ndims == 0)
		return PointerGetDatum(construct_empty_array(reader->form.element));
	return PointerGetDatum(construct_md_array(work->values, work->nulls, work->ndims, work->dims,
											  lower, reader->form.element, reader->elmlen,
											  reader->elmbyval, reader->elmalign));
}

static Datum
make_vector(const ArrayWork *work)
{
	PgVector *vector = pgvector_new(work->n);

	for (int i = 0; i < work->n; i++)
		vector->values[i] = DatumGetFloat4(work->values[i]);
	return PointerGetDatum(vector);
}

static bool
read_list(ValueReader *reader, ItemSpan value, bool lenient, Datum *array)
{
	ArrayWork work = {0};

	if (!measure_list(reader, value, &work) ||
		(reader->form.length > 0 && (work.ndims != 1 || work.dims[0] != reader->form.length)) ||
		(work.ndims > 0 && !read_dimension(reader, value, 0, lenient, &work)))
		return false;
	*array = reader->form.kind == VALUE_VECTOR ? make_vector(&work) : make_array(reader, &work);
	return true;
}

static bool
read_set(ValueReader *reader, ItemSpan value, bool lenient, Datum *array)
{
	ItemType type = item_element_type(item_type(value));
	ItemChildren c = item_children(value);
	ArrayWork work = {.ndims = 1, .dims = {(int) c.count}};

	work.values = palloc(c.count * sizeof(Datum));
	work.nulls = palloc0(c.count * sizeof(bool));
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan element = item_child(&c, i);
		char *tagged = palloc(element.len + 1);

		tagged[0] = (char) type;
		memcpy(tagged + 1, element.data, element.len);
		if (!value_read(reader->element, (ItemSpan){tagged, element.len + 1}, lenient,
						&work.values[i]))
			return false;
		pfree(tagged);
	}
	*array = make_array(reader, &work);
	return true;
}

/*
 * All of them
 */

static bool
read_value(ValueReader *reader, ItemSpan attribute, bool lenient, Datum *value)
{
	ItemType type = item_type(attribute);

	if (reader->form.kind == VALUE_JSON && reader->form.any_json)
		return read_json(reader, attribute, value);
	if (type != reader->form.type)
		return false;
	switch (type)
	{
		case ITEM_S:
			return read_string(reader, item_payload(attribute), lenient, value);
		case ITEM_N:
			return read_number(reader, item_payload(attribute), value);
		case ITEM_B:
			*value = bytes_datum(item_payload(attribute));
			return true;
		case ITEM_BOOL:
			*value = BoolGetDatum(item_bool(attribute));
			return true;
		case ITEM_M:
			return read_json(reader, attribute, value);
		case ITEM_L:
			return reader->form.kind == VALUE_JSON ? read_json(reader, attribute, value)
												   : read_list(reader, attribute, lenient, value);
		case ITEM_SS:
		case ITEM_NS:
		case ITEM_BS:
			return read_set(reader, attribute, lenient, value);
		case ITEM_NULL:
			break;
	}
	return false;
}

static void
fail_read(const ValueReader *reader, ItemSpan attribute)
{
	StringInfoData text;

	initStringInfo(&text);
	item_print_typed(&text, attribute);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("%s is no %s of type %s", item_quoted((ItemSpan){text.data, (uint32) text.len}),
					value_code(&(ValueType){reader->form.type, .length = reader->form.length}),
					format_type_with_typemod(reader->form.sql, reader->form.typmod))));
}

/*
 * Converts an attribute to a value of SQL in the current memory context.  False: the attribute is
 * NULL or, with lenient, not of the type (but see value.h on parallel queries).  Without lenient
 * the latter raises ERRCODE_DYN_VALIDATION or an error of the type's own functions.
 */
bool
value_read(ValueReader *reader, ItemSpan attribute, bool lenient, Datum *value)
{
	if (item_type(attribute) == ITEM_NULL && !reader->form.any_json)
		return false;
	if (!read_value(reader, attribute, lenient, value))
	{
		if (!lenient)
			fail_read(reader, attribute);
		return false;
	}
	return reader->constraints == NULL || !is_checked(reader) ||
		   by_type(reader, NULL, lenient, value);
}
