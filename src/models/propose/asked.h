/*
 * asked.h
 *	  The questions that a database is asked, as SQL, and the reads that answer them.
 *
 * A query is analysed by the server's parser and analyser, and becomes an AskedQuery: the relations
 * that it reads, through views, subqueries and WITH, and how it uses their columns.  Nothing of it is
 * planned or executed.  From that follow the places that its items need in indexes, and when these
 * are chosen, its reads.
 */
#ifndef DYNAMO_TABLE_MODELS_PROPOSE_ASKED_H
#define DYNAMO_TABLE_MODELS_PROPOSE_ASKED_H

#include "access/stratnum.h"
#include "nodes/parsenodes.h"

#include "models/propose/propose.h"

/* A test is the number of a strategy of btrees, or this: equal to one of several. */
#define ASKED_ANY_OF (BTMaxStrategyNumber + 1)

/* Sets of tests */
#define ASKED_TEST(test) (1 << (test))
#define ASKED_EQUAL (ASKED_TEST(BTEqualStrategyNumber) | ASKED_TEST(ASKED_ANY_OF))
#define ASKED_LOW (ASKED_TEST(BTGreaterEqualStrategyNumber) | ASKED_TEST(BTGreaterStrategyNumber))
#define ASKED_HIGH (ASKED_TEST(BTLessStrategyNumber) | ASKED_TEST(BTLessEqualStrategyNumber))

/* An AskedKnown is what is known of a column when its rows are to be read. */
typedef struct AskedKnown
{
	int level; /* of the read that tells its value; 0: a constant; -1: it is not known */
	bool several; /* it is one of several values */
	const struct AskedUse *source; /* of the value: columns with the same are equal */
} AskedKnown;

/* An AskedUse is what a query says of a column. */
typedef struct AskedUse
{
	struct AskedRelation *relation;
	int column;
	int tests; /* a set: how it is compared with constants and parameters */
	List *equals; /* of AskedUse: what is known of it is known of them */
	AskedKnown known;
} AskedUse;

#define asked_column(use) (&(use)->relation->table->columns[(use)->column])

typedef struct AskedRelation
{
	const RangeTblEntry *rte; /* while it is analysed */
	int position; /* among the relations */
	ProposeTable *table;
	AskedUse *uses; /* by the column */
} AskedRelation;

typedef struct AskedOrder
{
	const AskedUse *by; /* NULL: an expression */
	bool descending;
} AskedOrder;

typedef enum AskedKind
{
	ASKED_READS,
	ASKED_PUT,
	ASKED_VIEWS,
	ASKED_UNKNOWN,
	ASKED_ELSEWHERE /* it names neither a source nor a view, or has no rows */
} AskedKind;

typedef struct AskedQuery
{
	const char *text;
	int64 calls; /* 0: not known */
	const Proposal *proposal;
	AskedKind kind;
	CmdType command;
	List *relations; /* of AskedRelation */
	List *uses; /* of AskedUse, of all columns of these */
	List *order; /* of AskedOrder */
	int limit; /* rows; 0: all, -1: a parameter says how many */
	bool computed; /* rows of the result are made of several */
	bool compared; /* there are conditions on columns, */
	bool filtered; /* and others */
	List *reads; /* of AskedRead */
	int nreads;
	bool each; /* one of them is done for each of several values */
	const char *notes; /* what else is to be said, first of all why it is none of reads */
} AskedQuery;

/* An AskedRead is a GetItem or Query that gives all rows of a relation that are wanted. */
typedef struct AskedRead
{
	AskedRelation *relation;
	ProposePlace *place;
	ProposeKey *sort; /* the parts at its beginning that are known */
	bool gets_item;
	const AskedUse *range; /* of the column that is next in it, if that has bounds; or NULL */
	bool in_order; /* of the query */
	bool backward;
	int limit; /* 0: none */
	const ProposeEntity *head; /* the item of the parent is read with them; or NULL */
	bool each; /* once for each of several values */
	int level; /* reads of the same level do not wait for each other */
} AskedRead;

#define asked_note(asked, ...) \
	((asked)->notes = propose_add((asked)->notes, "; ", psprintf(__VA_ARGS__)))

/* asked.c */
extern char *asked_line(const char *text);

/* asked_query.c */
extern void asked_analyse(AskedQuery *asked);

/* asked_read.c */
extern void asked_answer(AskedQuery *asked);

#endif
