// An eager model of tensors with gradients, for tests: float64 elements in a memory, a list of places for each array, and a tape
// of records. A record holds the derivative of each of its elements by each element that it read, as a list of numbers, and
// which memories must not be written before its gradient is taken. What is saved is PyTorch's derivatives.yaml.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tape {

using Ints = std::vector<int64_t>;
using Numbers = std::vector<double>;
int64_t numel(const Ints& sizes);

struct Memory {
  Numbers values;
  int64_t version = 0;  // how many writes there were
};

struct Array;
using ArrayRef = std::shared_ptr<Array>;

struct Record {
  struct Term {
    size_t out, edge, in;
    double partial;
  };
  struct Saved {
    std::shared_ptr<Memory> memory;
    int64_t version;
  };
  size_t count = 0;  // elements
  uint64_t sequence = 0;
  std::vector<std::shared_ptr<Record>> edges;
  std::vector<Term> terms;
  std::vector<Saved> saved;
  bool keeps = false, released = false;  // anything for the backward pass
  std::vector<std::function<double(double)>> hooks;
  std::weak_ptr<Array> leaf;
  bool is_leaf = false;
};
using RecordRef = std::shared_ptr<Record>;

struct Array {
  std::shared_ptr<Memory> memory;
  Ints sizes;
  std::vector<size_t> places;  // of the elements, in row-major order
  ArrayRef base;               // null if this is no view
  RecordRef history;           // null if it does not require grad
  int64_t version = 0;         // of the memory, when a view got its history
  ArrayRef grad;               // of a leaf

  Numbers values() const;
  size_t rank() const { return sizes.size(); }
  bool repeats() const;  // an element of memory more than once
  bool leaf() const { return history && history->is_leaf; }
};

// The switch.
struct Recording {
  explicit Recording(bool on) : before(enabled) { enabled = on; }
  ~Recording() { enabled = before; }
  bool before;
  static bool enabled;
};

ArrayRef constant(const Ints& sizes, const Numbers& values);
ArrayRef parameter(const Ints& sizes, const Numbers& values);
RecordRef history_of(const ArrayRef& x);  // a view whose memory was written meanwhile gets a new one
bool requires_grad(const ArrayRef& x);

// An operation on the way: what it computes, and the derivatives.
class Operation {
 public:
  Operation(std::vector<ArrayRef> operands, Ints sizes);
  bool tracks(size_t operand) const { return record_->edges.size() && edge_[operand] != kNone; }
  void term(size_t out, size_t operand, size_t in, double partial);
  void save(size_t operand);
  void save_result() { saves_result_ = true; }
  void save_other() { record_->keeps = true; }  // what nobody can write
  bool bounded() const;                         // so that rounding stays small

  const ArrayRef& operand(size_t i) const { return operands_[i]; }
  ArrayRef finish();                 // a new array
  void write(const ArrayRef& self);  // in place; self is operand 0

  Ints sizes;
  Numbers values;

 private:
  static constexpr size_t kNone = ~size_t{0};
  std::vector<ArrayRef> operands_;
  std::vector<size_t> edge_;  // of each operand
  RecordRef record_ = std::make_shared<Record>();
  std::vector<std::pair<size_t, Record::Saved>> saved_;
  bool saves_result_ = false;
};

// A view: `chosen` are the elements of x that it shows.
ArrayRef view(const ArrayRef& x, const Ints& sizes, const std::vector<size_t>& chosen);
ArrayRef detach(const ArrayRef& x);

struct Written : std::runtime_error {
  Written() : std::runtime_error("modified by an inplace operation") {}
};
struct Released : std::runtime_error {
  Released() : std::runtime_error("backward through the graph a second time") {}
};

// Adds to the grads of the leaves; with inputs, returns their gradients instead. The largest number on the way is put into
// `largest`.
std::vector<std::optional<Numbers>> backward(const ArrayRef& root, const Numbers& grad, bool retain, double& largest,
                                             const std::vector<ArrayRef>& inputs = {});

}  // namespace tape
