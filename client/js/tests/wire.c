/* SPDX-License-Identifier: Apache-2.0
 * The program of wire.test.ts in C. */
#include <burn/burn.h>
#include <burn/burn_ops.h>
#include <stdlib.h>

static void need(burn_status status)
{
    if (status != BURN_STATUS_OK)
        exit(1);
}

int main(void)
{
    enum { LARGE = 700000 };
    static float large[LARGE], out[LARGE];
    const float few[6] = {1, 2, 3, 4, 5, 6}, weights[3] = {0.5f, -1, 2};
    const int64_t two_three[2] = {2, 3}, three_one[2] = {3, 1}, many[1] = {LARGE}, part[1] = {5000};
    burn_context *context;
    burn_tensor *x, *w, *y, *z, *sum, *big, *middle, *both;
    for (int i = 0; i < LARGE; i++)
        large[i] = (float)(i % 251);
    need(burn_open(NULL, &context));
    need(burn_upload(context, BURN_DTYPE_FLOAT32, 2, two_three, few, &x));
    need(burn_upload(context, BURN_DTYPE_FLOAT32, 2, three_one, weights, &w));
    need(burn_set_requires_grad(w, 1));
    need(burn_matmul(context, burn_in(x), burn_in(w), &y));
    need(burn_mul(context, burn_in(y), burn_float(2.5), &z));
    need(burn_sum(context, burn_in(z), 0, NULL, 0, 0, &sum));
    need(burn_backward(context, &sum, NULL, 1, NULL, 0, 0));
    need(burn_flush(context));
    burn_release(y);
    burn_release(z);
    need(burn_read(burn_grad(w), out, 3 * sizeof *out));
    need(burn_upload(context, BURN_DTYPE_FLOAT32, 1, many, large, &big));
    need(burn_upload(context, BURN_DTYPE_FLOAT32, 1, part, large, &middle));
    need(burn_exp(context, burn_in(middle), &both));
    need(burn_mark(context));
    burn_release(middle);
    burn_release(both);
    need(burn_sync(context));
    need(burn_read(big, out, sizeof out));
    burn_release(big);
    need(burn_flush(context));
    burn_close(context);
    return 0;
}
