/* SPDX-License-Identifier: Apache-2.0
 * Train an MLP 784-512-512-10 on Fashion-MNIST from C; the last line is the test accuracy.
 *
 *     fashion_mnist [--url URL] [--epochs 3] [--data FOLDER] [--json]
 *
 * The images are those of the Debian package dataset-fashion-mnist. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zlib.h>

#include <burn/burn.h>
#include <burn/burn_ops.h>

enum { PIXELS = 784, HIDDEN = 512, CLASSES = 10, LAYERS = 3, BATCH = 128, TEST_BATCH = 1000 };
static const int64_t sizes[LAYERS + 1] = {PIXELS, HIDDEN, HIDDEN, CLASSES};

typedef struct options {
    const char *url, *data;
    int epochs, json;
} options;

typedef struct set {
    int64_t count;
    burn_tensor *images, *labels; /* u8 [count, 784], i64 [count] */
} set;

/* parameters[2 i] is layer i's weight, parameters[2 i + 1] its bias */
typedef struct net {
    burn_tensor *parameters[2 * LAYERS];
} net;

static void check(burn_status status)
{
    if (status == BURN_STATUS_OK)
        return;
    fprintf(stderr, "fashion_mnist: %s: %s\n", burn_status_name(status), burn_last_error()->text);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Bytes of a gzipped IDX file after its header; *count is the first dim. The caller frees them. */
static unsigned char *read_idx(const char *folder, const char *name, int64_t item_bytes,
                               int64_t *count)
{
    char path[1024];
    unsigned char head[16];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    gzFile file = gzopen(path, "rb");
    int head_bytes = item_bytes == 1 ? 8 : 16;
    if (!file || gzread(file, head, (unsigned)head_bytes) != head_bytes) {
        fprintf(stderr,
                "%s cannot be read: install dataset-fashion-mnist, or name another --data\n", path);
        exit(1);
    }
    *count = (int64_t)head[4] << 24 | head[5] << 16 | head[6] << 8 | head[7];
    unsigned char *bytes = malloc((size_t)(*count * item_bytes));
    if (!bytes || gzread(file, bytes, (unsigned)(*count * item_bytes)) != *count * item_bytes) {
        fprintf(stderr, "%s is cut short\n", path);
        exit(1);
    }
    gzclose(file);
    return bytes;
}

static set load(burn_context *context, const char *folder, const char *images, const char *labels)
{
    set loaded = {0};
    unsigned char *pixels = read_idx(folder, images, PIXELS, &loaded.count);
    unsigned char *classes = read_idx(folder, labels, 1, &loaded.count);
    int64_t *wide = malloc((size_t)loaded.count * sizeof *wide);
    for (int64_t i = 0; wide && i < loaded.count; i++)
        wide[i] = classes[i];
    check(burn_upload(context, BURN_DTYPE_UINT8, 2, (int64_t[]){loaded.count, PIXELS}, pixels,
                      &loaded.images));
    check(burn_upload(context, BURN_DTYPE_INT64, 1, &loaded.count, wide, &loaded.labels));
    free(pixels);
    free(classes);
    free(wide);
    return loaded;
}

/* Weights and biases uniform in +-1/sqrt(fan in). */
static net make_net(burn_context *context)
{
    net made;
    for (int i = 0; i < LAYERS; i++) {
        double bound = 1 / sqrt((double)sizes[i]);
        int64_t weight[2] = {sizes[i + 1], sizes[i]};
        for (int j = 0; j < 2; j++) {
            uint64_t seed, offset;
            burn_next_random(context, (uint64_t)(weight[0] * weight[1]), &seed, &offset);
            check(burn_uniform(context, burn_float(-bound), burn_float(bound), j ? 1 : 2, weight,
                               BURN_DTYPE_FLOAT32, (int64_t)seed, (int64_t)offset,
                               &made.parameters[2 * i + j]));
            check(burn_set_requires_grad(made.parameters[2 * i + j], 1));
        }
    }
    return made;
}

/* Pixels of the rows as floats in [0, 1]. */
static burn_tensor *pixels_of(burn_context *context, burn_tensor *rows)
{
    burn_tensor *floats, *scaled;
    check(burn_cast(context, burn_in(rows), BURN_DTYPE_FLOAT32, &floats));
    check(burn_div(context, burn_in(floats), burn_float(255), &scaled));
    burn_release(floats);
    return scaled;
}

static burn_tensor *forward(burn_context *context, const net *model, burn_tensor *own_input)
{
    burn_tensor *x = own_input;
    for (int i = 0; i < LAYERS; i++) {
        burn_tensor *y;
        check(burn_linear(context, burn_in(x), burn_in(model->parameters[2 * i]),
                          burn_in(model->parameters[2 * i + 1]), &y));
        burn_release(x);
        x = y;
        if (i < LAYERS - 1) {
            check(burn_relu(context, burn_in(x), &y));
            burn_release(x);
            x = y;
        }
    }
    return x;
}

static burn_tensor *slice_rows(burn_context *context, burn_tensor *x, int64_t first, int64_t last)
{
    burn_tensor *rows;
    const int64_t *dims = burn_shape_of(x);
    int64_t starts[2] = {first, 0}, stops[2] = {last, burn_rank(x) > 1 ? dims[1] : 0},
            steps[2] = {1, 1};
    int rank = burn_rank(x);
    check(burn_slice(context, burn_in(x), rank, starts, rank, stops, rank, steps, &rows));
    return rows;
}

/* Share of the set that the net names rightly. */
static double evaluate(burn_context *context, const net *model, const set *tests)
{
    double right = 0;
    burn_set_grad_enabled(0);
    for (int64_t first = 0; first < tests->count; first += TEST_BATCH) {
        int64_t last = first + TEST_BATCH < tests->count ? first + TEST_BATCH : tests->count;
        burn_tensor *rows = slice_rows(context, tests->images, first, last);
        burn_tensor *target = slice_rows(context, tests->labels, first, last);
        burn_tensor *logits = forward(context, model, pixels_of(context, rows)), *guess, *same,
                    *count;
        int64_t dim = 1;
        double value;
        check(burn_argmax(context, burn_in(logits), 1, &dim, 0, &guess));
        check(burn_eq(context, burn_in(guess), burn_in(target), &same));
        check(burn_sum(context, burn_in(same), 0, NULL, 0, 0, &count));
        check(burn_item(count, &value));
        right += value;
        burn_tensor *done[] = {rows, target, logits, guess, same, count};
        for (size_t i = 0; i < sizeof done / sizeof *done; i++)
            burn_release(done[i]);
    }
    burn_set_grad_enabled(1);
    return right / (double)tests->count;
}

static void shuffle(int64_t *order, int64_t count, uint64_t *state)
{
    for (int64_t i = count - 1; i > 0; i--) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        int64_t j = (int64_t)((*state >> 33) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void train_step(burn_context *context, const net *model, burn_optimizer *optimizer,
                       const set *train, const int64_t *rows, int64_t count, double *out_loss)
{
    burn_tensor *index, *images, *target, *loss;
    check(burn_upload(context, BURN_DTYPE_INT64, 1, &count, rows, &index));
    check(burn_take(context, burn_in(train->images), burn_in(index), 0, 0, &images));
    check(burn_take(context, burn_in(train->labels), burn_in(index), 0, 0, &target));
    burn_tensor *logits = forward(context, model, pixels_of(context, images));
    check(burn_cross_entropy(context, burn_in(logits), burn_in(target), burn_none(), burn_none(), 1,
                             -100, &loss));
    check(burn_zero_grad(optimizer));
    check(burn_backward(context, &loss, NULL, 1, NULL, 0, 0));
    check(burn_step(optimizer));
    if (out_loss)
        check(burn_item(loss, out_loss));
    burn_tensor *done[] = {index, images, target, logits, loss};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        burn_release(done[i]);
}

static int64_t train(burn_context *context, const net *model, const set *data, int epochs)
{
    burn_optimizer *optimizer;
    burn_adam_options adam = {.struct_size = sizeof adam, .lr = 1e-3};
    uint64_t state = 1;
    int64_t steps = 0, *order = malloc((size_t)data->count * sizeof *order);
    check(burn_adam(context, model->parameters, 2 * LAYERS, &adam, &optimizer));
    for (int64_t i = 0; order && i < data->count; i++)
        order[i] = i;
    for (int epoch = 0; order && epoch < epochs; epoch++) {
        double loss = 0, begin = seconds();
        shuffle(order, data->count, &state);
        for (int64_t first = 0; first < data->count; first += BATCH, steps++) {
            int64_t count = first + BATCH < data->count ? BATCH : data->count - first;
            train_step(context, model, optimizer, data, order + first, count,
                       first + BATCH >= data->count ? &loss : NULL);
        }
        fprintf(stderr, "epoch %d: loss %.4f, %.0f images/s\n", epoch + 1, loss,
                (double)data->count / (seconds() - begin));
    }
    free(order);
    burn_optimizer_destroy(optimizer);
    return steps;
}

static options parse(int argc, char **argv)
{
    options parsed = {NULL, "/usr/share/datasets/fashion-mnist", 3, 0};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--json")) {
            parsed.json = 1;
            continue;
        }
        if (value && !strcmp(argv[i], "--url"))
            parsed.url = value;
        else if (value && !strcmp(argv[i], "--data"))
            parsed.data = value;
        else if (value && !strcmp(argv[i], "--epochs") && atoi(value) > 0)
            parsed.epochs = atoi(value);
        else {
            fprintf(stderr,
                    "usage: fashion_mnist [--url URL] [--epochs N] [--data FOLDER] [--json]\n");
            exit(2);
        }
        i++;
    }
    return parsed;
}

int main(int argc, char **argv)
{
    options chosen = parse(argc, argv);
    burn_options how = {.struct_size = sizeof how, .url = chosen.url};
    burn_context *context;
    double begin = seconds();
    check(burn_open(&how, &context));
    burn_seed(context, 1, 0);
    set data =
        load(context, chosen.data, "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz");
    set tests =
        load(context, chosen.data, "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz");
    net model = make_net(context);
    int64_t steps = train(context, &model, &data, chosen.epochs);
    double accuracy = evaluate(context, &model, &tests);
    for (int i = 0; i < 2 * LAYERS; i++)
        burn_release(model.parameters[i]);
    burn_tensor *done[] = {data.images, data.labels, tests.images, tests.labels};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++)
        burn_release(done[i]);
    burn_close(context);
    if (chosen.json)
        printf("{\"test_accuracy\": %.4f, \"seconds\": %.3f, \"steps\": %lld}\n", accuracy,
               seconds() - begin, (long long)steps);
    else
        printf("test accuracy: %.4f\n", accuracy);
    return 0;
}
