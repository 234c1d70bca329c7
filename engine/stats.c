/* SPDX-License-Identifier: Apache-2.0
 * What an engine tells about itself. Thread: any. */
#include "engine/core.h"
#include "engine/engine.h"
#include "engine/engine_parts.h"

static uint64_t read_counter(atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void bd_engine_get_stats(bd_engine *engine, bd_engine_stats *out)
{
    bd_core *core = &engine->core;
    bd_device_counters device = {0};
    core->ops->counters(core->device, &device);
    *out = (bd_engine_stats){
        .compiles = device.compiles,
        .cache_hits = device.cache_hits,
        .analyses = read_counter(&core->counters.analyses),
        .replays = read_counter(&core->counters.replays),
        .launches = read_counter(&core->counters.launches),
        .fallbacks = device.fallbacks + read_counter(&core->counters.fallbacks),
        .known_plans = read_counter(&core->counters.known_plans),
        .run_us = read_counter(&core->counters.run_ns) / 1000,
        .ops = read_counter(&core->counters.ops),
        .cuts = read_counter(&core->counters.cuts),
        .sessions = read_counter(&core->counters.sessions),
        .code_bytes = device.code_bytes,
        .library_plans = device.library_plans,
        .names = read_counter(&core->counters.names),
        .named_bytes = bd_memory_bytes_from(core->memory, BD_HOLDERS_FROM),
        .restarts = read_counter(&core->counters.restarts),
        .device_is_gone = atomic_load(&core->counters.device_is_gone),
        .lent_us = device.lent_us,
        .cleared_bytes = bd_memory_cleared_bytes(core->memory),
    };
    bd_histogram_read(&core->counters.queued, &out->queued);
    bd_histogram_read(&core->counters.run, &out->run);
    bd_histogram_read(&core->counters.compiled, &out->compiled);
    bd_memory_gauges(core->memory, &out->device_bytes, &out->pool_bytes, &out->tensors);
}

void bd_engine_describe(bd_engine *engine, bd_device_facts *out)
{
    engine->core.ops->describe(engine->core.device, out);
}

bool bd_engine_session_stats(bd_engine *engine, uint64_t session, bd_session_gauges *out)
{
    return bd_memory_session_gauges(engine->core.memory, session, out);
}

char *bd_engine_kernels_json(bd_engine *engine)
{
    return bd_cache_json(engine->core.cache);
}
