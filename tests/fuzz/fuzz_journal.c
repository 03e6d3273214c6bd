/* Any bytes as the file of a journal whose writer goes on. A reader gets a list of entries with
 * growing numbers, and then the entry that the writer adds. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/text.h"
#include "worker/protocol/journal.h"

#include <assert.h>
#include <stdlib.h>

const char fuzz_corpus[] = "journal";

enum { FUZZ_PUSH = 1 << 20 /* bytes */ };

/* Returns the number of the last entry. */
static uint64_t fuzz_read(struct journal *journal, uint64_t after, size_t size_max)
{
    struct text entries = {0};
    const json_t *entry;
    size_t i;
    uint64_t last = journal_read(journal, after, size_max, &entries), number = after;
    char *text = text_format("[%s]", text_string(&entries));
    json_t *list = json_loads(text, 0, NULL);
    assert(list);
    json_array_foreach(list, i, entry)
    {
        json_int_t sequence = json_integer_value(json_object_get(entry, "seq"));
        assert(sequence > 0 && (uint64_t)sequence > number);
        number = (uint64_t)sequence;
    }
    assert(number == last);
    json_decref(list);
    free(text);
    text_fini(&entries);
    return last;
}

/* Reads as a push does: again from the last entry, until there is no other one. */
static void fuzz_read_all(struct journal *journal, size_t size_max)
{
    uint64_t after = 0, last;
    while ((last = fuzz_read(journal, after, size_max)) > after)
        after = last;
    assert(after <= journal_last(journal));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = fuzz_path("lead.jsonl");
    fuzz_write("lead.jsonl", data, size);
    struct journal *journal = journal_open(path);
    fuzz_read_all(journal, 1);
    fuzz_read_all(journal, FUZZ_PUSH);
    uint64_t before = journal_last(journal);
    journal_warn(journal, "%s", "added");
    journal_flush(journal);
    assert(journal_last(journal) > before);
    assert(fuzz_read(journal, before, FUZZ_PUSH) == journal_last(journal));
    journal_close(journal);
    free(path);
    return 0;
}
