/*
 * asked.h
 *	  What the database is asked, and what of the proposed table answers it.
 *
 * A query is analysed by the server's parser and analyser, and becomes an AskedQuery: the relations
 * that it reads, through views, subqueries and WITH, and how their columns are compared.  Nothing of
 * it is planned or executed.
 *
 * An AskedAnswer then says which collection or index answers it.
 */
#ifndef DYNAMO_TABLE_MODELS_PROPOSE_ASKED_H
#define DYNAMO_TABLE_MODELS_PROPOSE_ASKED_H

#include "nodes/bitmapset.h"
#include "nodes/nodes.h"

#include "models/propose/propose.h"

typedef struct AskedRelation
{
	Oid relid;
	int depth; /* 0: each row of the result has a row of it */
	Bitmapset *used; /* columns, of its result too; 0: the whole row */
} AskedRelation;

typedef struct AskedColumn
{
	int relation; /* position in the query's relations; -1: it is none */
	AttrNumber attnum;
} AskedColumn;

typedef struct AskedEquality
{
	AskedColumn a;
	AskedColumn b;
} AskedEquality;

typedef enum AskedTest
{
	ASKED_EQUAL,
	ASKED_ANY_OF,
	ASKED_BELOW,
	ASKED_BELOW_EQUAL,
	ASKED_ABOVE,
	ASKED_ABOVE_EQUAL
} AskedTest;

/* An AskedBound is a column that is compared with a constant or a parameter. */
typedef struct AskedBound
{
	AskedColumn column;
	AskedTest test;
} AskedBound;

typedef struct AskedOrder
{
	AskedColumn column;
	bool descending;
} AskedOrder;

typedef struct AskedQuery
{
	const char *text;
	int64 calls; /* 0: not known */
	const Proposal *proposal;
	MemoryContext context; /* of all lists */
	CmdType command;
	int target; /* the relation that it writes; -1: none */
	Bitmapset *assigned; /* columns that an UPDATE writes */
	List *relations; /* of AskedRelation */
	List *equalities; /* of AskedEquality */
	List *bounds; /* of AskedBound, that all rows of the result fulfil */
	List *order; /* of AskedOrder */
	bool sorted; /* by something that is not in order, too */
	bool computed; /* rows of the result are made of several */
	bool utility; /* it is none that reads or writes rows */
	int nparts; /* while it is analysed */
	List *mentioned; /* OIDs of the relations that its text names */
	bool filtered; /* there are conditions beside bounds and equalities */
	const char *stays; /* why no Query can say it; NULL: one could */
	const char *unknown; /* why it could not be analysed; NULL: it was */
} AskedQuery;

typedef enum AskedKind
{
	ANSWER_ONE_READ,
	ANSWER_WRITE,
	ANSWER_INDEX, /* another index, or copies of columns, would answer it */
	ANSWER_VIEWS,
	ANSWER_UNKNOWN,
	ANSWER_ELSEWHERE, /* it uses no source */
	ANSWER_UTILITY
} AskedKind;

/* An AskedFilter is a condition on an attribute that is in no key. */
typedef struct AskedFilter
{
	const ProposeColumn *column;
	AskedTest test;
} AskedFilter;

/* An AskedRead is a GetItem or Query that gives all items that are wanted. */
typedef struct AskedRead
{
	int place; /* an index; -1: the table itself */
	List *entities; /* whose items are wanted */
	ProposeKey *partition; /* by the attributes of the first of them */
	ProposeKey *sort; /* the parts at its beginning that are known; NIL: all sort keys */
	bool whole; /* that is all of it */
	int nsort; /* columns in it */
	bool in_order; /* of the query */
	bool backward;
	bool others; /* items of other entities are between them */
	List *filters; /* of AskedFilter */
} AskedRead;

typedef struct AskedAnswer
{
	AskedKind kind;
	const AskedRead *read; /* NULL: there is none */
	List *notes; /* of char * */
} AskedAnswer;

/* asked_query.c */
extern void asked_analyse(AskedQuery *asked, const Proposal *proposal);

/* asked_answer.c */
extern AskedAnswer *asked_answer(const Proposal *proposal, const AskedQuery *asked);

/* asked_request.c */
extern const char *asked_operation(const AskedRead *read);
extern char *asked_request(const Proposal *proposal, const AskedRead *read);
extern char *asked_pattern_name(const AskedRead *read);

/* asked.c */
extern List *asked_print(const Proposal *proposal, ArrayType *queries);

#endif
