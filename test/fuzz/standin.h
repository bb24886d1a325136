/*
 * standin.h
 *	  What the server would provide, for fuzzers that run without one.
 *
 * Memory is kept in a list and freed after each run, as a memory context would be; an error is a
 * longjmp to where the fuzzer said, and the limit of the stack is one of the fuzzer's own.
 */
#ifndef DYNAMO_TABLE_FUZZ_STANDIN_H
#define DYNAMO_TABLE_FUZZ_STANDIN_H

#include <setjmp.h>

extern sigjmp_buf standin_error; /* where errors go */
extern int standin_sqlstate; /* of the last one */

extern void standin_keep_chunks(void); /* what is there is not freed */
extern void standin_free_chunks(void);

#endif
