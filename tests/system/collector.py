"""A collector of OpenTelemetry for tests: collector.py FOLDER.

Writes its port to FOLDER/port, and each span that it takes as a line to FOLDER/spans, with the
resource and the headers of its request. FOLDER/status may have the status of its answers, and
FOLDER/reply the body. What breaks the rules of OTLP's JSON form goes to FOLDER/breaches:
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

import http.server
import json
import os
import random
import re
import sys

folder = sys.argv[1]


def read(name, default):
    path = os.path.join(folder, name)
    return open(path).read().strip() if os.path.exists(path) else default


def write(name, line):
    with open(os.path.join(folder, name), "a") as file:
        file.write(line + "\n")


class Breach(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Breach(what)


def fields(thing, what, needed, optional=()):
    need(isinstance(thing, dict), "%s is not an object" % what)
    need(set(needed) <= set(thing), "%s lacks %s" % (what, set(needed) - set(thing)))
    unknown = set(thing) - set(needed) - set(optional)
    need(not unknown, "%s has %s" % (what, unknown))


def is_id(text, digits):
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{%d}" % digits, text) and set(text) != {"0"}


def is_integer(text):
    return isinstance(text, str) and re.fullmatch("-?[0-9]+", text) and -(2**63) <= int(text) < 2**63


def time(text, what):
    need(is_integer(text) and len(text) == 19, "%s is not a text of nanoseconds: %r" % (what, text))
    return int(text)


def value(any_value, what):
    need(isinstance(any_value, dict) and len(any_value) == 1, "%s is not one value" % what)
    kind, content = next(iter(any_value.items()))
    if kind == "stringValue":
        need(isinstance(content, str), "%s is not a text" % what)
    elif kind == "intValue":
        need(is_integer(content), "%s is not an integer as a text" % what)
    elif kind == "doubleValue":
        need(type(content) in (int, float), "%s is not a number" % what)
    elif kind == "arrayValue":
        fields(content, what, ["values"])
        content = [value(item, what) for item in content["values"]]
    else:
        raise Breach("%s is a %s" % (what, kind))
    return int(content) if kind == "intValue" else content


def attributes(items, what):
    need(isinstance(items, list), "%s is not a list" % what)
    result = {}
    for item in items:
        fields(item, what, ["key", "value"])
        need(item["key"] not in result, "%s has %s twice" % (what, item["key"]))
        result[item["key"]] = value(item["value"], item["key"])
    return result


def check_span(span):
    fields(
        span,
        "span",
        ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes"],
        ["parentSpanId", "events", "droppedEventsCount", "links", "status"],
    )
    need(is_id(span["traceId"], 32), "a trace id")
    need(is_id(span["spanId"], 16), "a span id")
    parent = span.get("parentSpanId", "")
    need(parent == "" or is_id(parent, 16), "a parent's id")
    need(isinstance(span["name"], str) and span["name"], "a name")
    need(span["kind"] in (1, 2, 3, 4, 5), "a kind")
    begin, end = (time(span[key], key) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    need(begin <= end, "a span ends before it begins")
    span["attributes"] = attributes(span["attributes"], "attributes")
    for event in span.get("events", []):
        fields(event, "event", ["timeUnixNano", "name"], ["attributes"])
        time(event["timeUnixNano"], "timeUnixNano")
        event["attributes"] = attributes(event.get("attributes", []), "event")
    need(type(span.get("droppedEventsCount", 0)) is int, "droppedEventsCount")
    for link in span.get("links", []):
        fields(link, "link", ["traceId", "spanId"], ["attributes"])
        need(is_id(link["traceId"], 32) and is_id(link["spanId"], 16), "a link's ids")
        attributes(link.get("attributes", []), "link")
    status = span.get("status", {})
    fields(status, "status", [], ["code", "message"])
    need(type(status.get("code", 0)) is int and status.get("code", 0) in (0, 1, 2), "a status")
    need(status.get("code") == 2 or "message" not in status, "a message without an error")


def check(body):
    fields(body, "request", ["resourceSpans"])
    for resource_spans in body["resourceSpans"]:
        fields(resource_spans, "resourceSpans", ["resource", "scopeSpans"])
        fields(resource_spans["resource"], "resource", ["attributes"])
        resource = attributes(resource_spans["resource"]["attributes"], "resource")
        need(resource.get("service.name"), "service.name")
        for scope_spans in resource_spans["scopeSpans"]:
            fields(scope_spans, "scopeSpans", ["scope", "spans"])
            fields(scope_spans["scope"], "scope", ["name"], ["version"])
            for span in scope_spans["spans"]:
                check_span(span)
                yield resource, span


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = int(read("status", "200"))
        write("requests", "%s %s %d" % (self.path, self.headers["Content-Type"], status))
        try:
            for resource, span in list(check(json.loads(body))):
                if status == 200:
                    headers = {key.lower(): value for key, value in self.headers.items()}
                    write("spans", json.dumps({"resource": resource, "headers": headers, **span}))
        except (Breach, ValueError) as error:
            write("breaches", repr(error))
        reply = read("reply", '{"partialSuccess": {}}').encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def listen():
    """Listens at the port of an earlier collector, or at a port that the kernel gives to no client."""
    known = read("port", None)
    while True:
        port = int(known or random.randrange(10000, 20000))
        try:
            return http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError:
            if known:
                raise


server = listen()
with open(os.path.join(folder, "port.new"), "w") as file:
    file.write("%d\n" % server.server_address[1])
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
