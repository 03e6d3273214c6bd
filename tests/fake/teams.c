/* Threads of a team as coroutines: each runs until it waits for its team, then the next one runs.
 * Their order changes at every wait, so a body that forgets to wait computes something else. It is
 * an error if some threads of a team wait and others end, or wait for something else: a GPU would
 * hang. Shared memory is not a number until it is written. */
#include "tests/fake/teams.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 64 << 10, SIZE_MAX_OF_TEAM = 1024 };

enum call { CALL_NONE, CALL_SUM, CALL_MAX, CALL_WAIT };

struct thread {
    ucontext_t context;
    char *stack;
    struct team team;
    enum call call; /* what it waits for */
    float value;    /* what it gave, and then what it gets */
    bool is_done;
};

static struct thread *threads[SIZE_MAX_OF_TEAM], *running;
static ucontext_t scheduler;
static void (*the_body)(const struct team *team, void *context);
static void *the_context;

static float call(enum call call, float value)
{
    running->call = call;
    running->value = value;
    (void)swapcontext(&running->context, &scheduler); /* fails only without memory */
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

static void thread_main(void)
{
    the_body(&running->team, the_context);
    running->is_done = true;
    running->call = CALL_NONE;
    (void)swapcontext(&running->context, &scheduler); /* it never comes back */
}

static void begin(unsigned index, struct team team)
{
    if (!threads[index]) {
        threads[index] = calloc(1, sizeof *threads[index]);
        if (threads[index])
            threads[index]->stack = malloc(STACK);
    }
    struct thread *thread = threads[index];
    if (!thread || !thread->stack)
        abort();
    thread->team = team;
    thread->team.index = index;
    thread->is_done = false;
    thread->call = CALL_NONE;
    (void)getcontext(&thread->context); /* cannot fail */
    thread->context.uc_stack.ss_sp = thread->stack;
    thread->context.uc_stack.ss_size = STACK;
    makecontext(&thread->context, thread_main, 0);
}

/* Lets each thread run until it waits or is done. */
static void take_turns(unsigned size, unsigned turn)
{
    for (unsigned i = 0; i < size; i++) {
        unsigned index = turn % 2 ? size - 1 - i : (i + turn) % size;
        running = threads[index];
        (void)swapcontext(&scheduler, &running->context);
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
