/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Settings of arithmetic: one table of the process, a stack of each thread, and the mode bits that
 * a call takes from them. Read without a lock. */
#include <stdlib.h>
#include "core/run/run.h"

enum { PLUGINS = 16, STACK = 32 };

/* What a setting may be, in which dtype it means something, and the bit it is in a call. */
typedef struct {
    const char *name;
    int32_t first, second, third; /* the default first; 0: none */
    nd_dtype dtype;               /* 0: all */
    uint32_t second_bit, third_bit;
} rule;
static const rule rules[ND_MATH_SETTINGS] = {
    {"f32 matmul", ND_MATH_IEEE, ND_MATH_TF32, ND_MATH_BF16X9, ND_F32, NDP_MODE_FAST_MATH,
     NDP_MODE_BF16X9},
    {"f16 reduction", ND_MATH_OFF, ND_MATH_ON, 0, ND_F16, NDP_MODE_REDUCED_SUMS, 0},
    {"f16 split k", ND_MATH_ON, ND_MATH_OFF, 0, ND_F16, NDP_MODE_NO_SPLIT_K, 0},
    {"bf16 reduction", ND_MATH_OFF, ND_MATH_ON, 0, ND_BF16, NDP_MODE_REDUCED_SUMS, 0},
    {"bf16 split k", ND_MATH_ON, ND_MATH_OFF, 0, ND_BF16, NDP_MODE_NO_SPLIT_K, 0},
    {"f16 accumulate", ND_MATH_F32, ND_MATH_F16, 0, ND_F16, NDP_MODE_F16_SUMS, 0},
    {"f64 matmul", ND_MATH_NATIVE, ND_MATH_EMULATED, 0, ND_F64, NDP_MODE_F64_EMULATED, 0},
    {"fp8 fast", ND_MATH_OFF, ND_MATH_ON, 0, ND_F8_E4M3, NDP_MODE_FP8_FAST, 0},
    {"deterministic", ND_MATH_OFF, ND_MATH_ON, 0, 0, NDP_MODE_DETERMINISTIC, 0},
    {"strict", ND_MATH_OFF, ND_MATH_ON, 0, 0, 0, 0},
};

typedef struct {
    unsigned char setting, plugin, value;
    nd_op op;
} override;
typedef struct {
    const override *at;
    int n;
} level_stack;

/* Plug-in 0 and op 0 are any. A name, once in, stays. */
static _Atomic(const char *) plugins[PLUGINS];
static _Atomic unsigned char table[PLUGINS][NDP_OP_END][ND_MATH_SETTINGS];
static atomic_bool touched;

/* Its place in the table; add 0: 0 too where it has none, which is never an answer of its own. */
static int plugin_index(const char *name, bool add)
{
    if (!name || !*name)
        return 0;
    for (int i = 1; i < PLUGINS; i++) {
        const char *had = atomic_load_explicit(&plugins[i], memory_order_acquire);
        if (!had && !add)
            return 0;
        if (!had) {
            const char *kept = nd__text_keep(name);
            if (!kept || atomic_compare_exchange_strong(&plugins[i], &had, kept))
                return kept ? i : -1;
        }
        if (strcmp(had, name) == 0)
            return i;
    }
    return add ? -1 : 0;
}

static int32_t at_level(int setting, int plugin, nd_op op, const level_stack *s)
{
    for (int i = s->n - 1; i >= 0; i--)
        if (s->at[i].setting == setting && s->at[i].plugin == plugin && s->at[i].op == op)
            return s->at[i].value;
    return atomic_load_explicit(&table[plugin][op][setting], memory_order_relaxed);
}

static int32_t resolve(int setting, int plugin, nd_op op)
{
    const level_stack s = {nd__self ? nd__self->math : NULL, nd__self ? nd__self->n_math : 0};
    int32_t value = at_level(setting, plugin, op, &s);
    if (!value && plugin)
        value = at_level(setting, 0, op, &s);
    if (!value && op)
        value = at_level(setting, plugin, 0, &s);
    if (!value && op && plugin)
        value = at_level(setting, 0, 0, &s);
    return value ? value : rules[setting].first;
}

/* Ops of programs have no place of their own. */
static nd_op table_op(nd_op op)
{
    return op > 0 && op < NDP_OP_END ? op : 0;
}

int32_t nd_math_get(int32_t setting, const char *plugin, nd_op op)
{
    if (setting < 0 || setting >= ND_MATH_SETTINGS)
        return ND_MATH_UNSET;
    return resolve(setting, plugin_index(plugin, false), table_op(op));
}

/* ---- what may be set ---- */

/* Reduced sums are of a split k: the other setting of the pair, and the value that forbids this. */
static nd_status check_pair(const char *fn, int32_t setting, int plugin, nd_op op, int32_t value)
{
    static const struct {
        int32_t setting, value, other, refused;
    } pairs[] = {
        {ND_MATH_F16_REDUCTION, ND_MATH_ON, ND_MATH_F16_SPLIT_K, ND_MATH_OFF},
        {ND_MATH_F16_SPLIT_K, ND_MATH_OFF, ND_MATH_F16_REDUCTION, ND_MATH_ON},
        {ND_MATH_BF16_REDUCTION, ND_MATH_ON, ND_MATH_BF16_SPLIT_K, ND_MATH_OFF},
        {ND_MATH_BF16_SPLIT_K, ND_MATH_OFF, ND_MATH_BF16_REDUCTION, ND_MATH_ON},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].setting == setting && pairs[i].value == value &&
            resolve(pairs[i].other, plugin, op) == pairs[i].refused)
            return nd__fail(ND_ERR_STATE, fn, 3,
                            "%s cannot be so while %s is as it is: reduced sums are those of a "
                            "split k; change the other one first",
                            rules[setting].name, rules[pairs[i].other].name);
    return ND_OK;
}

static nd_status check(const char *fn, int32_t setting, const char *plugin, nd_op op, int32_t value,
                       int *index)
{
    if (setting < 0 || setting >= ND_MATH_SETTINGS)
        return nd__fail(ND_ERR_ARGUMENT, fn, 0, "there is no setting %d; they are 0 to %d",
                        (int)setting, ND_MATH_SETTINGS - 1);
    const rule *r = &rules[setting];
    if (value != ND_MATH_UNSET && value != r->first && value != r->second &&
        (value != r->third || !r->third))
        return nd__fail(ND_ERR_ARGUMENT, fn, 3,
                        "%s cannot be %d; it is one of %d, %d%s (see <ndock/math.h>)", r->name,
                        (int)value, (int)r->first, (int)r->second, r->third ? ", 3" : "");
    if (op < 0 || op >= NDP_OP_END)
        return nd__fail(ND_ERR_ARGUMENT, fn, 2, "op %d is not one of <ndock/op.def>", (int)op);
    *index = plugin_index(plugin, true);
    if (*index < 0)
        return nd__fail(ND_ERR_STATE, fn, 1, "settings of %d plug-ins are kept; %s is one more",
                        PLUGINS - 1, plugin);
    return check_pair(fn, setting, *index, op, value);
}

nd_status nd_math_set(int32_t setting, const char *plugin, nd_op op, int32_t value)
{
    int index;
    ND_RETURN_IF(check("math_set", setting, plugin, op, value, &index));
    atomic_store(&table[index][op][setting], (unsigned char)value);
    atomic_store(&touched, true);
    return ND_OK;
}

nd_status nd_math_push(int32_t setting, const char *plugin, nd_op op, int32_t value)
{
    int index;
    ND_RETURN_IF(check("math_push", setting, plugin, op, value, &index));
    nd_thread *t = nd__thread();
    if (!t)
        return ND_ERR_MEMORY;
    if (t->n_math == STACK)
        return nd__fail(ND_ERR_STATE, "math_push", -1, "%d values are pushed already; pop some",
                        STACK);
    if (!t->math && (t->math = calloc(STACK, sizeof(override))) == NULL)
        return nd__fail(ND_ERR_MEMORY, "math_push", -1, "no memory for the thread's settings");
    ((override *)t->math)[t->n_math++] =
        (override){(unsigned char)setting, (unsigned char)index, (unsigned char)value, op};
    return ND_OK;
}

nd_status nd_math_pop(void)
{
    if (!nd__self || !nd__self->n_math)
        return nd__fail(ND_ERR_STATE, "math_pop", -1, "this thread has pushed nothing");
    nd__self->n_math--;
    return ND_OK;
}

/* ---- other names ---- */

nd_status nd_math_set_allow_tf32(int32_t allow)
{
    return nd_math_set(ND_MATH_F32_MATMUL, NULL, ND_OP_NONE, allow ? ND_MATH_TF32 : ND_MATH_IEEE);
}

int32_t nd_math_allow_tf32(void)
{
    return nd_math_get(ND_MATH_F32_MATMUL, NULL, ND_OP_NONE) == ND_MATH_TF32;
}

nd_status nd_math_set_matmul_precision(const char *precision)
{
    const char *p = precision ? precision : "NULL";
    bool highest = strcmp(p, "highest") == 0;
    if (!highest && strcmp(p, "high") != 0 && strcmp(p, "medium") != 0)
        return nd__fail(ND_ERR_ARGUMENT, "math_set_matmul_precision", 0,
                        "\"%s\" is not highest, high or medium", p);
    return nd_math_set_allow_tf32(!highest);
}

const char *nd_math_matmul_precision(void)
{
    return nd_math_allow_tf32() ? "high" : "highest";
}

static const char *const fp32_names[] = {"none", "ieee", "tf32", "bf16x9"};

/* "plugin.op" into its parts. */
static nd_status split_name(const char *fn, const char *name, char plugin[32], nd_op *op)
{
    const char *dot = name ? strchr(name, '.') : NULL;
    size_t n = !name ? 0 : dot ? (size_t)(dot - name) : strlen(name);
    *op = ND_OP_NONE;
    if (!name || n >= 32)
        return nd__fail(ND_ERR_ARGUMENT, fn, 0, "a name is \"\", \"PLUGIN\" or \"PLUGIN.OP\"");
    memcpy(plugin, name, n);
    plugin[n] = 0;
    for (nd_op i = 1; dot && i < NDP_OP_END; i++)
        if (strcmp(nd_op_get(i)->name, dot + 1) == 0)
            *op = i;
    return dot && !*op ? nd__fail(ND_ERR_ARGUMENT, fn, 0, "there is no op \"%s\"", dot + 1) : ND_OK;
}

nd_status nd_math_set_fp32_precision(const char *name, const char *precision)
{
    char plugin[32];
    nd_op op;
    ND_RETURN_IF(split_name("math_set_fp32_precision", name, plugin, &op));
    for (int32_t v = 0; precision && v < 4; v++)
        if (strcmp(precision, fp32_names[v]) == 0)
            return nd_math_set(ND_MATH_F32_MATMUL, plugin, op, v);
    return nd__fail(ND_ERR_ARGUMENT, "math_set_fp32_precision", 1,
                    "\"%s\" is not ieee, tf32, bf16x9 or none", precision ? precision : "NULL");
}

nd_status nd_math_fp32_precision(const char *name, const char **precision)
{
    char plugin[32];
    nd_op op;
    ND_OUT("math_fp32_precision", 1, precision, fp32_names[ND_MATH_IEEE]);
    ND_RETURN_IF(split_name("math_fp32_precision", name, plugin, &op));
    *precision = fp32_names[nd_math_get(ND_MATH_F32_MATMUL, plugin, op)];
    return ND_OK;
}

/* ---- what a call gets, and what becomes of it ---- */

static uint32_t wanted_mode(int plugin, nd_op op, nd_dtype dtype)
{
    uint32_t mode = 0;
    for (int i = 0; i < ND_MATH_SETTINGS; i++) {
        const rule *r = &rules[i];
        if (r->dtype && r->dtype != dtype)
            continue;
        int32_t value = resolve(i, plugin, op);
        mode |= value == r->second ? r->second_bit : value == r->third ? r->third_bit : 0;
    }
    return mode;
}

static uint32_t effective_mode(nd_device *dev, nd_op op, nd_dtype dtype, const int64_t *mnk,
                               uint32_t mode)
{
    const ndp_math_1 *g = dev->p.group ? dev->p.group(dev->dev, "ndp.math/1") : NULL;
    return g && g->size >= NDP_END(ndp_math_1, effective) && g->effective
               ? g->effective(dev->dev, op, dtype, mnk, mode) & mode
               : mode & NDP_MODE_DETERMINISTIC; /* our own kernels always are */
}

nd_status nd__math_mode(nd_device *dev, nd_op op, nd_dtype dtype, const int64_t *mnk,
                        uint32_t *mode)
{
    *mode = 0;
    if (!(nd__self && nd__self->n_math) && !atomic_load_explicit(&touched, memory_order_relaxed))
        return ND_OK;
    int plugin = plugin_index(dev->slot->name, false);
    op = table_op(op);
    *mode = wanted_mode(plugin, op, dtype);
    if (!*mode || resolve(ND_MATH_STRICT, plugin, op) != ND_MATH_ON)
        return ND_OK;
    uint32_t lacks = *mode & ~effective_mode(dev, op, dtype, mnk, *mode);
    for (int i = 0; i < ND_MATH_SETTINGS && lacks; i++)
        if ((rules[i].second_bit | rules[i].third_bit) & lacks &&
            (!rules[i].dtype || rules[i].dtype == dtype))
            return nd__fail(ND_ERR_UNSUPPORTED, NULL, -1,
                            "%s cannot honour the setting \"%s\" in %s, and ND_MATH_STRICT is on; "
                            "change the setting or turn strict off",
                            dev->name, rules[i].name, nd_dtype_name(dtype));
    return ND_OK;
}

nd_status nd_effective_precision(nd_op op, nd_dtype dtype, nd_device *device, const int64_t *mnk,
                                 const char **text)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } names[] = {{NDP_MODE_FAST_MATH, "tf32"},     {NDP_MODE_BF16X9, "bf16x9"},
                 {NDP_MODE_F16_SUMS, "f16 sums"},  {NDP_MODE_REDUCED_SUMS, "reduced sums"},
                 {NDP_MODE_FP8_FAST, "fast sums"}, {NDP_MODE_F64_EMULATED, "emulated"}};
    ND_OUT("effective_precision", 4, text, "ieee");
    if (!nd_op_get(op))
        return nd__fail(ND_ERR_ARGUMENT, "effective_precision", 0, "there is no op %d", (int)op);
    if (!device)
        ND_RETURN_IF(nd_device_current(&device));
    if (dtype <= 0 || dtype >= ND_DTYPE_END || !(nd_op_dtypes(op) >> dtype & 1))
        return nd__fail(ND_ERR_DTYPE, "effective_precision", 1, "%s does not take dtype %d",
                        nd_op_get(op)->name, (int)dtype);
    if (nd_op_get(op)->op_class != ND_CLASS_MATMUL)
        return ND_OK;
    uint32_t mode = wanted_mode(plugin_index(device->slot->name, false), table_op(op), dtype);
    mode = effective_mode(device, op, dtype, mnk, mode);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mode & names[i].bit) {
            *text = names[i].text;
            break;
        }
    return ND_OK;
}
