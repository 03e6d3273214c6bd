/* Excluded nodes: the list, and people's requests to exclude a node or to use it again. */
#include "daemon/api/api_private.h"

#include "daemon/loop/loop.h"
#include "daemon/outlook/outlook.h"
#include "daemon/slurm/cluster.h"
#include "daemon/slurm/survey.h"
#include "daemon/store/answers.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdlib.h>

enum { EXCLUSION_SECONDS_MAX = 366 * 86400 };

/* A person's request about one node, until the commit. */
struct node_item {
    struct loop_item item;
    struct api *api; /* while it waits for the cluster's list of nodes */
    struct request *request;
    char *node;
    char *message; /* NULL: no message */
    int64_t now_ms, until_ms;
    bool was_free; /* there was no exclusion to clear */
};

void nodes_get(struct call *call)
{
    json_t *json = NULL;
    struct error err;
    struct store *store = loop_store(call->api->config.loop);
    int status = answer_nodes(store, loop_now_ms(), &json, &err);
    call_answer(call, status, json, &err);
}

static int node_write_exclusion(struct loop_item *base, struct store *store, struct error *err)
{
    const struct node_item *item = (const struct node_item *)base;
    return store_node_exclude(store, item->node, item->message, item->until_ms, item->now_ms, err);
}

static int node_write_clear(struct loop_item *base, struct store *store, struct error *err)
{
    struct node_item *item = (struct node_item *)base;
    return store_node_clear(store, item->node, item->now_ms, &item->was_free, err);
}

static void node_done(struct loop_item *base, const struct error *failure)
{
    struct node_item *item = (struct node_item *)base;
    if (failure)
        call_fail_later(item->request, failure);
    else if (item->was_free)
        request_reply_error(item->request, API_NOT_FOUND, item->node, "%s is not left out",
                            item->node);
    else
        request_reply_json(item->request, 200, json_pack("{s:s}", "node", item->node));
}

static void node_free(void *context)
{
    struct node_item *item = context;
    free(item->node);
    free(item->message);
    free(item);
}

static struct node_item *node_item_new(const struct call *call)
{
    struct node_item *item = xcalloc(1, sizeof *item);
    item->item = (struct loop_item){.done = node_done, .free = node_free};
    item->request = call->request;
    item->node = xstrdup(call->node);
    item->now_ms = loop_now_ms();
    return item;
}

/* --- Adding ----------------------------------------------------------------------------------- */

/* Whether a node of this name may exist. Slurm leaves out the names of nodes that this user may not
 * see. If one node has no name, every name may be right. */
static bool may_be_node(const struct cluster_survey *survey, const char *name)
{
    bool may_be = survey->node_count == 0;
    for (size_t i = 0; i < survey->node_count && !may_be; i++)
        may_be = !survey->nodes[i].name[0] || text_equal(survey->nodes[i].name, name);
    return may_be;
}

/* If Slurm gives no list of nodes, the person's name is taken as it is. A wrong name is dropped
 * when a job is submitted. */
static void node_surveyed(void *context, const struct cluster_result *result)
{
    struct node_item *item = context;
    struct api *api = item->api;
    struct call call = {.api = api, .request = item->request};
    bool is_known = result && result->outcome == CLUSTER_DONE && result->survey;
    if (api->is_closing) {
        node_free(item); /* the API has answered the request */
    } else if (is_known && !may_be_node(result->survey, item->node)) {
        request_reply_error(item->request, API_BAD_REQUEST, item->node, "Slurm knows no node %s",
                            item->node);
        node_free(item);
    } else if (call_can_record(&call)) {
        loop_post_item(api->config.loop, &item->item, NULL);
    } else {
        node_free(item);
    }
    call_release_api(api);
}

void nodes_post(struct call *call)
{
    /* Slurm refuses every job that excludes a node with an impossible name. */
    if (!text_is_node(call->node)) {
        request_reply_error(call->request, API_BAD_REQUEST, call->node,
                            "%s is not the name of one node", call->node);
        return;
    }
    if (!call_can_record(call))
        return;
    json_t *body = call_body(call);
    if (!body)
        return;
    json_t *seconds = json_object_get(body, "seconds");
    const char *message = json_string_value(json_object_get(body, "message"));
    bool is_for_good = !seconds || json_is_null(seconds);
    json_int_t time_s = json_integer_value(seconds);
    if (!is_for_good && (time_s < 1 || time_s > EXCLUSION_SECONDS_MAX)) {
        request_reply_error(call->request, API_BAD_REQUEST, "seconds",
                            "seconds must be a whole number from 1 to %d, or null",
                            EXCLUSION_SECONDS_MAX);
        json_decref(body);
        return;
    }
    struct node_item *item = node_item_new(call);
    item->item.write = node_write_exclusion;
    item->message = xstrdup_or_null(message);
    item->until_ms = is_for_good ? 0 : item->now_ms + 1000 * (int64_t)time_s;
    item->api = call_hold_api(call->api);
    if (outlook_survey(call->api->config.loop, NULL, 0, node_surveyed, item, NULL) < 0)
        node_surveyed(item, NULL);
    json_decref(body);
}

void nodes_delete(struct call *call)
{
    if (!call_can_record(call))
        return;
    struct node_item *item = node_item_new(call);
    item->item.write = node_write_clear;
    loop_post_item(call->api->config.loop, &item->item, NULL);
}
