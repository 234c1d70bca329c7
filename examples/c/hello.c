/* SPDX-License-Identifier: Apache-2.0
 * The smallest whole program: two tensors to the daemon, one product back, one gradient. */
#include <stdio.h>

#include <burn/burn.h>
#include <burn/burn_ops.h>

static int fail(void)
{
    fprintf(stderr, "hello: %s\n", burn_last_error()->text);
    return 1;
}

int main(void)
{
    const int64_t shape[2] = {2, 2};
    const float values[4] = {1, 2, 3, 4};
    float result[4];
    burn_context *context = NULL;
    burn_tensor *x = NULL, *square = NULL, *sum = NULL;

    if (burn_open(NULL, &context)) /* BURN_URL, the usual sockets, or a private daemon */
        return fail();
    if (burn_upload(context, BURN_DTYPE_FLOAT32, 2, shape, values, &x) ||
        burn_set_requires_grad(x, 1) || burn_matmul(context, burn_in(x), burn_in(x), &square) ||
        burn_sum(context, burn_in(square), 0, NULL, 0, 0, &sum) ||
        burn_read(square, result, sizeof result))
        return fail();
    printf("x @ x = [[%g, %g], [%g, %g]]\n", result[0], result[1], result[2], result[3]);

    if (burn_backward(context, &sum, NULL, 1, NULL, 0, 0) ||
        burn_read(burn_grad(x), result, sizeof result))
        return fail();
    printf("gradient of its sum = [[%g, %g], [%g, %g]]\n", result[0], result[1], result[2],
           result[3]);

    burn_release(sum);
    burn_release(square);
    burn_release(x);
    burn_close(context);
    return 0;
}
