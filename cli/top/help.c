/* The help. */
#include "cli/top/panes.h"

#include "cli/table.h"
#include "cli/top/content.h"
#include "cli/top/keys.h"
#include "cli/top/model.h"

void help_content(const struct model *model, const struct terminal *terminal,
                  struct content *content)
{
    const struct terminal folding = {.fd = -1, .colours = true, .columns = terminal->columns};
    struct table table;
    (void)model;
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    for (const struct keys_help *row = keys_help; row->keys; row++) {
        table_add_in(&table, COLOUR_BOLD, row->keys);
        table_add(&table, row->words);
    }
    table_write(&table, &folding, 0, &content->text);
    text_add(&content->title, "keys; any other key closes this help");
}
