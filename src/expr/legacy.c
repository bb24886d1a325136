/*
 * legacy.c
 *	  Expressions of DynamoDB's legacy parameters, which have names and values where the others
 *	  have a text: the trees are those that the parser makes, and evaluation knows no difference.
 *
 * A name is that of a top-level attribute, whatever is in it.  What is built belongs to one
 * request: nothing is looked up in the cache, and nothing is kept.  Messages are those that
 * DynamoDB has for these parameters.
 */
#include "postgres.h"

#include "expr/tree.h"
#include "server/errors.h"

const char *const expr_legacy_operators[] = {
	"EQ",   "NE",       "LE",           "LT",          "GE", "GT",      "NOT_NULL",
	"NULL", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "IN", "BETWEEN", NULL};

const char *const expr_legacy_actions[] = {"PUT", "ADD", "DELETE", NULL};

/* These say for each ExprLegacyOperator which operator it is and what values it takes. */
static const struct
{
	ExprNodeType node;
	int min; /* values */
	int max;
	int types; /* of values */
	bool indexable;
} operators[] = {
	{NODE_EQ, 1, 1, EXPR_ANY, true},
	{NODE_NE, 1, 1, EXPR_ANY, false},
	{NODE_LE, 1, 1, EXPR_ORDERED, true},
	{NODE_LT, 1, 1, EXPR_ORDERED, true},
	{NODE_GE, 1, 1, EXPR_ORDERED, true},
	{NODE_GT, 1, 1, EXPR_ORDERED, true},
	{NODE_ATTRIBUTE_EXISTS, 0, 0, EXPR_ANY, false},
	{NODE_ATTRIBUTE_NOT_EXISTS, 0, 0, EXPR_ANY, false},
	{NODE_CONTAINS, 1, 1, EXPR_ORDERED, false},
	{NODE_CONTAINS, 1, 1, EXPR_ORDERED, false},
	{NODE_BEGINS_WITH, 1, 1, EXPR_PREFIX, true},
	{NODE_IN, 1, PG_INT32_MAX, EXPR_ORDERED, false},
	{NODE_BETWEEN, 2, 2, EXPR_ORDERED, true},
};

/* A Builder is an expression while it is built. */
typedef struct Builder
{
	Expr *expr;
	ExprCompiled *compiled;
	ItemSpan *values;
} Builder;

pg_noreturn static void
legacy_fail(ExprKind kind, const char *problem)
{
	dyn_error_kind(kind == EXPR_CONDITION ? WORDS_EXPECTED : WORDS_OTHER, DYN_INVALID_WORDS "%s",
				   problem);
}

/*
 * Names
 */

/* Put entries, which begin with a name, in the order of items; each name may occur once. */
static void
sort_names(ExprKind kind, void *entries, int n, size_t size)
{
	const ItemSpan *previous = NULL;

	qsort(entries, n, size, item_compare_spans);
	for (int i = 0; i < n; i++)
	{
		const ItemSpan *name = (const ItemSpan *) ((char *) entries + i * size);

		if (name->len == 0)
			legacy_fail(kind, "Empty attribute name");
		if (name->len > ITEM_MAX_NAME)
			legacy_fail(kind, psprintf("Attribute name \"%s\" is not of 1 to %d bytes",
									   item_quoted(*name), ITEM_MAX_NAME));
		if (previous != NULL && expr_span_equal(*previous, *name))
			legacy_fail(
				kind, psprintf("Duplicate value in attribute name: %s", item_quoted_words(*name)));
		previous = name;
	}
}

/*
 * What the parser makes
 */

static void
legacy_begin(Builder *b, ExprKind kind, const char *parameter, int nattributes, int nvalues)
{
	ExprCompiled *c = palloc0(sizeof(ExprCompiled));

	c->kind = kind;
	c->parameter = parameter;
	c->attributes = palloc(nattributes * sizeof(ItemSpan));
	c->slots = palloc(nvalues * sizeof(ExprSlot));
	b->compiled = c;
	b->values = palloc(nvalues * sizeof(ItemSpan));
	b->expr = palloc0(sizeof(Expr));
	b->expr->compiled = c;
	b->expr->values = b->values;
}

static ExprPath *
attribute_path(ItemSpan name)
{
	ExprPath *path = palloc0(sizeof(ExprPath));

	path->nsteps = path->maxsteps = 1;
	path->location = -1;
	path->steps = palloc0(sizeof(ExprStep));
	path->steps[0].name = name;
	return path;
}

static ExprNode *
new_node(ExprNodeType type, int nargs)
{
	ExprNode *node = palloc0(sizeof(ExprNode));

	node->type = type;
	node->rule = &expr_rules[type];
	node->location = -1;
	node->nargs = nargs;
	node->args = palloc0(nargs * sizeof(ExprNode *));
	return node;
}

static ExprNode *
path_node(ItemSpan name)
{
	ExprNode *node = new_node(NODE_PATH, 0);

	node->path = attribute_path(name);
	return node;
}

/* In messages a value has the name of the attribute that it is for. */
static ExprNode *
value_node(Builder *b, ItemSpan attribute, ItemSpan value)
{
	ExprNode *node = new_node(NODE_VALUE, 0);

	node->slot = b->compiled->nslots++;
	b->compiled->slots[node->slot] = (ExprSlot){attribute, -1};
	b->values[node->slot] = value;
	return node;
}

/*
 * Conditions
 */

static void
check_condition(ExprKind kind, const ExprLegacyCondition *condition)
{
	const char *name = expr_legacy_operators[condition->op];
	int n = condition->nvalues;

	if (n < operators[condition->op].min || n > operators[condition->op].max)
		legacy_fail(kind,
					psprintf("Invalid number of argument(s) for the %s ComparisonOperator", name));
	for (int i = 1; i < n; i++)
	{
		if (item_type(condition->values[i]) != item_type(condition->values[0]))
			legacy_fail(kind, "AttributeValues inside AttributeValueList must be of same type");
	}
	if (n > 0 && !(operators[condition->op].types & EXPR_TYPE(item_type(condition->values[0]))))
		legacy_fail(kind, psprintf("ComparisonOperator %s is not valid for %s AttributeValue type",
								   name, item_type_code(item_type(condition->values[0]))));
}

static ExprNode *
condition_node(Builder *b, const ExprLegacyCondition *condition)
{
	ExprNode *node = new_node(operators[condition->op].node, 1 + condition->nvalues);
	ExprNode *both;

	node->args[0] = path_node(condition->attribute);
	for (int i = 0; i < condition->nvalues; i++)
		node->args[i + 1] = value_node(b, condition->attribute, condition->values[i]);
	if (condition->op != EXPR_LEGACY_NOT_CONTAINS)
		return node;
	/* unlike NOT contains(), and unlike NE, it is false where the attribute is missing */
	both = new_node(NODE_AND, 2);
	both->args[0] = new_node(NODE_ATTRIBUTE_EXISTS, 1);
	both->args[0]->args[0] = node->args[0];
	both->args[1] = new_node(NODE_NOT, 1);
	both->args[1]->args[0] = node;
	return both;
}

/* Joins nodes by halves, so that many conditions make no deep tree. */
static ExprNode *
join(ExprNodeType type, ExprNode **nodes, int n)
{
	ExprNode *node;

	if (n == 1)
		return nodes[0];
	node = new_node(type, 2);
	node->args[0] = join(type, nodes, n / 2);
	node->args[1] = join(type, nodes + n / 2, n - n / 2);
	return node;
}

/* Builds Expected, QueryFilter or ScanFilter, with one condition at least. */
Expr *
expr_legacy_condition(ExprKind kind, const char *parameter, ExprLegacyCondition *conditions, int n,
					  bool any)
{
	ExprNode **nodes = palloc(n * sizeof(ExprNode *));
	int nvalues = 0;
	Builder b;

	sort_names(kind, conditions, n, sizeof(ExprLegacyCondition));
	for (int i = 0; i < n; i++)
	{
		check_condition(kind, &conditions[i]);
		nvalues += conditions[i].nvalues;
	}
	legacy_begin(&b, kind, parameter, n, nvalues);
	for (int i = 0; i < n; i++)
	{
		nodes[i] = condition_node(&b, &conditions[i]);
		b.compiled->attributes[b.compiled->nattributes++] = conditions[i].attribute;
	}
	b.compiled->root = join(any ? NODE_OR : NODE_AND, nodes, n);
	expr_check_condition_values(b.expr, b.compiled->root);
	return b.expr;
}

/*
 * Returns the terms of the legacy parameter KeyConditions, in the current memory context.  Sorts
 * the array by attribute name.  Raises ERRCODE_DYN_VALIDATION if the conditions are not valid or
 * not possible on a key.
 */
ExprKeyCondition *
expr_legacy_key_condition(ExprLegacyCondition *conditions, int n)
{
	Expr *expr;

	if (n == 0 || n > EXPR_MAX_KEY_TERMS)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("conditions can be of length 1 to %d only", EXPR_MAX_KEY_TERMS),
						errwords("Conditions can be of length 1 or 2 only")));
	expr = expr_legacy_condition(EXPR_KEY_CONDITION, "KeyConditions", conditions, n, false);
	for (int i = 0; i < n; i++)
	{
		if (!operators[conditions[i].op].indexable)
			dyn_error(ERRCODE_DYN_VALIDATION,
					  "Attempted conditional constraint is not an indexable operation");
	}
	return expr_key_terms(expr);
}

/*
 * Projections and updates: one level of a tree of paths
 */

static void
begin_tree(Builder *b, int n)
{
	ExprTree *tree = palloc0(sizeof(ExprTree));

	tree->type = TREE_MAP;
	tree->maxchildren = n;
	tree->children = palloc(n * sizeof(ExprTree *));
	b->compiled->tree = tree;
}

/* Names come in order. */
static ExprTree *
add_leaf(Builder *b, ItemSpan name)
{
	ExprTree *tree = b->compiled->tree;
	ExprTree *leaf = palloc0(sizeof(ExprTree));

	leaf->type = TREE_LEAF;
	leaf->step.name = name;
	leaf->path = attribute_path(name);
	tree->children[tree->nchildren++] = leaf;
	b->compiled->attributes[b->compiled->nattributes++] = name;
	return leaf;
}

/* Builds a projection from AttributesToGet, whose length was checked when it was read. */
Expr *
expr_legacy_projection(ItemSpan *names, int n)
{
	Builder b;

	Assert(n > 0 && n <= EXPR_MAX_LEGACY_PROJECTION);
	sort_names(EXPR_PROJECTION, names, n, sizeof(ItemSpan));
	legacy_begin(&b, EXPR_PROJECTION, "AttributesToGet", n, 0);
	begin_tree(&b, n);
	for (int i = 0; i < n; i++)
		add_leaf(&b, names[i]);
	return b.expr;
}

static void
check_update(const ExprLegacyUpdate *update)
{
	ItemType type;

	if (update->value.data == NULL)
	{
		if (update->action != EXPR_LEGACY_DELETE)
			legacy_fail(EXPR_UPDATE,
						"Only DELETE action is allowed when no attribute value is specified");
		return;
	}
	type = item_type(update->value);
	if (update->action == EXPR_LEGACY_DELETE && !item_type_is_set(type))
		legacy_fail(EXPR_UPDATE,
					psprintf("DELETE action with value is not supported for the type %s",
							 item_type_code(type)));
	if (update->action == EXPR_LEGACY_ADD && type != ITEM_N && type != ITEM_L &&
		!item_type_is_set(type))
		legacy_fail(EXPR_UPDATE,
					psprintf("ADD action is not supported for the type %s", item_type_code(type)));
}

static ExprVerb
update_verb(const ExprLegacyUpdate *update)
{
	switch (update->action)
	{
		case EXPR_LEGACY_PUT:
			return EXPR_SET;
		case EXPR_LEGACY_ADD:
			return EXPR_ADD;
		case EXPR_LEGACY_DELETE:
			break;
	}
	return update->value.data == NULL ? EXPR_REMOVE : EXPR_DELETE;
}

/* Builds an update from AttributeUpdates, with one at least. */
Expr *
expr_legacy_update(ExprLegacyUpdate *updates, int n)
{
	Builder b;

	sort_names(EXPR_UPDATE, updates, n, sizeof(ExprLegacyUpdate));
	legacy_begin(&b, EXPR_UPDATE, "AttributeUpdates", n, n);
	begin_tree(&b, n);
	for (int i = 0; i < n; i++)
	{
		ExprLegacyUpdate *update = &updates[i];
		ExprTree *leaf = add_leaf(&b, update->attribute);

		check_update(update);
		leaf->verb = update_verb(update);
		if (update->value.data != NULL)
			leaf->value = value_node(&b, update->attribute, update->value);
		if (leaf->verb == EXPR_SET || leaf->verb == EXPR_ADD)
			b.compiled->creates = true;
	}
	return b.expr;
}
