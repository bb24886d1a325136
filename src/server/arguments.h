/*
 * arguments.h
 *	  Arguments of SQL functions by their position, where NULL means not given; and choices and
 *	  numbers, which arguments, requests and declarations read by the same rules.
 */
#ifndef DYNAMO_TABLE_SERVER_ARGUMENTS_H
#define DYNAMO_TABLE_SERVER_ARGUMENTS_H

#include "nodes/pg_list.h"
#include "utils/array.h"

#include "server/span.h"

/*
 * parameter is the name for messages; choices is a list that ends with NULL, in the order of an
 * enum.
 */
extern int option_choice(const char *parameter, ItemSpan value, const char *const *choices);

extern void argument_require(FunctionCallInfo fcinfo, int i, const char *name);
extern text *argument_text(FunctionCallInfo fcinfo, int i);
extern text *argument_required_text(FunctionCallInfo fcinfo, int i, const char *name);
extern Datum *argument_elements(ArrayType *array, const char *name, int *n);
extern int64 argument_positive(FunctionCallInfo fcinfo, int i, const char *name);
extern int argument_between(FunctionCallInfo fcinfo, int i, const char *name, int least, int most);
extern int argument_choice(FunctionCallInfo fcinfo, int i, const char *name, int missing,
						   const char *const *choices);
extern bool argument_flag(FunctionCallInfo fcinfo, int i, bool missing);
extern text *span_text(ItemSpan span);
extern void return_texts(FunctionCallInfo fcinfo, const List *texts);

#endif
