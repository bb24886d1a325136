/*
 * node.c
 *	  Nodes of the tree, made as they are written: nothing is refused here.
 */
#include "postgres.h"

#include "api/partiql/tree.h"

/* Makes a node of any type. */
PartiqlNode *
partiql_node(PartiqlType type, PartiqlToken token, List *args)
{
	PartiqlNode *node = palloc0(sizeof(PartiqlNode));

	node->type = type;
	node->place = token.place;
	node->text = token.text;
	node->args = args;
	return node;
}

/* Parameters count from the left, and have the first slots. */
PartiqlNode *
partiql_parameter(PartiqlParse *parse, PartiqlToken token)
{
	PartiqlNode *node = partiql_node(PARTIQL_PARAMETER, token, NIL);

	node->slot = parse->statement->nparameters++;
	return node;
}

/* Makes a node of true or false. */
PartiqlNode *
partiql_bool(PartiqlToken token, bool truth)
{
	PartiqlNode *node = partiql_node(PARTIQL_BOOL, token, NIL);

	node->truth = truth;
	return node;
}

/* Makes a call of a function; case does not matter in its name. */
PartiqlNode *
partiql_function(PartiqlToken name, List *args)
{
	char *lower = palloc(name.text.len);

	for (uint32 i = 0; i < name.text.len; i++)
		lower[i] = (char) pg_ascii_tolower((unsigned char) name.text.data[i]);
	name.text.data = lower;
	return partiql_node(PARTIQL_FUNCTION, name, args);
}

/* Makes a node of parentheses: they group one expression, and make a list of several. */
PartiqlNode *
partiql_group(PartiqlToken token, List *args)
{
	PartiqlNode *node;

	if (list_length(args) > 1)
		return partiql_node(PARTIQL_LIST, token, args);
	node = linitial(args);
	node->parens = true;
	return node;
}

/* A sign belongs to the number behind it, at whose digits it stays. */
PartiqlNode *
partiql_sign(PartiqlToken token, PartiqlNode *node, bool negative)
{
	if (node->type != PARTIQL_NUMBER)
		return partiql_node(PARTIQL_NEGATE, token, list_make1(node));
	node->negative = node->negative != negative;
	return node;
}

/* Makes a node of IN and its list, which may be in parentheses or in brackets. */
PartiqlNode *
partiql_in(PartiqlToken token, PartiqlNode *operand, PartiqlNode *list)
{
	List *args = list_make1(operand);

	if (list->type == PARTIQL_LIST && !list->parens)
		return partiql_node(PARTIQL_IN, token, list_concat(args, list->args));
	if (list->parens)
		return partiql_node(PARTIQL_IN, token, lappend(args, list));
	/* not a list at all, which is refused by this */
	return partiql_node(PARTIQL_IN, token, args);
}

/* Makes the negation of a condition. */
PartiqlNode *
partiql_not(PartiqlToken token, PartiqlNode *node)
{
	return partiql_node(PARTIQL_NOT, token, list_make1(node));
}

/* Makes a node of IS and the name of a type. */
PartiqlNode *
partiql_is(PartiqlToken token, PartiqlNode *operand, PartiqlToken type)
{
	PartiqlNode *node = partiql_node(PARTIQL_IS, token, list_make1(operand));

	node->text = type.text;
	return node;
}

static void
add_step(PartiqlNode *path, PartiqlToken token, ItemSpan name, PartiqlNode *expression)
{
	PartiqlStep *step = palloc0(sizeof(PartiqlStep));

	step->place = token.place;
	step->name = name;
	step->expression = expression;
	path->steps = lappend(path->steps, step);
}

/* Begins a path with a name. */
PartiqlNode *
partiql_path(PartiqlToken name)
{
	PartiqlNode *path = partiql_node(PARTIQL_PATH, name, NIL);

	add_step(path, name, name.text, NULL);
	return path;
}

/* Begins a path at any term, which is its first step then. */
static PartiqlNode *
begun_path(PartiqlNode *term)
{
	PartiqlToken token = {term->place, term->text};
	PartiqlNode *path;

	if (term->type == PARTIQL_PATH)
		return term;
	path = partiql_node(PARTIQL_PATH, token, NIL);
	add_step(path, token, (ItemSpan){NULL, 0}, term);
	return path;
}

/* Appends a name. */
PartiqlNode *
partiql_path_name(PartiqlNode *term, PartiqlToken dot, PartiqlToken name)
{
	PartiqlNode *path = begun_path(term);

	add_step(path, name, name.text, NULL);
	return path;
}

/* Appends what stands in brackets. */
PartiqlNode *
partiql_path_index(PartiqlNode *term, PartiqlToken bracket, PartiqlNode *index)
{
	PartiqlNode *path = begun_path(term);

	add_step(path, bracket, (ItemSpan){NULL, 0}, index);
	return path;
}

/* Makes a key of ORDER BY. */
PartiqlOrder *
partiql_order(PartiqlNode *path, bool descending)
{
	PartiqlOrder *order = palloc0(sizeof(PartiqlOrder));

	order->path = path;
	order->descending = descending;
	return order;
}

/* Makes SET, or REMOVE if there is no value. */
PartiqlChange *
partiql_change(PartiqlNode *path, PartiqlNode *value)
{
	PartiqlChange *change = palloc0(sizeof(PartiqlChange));

	change->path = path;
	change->value = value;
	return change;
}

/* A condition ends before the last token, which is the first one that is not in it. */
void
partiql_set_where(PartiqlParse *parse, PartiqlToken where)
{
	int at = where.place.at + where.place.len;

	parse->statement->where_place = (PartiqlPlace){at, parse->end - at};
}
