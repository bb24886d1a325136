/*
 * standin.c
 *	  What the server would provide, for fuzzers that run without one.
 */
#include "postgres.h"

#include <signal.h>

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/elog.h"
#include "utils/memutils.h"

#include "server/attempt.h"
#include "server/compat.h"
#include "server/words.h"
#include "standin.h"

#define MOST_STACK (4 * 1024 * 1024) /* bytes; frames are larger under the sanitizers */

/*
 * Memory
 */

typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *previous;
	Size size;
	MemoryContext context; /* where GetMemoryChunkContext() of 15 looks */
} Chunk;

static Chunk chunks = {&chunks, &chunks};
static Chunk kept = {&kept, &kept};

/* There is one context, which is that list. */
static MemoryContextData the_context;
MemoryContext CurrentMemoryContext = &the_context;

static void
link_chunk(Chunk *list, Chunk *c)
{
	c->next = list->next;
	c->previous = list;
	c->next->previous = c;
	list->next = c;
}

static void
unlink_chunk(Chunk *c)
{
	c->previous->next = c->next;
	c->next->previous = c->previous;
}

void *
palloc(Size size)
{
	Chunk *c = malloc(sizeof(Chunk) + size);

	c->size = size;
	c->context = &the_context;
	link_chunk(&chunks, c);
	return c + 1;
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void
pfree(void *pointer)
{
	Chunk *c = (Chunk *) pointer - 1;

	unlink_chunk(c);
	free(c);
}

/* Always moves, so that a stale pointer is found. */
void *
repalloc(void *pointer, Size size)
{
	void *to = palloc(size);

	memcpy(to, pointer, Min(size, ((Chunk *) pointer - 1)->size));
	pfree(pointer);
	return to;
}

char *
pnstrdup(const char *s, Size len)
{
	char *copy;

	len = strnlen(s, len);
	copy = palloc(len + 1);
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *
pstrdup(const char *s)
{
	return pnstrdup(s, strlen(s));
}

void
standin_keep_chunks(void)
{
	while (chunks.next != &chunks)
	{
		Chunk *c = chunks.next;

		unlink_chunk(c);
		link_chunk(&kept, c);
	}
}

void
standin_free_chunks(void)
{
	while (chunks.next != &chunks)
		pfree(chunks.next + 1);
}

#if PG16_GE
MemoryContext
GetMemoryChunkContext(void *pointer)
{
	return &the_context;
}
#endif

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size min, Size initial,
							  Size max)
{
	return &the_context;
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return palloc0(size);
}

/*
 * Errors
 */

sigjmp_buf standin_error;
int standin_sqlstate;

bool
errstart(int elevel, const char *domain)
{
	standin_sqlstate = 0;
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	siglongjmp(standin_error, 1);
}

#if PG16_GE
bool
errsave_start(struct Node *context, const char *domain)
{
	return errstart(ERROR, domain);
}

void
errsave_finish(struct Node *context, const char *filename, int lineno, const char *funcname)
{
	siglongjmp(standin_error, 1);
}
#endif

int
errcode(int sqlerrcode)
{
	standin_sqlstate = sqlerrcode;
	return 0;
}

/* A text, so that its arguments are read. */
static char *
format_text(const char *format, va_list args)
{
	va_list copy;
	char *text;
	int len;

	va_copy(copy, args);
	len = vsnprintf(NULL, 0, format, copy);
	va_end(copy);
	text = palloc(len + 1);
	vsnprintf(text, len + 1, format, args);
	return text;
}

#define FORMAT_TEXT(text) \
	do \
	{ \
		va_list args; \
		va_start(args, format); \
		text = format_text(format, args); \
		va_end(args); \
	} while (0)

#define MESSAGE_FUNCTION(name) \
	int name(const char *format, ...) \
	{ \
		char *text; \
		FORMAT_TEXT(text); \
		pfree(text); \
		return 0; \
	}
MESSAGE_FUNCTION(errmsg)
MESSAGE_FUNCTION(errmsg_internal)
MESSAGE_FUNCTION(errdetail)
MESSAGE_FUNCTION(errhint)

char *
words_format(const char *format, va_list args)
{
	return format_text(format, args);
}

/* What goes to a client has the server's encoding. */
static void
check_words(char *words)
{
	int len = (int) strlen(words);

	if (pg_encoding_verifymbstr(PG_UTF8, words, len) != len)
	{
		fprintf(stderr, "these words are no UTF-8: %s\n", words);
		abort();
	}
}

int
words_set(const char *function, const char *format, ...)
{
	char *words;

	FORMAT_TEXT(words);
	check_words(words);
	pfree(words);
	return 0;
}

int
words_set_if(const char *function, const char *words)
{
	return words == NULL ? 0 : words_set(function, "%s", words);
}

int
words_set_kind(WordsKind kind)
{
	return 0;
}

ErrorData *
attempt_to_compute(void (*step)(void *arg), void *arg, bool (*catches)(const ErrorData *error))
{
	sigjmp_buf outer;
	ErrorData *error = palloc0(sizeof(ErrorData));
	volatile bool failed = false;

	memcpy(&outer, &standin_error, sizeof(outer));
	if (sigsetjmp(standin_error, 0) == 0)
		step(arg);
	else
		failed = true;
	memcpy(&standin_error, &outer, sizeof(outer));
	error->message = pstrdup("");
	return failed && catches(error) ? error : NULL;
}

bool
value_is_to_blame(const ErrorData *error)
{
	return true;
}

/* Of servers with asserts. */
#if PG16_GE
void
ExceptionalCondition(const char *condition, const char *file, int line)
#else
void
ExceptionalCondition(const char *condition, const char *type, const char *file, int line)
#endif
{
	fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
	abort();
}

/*
 * Recursion and interrupts
 */

void
check_stack_depth(void)
{
	static char *base;
	char *here = __builtin_frame_address(0);

	if (base == NULL || base < here)
		base = here;
	if (base - here > MOST_STACK)
		ereport(ERROR, (errcode(ERRCODE_STATEMENT_TOO_COMPLEX), errmsg("too deep")));
}

volatile sig_atomic_t InterruptPending = false;

void
ProcessInterrupts(void)
{
}

/*
 * Encoding
 */

int
GetDatabaseEncoding(void)
{
	return PG_UTF8;
}

const char *
GetDatabaseEncodingName(void)
{
	return "UTF8";
}

int
pg_mbcliplen(const char *s, int len, int limit)
{
	while (limit > 0 && limit < len && ((unsigned char) s[limit] & 0xc0) == 0x80)
		limit--;
	return Min(len, limit);
}

int
pg_mbstrlen_with_len(const char *s, int limit)
{
	int n = 0;

	while (limit > 0)
	{
		int len = pg_utf_mblen((const unsigned char *) s);

		limit -= len;
		s += len;
		n++;
	}
	return n;
}

/* Libpgcommon has it from 17 on. */
#if !PG17_GE
char *
json_errdetail(JsonParseErrorType error, JsonLexContext *lex)
{
	return pstrdup("detail");
}
#endif

/*
 * Lists
 */

/* With room for more. */
static List *
new_list(int length)
{
	List *list = palloc0(sizeof(List));

	list->type = T_List;
	list->length = length;
	list->max_length = Max(length, 4);
	list->elements = palloc0(list->max_length * sizeof(ListCell));
	return list;
}

static List *
list_of(int n, const ListCell *cells)
{
	List *list = new_list(n);

	memcpy(list->elements, cells, n * sizeof(ListCell));
	return list;
}

List *
list_make1_impl(NodeTag type, ListCell a)
{
	return list_of(1, (ListCell[]){a});
}

List *
list_make2_impl(NodeTag type, ListCell a, ListCell b)
{
	return list_of(2, (ListCell[]){a, b});
}

List *
list_make3_impl(NodeTag type, ListCell a, ListCell b, ListCell c)
{
	return list_of(3, (ListCell[]){a, b, c});
}

List *
lappend(List *list, void *value)
{
	if (list == NIL)
		return list_of(1, (ListCell[]){{.ptr_value = value}});
	if (list->length == list->max_length)
	{
		list->max_length *= 2;
		list->elements = repalloc(list->elements, list->max_length * sizeof(ListCell));
	}
	list->elements[list->length++].ptr_value = value;
	return list;
}

List *
lcons(void *value, List *list)
{
	List *longer = list_of(1, (ListCell[]){{.ptr_value = value}});

	return list_concat(longer, list);
}

List *
list_concat_copy(const List *a, const List *b)
{
	List *list;
	int length = list_length(a) + list_length(b);

	if (length == 0)
		return NIL;
	list = new_list(length);
	if (a != NIL)
		memcpy(list->elements, a->elements, a->length * sizeof(ListCell));
	if (b != NIL)
		memcpy(list->elements + list_length(a), b->elements, b->length * sizeof(ListCell));
	return list;
}

/* The first list changes, as in the server. */
List *
list_concat(List *a, const List *b)
{
	List *both = list_concat_copy(a, b);

	if (a == NIL || both == NIL)
		return both;
	pfree(a->elements);
	*a = *both;
	pfree(both);
	return a;
}

void
list_free(List *list)
{
	if (list == NIL)
		return;
	pfree(list->elements);
	pfree(list);
}
