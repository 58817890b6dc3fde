/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operators of Array: the array API's, with weak scalars on either side, reflected and in place. */
#include "python/src/array/array.h"

/* An operand that is neither Array nor scalar: lists and NumPy's arrays take part, for all others
 * NotImplemented, so that their own operator is tried. */
static PyObject *with_other(py_state *st, nd_op op, PyObject *l, PyObject *r, PyObject *out)
{
    PyObject *const both[2] = {l, r};
    if (!py_is_operand(l) && !py_is_operand(r))
        Py_RETURN_NOTIMPLEMENTED;
    return py_apply(st, op, both, 2, out);
}

/* What an operator does with a pair of objects of which one is an Array. Two Arrays, and an Array
 * and a scalar, take the fast path; lists and the like do not. */
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
            return with_other(st, op, l, r, NULL);
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
    nd_array *dst = py_array_of(self);
    nd_arg args[2] = {{dst, {0}}, {py_array_get(st, r), {0}}};
    int known = args[1].array ? 1 : py_scalar(r, &args[1].scalar);
    if (known < 0)
        return NULL;
    if (known == 0)
        return with_other(st, op, self, r, self);
    PyThreadState *saved = py_unlock(dst, nd_size(dst));
    nd_status status = nd_apply_into(op, args, 2, NULL, dst);
    py_lock(saved);
    return py_return(st, status, self);
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

static bool is_integer(nd_dtype dtype)
{
    return nd_dtype_get(dtype)->kind & (ND_KIND_INT | ND_KIND_UINT);
}

/* Whether some element of a signed integer array in host memory is below zero; -1: an exception. */
static int has_negative(py_state *st, const nd_array *a)
{
    nd_array *least = NULL;
    nd_scalar s = nd_int(0);
    if (nd_dtype_get(nd_dtype_of(a))->kind != ND_KIND_INT || nd_size(a) == 0 ||
        !py_is_host(nd_device_of(a)))
        return 0;
    PyThreadState *saved = py_unlock(a, nd_size(a));
    nd_status status = nd_min(a, NULL, &least);
    if (status == ND_OK)
        status = nd_item(least, &s);
    nd_release(least);
    py_lock(saved);
    return py_check(st, status) < 0 ? -1 : s.v.i < 0;
}

/* As NumPy: integers to negative integer powers are refused, since the result would be truncated.
 * Exponents in an array of a device that is not the host's are not looked at: that would wait. */
static int check_power(PyObject *l, PyObject *r)
{
    py_state *st = py_state_of_array(l);
    st = st ? st : py_state_of_array(r);
    const nd_array *base = st ? py_array_get(st, l) : NULL,
                   *power = st ? py_array_get(st, r) : NULL;
    nd_scalar s;
    int bad = 0;
    if ((base && !is_integer(nd_dtype_of(base))) || (!base && !PyLong_Check(l)))
        return 0;
    if (power)
        bad = has_negative(st, power);
    else if (PyLong_Check(r))
        bad = py_scalar(r, &s) < 0 ? -1 : s.kind == ND_I64 && s.v.i < 0;
    if (bad > 0)
        PyErr_SetString(PyExc_ValueError,
                        "integers to negative integer powers are not allowed; make the base "
                        "floating: x.astype(float) ** y");
    return bad ? -1 : 0;
}

/* As NumPy: the number 2 as exponent stands for a product, where that has the dtype of the power. */
static bool is_square(PyObject *l, PyObject *r)
{
    py_state *st = py_state_of_array(l);
    const nd_array *base = st ? py_array_get(st, l) : NULL;
    if (!base || nd_dtype_of(base) == ND_BOOL)
        return false;
    int overflow;
    if (PyLong_CheckExact(r))
        return PyLong_AsLongAndOverflow(r, &overflow) == 2;
    return PyFloat_CheckExact(r) && PyFloat_AsDouble(r) == 2 && !is_integer(nd_dtype_of(base));
}

static PyObject *power(PyObject *l, PyObject *r, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    if (is_square(l, r))
        return binary(ND_OP_multiply, l, l);
    return check_power(l, r) < 0 ? NULL : binary(ND_OP_pow, l, r);
}
static PyObject *inplace_power(PyObject *l, PyObject *r, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    if (is_square(l, r))
        return in_place(ND_OP_multiply, l, l);
    return check_power(l, r) < 0 ? NULL : in_place(ND_OP_pow, l, r);
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

/* Two Arrays, or an Array and what py_operand makes one of; *made is for nd_release. */
static int factors(py_state *st, PyObject *l, PyObject *r, nd_array **a, nd_array **b,
                   nd_array **made)
{
    *a = st ? py_array_get(st, l) : NULL;
    *b = st ? py_array_get(st, r) : NULL;
    *made = NULL;
    if (*a && *b)
        return 1;
    if (!*a && !*b)
        return 0;
    int known = py_operand(st, "matmul", *a ? r : l, *a ? *a : *b, made);
    *(*a ? b : a) = *made;
    return known;
}

static PyObject *matmul(PyObject *l, PyObject *r)
{
    py_state *st = py_state_of_array(l);
    st = st ? st : py_state_of_array(r);
    nd_array *a, *b, *made, *out;
    int known = factors(st, l, r, &a, &b, &made);
    if (known == 0)
        Py_RETURN_NOTIMPLEMENTED;
    if (known < 0)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    nd_status status = nd_matmul(a, b, NULL, &out);
    py_lock(saved);
    nd_release(made);
    return py_result(st, status, &out);
}

/* The product gets memory of its own, since the operands' elements are read more than once. */
static PyObject *inplace_matmul(PyObject *l, PyObject *r)
{
    PyObject *product = matmul(l, r);
    if (!product || product == Py_NotImplemented)
        return product;
    py_state *st = py_state_of_array(l);
    nd_array *dst = py_array_of(l), *src = py_array_of(product);
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
    return py_return(st, status, l);
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
