/* phasectl open: prints the address of the web page, and shows it where a desktop is. */
#include "cli/open.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Other users can see the arguments of a program, so the browser gets a file that only the owner
 * can read, and the file names the address. */
void open_browser(const struct cli *cli, const char *url)
{
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    struct error err;
    if ((!display || !*display) && (!wayland || !*wayland))
        return;
    char *html = text_format("<!doctype html><meta charset=\"utf-8\"><title>phased</title>"
                             "<meta http-equiv=\"refresh\" content=\"0; url=%s\">",
                             url);
    const char *const words[] = {"xdg-open", cli->home.page, NULL};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC); /* the browser must not print here */
    pid_t pid;
    if (home_make(&cli->home, &err) < 0 ||
        file_replace(cli->home.page, html, strlen(html), 0600, &err) < 0)
        fprintf(stderr, "phasectl: the browser is not opened: %s\n", err.message);
    else
        /* If this fails, the person opens the printed address. */
        (void)command_start(words, (int[]){-1, null, null}, false, &pid, NULL);
    if (null >= 0)
        (void)close(null);
    free(html);
}

int open_verb(struct cli *cli, char **words)
{
    int exit_code;
    const struct option_rule rules[] = {
        {"json", 0, NULL, "print the address as JSON, and open nothing", .flag = &cli->as_json},
        {0}};
    struct option_arguments arguments = {.max = 0};
    struct error err;
    json_t *reply;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    if (client_post(cli, "/v1/page", NULL, &reply, NULL, &err) < 0)
        return cli_fail(&err);
    const char *url = field_text(reply, "url");
    const char *host = field_text(reply, "host"); /* the page is on the host of the daemon */
    long long port = field_integer(reply, "port");
    if (cli->as_json) {
        client_print_json(reply);
    } else {
        printf("%s\n\nWhoever has this address can do what you can. On another machine, first:\n"
               "ssh -N -L %lld:127.0.0.1:%lld %s\n",
               url, port, port, host[0] ? host : "HOST");
        open_browser(cli, url);
    }
    json_decref(reply);
    return CLI_OK;
}
