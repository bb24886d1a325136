/*
 * position_test.c
 *	  How far a standby has to be for a key: as far as the last of its writes.
 */
#include "position.h"
#include "test.h"

int
main(void)
{
	ok(position_of("a") == 0, "a key that has written nothing");
	position_note("a", 7);
	ok(position_of("a") == 7, "a key that has written something");
	ok(position_of("b") == 0, "another one");
	position_note("a", 5);
	ok(position_of("a") == 7, "an earlier write that is told later");
	position_note("a", 9);
	ok(position_of("a") == 9, "a later one");
	position_note("a", POSITION_UNKNOWN);
	ok(position_of("a") == POSITION_UNKNOWN, "one that has not told where it is");
	position_note("a", 11);
	ok(position_of("a") == 11, "the next one");
	for (int i = 0; i < 5000; i++)
	{
		char key[16];

		snprintf(key, sizeof(key), "key%d", i);
		position_note(key, (uint64_t) i + 1);
	}
	ok(position_of("key0") == 1 && position_of("key4999") == 5000 && position_of("a") == 11,
	   "many keys");
	return failures != 0;
}
