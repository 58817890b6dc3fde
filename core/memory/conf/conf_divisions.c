/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Numbers, and the value of roundup_power2_divisions: one number, or [MiB:number,...,>:number]. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include "core/memory/conf/conf.h"

bool nd__conf_number(const char **at, double low, double high, double *out)
{
    char *end;
    if (!isdigit((unsigned char)**at) && **at != '.')
        return false;
    errno = 0;
    *out = strtod(*at, &end);
    if (end == *at || errno || !(*out >= low && *out <= high))
        return false;
    *at = end;
    return true;
}

#define FIRST_POWER 20 /* the smallest interval begins at 1 MiB; lower ones follow it */

static bool power_of_two(const char **at, double high, uint32_t *out)
{
    double value;
    if (!nd__conf_number(at, 0, high, &value) || value != (double)(uint64_t)value)
        return false;
    *out = (uint32_t)value;
    return (*out & (*out - 1)) == 0;
}

static bool colon(const char **at)
{
    return **at == ':' && ++*at;
}

static bool parse_interval(const char **at, uint32_t *table, int *last)
{
    uint32_t mib = 0, value;
    bool rest = **at == '>' && ++*at;
    if ((!rest && (!power_of_two(at, 2147483648.0, &mib) || mib == 0)) || !colon(at) ||
        !power_of_two(at, 64, &value))
        return false;
    int power = rest ? *last + 1 : FIRST_POWER + 31 - __builtin_clz(mib);
    if (power <= *last)
        return false; /* intervals come in ascending order */
    for (int i = *last < 0 ? 0 : power; i <= (rest ? 63 : power); i++)
        table[i] = value;
    *last = rest ? 63 : power;
    return true;
}

bool nd__conf_parse_divisions(const char **at, uint32_t table[64])
{
    uint32_t value = 0;
    int last = -1;
    if (**at != '[') {
        if (!power_of_two(at, 64, &value))
            return false;
        for (int i = 0; i < 64; i++)
            table[i] = value;
        return true;
    }
    memset(table, 0, 64 * sizeof *table);
    do {
        ++*at;
        if (!parse_interval(at, table, &last))
            return false;
    } while (**at == ',');
    return **at == ']' && ++*at;
}

void nd__conf_print_divisions(const uint32_t table[64], nd_text *out)
{
    int end = 63;
    while (end >= FIRST_POWER && table[end] == table[63])
        end--;
    if (end < FIRST_POWER) {
        nd__text_add(out, "%u", table[63]);
        return;
    }
    for (int i = FIRST_POWER; i <= end; i++)
        nd__text_add(out, "%c%llu:%u", i == FIRST_POWER ? '[' : ',', 1ull << (i - FIRST_POWER),
                     table[i]);
    nd__text_add(out, ",>:%u]", table[63]);
}
