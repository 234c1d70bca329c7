/* SPDX-License-Identifier: Apache-2.0
 * The number slots and comparisons of Tensor. */
#include "client/python/core/core.h"

#include "client/python/core/ops.h"

/* ---- binary ---------------------------------------------------------------------------------- */

/* Operands that are no tensors or numbers: arrays become tensors, the rest is the hook's. */
static PyObject *binary_other(const char *name, int op, PyObject *a, PyObject *b)
{
    if (core_is_array(a) || core_is_array(b)) {
        burn_input inputs[2];
        PyObject *owners[2] = {NULL, NULL}, *result = NULL;
        if (core_to_input_or_array(a, &inputs[0], &owners[0]) > 0 &&
            core_to_input_or_array(b, &inputs[1], &owners[1]) > 0)
            result = core_apply1(op, inputs, 2, NULL, 0);
        Py_XDECREF(owners[0]);
        Py_XDECREF(owners[1]);
        if (result || PyErr_Occurred())
            return result;
    }
    PyObject *hook = core.hooks[HOOK_BINARY];
    if (!hook)
        Py_RETURN_NOTIMPLEMENTED;
    bool reflected = !is_tensor(a);
    return PyObject_CallFunction(hook, "sOOO", name, reflected ? b : a, reflected ? a : b,
                                 reflected ? Py_True : Py_False);
}

static PyObject *binary(PyObject *a, PyObject *b, int op, const char *name)
{
    burn_input inputs[2];
    int left = core_to_input(a, &inputs[0]);
    int right = left > 0 ? core_to_input(b, &inputs[1]) : left;
    if (right > 0)
        return core_apply1(op, inputs, 2, NULL, 0);
    return right < 0 ? NULL : binary_other(name, op, a, b);
}

static PyObject *into(PyObject *self, PyObject *result)
{
    if (!result || result == Py_NotImplemented)
        return result;
    burn_status status = burn_assign(tensor_of(self), burn_in(tensor_of(result)), 0);
    Py_DECREF(result);
    if (status != BURN_STATUS_OK)
        return core_raise(status);
    core_note_location(burn_context_of(tensor_of(self)));
    Py_INCREF(self);
    return self;
}

#define BINARY(function, OP, name)                                                                 \
    static PyObject *function(PyObject *a, PyObject *b)                                            \
    {                                                                                              \
        return binary(a, b, OP, name);                                                             \
    }
#define INPLACE(function, forward)                                                                 \
    static PyObject *function(PyObject *a, PyObject *b)                                            \
    {                                                                                              \
        return into(a, forward(a, b));                                                             \
    }

BINARY(add, OP_ADD, "add")
BINARY(subtract, OP_SUB, "sub")
BINARY(multiply, OP_MUL, "mul")
BINARY(divide, OP_DIV, "truediv")
BINARY(floor_divide, OP_FLOOR_DIVIDE, "floordiv")
BINARY(remainder_of, OP_REMAINDER, "mod")
BINARY(bit_and, OP_BITWISE_AND, "and")
BINARY(bit_or, OP_BITWISE_OR, "or")
BINARY(bit_xor, OP_BITWISE_XOR, "xor")
BINARY(shift_left, OP_BITWISE_LEFT_SHIFT, "lshift")
BINARY(shift_right, OP_BITWISE_RIGHT_SHIFT, "rshift")
INPLACE(add_into, add)
INPLACE(subtract_into, subtract)
INPLACE(multiply_into, multiply)
INPLACE(divide_into, divide)
INPLACE(floor_divide_into, floor_divide)
INPLACE(remainder_into, remainder_of)
INPLACE(and_into, bit_and)
INPLACE(or_into, bit_or)
INPLACE(xor_into, bit_xor)
INPLACE(shift_left_into, shift_left)
INPLACE(shift_right_into, shift_right)

static PyObject *matrix_multiply(PyObject *a, PyObject *b)
{
    if (core.hooks[HOOK_MATMUL] && is_tensor(a) && is_tensor(b))
        return PyObject_CallFunctionObjArgs(core.hooks[HOOK_MATMUL], a, b, NULL);
    if (!is_tensor(a) && !core_is_array(a))
        Py_RETURN_NOTIMPLEMENTED;
    if (!is_tensor(b) && !core_is_array(b))
        Py_RETURN_NOTIMPLEMENTED;
    return is_tensor(a) && is_tensor(b) ? binary(a, b, OP_MATMUL, "matmul")
                                        : binary_other("matmul", OP_MATMUL, a, b);
}

INPLACE(matrix_multiply_into, matrix_multiply)

static PyObject *unary(PyObject *self, int op)
{
    burn_input input = burn_in(tensor_of(self));
    return core_apply1(op, &input, 1, NULL, 0);
}

enum { CUBE = -3 };

/* x * x², as PyTorch computes it. */
static PyObject *cube(PyObject *self)
{
    PyObject *square = unary(self, OP_SQUARE);
    PyObject *result = square ? binary(self, square, OP_MUL, "mul") : NULL;
    Py_XDECREF(square);
    return result;
}

/* The exponents that have ops of their own, as PyTorch computes them. */
static int special_power(PyObject *base, PyObject *exponent)
{
    if (!is_tensor(base) || is_tensor(exponent))
        return 0;
    double value = PyFloat_CheckExact(exponent) ? PyFloat_AsDouble(exponent)
                   : PyLong_CheckExact(exponent) && !PyBool_Check(exponent)
                       ? PyLong_AsDouble(exponent)
                       : 0;
    PyErr_Clear();
    bool whole = !PyFloat_CheckExact(exponent);
    int dtype = burn_dtype_of(tensor_of(base));
    bool real = dtype >= BURN_DTYPE_FLOAT64 && dtype <= BURN_DTYPE_BFLOAT16;
    if (value == 2 && (whole || real) && dtype != BURN_DTYPE_BOOL)
        return OP_SQUARE;
    if (value == 3 && real)
        return CUBE;
    if (value == 0.5 && real)
        return OP_SQRT;
    return value == -1 && real ? OP_RECIPROCAL : 0;
}

static bool is_negative_power_of_integers(PyObject *base, PyObject *exponent)
{
    if (!is_tensor(base) || !PyLong_Check(exponent) || PyBool_Check(exponent))
        return false;
    int dtype = burn_dtype_of(tensor_of(base)), overflow;
    long long value = PyLong_AsLongLongAndOverflow(exponent, &overflow);
    return dtype >= BURN_DTYPE_INT64 && (overflow < 0 || (overflow == 0 && value < 0));
}

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        return core_fail(core.argument_error, "pow() of tensors takes no modulus");
    if (is_negative_power_of_integers(a, b))
        return core_fail(core.invalid_error,
                         "Integers to negative integer powers are not allowed.");
    int op = special_power(a, b);
    if (op == 0)
        return binary(a, b, OP_POW, "pow");
    return op == CUBE ? cube(a) : unary(a, op);
}

static PyObject *power_into(PyObject *a, PyObject *b, PyObject *modulus)
{
    return into(a, power(a, b, modulus));
}

/* ---- unary ----------------------------------------------------------------------------------- */

static PyObject *negative(PyObject *self)
{
    return unary(self, OP_NEG);
}

static PyObject *positive(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static PyObject *absolute(PyObject *self)
{
    return unary(self, OP_ABS);
}

static PyObject *invert(PyObject *self)
{
    return unary(self, OP_BITWISE_NOT);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static PyObject *compare(PyObject *a, PyObject *b, int how)
{
    static const int ops[] = {[Py_LT] = OP_LT, [Py_LE] = OP_LE, [Py_EQ] = OP_EQ,
                              [Py_NE] = OP_NE, [Py_GT] = OP_GT, [Py_GE] = OP_GE};
    static const char *const names[] = {[Py_LT] = "lt", [Py_LE] = "le", [Py_EQ] = "eq",
                                        [Py_NE] = "ne", [Py_GT] = "gt", [Py_GE] = "ge"};
    return binary(a, b, ops[how], names[how]);
}

static Py_hash_t hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)self >> 4);
}

/* ---- conversion ------------------------------------------------------------------------------ */

static int truth(PyObject *self)
{
    int64_t count = burn_elements(tensor_of(self));
    if (count != 1) {
        core_fail(core.invalid_error, "Boolean value of Tensor with %s is ambiguous",
                  count == 0 ? "no values" : "more than one value");
        return -1;
    }
    PyObject *value = core_scalar(self);
    int result = value ? PyObject_IsTrue(value) : -1;
    Py_XDECREF(value);
    return result;
}

static PyObject *to_int(PyObject *self)
{
    PyObject *value = core_scalar(self);
    PyObject *result = value ? PyNumber_Long(value) : NULL;
    Py_XDECREF(value);
    return result;
}

static PyObject *to_float(PyObject *self)
{
    PyObject *value = core_scalar(self);
    PyObject *result = value ? PyNumber_Float(value) : NULL;
    Py_XDECREF(value);
    return result;
}

static PyObject *to_index(PyObject *self)
{
    int dtype = burn_dtype_of(tensor_of(self));
    if (dtype <= BURN_DTYPE_BFLOAT16 || burn_elements(tensor_of(self)) != 1)
        return core_fail(core.argument_error,
                         "only integer tensors of a single element can be converted to an index");
    return to_int(self);
}

static int contains(PyObject *self, PyObject *value)
{
    PyObject *equal = compare(self, value, Py_EQ);
    PyObject *found = NULL;
    if (equal && equal != Py_NotImplemented)
        found = unary(equal, OP_ANY);
    int result = equal == Py_NotImplemented ? 0 : found ? truth(found) : -1;
    Py_XDECREF(equal);
    Py_XDECREF(found);
    return result;
}

PyType_Slot core_operator_slots[] = {
    {Py_nb_add, add},
    {Py_nb_inplace_add, add_into},
    {Py_nb_subtract, subtract},
    {Py_nb_inplace_subtract, subtract_into},
    {Py_nb_multiply, multiply},
    {Py_nb_inplace_multiply, multiply_into},
    {Py_nb_true_divide, divide},
    {Py_nb_inplace_true_divide, divide_into},
    {Py_nb_floor_divide, floor_divide},
    {Py_nb_inplace_floor_divide, floor_divide_into},
    {Py_nb_remainder, remainder_of},
    {Py_nb_inplace_remainder, remainder_into},
    {Py_nb_power, power},
    {Py_nb_inplace_power, power_into},
    {Py_nb_matrix_multiply, matrix_multiply},
    {Py_nb_inplace_matrix_multiply, matrix_multiply_into},
    {Py_nb_and, bit_and},
    {Py_nb_inplace_and, and_into},
    {Py_nb_or, bit_or},
    {Py_nb_inplace_or, or_into},
    {Py_nb_xor, bit_xor},
    {Py_nb_inplace_xor, xor_into},
    {Py_nb_lshift, shift_left},
    {Py_nb_inplace_lshift, shift_left_into},
    {Py_nb_rshift, shift_right},
    {Py_nb_inplace_rshift, shift_right_into},
    {Py_nb_negative, negative},
    {Py_nb_positive, positive},
    {Py_nb_absolute, absolute},
    {Py_nb_invert, invert},
    {Py_nb_bool, truth},
    {Py_nb_int, to_int},
    {Py_nb_float, to_float},
    {Py_nb_index, to_index},
    {Py_tp_richcompare, compare},
    {Py_tp_hash, hash},
    {Py_mp_length, core_length},
    {Py_mp_subscript, core_getitem},
    {Py_mp_ass_subscript, core_setitem},
    {Py_sq_length, core_length},
    {Py_sq_item, core_item_at},
    {Py_sq_contains, contains},
    {0, NULL},
};
