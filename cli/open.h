/* Shows an address in a browser. */
#ifndef PHASED_CLI_OPEN_H
#define PHASED_CLI_OPEN_H

struct cli;

/* Opens the address in a browser, if there is a desktop. */
void open_browser(const struct cli *cli, const char *url);

#endif
