// The pending graph under some roots, walked once: a canonical numbering of its nodes, and a key that two
// graphs share exactly when one plan serves both. Not in the key: which buffers the inputs are, the
// values of constants, unless a pass could turn them into other code (0, 1, -1 and the fill of a pad), and
// where a window of an input begins.
//
// Whether an input counts as constant is in the key: kernels then keep packed copies of it. So is what gradients still to
// come will read (Node::wanted), or, where that is cheap to compute again, the costly values behind it. Held values beside the graph
// that read what it computes on its way are a part of it, or what they read is stored and named in the key.
//
//   for each node   op 0..7 | dtype 8..15 | device 16..23 | flags 24..31
//                   inputs 0..31 | ints (leaf: rank) 32..63
//                   input numbers, ints, the shape of a leaf,
//                   the bits of a constant that changes the code or is the fill of a pad
//                   a slice and a strided view of a buffer have the same words: sizes, strides, offset
//   at the end      the numbers of the roots
//
// A window is a Slice or Strided view of an input, or the part of it that an Update replaces. A plan sees a window by its
// offset from an origin, and takes the origin as an argument, so that a loop over the rows of a tensor has one plan:
//
//   x[i:i+20] and x[j:j+20], nothing is written     two origins, offsets 0: i and j are independent
//   parts of a Cat, and nothing else                an origin each, however many: samples drawn from a set and stacked
//   more than kMostOrigins other windows of x       one origin, the first of them: a stencil, whose distances are fixed
//   x[i] = f(x[i-1])                                one origin, i-1, and offsets 0 and 1: what is written where it is
//                                                   read is another plan
//   x[i] = f(x), or more windows than that beside x   no origin: the offsets are in the key as they are
//
// Gradients of windows of what is computed are pads. Where there are several that put one row (or one element) somewhere along a dim,
// as in an episode's sum of p[t][action[t]], the plan takes the places as arguments too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace tenon::runtime {

struct GraphKey {
  std::vector<ir::Node*> nodes;  // operands first; a node's number is its place here
  std::vector<int32_t> roots;    // numbers, in the order given
  std::vector<uint64_t> words;   // the key itself
  struct Window {
    int32_t node;    // a Slice, Strided or Update
    int32_t origin;  // which
    int64_t offset;  // from there, in elements: what the key has
  };
  std::vector<Window> windows;   // operands first
  std::vector<int64_t> origins;  // in elements of the buffers; not in the key
  struct Place {
    int32_t pad;  // its number
    int32_t dim;
  };
  std::vector<Place> places;          // where pads put one row along a dim; not in the key either
  std::vector<int32_t> kept;          // computed on the way, and stored for gradients
  std::vector<int32_t> shared;        // the same, for values beside the graph that the program holds
  std::vector<int32_t> any_size;      // inputs, in order, of which only windows are read: the key says of their
                                      // shape the rank alone
  std::vector<int32_t> constants;     // inputs that are likely to stay as they are, in order (Buffer::constant)
  bool pending = false;               // some root still has to be computed
  bool anywhere = false;              // inputs and results may begin at any element of their memory
  const ir::Node* missing = nullptr;  // an input without data: a placeholder, or a value that is being computed

  // Whether held values that read what is computed on the way are looked for: they are computed too, or `shared` is (values_beside.cpp).
  enum class Beside : uint8_t { Not, Too };
  // Fills all of it; the vectors keep their memory from one call to the next. `salt` is the first word: the
  // options that change code. `find_windows`: otherwise there are none. Call under the evaluation lock (it uses Node::mark). Throws
  // std::runtime_error for a device that is not there.
  void read(std::span<const ir::NodeRef> roots, uint64_t salt, bool find_windows = true, Beside beside = Beside::Too);
  // What no buffer says of inputs without data; after read.
  void take_as_constant(const ir::Node& input);
  void let_begin_anywhere();
  void let_go() { beside_.clear(); }  // when its graph is computed; call without a lock
  // What gradients will compute again behind this evaluation: cheap values that they read, and those that these are made of, up
  // to what is kept or stored anyway. Views are no work, and not among them.
  std::vector<int32_t> computed_again() const;
  void count_readers(std::vector<uint32_t>& readers) const;  // of each node: how many of the others read it; until the next read of any key
  std::vector<uint64_t> words_without_constants() const;     // the key as it was before inputs counted as constant
  int32_t number(const ir::Node* node) const;                // of a node in `nodes`; -1 for others; until the next read of any key

 private:
  struct Visit {
    ir::Node* node;
    ir::Node *const *next, *const *end;  // operands
  };
  // How a node is used; the windows that move with one origin.
  struct Use {
    bool whole = false;    // all of it is read, or in a way that windows do not know
    bool written = false;  // an update replaces a part of it
    bool apart = false;    // it is only read as a part of a Cat, perhaps reshaped
    int32_t windows = 0;   // Slice and Strided views of it, but for those that are apart
    int32_t chain = -1;    // of an input and the updates that follow it: the input
    int32_t like = -1;     // the chain one of whose values this may turn out to be
    int32_t origin = -1;   // of its windows, if they share one
  };
  struct Candidate {
    int32_t node;
    size_t word;  // where its offset stands in the key
  };
  struct Noted {
    int32_t node;
    size_t word;  // where a leaf's shape, or a pad's amounts, stand in the key
  };
  void walk(ir::Node* root);
  void visit(ir::Node* node);
  void finish(ir::Node* node);
  void finish_leaf(ir::Node* node);
  static uint64_t head_of(const ir::Node& node, ir::Op op, uint64_t flags);
  // The words of the last key are written over, so that there is mostly room: until all nodes have theirs, `used_` of them count.
  uint64_t* room_for(size_t most) {
    if (used_ + most > words.size()) grow(most);
    return words.data() + used_;
  }
  void grow(size_t most);
  void push_window(const ir::Node& node);
  void check_leaf(const ir::Node& node);
  void settle_windows();
  void forget_sizes();
  void forget_places();
  void find_kept();
  // values_beside.cpp
  struct ValueBeside;
  struct ValuesBeside;
  void find_beside();
  const ir::Node* first_needed_elsewhere();
  void note_stored();
  bool is_stored(const ir::Node* node) const;
  void look_at(ir::Node* node, ValuesBeside& all);
  void share_operands(const ir::Node& node, ValuesBeside& all);
  bool is_wanted(size_t i) const;  // by gradients, and not stored anyway
  void find_apart();
  void note_uses(const ir::Node& node);
  void join_chain(const ir::Node& node);
  bool moves(const ir::Node& node, const ir::Node& buffer);
  Use& use(const ir::Node* node) { return uses_[node->mark_value]; }

  std::vector<Visit> stack_;
  size_t used_ = 0;                     // words, while the nodes are walked
  std::vector<size_t> constant_words_;  // the heads of `constants`
  std::vector<Candidate> candidates_;
  std::vector<Noted> inputs_, pads_;
  std::vector<Use> uses_;
  int64_t operations_ = 0;  // nodes that are no leaves
  std::vector<uint32_t> readers_;
  std::vector<bool> wanted_;         // by what is computed again; empty without gradients
  std::vector<bool> stored_;         // roots, held and shared nodes; empty if nothing beside the graph is looked for
  std::vector<ir::NodeRef> beside_;  // held values beside the graph that are computed with it
  bool any_wanted_ = false;
  uint64_t epoch_ = 0;
};

inline constexpr size_t kFewestPlaces =
    3;  // fewer pads of one row, but in a batch, keep their places in the key: passes may make use of them
inline constexpr int32_t kMostOrigins = 6;  // of windows of one input

// Whether the node reads a part of a buffer at constant distances: a Slice or Strided view of an input or an update.
bool is_window(const ir::Node& node);
// The distance of neighbours along each dim of a window, in elements of the buffer; 0 along dims of size 1.
ir::Dims window_strides(const ir::Node& node);
// Where the window begins, or where an Update writes, in elements of the buffer.
int64_t window_offset(const ir::Node& node);
int64_t window_span(const ir::Node& node);  // elements from the first to the last, both included

// Whether passes may turn a constant of this value into code of its own.
bool changes_code(ir::DType dtype, uint64_t bits);

}  // namespace tenon::runtime
