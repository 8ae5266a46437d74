// Running a recurrent layer (ir/graph/recurrence.h): its step is a plan like others, found by its key, and runs for each row over
// memory that is its own: what it reads and makes of a row lies a row further in the next.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ir/graph/recurrence.h"
#include "runtime/memory/buffer.h"
#include "runtime/plan/plan.h"

namespace tenon::runtime {

// The plan of a step, and where its places lie, for any number of rows.
struct RecurrentWork {
  std::shared_ptr<Plan> plan;
  bool last_first;                // the last row's step is the first
  std::vector<uint64_t> scalars;  // of all steps of the plan
  // By place of the plan.
  struct Lies {
    int32_t operand;          // of the operation, in the order of a step's buffers; or, if it is kNone,
    int32_t arena;            // in this arena
    int64_t offset;           // bytes from there on,
    int64_t before = 0;       // for each row that there is,
    int64_t row = 0;          // and for each that stands before this one,
    int64_t shift = 0;        // which counts so many more
    int32_t outside = kNone;  // operand that stands in where there is no such row; kNone: there always is
  };
  std::vector<Lies> places;
};

// The work of a node over placeholders; that of an equal step is found, whatever its rows. Holds no lock of evaluations. Throws as
// build_plan and Plan::find_code.
std::shared_ptr<const RecurrentWork> recurrent_work(const ir::Node& node, const Options& options);
void forget_recurrent_works();  // under the lock of evaluations

// Memory of one run.
struct RecurrentMemory {
  std::vector<std::shared_ptr<Buffer>> arenas;  // parallel to the plan's
  std::vector<std::shared_ptr<Buffer>> packed;  // by step; null if it packs nothing
};
RecurrentMemory allocate(const RecurrentWork& work);

// `buffers`: the operands and the result. `launched` is called after each launch, with its step.
void run_rows(const RecurrentWork& work, int64_t rows, const RecurrentMemory& memory, std::span<void* const> buffers,
              const std::function<void(const Step&)>& launched);

}  // namespace tenon::runtime
