/*
 * expr.h
 *	  Expressions: parsed once, kept by text, evaluated on the encoded item.
 *
 * A request's expressions share its names and values.  The order of calls is
 *
 *		request = expr_request(names, vals);
 *		... expr_key_condition(), expr_condition(), expr_projection(), expr_update() ...
 *		expr_request_done(request);
 *
 * and then evaluation, as often as wanted.  Whatever can be wrong with a request without
 * looking at an item is an error before expr_request_done() has returned; after it only
 * expr_apply() raises errors, those that need the item.  All are ERRCODE_DYN_VALIDATION.
 *
 * What these functions return, and what they were given (names, vals), must live as
 * long as the memory context that was current in expr_request(): all is allocated there,
 * and the parsed expressions, which a cache shares, are pinned until it is reset.  The
 * texts need not live on.
 *
 *		tree.h			the parsed expression, for the files of this folder
 *		scan.l			tokens
 *		gram.y			the grammar
 *		syntax.c		the grammar alone
 *		node.c			nodes of conditions and values, and where each is allowed
 *		path.c			document paths: made from the text, followed in an item, merged into a tree
 *		reserved.c		the words that cannot be names of attributes
 *		error.c			errors: which expression, what is wrong, and where in the text
 *		words.c			what DynamoDB says of them
 *		compile.c		running the parser, and the cache of what it made
 *		build.h			the same trees of other languages
 *		build.c			building these
 *		legacy.c		the same trees of legacy parameters, which have no text
 *		request.c		the names and values of a request, bound to its expressions
 *		key.c			key conditions
 *		condition.c		the table of operators and functions; conditions and filters
 *		projection.c	projections
 *		update.c		updates
 *		functions.c		dyn_matches(), dyn_project(), dyn_apply(): expressions without a table
 */
#ifndef DYNAMO_TABLE_EXPR_EXPR_H
#define DYNAMO_TABLE_EXPR_EXPR_H

#include "utils/jsonb.h"

#include "item/item.h"

typedef enum ExprKind
{
	EXPR_KEY_CONDITION,
	EXPR_FILTER,
	EXPR_PROJECTION,
	EXPR_CONDITION,
	EXPR_UPDATE,
	EXPR_SEARCH_CONDITION
} ExprKind;

typedef struct ExprRequest ExprRequest;

/* An Expr is one expression with the values of one request. */
typedef struct Expr Expr;

/* An ExprKeyOp says what a sort or partition key must be: "attribute op value". */
typedef enum ExprKeyOp
{
	EXPR_KEY_EQ,
	EXPR_KEY_LT,
	EXPR_KEY_LE,
	EXPR_KEY_GT,
	EXPR_KEY_GE,
	EXPR_KEY_BETWEEN,
	EXPR_KEY_BEGINS_WITH
} ExprKeyOp;

typedef struct ExprKeyTerm
{
	ItemSpan attribute;
	ExprKeyOp op;
	ItemSpan value[2]; /* with their tags; the second one is BETWEEN's upper bound */
} ExprKeyTerm;

#define EXPR_MAX_KEY_TERMS 8 /* of the key of any index */

/*
 * An ExprKeyCondition has terms of distinct attributes, in the order of the text.  The caller
 * checks whether these are the key's attributes and the values have their types.  BETWEEN's bounds
 * are of one type and in order; begins_with() has an S or a B.
 */
typedef struct ExprKeyCondition
{
	const char *parameter; /* of the API, for messages */
	int nterms; /* in the text: of those that are too many for any key there are no terms */
	ExprKeyTerm terms[EXPR_MAX_KEY_TERMS];
} ExprKeyCondition;

/*
 * Legacy parameters have names of top-level attributes and values instead of texts, so nothing
 * of these belongs to an ExprRequest.  Names and values must live as long as the expression.
 */

#define EXPR_MAX_LEGACY_PROJECTION 255

typedef enum ExprLegacyOperator
{
	EXPR_LEGACY_EQ,
	EXPR_LEGACY_NE,
	EXPR_LEGACY_LE,
	EXPR_LEGACY_LT,
	EXPR_LEGACY_GE,
	EXPR_LEGACY_GT,
	EXPR_LEGACY_NOT_NULL,
	EXPR_LEGACY_NULL,
	EXPR_LEGACY_CONTAINS,
	EXPR_LEGACY_NOT_CONTAINS,
	EXPR_LEGACY_BEGINS_WITH,
	EXPR_LEGACY_IN,
	EXPR_LEGACY_BETWEEN
} ExprLegacyOperator;

typedef struct ExprLegacyCondition
{
	ItemSpan attribute;
	ExprLegacyOperator op;
	int nvalues;
	const ItemSpan *values; /* with their tags, as everywhere here */
} ExprLegacyCondition;

typedef enum ExprLegacyAction
{
	EXPR_LEGACY_PUT,
	EXPR_LEGACY_ADD,
	EXPR_LEGACY_DELETE
} ExprLegacyAction;

typedef struct ExprLegacyUpdate
{
	ItemSpan attribute;
	ExprLegacyAction action;
	ItemSpan value; /* no data: none */
} ExprLegacyUpdate;

/* request.c */
extern ExprRequest *expr_request(const Jsonb *names, const DynItem *vals);
extern ExprRequest *expr_request_of_api(const Jsonb *names, const DynItem *vals);
extern ExprRequest *expr_request_any_depth(const Jsonb *names, const DynItem *vals);
extern ExprRequest *expr_request_arguments(FunctionCallInfo fcinfo, int names, int vals);
extern void expr_request_done(const ExprRequest *request);

/* compile.c */
extern Expr *expr_condition(ExprRequest *request, ExprKind kind, ItemSpan text);
extern Expr *expr_projection(ExprRequest *request, ItemSpan text);
extern Expr *expr_update(ExprRequest *request, ItemSpan text);
extern const ItemSpan *expr_attributes(const Expr *expr, int *count);
extern bool expr_mentions(const Expr *expr, ItemSpan attribute);
extern bool expr_looks_into(const Expr *expr, ItemSpan attribute);

extern const char *expr_parameter(const Expr *expr);
extern ExprKind expr_kind(const Expr *expr);

/* legacy.c: the arrays are put in order; the names of operators and actions end with NULL */
extern const char *const expr_legacy_operators[];
extern const char *const expr_legacy_actions[];
extern Expr *expr_legacy_condition(ExprKind kind, const char *parameter,
								   ExprLegacyCondition *conditions, int n, bool any);
extern ExprKeyCondition *expr_legacy_key_condition(ExprLegacyCondition *conditions, int n);
extern Expr *expr_legacy_projection(ItemSpan *names, int n);
extern Expr *expr_legacy_update(ExprLegacyUpdate *updates, int n);

/* key.c */
extern Expr *expr_key_condition(ExprRequest *request, ItemSpan text);
extern ExprKeyCondition *expr_key_terms(const Expr *expr);

/* condition.c: an item of NULL is one without attributes */
extern bool expr_matches(const Expr *condition, const DynItem *item);
extern bool expr_requires(const Expr *condition, ItemSpan attribute, ItemSpan *value, bool *alone);

/* projection.c */
extern DynItem *expr_project(const Expr *projection, const DynItem *item);

/* update.c */
extern bool expr_sets_value(const Expr *update, ItemSpan attribute, ItemSpan *value);
extern bool expr_copies(const Expr *update, ItemSpan attribute);
extern DynItem *expr_apply(const Expr *update, const DynItem *old, const DynItem *key);
extern DynItem *expr_updated_old(const Expr *update, const DynItem *old);
extern DynItem *expr_updated_new(const Expr *update, const DynItem *old, const DynItem *key);

#endif
