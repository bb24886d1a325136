/*
 * select.c
 *	  The statements that read a step's rows.
 *
 *		SELECT "~s".k1, …, "~s".a1, …,							key, attributes of the row itself
 *			   "~p1".found IS NULL AND …, "~s".p1_1, …,		of each parent: is it missing, by which key;
 *			   "~p1".a1, …,									its attributes
 *			   "~c1".v, …										of each kind of children: all of them in one value
 *		FROM (SELECT src.id AS k1, CAST((price * amount) AS numeric) AS a1, src.customer_id AS p1_1, …
 *			  FROM shop.orders AS src WHERE (NOT archived) AND … ORDER BY … LIMIT …) AS "~s"
 *		LEFT JOIN LATERAL (SELECT true AS found, …, c.city_id AS p2_1
 *						   FROM shop.customers AS c WHERE c.id = "~s".p1_1) AS "~p1" ON true
 *		LEFT JOIN LATERAL (SELECT … FROM shop.cities AS y WHERE y.id = "~p1".p2_1) AS "~p2" ON true
 *		CROSS JOIN LATERAL (SELECT array_agg(m1) AS v FROM (…) AS "~c") AS "~c1"
 *		ORDER BY "~s".k1, …
 *
 * So each expression sees only the columns of its own relation, by their plain names.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/migrate/collide.h"

/*
 * Types
 */

/*
 * Returns a type without a length: an explicit cast silently cuts strings to that of their type, so
 * lengths are checked where items are built.
 */
static char *
target_type(const ValueType *type)
{
	bool plain = type->typmod < 0 || type->sql == VARCHAROID || type->sql == BPCHAROID;

	return format_type_extended(type->sql, plain ? -1 : type->typmod,
								FORMAT_TYPE_FORCE_QUALIFY | FORMAT_TYPE_TYPEMOD_GIVEN);
}

static void
append_cast(StringInfo sql, const StepAttribute *attribute)
{
	appendStringInfo(sql, "CAST((%s\n) AS %s)", attribute->sql,
					 target_type(&attribute->attribute->type));
}

/* Returns whether a key of the table is made with an attribute. */
bool
step_makes_key(const MigrationStep *step, const EntityAttribute *attribute)
{
	for (int i = 0; i < step->entity->nkeys; i++)
	{
		const EntityKey *key = &step->entity->keys[i];

		for (int k = 0; key->of_table && k < key->ntemplates; k++)
		{
			const EntityTemplate *template = &key->templates[k];
			ItemChildren when;
			ItemSpan value;

			for (int p = 0; p < template->template->nparts; p++)
			{
				const TemplatePart *part = &template->template->parts[p];

				if (part->npath > 0 && item_compare_bytes(part->path[0], attribute->name) == 0)
					return true;
			}
			if (template->when == NULL)
				continue;
			when = item_children(item_root(template->when));
			if (item_find(&when, attribute->name, &value))
				return true;
		}
	}
	return false;
}

/*
 * The source's rows
 */

static void
append_key_list(StringInfo sql, const MigrationStep *step)
{
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(sql, "%ssrc.%s", i > 0 ? ", " : "", step->keys[i].column);
}

static void
append_parameters(StringInfo sql, const MigrationStep *step, int first)
{
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(sql, "%sCAST($%d AS %s)", i > 0 ? ", " : "", first + i,
						 step->keys[i].type_name);
}

static void
append_bound(StringInfo sql, const MigrationStep *step, const char *operator, int first)
{
	appendStringInfoString(sql, " AND ROW(");
	append_key_list(sql, step);
	appendStringInfo(sql, ") %s ROW(", operator);
	append_parameters(sql, step, first);
	appendStringInfoChar(sql, ')');
}

static void
append_source(StringInfo sql, const MigrationStep *step)
{
	if (step->query != NULL)
		appendStringInfo(sql, " FROM (%s\n) AS src", step->query);
	else
		appendStringInfo(sql, " FROM %s AS src", step->source.name);
}

static void
append_condition(StringInfo sql, const MigrationStep *step, const SelectOptions *options)
{
	appendStringInfoString(sql, " WHERE ");
	if (step->where != NULL && options->which != SELECT_KEYS)
		appendStringInfo(sql, "(%s\n)", step->where);
	else
		appendStringInfoString(sql, "true");
	if (options->which == SELECT_KEY)
	{
		for (int i = 0; i < step->nkeys; i++)
			appendStringInfo(sql, " AND src.%s OPERATOR(pg_catalog.=) CAST($%d AS %s)",
							 step->keys[i].column, i + 1, step->keys[i].type_name);
		return;
	}
	if (options->lower)
		append_bound(sql, step, ">", 1);
	if (options->upper)
		append_bound(sql, step, "<=", options->lower ? step->nkeys + 1 : 1);
}

/* Appends columns that parents and children belong to. */
static void
append_references(StringInfo sql, const MigrationStep *step, const StepRelation *relation,
				  char kind, int number)
{
	for (int i = 0; i < relation->npairs; i++)
		appendStringInfo(sql, ", src.%s AS %c%d_%d",
						 step_column(&step->source, relation->pairs[i].other), kind, number, i + 1);
}

/*
 * Appends what makes the key, as v1 …, for rows that are looked for by it: plain columns without a
 * cast, so that an index can be used.
 */
static void
append_key_values(StringInfo sql, const MigrationStep *step)
{
	int n = 0;

	for (int i = 0; i < step->attributes.n; i++)
	{
		const StepAttribute *attribute = &step->attributes.list[i];

		if (!step_makes_key(step, attribute->attribute))
			continue;
		appendStringInfoString(sql, ", ");
		if (attribute->column != InvalidAttrNumber &&
			TupleDescAttr(step->source.desc, attribute->column - 1)->atttypid ==
				attribute->attribute->type.sql)
			appendStringInfoString(sql, attribute->sql);
		else
			append_cast(sql, attribute);
		appendStringInfo(sql, " AS v%d", ++n);
	}
}

static bool
is_of_several(const SelectOptions *options)
{
	return options->which == SELECT_EACH || options->which == SELECT_SAME;
}

static void
append_inner(StringInfo sql, const MigrationStep *step, const SelectOptions *options)
{
	appendStringInfoString(sql, "SELECT ");
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(sql, "%ssrc.%s AS k%d", i > 0 ? ", " : "", step->keys[i].column, i + 1);
	if (options->which != SELECT_KEYS)
	{
		for (int i = 0; i < step->attributes.n; i++)
		{
			appendStringInfoString(sql, ", ");
			append_cast(sql, &step->attributes.list[i]);
			appendStringInfo(sql, " AS a%d", i + 1);
		}
		for (int i = 0; i < step->nparents; i++)
		{
			if (step->parents[i].of < 0)
				append_references(sql, step, &step->parents[i].relation, 'p', i + 1);
		}
		for (int i = 0; i < step->nchildren; i++)
			append_references(sql, step, &step->children[i].relation, 'c', i + 1);
	}
	if (options->which == SELECT_SAME)
		append_key_values(sql, step);
	append_source(sql, step);
	append_condition(sql, step, options);
	if (options->which == SELECT_KEY || is_of_several(options))
		return;
	appendStringInfoString(sql, " ORDER BY ");
	append_key_list(sql, step);
	if (options->limit > 0)
		appendStringInfo(sql, " LIMIT " INT64_FORMAT, options->limit);
}

/*
 * Parents and children
 */

static void
append_belongs(StringInfo sql, const StepRelation *relation, const char *from, char kind,
			   int number)
{
	for (int i = 0; i < relation->npairs; i++)
		appendStringInfo(sql, "%s%s.%s = %s.%c%d_%d", i > 0 ? " AND " : "", relation->alias,
						 step_column(relation, relation->pairs[i].column), from, kind, number,
						 i + 1);
}

/* Returns the name of the subselect that has what a parent is known by, as p1_1 …. */
static const char *
parent_of(const StepParent *parent)
{
	return parent->of < 0 ? "\"~s\"" : psprintf("\"~p%d\"", parent->of + 1);
}

static void
append_parent_columns(StringInfo sql, const StepParent *parent, int number)
{
	const char *from = parent_of(parent);

	appendStringInfo(sql, ", \"~p%d\".found IS NULL", number);
	for (int i = 0; i < parent->relation.npairs; i++)
		appendStringInfo(sql, " AND %s.p%d_%d IS NOT NULL", from, number, i + 1);
	for (int i = 0; i < parent->relation.npairs; i++)
		appendStringInfo(sql, ", %s.p%d_%d", from, number, i + 1);
	for (int i = 0; i < parent->attributes.n; i++)
		appendStringInfo(sql, ", \"~p%d\".a%d", number, i + 1);
}

static void
append_parent(StringInfo sql, const MigrationStep *step, int number)
{
	const StepParent *parent = &step->parents[number - 1];

	appendStringInfoString(sql, " LEFT JOIN LATERAL (SELECT true AS found");
	for (int i = 0; i < parent->attributes.n; i++)
	{
		appendStringInfoString(sql, ", ");
		append_cast(sql, &parent->attributes.list[i]);
		appendStringInfo(sql, " AS a%d", i + 1);
	}
	for (int i = number; i < step->nparents; i++)
	{
		const StepRelation *next = &step->parents[i].relation;

		for (int k = 0; step->parents[i].of == number - 1 && k < next->npairs; k++)
			appendStringInfo(sql, ", %s.%s AS p%d_%d", parent->relation.alias,
							 step_column(&parent->relation, next->pairs[k].other), i + 1, k + 1);
	}
	appendStringInfo(sql, " FROM %s AS %s WHERE ", parent->relation.name, parent->relation.alias);
	append_belongs(sql, &parent->relation, parent_of(parent), 'p', number);
	appendStringInfo(sql, ") AS \"~p%d\" ON true", number);
}

static void
append_members(StringInfo sql, const StepChild *child)
{
	appendStringInfoString(sql, "pg_catalog.jsonb_build_object(");
	for (int i = 0; i < child->nmembers; i++)
		appendStringInfo(sql, "%s%s, m%d", i > 0 ? ", " : "",
						 quote_literal_cstr(span_string(child->members[i].name)), i + 1);
	/* a member that is NULL is absent */
	appendStringInfoString(sql, ") OPERATOR(pg_catalog.-) pg_catalog.array_remove(ARRAY[");
	for (int i = 0; i < child->nmembers; i++)
		appendStringInfo(sql, "%sCASE WHEN m%d IS NULL THEN %s END", i > 0 ? ", " : "", i + 1,
						 quote_literal_cstr(span_string(child->members[i].name)));
	appendStringInfoString(sql, "]::pg_catalog.text[], NULL)");
}

static bool
is_json(const StepChild *child)
{
	return child->attribute->type.sql == JSONOID || child->attribute->type.sql == JSONBOID;
}

static void
append_child_value(StringInfo sql, const StepChild *child)
{
	if (child->nmembers > 0)
		append_members(sql, child);
	else
		appendStringInfoString(sql, is_json(child) ? "pg_catalog.to_jsonb(m1)" : "m1");
}

/* Appends all children in one value, of the attribute's type. */
static void
append_gathered(StringInfo sql, const StepChild *child)
{
	appendStringInfoString(sql, "CAST(");
	if (child->form == CHILD_COUNT)
		appendStringInfoString(sql, "pg_catalog.count(*)");
	else if (child->form == CHILD_MAP)
		appendStringInfoString(sql, "pg_catalog.jsonb_object_agg(k, ");
	else
		appendStringInfoString(sql,
							   is_json(child) ? "pg_catalog.jsonb_agg(" : "pg_catalog.array_agg(");
	if (child->form != CHILD_COUNT)
	{
		append_child_value(sql, child);
		appendStringInfoChar(sql, ')');
	}
	appendStringInfo(sql, " AS %s) AS v", target_type(&child->attribute->type));
	if (child->form == CHILD_MAP)
		appendStringInfoString(
			sql, ", pg_catalog.count(*) OPERATOR(pg_catalog.>) pg_catalog.count(DISTINCT k) AS d");
}

static void
append_child_rows(StringInfo sql, const StepChild *child, int number)
{
	ListCell *cell;
	Oid element = get_element_type(child->attribute->type.sql);

	appendStringInfoString(sql, "SELECT 1 AS one");
	if (child->key != NULL)
		appendStringInfo(sql, ", CAST((%s\n) AS pg_catalog.text) AS k", child->key);
	if (child->value != NULL && is_json(child))
		appendStringInfo(sql, ", (%s\n) AS m1", child->value);
	else if (child->value != NULL)
		appendStringInfo(sql, ", CAST((%s\n) AS %s) AS m1", child->value,
						 format_type_extended(
							 element, -1, FORMAT_TYPE_FORCE_QUALIFY | FORMAT_TYPE_TYPEMOD_GIVEN));
	for (int i = 0; i < child->nmembers; i++)
		appendStringInfo(sql, ", (%s\n) AS m%d", child->members[i].sql, i + 1);
	appendStringInfo(sql, " FROM %s AS %s", child->relation.name, child->relation.alias);
	for (int i = 0; i < child->njoins; i++)
	{
		const StepRelation *join = &child->joins[i];

		appendStringInfo(sql, " JOIN %s AS %s ON ", join->name, join->alias);
		for (int k = 0; k < join->npairs; k++)
			appendStringInfo(sql, "%s%s.%s = %s.%s", k > 0 ? " AND " : "", join->alias,
							 step_column(join, join->pairs[k].column), child->relation.alias,
							 step_column(&child->relation, join->pairs[k].other));
	}
	appendStringInfoString(sql, " WHERE ");
	append_belongs(sql, &child->relation, "\"~s\"", 'c', number);
	if (child->where != NULL)
		appendStringInfo(sql, " AND (%s\n)", child->where);
	foreach (cell, child->order)
	{
		const StepOrder *order = lfirst(cell);

		appendStringInfo(sql, "%s(%s\n)%s", foreach_current_index(cell) > 0 ? ", " : " ORDER BY ",
						 order->sql, order->descending ? " DESC" : "");
	}
}

static void
append_child(StringInfo sql, const StepChild *child, int number)
{
	appendStringInfoString(sql, " CROSS JOIN LATERAL (SELECT ");
	append_gathered(sql, child);
	appendStringInfoString(sql, " FROM (");
	append_child_rows(sql, child, number);
	appendStringInfo(sql, ") AS \"~c\") AS \"~c%d\"", number);
}

/*
 * Several rows at once.  Values are in arrays, one for each column, whose n-th elements belong
 * together:
 *
 *		SELECT "~s".k1, …, "~u".n FROM unnest($1, …) WITH ORDINALITY AS "~u" (u1, …, n)
 *		JOIN (SELECT …) AS "~s" ON "~s".k1 = "~u".u1 AND …
 *
 * Arrays of some types there cannot be; their values are passed as text.
 */

/* Appends unnest($1, $2) AS "~u" (u1, u2); the parser takes several only of a bare "unnest". */
static void
append_unnest(StringInfo sql, int n, bool ordinal)
{
	for (int i = 0; i < n; i++)
		appendStringInfo(sql, "%s$%d", i > 0 ? ", " : "unnest(", i + 1);
	appendStringInfo(sql, ")%s AS \"~u\" (", ordinal ? " WITH ORDINALITY" : "");
	for (int i = 0; i < n; i++)
		appendStringInfo(sql, "%su%d", i > 0 ? ", " : "", i + 1);
	appendStringInfoString(sql, ordinal ? ", n)" : ")");
}

static void
append_element(StringInfo sql, Oid type, int i)
{
	if (OidIsValid(get_array_type(type)))
		appendStringInfo(sql, "\"~u\".u%d", i);
	else
		appendStringInfo(sql, "CAST(\"~u\".u%d AS %s)", i,
						 format_type_extended(type, -1, FORMAT_TYPE_FORCE_QUALIFY));
}

/* Appends the condition that a row has the step's key. */
static void
append_same_row(StringInfo sql, const MigrationStep *step)
{
	for (int i = 0; i < step->nkeys; i++)
	{
		appendStringInfo(sql, "%s\"~s\".k%d OPERATOR(pg_catalog.=) ", i > 0 ? " AND " : "", i + 1);
		append_element(sql, step->keys[i].type, i + 1);
	}
}

/*
 * Appends the condition on the attributes that make the item's key.  One that some template of a
 * key does not use may be NULL.
 */
static void
append_same_item(StringInfo sql, const MigrationStep *step)
{
	int n = 0;

	for (int i = 0; i < step->attributes.n; i++)
	{
		const EntityAttribute *attribute = step->attributes.list[i].attribute;

		if (!step_makes_key(step, attribute))
			continue;
		n++;
		appendStringInfo(sql, "%s\"~s\".v%d %s ", n > 1 ? " AND " : "", n,
						 step_key_needs(step, attribute) ? "OPERATOR(pg_catalog.=)"
														 : "IS NOT DISTINCT FROM");
		append_element(sql, attribute->type.sql, n);
	}
}

/* Returns the number of attributes that make the key of a step's items. */
int
step_key_attributes(const MigrationStep *step)
{
	int n = 0;

	for (int i = 0; i < step->attributes.n; i++)
		n += step_makes_key(step, step->attributes.list[i].attribute) ? 1 : 0;
	return n;
}

/*
 * Statements
 */

/* Appends the rows of the source themselves. */
static void
append_rows(StringInfo sql, const MigrationStep *step, const SelectOptions *options)
{
	if (is_of_several(options))
	{
		append_unnest(sql, options->which == SELECT_EACH ? step->nkeys : step_key_attributes(step),
					  true);
		appendStringInfoString(sql, " JOIN ");
	}
	appendStringInfoChar(sql, '(');
	append_inner(sql, step, options);
	appendStringInfoString(sql, ") AS \"~s\"");
	if (!is_of_several(options))
		return;
	appendStringInfoString(sql, " ON ");
	if (options->which == SELECT_EACH)
		append_same_row(sql, step);
	else
		append_same_item(sql, step);
}

static void
append_outer(StringInfo sql, const MigrationStep *step, const SelectOptions *options)
{
	appendStringInfoString(sql, "SELECT ");
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(sql, "%s\"~s\".k%d", i > 0 ? ", " : "", i + 1);
	for (int i = 0; i < step->attributes.n; i++)
		appendStringInfo(sql, ", \"~s\".a%d", i + 1);
	for (int i = 0; i < step->nparents; i++)
		append_parent_columns(sql, &step->parents[i], i + 1);
	for (int i = 0; i < step->nchildren; i++)
		appendStringInfo(sql, ", \"~c%d\".v%s", i + 1,
						 step->children[i].form == CHILD_MAP ? psprintf(", \"~c%d\".d", i + 1)
															 : "");
	if (is_of_several(options))
		appendStringInfoString(sql, ", \"~u\".n");
	appendStringInfoString(sql, " FROM ");
	append_rows(sql, step, options);
	for (int i = 0; i < step->nparents; i++)
		append_parent(sql, step, i + 1);
	for (int i = 0; i < step->nchildren; i++)
		append_child(sql, &step->children[i], i + 1);
	if (options->which != SELECT_RANGE)
		return;
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(sql, "%s\"~s\".k%d", i > 0 ? ", " : " ORDER BY ", i + 1);
}

/* Selects what makes the key, and nothing else. */
static void
append_key_columns(StringInfo sql, const MigrationStep *step)
{
	appendStringInfoString(sql, "SELECT ");
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(sql, "%ssrc.%s AS k%d", i > 0 ? ", " : "", step->keys[i].column, i + 1);
	for (int i = 0; i < step->attributes.n; i++)
	{
		if (!step_makes_key(step, step->attributes.list[i].attribute))
			continue;
		appendStringInfoString(sql, ", ");
		append_cast(sql, &step->attributes.list[i]);
		appendStringInfo(sql, " AS a%d", i + 1);
	}
}

/*
 * Appends the condition by which a relation, number n from that with the values, belongs to the one
 * before it.  The columns are those of its own or, in the source, of a subselect.
 */
static void
append_step_towards(StringInfo sql, const StepRelation *first, const StepRelation *relation,
					const char *alias, const char *columns, int n)
{
	for (int i = 0; i < relation->npairs; i++)
	{
		const StepPair *pair = &relation->pairs[i];

		appendStringInfo(sql, "%s%s.%s = ", i > 0 ? " AND " : "", alias,
						 columns != NULL ? psprintf("%s_%d", columns, i + 1)
										 : step_column(relation->other, pair->other));
		if (relation == first)
			append_element(sql, step_type(relation, pair->column), i + 1);
		else
			appendStringInfo(sql, "\"~l%d\".%s", n - 1, step_column(relation, pair->column));
	}
}

/*
 * Goes from values of the relation to the rows of the source, by all relations in between: those
 * that a child is joined by, and parents of which the relation is a parent.
 *
 *		SELECT "~s".* FROM unnest($1) AS "~u" (u1) JOIN shop.inventory AS "~l1" ON "~l1".film_id = "~u".u1
 *		JOIN (SELECT … FROM shop.rental AS src) AS "~s" ON "~s".r1_1 = "~l1".id
 */
static void
append_referring(StringInfo sql, const MigrationStep *step, const SelectOptions *options)
{
	const StepRelation *relation = options->relation;
	int n = 0;

	appendStringInfoString(sql, "SELECT \"~s\".* FROM ");
	append_unnest(sql, relation->npairs, false);
	for (; relation->other != &step->source; relation = relation->other)
	{
		n++;
		appendStringInfo(sql, " JOIN %s AS \"~l%d\" ON ", relation->other->name, n);
		append_step_towards(sql, options->relation, relation, psprintf("\"~l%d\"", n), NULL, n);
	}
	appendStringInfoString(sql, " JOIN (");
	append_key_columns(sql, step);
	append_references(sql, step, relation, 'r', 1);
	append_source(sql, step);
	appendStringInfoString(sql, ") AS \"~s\" ON ");
	append_step_towards(sql, options->relation, relation, "\"~s\"", "r1", n + 1);
}

/* Selects the rows of a relation whose columns have the values, which are of these types. */
static void
append_valued(StringInfo sql, const StepRelation *relation, bool other, const char *columns)
{
	const StepRelation *from = other ? relation->other : relation;
	const StepRelation *values = other ? relation : relation->other;

	appendStringInfo(sql, "SELECT \"~u\".n%s FROM ", columns);
	append_unnest(sql, relation->npairs, true);
	appendStringInfo(sql, " JOIN %s AS x ON ", from->name);
	for (int i = 0; i < relation->npairs; i++)
	{
		const StepPair *pair = &relation->pairs[i];

		appendStringInfo(sql, "%sx.%s OPERATOR(pg_catalog.=) ", i > 0 ? " AND " : "",
						 step_column(from, other ? pair->other : pair->column));
		append_element(sql, step_type(values, other ? pair->column : pair->other), i + 1);
	}
}

/* Locks as foreign keys lock the rows that they refer to, but against all changes. */
static void
append_lock(StringInfo sql, const MigrationStep *step, const StepRelation *relation)
{
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < step->nparents; i++)
	{
		const StepRelation *next = &step->parents[i].relation;

		for (int k = 0; next->other == relation && k < next->npairs; k++)
			appendStringInfo(&columns, ", x.%s", step_column(relation, next->pairs[k].other));
	}
	append_valued(sql, relation, false, columns.data);
	appendStringInfoString(sql, " FOR SHARE OF x");
}

/*
 * Returns the text of a statement that reads rows of a step, or locks some.  It is to be analysed
 * between migration_enter() and migration_leave(), like all SQL of a migration.
 */
char *
step_select(const MigrationStep *step, const SelectOptions *options)
{
	StringInfoData sql;

	initStringInfo(&sql);
	if (options->which == SELECT_ROW)
	{
		append_key_columns(&sql, step);
		appendStringInfoString(&sql, " FROM unnest($1) AS src");
	}
	else if (options->which == SELECT_REFERRING)
		append_referring(&sql, step, options);
	else if (options->which == SELECT_LOCK)
		append_lock(&sql, step, options->relation);
	else if (options->which == SELECT_PRESENT)
		append_valued(&sql, options->relation, true, "");
	else if (options->which == SELECT_KEYS ||
			 (step->nparents == 0 && step->nchildren == 0 && !is_of_several(options)))
		append_inner(&sql, step, options);
	else
		append_outer(&sql, step, options);
	return sql.data;
}

/*
 * Selects the key of the last one of so many rows after the lower bound, of which the step need not
 * take all.
 */
char *
step_select_cut(const MigrationStep *step, bool lower, int64 rows)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	append_key_list(&sql, step);
	append_source(&sql, step);
	if (lower)
	{
		appendStringInfoString(&sql, " WHERE true");
		append_bound(&sql, step, ">", 1);
	}
	appendStringInfoString(&sql, " ORDER BY ");
	append_key_list(&sql, step);
	appendStringInfo(&sql, " OFFSET " INT64_FORMAT " LIMIT 1", rows - 1);
	return sql.data;
}

/* Selects a key that several rows have, or that has a NULL. */
char *
step_select_twice(const MigrationStep *step)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	append_key_list(&sql, step);
	append_source(&sql, step);
	appendStringInfoString(&sql, " GROUP BY ");
	append_key_list(&sql, step);
	appendStringInfoString(&sql, " HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1");
	for (int i = 0; i < step->nkeys; i++)
		appendStringInfo(&sql, " OR src.%s IS NULL", step->keys[i].column);
	appendStringInfoString(&sql, " LIMIT 1");
	return sql.data;
}
