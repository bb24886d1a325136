/*
 * literal.c
 *	  The values that literals stand for.
 *
 * What is wrong in a literal is told with its place in the value, which begins with "root".
 */
#include "postgres.h"

#include "miscadmin.h"

#include "api/partiql/tree.h"
#include "item/build.h"
#include "server/words.h"

typedef struct Literal
{
	const PartiqlStatement *statement;
	ItemBuilder builder;
	StringInfoData path; /* from the root to the value that is built */
	int nesting;
} Literal;

/* Returns whether a node is a literal, which may be one with an error in it. */
bool
partiql_is_literal(const PartiqlNode *node)
{
	return node->type >= PARTIQL_STRING && node->type <= PARTIQL_TUPLE;
}

static const char *
literal_path(const Literal *literal)
{
	return item_quoted_words((ItemSpan){literal->path.data, (uint32) literal->path.len});
}

/* Returns the digits of a number with its sign, as they are written. */
static ItemSpan
signed_number(const PartiqlNode *node)
{
	char *text;

	if (!node->negative)
		return node->text;
	text = psprintf("-%.*s", (int) node->text.len, node->text.data);
	return (ItemSpan){text, node->text.len + 1};
}

static void
build_number(Literal *literal, const PartiqlNode *node)
{
	ItemSpan text = signed_number(node);
	char number[ITEM_NUMBER_SIZE];
	int len = item_number_parse_call(text.data, text.len, number);

	if (len < 0)
		partiql_fail(literal->statement, node->place,
					 psprintf("%s under %s", item_number_words((ItemNumberError) len, text),
							  literal_path(literal)),
					 "number \"%s\" %s", item_quoted(text), item_number_error(len));
	item_build_scalar(&literal->builder, ITEM_N, (ItemSpan){number, (uint32) len});
}

/* Raises an error for what is no literal, inside of one. */
pg_noreturn static void
fail_value(const Literal *literal, const PartiqlNode *node)
{
	const char *type = NULL;

	if (node->type == PARTIQL_PARAMETER)
		type = "Parameter";
	else if (node->type == PARTIQL_FUNCTION)
		type = item_quoted_words(node->text);
	partiql_fail(literal->statement, node->place,
				 type == NULL ? NULL
							  : psprintf("Unsupported data type: %s under key %s at %s", type,
										 literal_path(literal),
										 partiql_where(literal->statement->text, node->place)),
				 "only literals can stand inside a literal");
}

/* Returns the members of a set of numbers as they are written: [2, 2.0]. */
static const char *
number_list(const List *members)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	foreach (cell, members)
	{
		ItemSpan text = signed_number(lfirst(cell));

		appendStringInfo(&out, "%s%.*s", out.len > 0 ? ", " : "", (int) text.len, text.data);
		if (out.len > ITEM_WORDS_TEXT)
		{
			appendStringInfoString(&out, ", ...");
			break;
		}
	}
	return out.data;
}

static void build_value(Literal *literal, const PartiqlNode *node);

/* Builds one element of a list or set. */
static void
build_element(Literal *literal, const PartiqlNode *node, int number)
{
	int len = literal->path.len;

	appendStringInfo(&literal->path, "[%d]", number);
	item_build_element(&literal->builder);
	build_value(literal, node);
	literal->path.len = len;
	literal->path.data[len] = '\0';
}

static void
build_elements(Literal *literal, const PartiqlNode *node)
{
	ListCell *cell;

	foreach (cell, node->args)
		build_element(literal, lfirst(cell), foreach_current_index(cell));
}

/* The elements of a set are all numbers or all strings. */
static ItemType
bag_type(const Literal *literal, const PartiqlNode *node)
{
	PartiqlType type;
	ListCell *cell;

	if (node->args == NIL)
		partiql_fail(literal->statement, node->place, "Empty bags are not supported",
					 "a set is empty");
	type = ((const PartiqlNode *) linitial(node->args))->type;
	foreach (cell, node->args)
	{
		const PartiqlNode *element = lfirst(cell);

		if (element->type != type || (type != PARTIQL_NUMBER && type != PARTIQL_STRING))
			partiql_fail(literal->statement, element->place,
						 "Unsupported data type in Bag. DynamoDB only supports either numbers or "
						 "strings in bags",
						 "a set has numbers only or strings only");
	}
	return type == PARTIQL_NUMBER ? ITEM_NS : ITEM_SS;
}

static void
build_bag(Literal *literal, const PartiqlNode *node)
{
	ItemType type = bag_type(literal, node);
	ItemBuildError error;
	const char *words;

	item_build_begin(&literal->builder, type);
	build_elements(literal, node);
	error = item_build_end(&literal->builder);
	if (error == ITEM_BUILD_OK)
		return;
	if (type == ITEM_NS)
		words = psprintf(DYN_INVALID_WORDS "Input collection [%s] contains duplicates! under %s",
						 number_list(node->args), literal_path(literal));
	else
		words = item_build_words(&literal->builder, error, ITEM_LAYER_OLDER);
	partiql_fail(literal->statement, node->place, words, "a set has an element twice");
}

/* Returns the name of an attribute in a tuple.  Raises ERRCODE_DYN_VALIDATION if it is none. */
ItemSpan
partiql_tuple_name(const PartiqlStatement *statement, const PartiqlNode *node)
{
	if (node->type != PARTIQL_STRING)
		partiql_fail(statement, node->place, NULL, "a name in a tuple is no string");
	if (node->text.len == 0)
		partiql_fail(statement, node->place, NULL, "a name in a tuple is empty");
	return node->text;
}

static void
build_tuple(Literal *literal, const PartiqlNode *node)
{
	int len = literal->path.len;

	item_build_begin(&literal->builder, ITEM_M);
	for (int i = 0; i < list_length(node->args); i += 2)
	{
		ItemSpan name = partiql_tuple_name(literal->statement, list_nth(node->args, i));

		appendStringInfoChar(&literal->path, '.');
		appendBinaryStringInfo(&literal->path, name.data, (int) name.len);
		item_build_name(&literal->builder, name);
		build_value(literal, list_nth(node->args, i + 1));
		literal->path.len = len;
		literal->path.data[len] = '\0';
	}
	if (item_build_end(&literal->builder) != ITEM_BUILD_OK)
		partiql_fail(literal->statement, node->place, NULL, "a tuple has a name twice");
}

/* Lists and tuples nest. */
static void
build_collection(Literal *literal, const PartiqlNode *node)
{
	check_stack_depth();
	if (++literal->nesting > PARTIQL_MAX_LITERAL_NESTING)
		partiql_fail(literal->statement, node->place,
					 psprintf("Nesting Levels have exceeded supported limits under %s",
							  literal_path(literal)),
					 "more than %d levels of nesting", PARTIQL_MAX_LITERAL_NESTING);
	if (node->type == PARTIQL_TUPLE)
		build_tuple(literal, node);
	else
	{
		item_build_begin(&literal->builder, ITEM_L);
		build_elements(literal, node);
		(void) item_build_end(&literal->builder);
	}
	literal->nesting--;
}

static void
build_value(Literal *literal, const PartiqlNode *node)
{
	switch (node->type)
	{
		case PARTIQL_STRING:
			item_build_scalar(&literal->builder, ITEM_S, node->text);
			break;
		case PARTIQL_NUMBER:
			build_number(literal, node);
			break;
		case PARTIQL_BOOL:
			item_build_bool(&literal->builder, node->truth);
			break;
		case PARTIQL_NULL:
			item_build_null(&literal->builder);
			break;
		case PARTIQL_BAG:
			build_bag(literal, node);
			break;
		case PARTIQL_LIST:
		case PARTIQL_TUPLE:
			build_collection(literal, node);
			break;
		case PARTIQL_PATH:
		case PARTIQL_PARAMETER:
		case PARTIQL_MISSING:
		case PARTIQL_FUNCTION:
		case PARTIQL_STAR:
		case PARTIQL_NEGATE:
		case PARTIQL_PLUS:
		case PARTIQL_MINUS:
		case PARTIQL_EQ:
		case PARTIQL_NE:
		case PARTIQL_LT:
		case PARTIQL_LE:
		case PARTIQL_GT:
		case PARTIQL_GE:
		case PARTIQL_BETWEEN:
		case PARTIQL_IN:
		case PARTIQL_IS:
		case PARTIQL_AND:
		case PARTIQL_OR:
		case PARTIQL_NOT:
			fail_value(literal, node);
	}
}

/*
 * Returns the value of a literal with its tag, in the current memory context.  Raises
 * ERRCODE_DYN_VALIDATION if it has none, also for a node that is no literal.
 */
ItemSpan
partiql_literal(const PartiqlStatement *statement, const PartiqlNode *node)
{
	Literal literal = {.statement = statement};

	initStringInfo(&literal.path);
	appendStringInfoString(&literal.path, "root");
	item_build_init(&literal.builder, 64);
	build_value(&literal, node);
	return item_root(item_build_finish(&literal.builder));
}
