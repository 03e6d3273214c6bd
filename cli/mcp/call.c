/* Runs phasectl for a tool, and makes a result from its output. */
#include "cli/mcp/call.h"

#include "cli/decide.h"
#include "cli/field.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <string.h>

enum {
    CALL_MAX_S = 120,
    CALL_SUBMIT_MAX_S = 1200, /* a submission may copy the code, and waits for a busy daemon */
    CALL_TEXT_MAX = 100000,   /* bytes of an output; a model reads all of them */
};

/* What needs no quotes in a shell. */
#define CALL_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:@#%+-"

/* --- The output of phasectl ------------------------------------------------------------------- */

/* What a result is made of. */
struct outcome {
    bool is_failure, is_cut;
    struct text text;
    json_t *json; /* an object; NULL: there is no JSON */
};

static json_t *outcome_result(struct outcome *outcome)
{
    json_t *result = json_pack("{s:[{s:s, s:s}], s:b, s:o*}", "content", "type", "text", "text",
                               text_string(&outcome->text), "isError", outcome->is_failure,
                               "structuredContent", outcome->json);
    text_fini(&outcome->text);
    return result;
}

/* Adds the output, or its whole lines that fit. Control characters become visible: a client may
 * show the text on a terminal. */
static void outcome_add(struct outcome *outcome, const char *bytes, size_t size, bool keeps_end)
{
    const char *begin = bytes, *end = bytes + size;
    bool is_cut = size > CALL_TEXT_MAX;
    if (is_cut && keeps_end) {
        const char *line = memchr(end - CALL_TEXT_MAX, '\n', CALL_TEXT_MAX - 1);
        begin = line ? line + 1 : end - CALL_TEXT_MAX;
        text_addf(&outcome->text, "[only the end of %zu kB follows]\n", size / 1000);
    } else if (is_cut) {
        const char *line = memrchr(bytes, '\n', CALL_TEXT_MAX);
        end = line ? line + 1 : bytes + CALL_TEXT_MAX;
    }
    text_add_visible(&outcome->text, begin, (size_t)(end - begin), "\t\n\r");
    if (is_cut && !keeps_end)
        text_addf(&outcome->text, "\n[cut: this was only the beginning of %zu kB]\n", size / 1000);
    outcome->is_cut = outcome->is_cut || is_cut;
}

/* Reads what `--json` printed: an object, or several values one after another, which become the
 * list `items`. Returns NULL if it is not JSON. */
static json_t *outcome_read(const struct text *text)
{
    json_t *items = json_array(), *item;
    json_error_t error;
    size_t at = 0;
    while ((item = json_loadb(text_string(text) + at, text->size - at, JSON_DISABLE_EOF_CHECK,
                              &error))) {
        (void)json_array_append_new(items, item);
        at += (size_t)error.position;
    }
    size_t count = json_array_size(items);
    json_t *first = json_array_get(items, 0);
    json_t *json = count == 0                            ? NULL
                   : count == 1 && json_is_object(first) ? json_incref(first)
                                                         : json_pack("{s:O}", "items", items);
    json_decref(items);
    return json;
}

static unsigned call_seconds(const struct tool *tool)
{
    return tool->access == TOOL_SUBMITS ? CALL_SUBMIT_MAX_S : CALL_MAX_S;
}

/* Runs phasectl. Returns false if it did not end; `outcome` says so then. */
static bool outcome_run(struct outcome *outcome, const struct tool *tool, const json_t *arguments,
                        bool as_json, struct command_result *ret_result)
{
    struct error err;
    char **words = tool_words(tool, arguments, as_json);
    int status = command_run((const char *const *)words, tool_input(arguments), call_seconds(tool),
                             ret_result, &err);
    tool_words_free(words);
    if (status == 0)
        return true;
    outcome->is_failure = true;
    if (status == -ETIMEDOUT)
        text_addf(&outcome->text, "phasectl %s did not end within %u s%s", tool_verb(tool),
                  call_seconds(tool),
                  tool->access == TOOL_READS ? "" : "; phased may still do what was asked");
    else if (status == -EFBIG)
        text_addf(&outcome->text, "phasectl %s prints too much for an answer", tool_verb(tool));
    else
        text_addf(&outcome->text, "cannot run phasectl %s: %s", tool_verb(tool), strerror(-status));
    return false;
}

/* --- Tools that read -------------------------------------------------------------------------- */

/* Adds what `--json` prints, as long as the text is short: the JSON is longer. */
static void outcome_add_json(struct outcome *outcome, const struct tool *tool,
                             const json_t *arguments)
{
    struct command_result result;
    struct outcome unused = {0};
    if (outcome->is_cut)
        return;
    if (outcome_run(&unused, tool, arguments, true, &result)) {
        if (result.out.size <= CALL_TEXT_MAX)
            outcome->json = outcome_read(&result.out);
        else
            text_addf(&outcome->text, "[structured content is left out: it has %zu kB]\n",
                      result.out.size / 1000);
        command_fini(&result);
    }
    text_fini(&unused.text);
}

static struct outcome call_reading(const struct caller *caller, const struct tool *tool,
                                   const json_t *arguments)
{
    struct outcome outcome = {0};
    struct command_result result;
    if (!outcome_run(&outcome, tool, arguments, false, &result))
        return outcome;
    outcome.is_failure = result.exit_code != 0;
    outcome_add(&outcome, text_string(&result.out), result.out.size, tool->keeps_end);
    outcome_add(&outcome, text_string(&result.err), result.err.size, false);
    command_fini(&result);
    if (caller->reads_json)
        outcome_add_json(&outcome, tool, arguments);
    return outcome;
}

/* --- Tools that change something -------------------------------------------------------------- */

/* Writes a line for each workflow of the daemon's answer, after its warnings. */
static void call_write_submitted(const json_t *reply, struct text *text)
{
    const json_t *workflow, *warning;
    size_t i, j;
    json_array_foreach(json_object_get(reply, "workflows"), i, workflow)
    {
        json_array_foreach(json_object_get(workflow, "warnings"), j, warning) text_addf(
            text, "warning: %s\n",
            json_is_string(warning) ? json_string_value(warning) : field_text(warning, "message"));
        text_addf(text, "workflow %lld %s\n", field_integer(workflow, "workflow"),
                  field_text(workflow, "name"));
    }
}

/* A tool that changes something runs once. The text is made from the daemon's answer. */
static struct outcome call_changing(const struct caller *caller, const struct tool *tool,
                                    const json_t *arguments)
{
    struct outcome outcome = {0};
    struct command_result result;
    struct text text = {0};
    if (!outcome_run(&outcome, tool, arguments, true, &result))
        return outcome;
    outcome.is_failure = result.exit_code != 0;
    outcome.json = outcome_read(&result.out);
    if (outcome.json && tool->access == TOOL_SUBMITS)
        call_write_submitted(outcome.json, &text);
    else if (outcome.json)
        decide_write((enum phase_command)phase_command_parse(tool_verb(tool)), outcome.json, &text);
    text_add_visible(&outcome.text, text_string(&text), text.size, "\t\n\r");
    text_fini(&text);
    outcome_add(&outcome, text_string(&result.err), result.err.size, false);
    command_fini(&result);
    if (!caller->reads_json) {
        json_decref(outcome.json);
        outcome.json = NULL;
    }
    return outcome;
}

/* Says that the call is not allowed, and how a person can do it. */
static void outcome_add_refusal(struct outcome *outcome, const struct tool *tool,
                                const json_t *arguments)
{
    char **words = tool_words(tool, arguments, false);
    text_addf(&outcome->text,
              "This server may not %s. Another server may, if it is started with 'phasectl mcp "
              "--allow %s'. A person can run:\n  phasectl",
              tool_verb(tool), tool->access == TOOL_SUBMITS ? "submit" : "decide");
    for (char **word = words + 1; *word; word++) {
        bool is_plain = (*word)[strspn(*word, CALL_PLAIN)] == '\0';
        struct text quoted = {0};
        if (is_plain)
            text_add(&quoted, *word);
        else
            text_add_quoted(&quoted, *word);
        text_add(&outcome->text, " ");
        text_add_visible(&outcome->text, text_string(&quoted), quoted.size, "\n");
        text_fini(&quoted);
    }
    text_add(&outcome->text, tool_input(arguments) ? "   (with this text as its input)\n" : "\n");
    tool_words_free(words);
}

/* Checks and plans what would be submitted. */
static struct outcome call_trying(const struct caller *caller, const struct tool *tool,
                                  const json_t *arguments)
{
    struct caller reader = {.may = {[TOOL_READS] = true}};
    struct outcome outcome = call_reading(&reader, tool_find("check"), arguments);
    if (outcome.is_failure)
        return outcome;
    struct outcome plan = call_reading(caller, tool_find("plan"), arguments);
    text_add(&outcome.text, text_string(&plan.text));
    text_add(&outcome.text, "\nNothing was submitted. ");
    outcome_add_refusal(&outcome, tool, arguments);
    outcome.is_failure = plan.is_failure;
    outcome.json = plan.json;
    text_fini(&plan.text);
    return outcome;
}

static struct outcome call_refused(const struct tool *tool, const json_t *arguments)
{
    struct outcome outcome = {.is_failure = true};
    outcome_add_refusal(&outcome, tool, arguments);
    return outcome;
}

json_t *call_tool(const struct caller *caller, const struct tool *tool, const json_t *arguments)
{
    struct outcome outcome = tool->access == TOOL_READS     ? call_reading(caller, tool, arguments)
                             : caller->may[tool->access]    ? call_changing(caller, tool, arguments)
                             : tool->access == TOOL_SUBMITS ? call_trying(caller, tool, arguments)
                                                            : call_refused(tool, arguments);
    return outcome_result(&outcome);
}
