// The table from Python's functions to calls of the C++ API, and how an entry reads its arguments.
//
//   t["eye"] = [](const Call& c) -> Value {
//     const int64_t n = c.integer(0, "n");
//     return tenon::eye(n, c.integer(1, "m", n), c.options());
//   };
//
// ENTRIES: functions and methods in place of frontend/functions.def are in printed_calls.cpp (overloads.h). By hand stand those that Python
// calls otherwise than the schema says, or that the table does not have, one file a topic, each with a function
// add_...(Table&) that is declared below and called by call.cpp:
//   calls_elementwise.cpp  arithmetic, comparison, activations
//   calls_shape.cpp        views, joining, padding
//   calls_indexing.cpp     subscripts, index_put
//   calls_order.cpp        sorting, searching
//   calls_reductions.cpp   variances, norms
//   calls_products.cpp     matmul, einsum, diagonals
//   calls_creation.cpp     factories, conversions
//   calls_inplace.cpp      methods that end in _
//   calls_random.cpp       generators, random tensors, dropout
//   calls_functional.cpp   F.: convolution, pooling, norms, losses
//   calls_modules.cpp      nn. and optim. classes
//   calls_autograd.cpp     gradients
//   calls_builtins.cpp     Python itself, numpy, devices, settings
//
// KEYS: "name" serves torch.name, F.name, torch.linalg.name and x.name, the tensor being argument 0. A longer
// key wins: "torch.name", "F.unfold", "linalg.norm", "Tensor.unfold". Other modules need the full key:
// "nn.Linear", "optim.Adam", "cuda.is_available", "math.sqrt", "np.zeros"; Python's own functions are
// "builtins.len". An attribute is ".T", its assignment ".grad=". An argument that no entry asks for makes the
// call Unsupported: nothing is ignored silently.
#pragma once

#include <bitset>
#include <functional>
#include <set>
#include <unordered_map>

#include "frontend/python/value.h"

namespace python {

using Ints = std::vector<int64_t>;

// Which arguments by place were read.
class Places {
 public:
  void insert(size_t i) { read_.set(i); }
  bool contains(size_t i) const { return read_[i]; }

 private:
  std::bitset<256> read_;
};

struct Call {
  std::vector<Value> positional;
  std::map<std::string, Value> named;
  mutable Places used_positions = {};
  mutable std::set<std::string> used_names = {};

  // Argument number i, or by name; null where it is missing or None. kNamed for arguments without a position.
  static constexpr size_t kNamed = ~size_t{0};
  const Value* find(size_t i, const char* name) const;
  bool has(size_t i, const char* name) const { return find(i, name) != nullptr; }
  const Value& need(size_t i, const char* name) const;

  const tenon::Tensor& tensor(size_t i, const char* name) const { return need(i, name).as<tenon::Tensor>(); }
  const tenon::Tensor& tensor(size_t i) const { return tensor(i, i == 0 ? "input" : "other"); }
  tenon::optional<tenon::Tensor> maybe_tensor(size_t i, const char* name) const;
  tenon::Tensor tensor_or_undefined(size_t i, const char* name) const;
  int64_t integer(size_t i, const char* name) const;
  int64_t integer(size_t i, const char* name, int64_t otherwise) const;
  tenon::optional<int64_t> maybe_integer(size_t i, const char* name) const;
  bool flag(size_t i, const char* name, bool otherwise) const;
  std::string string(size_t i, const char* name, const char* otherwise) const;
  tenon::Scalar scalar(size_t i, const char* name) const { return to_scalar(need(i, name)); }
  tenon::Scalar scalar(size_t i, const char* name, tenon::Scalar otherwise) const;
  tenon::optional<tenon::Scalar> maybe_scalar(size_t i, const char* name) const;
  double real(size_t i, const char* name, double otherwise) const;
  tenon::optional<double> maybe_real(size_t i, const char* name) const;
  Ints ints(size_t i, const char* name) const;  // a list or one number
  Ints ints(size_t i, const char* name, Ints otherwise) const;
  Ints rest_as_ints(size_t from, const char* name) const;  // f(2, 3), f((2, 3)) and f(size=(2, 3)) alike
  std::vector<tenon::Tensor> tensors(size_t i, const char* name) const;
  tenon::optional<tenon::ScalarType> dtype() const;  // dtype=
  tenon::TensorOptions options() const;              // dtype=, device=, requires_grad=

  // Throws Unsupported if an argument was not read.
  void check_all_read(const std::string& function) const;
};

Ints ints_of(const Value& v);
std::vector<tenon::Tensor> tensors_of(const Value& v);
tenon::Device to_device(const Value& v);

using Function = std::function<Value(const Call&)>;
using Table = std::unordered_map<std::string, Function>;

const Table& table();
Value call_function(const std::string& name,
                    const Call& c);  // an entry of the table; throws Unsupported if none
// The entry that serves a full name ("torch.sum", "Tensor.sum"), or null.
const Function* find_function(const std::string& full_name);

void add_elementwise(Table& t);
void add_shape(Table& t);
void add_indexing(Table& t);
void add_order(Table& t);
void add_reductions(Table& t);
void add_products(Table& t);
void add_creation(Table& t);
void add_inplace(Table& t);
void add_random(Table& t);
void add_functional(Table& t);
void add_modules(Table& t);
void add_autograd(Table& t);
void add_builtins(Table& t);

// x[...] and x[...] = v, with Python's indices.
Value get_item(const tenon::Tensor& x, const std::vector<Value>& indices);
void set_item(const tenon::Tensor& x, const std::vector<Value>& indices, const Value& v);
std::vector<tenon::indexing::TensorIndex> tensor_indices(const std::vector<Value>& indices);

}  // namespace python
