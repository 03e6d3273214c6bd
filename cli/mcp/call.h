/* Carries out a call of a tool: runs this program again with the words of the call. So a tool does
 * what the verb does, and cannot disturb the server. */
#ifndef PHASED_CLI_MCP_CALL_H
#define PHASED_CLI_MCP_CALL_H

#include "cli/mcp/tool.h"

#include <stdbool.h>

#include <jansson.h>

/* What the server may do, and what its client understands. */
struct caller {
    bool may[TOOL_ACCESS_COUNT];
    bool reads_json; /* the client reads `structuredContent` */
};

/* Returns the result: its text is what phasectl prints for people. A failure of phasectl is a
 * result, too. tool_check() has accepted the arguments. */
json_t *call_tool(const struct caller *caller, const struct tool *tool, const json_t *arguments);

#endif
