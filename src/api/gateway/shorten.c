/*
 * shorten.c
 *	  What code of a table's owner tells a gateway by notices and errors, which may be 1 GB at once.
 *
 * A gateway reads no notices, and of an error no more than its beginning; but it would keep all of it
 * until the whole has come, over each of its connections.  DETAIL may have the items of a transaction.
 */
#include "postgres.h"

/* What libpq.h has of connections needs the headers of these, which are not a server's; none of it is
 * used here. */
#undef ENABLE_GSS
#undef ENABLE_SSPI
#undef USE_OPENSSL

#include "lib/stringinfo.h"
#include "libpq/libpq.h"
#include "miscadmin.h"

#include "api/gateway/gateway.h"

/* These are types of messages and a field, as in the protocol. */
#define NOTICE_RESPONSE 'N'
#define ERROR_RESPONSE 'E'
#define DETAIL 'D'

#define MAX_WHOLE (1 << 20)
#define MAX_FIELD (128 << 10)
#define MAX_DETAIL (64 << 20)

static const PQcommMethods *plain;

/* Sends an error whose fields are cut, also in the midst of a character. */
static int
put_cut(const char *error, size_t size)
{
	const char *end = error + size;
	StringInfoData cut;
	int result;

	initStringInfo(&cut);
	for (const char *field = error; field < end && *field != '\0';)
	{
		size_t length = strlen(field);

		appendBinaryStringInfo(&cut, field, Min(length, *field == DETAIL ? MAX_DETAIL : MAX_FIELD));
		appendStringInfoChar(&cut, '\0');
		field += length + 1;
	}
	appendStringInfoChar(&cut, '\0');
	result = plain->putmessage(ERROR_RESPONSE, cut.data, cut.len);
	pfree(cut.data);
	return result;
}

static int
put_message(char type, const char *data, size_t size)
{
	if (size > MAX_WHOLE && type == NOTICE_RESPONSE)
		return 0;
	if (size > MAX_WHOLE && type == ERROR_RESPONSE)
		return put_cut(data, size);
	return plain->putmessage(type, data, size);
}

/* Have the session send no long notices, and errors that are not too long, from now on. */
void
shorten_messages(void)
{
	static PQcommMethods methods;

	/* background workers have no client */
	if (plain != NULL || MyProcPort == NULL)
		return;
	plain = PqCommMethods;
	methods = *plain;
	methods.putmessage = put_message;
	PqCommMethods = &methods;
}
