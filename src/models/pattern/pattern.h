/*
 * pattern.h
 *	  Access patterns: requests with names, and with templates where they have parameters.
 *
 * A declaration in the table's label (see model.h):
 *
 *		{"pattern": "projects_of_org", "operation": "Query", "entity": "Project", "notes": "…",
 *		 "request": {"KeyConditionExpression": "pk = :p AND begins_with(sk, :s)",
 *					 "ExpressionAttributeValues": {":p": {"S": "ORG#<OrgId>"}, ":s": {"S": "PRO#"}}}}
 *
 * The request is one of dyn_request() without the table.  Strings that are values, {"S": "…"},
 * are templates (template.h) of the parameters; one that is a placeholder and nothing else takes
 * the parameter with its own type.  "<<" is one "<" there.
 *
 *		pattern.c	declaring, removing and listing patterns
 *		request.c	from a pattern and its parameters to a request
 *		run.c		dyn_run_access_pattern()
 */
#ifndef DYNAMO_TABLE_MODELS_PATTERN_PATTERN_H
#define DYNAMO_TABLE_MODELS_PATTERN_PATTERN_H

#include "utils/jsonb.h"

#include "models/entity/model.h"

typedef struct Pattern
{
	ItemSpan name;
	Oid relid; /* the table that it is declared for */
	char *operation;
	char *entity; /* or NULL, as are the notes */
	char *notes;
	Jsonb *request;
} Pattern;

/* pattern.c */
extern void *pattern_parse(const ModelDeclaration *declaration, Relation rel,
						   const DynTable *table);
extern bool pattern_transacts(const Pattern *pattern);
extern bool pattern_reads_range(const Pattern *pattern);
extern void pattern_begin_context(const Pattern *pattern, ErrorContextCallback *callback);

/* request.c: without parameters, with values that stand for any */
extern char *pattern_request(const Pattern *pattern, const char *table, const DynItem *parameters,
							 const DynItem *start_key);
extern List *pattern_parameters(const Pattern *pattern); /* of ItemSpan *: their names */

#endif
