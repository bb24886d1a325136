/*
 * propose.h
 *	  dyn_propose_migration(): from a relational schema to the SQL that makes one table of it.
 *
 * Three kinds of code are kept apart.  What is there is read first, from the catalogs and from
 * data, into ProposeTables.  Then all choices are made, on these structs alone, and become
 * ProposeEntities.  At last they are printed.  Nothing is changed in the database.
 *
 *		What is there
 *		propose.c	dyn_propose_migration(): the order of all this
 *		source.c	the tables that "sources" names
 *		catalog.c	their columns, keys and foreign keys
 *		data.c		what their rows hold: counts, widths, what a key cannot hold
 *		count.c		how many rows refer to one row, and what may be a foreign key
 *		identify.c	what identifies the rows of tables without a key, by their values
 *		read.c		statements about sources, and what they answer
 *
 *		Choices
 *		name.c		names of entities, attributes, views, prefixes
 *		type.c		types of attributes
 *		owner.c		in whose collection the items of an entity are
 *		key.c		templates of keys
 *		place.c		the overloaded indexes, and which entity is where in them
 *		offer.c		what items may have of others: columns of parents, lists of children
 *		size.c		how large the table of items becomes
 *		caution.c	what a person should know about a table
 *
 *		What the database is asked, which shapes the choices: asked.h
 *		asked.c			the questions, their chart, and the access patterns
 *		asked_query.c	from a text to what it asks, by the server's parser and analyser
 *		asked_read.c	the reads that answer it, and the places that they need
 *
 *		Text
 *		comment.c	lines of comments, which nothing can break out of
 *		literal.c	calls, and literals of JSON
 *		print.c		the statements
 *		step.c		that of the migration
 */
#ifndef DYNAMO_TABLE_MODELS_PROPOSE_PROPOSE_H
#define DYNAMO_TABLE_MODELS_PROPOSE_PROPOSE_H

#include "access/attnum.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/jsonb.h"

#include "models/value/value.h"
#include "server/sql.h"

/* A table may have so many global indexes. */
#define PROPOSE_MAX_INDEXES 20

/* The character between the parts of a key is chosen from these, the usual one first. */
#define PROPOSE_DELIMITERS "#|~/^!"

/* ProposeData is what the values of a column are, as far as they were looked at. */
typedef struct ProposeData
{
	double filled; /* the part of the rows where it is not NULL */
	double width; /* average bytes as text */
	double longest; /* bytes of the longest text */
	double digits; /* of the largest integer; 0: none was seen */
	bool negative;
	bool fractions;
	bool unstorable; /* NaN, infinity, years that no attribute holds */
	bool empty; /* '' */
	bool objects; /* of JSON: what kinds there are */
	bool arrays;
	bool scalars;
	double distinct; /* of a column that is asked: how many values there are, */
	double most; /* and rows of one of them */
	uint32 delimiters; /* bit i: a value has PROPOSE_DELIMITERS[i] */
} ProposeData;

typedef struct ProposeColumn
{
	AttrNumber attnum;
	const char *name;
	Oid type;
	int32 typmod;
	Oid collation;
	bool required; /* NOT NULL */
	bool generated;
	bool identity; /* or the default is of a sequence */
	bool in_key; /* of the key, of a foreign key, or referred to by one */
	bool asked; /* a question compares it, or sorts by it */
	ProposeData data;

	/* Chosen */
	const char *attribute; /* its name */
	ValueType value;
	const char *sql; /* what makes the attribute; NULL: the column by itself */
	int width; /* of numbers in sort keys; 0: they are not padded */
} ProposeColumn;

struct ProposeTable;

typedef struct ProposeForeignKey
{
	const char *name;
	Oid parent_relid;
	struct ProposeTable *parent; /* NULL: it is not among the sources, or has no key */
	List *columns; /* of int: positions in the table's columns, */
	List *parent_columns; /* and in the parent's; of attributes, if that is not known */
	bool required; /* no column of it can be NULL */
	bool to_key; /* it refers to the parent's key */
	bool cascades; /* what happens to a parent changes or deletes its rows */
	double average; /* rows that refer to one row, of those that have any; 0: not known */
	double most;
} ProposeForeignKey;

typedef struct ProposeTable
{
	Oid relid;
	char relkind;
	bool has_children; /* tables that inherit from it; not partitions */
	Oid owner;
	const char *unseen; /* why its rows are not looked at; NULL: they are */
	const char *schema;
	const char *name;
	const char *qualified; /* both, quoted */
	int ncolumns;
	ProposeColumn *columns;
	List *key; /* of int: positions in columns; NIL: nothing identifies its rows */
	bool key_is_primary;
	int nforeign;
	ProposeForeignKey *foreign;
	double rows;
	double bytes; /* with indexes */
	double sampled; /* the part of its pages that was read */
	List *remarks; /* lines of comments before the statement */
	bool is_parent; /* a foreign key refers to it */
	struct ProposeEntity *entity; /* NULL: nothing identifies its rows */
} ProposeTable;

/* A ProposePart is a literal, or an attribute. */
typedef struct ProposePart
{
	const char *literal; /* or NULL */
	int column; /* position in the entity's table */
	int width; /* or 0 */
} ProposePart;

/* A ProposeKey is the template of a key, a list of ProposeParts. */
typedef List ProposeKey;

typedef enum ProposePurpose
{
	PLACE_OWN, /* its own key, which the table's key does not have alone */
	PLACE_PARENT, /* a foreign key */
	PLACE_COLUMNS, /* other columns that a question compares */
	PLACE_HEAD, /* behind the items that refer to it, for a question that wants both */
	PLACE_JOIN /* beside its owner, whose items the table keeps elsewhere */
} ProposePurpose;

/* A ProposePlace says where the items of an entity are in an index; the table is index 0. */
typedef struct ProposePlace
{
	ProposePurpose purpose;
	const ProposeForeignKey *foreign; /* NULL: none */
	ProposeKey *partition;
	ProposeKey *sort;
	struct ProposeEntity *entity;
	struct ProposePlace *head; /* that of the parent, in the same index; or NULL */
	int index; /* -1: not yet in one */
} ProposePlace;

/* A ProposeCopy is a column of a parent, as an attribute of the items that refer to it. */
typedef struct ProposeCopy
{
	const ProposeForeignKey *foreign;
	const ProposeColumn *column; /* of the parent */
	const char *attribute;
} ProposeCopy;

/* A ProposeList is rows of another table, as an attribute of the items that they refer to. */
typedef struct ProposeList
{
	const struct ProposeEntity *child;
	const ProposeForeignKey *foreign; /* of the child */
	const char *attribute;
} ProposeList;

typedef struct ProposeEntity
{
	ProposeTable *table;
	const char *name;
	const char *prefix; /* of its keys, in templates */
	const char *view;
	const ProposeForeignKey *owner; /* NULL: it has a collection of its own */
	List *wanted; /* ProposePlaces that it needs in indexes */
	ProposePlace *places[PROPOSE_MAX_INDEXES + 1]; /* by the index; NULL: it is not there */
	List *copies; /* of ProposeCopy; offered, not made */
	List *lists; /* of ProposeList; offered, not made */
	List *offered; /* names of both */
} ProposeEntity;

typedef struct Proposal
{
	const char *target;
	Oid schema; /* that the target is to be in */
	const char *relation; /* and its name there */
	const char *migration;
	int ntables;
	ProposeTable *tables;
	List *entities; /* of ProposeEntity, in the order of the tables */
	char delimiter;
	const char *partition_name; /* "PK" */
	const char *sort_name; /* "SK" */
	const char *type_name; /* "Type" */
	const char *index_name; /* "GSI", before the number of an index */
	int nindexes;
	List *remarks;
	List *questions; /* of AskedQuery */
	bool statements; /* they are those of pg_stat_statements */
	bool asked; /* there are some about sources */
	const char *unseen_questions; /* why there may be more; NULL: there are not */
} Proposal;

/* Whether all of some columns are among others. */
#define propose_are_in(columns, others) (list_difference_int(columns, others) == NIL)

/* source.c, catalog.c */
extern void propose_sources(Proposal *proposal, ArrayType *sources);
extern void propose_read_catalog(Proposal *proposal);
extern void propose_link(Proposal *proposal);
extern void propose_share(const Proposal *proposal,
						  bool (*share)(ProposeColumn *a, ProposeColumn *b));
extern ProposeTable *propose_source(const Proposal *proposal, Oid relid);
extern int propose_position(const ProposeTable *table, AttrNumber attnum);

/* identify.c, data.c, count.c: connected to SPI, with the settings of migrations */
extern bool propose_has_order(const ProposeColumn *column);
extern void propose_identify(Proposal *proposal);
extern void propose_read_data(Proposal *proposal);
extern void propose_count(Proposal *proposal);

/* read.c: answers of a statement that returns one row */
extern void propose_execute(const char *sql, int nargs, const SqlValue *arguments);
extern void propose_execute_on(const ProposeTable *table, const char *sql, int nargs,
							   const SqlValue *arguments);
extern double propose_answer(int column);
extern void propose_read_size(ProposeTable *table);

/* name.c */
extern void propose_names(Proposal *proposal);
extern void propose_view_names(Proposal *proposal);
extern char *propose_prefix(const char *name);
extern ProposeTable *propose_find_table(const Proposal *proposal, ItemSpan name);
extern const char *propose_new_attribute(ProposeEntity *entity, const char *stem, const char *name);

/* type.c */
extern void propose_types(Proposal *proposal);
extern const char *propose_text_sql(const ProposeColumn *column);
extern bool propose_is_integer(const ProposeColumn *column);

/* owner.c */
extern void propose_owners(Proposal *proposal, Jsonb *owners);

/* key.c */
extern void propose_widths(Proposal *proposal);
extern const char *propose_format(int width);
extern void propose_delimiter(Proposal *proposal);
extern void propose_keys(Proposal *proposal);
extern ProposePlace *propose_make_place(const Proposal *proposal, ProposeEntity *entity,
										const List *columns, const List *sort);
extern void propose_add_head(const Proposal *proposal, ProposePlace *place, ProposeEntity *parent);
extern void propose_remark_unpadded(ProposeEntity *entity);
extern const char *propose_key_text(const ProposeEntity *entity, const ProposeKey *key);
extern List *propose_key_columns(const ProposeKey *key);
extern bool propose_is_required(const ProposeTable *table, const ProposeKey *key);
extern const char *propose_first_literal(const ProposeKey *key);
extern bool propose_can_be_key(const ProposeColumn *column);

/* place.c */
extern void propose_places(Proposal *proposal);
extern const char *propose_index_name(const Proposal *proposal, int index);
extern const char *propose_key_name(const Proposal *proposal, int index, bool sort);

/* asked.c, asked_read.c */
extern void propose_ask(Proposal *proposal, ArrayType *queries);
extern void propose_asked_places(const Proposal *proposal);
extern List *propose_print_asked(const Proposal *proposal);

/* offer.c */
extern void propose_copies(Proposal *proposal);
extern void propose_lists(Proposal *proposal);

/* size.c, caution.c */
extern double propose_item_size(const Proposal *proposal, const ProposeEntity *entity,
								int name_length);
extern void propose_size(Proposal *proposal);
extern void propose_cautions(Proposal *proposal);

/* comment.c */
extern char *propose_shown(const char *text);
extern void propose_comment_text(StringInfo out, const char *text);
/* A question is one that a person has to answer. */
#define propose_remark(remarks, question, ...) \
	(*(remarks) = \
		 lappend(*(remarks), propose_add((question) ? "?" : "", " ", psprintf(__VA_ARGS__))))
#define propose_comment(out, ...) propose_comment_text(out, psprintf(__VA_ARGS__))
extern void propose_print_remarks(StringInfo out, const List *remarks);
extern const char *propose_columns(const ProposeTable *table, const List *columns);

/* literal.c */
extern char *propose_add(const char *list, const char *between, const char *text);
extern char *propose_string(const char *text);
extern char *propose_member(const char *members, const char *name, const char *text);
extern void propose_piece(StringInfo out, const char *json);
extern void propose_option(StringInfo out, const char *json);
extern void propose_call(StringInfo out, const Proposal *proposal, const char *function);

/* step.c */
extern char *propose_print_migration(const Proposal *proposal);

/* print.c: texts of statements, each with the comments before it */
extern List *propose_print(const Proposal *proposal);

#endif
