/*
 * size.c
 *	  How large the table of items becomes, by the encoding of items and the form of heap and btree
 *	  pages (see item/item.h, and the server's documentation of both).
 */
#include "postgres.h"

#include "models/propose/propose.h"

#define ROW_OVERHEAD 32 /* header and line pointer */
#define ITEM_OVERHEAD 8 /* headers, and the number of attributes */
#define ATTRIBUTE_OVERHEAD 4 /* tag, and lengths of name and end */
#define ENTRY_OVERHEAD 20 /* of a btree: header, line pointer, alignment */
#define FILL \
	0.74 /* of pages of the table, in which placement leaves room for collections to grow */
#define ENTRY_FILL 0.57 /* of those of btrees, whose keys come in any order */
#define SHORT_NAME 2

static double
attribute_size(const ProposeColumn *column, int name_length)
{
	double width = column->data.width;

	if (column->value.type == ITEM_N)
		width = 2 + width / 2;
	else if (column->value.type == ITEM_BOOL)
		width = 0;
	return column->data.filled * ((name_length > 0 ? Min(name_length, strlen(column->attribute))
												   : strlen(column->attribute)) +
								  width + ATTRIBUTE_OVERHEAD);
}

/* Returns the size of a key, and in *filled the part of the items that have it. */
static double
key_size(const ProposeEntity *entity, const ProposeKey *key, double *filled)
{
	double size = 0;
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal != NULL)
			size += strlen(part->literal);
		else
		{
			const ProposeData *data = &entity->table->columns[part->column].data;

			size += part->width > 0 ? part->width : data->width;
			*filled = Min(*filled, data->filled);
		}
	}
	return size;
}

/* Adds up the attributes, the columns, and the entry of an index. */
static double
place_size(const Proposal *proposal, const ProposeEntity *entity, const ProposePlace *place,
		   double table_key)
{
	double filled = 1;
	double keys =
		key_size(entity, place->partition, &filled) + key_size(entity, place->sort, &filled);
	double names = 2 * (strlen(proposal->index_name) + 3 + ATTRIBUTE_OVERHEAD);

	return filled * (names + 2 * keys / FILL + (table_key + keys + ENTRY_OVERHEAD) / ENTRY_FILL);
}

/*
 * Returns the bytes of an item of an entity in the table and all indexes, or with names of
 * attributes of at most so many bytes, if name_length is not 0.
 */
double
propose_item_size(const Proposal *proposal, const ProposeEntity *entity, int name_length)
{
	double filled = 1;
	const ProposePlace *place = entity->places[0];
	double key =
		key_size(entity, place->partition, &filled) + key_size(entity, place->sort, &filled);
	double size = ROW_OVERHEAD + ITEM_OVERHEAD + 2 * key + strlen(proposal->partition_name) +
				  strlen(proposal->sort_name) + strlen(proposal->type_name) + strlen(entity->name) +
				  3 * ATTRIBUTE_OVERHEAD;

	for (int i = 0; i < entity->table->ncolumns; i++)
		size += attribute_size(&entity->table->columns[i], name_length);
	size = size / FILL + (key + ENTRY_OVERHEAD) / ENTRY_FILL;
	for (int i = 1; i <= proposal->nindexes; i++)
	{
		if (entity->places[i] != NULL)
			size += place_size(proposal, entity, entity->places[i], key);
	}
	return size;
}

static const char *
pretty(double bytes)
{
	if (bytes < 1024 * 1024)
		return psprintf("%.0f kB", bytes / 1024);
	if (bytes < 1024.0 * 1024 * 1024)
		return psprintf("%.1f MB", bytes / 1024 / 1024);
	return psprintf("%.1f GB", bytes / 1024 / 1024 / 1024);
}

/* Adds remarks on the size of the table of items, and on what is to be saved. */
void
propose_size(Proposal *proposal)
{
	double rows = 0;
	double before = 0;
	double after = 0;
	double shortened = 0;
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		const ProposeEntity *entity = lfirst(cell);

		if (entity->table->unseen != NULL)
			continue;
		rows += entity->table->rows;
		before += entity->table->bytes;
		after += entity->table->rows * propose_item_size(proposal, entity, 0);
		shortened += entity->table->rows * propose_item_size(proposal, entity, SHORT_NAME);
	}
	if (rows < 1)
		return;
	propose_remark(
		&proposal->remarks, false, "Size: %.0f items take about %s with all indexes%s.", rows,
		pretty(after),
		before > 0 ? psprintf(", %.1f times the %s of the tables", after / before, pretty(before))
				   : "");
	propose_remark(
		&proposal->remarks, false,
		"Each item has the names of its attributes, and its keys three times.  With names "
		"of %d bytes (\"stored\": \"ab\" in an attribute) it would be %s.",
		SHORT_NAME, pretty(shortened));
}
