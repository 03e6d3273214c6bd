/* Tells systemd how the daemon is: lines in a datagram, as sd_notify(3) describes them. If systemd
 * has not started the daemon, nothing is told. */
#ifndef PHASED_DAEMON_SERVICE_H
#define PHASED_DAEMON_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/* The variables that systemd has set. NULL: systemd has not set the variable. */
struct service {
    char *socket, *watchdog_us;
};

/* Takes the variables out of the environment, because programs that phased starts must not see
 * them. */
void service_init(struct service *service);
void service_fini(struct service *service);
/* Puts the variables back, for the process that begins anew. */
void service_hand_on(const struct service *service);
/* How often the service should tell something; 0: never, because nobody listens. */
uint64_t service_every_ms(const struct service *service);
/* `state`: lines of the protocol, such as "READY=1"; may be empty. `status`: one line for people.
 * What systemd does not take now is lost, so that a busy systemd does not stop the daemon. */
void service_tell(const struct service *service, const char *state, const char *status);
/* Asks the watchdog for as much time as a start may take, or for its usual time again. A daemon
 * that begins anew may check its record for minutes, and systemd believes that the daemon runs. */
void service_be_patient(const struct service *service, bool is_patient, const char *status);

#endif
