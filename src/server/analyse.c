/*
 * analyse.c
 *	  What a query says, by the server's parser and analyser.
 *
 * The text may be anybody's.  So no relation is locked that the caller may not read or write as the
 * query does, and nothing of it runs.  Analysis would call one kind of function, which reads the
 * text of a constant, and for a domain within an array or a row that checks the constraints of the
 * domain, which may call any function.  So a string becomes a parameter first.
 *
 * The hook that follows analysis is not called, since pg_stat_statements would take the query for
 * one that is about to run.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_param.h"
#include "parser/parser.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "server/analyse.h"
#include "server/errors.h"

/* Longer texts are for machines. */
#define MAX_TEXT (100 * 1024)
#define MAX_PARAMETER 65535

/* Raw is what is collected from a text before it is analysed. */
typedef struct Raw
{
	void (*names)(void *arg, Oid relid);
	void *arg;
	int nparameters;
	List *strings; /* of A_Const */
} Raw;

/* The relation must be one that the caller may use as the query does. */
static void
check_relation(const Raw *raw, const RangeVar *name, AclMode mode)
{
	Oid relid = RangeVarGetRelid(name, NoLock, true);

	/* the name of a WITH query, or an error of the analysis */
	if (!OidIsValid(relid))
		return;
	raw->names(raw->arg, relid);
	if (pg_class_aclcheck(relid, GetUserId(), mode) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relid, GetUserId(), mode, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)),
					   name->relname);
}

/* Checks what is used, and takes away what locks rows. */
static bool
check_raw(Node *node, void *context)
{
	Raw *raw = context;

	if (node == NULL)
		return false;
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (nodeTag(node))
	{
		case T_RangeVar:
			check_relation(raw, (RangeVar *) node, ACL_SELECT);
			return false;
		case T_ParamRef:
			raw->nparameters = Max(raw->nparameters, ((ParamRef *) node)->number);
			if (raw->nparameters > MAX_PARAMETER)
				ereport(ERROR, (errcode(ERRCODE_TOO_MANY_ARGUMENTS),
								errmsg("there is no parameter $%d", raw->nparameters)));
			return false;
		case T_A_Const:
			if (!((A_Const *) node)->isnull && IsA(&((A_Const *) node)->val, String))
				raw->strings = lappend(raw->strings, node);
			return false;
		case T_TypeName: /* its modifiers must be constants */
			return false;
		case T_CommonTableExpr: /* their constants are not walked through */
			if (((CommonTableExpr *) node)->search_clause != NULL ||
				((CommonTableExpr *) node)->cycle_clause != NULL)
				ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("WITH RECURSIVE")));
			break;
		case T_SelectStmt:
			((SelectStmt *) node)->lockingClause = NIL;
			break;
		case T_InsertStmt:
			check_relation(raw, ((InsertStmt *) node)->relation, ACL_INSERT);
			break;
		case T_UpdateStmt:
			check_relation(raw, ((UpdateStmt *) node)->relation, ACL_UPDATE);
			break;
		case T_DeleteStmt:
			check_relation(raw, ((DeleteStmt *) node)->relation, ACL_DELETE);
			break;
		default:
			break;
	}
	return raw_expression_tree_walker(node, check_raw, context);
}

/*
 * Analyses a query, with the rights and the search_path of the caller, and calls names() for each
 * relation that its text names.  Errors are those of the query.  Returns NULL if it neither reads nor
 * writes rows.  The caller undoes the locks.
 */
Query *
analyse_query(const char *text, void (*names)(void *arg, Oid relid), void *arg)
{
	Raw raw = {names, arg};
	ParseState *pstate = make_parsestate(NULL);
	int nparameters = 0;
	Oid *parameters = NULL;
	List *statements;
	Node *statement;
	Query *query;
	ListCell *cell;

	if (strlen(text) > MAX_TEXT)
		ereport(ERROR, (errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
						errmsg("it is longer than %d bytes", MAX_TEXT)));
	statements = raw_parser(text, RAW_PARSE_DEFAULT);
	if (list_length(statements) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg(statements == NIL ? "it is empty" : "it has several statements")));
	statement = linitial_node(RawStmt, statements)->stmt;
	if (!IsA(statement, SelectStmt) && !IsA(statement, InsertStmt) && !IsA(statement, UpdateStmt) &&
		!IsA(statement, DeleteStmt) && !IsA(statement, MergeStmt))
		return NULL;
	check_raw(statement, &raw);
	if (IsA(statement, MergeStmt))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("MERGE")));
	/* a string becomes a parameter in its place, which has as little of a type as it has */
	StaticAssertStmt(sizeof(A_Const) >= sizeof(ParamRef), "a constant has room for a parameter");
	foreach (cell, raw.strings)
	{
		int location = ((A_Const *) lfirst(cell))->location;

		*(ParamRef *) lfirst(cell) = (ParamRef){T_ParamRef, ++raw.nparameters, location};
	}
	pstate->p_sourcetext = text;
	setup_parse_variable_parameters(pstate, &parameters, &nparameters);
	query = transformTopLevelStmt(pstate, linitial(statements));
	free_parsestate(pstate);
	return query;
}
