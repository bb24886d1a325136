/*
 * io.c
 *	  Input and output functions of dyn_item and dyn_value.
 *
 * The binary form is a version byte and the bytes of item.h from the format byte on.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "item/item.h"
#include "server/errors.h"

#define WIRE_VERSION 1

#if PG16_GE
#define INPUT_CONTEXT (fcinfo->context)
#else
#define INPUT_CONTEXT NULL
#endif

PG_FUNCTION_INFO_V1(dyn_item_in);
Datum
dyn_item_in(PG_FUNCTION_ARGS)
{
	char *text = PG_GETARG_CSTRING(0);

	PG_RETURN_POINTER(item_parse(text, strlen(text), ITEM_SYNTAX_ITEM, INPUT_CONTEXT));
}

PG_FUNCTION_INFO_V1(dyn_value_in);
Datum
dyn_value_in(PG_FUNCTION_ARGS)
{
	char *text = PG_GETARG_CSTRING(0);

	PG_RETURN_POINTER(item_parse(text, strlen(text), ITEM_SYNTAX_VALUE, INPUT_CONTEXT));
}

PG_FUNCTION_INFO_V1(dyn_item_out);
Datum
dyn_item_out(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	StringInfoData out;

	initStringInfo(&out);
	/* type codes and quotes come to less than twice the bytes of most items */
	enlargeStringInfo(&out, (int) root.len * 2);
	item_print_attributes(&out, root);
	PG_RETURN_CSTRING(out.data);
}

PG_FUNCTION_INFO_V1(dyn_value_out);
Datum
dyn_value_out(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	item_print_typed(&out, item_root(PG_GETARG_DYN_ITEM(0)));
	PG_RETURN_CSTRING(out.data);
}

static void
check_wire(bool ok, const char *detail)
{
	if (!ok)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid binary item"),
						errdetail("%s", detail)));
}

static DynItem *
receive(StringInfo in, bool is_item)
{
	int version = pq_getmsgbyte(in);
	int len = in->len - in->cursor;
	const char *bytes = pq_getmsgbytes(in, len);
	ItemSpan root = {bytes + 1, (uint32) len - 1};
	DynItem *item;

	check_wire(version == WIRE_VERSION, psprintf("Version %d is not known.", version));
	check_wire(len >= 2 && bytes[0] == ITEM_FORMAT, "The format byte is not known.");
	check_wire(item_validate(root), "The bytes are not a value in canonical form.");
	check_wire(!is_item || item_type(root) == ITEM_M, "The value is not a map.");
	item_check_size(root);

	item = palloc(VARHDRSZ + len);
	SET_VARSIZE(item, VARHDRSZ + len);
	memcpy(VARDATA(item), bytes, len);
	return item;
}

PG_FUNCTION_INFO_V1(dyn_item_recv);
Datum
dyn_item_recv(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(receive((StringInfo) PG_GETARG_POINTER(0), true));
}

PG_FUNCTION_INFO_V1(dyn_value_recv);
Datum
dyn_value_recv(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(receive((StringInfo) PG_GETARG_POINTER(0), false));
}

/*
 * Sends both types, since the bytes contain the type.  A placeholder, which logical replication may
 * send when it is deleted, is sent as an ordinary item with its attributes, since no receiver
 * accepts a placeholder.
 */
PG_FUNCTION_INFO_V1(dyn_value_send);
Datum
dyn_value_send(PG_FUNCTION_ARGS)
{
	DynItem *item = PG_GETARG_DYN_ITEM(0);
	StringInfoData out;

	pq_begintypsend(&out);
	pq_sendbyte(&out, WIRE_VERSION);
	pq_sendbyte(&out, ITEM_FORMAT);
	pq_sendbytes(&out, VARDATA_ANY(item) + 1, (int) VARSIZE_ANY_EXHDR(item) - 1);
	PG_RETURN_BYTEA_P(pq_endtypsend(&out));
}
