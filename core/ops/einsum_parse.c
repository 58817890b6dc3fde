/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Index notation as NumPy has it: "ij,jk->ik"; a letter twice in an operand is its diagonal; "..."
 * stands for the axes that are not named; without "->" the result has the axes of ellipses, then, in
 * the order of the alphabet (capitals first), the letters that occur once. */
#include "core/ops/einsum.h"

static int label_of(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= 'A' && c <= 'Z' ? c - 'A' : -1;
}

static char letter_of(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

/* One operand's, or the result's, part of the text. */
typedef struct {
    int n, labels[ND_MAX_NDIM]; /* letters; -1 stands for the ellipsis */
    bool ellipsis;
} pattern;

static nd_status read_pattern(const char **text, pattern *p)
{
    p->n = 0;
    p->ellipsis = false;
    for (; **text && **text != ',' && !(**text == '-' && (*text)[1] == '>'); ++*text) {
        int label = label_of(**text);
        if (**text == ' ')
            continue;
        if (**text == '.' && (*text)[1] == '.' && (*text)[2] == '.' && !p->ellipsis) {
            p->ellipsis = true;
            *text += 2;
        } else if (label < 0)
            return nd__fail(ND_ERR_ARGUMENT, "einsum", 0,
                            "'%c' is neither a letter nor one ellipsis (...) of an operand",
                            **text);
        if (p->n == ND_MAX_NDIM)
            return nd__fail(ND_ERR_SHAPE, "einsum", 0, "an operand has more than %d indices",
                            ND_MAX_NDIM);
        p->labels[p->n++] = label;
    }
    return ND_OK;
}

/* ---- operands ---- */

/* Labels of all axes: the ellipsis's dimensions are counted from the last. */
static nd_status spread(const pattern *p, const nd_array *a, int argument, int *labels)
{
    const int rest = a->ndim - (p->n - p->ellipsis);
    int at = 0;
    if (rest < 0 || (rest > 0 && !p->ellipsis))
        return nd__fail(ND_ERR_SHAPE, "einsum", 2, "operand %d has %d axes, its indices are %d",
                        argument, (int)a->ndim, p->n - p->ellipsis);
    for (int i = 0; i < p->n; i++) {
        if (p->labels[i] >= 0)
            labels[at++] = p->labels[i];
        else
            for (int k = 0; k < rest; k++)
                labels[at++] = ND_LETTERS + rest - 1 - k;
    }
    return ND_OK;
}

static nd_status note_extents(nd_contraction *e, const nd_array *a, const int *labels, bool *seen)
{
    for (int d = 0; d < a->ndim; d++) {
        const int label = labels[d];
        const int64_t extent = a->shape[d];
        if (!seen[label] || e->extent[label] == 1)
            e->extent[label] = extent;
        else if (extent != 1 && extent != e->extent[label]) {
            if (label < ND_LETTERS)
                return nd__fail(ND_ERR_SHAPE, "einsum", 2, "index %c has extents %lld and %lld",
                                letter_of(label), (long long)e->extent[label], (long long)extent);
            return nd__fail(ND_ERR_SHAPE, "einsum", 2,
                            "the axes of ellipses do not broadcast: extents %lld and %lld",
                            (long long)e->extent[label], (long long)extent);
        }
        seen[label] = true;
    }
    return ND_OK;
}

/* The operand as a view each of whose axes has another label: diagonals for labels that it has
 * twice, and without the axes of extent one that others broadcast. alone: there is no other operand,
 * so that the result may be this view. */
static nd_status make_term(const nd_contraction *e, nd_array *a, const int *labels, bool alone,
                           nd_term *t)
{
    int64_t shape[ND_MAX_NDIM], stride[ND_MAX_NDIM];
    int own[ND_MAX_NDIM], n = 0;
    for (int d = 0; d < a->ndim; d++) {
        int at = 0;
        while (at < n && own[at] != labels[d])
            at++;
        if (a->shape[d] == 1 && e->extent[labels[d]] != 1)
            continue;
        if (at < n) {
            stride[at] += a->stride[d];
            continue;
        }
        own[n] = labels[d];
        shape[n] = a->shape[d];
        stride[n++] = a->stride[d];
    }
    nd__term_labels(t, n, own);
    if (n == a->ndim && !alone) {
        t->array = nd_retain(a);
        return ND_OK;
    }
    return nd_as_strided(a, n, shape, stride, a->offset, &t->array);
}

/* ---- the result ---- */

static void implicit(const pattern *given, int n, const bool *seen, int *labels, int *count)
{
    int times[ND_LABELS] = {0};
    *count = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < given[i].n; k++)
            if (given[i].labels[k] >= 0)
                times[given[i].labels[k]]++;
    for (int i = ND_LABELS - 1; i >= ND_LETTERS; i--)
        if (seen[i])
            labels[(*count)++] = i;
    for (int i = 0; i < ND_LETTERS; i++)
        if (times[i] == 1)
            labels[(*count)++] = i;
}

static nd_status explicit(const char *text, const bool *seen, int *labels, int *count)
{
    pattern p;
    bool used[ND_LABELS] = {false};
    ND_RETURN_IF(read_pattern(&text, &p));
    *count = 0;
    if (*text)
        return nd__fail(ND_ERR_ARGUMENT, "einsum", 0, "the result has one list of indices");
    for (int i = 0; i < p.n; i++) {
        const int label = p.labels[i];
        for (int k = ND_LABELS - 1; label < 0 && k >= ND_LETTERS; k--)
            if (seen[k] && *count < ND_MAX_NDIM)
                labels[(*count)++] = k;
        if (label < 0)
            continue;
        if (!seen[label] || used[label])
            return nd__fail(ND_ERR_ARGUMENT, "einsum", 0, "the result's index %c %s",
                            letter_of(label), used[label] ? "is there twice" : "is in no operand");
        used[label] = true;
        labels[(*count)++] = label;
    }
    if (seen[ND_LETTERS] && !p.ellipsis) /* the last dimension that ellipses stand for */
        return nd__fail(ND_ERR_ARGUMENT, "einsum", 0,
                        "an operand has an ellipsis, and the result has none");
    return ND_OK;
}

/* ---- all of it ---- */

/* What the text says, before any operand is looked at. */
typedef struct {
    pattern given[ND_EINSUM_MOST];
    int labels[ND_EINSUM_MOST][ND_MAX_NDIM]; /* of each operand's axes */
    const char *result;                      /* NULL: implicit */
} notation;

static nd_status read_notation(const char *text, int n, notation *t)
{
    int operands = 0;
    for (;; text++) {
        pattern spare;
        ND_RETURN_IF(read_pattern(&text, operands < n ? &t->given[operands] : &spare));
        operands++;
        if (*text != ',')
            break;
    }
    t->result = *text ? text + 2 : NULL;
    if (operands == n)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, "einsum", 0, "there are indices of %d operands, of %d given",
                    operands, n);
}

static nd_status parse(const char *text, int n, const nd_array *const *arrays, notation *t,
                       nd_contraction *e)
{
    int result[ND_LABELS], count;
    bool seen[ND_LABELS] = {false};
    memset(e->extent, 0, sizeof e->extent);
    ND_RETURN_IF(read_notation(text, n, t));
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(spread(&t->given[i], arrays[i], i, t->labels[i]));
        ND_RETURN_IF(note_extents(e, arrays[i], t->labels[i], seen));
    }
    if (t->result)
        ND_RETURN_IF(explicit(t->result, seen, result, &count));
    else
        implicit(t->given, n, seen, result, &count);
    if (count > ND_MAX_NDIM)
        return nd__fail(ND_ERR_SHAPE, "einsum", 0, "the result would have %d axes; %d is the most",
                        count, ND_MAX_NDIM);
    nd__term_labels(&e->result, count, result);
    return ND_OK;
}

/* e->n counts the terms that are there. */
static nd_status make_terms(int n, const nd_array *const *arrays, const notation *t,
                            nd_contraction *e)
{
    for (e->n = 0; e->n < n; e->n++) {
        nd_array *cast = NULL;
        ND_RETURN_IF(nd__cast(arrays[e->n], e->dtype, &cast));
        nd_status status = make_term(e, cast, t->labels[e->n], n == 1, &e->term[e->n]);
        nd_release(cast);
        ND_RETURN_IF(status);
    }
    return ND_OK;
}

static nd_status compute(const char *text, int n, const nd_array *const *arrays, nd_dtype given,
                         nd_array **out)
{
    notation t;
    nd_contraction e;
    nd_array *r = NULL;
    e.dtype = given == ND_BOOL ? ND_I64 : given; /* products of truth values: any is not zero */
    ND_RETURN_IF(parse(text, n, arrays, &t, &e));
    nd_status status = make_terms(n, arrays, &t, &e);
    if (status == ND_OK)
        status = nd__einsum_contract(&e, &r);
    for (int i = 0; i < e.n; i++)
        nd_release(e.term[i].array);
    if (status == ND_OK)
        status = nd__cast(r, given, out);
    nd_release(r);
    return status;
}

static nd_status common_dtype(int n, const nd_array *const *arrays, nd_dtype wanted, nd_dtype *out)
{
    *out = arrays[0]->dtype;
    for (int i = 1; i < n; i++)
        ND_RETURN_IF(nd__promote("einsum", *out, arrays[i]->dtype, out));
    if (!wanted)
        return ND_OK;
    ND_RETURN_IF(nd__check_dtype("einsum", wanted));
    ND_RETURN_IF(nd__check_castable("einsum", *out, wanted));
    *out = wanted;
    return ND_OK;
}

static nd_status check_operands(int n, const nd_array *const *arrays)
{
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(nd__check_array("einsum", arrays[i], 2));
        if (i > 0)
            ND_RETURN_IF(nd__check_same_device("einsum", arrays[0], arrays[i], 0, i));
    }
    return ND_OK;
}

nd_status nd_einsum(const char *subscripts, int n, const nd_array *const *arrays,
                    const nd_einsum_opts *opts, nd_array **out)
{
    nd_einsum_opts o;
    nd_scope scope;
    nd_dtype dtype;
    ND_NEED("einsum", 0, subscripts);
    ND_OUT("einsum", 4, out, NULL);
    if (n < 1 || n > ND_EINSUM_MOST)
        return nd__fail(ND_ERR_ARGUMENT, "einsum", 1, "%d operands; 1 to %d are allowed", n,
                        ND_EINSUM_MOST);
    ND_NEED("einsum", 2, arrays);
    ND_RETURN_IF(check_operands(n, arrays));
    ND_RETURN_IF(nd__read_options("einsum", opts, &o, sizeof o, NDP_END(nd_einsum_opts, dtype)));
    ND_RETURN_IF(common_dtype(n, arrays, o.dtype, &dtype));
    ND_RETURN_IF(nd__scope_of("einsum", arrays[0], opts, &scope));
    nd_status status = compute(subscripts, n, arrays, dtype, out);
    nd__scope_leave(&scope);
    return nd__error_as("einsum", status);
}
