/* The requeue of this job by Slurm. The lead and the host use it when a run is to continue in a new
 * life of the job.
 *
 *   none -> wanted -> asked -> accepted -> over
 *                          \-> ending  -/
 *
 * scontrol asks for the requeue, in the background and with a deadline. Slurm then kills the job
 * and this process, so everything must be written before. If Slurm refuses because the job was
 * submitted as not requeueable, scontrol allows the requeue, and asks again. The process must end
 * when the requeue is over: Slurm has refused it, is killing the job, requeues the job when it
 * exits (grace.h), or has not killed the job in time. */
#ifndef PHASED_WORKER_LEAD_REQUEUE_H
#define PHASED_WORKER_LEAD_REQUEUE_H

#include <stdint.h>
#include <uv.h>

enum requeue_state {
    REQUEUE_NONE,
    REQUEUE_WANTED,
    REQUEUE_ASKED,
    REQUEUE_ENDING,   /* asked, and Slurm is killing the job before it has answered */
    REQUEUE_ACCEPTED, /* Slurm is about to kill the job */
    REQUEUE_OVER,
    REQUEUE_STATES,
};

enum requeue_event {
    REQUEUE_WANT,    /* a run is to continue */
    REQUEUE_PASS_ON, /* the lead is a guest: its host asks Slurm */
    REQUEUE_ASK,     /* everything is written */
    REQUEUE_TERM,    /* SIGTERM, as at the start of a requeue; our exit frees the nodes */
    REQUEUE_ACCEPT,
    REQUEUE_REFUSE,
    REQUEUE_BY_EXIT, /* Slurm requeues the job if it exits now */
    REQUEUE_LATE,    /* Slurm has not killed the job in time */
    REQUEUE_EVENTS,
};

enum requeue_call { REQUEUE_CALL_FIRST, REQUEUE_CALL_ALLOW, REQUEUE_CALL_AGAIN };

/* The lead and the host read `state`; the other members are private. */
struct requeue {
    enum requeue_state state;
    uv_loop_t *loop;
    const char *who; /* "lead" or "host", for messages */
    int64_t job_id;
    void (*over)(void *context);
    void *context;
    enum requeue_call call;
    char reason[256]; /* why the first call was refused */
    uv_timer_t timer;
};

/* `over` is called once the requeue is over. It may call requeue_close(). */
void requeue_init(struct requeue *requeue, uv_loop_t *loop, const char *who, int64_t job_id,
                  void (*over)(void *context), void *context);

/* Closes the handle. The struct must live until the loop has ended. */
void requeue_close(struct requeue *requeue);

/* Moves to the next state, and acts accordingly. In a state where the event means nothing, nothing
 * happens. */
void requeue_handle(struct requeue *requeue, enum requeue_event event);

enum requeue_state requeue_next(enum requeue_state state, enum requeue_event event);

#endif
