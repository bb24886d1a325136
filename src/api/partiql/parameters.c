/*
 * parameters.c
 *	  The values of a statement's parameters, as a JSON array has them.
 */
#include "postgres.h"

#include "api/partiql/partiql.h"

/*
 * Reads an array of values that are DynamoDB JSON: [{"S": "a"}, {"N": "1"}].  Returns them in the
 * current memory context, as a list of DynItem.
 */
List *
partiql_read_parameters(JsonReader *reader)
{
	List *parameters = NIL;

	for (json_read_array(reader); json_read_element(reader);)
		parameters = lappend(parameters, json_read_item(reader, ITEM_SYNTAX_PARAMETER));
	return parameters;
}

/* Binds such a list as partiql_bind() does. */
PartiqlBound *
partiql_bind_list(const PartiqlCompiled *compiled, const List *parameters)
{
	ItemSpan *spans = palloc(list_length(parameters) * sizeof(ItemSpan));
	ListCell *cell;

	foreach (cell, parameters)
		spans[foreach_current_index(cell)] = item_root(lfirst(cell));
	return partiql_bind(compiled, list_length(parameters), spans);
}
