/*
 * prefetch.c
 *	  Pages of a table that are read soon, asked for from the operating system before.
 *
 * The operating system then reads them while the session works, and several at a time.  A page that
 * is in the buffers has nothing to gain, and looking for it costs some percent of reading its rows.
 * So no more pages are looked for once many in a row were found, until one that is read was not
 * there: which reading tells at no cost.
 *
 * This is PrefetchBuffer() on all majors.  A read stream goes by effective_io_concurrency alone,
 * which is 1 by default before 18, and reads ahead of whoever takes the pages in their order, once;
 * here some pages are read again.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "store/prefetch.h"

/* So many pages are looked for although they are in the buffers, at first and after one was not. */
#define FIRST_CREDIT 4
#define CREDIT 32

static int setting = 16;

#ifdef USE_ASSERT_CHECKING
/*
 * Counts for tests: what was asked for, and how often a read would wait if all that has been asked
 * for arrived during a wait.
 */
#define MOST_ASKED 1024
static BlockNumber asked[MOST_ASKED]; /* the last ones */
static uint64 nasked = 0;
static uint64 nbefore = 0; /* asked for by earlier readers */
static uint64 narrived = 0;
static uint64 nwaits = 0;

static void
count_asked(BlockNumber block)
{
	asked[nasked++ % MOST_ASKED] = block;
}

static bool
has_arrived(BlockNumber block)
{
	for (uint64 i = narrived; i > nbefore && i + MOST_ASKED > nasked; i--)
	{
		if (asked[(i - 1) % MOST_ASKED] == block)
			return true;
	}
	return false;
}

static void
count_read(BlockNumber block)
{
	if (has_arrived(block))
		return;
	nwaits++;
	narrived = nasked;
}

static const char *
show_counters(void)
{
	return psprintf("prefetches " UINT64_FORMAT ", waits " UINT64_FORMAT, nasked, nwaits);
}
#endif

/* Begins to read pages of a relation, of which there is no list yet. */
void
prefetch_begin(Prefetch *prefetch, Relation rel)
{
	int tablespace = get_tablespace_io_concurrency(rel->rd_rel->reltablespace);

	prefetch->rel = rel;
	prefetch->depth = setting == 0 ? 0 : Max(setting, tablespace);
	prefetch->credit = FIRST_CREDIT;
	prefetch->asked = 0;
#ifdef USE_ASSERT_CHECKING
	nbefore = narrived = nasked;
#endif
}

/* Says that the pages are those of another list from now on. */
void
prefetch_list(Prefetch *prefetch)
{
	prefetch->asked = 0;
}

static void
prefetch_ask(Prefetch *prefetch, BlockNumber block)
{
	PrefetchBufferResult result = PrefetchBuffer(prefetch->rel, MAIN_FORKNUM, block);

	if (!result.initiated_io)
	{
		prefetch->credit--;
		return;
	}
	prefetch->credit = CREDIT;
#ifdef USE_ASSERT_CHECKING
	count_asked(block);
#endif
}

/* Asks for pages of a list behind the one that is read next, as far ahead as is allowed. */
static void
ask_ahead(Prefetch *prefetch, PageList pages, int next)
{
	int end = Min(pages.n, next + 1 + prefetch->depth);

	prefetch->asked = Max(prefetch->asked, next + 1);
	while (prefetch->asked < end && prefetch->credit > 0)
		prefetch_ask(prefetch, pages.blocks[prefetch->asked++]);
}

static int64
pages_read(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

/* Reads a page of a list, having asked for those behind it.  It is pinned, for the caller to release. */
Buffer
prefetch_read(Prefetch *prefetch, PageList pages, int next)
{
	BlockNumber block = pages.blocks[next];
	int64 before = pages_read();
	Buffer buffer;

	ask_ahead(prefetch, pages, next);
	buffer = ReadBuffer(prefetch->rel, block);
	if (pages_read() == before)
		return buffer;
	prefetch->credit = CREDIT;
#ifdef USE_ASSERT_CHECKING
	count_read(block);
#endif
	return buffer;
}

/*
 * Defines the setting dynamo_table.prefetch, and on servers with assertions the setting
 * dynamo_table.prefetch_counters.  Called once by store_init().
 */
void
prefetch_init(void)
{
#ifdef USE_ASSERT_CHECKING
	static char *counters;

	DefineCustomStringVariable("dynamo_table.prefetch_counters",
							   "Shows how many pages were asked for and how often a read waited.",
							   NULL, &counters, "", PGC_INTERNAL,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, show_counters);
#endif
	DefineCustomIntVariable(
		"dynamo_table.prefetch",
		"Sets how many pages reads of items ask the operating system for before they read them.",
		"effective_io_concurrency counts if it is larger.  0: none.", &setting, 16, 0,
		MAX_IO_CONCURRENCY, PGC_USERSET, 0, NULL, NULL, NULL);
}
