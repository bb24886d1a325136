/*
 * compile.c
 *	  Runs the parser, and keeps what it made: one ExprCompiled for each kind, text and
 *	  names.
 *
 * The cache belongs to the backend and keeps the most recently used.  An entry that
 * falls out lives on while requests have it pinned.  An expression with an error is
 * never kept, so it fails alike each time.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "expr/tree.h"
#include "expr/gram.h"

#define CACHE_BUCKETS 128
#define CACHE_MAX 256 /* entries */
#define CACHE_MAX_NAMES 8192 /* bytes; more names are not worth their memory */

static MemoryContext cache_context = NULL;
static dlist_head cache_buckets[CACHE_BUCKETS];
static dlist_head cache_lru; /* most recent first */
static int cache_size = 0;

/* scan.l */
typedef struct yy_buffer_state *YY_BUFFER_STATE;
extern int dyn_expr_lex_init_extra(ExprParse *parse, void **scanner);
extern YY_BUFFER_STATE dyn_expr__scan_bytes(const char *bytes, int len, void *scanner);
extern int dyn_expr_lex_destroy(void *scanner);

static ItemSpan
copy_span(ItemSpan span)
{
	char *copy;

	if (span.data == NULL)
		return span;
	copy = palloc(span.len + 1);
	memcpy(copy, span.data, span.len);
	copy[span.len] = '\0';
	return (ItemSpan){copy, span.len};
}

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
	}
	return NULL;
}

static void
check_text(const ExprCompiled *c)
{
	if (c->text.len == 0)
		expr_fail(c, -1, "the expression is empty");
	if (c->text.len > EXPR_MAX_TEXT)
		expr_fail(c, -1, "the expression is longer than %d bytes", EXPR_MAX_TEXT);
}

/* An error leaves scanner and parser behind: all their memory is in the current context. */
static void
parse(ExprCompiled *c, const ExprRequest *request)
{
	ExprParse state = {.compiled = c, .request = request};
	void *scanner;

	if (c->kind == EXPR_PROJECTION)
		state.start_token = START_PROJECTION;
	else if (c->kind == EXPR_UPDATE)
		state.start_token = START_UPDATE;
	else
		state.start_token = START_CONDITION;
	dyn_expr_lex_init_extra(&state, &scanner);
	dyn_expr__scan_bytes(c->text.data, (int) c->text.len, scanner);
	if (dyn_expr_parse(&state, scanner) != 0)
		expr_fail_syntax(&state, "syntax error");
	dyn_expr_lex_destroy(scanner);
	if (c->kind == EXPR_KEY_CONDITION)
		expr_check_key_condition(c);
}

/* Parse in a context of its own, which goes with the current one if there is an error. */
static ExprCompiled *
compile(const ExprRequest *request, ItemSpan names, ExprKind kind, ItemSpan text)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table expression",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	ExprCompiled *c = palloc0(sizeof(ExprCompiled));

	c->cxt = cxt;
	c->kind = kind;
	c->parameter = parameter_name(kind);
	c->text = text;
	check_text(c);
	c->text = copy_span(text);
	c->names = copy_span(names);
	parse(c, request);
	MemoryContextSwitchTo(old);
	return c;
}

/* Make room; what a request has pinned goes when the request does. */
static void
drop_last(void)
{
	ExprCompiled *c = dlist_tail_element(ExprCompiled, lru_node, &cache_lru);

	dlist_delete(&c->bucket_node);
	dlist_delete(&c->lru_node);
	cache_size--;
	c->cached = false;
	if (c->pins == 0)
		MemoryContextDelete(c->cxt);
}

static void
init_cache(void)
{
	dlist_init(&cache_lru);
	for (int i = 0; i < CACHE_BUCKETS; i++)
		dlist_init(&cache_buckets[i]);
	cache_context =
		AllocSetContextCreate(CacheMemoryContext, "dynamo_table expressions", ALLOCSET_SMALL_SIZES);
}

/* The whole key is compared: a hash alone may not decide what an update does. */
static ExprCompiled *
find(uint32 hash, ItemSpan names, ExprKind kind, ItemSpan text)
{
	dlist_iter it;

	dlist_foreach(it, &cache_buckets[hash % CACHE_BUCKETS])
	{
		ExprCompiled *c = dlist_container(ExprCompiled, bucket_node, it.cur);

		if (c->hash == hash && c->kind == kind && expr_span_equal(c->text, text) &&
			expr_span_equal(c->names, names))
		{
			dlist_move_head(&cache_lru, &c->lru_node);
			return c;
		}
	}
	return NULL;
}

/* From here on nothing can fail, so no half-made entry is ever seen. */
static void
keep(ExprCompiled *c)
{
	MemoryContextSetParent(c->cxt, cache_context);
	if (c->names.len > CACHE_MAX_NAMES)
		return;
	if (cache_size == CACHE_MAX)
		drop_last();
	dlist_push_head(&cache_buckets[c->hash % CACHE_BUCKETS], &c->bucket_node);
	dlist_push_head(&cache_lru, &c->lru_node);
	c->cached = true;
	cache_size++;
}

/* A parsed expression, pinned. */
ExprCompiled *
expr_compile(const ExprRequest *request, ItemSpan names, ExprKind kind, ItemSpan text)
{
	uint32 hash = hash_bytes((const unsigned char *) text.data, (int) text.len);
	ExprCompiled *c;

	if (cache_context == NULL)
		init_cache();
	hash = hash_combine(hash, hash_bytes((const unsigned char *) names.data, (int) names.len));
	c = find(hash, names, kind, text);
	if (c == NULL)
	{
		c = compile(request, names, kind, text);
		c->hash = hash;
		keep(c);
	}
	c->pins++;
	return c;
}

/*
 * Gives back a pin that expr_compile() took.  The last one frees an expression that is no longer in
 * the cache.
 */
void
expr_unpin(ExprCompiled *c)
{
	Assert(c->pins > 0);
	if (--c->pins == 0 && !c->cached)
		MemoryContextDelete(c->cxt);
}

/*
 * Parses a condition or filter expression, or finds it in the cache, and binds the request's values
 * to it.  Raises ERRCODE_DYN_VALIDATION if it is not valid.
 */
Expr *
expr_condition(ExprRequest *request, ExprKind kind, ItemSpan text)
{
	Assert(kind == EXPR_CONDITION || kind == EXPR_FILTER);
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
 * The top-level attributes, each once: those that an update writes, or that any other
 * expression mentions.
 */
const ItemSpan *
expr_attributes(const Expr *expr, int *count)
{
	*count = expr->compiled->nattributes;
	return expr->compiled->attributes;
}

/* Whether an attribute is one of these. */
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

/* The parameter that an expression comes from, for messages. */
const char *
expr_parameter(const Expr *expr)
{
	return expr->compiled->parameter;
}
