/* The tools that `phasectl mcp` offers: what a client reads about them, and the words of phasectl
 * that a call of a tool becomes. */
#ifndef PHASED_CLI_MCP_TOOL_H
#define PHASED_CLI_MCP_TOOL_H

#include <stdbool.h>

#include <jansson.h>

struct error;

/* What a tool does, and so what `--allow` must name. */
enum tool_access { TOOL_READS, TOOL_SUBMITS, TOOL_DECIDES, TOOL_ACCESS_COUNT };

enum { TOOL_PARAMETERS_MAX = 8 };

struct tool {
    const char *name;
    const char *verb; /* of phasectl; NULL: the verb has the name of the tool */
    enum tool_access access;
    bool is_destructive, is_idempotent; /* for tools that change something */
    bool keeps_end;                     /* a long output keeps its end, not its beginning */
    const char *description;
    const char *parameters[TOOL_PARAMETERS_MAX]; /* their names; the rest is NULL */
};

/* NULL: there is no such tool. */
const struct tool *tool_find(const char *name);

/* The verb of phasectl that the tool calls. The verb of a tool that decides is a command for
 * phases. */
const char *tool_verb(const struct tool *tool);

/* Returns the answer to `tools/list`: all tools. If submissions are not allowed, `submit` is
 * described as a tool that changes nothing. */
json_t *tool_list(bool may_submit);

/* Whether the arguments fit the tool. `arguments` is an object, or NULL for no arguments. */
int tool_check(const struct tool *tool, const json_t *arguments, struct error *err);

/* The words of a call, for command_run(). tool_words_free() frees them. Arguments that the tool
 * does not know are left out. */
char **tool_words(const struct tool *tool, const json_t *arguments, bool as_json);
void tool_words_free(char **words);

/* The text of a workflow for standard input; NULL: the arguments have no such text. */
const char *tool_input(const json_t *arguments);

#endif
