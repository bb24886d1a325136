/*
 * tree.h
 *	  What the parser makes of an expression, for the files of this folder only.
 *
 * A condition is a tree of nodes.  Projections and updates are a tree of document paths,
 * where each step occurs once: overlaps and conflicts show while it is built, and
 * evaluation walks it along with the item.  All memory is the ExprCompiled's; strings
 * point into its copies of text and names.  After parsing nothing of it changes but pins.
 */
#ifndef DYNAMO_TABLE_EXPR_TREE_H
#define DYNAMO_TABLE_EXPR_TREE_H

#include "nodes/pg_list.h"

#include "expr/build.h"
#include "server/text_cache.h"

#define EXPR_MAX_TEXT 4096 /* bytes of an expression */
#define EXPR_MAX_OPERATORS 300 /* operators and functions of an expression */
#define EXPR_MAX_STEPS 32 /* names and indexes of a path */
#define EXPR_MAX_IN 100 /* values in the list of IN */
#define EXPR_MAX_PLACEHOLDER 255 /* bytes of a placeholder, with its sign */
#define EXPR_MAX_PLACEHOLDERS (2 * 1024 * 1024) /* bytes of all names and values */

#define EXPR_NODE_TYPES (NODE_TRUTH + 1)

struct ExprPath
{
	int nsteps; /* the first one is a name */
	int maxsteps;
	int location; /* byte offset in the text, as everywhere here */
	ExprStep *steps;
};

struct ExprNode
{
	ExprNodeType type;
	const struct ExprRule *rule; /* of the type */
	bool parens; /* stands in parentheses of its own */
	int location;
	int next; /* where the token behind it is, if it stands where a condition may */
	int slot; /* of a value */
	ExprPath *path; /* of a path */
	int nargs;
	struct ExprNode **args;
};

/*
 * What operators and functions take, and what they do: all that is known of one is its row in
 * expr_rules.
 */

/* An ExprArgument says what an argument of a function may be. */
typedef enum ExprArgument
{
	ARG_NONE,
	ARG_PATH,
	ARG_VALUE,
	ARG_OPERAND, /* path or value */
	ARG_NESTED /* path, value or if_not_exists() */
} ExprArgument;

/* An ExprEval holds what a condition is evaluated on. */
typedef struct ExprEval
{
	const ItemSpan *values;
	ItemChildren item;
} ExprEval;

/* ExprScratch has room for a number that size() makes, or for true or false. */
typedef struct ExprScratch
{
	char value[1 + ITEM_NUMBER_SIZE];
} ExprScratch;

typedef struct ExprApply ExprApply; /* of an update: see update.c */

/* An ExprKeyRule is a key condition's comparison; turned is that of an attribute on the right. */
typedef struct ExprKeyRule
{
	bool allowed;
	bool turns;
	ExprKeyOp op;
	ExprKeyOp turned;
} ExprKeyRule;

/* Sets of types. */
#define EXPR_TYPE(type) (1 << (type))
#define EXPR_ANY (~0)
#define EXPR_ORDERED (EXPR_TYPE(ITEM_S) | EXPR_TYPE(ITEM_N) | EXPR_TYPE(ITEM_B))
#define EXPR_PREFIX (EXPR_TYPE(ITEM_S) | EXPR_TYPE(ITEM_B))

typedef struct ExprRule
{
	const char *name;
	ExprArgument args[2]; /* of a function */
	bool in_update; /* the function is of updates, or else of conditions */
	bool condition; /* true or false, or else a value */
	bool joins; /* takes conditions, or else values */
	bool differ; /* its two arguments are not the same path */
	int types[2]; /* of values of the request: of the first argument, and of the others */
	ExprKeyRule key;
	void (*check)(const Expr *expr, const ExprNode *node); /* of such values, beside types */

	/* one of these */
	bool (*matches)(const ExprEval *e, const ExprNode *node);
	bool (*find)(const ExprEval *e, const ExprNode *node, ExprScratch *scratch, ItemSpan *value);
	ItemSpan (*get)(const ExprApply *apply, const ExprNode *node); /* in an update: it has one */
	void (*write)(ExprApply *apply, const ExprNode *node); /* in an update: it is made */
} ExprRule;

extern const ExprRule expr_rules[EXPR_NODE_TYPES];

static inline bool
expr_is_function(const ExprRule *rule)
{
	return rule->args[0] != ARG_NONE;
}

typedef enum ExprTreeType
{
	TREE_LEAF,
	TREE_MAP, /* children are names, in order */
	TREE_LIST /* children are indexes, in order */
} ExprTreeType;

typedef struct ExprTree
{
	ExprTreeType type;
	ExprStep step; /* leads here */
	int nchildren;
	int maxchildren;
	struct ExprTree **children;
	/* of a leaf */
	const ExprPath *path;
	ExprVerb verb;
	const ExprNode *value;
} ExprTree;

/* An ExprColumn is one of a flat projection: what is at a path, under a name of its own. */
typedef struct ExprColumn
{
	ItemSpan name;
	const ExprPath *path;
} ExprColumn;

/* An ExprSlot is a value placeholder that occurs in the text. */
typedef struct ExprSlot
{
	ItemSpan name;
	int location; /* of its first use */
} ExprSlot;

struct ExprCompiled
{
	TextEntry entry; /* in the cache */

	ExprKind kind;
	const char *parameter; /* of the API, which is what users know it by */
	ItemSpan text; /* a legacy parameter has none, and all its locations are -1 */
	ItemSpan names; /* the bytes of the jsonb; no data if there was none */

	bool parsing; /* its syntax may still be wrong */
	ExprNode *root; /* of a condition */
	ExprTree *tree; /* of a projection or an update */
	bool creates; /* an update with SET or ADD */
	int nslots;
	int maxslots;
	ExprSlot *slots;
	int nused_names;
	int maxused_names;
	int *used_names; /* by their number in the names */
	int nattributes;
	int maxattributes;
	ItemSpan *attributes; /* for expr_attributes() */
	List *deep; /* paths of more than a name, but for those of other languages */
	bool bare; /* DynamoDB's words do not begin with the parameter */
	int ncolumns; /* of a flat projection, which has no tree */
	ExprColumn *columns;
};

struct Expr
{
	Expr *next; /* of the request */
	ExprCompiled *compiled;
	const ItemSpan *values; /* by slot */
};

/* An ExprParse is the state of a parse, or of a build. */
struct ExprParse
{
	ExprCompiled *compiled;
	const ExprRequest *request;
	int start_token; /* chooses the grammar, then 0 */
	int offset; /* behind the last token */
	int token; /* offset of the last token */
	int noperators;
	bool verbs[EXPR_DELETE + 1]; /* clauses seen */
};

/* Returns whether text is a placeholder's name, after its sign. */
static inline bool
expr_is_word(ItemSpan s)
{
	for (uint32 i = 0; i < s.len; i++)
	{
		unsigned char c = s.data[i];

		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			  c == '_'))
			return false;
	}
	return s.len > 0;
}

static inline bool
expr_span_equal(ItemSpan a, ItemSpan b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* reserved.c */
extern bool expr_is_reserved(ItemSpan word);

/* error.c */
pg_noreturn extern void expr_fail_hint(const ExprCompiled *compiled, int location,
									   const char *words, const char *hint, const char *message);
pg_noreturn extern void expr_fail(const ExprCompiled *compiled, int location, const char *words,
								  const char *format, ...) pg_attribute_printf(4, 5);
pg_noreturn extern void expr_fail_item(const ExprCompiled *compiled, int location,
									   const char *words, const char *hint, const char *format, ...)
	pg_attribute_printf(5, 6);
pg_noreturn extern void expr_fail_reserved(const ExprCompiled *compiled, int location,
										   ItemSpan name);
pg_noreturn extern void expr_fail_syntax(const ExprParse *parse, const char *message);
extern char *expr_path_text(const ExprPath *path);
extern char *expr_operand_text(const ExprCompiled *compiled, const ExprNode *node);

/* words.c */
extern char *expr_words(const ExprCompiled *compiled, const char *format, ...)
	pg_attribute_printf(2, 3);
extern char *expr_words_syntax(const ExprCompiled *compiled, int location);
extern char *expr_words_type(const ExprCompiled *compiled, const ExprRule *rule, const char *type);
extern char *expr_words_undefined(const ExprCompiled *compiled, ItemSpan placeholder);
extern char *expr_words_misused(const ExprCompiled *compiled, const ExprRule *rule);
extern char *expr_words_path(const ExprPath *path);
extern char *expr_words_bounds(const ExprCompiled *compiled, const char *problem, ItemSpan lower,
							   ItemSpan upper);

/* request.c */
extern int expr_request_name(const ExprRequest *request, ItemSpan placeholder, ItemSpan copy,
							 ItemSpan *name);
extern Expr *expr_bind(ExprRequest *request, ExprKind kind, ItemSpan text);

/* compile.c */
extern ExprCompiled *expr_compile(const ExprRequest *request, ItemSpan names, ExprKind kind,
								  ItemSpan text);
extern void expr_check_syntax(const ExprCompiled *compiled);
extern void expr_find_token(const ExprCompiled *compiled, int location, ItemSpan *token,
							ItemSpan *near);

/* node.c, called by the grammar */
extern ExprNode *expr_make_node(ExprParse *parse, ExprNodeType type, int location, List *args);
extern ExprNode *expr_new_node(ExprNodeType type, int location, List *args);
extern ExprNode *expr_make_function(ExprParse *parse, ItemSpan name, int location, List *args);
extern ExprNode *expr_make_value(ExprParse *parse, ItemSpan placeholder, int location);
extern ExprNode *expr_make_path_node(ExprParse *parse, ExprPath *path);
extern ExprNode *expr_make_parens(ExprParse *parse, ExprNode *node, int location);
extern ExprNode *expr_make_condition(ExprParse *parse, ExprNode *node);
extern void expr_set_condition(ExprParse *parse, ExprNode *root);
extern void expr_add_action(ExprParse *parse, ExprVerb verb, ExprPath *path, ExprNode *value);
extern void expr_begin_clause(ExprParse *parse, ExprVerb verb, int location);

/* path.c */
extern void expr_check_path(const ExprCompiled *compiled, const ExprPath *path);
extern ExprPath *expr_make_path(ExprParse *parse, ItemSpan name, int location);
extern ExprPath *expr_make_path_ref(ExprParse *parse, ItemSpan placeholder, int location);
extern ExprPath *expr_path_name(ExprParse *parse, ExprPath *path, ItemSpan name, int location);
extern ExprPath *expr_path_ref(ExprParse *parse, ExprPath *path, ItemSpan placeholder,
							   int location);
extern ExprPath *expr_path_index(ExprParse *parse, ExprPath *path, ItemSpan digits, int location);
extern bool expr_path_equal(const ExprPath *a, const ExprPath *b);
extern bool expr_path_find(const ExprPath *path, const ItemChildren *item, ItemSpan *value);
extern bool expr_step_find(const ExprStep *step, ItemSpan container, ItemSpan *value);
extern ExprTree *expr_tree_add(ExprParse *parse, ExprPath *path);
extern void expr_add_attribute(ExprCompiled *compiled, ItemSpan name);
extern void expr_add_deep(ExprCompiled *compiled, ExprPath *path);

/* condition.c, update.c: what a request's values must be */
pg_noreturn extern void expr_fail_type(const Expr *expr, const ExprNode *arg, const char *taker,
									   ItemType type, const char *words);
extern const char *expr_taker(const ExprRule *rule);
extern void expr_check_node_values(const Expr *expr, const ExprNode *node);
extern void expr_check_condition_values(const Expr *expr, const ExprNode *node);
extern void expr_check_update_values(const Expr *expr, const ExprTree *tree);

/* update.c, for its rules */
extern ItemSpan expr_get_if_not_exists(const ExprApply *a, const ExprNode *node);
extern void expr_write_sum(ExprApply *a, const ExprNode *node);
extern void expr_write_list_append(ExprApply *a, const ExprNode *node);

/* request.c */
extern void expr_check_values(const Expr *expr);
extern void expr_require_value(const Expr *expr, int slot);

/* projection.c */
extern bool expr_tree_resolves(const ExprTree *tree, ItemSpan value);

#endif
