/*
 * path.c
 *	  Document paths: made from the text, followed in an item, merged into a tree.
 */
#include "postgres.h"

#include "expr/tree.h"
#include "server/errors.h"

static ExprStep *
add_step(ExprPath *path)
{
	if (path->nsteps == path->maxsteps)
	{
		path->maxsteps *= 2;
		path->steps = repalloc(path->steps, path->maxsteps * sizeof(ExprStep));
	}
	memset(&path->steps[path->nsteps], 0, sizeof(ExprStep));
	return &path->steps[path->nsteps++];
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a path that is whole is too long.  The limit keeps recursion over
 * trees of paths shallow, too.
 */
void
expr_check_path(const ExprCompiled *compiled, const ExprPath *path)
{
	if (path->nsteps > EXPR_MAX_STEPS)
		expr_fail(compiled, path->location,
				  expr_words(compiled,
							 "The document path has too many nesting levels; nesting levels: %d",
							 path->nsteps),
				  "document path has more than %d names and indexes", EXPR_MAX_STEPS);
}

static ExprPath *
new_path(int location)
{
	ExprPath *path = palloc0(sizeof(ExprPath));

	path->location = location;
	path->maxsteps = 2;
	path->steps = palloc(path->maxsteps * sizeof(ExprStep));
	return path;
}

static void
forbid_reserved(ExprParse *parse, ItemSpan name, int location)
{
	if (expr_is_reserved(name))
		expr_fail_reserved(parse->compiled, location, name);
}

/* Returns the name that a placeholder is defined as; the placeholder is recorded as used. */
static ItemSpan
path_lookup(ExprParse *parse, ItemSpan placeholder, int location)
{
	ExprCompiled *c = parse->compiled;
	ItemSpan name;
	int number;

	if (placeholder.len > EXPR_MAX_PLACEHOLDER)
		expr_fail(c, location, expr_words_undefined(c, placeholder),
				  "placeholder is longer than %d bytes", EXPR_MAX_PLACEHOLDER);
	number = expr_request_name(parse->request, placeholder, c->names, &name);
	if (number < 0)
		expr_fail_hint(
			c, location, expr_words_undefined(c, placeholder),
			psprintf("Give the name in names: {\"%s\": \"attribute\"}.", item_quoted(placeholder)),
			psprintf("name placeholder \"%s\" is not defined", item_quoted(placeholder)));
	for (int i = 0; i < c->nused_names; i++)
	{
		if (c->used_names[i] == number)
			return name;
	}
	if (c->nused_names == c->maxused_names)
	{
		c->maxused_names = Max(8, 2 * c->maxused_names);
		c->used_names = c->used_names == NULL
							? palloc(c->maxused_names * sizeof(int))
							: repalloc(c->used_names, c->maxused_names * sizeof(int));
	}
	c->used_names[c->nused_names++] = number;
	return name;
}

/* Begins a path with a name. */
ExprPath *
expr_make_path(ExprParse *parse, ItemSpan name, int location)
{
	return expr_path_name(parse, new_path(location), name, location);
}

/*
 * Begins a path with the name that a placeholder is defined as, which may be a reserved word.
 * Raises ERRCODE_DYN_VALIDATION if the request does not define the placeholder.
 */
ExprPath *
expr_make_path_ref(ExprParse *parse, ItemSpan placeholder, int location)
{
	return expr_path_ref(parse, new_path(location), placeholder, location);
}

/* Appends a name to a path. */
ExprPath *
expr_path_name(ExprParse *parse, ExprPath *path, ItemSpan name, int location)
{
	forbid_reserved(parse, name, location);
	add_step(path)->name = name;
	return path;
}

/*
 * Appends the name that a placeholder is defined as, which may be a reserved word.  Raises
 * ERRCODE_DYN_VALIDATION if the request does not define the placeholder.
 */
ExprPath *
expr_path_ref(ExprParse *parse, ExprPath *path, ItemSpan placeholder, int location)
{
	ItemSpan name = path_lookup(parse, placeholder, location);

	add_step(path)->name = name;
	return path;
}

/* This is the largest index; a list is never so long. */
#define MAX_INDEX (PG_UINT32_MAX - 1)

/*
 * Appends a list index, given by its decimal digits.  Raises ERRCODE_DYN_VALIDATION if it is above
 * MAX_INDEX.
 */
ExprPath *
expr_path_index(ExprParse *parse, ExprPath *path, ItemSpan digits, int location)
{
	uint64 index = 0;

	for (uint32 i = 0; i < digits.len && index <= MAX_INDEX; i++)
		index = index * 10 + (digits.data[i] - '0');
	if (index > MAX_INDEX)
		expr_fail(parse->compiled, location,
				  expr_words(parse->compiled,
							 "List index is not within the allowable range; index: [%s]",
							 item_quoted_words(digits)),
				  "list index \"%s\" is out of range", item_quoted(digits));
	add_step(path)->index = (uint32) index;
	return path;
}

/* Compares children of one tree node, which are all names or all indexes. */
static int
compare_steps(const ExprStep *a, const ExprStep *b)
{
	if (a->name.data != NULL)
		return item_compare_bytes(a->name, b->name);
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Returns whether two paths have the same names and indexes. */
bool
expr_path_equal(const ExprPath *a, const ExprPath *b)
{
	if (a->nsteps != b->nsteps)
		return false;
	for (int i = 0; i < a->nsteps; i++)
	{
		if ((a->steps[i].name.data == NULL) != (b->steps[i].name.data == NULL) ||
			compare_steps(&a->steps[i], &b->steps[i]) != 0)
			return false;
	}
	return true;
}

/* Takes one step into a value; returns false if it leads nowhere. */
bool
expr_step_find(const ExprStep *step, ItemSpan container, ItemSpan *value)
{
	ItemChildren c;

	if (item_type(container) != (step->name.data == NULL ? ITEM_L : ITEM_M))
		return false;
	c = item_children(container);
	if (step->name.data != NULL)
		return item_find(&c, step->name, value);
	if (step->index >= c.count)
		return false;
	*value = item_child(&c, step->index);
	return true;
}

/* Finds the value at a path; item holds the top-level attributes. */
bool
expr_path_find(const ExprPath *path, const ItemChildren *item, ItemSpan *value)
{
	if (!item_find(item, path->steps[0].name, value))
		return false;
	for (int i = 1; i < path->nsteps; i++)
	{
		if (!expr_step_find(&path->steps[i], *value, value))
			return false;
	}
	return true;
}

/*
 * The tree of paths
 */

/* Returns some path that goes through here. */
static const ExprPath *
any_path(const ExprTree *tree)
{
	while (tree->type != TREE_LEAF)
		tree = tree->children[0];
	return tree->path;
}

/* Raises that two paths of one expression cannot stand together; tree is on the earlier one. */
static void
fail_pair(ExprParse *parse, const ExprTree *tree, const ExprPath *path, const char *verb,
		  const char *problem)
{
	const char *words =
		expr_words(parse->compiled,
				   "Two document paths %s with each other; must remove or rewrite one of these "
				   "paths; path one: %s, path two: %s",
				   verb, expr_words_path(any_path(tree)), expr_words_path(path));

	expr_fail(parse->compiled, path->location, words, "document paths \"%s\" and \"%s\" %s",
			  expr_path_text(any_path(tree)), expr_path_text(path), problem);
}

/* Returns the child that a step leads to, and makes it if there was none. */
static ExprTree *
tree_child(ExprTree *tree, const ExprStep *step, bool *made)
{
	int at = 0;
	int high = tree->nchildren;
	ExprTree *child;

	while (at < high)
	{
		int middle = (at + high) / 2;
		int cmp = compare_steps(step, &tree->children[middle]->step);

		*made = false;
		if (cmp == 0)
			return tree->children[middle];
		if (cmp < 0)
			high = middle;
		else
			at = middle + 1;
	}
	if (tree->nchildren == tree->maxchildren)
	{
		tree->maxchildren = Max(4, 2 * tree->maxchildren);
		tree->children = tree->children == NULL
							 ? palloc(tree->maxchildren * sizeof(ExprTree *))
							 : repalloc(tree->children, tree->maxchildren * sizeof(ExprTree *));
	}
	memmove(tree->children + at + 1, tree->children + at,
			(tree->nchildren - at) * sizeof(ExprTree *));
	tree->nchildren++;
	child = palloc0(sizeof(ExprTree));
	child->step = *step;
	tree->children[at] = child;
	*made = true;
	return child;
}

/* Remember a top-level attribute for expr_attributes(). */
void
expr_add_attribute(ExprCompiled *c, ItemSpan name)
{
	for (int i = 0; i < c->nattributes; i++)
	{
		if (expr_span_equal(c->attributes[i], name))
			return;
	}
	if (c->nattributes == c->maxattributes)
	{
		c->maxattributes = Max(8, 2 * c->maxattributes);
		c->attributes = c->attributes == NULL
							? palloc(c->maxattributes * sizeof(ItemSpan))
							: repalloc(c->attributes, c->maxattributes * sizeof(ItemSpan));
	}
	c->attributes[c->nattributes++] = name;
}

/* Remember a path that goes on after its name, for expr_looks_into(). */
void
expr_add_deep(ExprCompiled *c, ExprPath *path)
{
	/* what DynamoDB says of those in PartiQL is not known */
	if (path->nsteps > 1 && !c->bare)
		c->deep = lappend(c->deep, path);
}

/*
 * Add a path; returns its leaf.  The paths of one expression must not be the same, nor
 * one inside the other, nor take one value for both a map and a list.
 */
ExprTree *
expr_tree_add(ExprParse *parse, ExprPath *path)
{
	ExprCompiled *c = parse->compiled;
	ExprTree *tree = c->tree;
	bool made = true;

	expr_check_path(c, path);
	if (tree == NULL)
	{
		tree = c->tree = palloc0(sizeof(ExprTree));
		tree->type = TREE_MAP;
	}
	for (int i = 0; i < path->nsteps; i++)
	{
		const ExprStep *step = &path->steps[i];
		ExprTreeType type = step->name.data == NULL ? TREE_LIST : TREE_MAP;

		if (made)
			tree->type = type;
		else if (tree->type == TREE_LEAF)
			fail_pair(parse, tree, path, "overlap", "overlap");
		else if (tree->type != type)
			fail_pair(parse, tree, path, "conflict",
					  "conflict: one has a map where the other has a list");
		tree = tree_child(tree, step, &made);
	}
	if (!made)
		fail_pair(parse, tree, path, "overlap", "overlap");
	tree->path = path;
	expr_add_attribute(c, path->steps[0].name);
	expr_add_deep(c, path);
	return tree;
}
