// The values that Python programs of the golden data work with. Tensors, dtypes and devices are the library's
// own; the rest is as much of Python as the data needs.
#pragma once

#include <tenon/tenon.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace python {

// The program uses what the runner cannot map to a C++ call.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Call;
struct Value;

struct None {};
struct Ellipsis {};
struct Name {  // a module, function or class by its full name, with short names for modules: "torch.sum",
               // "F.relu"
  std::string text;
};
struct SliceValue {  // a:b:c
  tenon::optional<int64_t> start, stop, step;
};
__extension__ typedef __int128 Wide;
struct BigInteger {  // an integer outside of int64
  Wide value;
};
struct List {
  enum class Kind { List, Tuple, Size, Named } kind = Kind::List;
  std::vector<Value> items;
  std::string name;                 // Named: "max", of torch.return_types
  std::vector<std::string> fields;  // Named: "values", "indices"
};
struct Dict {
  std::vector<Value> keys, values;
};
struct Bound {  // x.sum, before the call
  std::string method;
  std::shared_ptr<Value> self;
};

// Whatever else has methods: modules, optimizers, generators, arrays, functions of the program.
class Object {
 public:
  virtual ~Object() = default;
  virtual Value call(const Call& c);
  virtual Value method(const std::string& name, const Call& c);  // c's first argument is the object
  virtual Value attribute(const std::string& name);              // a method, unless overridden
  virtual std::vector<Value> items();                            // what a loop over it sees
  virtual std::string repr() const;
  virtual const tenon::Tensor* tensor() const { return nullptr; }  // the one inside, if that is what it is
};
using ObjectPtr = std::shared_ptr<Object>;

struct Value : std::variant<None, bool, int64_t, double, std::string, tenon::Tensor, tenon::ScalarType, tenon::Device, List, Dict,
                            SliceValue, Ellipsis, Name, Bound, BigInteger, ObjectPtr> {
  using variant::variant;
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(*this);
  }
  template <typename T>
  const T& as() const {
    if (!is<T>()) throw Unsupported("a value of another type");
    return std::get<T>(*this);
  }
  // The object inside, if it is a T; else null.
  template <typename T>
  T* object() const {
    return is<ObjectPtr>() ? dynamic_cast<T*>(std::get<ObjectPtr>(*this).get()) : nullptr;
  }
};
using Variables = std::map<std::string, Value>;

inline bool is_number(const Value& v) { return v.is<bool>() || v.is<int64_t>() || v.is<double>() || v.is<BigInteger>(); }
tenon::Scalar to_scalar(const Value& v);
Value number_of(const tenon::Tensor& x);  // item() as Python has it
Value integer(Wide value);                // an int64 where it fits

List list_of(const std::vector<tenon::Tensor>& tensors);  // a tuple, as functions return it
List named(const char* name, std::vector<std::string> fields, const std::vector<tenon::Tensor>& tensors);
List pair_of(const std::tuple<tenon::Tensor, tenon::Tensor>& pair);
List value_and_index(const char* name, const std::tuple<tenon::Tensor, tenon::Tensor>& pair);
List size_of(tenon::IntArrayRef sizes);
List tuple_of(std::vector<Value> items);

// The tensor, also of a parameter or an array of numpy.
tenon::Tensor tensor_of(const Value& v);

// Python's repr(v) and str(v), with "tenon." for "torch."; the program's own __format__ for format strings.
std::string repr(const Value& v);
std::string str(const Value& v);
std::string format(const Value& v, const std::string& spec);

}  // namespace python
