/* SPDX-License-Identifier: Apache-2.0
 * The threads of a block as fibers of the calling thread: each runs until it waits, and those
 * that wait go on when all of their warp, or of the block, have come. */
#include "tests/cuda/emulator/threads.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MOST = 256, WARP = 32, STACK_BYTES = 256 << 10, SAVED = 6 };
enum state { RUNS, WAITS_FOR_BLOCK, WAITS_FOR_WARP, ENDED };

struct place emulated_thread, emulated_block, emulated_threads, emulated_grid;
static char *stacks;
static void *tops[THREADS_MOST], *own_top;
static enum state states[THREADS_MOST];
static unsigned current;
static void (*entry)(void **parameters);
static void **entry_parameters;
static unsigned long long words[2][THREADS_MOST];
static unsigned char turns[THREADS_MOST];

/* Saves the registers that a call keeps, and the stack, in *from; goes on at `to`. */
void emulated_switch(void **from, void *to);
__asm__(".text\n"
        ".globl emulated_switch\n"
        "emulated_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\n"
        "ret\n");

static void leave(enum state state)
{
    unsigned self = current;
    states[self] = state;
    emulated_switch(&tops[self], own_top);
}

void emulated_wait(int of_warp)
{
    leave(of_warp ? WAITS_FOR_WARP : WAITS_FOR_BLOCK);
}

unsigned long long *emulated_own_word(void)
{
    turns[current] ^= 1;
    return &words[turns[current]][current];
}

const unsigned long long *emulated_word_of(unsigned thread)
{
    return &words[turns[current]][thread];
}

static void begin(void)
{
    entry(entry_parameters);
    leave(ENDED);
    abort();
}

static void prepare(unsigned thread)
{
    uintptr_t end = (uintptr_t)(stacks + (size_t)(thread + 1) * STACK_BYTES - 64) & ~(uintptr_t)15;
    uint64_t *top = (uint64_t *)end;
    *--top = 0; /* nobody returns from begin() */
    *--top = (uint64_t)(uintptr_t)begin;
    for (int i = 0; i < SAVED; i++)
        *--top = 0;
    tops[thread] = top;
    states[thread] = RUNS;
    turns[thread] = 0;
}

/* If all of these threads wait for each other or have ended, they go on. */
static int release(unsigned first, unsigned count, enum state waiting)
{
    int found = 0;
    for (unsigned i = first; i < first + count; i++) {
        if (states[i] != waiting && states[i] != ENDED)
            return 0;
        found |= states[i] == waiting;
    }
    for (unsigned i = first; i < first + count; i++)
        if (states[i] == waiting)
            states[i] = RUNS;
    return found;
}

static void run_block(void)
{
    int going = 1;
    for (unsigned i = 0; i < emulated_threads.x; i++)
        prepare(i);
    while (going) {
        for (unsigned i = 0; i < emulated_threads.x; i++) {
            if (states[i] != RUNS)
                continue;
            current = emulated_thread.x = i;
            emulated_switch(&own_top, tops[i]);
        }
        going = 0;
        for (unsigned warp = 0; warp < emulated_threads.x; warp += WARP)
            going |= release(warp, WARP, WAITS_FOR_WARP);
        going |= release(0, emulated_threads.x, WAITS_FOR_BLOCK);
    }
    for (unsigned i = 0; i < emulated_threads.x; i++)
        if (states[i] != ENDED) {
            fprintf(stderr, "emulator: thread %u waits for threads that never come\n", i);
            abort();
        }
}

void emulated_run(void (*function)(void **parameters), void **parameters, unsigned blocks,
                  unsigned threads)
{
    if (!stacks)
        stacks = malloc((size_t)THREADS_MOST * STACK_BYTES);
    if (!stacks)
        abort();
    entry = function;
    entry_parameters = parameters;
    emulated_grid = (struct place){blocks, 1, 1};
    emulated_threads = (struct place){threads, 1, 1};
    for (unsigned i = 0; i < blocks; i++) {
        emulated_block = (struct place){i, 0, 0};
        run_block();
    }
}
