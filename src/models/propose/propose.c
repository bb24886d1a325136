/*
 * propose.c
 *	  dyn_propose_migration(): reads what is there, makes the choices, and prints them.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "catalog/lookup.h"
#include "catalog/table.h"
#include "models/migrate/migrate.h"
#include "models/propose/propose.h"
#include "server/arguments.h"
#include "store/plan.h"

static void
set_target(Proposal *proposal, text *target)
{
	char *relation;

	proposal->target = text_to_cstring(target);
	proposal->schema = dyn_creation_schema(text_span(target), &relation);
	proposal->relation = relation;
	if (OidIsValid(get_relname_relid(relation, proposal->schema)))
		propose_remark(&proposal->remarks, true,
					   "There is a relation \"%s\" already, so dyn_create_table() will fail: which "
					   "name is the table to have?",
					   relation);
}

/* Makes entities; a table whose rows nothing identifies becomes none. */
static void
make_entities(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		if (table->key == NIL)
			continue;
		table->entity = palloc0(sizeof(ProposeEntity));
		table->entity->table = table;
		proposal->entities = lappend(proposal->entities, table->entity);
	}
}

static void
read_all(Proposal *proposal, ArrayType *sources, ArrayType *queries)
{
	MemoryContext context = CurrentMemoryContext;
	int nest;

	propose_sources(proposal, sources);
	propose_read_catalog(proposal);
	propose_ask(proposal, queries);
	store_connect();
	MemoryContextSwitchTo(context);
	nest = migration_enter();
	propose_identify(proposal);
	propose_link(proposal);
	propose_read_data(proposal);
	propose_count(proposal);
	migration_leave(nest);
	SPI_finish();
}

static void
proposal_choose(Proposal *proposal, Jsonb *owners)
{
	make_entities(proposal);
	propose_names(proposal);
	propose_types(proposal);
	propose_owners(proposal, owners);
	propose_delimiter(proposal);
	propose_widths(proposal);
	propose_keys(proposal);
	propose_places(proposal);
	propose_copies(proposal);
	propose_lists(proposal);
	propose_cautions(proposal);
	propose_size(proposal);
	propose_view_names(proposal);
}

/* dyn_propose_migration(target, sources, owners, queries) */
PG_FUNCTION_INFO_V1(dyn_propose_migration);
Datum
dyn_propose_migration(PG_FUNCTION_ARGS)
{
	text *target = argument_required_text(fcinfo, 0, "target");
	Jsonb *owners = PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2);
	ArrayType *queries = PG_ARGISNULL(3) ? NULL : PG_GETARG_ARRAYTYPE_P(3);
	Proposal *proposal = palloc0(sizeof(Proposal));

	argument_require(fcinfo, 1, "sources");
	set_target(proposal, target);
	read_all(proposal, PG_GETARG_ARRAYTYPE_P(1), queries);
	proposal_choose(proposal, owners);
	return_texts(fcinfo, list_concat(propose_print(proposal), propose_print_asked(proposal)));
	return (Datum) 0;
}
