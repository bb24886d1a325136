/*
 * partition.c
 *	  The table and the partition key of a request about one item, or one item collection.
 */
#include "partition.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <string.h>

#include "hash.h"

/* Larger keys there are not, also with escapes of U+0000 and U+0001 in the column. */
#define MAX_KEY 2048

/* Finds what an operation is about.  False if it is not about one item or collection of a table. */
bool
partition_subject(const Operation *operation, Member request, Subject *subject)
{
	MemberScan scan = member_scan(request);
	bool put = strcmp(operation->name, "PutItem") == 0;
	Member name;
	Member value;

	*subject = (Subject){0};
	if (!operation_is_short(operation))
		return false;
	while (member_next(&scan, &name, &value))
	{
		if (member_is(name, "TableName"))
			subject->table = value;
		else if (member_is(name, put ? "Item" : "Key"))
			subject->key = value;
		else if (member_is(name, "KeyConditionExpression"))
			subject->expression = value;
		else if (member_is(name, "ExpressionAttributeNames"))
			subject->names = value;
		else if (member_is(name, "ExpressionAttributeValues"))
			subject->values = value;
		else if (member_is(name, "KeyConditions"))
			subject->conditions = value;
		else if (member_is(name, "IndexName"))
			return false;
	}
	return scan.whole && subject->table.text != NULL;
}

static void
skip_blanks(Member *text)
{
	/* a line's end is an escape */
	while (text->length > 0 && (*text->text == ' ' || *text->text == '\\'))
	{
		size_t n = *text->text == '\\' && text->length > 1 ? 2 : 1;

		text->text += n;
		text->length -= n;
	}
}

static bool
is_word(char c)
{
	return isalnum((unsigned char) c) || strchr("_-#:", c) != NULL || (unsigned char) c >= 0x80;
}

/* Takes a name, or a reference to a name or a value. */
static Member
take_word(Member *text)
{
	Member word = {text->text, 0};

	while (word.length < text->length && text->text[word.length] != '\0' &&
		   is_word(text->text[word.length]))
		word.length++;
	text->text += word.length;
	text->length -= word.length;
	return word;
}

/* Returns the reference that an expression may have for the attribute. */
static Member
find_reference(Member names, const KeyAttribute *attribute)
{
	MemberScan scan = member_scan(names);
	Member reference;
	Member name;

	while (member_next(&scan, &reference, &name))
	{
		if (name.length == attribute->name.length + 2 &&
			memcmp(name.text + 1, attribute->name.text, attribute->name.length) == 0)
			return reference;
	}
	return (Member){NULL, 0};
}

static bool
is_same(Member word, Member other)
{
	return word.length > 0 && word.length == other.length &&
		   memcmp(word.text, other.text, word.length) == 0;
}

/* Returns the value that an expression says the attribute is equal to.  Names are read once, and not for
 * each word: both may be as large as a request. */
static Member
find_equal(const Subject *subject, const KeyAttribute *attribute)
{
	Member left = subject->expression;
	Member reference = find_reference(subject->names, attribute);

	while (left.length > 0)
	{
		Member word = take_word(&left);

		skip_blanks(&left);
		if ((is_same(word, reference) || is_same(word, attribute->name)) && left.length > 0 &&
			*left.text == '=')
		{
			left.text++;
			left.length--;
			skip_blanks(&left);
			return member_of(subject->values, take_word(&left));
		}
		if (word.length == 0 && left.length > 0)
		{
			left.text++;
			left.length--;
		}
	}
	return (Member){NULL, 0};
}

/* Returns the value of a condition as there were before expressions. */
static Member
find_condition(const Subject *subject, const KeyAttribute *attribute)
{
	Member condition = member_of(subject->conditions, attribute->name);
	Member list = {NULL, 0};

	if (condition.text != NULL)
		list = member_find(condition.text, condition.length, "AttributeValueList");
	if (list.length < 2)
		return (Member){NULL, 0};
	return (Member){list.text + 1, list.length - 2};
}

static bool
hash_of_binary(const char *text, size_t length, uint32_t *hash)
{
	unsigned char bytes[MAX_KEY + 8];
	size_t padding = 0;
	int n;

	while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
		padding++;
	if (length % 4 != 0 || length > MAX_KEY / 3 * 4)
		return false;
	n = EVP_DecodeBlock(bytes, (const unsigned char *) text, (int) length);
	if (n < (int) padding)
		return false;
	*hash = hash_of_bytes(bytes, (size_t) n - padding);
	return true;
}

/* Computes the hash of a value, such as {"S":"a"}, as its column has it. */
static bool
hash_of_value(Member value, char type, uint32_t *hash)
{
	char text[MAX_KEY / 3 * 4 + 8];
	char name[] = {type, '\0'};
	size_t length;

	if (value.text == NULL ||
		!member_string(member_find(value.text, value.length, name), text, sizeof(text), &length) ||
		length == 0)
		return false;
	if (type == 'N')
		return hash_of_number(text, length, hash);
	if (type == 'B')
		return hash_of_binary(text, length, hash);
	if (memchr(text, 0, length) != NULL || memchr(text, 1, length) != NULL)
		return false;
	*hash = hash_of_bytes(text, length);
	return true;
}

/* Computes the hash of the partition key that a key or an item has.  False if it has none. */
static bool
hash_of_key(Member key, const KeyAttribute *attribute, uint32_t *hash)
{
	return key.text != NULL &&
		   hash_of_value(member_of(key, attribute->name), attribute->type, hash);
}

/* Computes the hash of the partition key that a request has.  False if it has none. */
bool
partition_hash(const Subject *subject, const KeyAttribute *attribute, uint32_t *hash)
{
	if (subject->key.text != NULL)
		return hash_of_key(subject->key, attribute, hash);
	if (subject->expression.text != NULL && subject->values.text != NULL)
		return hash_of_value(find_equal(subject, attribute), attribute->type, hash);
	return subject->conditions.text != NULL &&
		   hash_of_value(find_condition(subject, attribute), attribute->type, hash);
}
