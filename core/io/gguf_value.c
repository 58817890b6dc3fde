/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Metadata of GGUF: values as bytes, checked before they are used, and items of arrays. */
#include <inttypes.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/io/gguf.h"

static const struct {
    const char *name;
    uint8_t nbytes; /* 0: it has no size of its own */
    char kind;      /* unsigned, signed, float, bool */
} types[] = {
    [ND_GGUF_U8] = {"u8", 1, 'u'},          [ND_GGUF_I8] = {"i8", 1, 'i'},
    [ND_GGUF_U16] = {"u16", 2, 'u'},        [ND_GGUF_I16] = {"i16", 2, 'i'},
    [ND_GGUF_U32] = {"u32", 4, 'u'},        [ND_GGUF_I32] = {"i32", 4, 'i'},
    [ND_GGUF_F32] = {"f32", 4, 'f'},        [ND_GGUF_BOOL] = {"bool", 1, 'b'},
    [ND_GGUF_STRING] = {"string", 0, 's'},  [ND_GGUF_ARRAY] = {"array", 0, 'a'},
    [ND_GGUF_U64] = {"u64", 8, 'u'},        [ND_GGUF_I64] = {"i64", 8, 'i'},
    [ND_GGUF_F64] = {"f64", 8, 'f'},
};
enum { TYPES = sizeof types / sizeof *types };

const char *nd__gguf_type_name(int32_t type)
{
    return type >= 0 && type < TYPES ? types[type].name : NULL;
}

nd_status nd__gguf_take(nd__gguf_bytes *b, uint64_t n, const char *what, const unsigned char **p)
{
    if (n > b->size - b->at)
        return nd__fail(ND_ERR_FORMAT, b->op, 0,
                        "%s: at byte %" PRIu64 ": %s takes %" PRIu64 " bytes, of which there are "
                        "%" PRIu64,
                        b->path, b->at, what, n, b->size - b->at);
    *p = b->data + b->at;
    b->at += n;
    return ND_OK;
}

static uint64_t little(const unsigned char *p, int nbytes)
{
    uint64_t x = 0;
    for (int i = nbytes - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

nd_status nd__gguf_take_number(nd__gguf_bytes *b, int nbytes, const char *what, uint64_t *x)
{
    const unsigned char *p;
    *x = 0;
    ND_RETURN_IF(nd__gguf_take(b, (uint64_t)nbytes, what, &p));
    *x = little(p, nbytes);
    return ND_OK;
}

static nd_status check_type(const nd__gguf_bytes *b, uint64_t type, const char *what)
{
    return type < TYPES ? (nd_status)ND_OK
                        : nd__fail(ND_ERR_FORMAT, b->op, 0,
                                   "%s: at byte %" PRIu64 ": %s has type %" PRIu64
                                   "; there are 0 to %d",
                                   b->path, b->at - 4, what, type, TYPES - 1);
}

/* Sets v of a number. */
static void set_number(nd_gguf_value *value)
{
    const uint64_t bits = little(value->data, types[value->type].nbytes);
    float single;
    double twice;
    uint32_t half = (uint32_t)bits;
    memcpy(&single, &half, sizeof single);
    memcpy(&twice, &bits, sizeof twice);
    value->v.u = bits;
    if (types[value->type].kind == 'f')
        value->v.f = value->type == ND_GGUF_F32 ? (double)single : twice;
    else if (types[value->type].kind == 'i') {
        const uint64_t sign = (uint64_t)1 << (8 * types[value->type].nbytes - 1);
        value->v.i = (int64_t)((bits ^ sign) - sign);
    }
}

static nd_status check_bools(const nd__gguf_bytes *b, const unsigned char *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (p[i] > 1)
            return nd__fail(ND_ERR_FORMAT, b->op, 0,
                            "%s: at byte %" PRIu64 ": a truth value is %d, neither 0 nor 1",
                            b->path, (uint64_t)(p - b->data) + i, p[i]);
    return ND_OK;
}

static nd_status skip_items(nd__gguf_bytes *b, int32_t type, uint64_t count, int depth);

/* The head of an array, and its items. */
static nd_status take_array(nd__gguf_bytes *b, int depth, nd_gguf_value *value)
{
    uint64_t item, count;
    ND_RETURN_IF(nd__gguf_take_number(b, 4, "the type of an array's items", &item));
    ND_RETURN_IF(check_type(b, item, "an array's item"));
    ND_RETURN_IF(nd__gguf_take_number(b, 8, "an array's length", &count));
    if (depth == ND__GGUF_DEPTH)
        return nd__fail(ND_ERR_FORMAT, b->op, 0,
                        "%s: at byte %" PRIu64 ": arrays in arrays deeper than %d", b->path,
                        b->at - 12, ND__GGUF_DEPTH);
    value->item = (int32_t)item;
    value->count = count;
    value->data = b->data + b->at;
    const uint64_t from = b->at;
    ND_RETURN_IF(skip_items(b, value->item, count, depth + 1));
    value->nbytes = b->at - from;
    return ND_OK;
}

static nd_status take_value(nd__gguf_bytes *b, int32_t type, int depth, nd_gguf_value *value)
{
    const unsigned char *p;
    uint64_t nbytes = types[type].nbytes;
    *value = (nd_gguf_value){.size = sizeof *value, .type = type, .count = 1};
    if (type == ND_GGUF_ARRAY)
        return take_array(b, depth, value);
    if (type == ND_GGUF_STRING)
        ND_RETURN_IF(nd__gguf_take_number(b, 8, "a text's length", &nbytes));
    ND_RETURN_IF(nd__gguf_take(b, nbytes, type == ND_GGUF_STRING ? "a text" : "a number", &p));
    value->data = p;
    value->nbytes = nbytes;
    if (type == ND_GGUF_BOOL)
        ND_RETURN_IF(check_bools(b, p, 1));
    if (type != ND_GGUF_STRING)
        set_number(value);
    return ND_OK;
}

/* Numbers are stepped over at once; each other item is looked at. An item has at least 8 bytes, so
 * that a count that lies ends at the file's end. */
static nd_status skip_items(nd__gguf_bytes *b, int32_t type, uint64_t count, int depth)
{
    const unsigned char *p;
    nd_gguf_value item;
    if (types[type].nbytes) {
        if (count > (b->size - b->at) / types[type].nbytes)
            return nd__fail(ND_ERR_FORMAT, b->op, 0,
                            "%s: at byte %" PRIu64 ": an array of %" PRIu64
                            " items of %s goes beyond the end",
                            b->path, b->at, count, types[type].name);
        ND_RETURN_IF(nd__gguf_take(b, count * types[type].nbytes, "an array", &p));
        return type == ND_GGUF_BOOL ? check_bools(b, p, count) : (nd_status)ND_OK;
    }
    for (uint64_t i = 0; i < count; i++)
        ND_RETURN_IF(take_value(b, type, depth, &item));
    return ND_OK;
}

nd_status nd__gguf_take_value(nd__gguf_bytes *b, int32_t type, nd_gguf_value *value)
{
    return take_value(b, type, 0, value);
}

nd_status nd_gguf_next(nd_gguf_value *array, nd_gguf_value *item)
{
    const char *op = "gguf_next";
    ND_NEED(op, 0, array);
    ND_NEED(op, 1, item);
    if (array->type != ND_GGUF_ARRAY || array->item < 0 || array->item >= TYPES)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "the value is no array but of type %d",
                        (int)array->type);
    if (array->count == 0)
        return nd__fail(ND_ERR_INDEX, op, 0, "the array has no more items");
    ND_NEED(op, 0, array->data);
    nd__gguf_bytes b = {op, "the array", array->data, 0, array->nbytes};
    ND_RETURN_IF(take_value(&b, array->item, 1, item));
    array->data = b.data + b.at;
    array->nbytes -= b.at;
    array->count--;
    return ND_OK;
}
