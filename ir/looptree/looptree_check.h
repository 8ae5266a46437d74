// The rules of the loop tree, statement by statement, shared by its verifier and its parser (which adds the
// line).
#pragma once

#include <vector>

#include "ir/looptree/looptree.h"

namespace tenon::ir {

class TreeChecker {
 public:
  explicit TreeChecker(const LoopTree& tree) : tree_(tree) {}

  void check_header() const;  // lanes, buffers and their names
  void begin_phase(const Phase& phase);
  // Operands, types and slots of one statement, not of the statements inside it; then defines its result. The
  // result of a For is defined by open_block instead, since it is visible in the loop alone.
  void check(const Stmt& stmt);
  void open_block(const Stmt* header = nullptr);  // the For or the If whose block it is
  void close_block();                             // what was defined since the matching open_block is out of scope
  void end_phase();

 private:
  enum class Kind : uint8_t { Undefined, Value, Register };

  void define(ValueId v, Kind kind);
  bool is_uniform(const Stmt& stmt) const;
  bool are_uniform(const SmallVector<ValueId, 3>& values) const;
  VType use(ValueId v, Kind kind = Kind::Value) const;
  VType scalar_use(ValueId v) const;
  VType result(const Stmt& stmt) const;
  void arity(const Stmt& stmt, size_t count) const;
  void check_let(const Stmt& stmt) const;
  void check_buffer(const Stmt& stmt) const;
  void check_access(const Stmt& stmt) const;
  void check_tile(const Stmt& stmt) const;
  void check_mma(const Stmt& stmt) const;
  void check_statement(const Stmt& stmt);
  void check_copy(const Stmt& stmt) const;
  void check_order(const Stmt& stmt);

  const LoopTree& tree_;
  std::vector<Kind> kinds_;
  std::vector<bool> uniform_;     // of each value: all threads of a block surely have the same
  std::vector<ValueId> defined_;  // in order; a block closes by cutting it back
  struct Block {
    size_t defined;  // before it
    bool branch;     // of an if that some threads of a block may pass by, or a loop that some may go round more often
    bool loop;
    int waits;  // before it
  };
  std::vector<Block> blocks_;
  // How far a phase is with its asynchronous copies, as they stand in the text.
  struct Copies {
    bool uncommitted = false, unawaited = false;  // a copy that no commit, or no wait, followed yet
    int waits = 0;
    bool seen = false;              // a barrier came after a wait
    std::vector<bool> filled = {};  // by buffer
  };
  Copies copies_;
};

inline constexpr size_t kMaxLoopDepth = 64;  // deeper nesting is refused, so that recursion over a tree is safe

}  // namespace tenon::ir
