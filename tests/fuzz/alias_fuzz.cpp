// Runs random programs of views, aliases, writes in place, pending reads and evaluations, and holds every
// tensor against an eager model: bytes with strides, written at once. The same arguments give the same
// programs; one that fails is printed with the tensor that differs.
//
//   alias_fuzz [PROGRAMS] [SEED] [the one PROGRAM to repeat]
//
// TENON_TEST_DEVICE=late or cuda: on a device whose memory the host cannot touch (tests/device/tested_device.h).
#include <tenon/tenon.h>

#include "device/tested_device.h"
#include "support/fuzz_cases.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>

using namespace tenon;
using indexing::Slice;
using indexing::TensorIndex;

namespace {

using Ints = std::vector<int64_t>;

// Where the tensors lie.
const Device& place() {
  static const Device device = std::getenv("TENON_TEST_DEVICE") ? tenon::test::tested_device() : Device(kCPU);
  return device;
}

// --- the model

struct Memory {
  std::vector<uint8_t> bytes;
  int64_t version = 0;
};

struct Model {
  std::shared_ptr<Memory> memory;
  ScalarType type = kInt;
  Ints sizes, strides;
  int64_t offset = 0;

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
  size_t rank() const { return sizes.size(); }

  // f(place) for each element in row-major order.
  template <typename F>
  void each(F f) const {
    Ints index(rank(), 0);
    const int64_t n = numel();
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = offset;
      for (size_t d = 0; d < rank(); ++d) place += index[d] * strides[d];
      f(place);
      for (size_t d = rank(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
    }
  }
  int64_t load(int64_t place) const {
    const auto size = static_cast<size_t>(elementSize(type));
    int64_t value = 0;
    std::memcpy(&value, memory->bytes.data() + static_cast<size_t>(place) * size, size);
    if (type == kShort) return static_cast<int16_t>(value);
    if (type == kInt) return static_cast<int32_t>(value);
    return value;
  }
  void store(int64_t place, int64_t value) const {
    const auto size = static_cast<size_t>(elementSize(type));
    std::memcpy(memory->bytes.data() + static_cast<size_t>(place) * size, &value, size);
  }
  Ints values() const {
    Ints result;
    each([&](int64_t place) { result.push_back(load(place)); });
    return result;
  }
  void write(const Ints& values) const {
    size_t i = 0;
    each([&](int64_t place) { store(place, values[i++]); });
    ++memory->version;
  }
  bool repeats() const {
    for (size_t d = 0; d < rank(); ++d) {
      if (strides[d] == 0 && sizes[d] > 1 && numel() > 0) return true;
    }
    return false;
  }
  // Each dim steps over what the smaller ones reach, so that no two elements are one place.
  bool distinct() const {
    std::vector<std::pair<int64_t, int64_t>> dims;
    for (size_t d = 0; d < rank(); ++d) {
      if (sizes[d] > 1) dims.emplace_back(strides[d], sizes[d]);
    }
    std::sort(dims.begin(), dims.end());
    int64_t reach = 0;
    for (const auto& [stride, size] : dims) {
      if (stride <= reach) return false;
      reach += stride * (size - 1);
    }
    return true;
  }
  bool contiguous() const {
    int64_t step = 1;
    for (size_t d = rank(); d-- > 0;) {
      if (sizes[d] != 1 && strides[d] != step && numel() > 0) return false;
      step *= sizes[d];
    }
    return true;
  }
};

Ints row_major(const Ints& sizes) {
  Ints strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<int64_t>(sizes[d], 1);
  return strides;
}

Model fresh(ScalarType type, const Ints& sizes, const Ints& values) {
  Model m{std::make_shared<Memory>(), type, sizes, row_major(sizes), 0};
  m.memory->bytes.resize(values.size() * static_cast<size_t>(elementSize(type)));
  size_t i = 0;
  m.each([&](int64_t place) { m.store(place, values[i++]); });
  return m;
}

// The model's elements repeated over a shape that they broadcast to.
Model spread(Model m, const Ints& sizes) {
  while (m.rank() < sizes.size()) {
    m.sizes.insert(m.sizes.begin(), 1);
    m.strides.insert(m.strides.begin(), 0);
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (m.sizes[d] != sizes[d]) m.strides[d] = 0;
    m.sizes[d] = sizes[d];
  }
  return m;
}

int64_t wrapping(char op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return static_cast<int64_t>(op == '+' ? x + y : op == '-' ? x - y : x * y);
}

std::string text(const Ints& list) {
  std::string result = "{";
  for (size_t i = 0; i < list.size(); ++i) result += (i ? ", " : "") + std::to_string(list[i]);
  return result + "}";
}

// --- programs

struct Variable {
  Tensor tensor;
  Model model;
  std::string name;
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {}

  void run() {
    create();
    const int64_t steps = 4 + below(22);
    for (int64_t i = 0; i < steps; ++i) step();
    for (const Variable& v : variables_) compare(v);
  }
  std::string listing() const { return listing_.str(); }

 private:
  int64_t below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }
  bool chance(int64_t one_in) { return below(one_in) == 0; }
  Variable& any() { return variables_[static_cast<size_t>(below(static_cast<int64_t>(variables_.size())))]; }

  template <typename... Parts>
  void say(const Parts&... parts) {
    (listing_ << ... << parts) << "\n";
  }
  std::string next_name() { return "t" + std::to_string(count_++); }

  // A result with memory of its own. In which order its dims lie there is the library's choice.
  void add_result(const Tensor& tensor, ScalarType type, const Ints& sizes, const Ints& values, const std::string& how) {
    Model m = fresh(type, sizes, values);
    if (!tensor.is_contiguous()) {
      m.strides = tensor.strides().vec();
      if (!m.distinct()) throw Failure(how + " has strides " + text(m.strides));
      size_t i = 0;
      m.each([&](int64_t place) { m.store(place, values[i++]); });
    }
    add(tensor, m, how);
  }

  void add(Tensor tensor, Model model, const std::string& how) {
    const std::string name = next_name();
    say("auto ", name, " = ", how, ";");
    if (!(tensor.sizes() == IntArrayRef(model.sizes))) throw Failure(name + " has the wrong shape");
    for (size_t d = 0; d < model.rank(); ++d) {
      if (model.sizes[d] > 1 && tensor.strides()[d] != model.strides[d] && model.numel() > 0)
        throw Failure(name + " has strides " + text(tensor.strides().vec()) + ", expected " + text(model.strides));
    }
    model.strides = tensor.strides().vec();  // those of dims of size 1 matter to nobody but view(dtype)
    if (variables_.size() >= 7) variables_.erase(variables_.begin() + below(7));
    variables_.push_back({std::move(tensor), std::move(model), name});
  }

  void compare(const Variable& v) {
    const Tensor copy = v.tensor.contiguous().clone().cpu();
    Model got{std::make_shared<Memory>(), v.model.type, v.model.sizes, row_major(v.model.sizes), 0};
    const auto* data = static_cast<const uint8_t*>(copy.data_ptr());
    got.memory->bytes.assign(data, data + copy.nbytes());
    if (got.values() != v.model.values()) throw Failure(v.name + " is " + text(got.values()) + ", expected " + text(v.model.values()));
    if (v.tensor._version() != v.model.memory->version)
      throw Failure(v.name + " has version " + std::to_string(v.tensor._version()) + ", expected " +
                    std::to_string(v.model.memory->version));
  }

  void step() {
    switch (below(16)) {
      case 0: return create();
      case 1:
      case 2:
      case 3:
      case 4: return make_view();
      case 5:
      case 6:
      case 7: return compute();
      case 8:
      case 9:
      case 10:
      case 11: return write_in_place();
      case 12: return write_at_indices();
      case 13: return observe();
      case 14: return reshape_in_place();
      default: return rename();
    }
  }

  // --- new tensors
  void create() {
    Ints sizes;
    for (int64_t rank = below(4); rank > 0; --rank) sizes.push_back(chance(20) ? 0 : 1 + below(4));
    constexpr ScalarType types[] = {kInt, kInt, kLong, kShort, kByte};
    const ScalarType type = types[below(5)];
    int64_t count = 1;
    for (int64_t s : sizes) count *= s;
    const int64_t kind = below(3), start = below(50);
    Ints values;
    for (int64_t i = 0; i < count; ++i) values.push_back(kind == 0 ? start : start + i);
    const auto element = std::string(", k") + toString(type);
    if (kind == 0)
      return add(full(sizes, start, type).to(place()), fresh(type, sizes, values),
                 "full(" + text(sizes) + ", " + std::to_string(start) + element + ")");
    const std::string range = std::to_string(start) + ", " + std::to_string(start + count);
    if (kind == 1)  // pending
      return add(arange(start, start + count, TensorOptions(type).device(place())).reshape(sizes), fresh(type, sizes, values),
                 "arange(" + range + element + ").reshape(" + text(sizes) + ")");
    Tensor evaluated = tensor(values, TensorOptions(type).device(place())).reshape(sizes);
    add(evaluated, fresh(type, sizes, values), "tensor(range(" + range + ")" + element + ").reshape(" + text(sizes) + ")");
  }

  // --- views
  void make_view() {
    const Variable v = any();
    const auto rank = static_cast<int64_t>(v.model.rank());
    Model m = v.model;
    const int64_t kind = below(11);
    if (kind == 0) return add(v.tensor.detach(), m, v.name + ".detach()");
    if (kind == 1) {
      const int64_t dim = below(rank + 1);
      const auto d = static_cast<size_t>(dim);
      m.strides.insert(m.strides.begin() + dim, dim < rank ? m.sizes[d] * m.strides[d] : 1);
      m.sizes.insert(m.sizes.begin() + dim, 1);
      return add(v.tensor.unsqueeze(dim), m, v.name + ".unsqueeze(" + std::to_string(dim) + ")");
    }
    if (kind == 2) return view_as_other_type(v);
    if (kind == 3 && m.contiguous()) {
      m.sizes = {m.numel()};
      m.strides = {1};
      return add(v.tensor.view({-1}), m, v.name + ".view({-1})");
    }
    if (kind == 4 && v.model.numel() > 0) return window(v);
    if (rank == 0) return;
    const int64_t dim = below(rank), other = below(rank);
    const auto d = static_cast<size_t>(dim), o = static_cast<size_t>(other);
    const std::string at = std::to_string(dim);
    if (kind == 5) {
      std::swap(m.sizes[d], m.sizes[o]);
      std::swap(m.strides[d], m.strides[o]);
      return add(v.tensor.transpose(dim, other), m, v.name + ".transpose(" + at + ", " + std::to_string(other) + ")");
    }
    if (m.sizes[d] == 0) return;
    if (kind == 6) {
      const int64_t index = below(m.sizes[d]);
      m.offset += index * m.strides[d];
      m.sizes.erase(m.sizes.begin() + dim);
      m.strides.erase(m.strides.begin() + dim);
      return add(v.tensor.select(dim, index), m, v.name + ".select(" + at + ", " + std::to_string(index) + ")");
    }
    if (kind == 7 && m.sizes[d] == 1) {
      const int64_t size = 1 + below(3);
      m.sizes[d] = size;
      m.strides[d] = size == 1 ? m.strides[d] : 0;
      return add(v.tensor.expand(m.sizes), m, v.name + ".expand(" + text(m.sizes) + ")");
    }
    if (kind == 8) {
      const int64_t size = 1 + below(m.sizes[d]), step = 1 + below(2);
      m.sizes.push_back(size);
      m.strides.push_back(m.strides[d]);
      m.sizes[d] = (m.sizes[d] - size) / step + 1;
      m.strides[d] *= step;
      return add(v.tensor.unfold(dim, size, step), m,
                 v.name + ".unfold(" + at + ", " + std::to_string(size) + ", " + std::to_string(step) + ")");
    }
    if (kind == 9 && dim != other) {
      m.sizes.push_back(std::min(m.sizes[d], m.sizes[o]));
      m.strides.push_back(m.strides[d] + m.strides[o]);
      for (const size_t gone : {std::max(d, o), std::min(d, o)}) {
        m.sizes.erase(m.sizes.begin() + static_cast<int64_t>(gone));
        m.strides.erase(m.strides.begin() + static_cast<int64_t>(gone));
      }
      return add(v.tensor.diagonal(0, dim, other), m, v.name + ".diagonal(0, " + at + ", " + std::to_string(other) + ")");
    }
    const int64_t start = below(m.sizes[d]), stop = start + 1 + below(m.sizes[d] - start), step = 1 + below(3);
    m.offset += start * m.strides[d];
    m.sizes[d] = (stop - start + step - 1) / step;
    m.strides[d] *= step;
    add(v.tensor.slice(dim, start, stop, step), m,
        v.name + ".slice(" + at + ", " + std::to_string(start) + ", " + std::to_string(stop) + ", " + std::to_string(step) + ")");
  }

  // Any strides within the storage, often overlapping.
  void window(const Variable& v) {
    Model m = v.model;
    const auto count = static_cast<int64_t>(m.memory->bytes.size()) / elementSize(m.type);
    m.sizes.clear();
    m.strides.clear();
    m.offset = below(count);
    int64_t left = count - 1 - m.offset;
    for (int64_t rank = below(4); rank > 0; --rank) {
      const int64_t stride = below(5), size = 1 + below(stride == 0 ? 2 : std::min<int64_t>(left / stride + 1, 4));
      left -= stride * (size - 1);
      m.sizes.push_back(size);
      m.strides.push_back(stride);
    }
    add(v.tensor.as_strided(m.sizes, m.strides, m.offset), m,
        v.name + ".as_strided(" + text(m.sizes) + ", " + text(m.strides) + ", " + std::to_string(m.offset) + ")");
  }

  void view_as_other_type(const Variable& v) {
    constexpr ScalarType types[] = {kByte, kShort, kInt, kLong};
    const ScalarType type = types[below(4)];
    Model m = v.model;
    const int64_t from = elementSize(m.type), to = elementSize(type);
    if (from != to && (m.rank() == 0 || m.strides.back() != 1)) return;
    const int64_t down = from / std::min(from, to), up = to / std::min(from, to);
    bool fits = m.offset % up == 0 && (from == to || m.sizes.back() % up == 0);
    for (size_t d = 0; d + 1 < m.rank(); ++d) fits = fits && m.strides[d] % up == 0;
    if (!fits) return;
    m.type = type;
    m.offset = m.offset * down / up;
    for (size_t d = 0; d + 1 < m.rank(); ++d) m.strides[d] = m.strides[d] * down / up;
    if (from != to) m.sizes.back() = m.sizes.back() * down / up;
    add(v.tensor.view(type), m, v.name + ".view(k" + toString(type) + ")");
  }

  // --- operations
  // A variable of the type that broadcasts to the sizes, or null.
  const Variable* operand_for(const Ints& sizes) {
    for (int tries = 0; tries < 6; ++tries) {
      const Variable& v = any();
      bool fits = v.model.rank() <= sizes.size();
      for (size_t d = 1; fits && d <= v.model.rank(); ++d) {
        const int64_t size = v.model.sizes[v.model.rank() - d];
        fits = size == 1 || size == sizes[sizes.size() - d];
      }
      if (fits) return &v;
    }
    return nullptr;
  }

  void compute() {
    const Variable v = any();
    const Model& m = v.model;
    Ints values = m.values();
    switch (below(5)) {
      case 0: {
        const int64_t k = below(9);
        for (int64_t& x : values) x = wrapping('+', wrapping('*', x, 3), k);
        return add_result(v.tensor * 3 + k, m.type, m.sizes, values, v.name + " * 3 + " + std::to_string(k));
      }
      case 1: return add_result(v.tensor.clone(), m.type, m.sizes, values, v.name + ".clone()");
      case 2: {
        const Variable* w = operand_for(m.sizes);
        if (!w) return;
        const Ints other = spread(w->model, m.sizes).values();
        for (size_t i = 0; i < values.size(); ++i) values[i] = wrapping('-', values[i], cast(other[i], m.type));
        return add_result(v.tensor - w->tensor.to(m.type), m.type, m.sizes, values,
                          v.name + " - " + w->name + ".to(k" + toString(m.type) + ")");
      }
      case 3: {
        int64_t sum = 0;
        for (int64_t x : values) sum = wrapping('+', sum, x);
        return add_result(v.tensor.sum(), kLong, {}, {sum}, v.name + ".sum()");
      }
      default: {
        if (m.rank() == 0 || m.sizes[0] == 0) return;
        const Model first{m.memory, m.type, Ints(m.sizes.begin() + 1, m.sizes.end()), Ints(m.strides.begin() + 1, m.strides.end()),
                          m.offset};
        Ints rows;
        for (int64_t row : {m.sizes[0] - 1, int64_t{0}}) {
          Model part = first;
          part.offset += row * m.strides[0];
          const Ints elements = part.values();
          rows.insert(rows.end(), elements.begin(), elements.end());
        }
        Ints sizes = m.sizes;
        sizes[0] = 2;
        return add_result(v.tensor.index({tensor({-1, 0})}), m.type, sizes, rows, v.name + ".index({tensor({-1, 0})})");
      }
    }
  }

  static int64_t cast(int64_t value, ScalarType to) {
    const Model one = fresh(to, {}, {value});
    return one.load(0);
  }

  // --- writes
  void write_in_place() {
    const Variable v = any();
    const Model& m = v.model;
    Ints values = m.values();
    std::string how;
    std::function<void()> act;
    const int64_t k = below(9), kind = below(7);
    const Variable* w = operand_for(m.sizes);
    if (kind == 0) {
      for (int64_t& x : values) x = wrapping('+', x, k);
      how = " += " + std::to_string(k);
      act = [&] { Tensor(v.tensor) += k; };
    } else if (kind == 1) {
      for (int64_t& x : values) x = k;
      how = ".fill_(" + std::to_string(k) + ")";
      act = [&] { v.tensor.fill_(k); };
    } else if (kind == 2) {
      for (int64_t& x : values) x = x > 20 ? k : x;
      how = ".masked_fill_(itself > 20, " + std::to_string(k) + ")";
      act = [&] { v.tensor.masked_fill_(v.tensor > 20, k); };
    } else if (kind == 3) {
      for (int64_t& x : values) x = wrapping('-', 0, x);
      how = ".neg_()";
      act = [&] { v.tensor.neg_(); };
    } else if (w) {
      const Ints other = spread(w->model, m.sizes).values();
      const char op = kind == 4 ? '=' : kind == 5 ? '+' : '*';
      for (size_t i = 0; i < values.size(); ++i) values[i] = op == '=' ? other[i] : wrapping(op, values[i], cast(other[i], m.type));
      const Tensor operand = w->tensor;
      how = std::string(op == '=' ? ".copy_(" : op == '+' ? ".add_(" : ".mul_(") + w->name + ")";
      act = [&, op, operand] {
        if (op == '=') v.tensor.copy_(operand);
        if (op == '+') v.tensor.add_(operand.to(m.type));
        if (op == '*') v.tensor.mul_(operand.to(m.type));
      };
      if (op == '=' && operand.is_same(v.tensor)) return;
    } else {
      return;
    }
    say(v.name, how, ";");
    if (!m.repeats()) {
      act();
      m.write(values);
      return;
    }
    try {
      act();
    } catch (const Error&) {
      return;
    }
    throw Failure(v.name + " was written although its elements share places");
  }

  // x[rows] = k or += k, x[:, columns] = k, x[mask] = values.
  void write_at_indices() {
    const Variable v = any();
    const Model& m = v.model;
    if (m.rank() == 0 || !m.distinct() || m.numel() == 0) return;
    const int64_t dim = below(static_cast<int64_t>(m.rank())), size = m.sizes[static_cast<size_t>(dim)];
    Ints places;
    for (int64_t i = 1 + below(3); i > 0; --i) places.push_back(below(2 * size) - size);
    const bool adds = chance(2);
    const int64_t k = below(9);
    std::vector<TensorIndex> indices(static_cast<size_t>(dim), Slice());
    indices.push_back(tensor(places));
    say(v.name, ".index_put_({", dim, " x Slice(), tensor(", text(places), ")}, ", k, ", ", adds, ");");
    v.tensor.index_put_(indices, Scalar(k), adds);
    for (int64_t place : places) {
      Model part = m;
      part.offset += (place < 0 ? place + size : place) * m.strides[static_cast<size_t>(dim)];
      part.sizes.erase(part.sizes.begin() + dim);
      part.strides.erase(part.strides.begin() + dim);
      Ints values = part.values();
      for (int64_t& x : values) x = adds ? wrapping('+', x, k) : k;
      part.write(values);
      --m.memory->version;
    }
    ++m.memory->version;
  }

  // --- the rest
  void observe() {
    Variable& v = any();
    switch (below(4)) {
      case 0: say("eval(", v.name, ");"); return eval(v.tensor);
      case 1: say("compare(", v.name, ");"); return compare(v);
      case 2: {
        say("eval(all);");
        std::vector<Tensor> all;
        for (const Variable& each : variables_) all.push_back(each.tensor);
        return eval(all);
      }
      default: return look_at_memory(v);
    }
  }

  // Gives the address away; from then on the memory itself must show every write.
  void look_at_memory(const Variable& v) {
    if (!chance(3) || v.model.numel() == 0) return;
    say(v.name, ".data_ptr();");
    const auto* first = static_cast<const uint8_t*>(v.tensor.data_ptr());
    if (!v.tensor.is_cpu()) return compare(v);
    const int64_t size = elementSize(v.model.type);
    v.model.each([&](int64_t place) {
      const uint8_t* expected = v.model.memory->bytes.data() + place * size;
      if (std::memcmp(first + (place - v.model.offset) * size, expected, static_cast<size_t>(size)) != 0)
        throw Failure("the memory of " + v.name + " does not show what was written");
    });
  }

  void reshape_in_place() {
    Variable& v = any();
    const auto rank = static_cast<int64_t>(v.model.rank());
    if (rank < 2) return;
    const int64_t a = below(rank), b = below(rank);
    say(v.name, ".transpose_(", a, ", ", b, ");");
    v.tensor.transpose_(a, b);
    for (Variable& alias : variables_) {  // other handles of the very same tensor
      if (!alias.tensor.is_same(v.tensor)) continue;
      std::swap(alias.model.sizes[static_cast<size_t>(a)], alias.model.sizes[static_cast<size_t>(b)]);
      std::swap(alias.model.strides[static_cast<size_t>(a)], alias.model.strides[static_cast<size_t>(b)]);
    }
    ++v.model.memory->version;
  }

  void rename() {
    const Variable v = any();
    if (chance(2)) return add(v.tensor, v.model, v.name);
    if (variables_.size() < 2) return;
    say(v.name, " goes out of scope;");
    std::erase_if(variables_, [&](const Variable& w) { return w.name == v.name; });
  }

  std::mt19937_64 random_;
  std::vector<Variable> variables_;
  std::ostringstream listing_;
  int count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, uint64_t otherwise) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise; };
  const uint64_t programs = tenon::test::fuzz_cases(static_cast<int>(argument(1, 1000))), seed = argument(2, 1), only = argument(3, ~0ull);
  int failures = 0;
  for (uint64_t i = 0; i < programs; ++i) {
    if (only != ~0ull && i != only) continue;
    Program program(seed * 1'000'003 + i);
    try {
      program.run();
    } catch (const std::exception& e) {
      std::printf("program %llu of seed %llu: %s\n%s\n", static_cast<unsigned long long>(i), static_cast<unsigned long long>(seed),
                  e.what(), program.listing().c_str());
      if (++failures == 3) break;
    }
  }
  std::printf("%llu programs, %lld kernels run, %d failures\n", static_cast<unsigned long long>(programs),
              static_cast<long long>(counters().launches), failures);
  return failures != 0;
}
