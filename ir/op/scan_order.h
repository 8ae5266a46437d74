// The order in which a scan combines the elements of a line. Both interpreters scan through here; every schedule follows it to the
// bit.
//
// From first to last: y[s] = y[s-1] o x[s]. What integers and extremes come to does not depend on how they are grouped. Sums of floats
// have another order, a function of s alone, so that the parts of a line can be scanned at the same time:
//
//   a line is cut into runs of 64 elements, blocks of 64 runs and spans of 64 blocks, each summed in order
//   y[s] = ((spans + blocks) + runs) + elements     the spans before that of s, the blocks before that of s in its span, the runs
//                                                   before that of s in its block, the elements of its run up to s
//
// Up to 64 elements that is first to last too; beyond, an element has been through fewer roundings. Products of floats keep the plain
// order: those of a run may leave the range of the type where y does not, and after a 0, 0 * inf would be nan.
#pragma once

#include <array>

#include "ir/op/ops.h"

namespace tenon::ir {

inline constexpr int64_t kScanRun = 64;  // elements
inline constexpr int64_t kScanBlock = kScanRun * kScanRun;
inline constexpr int64_t kScanSpan = kScanRun * kScanBlock;

// Whether its bits are the same however its elements are grouped.
inline bool scan_is_associative(Op scan, DType dtype) { return !is_float(dtype) || scan == Op::ScanMax || scan == Op::ScanMin; }
inline bool scan_by_runs(Op scan, DType dtype) { return scan == Op::ScanSum && is_float(dtype); }

// A line from first to last: `combine` and its identity on a type of the caller's. `runs`: by runs.
template <typename Acc, typename Combine>
class ScanInOrder {
 public:
  ScanInOrder(bool runs, const Acc& identity, Combine combine) : runs_(runs), identity_(identity), before_(identity), combine_(combine) {
    sums_.fill(identity);
  }

  // The result at the next element.
  Acc next(const Acc& element) {
    if (runs_ && count_ > 0 && count_ % kScanRun == 0) begin_run();
    ++count_;
    sums_[0] = combine_(sums_[0], element);
    return combine_(before_, sums_[0]);
  }

 private:
  // What is whole goes up a level, and starts anew.
  void begin_run() {
    int64_t whole = kScanRun;
    for (size_t level = 1; level < sums_.size() && count_ % whole == 0; ++level, whole *= kScanRun) {
      sums_[level] = combine_(sums_[level], sums_[level - 1]);
      sums_[level - 1] = identity_;
    }
    before_ = sums_.back();
    for (size_t level = sums_.size() - 1; level-- > 1;) before_ = combine_(before_, sums_[level]);
  }

  bool runs_;
  Acc identity_, before_;  // before_: all runs before this one
  Combine combine_;
  int64_t count_ = 0;
  std::array<Acc, 4> sums_;  // elements, runs, blocks, spans
};

}  // namespace tenon::ir
