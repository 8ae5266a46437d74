// The lock of evaluations, held over a fork.
#include "runtime/base/evaluation_mutex.h"

#include <memory>

#include "ir/base/fork.h"

namespace tenon::runtime {

EvaluationMutex& evaluation_mutex() {
  static auto* const mutex = new EvaluationMutex;  // never destroyed: static tensors may evaluate at exit
  return *mutex;
}

[[maybe_unused]] const bool evaluation_held_over_fork = ir::hold_over_fork(
    ir::ForkOrder::Evaluation, {[] { evaluation_mutex().lock_for_fork(); }, [] { evaluation_mutex().unlock_after_fork(); },
                                [] { std::construct_at(&evaluation_mutex()); }});

}  // namespace tenon::runtime
