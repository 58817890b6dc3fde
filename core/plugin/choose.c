/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which of several plug-ins: of one name, by NDOCK_PLUGINS, by priority; and whether two devices
 * are one piece of hardware. Nothing here runs code of a plug-in. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include "core/plugin/loader.h"

/* NDOCK_PLUGINS=cpu,cuda names the only ones allowed, ^cuda those that are not. */
bool nd__plugin_filtered(const char *name)
{
    const char *list = nd__getenv("NDOCK_PLUGINS");
    bool negated = list && list[0] == '^', named = false;
    size_t n = strlen(name);
    for (const char *p = list ? list + negated : NULL; p && *p;
         p += strcspn(p, ","), p += *p == ',')
        named |= strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == 0);
    return list && named == negated;
}

static bool one_file(const nd_plugin_slot *a, const nd_plugin_slot *b)
{
    return a->st_ino && a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* The note as well: a file that was changed after it was linked keeps its build-id. */
static bool one_build(const nd_plugin_slot *a, const nd_plugin_slot *b)
{
    return a->file.build_id_bytes && a->file.build_id_bytes == b->file.build_id_bytes &&
           memcmp(a->file.build_id, b->file.build_id, a->file.build_id_bytes) == 0 &&
           memcmp(&a->file.note, &b->file.note, sizeof a->file.note) == 0;
}

bool nd__same_plugin_file(const nd_plugin_slot *a, const nd_plugin_slot *b)
{
    return one_file(a, b) || one_build(a, b);
}

static bool is_alive(const nd_plugin_slot *s)
{
    return s->examined && s->phase != ND_SLOT_REFUSED;
}

/* Whether a wins over b, which comes later in the list. What runs already stays; then the source,
 * then + in NDOCK_PLUGIN_PATH, then the version. */
static bool wins(const nd_plugin_slot *a, const nd_plugin_slot *b)
{
    const bool a_runs = a->phase != ND_SLOT_CANDIDATE, b_runs = b->phase != ND_SLOT_CANDIDATE;
    if (a_runs != b_runs)
        return a_runs;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->preferred != b->preferred)
        return a->preferred;
    return strverscmp(a->version, b->version) >= 0;
}

nd_plugin_slot *nd__slot_of_name(nd_plugin_slot *list, const char *name)
{
    nd_plugin_slot *best = NULL;
    for (nd_plugin_slot *s = list; s; s = s->next)
        if (is_alive(s) && strcmp(s->name, name) == 0 && (!best || !wins(best, s)))
            best = s;
    return best;
}

static void shadow(nd_plugin_slot *s, const nd_plugin_slot *winner)
{
    if (s->winner == winner && (!winner || winner->phase == ND_SLOT_CANDIDATE))
        return;
    s->winner = winner;
    if (!winner)
        nd__slot_state(s, "FOUND", "%s", "");
    else if (one_file(s, winner))
        nd__slot_state(s, "SHADOWED", "the same file as %s", winner->path);
    else if (one_build(s, winner))
        nd__slot_state(s, "SHADOWED", "a copy of %s, by its build-id", winner->path);
    else
        nd__slot_state(s, "SHADOWED",
                       "%s (version %s, found by %s) has the same name and comes first%s",
                       winner->path, winner->version, winner->source,
                       winner->phase == ND_SLOT_CANDIDATE
                           ? ""
                           : "; a plug-in that is loaded stays until the process ends");
}

void nd__settle_names(nd_plugin_slot *list)
{
    for (nd_plugin_slot *s = list; s; s = s->next) {
        const nd_plugin_slot *winner =
            s->phase == ND_SLOT_CANDIDATE && s->examined ? nd__slot_of_name(list, s->name) : NULL;
        if (s->phase == ND_SLOT_CANDIDATE)
            shadow(s, winner == s ? NULL : winner);
    }
}

nd_plugin_slot *nd__next_by_priority(nd_plugin_slot *list, uint32_t round)
{
    nd_plugin_slot *best = NULL;
    for (nd_plugin_slot *s = list; s; s = s->next)
        if (is_alive(s) && s->round != round && nd__slot_of_name(list, s->name) == s &&
            (!best || s->priority > best->priority))
            best = s;
    if (best)
        best->round = round;
    return best;
}

/* "0000:3b:00.0", also with another number of digits of the domain or without it. */
static bool parse_pci(const char *text, unsigned out[4])
{
    int end = 0;
    out[0] = 0;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &out[0], &out[1], &out[2], &out[3], &end) == 4 &&
        text[end] == 0)
        return true;
    end = out[0] = 0;
    return sscanf(text, "%2x:%2x.%1x%n", &out[1], &out[2], &out[3], &end) == 3 && text[end] == 0;
}

bool nd__same_hardware(const char *a, const char *b)
{
    unsigned x[4], y[4];
    if (!a[0] || !b[0])
        return false;
    return strcasecmp(a, b) == 0 ||
           (parse_pci(a, x) && parse_pci(b, y) && memcmp(x, y, sizeof x) == 0);
}
