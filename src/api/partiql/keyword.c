/*
 * keyword.c
 *	  The words that are no names: those of SQL-92, and those that PartiQL adds.
 */
#include "postgres.h"

#include "api/partiql/tree.h"
#include "api/partiql/gram.h"

#define LONGEST 32

typedef struct Keyword
{
	const char *word; /* in lower case */
	int token;
} Keyword;

/* The words are in order.  Operators that DynamoDB does not have are operators all the same. */
/* clang-format off */
static const Keyword keywords[] = {
	{"absolute", KEYWORD}, {"action", KEYWORD}, {"add", KEYWORD}, {"all", ALL},
	{"allocate", KEYWORD}, {"alter", KEYWORD}, {"and", AND}, {"any", TYPE_WORD}, {"are", KEYWORD},
	{"as", AS}, {"asc", ASC}, {"assertion", KEYWORD}, {"at", KEYWORD}, {"authorization", KEYWORD},
	{"avg", FUNCTION_WORD}, {"bag", LIST_WORD}, {"begin", KEYWORD}, {"between", BETWEEN},
	{"bigint", TYPE_WORD}, {"bit", KEYWORD}, {"bit_length", FUNCTION_WORD}, {"blob", TYPE_WORD},
	{"bool", TYPE_WORD}, {"boolean", TYPE_WORD}, {"by", BY}, {"can_cast", KEYWORD},
	{"can_lossless_cast", KEYWORD}, {"cascade", KEYWORD}, {"cascaded", KEYWORD}, {"case", KEYWORD},
	{"cast", KEYWORD}, {"catalog", KEYWORD}, {"char", TYPE_WORD}, {"char_length", FUNCTION_WORD},
	{"character", TYPE_WORD}, {"character_length", FUNCTION_WORD}, {"check", KEYWORD},
	{"clob", TYPE_WORD}, {"close", KEYWORD}, {"coalesce", KEYWORD}, {"collate", KEYWORD},
	{"collation", KEYWORD}, {"column", KEYWORD}, {"commit", KEYWORD}, {"connect", KEYWORD},
	{"connection", KEYWORD}, {"constraint", KEYWORD}, {"constraints", KEYWORD},
	{"continue", KEYWORD}, {"convert", KEYWORD}, {"corresponding", KEYWORD},
	{"count", FUNCTION_WORD}, {"create", KEYWORD}, {"cross", KEYWORD}, {"current", KEYWORD},
	{"current_date", KEYWORD}, {"current_time", KEYWORD}, {"current_timestamp", KEYWORD},
	{"current_user", KEYWORD}, {"cursor", KEYWORD}, {"date", TYPE_WORD}, {"date_add", KEYWORD},
	{"date_diff", KEYWORD}, {"deallocate", KEYWORD}, {"dec", TYPE_WORD}, {"decimal", TYPE_WORD},
	{"declare", KEYWORD}, {"default", KEYWORD}, {"deferrable", KEYWORD}, {"deferred", KEYWORD},
	{"delete", DELETE}, {"desc", DESC}, {"describe", KEYWORD}, {"descriptor", KEYWORD},
	{"diagnostics", KEYWORD}, {"disconnect", KEYWORD}, {"distinct", KEYWORD}, {"domain", KEYWORD},
	{"double", KEYWORD}, {"drop", KEYWORD}, {"else", KEYWORD}, {"end", KEYWORD},
	{"escape", KEYWORD}, {"except", OPERATOR}, {"exception", KEYWORD}, {"exec", KEYWORD},
	{"execute", KEYWORD}, {"exists", EXISTS}, {"external", KEYWORD}, {"extract", KEYWORD},
	{"false", FALSE_WORD}, {"fetch", KEYWORD}, {"first", KEYWORD}, {"float", TYPE_WORD},
	{"for", KEYWORD}, {"foreign", KEYWORD}, {"found", KEYWORD}, {"from", FROM}, {"full", KEYWORD},
	{"get", KEYWORD}, {"global", KEYWORD}, {"go", KEYWORD}, {"goto", KEYWORD}, {"grant", KEYWORD},
	{"group", KEYWORD}, {"having", KEYWORD}, {"identity", KEYWORD}, {"immediate", KEYWORD},
	{"in", IN}, {"index", KEYWORD}, {"indicator", KEYWORD}, {"initially", KEYWORD},
	{"inner", KEYWORD}, {"input", KEYWORD}, {"insensitive", KEYWORD}, {"insert", INSERT},
	{"int", TYPE_WORD}, {"int2", TYPE_WORD}, {"int4", TYPE_WORD}, {"int8", TYPE_WORD},
	{"integer", TYPE_WORD}, {"integer2", TYPE_WORD}, {"integer4", TYPE_WORD},
	{"integer8", TYPE_WORD}, {"intersect", OPERATOR}, {"interval", KEYWORD}, {"into", INTO},
	{"is", IS}, {"isolation", KEYWORD}, {"join", KEYWORD}, {"key", KEYWORD}, {"language", KEYWORD},
	{"last", KEYWORD}, {"left", KEYWORD}, {"let", KEYWORD}, {"level", KEYWORD}, {"like", OPERATOR},
	{"limit", LIMIT}, {"list", LIST_WORD}, {"local", KEYWORD}, {"lower", FUNCTION_WORD},
	{"match", KEYWORD}, {"max", FUNCTION_WORD}, {"min", FUNCTION_WORD}, {"missing", MISSING},
	{"modified", MODIFIED}, {"module", KEYWORD}, {"names", KEYWORD}, {"national", KEYWORD},
	{"natural", KEYWORD}, {"nchar", KEYWORD}, {"new", NEW}, {"next", KEYWORD}, {"no", KEYWORD},
	{"not", NOT}, {"null", NULL_WORD}, {"nullif", KEYWORD}, {"numeric", TYPE_WORD},
	{"octet_length", FUNCTION_WORD}, {"of", KEYWORD}, {"old", OLD}, {"on", KEYWORD},
	{"only", KEYWORD}, {"open", KEYWORD}, {"option", KEYWORD}, {"or", OR}, {"order", ORDER},
	{"outer", KEYWORD}, {"output", KEYWORD}, {"overlaps", KEYWORD}, {"pad", KEYWORD},
	{"partial", KEYWORD}, {"pivot", KEYWORD}, {"position", KEYWORD}, {"precision", KEYWORD},
	{"prepare", KEYWORD}, {"preserve", KEYWORD}, {"primary", KEYWORD}, {"prior", KEYWORD},
	{"privileges", KEYWORD}, {"procedure", KEYWORD}, {"public", KEYWORD}, {"read", KEYWORD},
	{"real", TYPE_WORD}, {"references", KEYWORD}, {"relative", KEYWORD}, {"remove", REMOVE},
	{"restrict", KEYWORD}, {"returning", RETURNING}, {"revoke", KEYWORD}, {"right", KEYWORD},
	{"rollback", KEYWORD}, {"rows", KEYWORD}, {"schema", KEYWORD}, {"scroll", KEYWORD},
	{"section", KEYWORD}, {"select", SELECT}, {"session", KEYWORD}, {"session_user", KEYWORD},
	{"set", SET}, {"sexp", LIST_WORD}, {"size", FUNCTION_WORD}, {"smallint", TYPE_WORD},
	{"some", KEYWORD}, {"space", KEYWORD}, {"sql", KEYWORD}, {"sqlcode", KEYWORD},
	{"sqlerror", KEYWORD}, {"sqlstate", KEYWORD}, {"string", TYPE_WORD}, {"struct", TYPE_WORD},
	{"substring", FUNCTION_WORD}, {"sum", FUNCTION_WORD}, {"symbol", TYPE_WORD},
	{"system_user", KEYWORD}, {"table", KEYWORD}, {"temporary", KEYWORD}, {"then", KEYWORD},
	{"time", TYPE_WORD}, {"timestamp", TYPE_WORD}, {"to", KEYWORD}, {"transaction", KEYWORD},
	{"translate", KEYWORD}, {"translation", KEYWORD}, {"trim", KEYWORD}, {"true", TRUE_WORD},
	{"tuple", TYPE_WORD}, {"union", OPERATOR}, {"unique", KEYWORD}, {"unknown", KEYWORD},
	{"unpivot", KEYWORD}, {"update", UPDATE}, {"upper", FUNCTION_WORD}, {"usage", KEYWORD},
	{"user", KEYWORD}, {"using", KEYWORD}, {"value", VALUE}, {"values", KEYWORD},
	{"varchar", TYPE_WORD}, {"varying", KEYWORD}, {"view", KEYWORD}, {"when", KEYWORD},
	{"whenever", KEYWORD}, {"where", WHERE}, {"with", KEYWORD}, {"work", KEYWORD},
	{"write", KEYWORD}, {"zone", KEYWORD},
};
/* clang-format on */

static int
compare_keywords(const void *word, const void *keyword)
{
	return strcmp(word, ((const Keyword *) keyword)->word);
}

/* Returns whether a word is a given one, in any case. */
bool
partiql_word_is(ItemSpan word, const char *lower)
{
	return word.len == strlen(lower) && pg_strncasecmp(word.data, lower, word.len) == 0;
}

/* Returns the token that a bare word is: a name, unless it is one of these, in any case. */
int
partiql_keyword(ItemSpan word)
{
	char lower[LONGEST];
	const Keyword *keyword;

	if (word.len >= LONGEST)
		return NAME;
	for (uint32 i = 0; i < word.len; i++)
		lower[i] = (char) pg_ascii_tolower((unsigned char) word.data[i]);
	lower[word.len] = '\0';
	keyword = bsearch(lower, keywords, lengthof(keywords), sizeof(Keyword), compare_keywords);
	return keyword == NULL ? NAME : keyword->token;
}
