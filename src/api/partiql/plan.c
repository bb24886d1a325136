/*
 * plan.c
 *	  Which keys a SELECT reads.
 *
 * The condition is brought into an OR of ANDs, as far as keys are involved: an OR that names no key
 * attribute stays whole.  Each branch that requires the partition key to equal a value is one read;
 * if one does not, all is read.  A branch has the terms that its read satisfies, and other
 * conditions, which are left to be evaluated on the items.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "api/partiql/plan.h"
#include "api/partiql/term.h"
#include "catalog/key.h"
#include "server/errors.h"

/* A Choice is a term with one of its values, or with both of BETWEEN. */
typedef struct Choice
{
	PartiqlTerm term;
	int number;
} Choice;

typedef struct Branch
{
	List *choices; /* Choice */
	List *others; /* PartiqlNode: what no read satisfies */
	bool negated; /* has a negated condition on the sort key */
	bool empty; /* no item can be in it */
	PartiqlRead read;
} Branch;

/*
 * From a condition to branches
 */

/* Returns whether each branch will require the partition key to equal a value. */
static bool
is_keyed(const PartiqlKeys *keys, const PartiqlNode *node)
{
	PartiqlTerm term;

	check_stack_depth();
	if (node->type == PARTIQL_AND)
		return is_keyed(keys, linitial(node->args)) || is_keyed(keys, lsecond(node->args));
	if (node->type == PARTIQL_OR)
		return is_keyed(keys, linitial(node->args)) && is_keyed(keys, lsecond(node->args));
	return partiql_find_term(keys, node, &term) && term.key == 0 && term.op == EXPR_KEY_EQ;
}

/* Returns how many branches there will be; more than PARTIQL_MAX_READS are not counted. */
static int
count_branches(const PartiqlKeys *keys, const PartiqlNode *node)
{
	PartiqlTerm term;
	int n = 1;

	check_stack_depth();
	if (node->type == PARTIQL_AND || (node->type == PARTIQL_OR && partiql_names_key(keys, node, 0)))
	{
		int left = count_branches(keys, linitial(node->args));
		int right = count_branches(keys, lsecond(node->args));

		n = node->type == PARTIQL_AND ? left * right : left + right;
	}
	else if (node->type == PARTIQL_IN && partiql_find_term(keys, node, &term))
		n = term.nvalues;
	return Min(n, PARTIQL_MAX_READS + 1);
}

static Branch *
joined_branch(const Branch *a, const Branch *b)
{
	Branch *branch = palloc0(sizeof(Branch));

	branch->choices = list_concat_copy(a->choices, b->choices);
	branch->others = list_concat_copy(a->others, b->others);
	branch->negated = a->negated || b->negated;
	return branch;
}

/* Adds the conditions of a branch, which is not used otherwise, to another one. */
static void
add_branch(Branch *branch, const Branch *other)
{
	branch->choices = list_concat(branch->choices, other->choices);
	branch->others = list_concat(branch->others, other->others);
	branch->negated = branch->negated || other->negated;
}

static List *
joined_branches(List *left, const List *right)
{
	List *branches = NIL;
	ListCell *a;
	ListCell *b;

	if (list_length(right) == 1)
	{
		foreach (a, left)
			add_branch(lfirst(a), linitial(right));
		return left;
	}
	foreach (a, left)
	{
		foreach (b, right)
			branches = lappend(branches, joined_branch(lfirst(a), lfirst(b)));
	}
	return branches;
}

/* Makes one branch for each value that is asked for. */
static List *
term_branches(const PartiqlTerm *term)
{
	int n = term->node->type == PARTIQL_IN ? term->nvalues : 1;
	List *branches = NIL;

	for (int i = 0; i < n; i++)
	{
		Branch *branch = palloc0(sizeof(Branch));
		Choice *choice = palloc(sizeof(Choice));

		*choice = (Choice){*term, i};
		branch->choices = list_make1(choice);
		branches = lappend(branches, branch);
	}
	return branches;
}

static List *
other_branch(const PartiqlKeys *keys, const PartiqlNode *node)
{
	Branch *branch = palloc0(sizeof(Branch));

	branch->others = list_make1((PartiqlNode *) node);
	branch->negated =
		(node->type == PARTIQL_NOT || node->type == PARTIQL_NE) && partiql_names_key(keys, node, 1);
	return list_make1(branch);
}

static List *
find_branches(const PartiqlKeys *keys, const PartiqlNode *node)
{
	PartiqlTerm term;

	check_stack_depth();
	if (node->type == PARTIQL_AND)
		return joined_branches(find_branches(keys, linitial(node->args)),
							   find_branches(keys, lsecond(node->args)));
	if (node->type == PARTIQL_OR && partiql_names_key(keys, node, 0))
		return list_concat(find_branches(keys, linitial(node->args)),
						   find_branches(keys, lsecond(node->args)));
	if (partiql_find_term(keys, node, &term) && (term.key > 0 || term.op == EXPR_KEY_EQ))
		return term_branches(&term);
	return other_branch(keys, node);
}

/*
 * Values
 */

/* Checks that all that keys are compared with has the type that the key has. */
static void
check_types(const PartiqlKeys *keys, const PartiqlNode *node)
{
	PartiqlTerm term;
	ListCell *cell;

	check_stack_depth();
	foreach (cell, node->args)
		check_types(keys, lfirst(cell));
	if (!partiql_find_term(keys, node, &term))
		return;
	for (int i = 0; i < term.nvalues; i++)
	{
		const DynKey *key = dyn_index_key(keys->table, keys->index, term.key);
		ItemSpan value = partiql_term_value(keys, &term, i);

		if (item_type(value) != key->type)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("invalid PartiQL statement: key \"%s\" of type %s is compared with a "
							"value of type %s",
							item_quoted(key->attribute), item_type_code(key->type),
							item_type_code(item_type(value))),
					 errwords("Key attribute's data type should match its data type in table's "
							  "schema: Key %s",
							  item_quoted_words(key->attribute))));
		dyn_key_check(key, term.key == 0, value);
	}
}

static Datum
choice_datum(const PartiqlKeys *keys, const Choice *choice, int number)
{
	const DynKey *key = dyn_index_key(keys->table, keys->index, choice->term.key);

	return dyn_key_datum(
		key->type, item_payload(partiql_term_value(keys, &choice->term, choice->number + number)));
}

static ItemType
key_type(const PartiqlKeys *keys, int number)
{
	return dyn_index_key(keys->table, keys->index, number)->type;
}

/*
 * From branches to reads
 */

/* Compares lower bounds: none is the first. */
static int
compare_lower(ItemType type, const StoreBound *a, const StoreBound *b)
{
	int cmp;

	if (!a->given || !b->given)
		return a->given - b->given;
	cmp = store_column_compare(type, a->value, b->value);
	return cmp != 0 ? cmp : b->inclusive - a->inclusive;
}

/* Compares upper bounds: none is the last. */
static int
compare_upper(ItemType type, const StoreBound *a, const StoreBound *b)
{
	int cmp;

	if (!a->given || !b->given)
		return b->given - a->given;
	cmp = store_column_compare(type, a->value, b->value);
	return cmp != 0 ? cmp : a->inclusive - b->inclusive;
}

/* Returns whether there can be something between two bounds. */
static bool
bounds_meet(ItemType type, const StoreBound *lower, const StoreBound *upper)
{
	int cmp;

	if (!lower->given || !upper->given)
		return true;
	cmp = store_column_compare(type, lower->value, upper->value);
	return cmp < 0 || (cmp == 0 && lower->inclusive && upper->inclusive);
}

static void
narrow(ItemType type, PartiqlRead *read, StoreBound lower, StoreBound upper)
{
	if (compare_lower(type, &lower, &read->lower) > 0)
		read->lower = lower;
	if (compare_upper(type, &upper, &read->upper) < 0)
		read->upper = upper;
}

static void
narrow_by_choice(const PartiqlKeys *keys, const Choice *choice, PartiqlRead *read)
{
	ItemType type = key_type(keys, choice->term.key);
	StoreBound lower = {false};
	StoreBound upper = {false};
	StoreBound first = {true, true, choice_datum(keys, choice, 0)};

	switch (choice->term.op)
	{
		case EXPR_KEY_EQ:
			lower = upper = first;
			break;
		case EXPR_KEY_LT:
		case EXPR_KEY_LE:
			upper = first;
			upper.inclusive = choice->term.op == EXPR_KEY_LE;
			break;
		case EXPR_KEY_GT:
		case EXPR_KEY_GE:
			lower = first;
			lower.inclusive = choice->term.op == EXPR_KEY_GE;
			break;
		case EXPR_KEY_BETWEEN:
			lower = first;
			upper = (StoreBound){true, true, choice_datum(keys, choice, 1)};
			break;
		case EXPR_KEY_BEGINS_WITH:
			lower = first;
			upper.given = dyn_key_prefix_end(
				type, item_payload(partiql_term_value(keys, &choice->term, 0)), &upper.value);
			break;
	}
	narrow(type, read, lower, upper);
}

/* Sets the read of a branch, which has a value of the partition key at least. */
static void
set_read(const PartiqlKeys *keys, Branch *branch)
{
	ItemType type = key_type(keys, 0);
	bool given = false;
	ListCell *cell;

	foreach (cell, branch->choices)
	{
		const Choice *choice = lfirst(cell);
		Datum value;

		if (choice->term.key > 0)
		{
			narrow_by_choice(keys, choice, &branch->read);
			continue;
		}
		value = choice_datum(keys, choice, 0);
		if (given && store_column_compare(type, value, branch->read.partition) != 0)
			branch->empty = true;
		branch->read.partition = value;
		given = true;
	}
	Assert(given);
	if (keys->index->nkeys > 1 &&
		!bounds_meet(key_type(keys, 1), &branch->read.lower, &branch->read.upper))
		branch->empty = true;
}

static int
compare_partitions(const PartiqlKeys *keys, const PartiqlRead *a, const PartiqlRead *b)
{
	return store_column_compare(key_type(keys, 0), a->partition, b->partition);
}

static int
compare_reads(const PartiqlKeys *keys, const PartiqlRead *a, const PartiqlRead *b)
{
	int cmp = compare_partitions(keys, a, b);

	if (cmp != 0 || keys->index->nkeys == 1)
		return cmp;
	return compare_lower(key_type(keys, 1), &a->lower, &b->lower);
}

static int
compare_branches(const void *a, const void *b, void *keys)
{
	return compare_reads(keys, &(*(Branch *const *) a)->read, &(*(Branch *const *) b)->read);
}

/* Returns the branches in the order of keys. */
static List *
sorted_branches(const PartiqlKeys *keys, const List *branches)
{
	Branch **sorted = palloc(list_length(branches) * sizeof(Branch *));
	List *result = NIL;
	int n = 0;
	ListCell *cell;

	foreach (cell, branches)
	{
		Branch *branch = lfirst(cell);

		set_read(keys, branch);
		sorted[n++] = branch;
	}
	qsort_arg(sorted, n, sizeof(Branch *), compare_branches, (void *) keys);
	for (int i = 0; i < n; i++)
		result = lappend(result, sorted[i]);
	return result;
}

/* Returns whether two reads of one partition have a key in common; b does not begin before a. */
static bool
reads_meet(const PartiqlKeys *keys, const PartiqlRead *a, const PartiqlRead *b)
{
	if (compare_partitions(keys, a, b) != 0)
		return false;
	return keys->index->nkeys == 1 || bounds_meet(key_type(keys, 1), &b->lower, &a->upper);
}

/* Makes one read of two that meet. */
static void
plan_extend(const PartiqlKeys *keys, PartiqlRead *read, const PartiqlRead *next)
{
	if (keys->index->nkeys > 1 && compare_upper(key_type(keys, 1), &next->upper, &read->upper) > 0)
		read->upper = next->upper;
}

/*
 * Raises ERRCODE_DYN_VALIDATION if two branches read the same.  Those with a negated condition on the
 * sort key do not count, nor those that read nothing.
 */
static void
check_overlap(const PartiqlKeys *keys, const List *branches)
{
	const Branch *last = NULL;
	ListCell *cell;

	foreach (cell, branches)
	{
		const Branch *branch = lfirst(cell);

		if (branch->negated || branch->empty)
			continue;
		if (last != NULL && reads_meet(keys, &last->read, &branch->read))
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("invalid PartiQL statement: two branches of its condition read the "
							"same keys"),
					 errwords("Overlapping conditions with range keys are not supported in where "
							  "clause")));
		last = branch;
	}
}

static void
set_reads(const PartiqlKeys *keys, PartiqlPlan *plan)
{
	ListCell *cell;

	plan->reads = palloc(list_length(plan->branches) * sizeof(PartiqlRead));
	plan->exact = true;
	foreach (cell, plan->branches)
	{
		const Branch *branch = lfirst(cell);
		PartiqlRead *last = plan->nreads == 0 ? NULL : &plan->reads[plan->nreads - 1];

		if (branch->empty)
			continue;
		if (branch->others != NIL)
			plan->exact = false;
		if (last != NULL && reads_meet(keys, last, &branch->read))
			plan_extend(keys, last, &branch->read);
		else
			plan->reads[plan->nreads++] = branch->read;
	}
}

/*
 * The order of the result
 */

static void
check_order(const PartiqlKeys *keys, bool keyed)
{
	const PartiqlStatement *statement = keys->statement;
	ListCell *cell;

	if (statement->where == NULL)
		partiql_fail(statement, (PartiqlPlace){-1, 0},
					 "Must have WHERE clause in the statement when using ORDER BY clause.",
					 "ORDER BY stands without WHERE");
	foreach (cell, statement->order)
	{
		const PartiqlNode *path = ((const PartiqlOrder *) lfirst(cell))->path;

		if (partiql_key_number(keys, path) < 0)
			partiql_fail(statement, path->place,
						 psprintf("Attribute %s in ORDER BY clause must be part of the primary key",
								  partiql_path_text(path)),
						 "\"%s\" is no key attribute", partiql_path_text(path));
	}
	if (!keyed)
		partiql_fail(statement, (PartiqlPlace){-1, 0},
					 "Must have at least one non-optional hash key condition in WHERE clause when "
					 "using ORDER BY clause.",
					 "ORDER BY needs the partition key to equal a value");
}

/* Returns the direction of a key; -1 if it is not in ORDER BY. */
static int
key_forward(const PartiqlKeys *keys, int number)
{
	ListCell *cell;

	foreach (cell, keys->statement->order)
	{
		const PartiqlOrder *order = lfirst(cell);

		if (partiql_key_number(keys, order->path) == number)
			return !order->descending;
	}
	return -1;
}

static void
reverse_reads(PartiqlRead *reads, int n)
{
	for (int i = 0; i < n / 2; i++)
	{
		PartiqlRead read = reads[i];

		reads[i] = reads[n - 1 - i];
		reads[n - 1 - i] = read;
	}
}

/*
 * Puts the reads into the order of ORDER BY.  Where that names the partition key alone, the sort key
 * is descending, whatever the direction of the partition key is.
 */
static void
order_reads(const PartiqlKeys *keys, PartiqlPlan *plan)
{
	int partition = key_forward(keys, 0);
	int n = plan->nreads;

	plan->forward = keys->statement->order == NIL || key_forward(keys, 1) == true;
	if (partition < 0 && keys->statement->order != NIL && n > 0 &&
		compare_partitions(keys, &plan->reads[0], &plan->reads[n - 1]) != 0)
		partiql_fail(keys->statement, (PartiqlPlace){-1, 0},
					 "Must have hash key in ORDER BY clause when more than one hash key condition "
					 "specified in WHERE clause.",
					 "ORDER BY needs the partition key where several are read");
	if (partition == false)
		reverse_reads(plan->reads, n);
	/* all is as wanted now if both keys run the same way, else each partition has to be turned */
	if ((partition != false) == plan->forward)
		return;
	for (int i = 0, end; i < n; i = end)
	{
		for (end = i + 1; end < n; end++)
		{
			if (compare_partitions(keys, &plan->reads[i], &plan->reads[end]) != 0)
				break;
		}
		reverse_reads(plan->reads + i, end - i);
	}
}

/*
 * Returns what a SELECT reads of a table or an index, in the current memory context.  Raises
 * ERRCODE_DYN_VALIDATION if the index cannot be read so.
 */
PartiqlPlan *
partiql_plan(const PartiqlBound *bound, const DynTable *table, const DynIndex *index)
{
	PartiqlKeys keys = {bound->compiled->statement, bound->values, table, index};
	const PartiqlNode *where = keys.statement->where;
	PartiqlPlan *plan = palloc0(sizeof(PartiqlPlan));
	bool keyed = where != NULL && is_keyed(&keys, where);

	plan->table = table;
	plan->index = index;
	plan->scan = !keyed;
	plan->forward = true;
	if (keys.statement->order != NIL)
		check_order(&keys, keyed);
	if (!keyed)
		return plan;
	if (count_branches(&keys, where) > PARTIQL_MAX_READS)
		partiql_fail(keys.statement, (PartiqlPlace){-1, 0},
					 "Too many decomposed read operations for a given query.",
					 "it needs more than %d reads", PARTIQL_MAX_READS);
	check_types(&keys, where);
	plan->branches = sorted_branches(&keys, find_branches(&keys, where));
	check_overlap(&keys, plan->branches);
	set_reads(&keys, plan);
	order_reads(&keys, plan);
	return plan;
}

/* Adds the attributes of a condition that an index does not project. */
static List *
add_unprojected(const PartiqlPlan *plan, const PartiqlNode *node, List *attributes)
{
	ListCell *cell;

	check_stack_depth();
	if (node->type == PARTIQL_PATH)
	{
		const PartiqlStep *step = linitial(node->steps);

		if (dyn_index_projects(plan->table, plan->index, step->name))
			return attributes;
		foreach (cell, attributes)
		{
			if (item_compare_bytes(*(const ItemSpan *) lfirst(cell), step->name) == 0)
				return attributes;
		}
		return lappend(attributes, (void *) &step->name);
	}
	foreach (cell, node->args)
		attributes = add_unprojected(plan, lfirst(cell), attributes);
	return attributes;
}

/*
 * Returns the attributes that the last branch of a keyed read has conditions on and the index does not
 * project, if each branch has such attributes, and else NIL.  The elements are ItemSpans.
 */
List *
partiql_unprojected(const PartiqlPlan *plan)
{
	List *attributes = NIL;
	ListCell *cell;

	foreach (cell, plan->branches)
	{
		const Branch *branch = lfirst(cell);
		ListCell *other;

		attributes = NIL;
		foreach (other, branch->others)
			attributes = add_unprojected(plan, lfirst(other), attributes);
		if (attributes == NIL)
			return NIL;
	}
	return attributes;
}
