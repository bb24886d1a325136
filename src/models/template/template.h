/*
 * template.h
 *	  Key templates: how the value of a key is made of attributes.
 *
 *		template	:= { literal | "<" attribute [ ":" format ] ">" }
 *		attribute	:= name, or a path of names with "." between, into maps
 *		literal		:= any characters; "<<" is one "<"
 *
 *		format		of			gives
 *		05			N			integer, padded with zeros to 5 digits
 *		-05			N			99999 - n, padded: ascending order of keys is descending order of n
 *		upper lower S			the letters changed, by the database's collation
 *		text		S, N, BOOL	what none gives, also where it is the whole template
 *		year month day hour minute second
 *					S, N		of a timestamp (ISO 8601 in UTC, or seconds since 1970): its
 *								beginning, "2024", "2024-05", … "2024-05-01T10:20:30"
 *
 * A rendered key can be read back in one way only.  So there must be a literal between two
 * placeholders, and a string value may not contain the punctuation next to its placeholder, nor
 * anything else that could be mistaken for the next literal: "ORG#<OrgId>" with OrgId = "1#PRO#2"
 * would be a key in the item collection of another entity.  Only the "-" before a placeholder that
 * ends the template may be in its value.  Numbers that do not fit their width are refused, as are
 * empty strings.  Punctuation is what ASCII has beside letters and digits.
 *
 * N without a format is printed as DynamoDB prints it, and BOOL is true or false.  Other types cannot
 * be in a template, but for one that is a placeholder and nothing else: the key is the attribute
 * itself, with its type, S, N or B.  Entities add ":text" to it where the key is S and the attribute is not.
 *
 *		template.c	templates: parsed, rendered, and compared by the form of what they render
 *		ksuid.c		KSUIDs: unique strings that sort by the second in which they were made
 */
#ifndef DYNAMO_TABLE_MODELS_TEMPLATE_TEMPLATE_H
#define DYNAMO_TABLE_MODELS_TEMPLATE_TEMPLATE_H

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

#include "item/item.h"

typedef enum TemplateUnit
{
	TEMPLATE_WHOLE, /* no timestamp's part */
	TEMPLATE_YEAR,
	TEMPLATE_MONTH,
	TEMPLATE_DAY,
	TEMPLATE_HOUR,
	TEMPLATE_MINUTE,
	TEMPLATE_SECOND
} TemplateUnit;

/* A TemplatePart is a literal, or a placeholder where the path is not empty. */
typedef struct TemplatePart
{
	ItemSpan literal; /* of a placeholder: the one after it, if another placeholder follows that */
	int npath;
	ItemSpan *path;
	ItemSpan source; /* the placeholder as it was written, without "<" and ">" */
	int width; /* 0: not padded */
	bool reversed;
	bool upper;
	bool lower;
	TemplateUnit unit;
	char before; /* punctuation that touches it, or 0 */
	char after;
} TemplatePart;

/* A TemplateStep is a set of bytes, one of which comes next in a key, once or repeatedly. */
typedef struct TemplateStep
{
	uint64 bytes[4];
	bool repeated; /* any number of them, also none */
} TemplateStep;

typedef struct Template
{
	ItemSpan text;
	bool whole; /* one placeholder without a format, and nothing else */
	int nparts;
	TemplatePart *parts;
	int nsteps; /* the form of what it renders */
	TemplateStep *steps;
} Template;

/* All results are in the current memory context; what is wrong is ERRCODE_DYN_VALIDATION. */
extern Template *template_parse(ItemSpan text);

/*
 * Appends what a template renders of an item's attributes (the root value of a dyn_item).  False if
 * one of them is not there: *missing is its placeholder then.  An attribute that is there and
 * cannot be in the key is an error that names it.  Not for templates that are whole.
 */
extern bool template_render(const Template *t, ItemSpan attributes, StringInfo out,
							const TemplatePart **missing);

/* Renders without an error: returns NULL, or what is wrong, as a message. */
extern const char *template_try_render(const Template *t, ItemSpan attributes, StringInfo out,
									   const TemplatePart **missing);

/*
 * Points *out at what one placeholder makes of its value, which is in the value or in the buffer; returns
 * NULL, or what is wrong with it.
 */
extern const char *template_render_value(const TemplatePart *part, ItemSpan value,
										 char buffer[ITEM_NUMBER_TEXT], ItemSpan *out);

/* Finds the value of a placeholder in an item's attributes. */
extern bool template_find(const TemplatePart *part, ItemSpan attributes, ItemSpan *value);

/* Returns whether a string has the form that it renders. */
extern bool template_fits(const Template *t, ItemSpan string);

/*
 * Takes a string apart that has the form: values get the value of each part that is a placeholder and loses
 * nothing of its attribute, as an S, N or BOOL that renders the same.  Others have no data.
 */
extern void template_take(const Template *t, ItemSpan string, const ItemType *types,
						  ItemSpan *values);

/* Returns whether some string has the form of both. */
extern bool template_overlaps(const Template *a, const Template *b);

/* Returns whether different attributes make different keys: nothing is cut or changed. */
extern bool template_is_injective(const Template *t);

/* ksuid.c: 27 characters each, not terminated */
#define KSUID_LENGTH 27
extern void ksuid_make(char out[KSUID_LENGTH]);

#endif
