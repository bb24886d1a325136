/*
 * print.c
 *	  A migration as it is kept: all that was left out filled in, and relations with their schemas.
 */
#include "postgres.h"

#include "utils/json.h"

#include "migrate/migrate.h"

static void
append_string(StringInfo out, const char *name, const char *value)
{
	if (value == NULL)
		return;
	appendStringInfo(out, ", \"%s\": ", name);
	escape_json(out, value);
}

/* The next member of an object, with its name. */
static void
append_name(StringInfo out, bool *first, ItemSpan name)
{
	appendStringInfoString(out, *first ? "" : ", ");
	*first = false;
	item_print_string(out, name);
	appendStringInfoString(out, ": ");
}

static const char *
raw_column(const StepRelation *relation, AttrNumber attnum)
{
	return NameStr(TupleDescAttr(relation->desc, attnum - 1)->attname);
}

static void
append_attributes(StringInfo out, const StepRelation *relation, const StepAttributes *attributes)
{
	bool first = true;

	appendStringInfoString(out, ", \"attributes\": {");
	for (int i = 0; i < attributes->n; i++)
	{
		const StepAttribute *attribute = &attributes->list[i];

		append_name(out, &first, attribute->attribute->name);
		escape_json(out, attribute->column != InvalidAttrNumber
							 ? raw_column(relation, attribute->column)
							 : attribute->sql);
	}
	appendStringInfoChar(out, '}');
}

static void
append_pairs(StringInfo out, const StepRelation *relation, const StepRelation *other)
{
	appendStringInfoChar(out, '{');
	for (int i = 0; i < relation->npairs; i++)
	{
		appendStringInfoString(out, i > 0 ? ", " : "");
		escape_json(out, raw_column(relation, relation->pairs[i].column));
		appendStringInfoString(out, ": ");
		escape_json(out, raw_column(other, relation->pairs[i].other));
	}
	appendStringInfoChar(out, '}');
}

static void
append_relation(StringInfo out, const StepRelation *relation, const StepRelation *other)
{
	appendStringInfoString(out, "{\"from\": ");
	escape_json(out, relation->name);
	appendStringInfoString(out, ", \"on\": ");
	append_pairs(out, relation, other);
}

static void
append_parents(StringInfo out, const MigrationStep *step)
{
	bool first = true;

	if (step->nparents == 0)
		return;
	appendStringInfoString(out, ", \"parents\": {");
	for (int i = 0; i < step->nparents; i++)
	{
		const StepParent *parent = &step->parents[i];

		append_name(out, &first, parent->name);
		append_relation(out, &parent->relation, &step->source);
		append_attributes(out, &parent->relation, &parent->attributes);
		append_string(out, "orphans", parent->skip_orphans ? "skip" : "keep");
		appendStringInfoChar(out, '}');
	}
	appendStringInfoChar(out, '}');
}

static void
append_value(StringInfo out, const StepChild *child)
{
	bool first = true;

	append_string(out, "value", child->value);
	if (child->nmembers == 0)
		return;
	appendStringInfoString(out, ", \"value\": {");
	for (int i = 0; i < child->nmembers; i++)
	{
		append_name(out, &first, child->members[i].name);
		escape_json(out, child->members[i].sql);
	}
	appendStringInfoChar(out, '}');
}

static void
append_order(StringInfo out, const StepChild *child)
{
	ListCell *cell;

	if (child->order == NIL)
		return;
	appendStringInfoString(out, ", \"order\": [");
	foreach (cell, child->order)
	{
		const StepOrder *order = lfirst(cell);

		appendStringInfoString(out, foreach_current_index(cell) > 0 ? ", " : "");
		escape_json(out, psprintf("%s%s", order->sql, order->descending ? " DESC" : ""));
	}
	appendStringInfoChar(out, ']');
}

static void
append_joins(StringInfo out, const StepChild *child)
{
	if (child->njoins == 0)
		return;
	appendStringInfoString(out, ", \"join\": {");
	for (int i = 0; i < child->njoins; i++)
	{
		appendStringInfoString(out, i > 0 ? ", " : "");
		escape_json(out, child->joins[i].name);
		appendStringInfoString(out, ": ");
		append_pairs(out, &child->joins[i], &child->relation);
	}
	appendStringInfoChar(out, '}');
}

static void
append_children(StringInfo out, const MigrationStep *step)
{
	static const char *const forms[] = {"list", "set", "map", "count"};
	bool first = true;

	if (step->nchildren == 0)
		return;
	appendStringInfoString(out, ", \"children\": {");
	for (int i = 0; i < step->nchildren; i++)
	{
		const StepChild *child = &step->children[i];

		append_name(out, &first, child->attribute->name);
		append_relation(out, &child->relation, &step->source);
		append_joins(out, child);
		append_string(out, "where", child->where);
		append_string(out, "as", forms[child->form]);
		append_string(out, "key", child->key);
		append_value(out, child);
		append_order(out, child);
		appendStringInfoChar(out, '}');
	}
	appendStringInfoChar(out, '}');
}

static void
append_step(StringInfo out, const MigrationStep *step)
{
	appendStringInfoString(out, "{\"name\": ");
	escape_json(out, step->name);
	appendStringInfoString(out, ", \"entity\": ");
	item_print_string(out, step->entity->name);
	append_string(out, "from", step->source.name);
	append_string(out, "query", step->query);
	appendStringInfoString(out, ", \"key\": [");
	for (int i = 0; i < step->nkeys; i++)
	{
		appendStringInfoString(out, i > 0 ? ", " : "");
		escape_json(out, raw_column(&step->source, step->keys[i].attnum));
	}
	appendStringInfoChar(out, ']');
	append_string(out, "where", step->where);
	append_attributes(out, &step->source, &step->attributes);
	append_parents(out, step);
	append_children(out, step);
	appendStringInfoChar(out, '}');
}

/*
 * Returns a migration as the JSON text that the model's trigger keeps: names of relations with
 * their schemas, default keys and attributes written out.
 */
char *
migration_print(const Migration *migration)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"migration\": ");
	escape_json(&out, migration->name);
	appendStringInfoString(&out, ", \"steps\": [");
	for (int i = 0; i < migration->nsteps; i++)
	{
		appendStringInfoString(&out, i > 0 ? ", " : "");
		append_step(&out, &migration->steps[i]);
	}
	appendStringInfoString(&out, "]}");
	return out.data;
}
