/*
 * arguments.h
 *	  Arguments of the typed SQL functions, by their place; NULL is what is not given.
 */
#ifndef DYNAMO_TABLE_ACTIONS_ARGUMENTS_H
#define DYNAMO_TABLE_ACTIONS_ARGUMENTS_H

#include "actions/options.h"

extern void argument_require(FunctionCallInfo fcinfo, int i, const char *name);
extern text *argument_text(FunctionCallInfo fcinfo, int i);
extern DynItem *argument_item(FunctionCallInfo fcinfo, int i);
extern int64 argument_positive(FunctionCallInfo fcinfo, int i, const char *name);
extern int argument_choice(FunctionCallInfo fcinfo, int i, const char *name, int missing,
						   const char *const *choices);
extern ExprRequest *argument_expressions(FunctionCallInfo fcinfo, int names, int vals);
extern void argument_write(FunctionCallInfo fcinfo, int i, const char *const *choices,
						   ItemRequest *request);

#endif
