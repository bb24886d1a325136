/*
 * error.c
 *	  Errors of expressions: which expression, what is wrong, and where in the text.
 */
#include "postgres.h"

#include "expr/tree.h"
#include "server/errors.h"

/* Converts an offset in bytes to one in characters, counted from 1. */
static int
character_at(const ExprCompiled *compiled, int location)
{
	return item_characters((ItemSpan){compiled->text.data, (uint32) location}) + 1;
}

/* Returns what words of an expression are about, unless they are about the item. */
static WordsKind
kind_of(const ExprCompiled *compiled)
{
	if (compiled->text.data != NULL)
		return WORDS_EXPRESSION;
	return compiled->kind == EXPR_CONDITION ? WORDS_EXPECTED : WORDS_OTHER;
}

/* The hint may be NULL. */
pg_noreturn static void
fail_at(const ExprCompiled *compiled, int location, WordsKind kind, const char *words,
		const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid %s: %s", compiled->parameter, message), errwords("%s", words),
			 errwords_kind(kind),
			 location < 0 ? 0 : errdetail("At character %d.", character_at(compiled, location)),
			 hint == NULL ? 0 : errhint("%s", hint)));
	pg_unreachable();
}

/*
 * Raise ERRCODE_DYN_VALIDATION, with DynamoDB's words and a message of our own.  A location below
 * zero: the error is not at any one place.  The hint may be NULL.
 */
void
expr_fail_hint(const ExprCompiled *compiled, int location, const char *words, const char *hint,
			   const char *message)
{
	if (compiled->parsing)
		expr_check_syntax(compiled);
	fail_at(compiled, location, kind_of(compiled), words, message, hint);
}

/* Raises an error of an update that is under way, where it is the item that does not fit. */
void
expr_raise_item(const ExprCompiled *compiled, int location, const char *words, const char *hint,
				const char *message)
{
	fail_at(compiled, location, WORDS_OTHER, words, message, hint);
}

/* Returns a value as placeholders have it if the name is that of one in SQL, or NULL. */
static const char *
value_of_name(ItemSpan name)
{
	static const char *const values[][2] = {
		{"true", "{\"BOOL\": true}"}, {"false", "{\"BOOL\": false}"}, {"null", "{\"NULL\": true}"}};

	for (int i = 0; i < lengthof(values); i++)
	{
		if (name.len == strlen(values[i][0]) &&
			pg_strncasecmp(name.data, values[i][0], name.len) == 0)
			return values[i][1];
	}
	return NULL;
}

/* Raises the error of a name that DynamoDB reserves, with the placeholder to take instead. */
void
expr_fail_reserved(const ExprCompiled *compiled, int location, ItemSpan name)
{
	const char *quoted = item_quoted(name);
	const char *value = value_of_name(name);

	if (compiled->parsing)
		expr_check_syntax(compiled);
	fail_at(
		compiled, location, WORDS_EXPRESSION,
		expr_words(compiled, "Attribute name is a reserved keyword; reserved keyword: %s",
				   item_quoted_words(name)),
		psprintf("attribute name \"%s\" is a reserved word and needs a placeholder", quoted),
		value != NULL
			? psprintf("If it is a value, write :v, and define it in vals: {\":v\": %s}.", value)
			: psprintf("Write #%s, and define it in names: {\"#%s\": \"%s\"}.", quoted, quoted,
					   quoted));
}

/* Returns a hint if the token is of another language: what is written here instead. */
static const char *
other_language(const ExprParse *parse, ItemSpan token)
{
	static const char clauses[] = "Each clause occurs once, and no comma is before it.";
	static const struct
	{
		const char *word;
		bool of_update; /* and not of a condition */
		const char *hint;
	} words[] = {
		{"like", false, "Write begins_with(path, :v) or contains(path, :v)."},
		{"is", false, "Write attribute_exists(path) or attribute_not_exists(path)."},
		{"!", false, "Write <> for \"not equal\"."},
		{",", false, "Conditions are joined by AND."},
		{"+", true, "Write SET path = path + :v, or ADD path :v."},
		{"set", true, clauses},
		{"remove", true, clauses},
		{"add", true, clauses},
		{"delete", true, clauses},
	};
	bool update = parse->compiled->kind == EXPR_UPDATE;

	if (parse->compiled->kind == EXPR_PROJECTION)
		return NULL;
	if (token.len > 0 && token.data[0] == '=' && parse->token > 0 && token.data[-1] == '=')
		return "Write = for \"equal\".";
	if (update && parse->token == 0)
		return "An update has clauses that begin with SET, REMOVE, ADD or DELETE.";
	for (int i = 0; i < lengthof(words); i++)
	{
		if (words[i].of_update == update && token.len == strlen(words[i].word) &&
			pg_strncasecmp(token.data, words[i].word, token.len) == 0)
			return words[i].hint;
	}
	return NULL;
}

/* Returns a hint about what the user may have meant by the unexpected token. */
static const char *
syntax_hint(const ExprParse *parse, ItemSpan token)
{
	const char *other = other_language(parse, token);
	char first = token.len == 0 ? '\0' : token.data[0];
	char before = parse->token == 0 ? ' ' : token.data[-1];
	bool in_name = isalnum((unsigned char) before) || before == '_';

	if (other != NULL || first == '\0')
		return other;
	if (first == '_' || IS_HIGHBIT_SET(first) || (in_name && strchr("-$", first) != NULL))
		return "Names with such a character at this place need a placeholder, such as #n.";
	if (first == '"')
		return "Names and values have no quotes here: they are passed by placeholders, such as #n "
			   "and :v.";
	if (strchr("'?$0123456789", first) != NULL)
		return "Values are passed by placeholder, such as :v.";
	if (expr_is_reserved(token))
		return "An attribute with the name of a reserved word needs a placeholder, such as #n.";
	return NULL;
}

/* The parser cannot go on with the last token. */
void
expr_fail_syntax(const ExprParse *parse, const char *message)
{
	const ExprCompiled *compiled = parse->compiled;
	ItemSpan token = {compiled->text.data + parse->token, (uint32) (parse->offset - parse->token)};
	const char *hint = syntax_hint(parse, token);
	const char *where = "at end of input";

	if (token.len > 0)
		where = psprintf("at or near \"%s\"", item_quoted(token));
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s: %s %s", compiled->parameter, message, where),
					errwords("%s", expr_words_syntax(compiled, parse->token)),
					errwords_kind(WORDS_EXPRESSION),
					errdetail("At character %d.", character_at(compiled, parse->token)),
					hint == NULL ? 0 : errhint("%s", hint)));
	pg_unreachable();
}

/* Returns a path with its placeholders replaced. */
char *
expr_path_text(const ExprPath *path)
{
	StringInfoData out;

	initStringInfo(&out);
	for (int i = 0; i < path->nsteps; i++)
	{
		const ExprStep *step = &path->steps[i];

		if (step->name.data == NULL)
		{
			appendStringInfo(&out, "[%u]", step->index);
			continue;
		}
		if (i > 0)
			appendStringInfoChar(&out, '.');
		item_quote(&out, step->name);
	}
	return out.data;
}

/* Returns a path, a placeholder or a function, in words for a message. */
char *
expr_operand_text(const ExprCompiled *compiled, const ExprNode *node)
{
	if (node->type == NODE_PATH)
		return expr_path_text(node->path);
	if (node->type == NODE_VALUE)
		return item_quoted(compiled->slots[node->slot].name);
	if (!expr_is_function(node->rule))
		return "an expression";
	return psprintf("%s(%s%s)", node->rule->name, expr_operand_text(compiled, node->args[0]),
					node->nargs > 1 ? ", ..." : "");
}
