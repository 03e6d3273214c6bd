/* What every unit test includes: cmocka and what it needs. */
#ifndef PHASED_TESTS_UNIT_H
#define PHASED_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2.0 has renamed the first one. Tests use the second one as a name of their own. */
#ifdef assert_int_in_range
#undef assert_in_range
#define assert_in_range assert_int_in_range
#endif
#undef stop

#endif
