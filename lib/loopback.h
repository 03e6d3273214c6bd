/* A port of 127.0.0.1 for a page whose address has a name under localhost.
 *
 * For such a name, a browser tries [::1] first. The port of [::1] must therefore not belong to
 * another user, who would get the token of the page. */
#ifndef PHASED_LIB_LOOPBACK_H
#define PHASED_LIB_LOOPBACK_H

/* Keeps other programs from the port of [::1], and does not listen there: a browser that is refused
 * tries 127.0.0.1. Returns 0 and sets `ret_fd`: to a descriptor that keeps the port until it is
 * closed, or to -1 if this machine has no [::1]. -EADDRINUSE: another program has the port. Any
 * other error: another program may have the port. */
int loopback_reserve(unsigned port, int *ret_fd);

#endif
