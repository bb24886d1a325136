/*
 * parameters.h
 *	  Parameters of a request that belong together, as far as all operations have them.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_PARAMETERS_H
#define DYNAMO_TABLE_API_REQUEST_PARAMETERS_H

#include "actions/several.h"
#include "api/request/legacy.h"

/* This is a member of what has a ConditionExpression. */
#define RETURN_ON_FAILURE(type, field) \
	{ \
		"ReturnValuesOnConditionCheckFailure", MEMBER_CHOICE, offsetof(type, field), \
			.choices = option_return_old, .set = "ALL_OLD, NONE" \
	}

/* This is an expression that an operation takes. */
typedef struct ExpressionParameter
{
	const char *name;
	const text *text; /* NULL: not given */
	bool values; /* may use ExpressionAttributeValues */
} ExpressionParameter;

extern void parameters_check(const ExpressionParameter *expressions, int n,
							 const LegacyParameters *legacy, bool names, bool values);
extern void parameters_check_item(TransactKind kind, const ItemRequest *request,
								  const LegacyParameters *legacy, bool names, bool values);
extern void parameters_check_query(const ReadRequest *read, const text *key_condition,
								   const LegacyParameters *legacy, bool names, bool values);
extern void parameters_check_scan(const ReadRequest *read, const LegacyParameters *legacy,
								  bool names, bool values);

#endif
