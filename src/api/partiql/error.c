/*
 * error.c
 *	  Errors of statements: what is wrong, and where in the text.
 *
 * A syntax error has a few words only, which depend on what stands before the token that cannot
 * stand there, and on what kind of token it is.
 */
#include "postgres.h"

#include "api/partiql/tree.h"
#include "server/errors.h"
#include "api/partiql/gram.h"

#define MALFORMED "Statement wasn't well formed, can't be processed: "

/* Returns a place in words: line:column:length in characters, the first two from 1. */
char *
partiql_where(ItemSpan text, PartiqlPlace place)
{
	int line = 1;
	int column = 1;
	int length = 0;

	for (int i = 0; i < place.at + place.len; i++)
	{
		unsigned char c = (unsigned char) text.data[i];

		if ((c & 0xc0) == 0x80)
			continue;
		if (i >= place.at)
			length++;
		else if (c == '\n')
		{
			line++;
			column = 1;
		}
		else
			column++;
	}
	return psprintf("%d:%d:%d", line, column, length);
}

static int
character_at(ItemSpan text, PartiqlPlace place)
{
	return item_characters((ItemSpan){text.data, (uint32) place.at}) + 1;
}

/* The words and the hint may be NULL. */
pg_noreturn static void
error_fail(const PartiqlStatement *statement, PartiqlPlace place, const char *words,
		   const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid PartiQL statement: %s", message),
			 errwords_if(words),
			 place.at < 0 ? 0 : errdetail("At character %d.", character_at(statement->text, place)),
			 hint == NULL ? 0 : errhint("%s", hint)));
	pg_unreachable();
}

/*
 * Raises ERRCODE_DYN_VALIDATION, with DynamoDB's words if they are known, and a message of our own.
 * A place below zero: the error is not at any one place.
 */
void
partiql_fail(const PartiqlStatement *statement, PartiqlPlace place, const char *words,
			 const char *format, ...)
{
	va_list args;
	char *message;

	va_start(args, format);
	message = words_format(format, args);
	va_end(args);
	error_fail(statement, place, words, message, NULL);
}

static ItemSpan
place_text(const PartiqlStatement *statement, PartiqlPlace place)
{
	return (ItemSpan){statement->text.data + place.at, (uint32) place.len};
}

/* Raises ERRCODE_DYN_VALIDATION for text that is no token. */
void
partiql_fail_token(const PartiqlStatement *statement, PartiqlPlace place)
{
	partiql_fail(statement, place, MALFORMED, "invalid token at \"%s\"",
				 item_quoted(place_text(statement, place)));
}

static bool
is_infix(int token)
{
	switch (token)
	{
		case '=':
		case '<':
		case '>':
		case '+':
		case '-':
		case NE:
		case LE:
		case GE:
		case AND:
		case OR:
		case BETWEEN:
		case NOT_BETWEEN:
		case IN:
		case NOT_IN:
			return true;
		default:
			return false;
	}
}

static bool
is_operator(int token)
{
	return is_infix(token) || token == OPERATOR || token == IS || token == NOT;
}

/* Returns whether the token is a word that is no name. */
static bool
is_word(const PartiqlParse *parse)
{
	return parse->place.len > 0 &&
		   isalpha((unsigned char) parse->statement->text.data[parse->place.at]) &&
		   parse->last != NAME;
}

/* Returns whether a value or a path has to follow the token before. */
static bool
awaits_term(const PartiqlParse *parse)
{
	switch (parse->before)
	{
		case '(':
		case '[':
		case '{':
		case ',':
		case ':':
		case SELECT:
		case FROM:
		case WHERE:
		case VALUE:
		case BY:
		case LIMIT:
		case BAG_OPEN:
		case NOT:
			return true;
		default:
			/* INSERT INTO t: a value could follow */
			return is_infix(parse->before) ||
				   (parse->clause == INTO && (parse->last == 0 || is_word(parse)));
	}
}

/* Returns whether the token before has to be followed by a path. */
static bool
awaits_path(const PartiqlParse *parse)
{
	switch (parse->before)
	{
		case INTO:
		case UPDATE:
		case SET:
		case REMOVE:
			return true;
		case FROM:
			return parse->first == DELETE;
		case ',':
			return parse->clause == SET;
		default:
			return false;
	}
}

static const char *
term_words(const PartiqlParse *parse)
{
	if (parse->last == 0 && is_infix(parse->before))
		return "Missing right-hand side expression of infix operator";
	if (is_operator(parse->last))
		return "Unexpected operator";
	return is_word(parse) ? "Unexpected keyword" : "Unexpected term";
}

/* Returns whether a statement that changes an item does not yet say how. */
static bool
awaits_change(const PartiqlParse *parse)
{
	return parse->clause == UPDATE || (parse->first == FROM && parse->statement->changes == NIL &&
									   parse->clause != SET && parse->clause != REMOVE);
}

static const char *
syntax_words(const PartiqlParse *parse)
{
	switch (parse->first)
	{
		case SELECT:
		case INSERT:
		case UPDATE:
		case DELETE:
		case FROM:
		case EXISTS:
			break;
		default:
			return "Expected data manipulation";
	}
	if (parse->before == '.')
		return "Invalid path dot component";
	if (parse->before == IS || parse->is_not)
		return "Expected type name";
	if (awaits_path(parse))
		return "Expected identifier for simple path";
	if (awaits_term(parse))
		return term_words(parse);
	if (parse->before == DELETE)
		return "Expected FROM after DELETE";
	if (parse->clause == SELECT)
		return "Expected FROM after SELECT list";
	if (awaits_change(parse))
		return "Expected data manipulation";
	return "Unexpected token after expression";
}

/* Returns a hint about a keyword that cannot stand where it is. */
static const char *
word_hint(ItemSpan word)
{
	static const char *const of_sql[] = {"group", "having", "join", "union"};

	if (word.len == 6 && pg_strncasecmp(word.data, "values", 6) == 0)
		return "Write INSERT INTO table VALUE {'name': 'value'}.";
	for (int i = 0; i < lengthof(of_sql); i++)
	{
		if (word.len == strlen(of_sql[i]) && pg_strncasecmp(word.data, of_sql[i], word.len) == 0)
			return "PartiQL of DynamoDB has no joins, groups and unions.";
	}
	return "A name that is a keyword has to stand in double quotes.";
}

/* Raises ERRCODE_DYN_VALIDATION: the parser's stack is full. */
void
partiql_fail_nesting(const PartiqlParse *parse)
{
	partiql_fail(parse->statement, parse->place, NULL, "it is nested too deeply");
}

/*
 * Raises ERRCODE_DYN_VALIDATION: the parser cannot go on with the last token.  DynamoDB splits the
 * whole text into tokens first.
 */
void
partiql_fail_syntax(const PartiqlParse *parse)
{
	const PartiqlStatement *statement = parse->statement;
	const char *words = syntax_words(parse);
	const char *where = "at end of input";
	PartiqlToken token;

	if (!(parse->ahead && parse->ahead_type == 0) && parse->last != 0)
	{
		while (partiql_scan(&token, parse->scanner) != 0)
			;
	}
	if (parse->place.len > 0)
		where = psprintf("at or near \"%s\"", item_quoted(place_text(statement, parse->place)));
	error_fail(statement, parse->place, psprintf("%s%s", MALFORMED, words),
			   psprintf("syntax error %s", where),
			   is_word(parse) ? word_hint(place_text(statement, parse->place)) : NULL);
}
