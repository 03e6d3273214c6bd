/* What every unit test includes: cmocka and what it needs. */
#ifndef PHASED_TESTS_UNIT_H
#define PHASED_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
