/*
 * clock.c
 *	  What tells a server the time, where the linker preloads it: the clock, and the seconds that are
 *	  in a file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile const int *offset;

__attribute__((constructor)) static void
start(void)
{
	int file = open(getenv("CLOCK_OFFSET"), O_RDONLY);

	if (file >= 0)
		offset = mmap(NULL, sizeof(int), PROT_READ, MAP_SHARED, file, 0);
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	tv->tv_sec = now.tv_sec + (offset == NULL ? 0 : *offset);
	tv->tv_usec = now.tv_nsec / 1000;
	return 0;
}
