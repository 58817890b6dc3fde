/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which devices a variable of the form of CUDA_VISIBLE_DEVICES shows. A pure function: nothing is
 * asked of a driver. Source: the CUDA C++ Programming Guide's table of environment variables, and
 * what drivers are seen to do with malformed text. */
#include <ctype.h>
#include <stdlib.h>
#include "core/plugin/service/service.h"

enum { END_OF_LIST = -1, ASK_DRIVER = -2 };

static bool begins_with(const char *text, size_t n, const char *prefix)
{
    return n >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

/* The digits that an entry starts with; what follows them is ignored, as strtol does. */
static int32_t by_ordinal(const char *text, size_t n, int32_t count)
{
    int64_t value = 0;
    size_t i = n && text[0] == '+', first = i;
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        value = value < INT32_MAX ? value * 10 + (text[i] - '0') : value;
    return i > first && value < count ? (int32_t)value : END_OF_LIST;
}

/* The one device whose UUID begins so. */
static int32_t by_uuid(const char *text, size_t n, int32_t count, const char *const *uuids)
{
    int32_t found = END_OF_LIST;
    if (!uuids)
        return ASK_DRIVER;
    for (int32_t i = 0; i < count; i++) {
        if (!uuids[i])
            return ASK_DRIVER;
        if (strncmp(uuids[i], text, n) != 0)
            continue;
        if (found >= 0)
            return END_OF_LIST; /* ambiguous */
        found = i;
    }
    return found;
}

/* The first entry says what the list is of; one of another kind ends it. */
static int32_t entry_device(const char *text, size_t n, bool uuid_list, int32_t count,
                            const char *const *uuids)
{
    if (begins_with(text, n, "MIG-"))
        return ASK_DRIVER;
    if (uuid_list != begins_with(text, n, "GPU-"))
        return END_OF_LIST;
    return uuid_list ? by_uuid(text, n, count, uuids) : by_ordinal(text, n, count);
}

static int32_t parse_list(const char *text, int32_t count, const char *const *uuids, int32_t *out)
{
    int32_t n = 0;
    bool uuid_list = false, first = true;
    for (const char *p = text;; first = false) {
        size_t length = strcspn(p, ","), next = length;
        while (length && isspace((unsigned char)*p)) {
            p++;
            length--;
            next--;
        }
        while (length && isspace((unsigned char)p[length - 1]))
            length--;
        if (first)
            uuid_list = begins_with(p, length, "GPU-");
        int32_t device = entry_device(p, length, uuid_list, count, uuids);
        if (device == ASK_DRIVER)
            return NDH_VISIBLE_UNKNOWN;
        if (device == END_OF_LIST)
            return n;
        for (int32_t i = 0; i < n; i++)
            if (out[i] == device)
                return 0; /* a repeat makes the whole list void */
        out[n++] = device;
        if (!p[next])
            return n;
        p += next + 1;
    }
}

nd_status nd__visible_devices(const char *text, int32_t count, const char *const *uuids,
                              int32_t *out, int32_t *n)
{
    *n = 0;
    if (count < 0 || (count > 0 && !out))
        return nd__fail(ND_ERR_ARGUMENT, "visible_devices", 1, "%d devices and %s for the result",
                        (int)count, out ? "room" : "no room");
    if (text) {
        *n = parse_list(text, count, uuids, out);
        return ND_OK;
    }
    for (*n = 0; *n < count; ++*n)
        out[*n] = *n;
    return ND_OK;
}

static int32_t service_parse(void *ctx, const char *text, int32_t count, const char *const *uuids,
                             int32_t *out, int32_t *n)
{
    (void)ctx;
    return nd__visible_devices(text, count, uuids, out, n);
}

const ndh_visible_1 nd__visible_service = {.size = sizeof(ndh_visible_1), .parse = service_parse};
