// Random programs with gradients, run by the library and by the model of tape.h at once; they must agree after each look.
// A program follows from its seed.
#pragma once

#include <tenon/tenon.h>

#include <sstream>

#include "gradients/tape.h"
#include "support/random.h"

namespace tape {

struct Difference : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A tensor and its model.
struct Variable {
  tenon::Tensor tensor;
  ArrayRef model;
  std::string name;
};

// What was done.
struct Tally {
  int64_t operations = 0, writes = 0, backwards = 0, errors = 0, hooks = 0;
};

class Program {
 public:
  Program(uint64_t seed, tenon::Device place) : random_(seed), place_(place) {}

  void run_graph();     // operations and views alone, then the gradients of all leaves and of a few results
  void run_training();  // steps with writes, hooks, errors and updates
  std::string listing() const { return listing_.str(); }
  const Numbers& seen() const { return seen_; }  // every number that was compared, as the library had it
  const Tally& tally() const { return tally_; }

 private:
  template <typename... Parts>
  void say(const Parts&... parts) {
    (listing_ << ... << parts) << "\n";
  }
  int64_t below(int64_t end) { return random_.below(end); }
  bool chance(int percent) { return random_.chance(percent); }
  Variable any() { return variables_[static_cast<size_t>(below(static_cast<int64_t>(variables_.size())))]; }

  // New variables.
  void create_parameters();
  void create_constant();
  void add(const tenon::Tensor& tensor, const ArrayRef& model, const std::string& how);
  const Variable* operand_for(const Ints& sizes, const Variable* other_than = nullptr);

  // Operations; false if the values at hand do not suit.
  bool compute();
  bool unary(const Variable& x, bool in_place);
  bool binary(const Variable& x, bool in_place);
  bool reduce(const Variable& x);
  bool along(const Variable& x);
  bool extremes(const Variable& x);
  bool matmul(const Variable& x);
  bool rearrange(const Variable& x);
  bool make_view();
  bool finish(Operation& op, const std::string& how, const std::function<tenon::Tensor()>& run);
  bool write(const Variable& x, Operation& op, const std::string& how, const std::function<void()>& run);

  // Writes and the rest of a step.
  void write_in_place();
  bool fill(const Variable& x);
  bool assign(const Variable& x);
  void no_grad_section();
  void add_hook();
  void observe();
  void forward(int64_t actions);
  void call_backward(bool may_repeat);
  void backward_once(const Variable& root, bool retain);
  void take_gradients(bool of_all);
  void update();
  void zero_grads();

  // The library's error must be the model's.
  void both(const std::function<void()>& library, const std::function<void()>& model);
  void compare(const tenon::Tensor& tensor, const Numbers& expected, const std::string& name, double scale = 0);
  void compare(const Variable& v);
  void compare_grads();
  void compare_all();

  tenon::test::Random random_;
  const tenon::Device place_;
  std::vector<Variable> parameters_, variables_;
  std::ostringstream listing_;
  Numbers seen_;
  Tally tally_;
  double largest_ = 0;  // gradient so far
  int count_ = 0;
};

}  // namespace tape
