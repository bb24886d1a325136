/*
 * update.c
 *	  Updates: from the old item to the new one in one pass.
 *
 * The tree of the paths that are written and the old item are walked together, both in
 * order, and the new item comes out in order.  Values are always read from the old item,
 * and indexes are those of the old lists.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "expr/tree.h"
#include "item/build.h"
#include "server/errors.h"

struct ExprApply
{
	const Expr *expr;
	ItemChildren item; /* the old one, or the new one's key, for reading */
	bool absent; /* there is none */
	bool touched_only; /* leave out what the update does not write */
	ItemBuilder b;
};

/*
 * Checks of values
 */

static ItemType
literal_type(const Expr *expr, const ExprNode *node)
{
	return item_type(expr->values[node->slot]);
}

/* ADD takes numbers and sets, DELETE sets. */
pg_noreturn static void
fail_verb(const Expr *expr, const ExprTree *leaf, ItemType type)
{
	static const struct
	{
		ItemType type;
		const char *name;
	} names[] = {{ITEM_S, "STRING"}, {ITEM_N, "NUMBER"},     {ITEM_B, "BINARY"}, {ITEM_L, "LIST"},
				 {ITEM_M, "MAP"},    {ITEM_BOOL, "BOOLEAN"}, {ITEM_NULL, "NULL"}};
	const char *verb = leaf->verb == EXPR_ADD ? "ADD" : "DELETE";
	int i = 0;

	while (names[i].type != type)
		i++;
	expr_fail_type(expr, leaf->value, verb, type,
				   expr_words(expr->compiled,
							  "Incorrect operand type for operator or function; operator: %s, "
							  "operand type: %s",
							  verb, names[i].name));
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a bound value in an update, or in a part of it, can never be an
 * operand of its clause, operator or function, whatever the item.
 */
void
expr_check_update_values(const Expr *expr, const ExprTree *tree)
{
	check_stack_depth();
	for (int i = 0; i < tree->nchildren; i++)
		expr_check_update_values(expr, tree->children[i]);
	if (tree->type != TREE_LEAF || tree->verb == EXPR_REMOVE)
		return;
	/* the default in an if_not_exists() is not looked at: the item may never need it */
	if (tree->verb == EXPR_SET)
		expr_check_node_values(expr, tree->value);
	else
	{
		ItemType type = literal_type(expr, tree->value);

		if (!item_type_is_set(type) && !(tree->verb == EXPR_ADD && type == ITEM_N))
			fail_verb(expr, tree, type);
	}
}

/*
 * Values
 */

#define WRONG_TYPE "An operand in the update expression has an incorrect data type"

/* Returns the value of an operand, which must have one. */
static ItemSpan
operand(const ExprApply *a, const ExprNode *node)
{
	ItemSpan value;

	if (node->type == NODE_VALUE)
		return a->expr->values[node->slot];
	if (node->type != NODE_PATH)
		return node->rule->get(a, node);
	if (!expr_path_find(node->path, &a->item, &value))
	{
		const char *path = expr_path_text(node->path);

		expr_fail_item(
			a->expr->compiled, node->location,
			"The provided expression refers to an attribute that does not exist in the item",
			psprintf("Write if_not_exists(%s, :v) with a value for that, or ADD for numbers.",
					 path),
			"the item has no value at document path \"%s\"", path);
	}
	return value;
}

/* Evaluates if_not_exists(): the value at a path, or of the other argument. */
ItemSpan
expr_get_if_not_exists(const ExprApply *a, const ExprNode *node)
{
	ItemSpan value;

	check_stack_depth();
	if (expr_path_find(node->args[0]->path, &a->item, &value))
		return value;
	return operand(a, node->args[1]);
}

/* Returns an argument of a rule that takes one type, from the item or from the request. */
static ItemSpan
typed_operand(const ExprApply *a, const ExprNode *node, int arg)
{
	ItemSpan value = operand(a, node->args[arg]);

	if (!(node->rule->types[arg] & EXPR_TYPE(item_type(value))))
		expr_fail_item(a->expr->compiled, node->args[arg]->location, WRONG_TYPE, NULL,
					   "%s cannot take \"%s\" of type %s", expr_taker(node->rule),
					   expr_operand_text(a->expr->compiled, node->args[arg]),
					   item_type_code(item_type(value)));
	return value;
}

static void
write_sum(ExprApply *a, int location, ItemSpan x, ItemSpan y, bool subtract)
{
	char number[ITEM_NUMBER_SIZE];
	int len = item_number_add(item_payload(x), item_payload(y), subtract, number);

	if (len < 0)
		expr_fail_item(a->expr->compiled, location, item_number_words_sum((ItemNumberError) len),
					   NULL, "the result %s", item_number_error(len));
	item_build_scalar(&a->b, ITEM_N, (ItemSpan){number, (uint32) len});
}

/* Writes the sum or the difference of two numbers. */
void
expr_write_sum(ExprApply *a, const ExprNode *node)
{
	ItemSpan x = typed_operand(a, node, 0);

	write_sum(a, node->location, x, typed_operand(a, node, 1), node->type == NODE_MINUS);
}

/* A value goes where lists and maps may already stand around it. */
static void
check_nesting(const ExprApply *a, int levels, int location)
{
	if (levels > 0 && a->b.depth + levels - 1 > ITEM_CALL_NESTING)
		expr_fail_item(a->expr->compiled, location, ITEM_NESTING_WORDS, NULL,
					   "more than %d levels of nesting", ITEM_CALL_NESTING);
}

static void
write_copy(ExprApply *a, ItemSpan value, int location)
{
	check_nesting(a, item_nesting(value), location);
	item_build_value(&a->b, value);
}

/* Writes the elements of both lists, which may be the same one. */
static void
write_both(ExprApply *a, ItemSpan x, ItemSpan y, int location)
{
	const ItemSpan lists[] = {x, y};

	check_nesting(a, 1, location);
	item_build_begin(&a->b, ITEM_L);
	for (int list = 0; list < 2; list++)
	{
		ItemChildren c = item_children(lists[list]);

		for (uint32 i = 0; i < c.count; i++)
		{
			item_build_element(&a->b);
			write_copy(a, item_child(&c, i), location);
		}
	}
	(void) item_build_end(&a->b);
}

/* Writes the list that list_append() makes. */
void
expr_write_list_append(ExprApply *a, const ExprNode *node)
{
	ItemSpan x = typed_operand(a, node, 0);

	write_both(a, x, typed_operand(a, node, 1), node->location);
}

/* Writes the right-hand side of SET. */
static void
write_value(ExprApply *a, const ExprNode *node)
{
	if (node->rule->write != NULL)
		node->rule->write(a, node);
	else
		write_copy(a, operand(a, node), node->location);
}

/*
 * Sets: both sides are sorted
 */

static void
write_element(ItemBuilder *b, ItemType set, ItemSpan element)
{
	item_build_element(b);
	item_build_scalar(b, item_element_type(set), element);
}

/* Writes the elements that are in x, y or both: a merge, so that they come in order. */
static void
write_union(ItemBuilder *b, ItemSpan x, ItemSpan y)
{
	ItemType type = item_type(x);
	ItemChildren a = item_children(x);
	ItemChildren c = item_children(y);
	uint32 i = 0;
	uint32 j = 0;

	item_build_begin(b, type);
	while (i < a.count || j < c.count)
	{
		int cmp;

		if (i < a.count && j < c.count)
			cmp = item_element_compare(type, item_child(&a, i), item_child(&c, j));
		else
			cmp = i < a.count ? -1 : 1;
		write_element(b, type, cmp <= 0 ? item_child(&a, i) : item_child(&c, j));
		i += cmp <= 0;
		j += cmp >= 0;
	}
	(void) item_build_end(b);
}

/* Write the elements of x that are not in y, or only say whether there is one. */
static bool
difference(ItemBuilder *b, ItemSpan x, ItemSpan y)
{
	ItemChildren c = item_children(x);
	bool any = false;

	if (b != NULL)
		item_build_begin(b, item_type(x));
	for (uint32 i = 0; i < c.count && (b != NULL || !any); i++)
	{
		if (item_set_contains(y, item_child(&c, i)))
			continue;
		any = true;
		if (b != NULL)
			write_element(b, item_type(x), item_child(&c, i));
	}
	if (b != NULL)
		(void) item_build_end(b);
	return any;
}

/*
 * The walk; old is the value that the item has at a place, or NULL
 */

static const ItemSpan *
action_value(const ExprApply *a, const ExprTree *leaf)
{
	return &a->expr->values[leaf->value->slot];
}

/* ADD and DELETE work on values of their own type. */
static void
require_same_type(const ExprApply *a, const ExprTree *leaf, ItemSpan old)
{
	ItemType type = item_type(*action_value(a, leaf));

	if (type != item_type(old))
		expr_fail_item(
			a->expr->compiled, leaf->path->location,
			a->expr->compiled->text.data == NULL ? "Type mismatch for attribute to update"
												 : WRONG_TYPE,
			NULL,
			leaf->verb == EXPR_ADD ? "cannot add a value of type %s to \"%s\" of type %s"
								   : "cannot delete a value of type %s from \"%s\" of type %s",
			item_type_code(type), expr_path_text(leaf->path), item_type_code(item_type(old)));
}

/* Returns whether there will be a value. */
static bool
leaf_remains(const ExprApply *a, const ExprTree *leaf, const ItemSpan *old)
{
	if (leaf->verb == EXPR_SET || leaf->verb == EXPR_ADD)
		return true;
	if (leaf->verb == EXPR_REMOVE || old == NULL)
		return false;
	require_same_type(a, leaf, *old);
	return difference(NULL, *old, *action_value(a, leaf));
}

/* Writes the value that an action leaves; leaf_remains() has said that there is one. */
static void
write_leaf(ExprApply *a, const ExprTree *leaf, const ItemSpan *old)
{
	if (leaf->verb == EXPR_SET)
		write_value(a, leaf->value);
	else if (leaf->verb == EXPR_DELETE)
		difference(&a->b, *old, *action_value(a, leaf));
	else if (old == NULL)
		item_build_value(&a->b, *action_value(a, leaf));
	else
	{
		require_same_type(a, leaf, *old);
		if (item_type(*old) == ITEM_N)
			write_sum(a, leaf->path->location, *old, *action_value(a, leaf), false);
		else if (item_type(*old) == ITEM_L) /* of legacy parameters only */
			write_both(a, *old, *action_value(a, leaf), leaf->path->location);
		else
			write_union(&a->b, *old, *action_value(a, leaf));
	}
	/* many large values: stop before memory does */
	if (a->b.len > ITEM_MAX_ENCODED)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("item size exceeds %d bytes", ITEM_MAX_SIZE),
						errwords(ITEM_SIZE_WORDS_UPDATED)));
}

static const ExprTree *
first_leaf(const ExprTree *tree)
{
	while (tree->type != TREE_LEAF)
		tree = tree->children[0];
	return tree;
}

/* Returns whether any action below would make something where there was nothing. */
static bool
tree_creates(const ExprTree *tree)
{
	if (tree->type == TREE_LEAF)
		return tree->verb == EXPR_SET || tree->verb == EXPR_ADD;
	check_stack_depth();
	for (int i = 0; i < tree->nchildren; i++)
	{
		if (tree_creates(tree->children[i]))
			return true;
	}
	return false;
}

/*
 * Returns whether the tree goes on in the old value.  It must, except that there is nothing to
 * remove from an item that does not exist.
 */
static bool
can_descend(const ExprApply *a, const ExprTree *tree, const ItemSpan *old)
{
	const ExprPath *path;

	if (old != NULL && item_type(*old) == (tree->type == TREE_MAP ? ITEM_M : ITEM_L))
		return true;
	if (a->absent && !tree_creates(tree))
		return false;
	path = first_leaf(tree)->path;
	expr_fail_item(a->expr->compiled, path->location,
				   "The document path provided in the update expression is invalid for update",
				   NULL, "document path \"%s\" does not fit the item", expr_path_text(path));
}

/* Returns how many of the elements that a list has will be there. */
static uint32
elements_left(const ExprApply *a, const ExprTree *tree, const ItemChildren *old)
{
	uint32 left = old->count;

	for (int i = 0; i < tree->nchildren; i++)
	{
		const ExprTree *child = tree->children[i];
		ItemSpan value;

		if (child->step.index >= old->count || child->type != TREE_LEAF)
			continue;
		value = item_child(old, child->step.index);
		left -= !leaf_remains(a, child, &value);
	}
	return left;
}

/*
 * Returns whether what is set beyond the end of a list is found by its index afterwards, and so
 * returned; *end is where the list ends before it is appended (docs/semantics.md, R10).
 */
static bool
is_appended_in_place(const ExprApply *a, const ExprTree *child, uint32 *end)
{
	/* of other children nothing comes, or an error */
	return child->type != TREE_LEAF || !leaf_remains(a, child, NULL) ||
		   child->step.index == (*end)++;
}

/* Returns whether anything that the tree writes will be there, at its place. */
static bool
any_remains(const ExprApply *a, const ExprTree *tree, const ItemSpan *old)
{
	uint32 end = 0;

	if (tree->type == TREE_LEAF)
		return leaf_remains(a, tree, old);
	check_stack_depth();
	if (!can_descend(a, tree, old))
		return false;
	if (tree->type == TREE_LIST)
	{
		ItemChildren elements = item_children(*old);

		end = elements_left(a, tree, &elements);
	}
	for (int i = 0; i < tree->nchildren; i++)
	{
		const ExprTree *child = tree->children[i];
		ItemSpan value;
		bool found = expr_step_find(&child->step, *old, &value);

		if (tree->type == TREE_LIST && !found && !is_appended_in_place(a, child, &end))
			continue;
		if (any_remains(a, child, found ? &value : NULL))
			return true;
	}
	return false;
}

static void write_map(ExprApply *a, const ExprTree *tree, const ItemChildren *old);
static void write_list(ExprApply *a, const ExprTree *tree, const ItemChildren *old);

/* Writes a child of a map or list that the tree leads to. */
static void
write_child(ExprApply *a, const ExprTree *tree, const ItemSpan *old)
{
	ItemChildren children;

	if (tree->type == TREE_LEAF)
	{
		if (!leaf_remains(a, tree, old))
			return;
	}
	else if (!can_descend(a, tree, old) || (a->touched_only && !any_remains(a, tree, old)))
		return;

	if (tree->step.name.data != NULL)
		item_build_name(&a->b, tree->step.name);
	else
		item_build_element(&a->b);
	if (tree->type == TREE_LEAF)
	{
		write_leaf(a, tree, old);
		return;
	}
	check_stack_depth();
	children = item_children(*old);
	if (tree->type == TREE_MAP)
		write_map(a, tree, &children);
	else
		write_list(a, tree, &children);
}

/* Writes old entries and the tree's children, both in the order of their names. */
static void
write_map(ExprApply *a, const ExprTree *tree, const ItemChildren *old)
{
	uint32 i = 0;
	int j = 0;

	item_build_begin(&a->b, ITEM_M);
	while (i < old->count || j < tree->nchildren)
	{
		ItemSpan name = {NULL, 0};
		ItemSpan value = {NULL, 0};
		int cmp = i < old->count ? -1 : 1;

		if (i < old->count)
			value = item_entry(item_child(old, i), &name);
		if (i < old->count && j < tree->nchildren)
			cmp = item_compare_bytes(name, tree->children[j]->step.name);
		if (cmp >= 0)
			write_child(a, tree->children[j], cmp == 0 ? &value : NULL);
		else if (!a->touched_only)
		{
			item_build_name(&a->b, name);
			item_build_value(&a->b, value);
		}
		i += cmp <= 0;
		j += cmp >= 0;
	}
	(void) item_build_end(&a->b);
}

/* Writes old elements in their places; what is set beyond the end follows in its order. */
static void
write_list(ExprApply *a, const ExprTree *tree, const ItemChildren *old)
{
	int j = 0;
	uint32 end = a->touched_only ? elements_left(a, tree, old) : 0;

	item_build_begin(&a->b, ITEM_L);
	for (uint32 i = 0; i < old->count; i++)
	{
		ItemSpan value = item_child(old, i);

		if (j < tree->nchildren && tree->children[j]->step.index == i)
			write_child(a, tree->children[j++], &value);
		else if (!a->touched_only)
		{
			item_build_element(&a->b);
			item_build_value(&a->b, value);
		}
	}
	for (; j < tree->nchildren; j++)
	{
		if (!a->touched_only || is_appended_in_place(a, tree->children[j], &end))
			write_child(a, tree->children[j], NULL);
	}
	(void) item_build_end(&a->b);
}

/*
 * Write the new item, or what the update wrote of it.  Where there is no old one it begins with the
 * attributes of key, if that is given, which the update's operands see, too.
 */
static DynItem *
update_apply(const Expr *update, const DynItem *old, const DynItem *key, bool touched_only)
{
	ExprApply a = {.expr = update, .absent = old == NULL, .touched_only = touched_only};
	const DynItem *base = old != NULL ? old : key;

	if (base != NULL)
		a.item = item_children(item_root(base));
	item_build_init(&a.b, base == NULL ? 0 : VARSIZE_ANY_EXHDR(base) + 64);
	write_map(&a, update->compiled->tree, &a.item);
	return item_build_finish(&a.b);
}

/* Returns what an update does to a top-level attribute, or NULL if it does not write it. */
static const ExprTree *
find_action(const Expr *update, ItemSpan attribute)
{
	const ExprTree *tree = update->compiled->tree;

	for (int i = 0; tree != NULL && i < tree->nchildren; i++)
	{
		const ExprTree *child = tree->children[i];

		if (child->type == TREE_LEAF && item_compare_bytes(child->step.name, attribute) == 0)
			return child;
	}
	return NULL;
}

/*
 * Returns whether an update sets a top-level attribute to a value of the request, or adds one to it,
 * which *value then is.
 */
bool
expr_sets_value(const Expr *update, ItemSpan attribute, ItemSpan *value)
{
	const ExprTree *action = find_action(update, attribute);

	if (action == NULL || (action->verb != EXPR_SET && action->verb != EXPR_ADD) ||
		action->value->type != NODE_VALUE)
		return false;
	*value = update->values[action->value->slot];
	return true;
}

/* Returns whether an update sets a top-level attribute to what the item may have elsewhere. */
bool
expr_copies(const Expr *update, ItemSpan attribute)
{
	const ExprTree *action = find_action(update, attribute);

	return action != NULL && action->verb == EXPR_SET &&
		   (action->value->type == NODE_PATH || action->value->type == NODE_IF_NOT_EXISTS);
}

/*
 * Returns the new item.  Where there was none it is made of key, which may be NULL; NULL if there
 * was none and the update only removes and deletes, which makes none.
 */
DynItem *
expr_apply(const Expr *update, const DynItem *old, const DynItem *key)
{
	DynItem *item;

	if (old == NULL && !update->compiled->creates)
		return NULL;
	item = update_apply(update, old, key, false);
	item_check_change(old, item_root(item), ITEM_SIZE_WORDS_UPDATED);
	return item;
}

/* Returns what was at the paths that the update writes, or NULL if nothing was. */
DynItem *
expr_updated_old(const Expr *update, const DynItem *old)
{
	if (old == NULL || !expr_tree_resolves(update->compiled->tree, item_root(old)))
		return NULL;
	return expr_project(update, old);
}

/*
 * Returns what the update wrote to the old item, or to key if there was none, or NULL if nothing of
 * it is left.
 */
DynItem *
expr_updated_new(const Expr *update, const DynItem *old, const DynItem *key)
{
	DynItem *item = update_apply(update, old, key, true);

	return item_children(item_root(item)).count == 0 ? NULL : item;
}
