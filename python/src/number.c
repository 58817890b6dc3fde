/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operators of Array: the array API's, with weak scalars on either side, reflected and in place. */
#include "py.h"

/* NotImplemented, so that the other object's operator is tried; NumPy's arrays have left the
 * operation to us (__array_ufunc__ is None), and would go on to complain of something else. */
static PyObject *not_ours(PyObject *l, PyObject *r)
{
    PyObject *const both[2] = {l, r};
    for (int i = 0; i < 2; i++)
        if (py_is_numpy_array(both[i]))
            return PyErr_Format(PyExc_TypeError,
                                "numpy.ndarray and ndock.Array do not mix; ndock.asarray(x) makes "
                                "an Array of the one, numpy.asarray(x) an ndarray of the other");
    Py_RETURN_NOTIMPLEMENTED;
}

/* What an operator does with a pair of objects one of which is an Array: array with array or with a
 * scalar on the right go the short way; NotImplemented for other objects, so that theirs is tried.
 */
static PyObject *binary(nd_op op, PyObject *l, PyObject *r)
{
    py_state *st = py_state_of_array(l);
    st = st ? st : py_state_of_array(r);
    if (!st)
        Py_RETURN_NOTIMPLEMENTED;
    nd_arg args[2] = {{py_array_get(st, l), {0}}, {py_array_get(st, r), {0}}};
    PyObject *const objects[2] = {l, r};
    for (int i = 0; i < 2; i++) {
        int known = args[i].array ? 1 : py_scalar(objects[i], &args[i].scalar);
        if (known < 0)
            return NULL;
        if (known == 0)
            return not_ours(l, r);
    }
    const nd_array *first = args[0].array ? args[0].array : args[1].array;
    nd_array *out = NULL;
    PyThreadState *saved = py_unlock(first, nd_size(first));
    nd_status status = nd_apply(op, args, 2, NULL, &out);
    py_lock(saved);
    return py_result(st, status, &out);
}

/* self op= r: the elements change, the object stays. */
static PyObject *in_place(nd_op op, PyObject *self, PyObject *r)
{
    py_state *st = py_state_of_array(self);
    nd_array *dst = ((py_array *)self)->a;
    nd_arg args[2] = {{dst, {0}}, {py_array_get(st, r), {0}}};
    int known = args[1].array ? 1 : py_scalar(r, &args[1].scalar);
    if (known < 0)
        return NULL;
    if (known == 0)
        return not_ours(self, r);
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    nd_status status = nd_apply_into(op, args, 2, NULL, dst);
    py_lock(saved);
    return status == ND_OK ? Py_NewRef(self) : py_fail(st, status);
}

static PyObject *unary(nd_op op, PyObject *self)
{
    return py_apply(py_state_of_array(self), op, &self, 1, NULL);
}

/* Every operator once: slot, its in-place slot, op. */
#define BINARY_OPERATORS(X)                             \
    X(add, inplace_add, add)                            \
    X(subtract, inplace_subtract, subtract)             \
    X(multiply, inplace_multiply, multiply)             \
    X(true_divide, inplace_true_divide, divide)         \
    X(floor_divide, inplace_floor_divide, floor_divide) \
    X(remainder, inplace_remainder, remainder)          \
    X(and, inplace_and, bitwise_and)                    \
    X(or, inplace_or, bitwise_or)                       \
    X(xor, inplace_xor, bitwise_xor)                    \
    X(lshift, inplace_lshift, bitwise_left_shift)       \
    X(rshift, inplace_rshift, bitwise_right_shift)
#define UNARY_OPERATORS(X) \
    X(negative, negative)  \
    X(positive, positive)  \
    X(absolute, abs)       \
    X(invert, bitwise_invert)

#define DEFINE_BINARY(slot, inplace, op)                  \
    static PyObject *slot##_(PyObject *l, PyObject *r)    \
    {                                                     \
        return binary(ND_OP_##op, l, r);                  \
    }                                                     \
    static PyObject *inplace##_(PyObject *l, PyObject *r) \
    {                                                     \
        return in_place(ND_OP_##op, l, r);                \
    }
#define DEFINE_UNARY(slot, op)               \
    static PyObject *slot##_(PyObject *self) \
    {                                        \
        return unary(ND_OP_##op, self);      \
    }
BINARY_OPERATORS(DEFINE_BINARY)
UNARY_OPERATORS(DEFINE_UNARY)

static PyObject *power(PyObject *l, PyObject *r, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary(ND_OP_pow, l, r);
}
static PyObject *inplace_power(PyObject *l, PyObject *r, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return in_place(ND_OP_pow, l, r);
}

/* The pair of quotient and remainder. */
static PyObject *divide_modulo(PyObject *l, PyObject *r)
{
    PyObject *quotient = binary(ND_OP_floor_divide, l, r);
    if (!quotient || quotient == Py_NotImplemented)
        return quotient;
    PyObject *rest = binary(ND_OP_remainder, l, r);
    PyObject *both = rest ? PyTuple_Pack(2, quotient, rest) : NULL;
    Py_DECREF(quotient);
    Py_XDECREF(rest);
    return both;
}

static PyObject *matmul(PyObject *l, PyObject *r)
{
    py_state *st = py_state_of_array(l);
    st = st ? st : py_state_of_array(r);
    nd_array *a = st ? py_array_get(st, l) : NULL, *b = st ? py_array_get(st, r) : NULL, *out;
    if (!a || !b)
        return not_ours(l, r);
    PyThreadState *saved = py_unlock(a, nd_size(a) + nd_size(b));
    nd_status status = nd_matmul(a, b, NULL, &out);
    py_lock(saved);
    return py_result(st, status, &out);
}

/* Through a product of its own, since an operand's elements are read more than once. */
static PyObject *inplace_matmul(PyObject *l, PyObject *r)
{
    PyObject *product = matmul(l, r);
    if (!product || product == Py_NotImplemented)
        return product;
    py_state *st = py_state_of_array(l);
    nd_array *dst = ((py_array *)l)->a, *src = ((py_array *)product)->a;
    nd_status status = ND_OK;
    bool same = nd_ndim(src) == nd_ndim(dst);
    for (int i = 0; same && i < nd_ndim(dst); i++)
        same = nd_shape(src)[i] == nd_shape(dst)[i];
    if (same)
        status = nd_assign(src, dst);
    else
        PyErr_SetString(PyExc_ValueError, "@=: the product has another shape than the left side");
    Py_DECREF(product);
    if (!same)
        return NULL;
    return status == ND_OK ? Py_NewRef(l) : py_fail(st, status);
}

PyObject *py_array_compare(PyObject *l, PyObject *r, int how)
{
    static const nd_op ops[] = {
        [Py_LT] = ND_OP_less,      [Py_LE] = ND_OP_less_equal, [Py_EQ] = ND_OP_equal,
        [Py_NE] = ND_OP_not_equal, [Py_GT] = ND_OP_greater,    [Py_GE] = ND_OP_greater_equal};
    return binary(ops[how], l, r);
}

#define BINARY_SLOTS(slot, inplace, op) \
    {Py_nb_##slot, (void *)slot##_}, {Py_nb_##inplace, (void *)inplace##_},
#define UNARY_SLOTS(slot, op) {Py_nb_##slot, (void *)slot##_},
const PyType_Slot py_number_slots[] = {BINARY_OPERATORS(BINARY_SLOTS)
                                           UNARY_OPERATORS(UNARY_SLOTS){Py_nb_power, (void *)power},
                                       {Py_nb_inplace_power, (void *)inplace_power},
                                       {Py_nb_divmod, (void *)divide_modulo},
                                       {Py_nb_matrix_multiply, (void *)matmul},
                                       {Py_nb_inplace_matrix_multiply, (void *)inplace_matmul},
                                       {0, NULL}};
