/*
 * keys.c
 *	  Where expressions may not speak of key attributes.
 */
#include "postgres.h"

#include "actions/actions.h"
#include "ground/errors.h"

/* Raise an error if the expression mentions a key of the index. */
void
action_forbid_keys(const DynTable *table, const DynIndex *index, const Expr *expr, const char *hint)
{
	for (int i = 0; i < index->nkeys; i++)
	{
		ItemSpan attribute = dyn_index_key(table, index, i)->attribute;

		if (!expr_mentions(expr, attribute))
			continue;
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid %s: \"%s\" is a key attribute", expr_parameter(expr),
							   item_quoted(attribute)),
						errhint("%s", hint)));
	}
}
