/* Makes one record, and copies it. */
#include "tests/unit/new_record.h"

#include "tests/unit/unit.h"

#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"

#include <fcntl.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 1 << 24 };

static char *first;
static size_t first_size;

static void check(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

void new_record(const char *path)
{
    struct error err;
    if (!first) {
        struct store *store;
        check(store_open(path, "/runs", &store, &err), &err);
        store_close(store);
        check(file_read(path, RECORD_BYTES_MAX, &first, &first_size, &err), &err);
        return;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(file_write(file, first, first_size), 0);
    assert_int_equal(close(file), 0);
}
