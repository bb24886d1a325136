/*
 * keys.c
 *	  Where expressions may not speak of key attributes.
 */
#include "postgres.h"

#include "actions/actions.h"
#include "errors.h"

/* Raise an error if the expression, of the kind that is named, mentions a key of the table. */
void
action_forbid_keys(const DynTable *table, const Expr *expr, const char *kind, const char *hint)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		StringInfoData name;

		if (!expr_mentions(expr, table->keys[i].attribute))
			continue;
		initStringInfo(&name);
		item_quote(&name, table->keys[i].attribute);
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid %s: \"%s\" is a key attribute", kind, name.data),
						errhint("%s", hint)));
	}
}
