/*
 * compile.c
 *	  Runs the parser, and keeps what it made: one ExprCompiled for each kind, text and
 *	  names.
 *
 * An entry that falls out of the cache lives on while requests have it pinned.  An expression with
 * an error is never kept, so it fails alike each time.  Whether a condition can be a key condition is
 * checked after its values are bound, and so each time.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "expr/tree.h"
#include "expr/gram.h"

static TextCache cache = {.name = "expressions", .max = 256, .max_key = 8192};

/* scan.l */
typedef struct yy_buffer_state *YY_BUFFER_STATE;
extern int dyn_expr_lex_init_extra(ExprParse *parse, void **scanner);
extern YY_BUFFER_STATE dyn_expr__scan_bytes(const char *bytes, int len, void *scanner);
extern int dyn_expr_lex(DYN_EXPR_STYPE *value, DYN_EXPR_LTYPE *location, void *scanner);
extern int dyn_expr_lex_destroy(void *scanner);

/* syntax.c */
extern int dyn_expr_check(ExprParse *parse, void *scanner);

static const char *
parameter_name(ExprKind kind)
{
	switch (kind)
	{
		case EXPR_KEY_CONDITION:
			return "KeyConditionExpression";
		case EXPR_FILTER:
			return "FilterExpression";
		case EXPR_PROJECTION:
			return "ProjectionExpression";
		case EXPR_CONDITION:
			return "ConditionExpression";
		case EXPR_UPDATE:
			return "UpdateExpression";
		case EXPR_SEARCH_CONDITION:
			return "SearchConditionExpression";
	}
	return NULL;
}

static void
check_text(const ExprCompiled *c)
{
	if (c->text.len == 0)
		expr_fail(c, -1, expr_words(c, "The expression can not be empty;"),
				  "the expression is empty");
	if (c->text.len > EXPR_MAX_TEXT)
		expr_fail(c, -1,
				  expr_words(c,
							 "Expression size has exceeded the maximum allowed size; "
							 "expression size: %u",
							 c->text.len),
				  "the expression is longer than %d bytes", EXPR_MAX_TEXT);
}

static void *
begin_scan(ExprParse *state)
{
	void *scanner;

	dyn_expr_lex_init_extra(state, &scanner);
	dyn_expr__scan_bytes(state->compiled->text.data, (int) state->compiled->text.len, scanner);
	return scanner;
}

/*
 * Sets *token to the token at a place of the text, which has no length at the end, and *near to the
 * part of the text from the token before it to the one behind it.
 */
void
expr_find_token(const ExprCompiled *compiled, int location, ItemSpan *token, ItemSpan *near)
{
	ExprParse state = {.compiled = (ExprCompiled *) compiled};
	void *scanner = begin_scan(&state);
	DYN_EXPR_STYPE value;
	int start;
	int before = -1;

	while (dyn_expr_lex(&value, &start, scanner) != 0 && start < location)
		before = start;
	*token = (ItemSpan){compiled->text.data + start, (uint32) (state.offset - start)};
	if (before < 0)
		before = start;
	if (token->len > 0)
		dyn_expr_lex(&value, &start, scanner);
	*near = (ItemSpan){compiled->text.data + before, (uint32) (state.offset - before)};
	dyn_expr_lex_destroy(scanner);
}

/* Returns the token that chooses the grammar. */
static int
start_token(ExprKind kind)
{
	if (kind == EXPR_PROJECTION)
		return START_PROJECTION;
	return kind == EXPR_UPDATE ? START_UPDATE : START_CONDITION;
}

/* Raises ERRCODE_DYN_VALIDATION if the text is no expression, whatever else is wrong with it. */
void
expr_check_syntax(const ExprCompiled *compiled)
{
	ExprParse state = {.compiled = (ExprCompiled *) compiled,
					   .start_token = start_token(compiled->kind)};
	void *scanner = begin_scan(&state);

	if (dyn_expr_check(&state, scanner) != 0)
		expr_fail_syntax(&state, "syntax error");
	dyn_expr_lex_destroy(scanner);
}

/* An error leaves scanner and parser behind: all their memory is in the current context. */
static void
compile_parse(ExprCompiled *c, const ExprRequest *request)
{
	ExprParse state = {.compiled = c, .request = request, .start_token = start_token(c->kind)};
	void *scanner = begin_scan(&state);

	c->parsing = true;
	if (dyn_expr_parse(&state, scanner) != 0)
		expr_fail_syntax(&state, "syntax error");
	c->parsing = false;
	dyn_expr_lex_destroy(scanner);
}

/* Parse in a context of its own, which goes with the current one if there is an error. */
static ExprCompiled *
compile_text(const ExprRequest *request, ItemSpan names, ExprKind kind, ItemSpan text)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table expression",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	ExprCompiled *c = palloc0(sizeof(ExprCompiled));

	c->entry.context = cxt;
	c->kind = kind;
	c->parameter = parameter_name(kind);
	c->text = text;
	check_text(c);
	c->text = span_copy(text);
	c->names = span_copy(names);
	c->entry.key = (TextKey){(int) kind, c->text, c->names};
	compile_parse(c, request);
	MemoryContextSwitchTo(old);
	return c;
}

/* Returns a parsed expression, pinned. */
ExprCompiled *
expr_compile(const ExprRequest *request, ItemSpan names, ExprKind kind, ItemSpan text)
{
	TextKey key = {(int) kind, text, names};
	ExprCompiled *c = (ExprCompiled *) text_cache_find(&cache, &key);

	if (c == NULL)
	{
		c = compile_text(request, names, kind, text);
		text_cache_keep(&cache, &c->entry);
	}
	return c;
}

/*
 * Parses a condition or filter expression, or finds it in the cache, and binds the request's values
 * to it.  Raises ERRCODE_DYN_VALIDATION if it is not valid.
 */
Expr *
expr_condition(ExprRequest *request, ExprKind kind, ItemSpan text)
{
	Assert(kind == EXPR_CONDITION || kind == EXPR_FILTER || kind == EXPR_SEARCH_CONDITION);
	return expr_bind(request, kind, text);
}

/*
 * Parses a projection expression, or finds it in the cache.  Raises ERRCODE_DYN_VALIDATION if it is
 * not valid.
 */
Expr *
expr_projection(ExprRequest *request, ItemSpan text)
{
	return expr_bind(request, EXPR_PROJECTION, text);
}

/*
 * Parses an update expression, or finds it in the cache, and binds the request's values to it.
 * Raises ERRCODE_DYN_VALIDATION if it is not valid.
 */
Expr *
expr_update(ExprRequest *request, ItemSpan text)
{
	return expr_bind(request, EXPR_UPDATE, text);
}

/*
 * Returns the top-level attributes, each once: those that an update writes, or that any other
 * expression mentions.
 */
const ItemSpan *
expr_attributes(const Expr *expr, int *count)
{
	*count = expr->compiled->nattributes;
	return expr->compiled->attributes;
}

/* Returns whether an attribute is one of these. */
bool
expr_mentions(const Expr *expr, ItemSpan attribute)
{
	for (int i = 0; i < expr->compiled->nattributes; i++)
	{
		if (expr_span_equal(expr->compiled->attributes[i], attribute))
			return true;
	}
	return false;
}

/* Returns whether an expression has a path that goes on after an attribute. */
bool
expr_looks_into(const Expr *expr, ItemSpan attribute)
{
	ListCell *cell;

	foreach (cell, expr->compiled->deep)
	{
		const ExprPath *path = lfirst(cell);

		if (expr_span_equal(path->steps[0].name, attribute))
			return true;
	}
	return false;
}

/* Returns the parameter that an expression comes from, for messages. */
const char *
expr_parameter(const Expr *expr)
{
	return expr->compiled->parameter;
}

/* Returns what an expression is for. */
ExprKind
expr_kind(const Expr *expr)
{
	return expr->compiled->kind;
}
