/*
 * resolve.c
 *	  The relations and columns that steps name, and the defaults where they name none.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/regproc.h"
#include "utils/relcache.h"
#include "utils/varlena.h"

#include "catalog/rights.h"
#include "models/migrate/migrate.h"
#include "server/catalogs.h"
#include "server/errors.h"

/*
 * Relations
 */

static void
check_relation(Relation rel, const char *where)
{
	switch (rel->rd_rel->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_VIEW:
		case RELKIND_MATVIEW:
		case RELKIND_FOREIGN_TABLE:
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
							errmsg("invalid migration: %s: \"%s\" is neither a table nor a view",
								   where, RelationGetRelationName(rel))));
	}
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("invalid migration: %s: table \"%s\" is temporary", where,
							   RelationGetRelationName(rel))));
}

/*
 * Opens a relation by its name.  The lock keeps it from changing until the transaction ends.  The
 * user may be one who writes a followed table and has no rights on the others: then the owner's
 * rights are enough.
 */
void
step_open_relation(const MigrationStep *step, StepRelation *relation, ItemSpan name,
				   const char *where)
{
	RightsWanted wanted = {.mode = AccessShareLock, .owner = rights_owner(step->migration->relid)};
	List *names = qualified_name_list(span_string(name));
	Relation rel;

	relation->relid = RangeVarGetRelidExtended(makeRangeVarFromNameList(names), AccessShareLock, 0,
											   rights_check_name, &wanted);
	rel = relation_open(relation->relid, NoLock);
	check_relation(rel, where);
	relation->name = catalogs_qualified(RelationGetRelid(rel));
	relation->alias = quote_identifier(pstrdup(RelationGetRelationName(rel)));
	relation->desc = CreateTupleDescCopyConstr(RelationGetDescr(rel));
	relation_close(rel, NoLock);
}

/* Returns whether a SELECT is nothing but an expression, without its beginning and end. */
static bool
is_bare_select(const SelectStmt *select)
{
	return select->op == SETOP_NONE && select->distinctClause == NIL &&
		   select->intoClause == NULL && select->fromClause == NIL && select->whereClause == NULL &&
		   select->groupClause == NIL && select->havingClause == NULL &&
		   select->windowClause == NIL && select->valuesLists == NIL && select->sortClause == NIL &&
		   select->limitOffset == NULL && select->limitCount == NULL &&
		   select->lockingClause == NIL && select->withClause == NULL &&
		   list_length(select->targetList) == 1;
}

/* Uses the settings that the statements run with, which decide where a string ends. */
static const SelectStmt *
parse_select(const char *sql)
{
	int nest = migration_enter();
	List *statements = raw_parser(sql, RAW_PARSE_DEFAULT);
	Node *statement;

	migration_leave(nest);
	if (list_length(statements) != 1)
		return NULL;
	statement = linitial_node(RawStmt, statements)->stmt;
	return IsA(statement, SelectStmt) ? (const SelectStmt *) statement : NULL;
}

/*
 * Returns the text if it is one expression.  It is put into statements in parentheses, with a line
 * break after it, since it may end with a comment.
 */
char *
step_expression(ItemSpan text, const char *where)
{
	char *sql = span_string(text);
	const SelectStmt *select = parse_select(psprintf("SELECT (%s\n)", sql));
	const ResTarget *target;

	if (select != NULL && is_bare_select(select))
	{
		target = linitial_node(ResTarget, select->targetList);
		/* "1), (2" would be two of them, and "a, b" a row */
		if (target->name == NULL && parse_select(psprintf("SELECT %s\n", sql)) != NULL &&
			is_bare_select(parse_select(psprintf("SELECT %s\n", sql))))
			return sql;
	}
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid migration: %s: \"%s\" is not one expression", where, sql)));
}

/*
 * Sets the columns (desc) of a relation that is a query.  The query is analysed, not run; raises
 * ERRCODE_DYN_VALIDATION if it is not one SELECT without a semicolon.  "where" names the step in
 * messages.  The caller is connected to SPI.
 */
void
step_open_query(StepRelation *relation, ItemSpan query, const char *where)
{
	char *sql = span_string(query);
	const SelectStmt *select = parse_select(sql);
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr plan;
	CachedPlanSource *source;
	int nest;

	if (select == NULL || select->intoClause != NULL || strchr(sql, ';') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("invalid migration: %s: \"query\" must be one SELECT, without a semicolon",
						where)));
	nest = migration_enter();
	plan = SPI_prepare(psprintf("SELECT * FROM (%s\n) AS src", sql), 0, NULL);
	migration_leave(nest);
	/* the SPI leaves its own context behind */
	MemoryContextSwitchTo(context);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	source = linitial(SPI_plan_get_plan_sources(plan));
	relation->desc = CreateTupleDescCopy(source->resultDesc);
	SPI_freeplan(plan);
}

/*
 * Columns
 */

/*
 * Returns the number of the column with exactly this name, or InvalidAttrNumber if there is none.
 */
AttrNumber
step_find_column(const StepRelation *relation, ItemSpan name)
{
	for (int i = 0; i < relation->desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(relation->desc, i);

		if (!column->attisdropped && item_span_is(name, NameStr(column->attname)))
			return column->attnum;
	}
	return InvalidAttrNumber;
}

/* Returns the name of a column, quoted as SQL needs it. */
const char *
step_column(const StepRelation *relation, AttrNumber attnum)
{
	return quote_identifier(pstrdup(NameStr(TupleDescAttr(relation->desc, attnum - 1)->attname)));
}

/* Returns the type of a column. */
Oid
step_type(const StepRelation *relation, AttrNumber attnum)
{
	return TupleDescAttr(relation->desc, attnum - 1)->atttypid;
}

/*
 * Returns the type with its schema and without a modifier, which no comparison asks for.  Without
 * FORMAT_TYPE_TYPEMOD_GIVEN bpchar would be called character, which is character(1).
 */
char *
step_column_type(const StepRelation *relation, AttrNumber attnum)
{
	return format_type_extended(TupleDescAttr(relation->desc, attnum - 1)->atttypid, -1,
								FORMAT_TYPE_FORCE_QUALIFY | FORMAT_TYPE_TYPEMOD_GIVEN);
}

/* Returns the columns of the primary key, in its order. */
List *
step_default_key(const StepRelation *relation)
{
	Relation rel;
	Relation index;
	Oid relid;
	List *columns = NIL;

	if (!OidIsValid(relation->relid))
		return NIL;
	rel = relation_open(relation->relid, AccessShareLock);
	/* the list of indexes fills in the primary key */
	list_free(RelationGetIndexList(rel));
	relid = primary_key_index(rel);
	if (OidIsValid(relid))
	{
		index = relation_open(relid, AccessShareLock);
		for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
			columns = lappend_int(columns, index->rd_index->indkey.values[i]);
		relation_close(index, AccessShareLock);
	}
	relation_close(rel, AccessShareLock);
	return columns;
}

/* Returns whether a unique index that is not deferrable is over some of the columns. */
static bool
index_is_within(Oid relid, const Bitmapset *columns)
{
	Relation index = relation_open(relid, AccessShareLock);
	const FormData_pg_index *form = index->rd_index;
	bool within = form->indisunique && form->indisvalid && form->indimmediate &&
				  heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);

	for (int i = 0; i < form->indnkeyatts && within; i++)
		within = form->indkey.values[i] > 0 && bms_is_member(form->indkey.values[i], columns);
	relation_close(index, AccessShareLock);
	return within;
}

/* Returns whether an index proves that no two rows are equal in these columns. */
bool
step_columns_are_unique(const StepRelation *relation, const Bitmapset *columns)
{
	Relation rel = relation_open(relation->relid, AccessShareLock);
	bool unique = false;
	List *indexes;
	ListCell *cell;

	/* children of a table have indexes of their own */
	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
		(rel->rd_rel->relkind == RELKIND_RELATION && !dyn_has_children(rel)))
	{
		indexes = RelationGetIndexList(rel);
		foreach (cell, indexes)
			unique = unique || index_is_within(lfirst_oid(cell), columns);
	}
	relation_close(rel, AccessShareLock);
	return unique;
}

/* Returns whether the catalogs prove that the key is unique and not null. */
bool
step_key_is_unique(const MigrationStep *step)
{
	Bitmapset *columns = NULL;

	if (!OidIsValid(step->source.relid))
		return false;
	for (int i = 0; i < step->nkeys; i++)
	{
		if (!TupleDescAttr(step->source.desc, step->keys[i].attnum - 1)->attnotnull)
			return false;
		columns = bms_add_member(columns, step->keys[i].attnum);
	}
	return step_columns_are_unique(&step->source, columns);
}

/*
 * Returns whether a unique index proves that at most one row of the relation matches by its pairs
 * of columns.  The relation is not a query.
 */
bool
step_pairs_are_unique(const StepRelation *relation)
{
	Bitmapset *columns = NULL;

	for (int i = 0; i < relation->npairs; i++)
		columns = bms_add_member(columns, relation->pairs[i].column);
	return step_columns_are_unique(relation, columns);
}

/*
 * Defaults
 */

/* Makes customer_id of CustomerId, and isbn_code of ISBNCode. */
static char *
snake_case(ItemSpan name)
{
	StringInfoData out;

	initStringInfo(&out);
	for (uint32 i = 0; i < name.len; i++)
	{
		unsigned char c = (unsigned char) name.data[i];
		unsigned char before = i > 0 ? (unsigned char) name.data[i - 1] : '_';
		unsigned char after = i + 1 < name.len ? (unsigned char) name.data[i + 1] : '_';

		if (isupper(c) &&
			(islower(before) || isdigit(before) || (isupper(before) && islower(after))))
			appendStringInfoChar(&out, '_');
		appendStringInfoChar(&out, (char) (isupper(c) ? tolower(c) : c));
	}
	return out.data;
}

/* Adds columns of the same names for attributes that nothing makes yet. */
void
step_default_attributes(MigrationStep *step, bool *named)
{
	const StepRelation *source = &step->source;

	for (int i = 0; i < step->entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &step->entity->attributes[i];
		char *snake = snake_case(attribute->name);
		AttrNumber column = step_find_column(source, attribute->name);

		if (named[i])
			continue;
		if (column == InvalidAttrNumber)
			column = step_find_column(source, item_span(snake));
		if (column == InvalidAttrNumber)
			continue;
		named[i] = true;
		step->attributes.list[step->attributes.n++] = (StepAttribute){
			attribute, psprintf("%s.%s", source->alias, step_column(source, column)), column};
	}
}

/*
 * Returns the columns of the relation's primary key in ascending order, as a list of StepOrder.
 * NIL: it has no primary key, or is a query.
 */
List *
step_default_order(const StepRelation *relation)
{
	List *order = NIL;
	ListCell *cell;

	foreach (cell, step_default_key(relation))
	{
		StepOrder *column = palloc(sizeof(StepOrder));

		*column = (StepOrder){psprintf("%s.%s", relation->alias,
									   step_column(relation, (AttrNumber) lfirst_int(cell))),
							  false};
		order = lappend(order, column);
	}
	return order;
}

/*
 * All of them
 */

static List *
add_relation(List *relations, StepRelation *relation)
{
	return OidIsValid(relation->relid) ? lappend(relations, relation) : relations;
}

/*
 * Returns the source, if it is no query, parents, children, and the relations these are joined
 * with.
 */
List *
step_relations(const MigrationStep *step)
{
	List *relations = add_relation(NIL, (StepRelation *) &step->source);

	for (int i = 0; i < step->nparents; i++)
		relations = add_relation(relations, &step->parents[i].relation);
	for (int i = 0; i < step->nchildren; i++)
	{
		relations = add_relation(relations, &step->children[i].relation);
		for (int k = 0; k < step->children[i].njoins; k++)
			relations = add_relation(relations, &step->children[i].joins[k]);
	}
	return relations;
}
