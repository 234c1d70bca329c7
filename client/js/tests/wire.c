/* SPDX-License-Identifier: Apache-2.0
 * The conversation of tests/integration/conversation.py in C. */
#include <burn/burn.h>
#include <burn/burn_ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(burn_status status)
{
    if (status != BURN_STATUS_OK)
        exit(1);
}

static void show(const float *values, int count, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)values;
    for (size_t i = 0; i < (size_t)count * sizeof *values; i++)
        printf("%02x", bytes[i]);
    printf("%s", end);
}

int main(void)
{
    enum { LARGE = 600000 };
    static float large[LARGE], out[LARGE];
    const float few[6] = {1, 2, 3, 4, 5, 6}, weights[3] = {0.5f, -1, 2};
    const int64_t two_three[2] = {2, 3}, three_one[2] = {3, 1}, many[1] = {LARGE}, first[1] = {0};
    burn_context *context;
    burn_tensor *x, *w, *y, *z, *sum, *big, *d, *p, *t, *u;
    for (int i = 0; i < LARGE; i++)
        large[i] = (float)i;
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
    show(out, 3, " ");
    need(burn_upload(context, BURN_DTYPE_FLOAT32, 1, many, large, &big));
    need(burn_detach(w, &d));
    need(burn_add(context, burn_in(d), burn_int(300), &p));
    need(burn_mean(context, burn_in(p), 1, first, 0, 0, &t));
    need(burn_clamp(context, burn_in(t), burn_none(), burn_float(300.25), &u));
    need(burn_mark(context));
    burn_release(d);
    burn_release(p);
    burn_release(t);
    need(burn_sync(context));
    need(burn_read(u, out, sizeof *out));
    show(out, 1, "\n");
    need(burn_read(big, out, sizeof out));
    if (memcmp(out, large, sizeof out) != 0)
        return 1;
    burn_release(big);
    need(burn_flush(context));
    burn_close(context);
    return 0;
}
