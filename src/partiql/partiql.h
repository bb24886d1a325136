/*
 * partiql.h
 *	  PartiQL: statements that select, insert, update and delete items.
 *
 *		statement = partiql_parse(text);
 *
 * A statement becomes a tree that says what is written, and nothing is looked up for it.  From the
 * tree come the expressions of the expr folder, so that no rule of conditions and updates is written
 * twice, and a plan of which keys are read.  Values are literals or parameters, and no text of
 * another statement is made of any of it.
 *
 *		tree.h			the tree of a statement, for the files of this folder
 *		scan.l			tokens
 *		gram.y			the grammar
 *		keyword.c		the words that are no names
 *		error.c			errors: what is wrong, and where in the text
 *		parse.c			running the parser
 *		node.c			nodes of the tree, called by the grammar
 *		check.c			what a statement must be beyond its syntax
 *		literal.c		the values that literals stand for
 */
#ifndef DYNAMO_TABLE_PARTIQL_PARTIQL_H
#define DYNAMO_TABLE_PARTIQL_PARTIQL_H

#include "item/item.h"

#define PARTIQL_MAX_TEXT 8192 /* characters of a statement */

typedef struct PartiqlStatement PartiqlStatement;

/* parse.c */
extern PartiqlStatement *partiql_parse(ItemSpan text);

#endif
