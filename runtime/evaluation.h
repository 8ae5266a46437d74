// What evaluate.h and the reports share: the lock under which graphs are walked, and the salt of their keys.
#pragma once

#include <mutex>

#include "runtime/options.h"

namespace tenon::runtime {

std::mutex& evaluation_mutex();

// The options that change what a plan does, as the first word of its key.
uint64_t key_salt(const Options& options);

// The graphs of the last plans. Under the lock.
const class PastPlans& past_plans();

// Prints the stages that TENON_DUMP asks for. Called for each new plan, under the lock.
void dump_new_plan(int plan, const struct GraphKey& key, const Options& options);

}  // namespace tenon::runtime
