/*
 * parse.c
 *	  Runs the parser.
 */
#include "postgres.h"

#include "api/partiql/tree.h"
#include "server/errors.h"
#include "api/partiql/gram.h"

extern int dyn_partiql_lex(DYN_PARTIQL_STYPE *value, PartiqlParse *parse);

static int
next_token(PartiqlParse *parse, PartiqlToken *token)
{
	if (!parse->ahead)
		return partiql_scan(token, parse->scanner);
	parse->ahead = false;
	*token = parse->ahead_token;
	return parse->ahead_type;
}

/* NOT IN and NOT BETWEEN are operators of two words. */
static int
negated(PartiqlParse *parse)
{
	parse->ahead_type = next_token(parse, &parse->ahead_token);
	parse->ahead = parse->ahead_type != IN && parse->ahead_type != BETWEEN;
	if (parse->ahead)
		return NOT;
	return parse->ahead_type == IN ? NOT_IN : NOT_BETWEEN;
}

static bool
begins_clause(int token)
{
	switch (token)
	{
		case SELECT:
		case FROM:
		case WHERE:
		case ORDER:
		case LIMIT:
		case INTO:
		case VALUE:
		case UPDATE:
		case SET:
		case REMOVE:
		case RETURNING:
			return true;
		default:
			return false;
	}
}

/* Returns the next token for the parser. */
int
dyn_partiql_lex(DYN_PARTIQL_STYPE *value, PartiqlParse *parse)
{
	int token = next_token(parse, &value->token);

	if (token == NOT)
		token = negated(parse);
	if (parse->first == 0)
		parse->first = token;
	if (begins_clause(parse->last))
		parse->clause = parse->last;
	parse->is_not = parse->before == IS && parse->last == NOT;
	parse->before = parse->last;
	parse->end = parse->place.at + parse->place.len;
	parse->last = token;
	parse->place = value->token.place;
	return token;
}

/* Returns whether a text has more characters than a statement may have. */
static bool
is_too_long(ItemSpan text)
{
	return text.len > PARTIQL_MAX_TEXT && item_characters(text) > PARTIQL_MAX_TEXT;
}

static void
check_text(ItemSpan text)
{
	bool empty = text.len == 0;

	if (!empty && !is_too_long(text))
		return;
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					empty ? errmsg("invalid PartiQL statement: it is empty")
						  : errmsg("invalid PartiQL statement: it is longer than %d characters",
								   PARTIQL_MAX_TEXT),
					errwords("1 validation error detected: Value '%s' at 'statement' failed to "
							 "satisfy constraint: Member must have length %s than or equal to %d",
							 item_quoted_words(text), empty ? "greater" : "less",
							 empty ? 1 : PARTIQL_MAX_TEXT)));
}

/*
 * Parses a statement, in the current memory context, in which the text must live as long.  Raises
 * ERRCODE_DYN_VALIDATION if it is none that DynamoDB takes, whatever the tables are.
 */
PartiqlStatement *
partiql_parse(ItemSpan text)
{
	PartiqlStatement *statement = palloc0(sizeof(PartiqlStatement));
	PartiqlParse state = {.statement = statement};

	check_text(text);
	statement->text = text;
	state.scanner = partiql_begin_scan(&state);
	if (dyn_partiql_parse(&state) != 0)
		partiql_fail_syntax(&state);
	partiql_end_scan(state.scanner);
	partiql_check(statement);
	return statement;
}
