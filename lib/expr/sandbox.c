/* The Lua state of one evaluation: made, limited, run and thrown away. Nothing is opened in it: its
 * globals are what sandbox_fill() puts there. */
#include "lib/expr/sandbox.h"

#include "lib/expr/function.h"
#include "lib/expr/lookup.h"
#include "lib/expr/scan.h"
#include "lib/expr/series.h"
#include "lib/memory.h"

#include <assert.h>
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SANDBOX_INSTRUCTIONS_MAX = 1000000, /* the longest expression has some ten thousand */
    SANDBOX_MEMORY_MAX = 128 << 20,     /* five series of a million rows at once */
    SANDBOX_WORK_MAX = 100000000,       /* rows; about half a second */
};

/* Lua's allocator, with an account. Memory beyond the bound is refused, upon which Lua collects its
 * garbage and asks once more before it gives up. */
static void *sandbox_allocate(void *context, void *memory, size_t old_size, size_t size)
{
    struct sandbox *sandbox = context;
    if (!memory)
        old_size = 0; /* for a new block Lua tells the type there */
    if (size == 0) {
        sandbox->memory -= old_size;
        free(memory);
        return NULL;
    }
    if (size > old_size && size - old_size > SANDBOX_MEMORY_MAX - sandbox->memory)
        return NULL;
    void *grown = xrealloc(memory, size);
    sandbox->memory += size - old_size; /* wraps correctly where it shrinks */
    return grown;
}

struct sandbox *sandbox_of(lua_State *lua)
{
    struct sandbox *sandbox;
    memcpy(&sandbox, lua_getextraspace(lua), sizeof(struct sandbox *));
    return sandbox;
}

void sandbox_raise(lua_State *lua, int code, const char *format, ...)
{
    char message[sizeof((struct error *)NULL)->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args); /* cut is fine */
    va_end(args);
    (void)error_set(&sandbox_of(lua)->error, code, "%s", message);
    lua_pushnil(lua);
    (void)lua_error(lua);
    abort(); /* lua_error() does not return, but does not say so */
}

void sandbox_charge(lua_State *lua, size_t rows)
{
    struct sandbox *sandbox = sandbox_of(lua);
    sandbox->work += rows;
    if (sandbox->work > SANDBOX_WORK_MAX)
        sandbox_raise(lua, -E2BIG, "takes too long: more than %d rows to go through",
                      SANDBOX_WORK_MAX);
}

/* An expression has no loops, so this should never be met; it is here in case that is wrong. */
static void sandbox_interrupt(lua_State *lua, lua_Debug *where)
{
    (void)where;
    sandbox_raise(lua, -E2BIG, "takes too long: more than %d instructions",
                  SANDBOX_INSTRUCTIONS_MAX);
}

/* What stands on one side of a comparison: a number in a series' place, all else as it is. */
static void sandbox_push_side(lua_State *lua)
{
    if (series_at(lua, 2))
        lua_pushnumber(lua, series_number(lua, 2));
    else
        lua_pushvalue(lua, 2);
}

static struct sandbox_comparison *sandbox_comparison(lua_State *lua)
{
    return &sandbox_of(lua)->comparisons[lua_tointeger(lua, 1)];
}

static int sandbox_left(lua_State *lua)
{
    struct sandbox_comparison *comparison = sandbox_comparison(lua);
    sandbox_push_side(lua);
    comparison->left_type = lua_type(lua, -1);
    comparison->left = lua_tonumber(lua, -1);
    return 1;
}

static const char *sandbox_type_name(int type)
{
    return type == LUA_TNUMBER ? "a number" : type == LUA_TSTRING ? "text" : "true or false";
}

/* The right side comes last, so here both are known and the comparison itself cannot fail any more.
 * Lua would find text and a number unequal without a word, where a person has made a mistake. */
static int sandbox_right(lua_State *lua)
{
    struct sandbox *sandbox = sandbox_of(lua);
    struct sandbox_comparison *comparison = sandbox_comparison(lua);
    enum scan_comparison kind = sandbox->scan->comparisons[lua_tointeger(lua, 1)];
    sandbox_push_side(lua);
    int left_type = comparison->left_type, right_type = lua_type(lua, -1);
    comparison->right = lua_tonumber(lua, -1);
    comparison->is_numeric = left_type == LUA_TNUMBER && right_type == LUA_TNUMBER;
    if (left_type != right_type)
        sandbox_raise(lua, -EINVAL, "compares %s with %s", sandbox_type_name(left_type),
                      sandbox_type_name(right_type));
    if (!comparison->is_numeric && kind != SCAN_EQ && kind != SCAN_NE)
        sandbox_raise(lua, -EINVAL, "%s cannot be less or greater", sandbox_type_name(left_type));
    if (comparison->is_numeric && (isnan(comparison->left) || isnan(comparison->right)))
        sandbox->result.nan_compared = true;
    return 1;
}

static int sandbox_name(lua_State *lua)
{
    lookup_push(lua, &sandbox_of(lua)->scan->names[lua_tointeger(lua, 1)]);
    return 1;
}

/* Everything an expression can reach. */
static void sandbox_fill(lua_State *lua)
{
    const struct scan *scan = sandbox_of(lua)->scan;
    series_register(lua);
    lua_register(lua, "__name", sandbox_name);
    lua_register(lua, "__left", sandbox_left);
    lua_register(lua, "__right", sandbox_right);
    for (size_t i = 0; i < scan->call_count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "__call_%zu", i); /* long enough */
        lua_pushinteger(lua, scan->calls[i].percentile);
        lua_pushcclosure(lua, scan->calls[i].function->call, 1);
        lua_setglobal(lua, name);
    }
}

static void sandbox_keep_result(lua_State *lua)
{
    struct expr_result *result = &sandbox_of(lua)->result;
    switch (lua_type(lua, -1)) {
    case LUA_TBOOLEAN:
        result->type = EXPR_BOOLEAN;
        result->boolean = lua_toboolean(lua, -1);
        break;
    case LUA_TSTRING:
        result->type = EXPR_STRING;
        result->string = xstrdup(lua_tostring(lua, -1));
        break;
    default:
        result->type = EXPR_NUMBER;
        result->number = series_number(lua, -1);
        break;
    }
}

/* Runs protected: every error in it comes back as lua_pcall()'s status. */
static int sandbox_main(lua_State *lua)
{
    struct sandbox *sandbox = lua_touserdata(lua, 1);
    const struct text *text = &sandbox->scan->lua;
    sandbox_fill(lua);
    /* Text only: byte code could crash the machine that runs it. */
    if (luaL_loadbufferx(lua, text->data, text->size, "=expression", "t") != LUA_OK)
        sandbox_raise(lua, -EINVAL, "is nested too deeply or too long (%s)", lua_tostring(lua, -1));
    if (!sandbox->scope)
        return 0;
    lua_sethook(lua, sandbox_interrupt, LUA_MASKCOUNT, SANDBOX_INSTRUCTIONS_MAX);
    lua_call(lua, 0, 1);
    sandbox_keep_result(lua);
    return 0;
}

/* Lua's own errors. The one that can be met is arithmetic on something else than numbers. */
static void sandbox_keep_error(struct sandbox *sandbox, const char *message)
{
    static const char arithmetic[] = "expression:1: attempt to perform arithmetic on ";
    if (message && text_starts(message, arithmetic))
        (void)error_set(&sandbox->error, -EINVAL, "cannot compute with %s",
                        message + strlen(arithmetic));
    else
        (void)error_set(&sandbox->error, -EINVAL, "%s", message ? message : "cannot be evaluated");
}

int sandbox_run(struct sandbox *sandbox)
{
    lua_State *lua = lua_newstate(sandbox_allocate, sandbox);
    if (!lua)
        return error_set(&sandbox->error, -E2BIG, "needs too much memory");
    /* Lua keeps some bytes before each state for its owner; they may not be aligned for a pointer.
     */
    struct sandbox *extra = sandbox;
    memcpy(lua_getextraspace(lua), &extra, sizeof(struct sandbox *));
    lua_pushcfunction(lua, sandbox_main);
    lua_pushlightuserdata(lua, sandbox);
    int status = lua_pcall(lua, 1, 0, 0);
    if (status == LUA_ERRMEM) {
        (void)error_set(&sandbox->error, -E2BIG, "needs too much memory");
    } else if (status != LUA_OK && sandbox->error.code == 0) {
        sandbox_keep_error(sandbox, lua_tostring(lua, -1));
    }
    lua_close(lua);
    assert(sandbox->memory == 0);
    return status == LUA_OK ? 0 : sandbox->error.code;
}
