/**
 * The template of a plugin in C.
 *
 * @module
 */

import { generateHeader } from "../header.ts";

/**
 * The files of a new C plugin.
 *
 * @param name The plugin's name.
 * @param crate The name in identifiers.
 * @returns Path and text of each file.
 */
export function cTemplate(name: string, crate: string): Record<string, string> {
  return {
    "include/rpi_plugin.h": generateHeader(),
    "src/plugin.c": source(crate),
    "Makefile": makefile(crate),
    "plugin.toml":
      `name = "${name}"\nversion = "0.1.0"\n\n[native]\nlibrary = "lib${crate}.so"\n`,
    "README.md": readme(name, crate),
    ".gitignore": "dist/\n",
  };
}

function makefile(crate: string): string {
  return `CC ?= cc
CFLAGS ?= -O2 -g
CFLAGS += -std=c11 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -Iinclude

# dist/ is the plugin: what "bulkhead plugins install dist" takes.
all: dist/lib${crate}.so dist/plugin.toml

dist/lib${crate}.so: src/plugin.c include/rpi_plugin.h
\t@mkdir -p dist
\t$(CC) $(CFLAGS) -shared -o $@ src/plugin.c $(LDFLAGS)

dist/plugin.toml: plugin.toml
\t@mkdir -p dist
\tcp $< $@

verify: all
\tbulkhead abi verify dist/lib${crate}.so

clean:
\trm -rf dist

.PHONY: all verify clean
`;
}

function readme(name: string, crate: string): string {
  return `# ${name}

A native agent plugin (rpi plugin ABI 4) in C.

    make
    bulkhead abi inspect dist/lib${crate}.so
    bulkhead abi call dist/lib${crate}.so ${crate}_count --args '{"to":3}'
    bulkhead abi verify dist/lib${crate}.so

\`include/rpi_plugin.h\` is generated; the rules of ownership stand in it. Change the tool in \`src/plugin.c\`.
`;
}

function source(crate: string): string {
  return `/* A tool that counts: progress, cancel, result and error, each by the rules of the ABI. */
#include "rpi_plugin.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Strings of this plugin: made here, freed by the host through plugin_free. */
static StbString make(const char *text) {
    StbString s = {NULL, 0};
    size_t len = strlen(text);
    if (len == 0) return s;
    s.ptr = malloc(len);
    if (s.ptr != NULL) {
        memcpy(s.ptr, text, len);
        s.len = len;
    }
    return s;
}

static void plugin_free(StbString s) {
    if (s.len != 0) free(s.ptr);
}

static StepResult step(uint32_t tag, const char *text) {
    StepResult result = {tag, make(text)};
    return result;
}

/* One call. The host polls it from any thread, but never from two at once. */
typedef struct {
    atomic_int cancelled; /* cancel may come at any time, from another thread */
    long at, to;
} Call;

static void *execute(StbStringRef tool_call_id, StbString params, FreeStringFn free_params) {
    (void)tool_call_id; /* borrowed: copy it if you need it later */
    Call *call = calloc(1, sizeof *call);
    if (call != NULL) {
        /* A real plugin uses a JSON parser. Unknown keys such as "__rpi" must be tolerated. */
        char text[256] = {0};
        memcpy(text, params.ptr, params.len < sizeof text - 1 ? params.len : sizeof text - 1);
        const char *to = strstr(text, "\\"to\\":");
        call->to = to != NULL ? strtol(to + 5, NULL, 10) : 1;
    }
    if (free_params != NULL) free_params(params); /* ours since the call: give it back once */
    return call; /* NULL tells the host that the call could not start */
}

static StepResult poll(void *handle, ToolPartialCb partial, void *user_data) {
    (void)partial; /* the other way to report progress: only from inside poll */
    (void)user_data;
    Call *call = handle;
    char text[128];
    if (atomic_load(&call->cancelled)) return step(RPI_STEP_ERR, "cancelled");
    if (call->to < 0 || call->to > 1000) return step(RPI_STEP_ERR, "\\"to\\" must lie between 0 and 1000");
    if (call->at < call->to) {
        snprintf(text, sizeof text, "{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"%ld\\"}]}", ++call->at);
        return step(RPI_STEP_PENDING, text);
    }
    snprintf(text, sizeof text, "{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"counted to %ld\\"}]}", call->to);
    return step(RPI_STEP_DONE, text);
}

static void cancel(void *handle) {
    if (handle != NULL) atomic_store(&((Call *)handle)->cancelled, 1);
}

static void destroy(void *handle) {
    free(handle);
}

RPI_EXPORT int32_t rpi_plugin_register(const PluginApi *api) {
    if (api == NULL) return 2;
    if (api->abi_version != RPI_PLUGIN_ABI_VERSION) return 1;
    if (api->struct_size < sizeof(PluginApi)) return 3;
    StableToolSchema schema = {
        make("${crate}_count"),
        make("Counts to a number and reports each step"),
        make("{\\"type\\":\\"object\\",\\"properties\\":{\\"to\\":{\\"type\\":\\"integer\\",\\"minimum\\":0,\\"maximum\\":1000}},\\"required\\":[\\"to\\"]}"),
    };
    /* The host copies the strings and frees them before this returns. */
    return api->register_tool(&schema, execute, poll, cancel, destroy, plugin_free);
}
`;
}
