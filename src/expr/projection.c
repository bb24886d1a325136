/*
 * projection.c
 *	  The part of an item that a tree of paths picks.
 *
 * Maps and lists stay what they are around what was picked; list elements close up.  A
 * map or list of which nothing was found is left out, so each one is looked into before
 * it is begun.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "expr/tree.h"
#include "item/build.h"

/* Returns whether any path leads to a value. */
bool
expr_tree_resolves(const ExprTree *tree, ItemSpan value)
{
	if (tree->type == TREE_LEAF)
		return true;
	check_stack_depth();
	for (int i = 0; i < tree->nchildren; i++)
	{
		ItemSpan child;

		if (expr_step_find(&tree->children[i]->step, value, &child) &&
			expr_tree_resolves(tree->children[i], child))
			return true;
	}
	return false;
}

/* The tree has its children in order, so the builder need not sort. */
static void
build(ItemBuilder *b, const ExprTree *tree, ItemSpan value)
{
	if (tree->type == TREE_LEAF)
	{
		item_build_value(b, value);
		return;
	}
	check_stack_depth();
	item_build_begin(b, item_type(value));
	for (int i = 0; i < tree->nchildren; i++)
	{
		const ExprTree *child = tree->children[i];
		ItemSpan found;

		if (!expr_step_find(&child->step, value, &found) || !expr_tree_resolves(child, found))
			continue;
		if (tree->type == TREE_MAP)
			item_build_name(b, child->step.name);
		else
			item_build_element(b);
		build(b, child, found);
	}
	(void) item_build_end(b);
}

/* Columns come in any order, which the builder puts right. */
static void
build_columns(ItemBuilder *b, const ExprCompiled *c, ItemSpan root)
{
	ItemChildren item = item_children(root);

	item_build_begin(b, ITEM_M);
	for (int i = 0; i < c->ncolumns; i++)
	{
		ItemSpan found;

		if (!expr_path_find(c->columns[i].path, &item, &found))
			continue;
		item_build_name(b, c->columns[i].name);
		item_build_value(b, found);
	}
	(void) item_build_end(b);
}

/* Applies a projection; an item that has none of the attributes gives one without attributes. */
DynItem *
expr_project(const Expr *projection, const DynItem *item)
{
	ItemBuilder b;

	item_build_init(&b, VARSIZE_ANY_EXHDR(item));
	if (projection->compiled->ncolumns > 0)
		build_columns(&b, projection->compiled, item_root(item));
	else
		build(&b, projection->compiled->tree, item_root(item));
	return item_build_finish(&b);
}
