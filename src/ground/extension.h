/*
 * extension.h
 *	  Where the extension is installed in this database.
 */
#ifndef DYNAMO_TABLE_GROUND_EXTENSION_H
#define DYNAMO_TABLE_GROUND_EXTENSION_H

extern Oid extension_schema(void);

#endif
