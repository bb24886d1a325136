/*
 * arn.c
 *	  Amazon Resource Names of tables: arn:aws:dynamodb:REGION:ACCOUNT:table/NAME, and of their
 *	  streams, which go on with /stream/LABEL.
 *
 * ARNs that are printed have the region and the account of the settings.  Without a setting the
 * region is the one that the request is signed for, or "local" where there is no such region.
 * Functions take ARNs of any region and account, of which only the table's name counts; requests
 * refuse ARNs of another region or account (dyn_is_own_arn()).
 *
 * Tables that are created by SQL may have names that DynamoDB does not allow.  Other characters
 * than those of DynamoDB's names are escaped in an ARN as in a URL: "%2F".
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "catalog/definition/arn.h"
#include "catalog/definition/stream_label.h"
#include "server/name.h"

/* This is the region where nothing is known of it. */
#define NO_REGION "local"

static char *arn_region = NULL;
static char *arn_account = NULL;

/* This is the region of the request that is carried out, or empty. */
static char request_region[ARN_REGION_SIZE] = "";

static bool
is_part(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text);
}

static bool
check_region(char **value, void **extra, GucSource source)
{
	if (is_part(*value))
		return true;
	GUC_check_errdetail("It has lower-case letters, digits and \"-\" only.");
	return false;
}

static bool
check_account(char **value, void **extra, GucSource source)
{
	if (**value != '\0')
		return check_region(value, extra, source);
	GUC_check_errdetail("It must not be empty.");
	return false;
}

/*
 * Defines the settings dynamo_table.arn_region and dynamo_table.arn_account.  Called once by
 * _PG_init().
 */
void
dyn_arn_init(void)
{
	DefineCustomStringVariable("dynamo_table.arn_region", "Sets the region in ARNs of tables.",
							   "Empty: the one that a request is signed for.", &arn_region, "",
							   PGC_USERSET, 0, check_region, NULL, NULL);
	DefineCustomStringVariable("dynamo_table.arn_account", "Sets the account in ARNs of tables.",
							   NULL, &arn_account, "000000000000", PGC_USERSET, 0, check_account,
							   NULL, NULL);
}

/*
 * Skips a part that ends with a colon.  False unless the part is the expected one, or expected is
 * NULL.
 */
static bool
skip_part(ItemSpan *rest, const char *expected)
{
	const char *colon = memchr(rest->data, ':', rest->len);
	uint32 len;

	if (colon == NULL)
		return false;
	len = (uint32) (colon - rest->data);
	if (expected != NULL && (len != strlen(expected) || memcmp(rest->data, expected, len) != 0))
		return false;
	*rest = (ItemSpan){colon + 1, rest->len - len - 1};
	return true;
}

/*
 * Returns whether the text is the ARN of a table or of something in it; *rest becomes what follows
 * "table/".
 */
static bool
parse_arn(ItemSpan arn, ItemSpan *name)
{
	static const char *const parts[] = {"arn", NULL, "dynamodb", NULL, NULL};
	const uint32 prefix = strlen("table/");

	*name = arn;
	for (int i = 0; i < lengthof(parts); i++)
	{
		if (!skip_part(name, parts[i]))
			return false;
	}
	if (name->len <= prefix || memcmp(name->data, "table/", prefix) != 0)
		return false;
	*name = (ItemSpan){name->data + prefix, name->len - prefix};
	return true;
}

static void
append_name(StringInfo out, ItemSpan name)
{
	for (uint32 i = 0; i < name.len; i++)
	{
		if (dyn_is_name_character(name.data[i]))
			appendStringInfoChar(out, name.data[i]);
		else
			appendStringInfo(out, "%%%02X", (unsigned char) name.data[i]);
	}
}

/* Returns the byte that '%' and two hexadecimal digits mean; -1 if the text has no such escape. */
static int
escaped_byte(const char *text, uint32 len)
{
	uint8 byte;

	if (len < 3 || text[0] != '%' || !isxdigit((unsigned char) text[1]) ||
		!isxdigit((unsigned char) text[2]))
		return -1;
	hex_decode(text + 1, 2, (char *) &byte);
	return byte;
}

/*
 * Decodes the name in an ARN: *name points to the text itself, or to a copy.  False if the text is
 * not escaped as these ARNs are.
 */
static bool
parse_name(ItemSpan *name)
{
	char *copy;
	uint32 len = 0;

	if (memchr(name->data, '%', name->len) == NULL)
		return memchr(name->data, '/', name->len) == NULL;
	copy = palloc(name->len);
	for (uint32 i = 0; i < name->len; i++)
	{
		int byte = (unsigned char) name->data[i];

		if (byte == '%')
		{
			byte = escaped_byte(name->data + i, name->len - i);
			i += 2;
		}
		if (byte < 0 || name->data[i] == '/')
			return false;
		copy[len++] = (char) byte;
	}
	*name = (ItemSpan){copy, len};
	return pg_verifymbstr(copy, (int) len, true);
}

/*
 * Returns whether the text is the ARN of a table, and of which one.  The name points into arn, or
 * is palloc'd.
 */
bool
dyn_parse_table_arn(ItemSpan arn, ItemSpan *name)
{
	return parse_arn(arn, name) && parse_name(name);
}

/* Returns whether the text is the ARN of a stream, of which table, and the text of the label. */
bool
dyn_parse_stream_arn(ItemSpan arn, ItemSpan *name, ItemSpan *label)
{
	const uint32 infix = strlen("/stream/");
	const char *slash;
	ItemSpan rest;

	if (!parse_arn(arn, &rest))
		return false;
	slash = memchr(rest.data, '/', rest.len);
	if (slash == NULL || slash == rest.data)
		return false;
	*name = (ItemSpan){rest.data, (uint32) (slash - rest.data)};
	*label = (ItemSpan){slash, rest.len - name->len};
	if (label->len <= infix || memcmp(slash, "/stream/", infix) != 0)
		return false;
	*label = (ItemSpan){slash + infix, label->len - infix};
	return parse_name(name);
}

/* Returns whether the text is the ARN of a table or of something in it, wherever that is. */
bool
dyn_is_arn(ItemSpan text)
{
	ItemSpan name;

	return parse_arn(text, &name);
}

/* Returns what the ARNs of a region begin with, palloc'd. */
static char *
arn_prefix(const char *region)
{
	return psprintf("arn:aws:dynamodb:%s:%s:table/", region, arn_account);
}

static bool
is_arn_of(ItemSpan arn, const char *region)
{
	char *prefix = arn_prefix(region);
	bool same = arn.len >= strlen(prefix) && memcmp(arn.data, prefix, strlen(prefix)) == 0;

	pfree(prefix);
	return same;
}

/*
 * Returns whether an ARN has the account, and the region, of the ARNs that are printed.  Without a
 * setting of the region, ARNs of NO_REGION are accepted everywhere: they are printed where no
 * request tells a region.
 */
bool
dyn_is_own_arn(ItemSpan arn)
{
	return is_arn_of(arn, dyn_arn_region()) || (*arn_region == '\0' && is_arn_of(arn, NO_REGION));
}

/* Returns the name of a table that is given by its name or its ARN. */
ItemSpan
dyn_table_name(ItemSpan given)
{
	ItemSpan name;

	return dyn_parse_table_arn(given, &name) ? name : given;
}

/* Appends the ARN of a table or, if stream is a label and not 0, of that stream of it. */
void
dyn_append_arn(StringInfo out, ItemSpan table, int64 stream)
{
	char label[STREAM_LABEL_LENGTH + 1];

	char *prefix = arn_prefix(dyn_arn_region());

	appendStringInfoString(out, prefix);
	pfree(prefix);
	append_name(out, table);
	if (stream == 0)
		return;
	appendStringInfoString(out, "/stream/");
	appendStringInfoString(out, stream_label_print(stream, label));
}

/* Returns the ARN of the table with that name, palloc'd. */
char *
dyn_table_arn(ItemSpan name)
{
	return dyn_stream_arn(name, 0);
}

/* Returns the ARN of an index of the table with that ARN, palloc'd. */
char *
dyn_index_arn(const char *table_arn, ItemSpan index)
{
	StringInfoData arn;

	initStringInfo(&arn);
	appendStringInfo(&arn, "%s/index/", table_arn);
	append_name(&arn, index);
	return arn.data;
}

/* Returns the ARN of a stream, palloc'd.  The label is in milliseconds since 1970. */
char *
dyn_stream_arn(ItemSpan table, int64 label)
{
	StringInfoData arn;

	initStringInfo(&arn);
	dyn_append_arn(&arn, table, label);
	return arn.data;
}

/* Returns the region in ARNs, which is valid until the setting changes or the request ends. */
const char *
dyn_arn_region(void)
{
	if (*arn_region != '\0')
		return arn_region;
	return *request_region != '\0' ? request_region : NO_REGION;
}

/* The request that begins is for this region; empty: none is known, or the request has ended. */
void
dyn_arn_set_request_region(const char *region)
{
	if (strlen(region) >= sizeof(request_region) || !is_part(region))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid name of a region"),
				 errdetail("It has lower-case letters, digits and \"-\", at most %d.",
						   ARN_REGION_SIZE - 1)));
	strcpy(request_region, region);
}
