/*
 * arguments.c
 *	  Arguments of SQL functions; choices and numbers in them; texts that functions return.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "server/arguments.h"
#include "server/errors.h"

/* Returns the choices as "A, B or C". */
static char *
list_choices(const char *const *choices)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; choices[i] != NULL; i++)
	{
		if (i > 0)
			appendStringInfoString(&list, choices[i + 1] == NULL ? " or " : ", ");
		appendStringInfoString(&list, choices[i]);
	}
	return list.data;
}

/* Returns the number of the choice that the value is. */
int
option_choice(const char *parameter, ItemSpan value, const char *const *choices)
{
	for (int i = 0; choices[i] != NULL; i++)
	{
		if (item_span_is(value, choices[i]))
			return i;
	}
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s \"%s\"", parameter, item_quoted(value)),
					errhint("Use %s.", list_choices(choices))));
}

/* A limit is 1 at least (docs/semantics.md, L13). */
static int64
option_positive(const char *parameter, int64 value)
{
	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("%s must be at least 1", parameter)));
	return value;
}

/* Raise ERRCODE_DYN_VALIDATION if argument i is null.  The message calls the argument by name. */
void
argument_require(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s must not be null", name)));
}

/* Returns argument i, detoasted if need be, or NULL if the argument is null. */
text *
argument_text(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_TEXT_PP(i);
}

/* Returns argument i, detoasted if need be.  Raises ERRCODE_DYN_VALIDATION if it is null. */
text *
argument_required_text(FunctionCallInfo fcinfo, int i, const char *name)
{
	argument_require(fcinfo, i, name);
	return PG_GETARG_TEXT_PP(i);
}

/*
 * Returns the elements of an array that is an argument, which are of one of our types, or text.  Raises
 * ERRCODE_DYN_VALIDATION if one is null.
 */
Datum *
argument_elements(ArrayType *array, const char *name, int *n)
{
	Datum *elements;
	bool *nulls;

	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &elements, &nulls, n);
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("element %d of %s must not be null", i + 1, name)));
	}
	return elements;
}

/* Returns the argument, which must be positive, or 0 for none. */
int64
argument_positive(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		return 0;
	return option_positive(name, PG_GETARG_INT64(i));
}

/*
 * Returns argument i, a number from least to most.  NULL and any other number are
 * ERRCODE_DYN_VALIDATION.
 */
int
argument_between(FunctionCallInfo fcinfo, int i, const char *name, int least, int most)
{
	int64 value;

	argument_require(fcinfo, i, name);
	value = PG_GETARG_INT64(i);
	if (value < least || value > most)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("%s must be between %d and %d", name, least, most)));
	return (int) value;
}

/*
 * Returns the number of the choice that argument i, of type text, names, or missing if the argument
 * is null.  The list of choices ends with NULL.  Any other text is ERRCODE_DYN_VALIDATION.
 */
int
argument_choice(FunctionCallInfo fcinfo, int i, const char *name, int missing,
				const char *const *choices)
{
	if (PG_ARGISNULL(i))
		return missing;
	return option_choice(name, text_span(PG_GETARG_TEXT_PP(i)), choices);
}

/* Returns argument i, a boolean, or what stands for NULL. */
bool
argument_flag(FunctionCallInfo fcinfo, int i, bool missing)
{
	return PG_ARGISNULL(i) ? missing : PG_GETARG_BOOL(i);
}

/* Returns bytes as a text, which they have to be. */
text *
span_text(ItemSpan span)
{
	return cstring_to_text_with_len(span.data, (int) span.len);
}

/* Returns texts, each a row, from a function that returns SETOF text. */
void
return_texts(FunctionCallInfo fcinfo, const List *texts)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell *cell;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach (cell, texts)
	{
		Datum value = CStringGetTextDatum((const char *) lfirst(cell));
		bool isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
	}
}
