/* Any bytes as a journal on a shared disk, as the daemon reads it: from its beginning, and after
 * some entries. The numbers of the entries grow. If nobody writes any more, no number is missing.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "daemon/ingest/entry.h"
#include "daemon/ingest/ingest_private.h"

#include <assert.h>
#include <stdbool.h>

const char fuzz_corpus[] = "journal";

static void fuzz_read(uint64_t taken, bool is_last)
{
    struct reading reading;
    const json_t *json;
    size_t i;
    uint64_t last = taken;
    reading_open(&reading, fuzz_folder(), "lead", taken, is_last);
    while (reading_next(&reading)) {
        assert(json_array_size(reading.entries) > 0);
        json_array_foreach(reading.entries, i, json)
        {
            struct entry entry = entry_read(json);
            assert((uint64_t)entry.seq > last);
            assert(!is_last || (uint64_t)entry_first(&entry) <= last + 1);
            last = (uint64_t)entry.seq;
        }
        assert(last == reading.last);
        json_decref(reading.entries);
    }
    assert(last == taken || last == reading.last);
    assert(!reading.gap_first || reading.gap_first <= reading.gap_last);
    reading_close(&reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_write("journal/lead.jsonl", data, size);
    fuzz_read(0, false);
    fuzz_read(0, true);
    fuzz_read(2, false);
    fuzz_read(2, true);
    return 0;
}
