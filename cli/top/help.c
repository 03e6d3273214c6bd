/* The help. */
#include "cli/top/panes.h"

#include "cli/table.h"
#include "cli/top/content.h"
#include "cli/top/keys.h"
#include "cli/top/model.h"

void help_content(const struct model *model, const struct terminal *terminal,
                  struct content *content)
{
    static const struct table_column columns[] = {{NULL, TABLE_LEFT, TABLE_WHOLE},
                                                  {NULL, TABLE_LEFT, TABLE_REST}};
    const struct terminal folding = {.fd = -1, .colours = true, .columns = terminal->columns};
    struct table table;
    (void)model;
    table_init(&table, columns, 2);
    for (const struct keys_help *row = keys_help; row->keys; row++) {
        table_add(&table, COLOUR_BOLD, row->keys);
        table_add(&table, COLOUR_PLAIN, row->words);
    }
    table_write(&table, &folding, 0, &content->text);
    table_fini(&table);
    text_add(&content->title, "keys; any other key closes this help");
}
