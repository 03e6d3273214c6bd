/* Guesses by one pattern which commands a script runs. */
#include "lib/sbatch/commands.h"

#include "lib/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

static const char commands_before[] =
    "(?m)(?<!\\S)#.*(*SKIP)(*FAIL)|" /* a comment */
    "(?:^|[;&|(`{])[ \\t]*"          /* here a command may begin */
    "(?:(?:if|then|elif|else|while|until|do|!|command|env|eval|exec|nice|nohup|setsid|sudo|time|"
    "timeout[ \\t]+\\w+|trap|xargs|ssh[ \\t]+\\S+|[\\w./]*sh[ \\t]+-\\w*c|\\w+=\\S*)[ \\t]+)*"
    "[\"']?\\K(?:[^\\s;&|(){}`\"']*/)?"; /* a quote, and the path of the command */

/* The command ends, and has no option with which sbatch submits nothing. */
static const char commands_after[] =
    "(?![^\\s;&|)`\"'])"
    "(?![^;&|\\n]*[ \\t](?:--(?:help|test-only|usage|version)|-[Vh])\\b)";

const char *commands_find(const char *script, const char *command)
{
    int code;
    PCRE2_SIZE offset;
    char *pattern = text_format("%s%s%s", commands_before, command, commands_after);
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &offset, NULL);
    free(pattern);
    if (!compiled)
        abort();
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(compiled, NULL);
    if (!match)
        abort();
    const char *found = NULL;
    if (pcre2_match(compiled, (PCRE2_SPTR)script, PCRE2_ZERO_TERMINATED, 0, 0, match, NULL) > 0)
        found = script + pcre2_get_ovector_pointer(match)[0];
    pcre2_match_data_free(match);
    pcre2_code_free(compiled);
    return found;
}
