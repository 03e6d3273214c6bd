/* Two shells read a command: the shell of the user, which may be csh or fish, and then sh. */
#include "cli/remote/command.h"

#include "lib/text.h"

#include <ctype.h>
#include <string.h>

/* Adds a script so that no shell sees a special letter in it: `printf %b` turns \0ooo into the
 * byte. */
static void command_add_encoded(struct text *text, const char *script)
{
    for (const char *at = script; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x80 && (isalnum(byte) || strchr("_./,:-", byte)))
            text_add_bytes(text, at, 1);
        else
            text_addf(text, "\\0%03o", byte);
    }
}

char *remote_command(const char *script, char *const *words)
{
    struct text inner = {0}, outer = {0}, command = {0};
    text_addf(&inner, "exec >&3 3>&-\n%s", script);
    text_add(&outer, "shift\nexec bash -lc ");
    text_add_quoted(&outer, text_string(&inner));
    text_add(&outer, " phasectl");
    for (char *const *word = words; word && *word; word++) {
        text_add(&outer, " ");
        text_add_quoted(&outer, *word);
    }
    text_add(&outer, " \"$@\" 3>&1 >/dev/null");
    text_add(&command, "exec sh -c 'eval \"$(printf %b \"$1\")\"' sh '");
    command_add_encoded(&command, text_string(&outer));
    text_add(&command, "'");
    text_fini(&inner);
    text_fini(&outer);
    return text_steal(&command);
}
