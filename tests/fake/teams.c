/* Threads of a team as coroutines: each runs until it waits for its team, then the next one runs.
 * Their order changes at every wait, so a body that forgets to wait computes something else. It is
 * an error if some threads of a team wait and others end, or wait for something else: a GPU would
 * hang. Shared memory is not a number until it is written.
 * A coroutine begins by setcontext() and goes on by _longjmp(), which asks the kernel for nothing.
 * Fortified, _longjmp() refuses to change to another stack. */
#undef _FORTIFY_SOURCE
#include "tests/fake/teams.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 64 << 10, SIZE_MAX_OF_TEAM = 1024 };

enum call { CALL_NONE, CALL_SUM, CALL_MAX, CALL_WAIT };

struct thread {
    jmp_buf place; /* where it goes on */
    char *stack;
    struct team team;
    enum call call; /* what it waits for */
    float value;    /* what it gave, and then what it gets */
    bool is_done;
};

static struct thread *threads[SIZE_MAX_OF_TEAM], *running;
static jmp_buf scheduler;
static void (*the_body)(const struct team *team, void *context);
static void *the_context;

/* Lets the other threads run until it is this thread's turn again. */
static void give_way(void)
{
    if (!_setjmp(running->place))
        _longjmp(scheduler, 1);
}

static float call(enum call call, float value)
{
    running->call = call;
    running->value = value;
    give_way();
    return running->value;
}

float team_sum(const struct team *team, float value)
{
    (void)team;
    return call(CALL_SUM, value);
}

float team_max(const struct team *team, float value)
{
    (void)team;
    return call(CALL_MAX, value);
}

void team_wait(const struct team *team)
{
    (void)team;
    (void)call(CALL_WAIT, 0);
}

void team_add(float *to, float value)
{
    *to += value;
}

/* A thread serves one team after another. */
static void thread_main(void)
{
    for (;;) {
        give_way();
        the_body(&running->team, the_context);
        running->is_done = true;
        running->call = CALL_NONE;
    }
}

/* Makes a thread, which stands before its first team. */
static struct thread *thread_new(void)
{
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread || !(thread->stack = malloc(STACK)))
        abort();
    ucontext_t context;
    (void)getcontext(&context); /* cannot fail */
    context.uc_stack.ss_sp = thread->stack;
    context.uc_stack.ss_size = STACK;
    makecontext(&context, thread_main, 0);
    running = thread;
    if (!_setjmp(scheduler))
        (void)setcontext(&context);
    return thread;
}

static void begin(unsigned index, struct team team)
{
    if (!threads[index])
        threads[index] = thread_new();
    struct thread *thread = threads[index];
    thread->team = team;
    thread->team.index = index;
    thread->is_done = false;
    thread->call = CALL_NONE;
}

/* Lets each thread run until it waits or is done. */
static void take_turns(unsigned size, unsigned turn)
{
    for (unsigned i = 0; i < size; i++) {
        running = threads[turn % 2 ? size - 1 - i : (i + turn) % size];
        if (!_setjmp(scheduler))
            _longjmp(running->place, 1);
    }
}

/* Gives all threads what they wait for. Returns whether they go on. */
static bool answer(unsigned size)
{
    float sum = 0, highest = -INFINITY;
    for (unsigned i = 0; i < size; i++) {
        if (threads[i]->is_done != threads[0]->is_done || threads[i]->call != threads[0]->call) {
            fprintf(stderr, "threads 0 and %u of a team part\n", i);
            abort();
        }
        sum += threads[i]->value;
        highest = fmaxf(highest, threads[i]->value);
    }
    for (unsigned i = 0; i < size; i++)
        threads[i]->value = threads[i]->call == CALL_MAX ? highest : sum;
    return !threads[0]->is_done;
}

void teams_run(size_t count, unsigned size, void (*body)(const struct team *team, void *context),
               void *context)
{
    static float shared[SIZE_MAX_OF_TEAM];
    the_body = body;
    the_context = context;
    for (size_t number = 0; number < count; number++) {
        for (unsigned i = 0; i < SIZE_MAX_OF_TEAM; i++)
            shared[i] = NAN;
        for (unsigned i = 0; i < size; i++)
            begin(i, (struct team){0, size, number, count, shared});
        unsigned turn = 0;
        do
            take_turns(size, turn++);
        while (answer(size));
    }
}
