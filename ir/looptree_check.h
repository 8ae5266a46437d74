// The rules of the loop tree, statement by statement, shared by its verifier and its parser (which adds the
// line).
#pragma once

#include <vector>

#include "ir/looptree.h"

namespace tenon::ir {

class TreeChecker {
 public:
  explicit TreeChecker(const LoopTree& tree) : tree_(tree) {}

  void check_header() const;  // lanes, buffers and their names
  void begin_phase(const Phase& phase);
  // Operands, types and slots of one statement, not of the statements inside it; then defines its result. The
  // result of a For is defined by open_block instead, since it is visible in the loop alone.
  void check(const Stmt& stmt);
  void open_block(ValueId loop_variable = -1);
  void close_block();  // what was defined since the matching open_block is out of scope

 private:
  enum class Kind : uint8_t { Undefined, Value, Register };

  void define(ValueId v, Kind kind);
  VType use(ValueId v, Kind kind = Kind::Value) const;
  VType scalar_use(ValueId v) const;
  VType result(const Stmt& stmt) const;
  void arity(const Stmt& stmt, size_t count) const;
  void check_let(const Stmt& stmt) const;
  void check_buffer(const Stmt& stmt) const;
  void check_access(const Stmt& stmt) const;
  void check_tile(const Stmt& stmt) const;
  void check_mma(const Stmt& stmt) const;

  const LoopTree& tree_;
  std::vector<Kind> kinds_;
  std::vector<ValueId> defined_;  // in order; a block closes by cutting it back
  std::vector<size_t> blocks_;
};

inline constexpr size_t kMaxLoopDepth =
    64;  // deeper nesting is refused, so that recursion over a tree is safe

}  // namespace tenon::ir
