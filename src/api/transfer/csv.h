/*
 * csv.h
 *	  Records of CSV as items.
 */
#ifndef DYNAMO_TABLE_API_TRANSFER_CSV_H
#define DYNAMO_TABLE_API_TRANSFER_CSV_H

#include "utils/jsonb.h"

#include "catalog/table.h"

typedef struct CsvColumn
{
	ItemSpan name;
	ItemType type;
} CsvColumn;

/* A Csv says how fields are separated, and what the header says. */
typedef struct Csv
{
	char delimiter;
	int n; /* 0: there has been none */
	CsvColumn *columns;
} Csv;

extern void csv_read_header(Csv *csv, const DynTable *table, const Jsonb *types, const char *record,
							int len);
extern DynItem *csv_read_item(const Csv *csv, const char *record, int len);

#endif
