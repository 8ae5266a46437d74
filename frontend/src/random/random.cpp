// Random tensors: checks as PyTorch's, then a draw in the order in which its iterator visits memory. On the host that is a
// buffer, filled at the call; on a CUDA device a formula (philox.h).
//
//   rand({3, 4})   ->  empty({3, 4}), its value a new buffer with 12 draws
//   x.uniform_()   ->  write(x, that buffer seen in x's shape)
#include "tenon/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "frontend/src/autograd/aliases.h"
#include "frontend/src/autograd/grad.h"
#include "frontend/src/random/fill.h"
#include "frontend/src/random/generator.h"
#include "frontend/src/random/philox.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/index_check.h"
#include "tenon/creation.h"
#include "tenon/order.h"

namespace tenon {
namespace {

using MaybeGenerator = optional<Generator>;

// --- memory order

// The dims from the outermost in memory to the innermost. Ties and repeated dims (stride 0) keep their order:
// the insertion sort is PyTorch's, whose comparison is not transitive where strides are 0.
std::vector<size_t> memory_order(const Dims& sizes, const Dims& strides) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});  // innermost first
  auto swap_needed = [&](size_t inner, size_t outer) {
    if (strides[inner] == 0 || strides[outer] == 0) return 0;
    if (strides[inner] != strides[outer]) return strides[inner] < strides[outer] ? -1 : 1;
    return sizes[inner] > sizes[outer] ? 1 : 0;
  };
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t moved = i, j = i; j-- > 0;) {
      const int verdict = swap_needed(order[j], order[moved]);
      if (verdict < 0) break;
      if (verdict == 0) continue;
      std::swap(order[j], order[moved]);
      moved = j;
    }
  }
  std::ranges::reverse(order);
  return order;
}

Dims permuted(const Dims& dims, const std::vector<size_t>& order) {
  Dims result;
  for (size_t d : order) result.push_back(dims[d]);
  return result;
}

// A distribution: host(engine, elements) fills memory, device(draw) is the formula of all elements.
template <typename Host, typename OnDevice>
struct Draw {
  Host host;
  OnDevice device;
};
template <typename Host, typename OnDevice>
Draw(Host, OnDevice) -> Draw<Host, OnDevice>;

// Fills a buffer of the host for the tensor.
template <typename Fill>
std::shared_ptr<runtime::Buffer> filled(const Tensor& self, const MaybeGenerator& generator, Fill fill) {
  auto buffer = allocate_buffer(static_cast<size_t>(self.nbytes()));
  HostEngine engine(generator, impl(self).device());
  fill(*engine, Elements{impl(self).dtype(), buffer->data(), self.numel()});
  return buffer;
}

// New elements for the tensor, in the order of its memory, in this shape.
template <typename Host, typename OnDevice>
NodeRef drawn(const Tensor& self, const Dims& shape, const MaybeGenerator& generator, const Draw<Host, OnDevice>& draw) {
  const TensorImpl& t = impl(self);
  if (draws_philox(t.device())) {
    PhiloxDraw philox(generator, t.device(), t.numel());
    return ir::reshape(ir::cast(draw.device(philox).node, t.dtype()), shape);
  }
  return on_device(ir::make_input(t.dtype(), shape, filled(self, generator, draw.host)), t.device());
}
// What has no formula is drawn on the host.
template <typename Fill>
NodeRef drawn(const Tensor& self, const Dims& shape, const MaybeGenerator& generator, Fill fill) {
  return on_device(ir::make_input(impl(self).dtype(), shape, filled(self, generator, fill)), impl(self).device());
}

// Gives a new tensor, which is dense, its values.
template <typename Distribution>
Tensor fresh(const Tensor& result, const MaybeGenerator& generator, const Distribution& draw) {
  if (result.numel() == 0) return result;
  Storage& storage = impl(result).storage();
  storage.set_value(drawn(result, storage.value()->shape(), generator, draw));
  return result;
}

// Draws new values for a tensor that may be any view.
template <typename Distribution>
Tensor& in_place(const char* name, const Tensor& self, const MaybeGenerator& generator, const Distribution& draw) {
  check_writable(self);
  if (self.numel() > 0) {
    GradScope scope(name, self);
    zero_gradients(scope, self);
    const TensorImpl& t = impl(self);
    const std::vector<size_t> order = memory_order(t.sizes(), t.strides());
    const NodeRef node = drawn(self, permuted(t.sizes(), order), generator, draw);
    Dims back(order.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
    write(self, ir::permute(node, back));
  }
  return const_cast<Tensor&>(self);
}

// --- the distributions: each checks its arguments and returns its draw

void check_implemented(bool implemented, const char* kernel, const Tensor& self) {
  check<NotImplementedError>(implemented, '"', kernel, "\" not implemented for '", self.scalar_type(), "'");
}

auto uniform(const Tensor& self, double from, double to) {
  check_implemented(self.is_floating_point(), "check_uniform_bounds", self);
  const double most = largest(self.scalar_type());
  check(from >= -most && from <= most, "from is out of bounds for ", self.dtype());
  check(to >= -most && to <= most, "to is out of bounds for ", self.dtype());
  check(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  check(to - from <= most, "uniform_ expects to-from <= std::numeric_limits<", self.scalar_type(), ">::max(), but found to=", to,
        " and from=", from, " which result in to-from to exceed the limit");
  return Draw{[=](RandomEngine& engine, Elements out) { fill_uniform(engine, out, from, to); },
              [=, type = impl(self).dtype()](PhiloxDraw& draw) { return draw.uniform(type, from, to); }};
}

auto gaussian(const Tensor& self, double mean, double std) {
  check(std >= 0, "normal expects std >= 0.0, but found std ", std);
  check_implemented(self.is_floating_point() || self.numel() == 0, "normal_kernel_cpu", self);
  return Draw{
      [=, contiguous = self.is_contiguous()](RandomEngine& engine, Elements out) { fill_normal(engine, out, mean, std, contiguous); },
      [=, type = impl(self).dtype()](PhiloxDraw& draw) { return draw.normal(type, mean, std); }};
}

int float_digits(ScalarType type) {
  switch (type) {
    case kHalf: return 11;
    case kBFloat16: return 8;
    case kFloat: return 24;
    default: return 53;
  }
}

// Bounds of float dtypes move inwards to where rounding to the dtype cannot carry a draw across them.
int64_t rounded_to(ScalarType type, int64_t value) { return ir::to_int64(ir::constant(ir_type(type), value)); }
int64_t spacing_at(ScalarType type, int64_t value) {
  const auto magnitude = static_cast<double>(value < 0 ? -static_cast<double>(value) : value);
  return int64_t{1} << std::clamp(std::ilogb(std::max(magnitude, 1.0)) - float_digits(type) + 1, 0, 62);
}
int64_t lower_bound(ScalarType type, int64_t from) {
  if (from == std::numeric_limits<int64_t>::max()) return from;
  const int64_t next = rounded_to(type, from + 1);
  return next < from ? next + spacing_at(type, from + 1) : from;
}
int64_t upper_bound(ScalarType type, int64_t to) {
  const int64_t last = rounded_to(type, to - 1);
  return last >= to ? last - spacing_at(type, to - 1) : to;
}

struct Bounds {
  int64_t least, most;
};
Bounds integer_bounds(ScalarType type) {
  const int bits = static_cast<int>(8 * elementSize(type));
  if (type == kBool) return {0, 1};
  if (type == kByte) return {0, 255};
  const int64_t most = ~uint64_t{0} >> (65 - bits);
  return {-most - 1, most};
}

void check_in_range(const Tensor& self, int64_t from, int64_t last) {
  const ScalarType type = self.scalar_type();
  auto fits = [&](int64_t value) {
    if (isFloatingType(type)) return std::abs(static_cast<double>(value)) <= largest(type);
    return value >= integer_bounds(type).least && value <= integer_bounds(type).most;
  };
  check(fits(from), "from is out of bounds for ", self.dtype());
  check(fits(last), "to - 1 is out of bounds for ", self.dtype());
  if (!isFloatingType(type)) return;
  const int digits = float_digits(type);
  const auto warn_unless_exact = [&](int64_t value, const char* name) {
    if (value >= -(int64_t{1} << digits) && value <= int64_t{1} << digits) return;
    warn_user(text(name, " is out of bounds [-(2^", digits, "), 2^", digits, "]. Due to precision limitations ", self.dtype(),
                   " can support discrete uniform distribution only within this range. This warning will become "
                   "an error in version 1.7 release, please fix the code in advance"));
  };
  warn_unless_exact(from, "from");
  warn_unless_exact(last, "to - 1");
}

auto integer_draw(int64_t from, uint64_t range) {  // 0: 2^64
  return Draw{[=](RandomEngine& engine, Elements out) { fill_integers(engine, out, from, range); },
              [=](PhiloxDraw& draw) { return draw.integers(from, range, takes_wide_words(range)); }};
}

auto integers(const Tensor& self, int64_t from, int64_t to) {
  check(from < to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", to);
  if (self.is_floating_point()) {
    from = lower_bound(self.scalar_type(), from);
    to = upper_bound(self.scalar_type(), to);
    check(from < to, "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=", from, " >= to=", to);
  }
  check_in_range(self, from, to - 1);
  return integer_draw(from, static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}

// Up to the largest integer of the dtype, or 2^digits of a float one.
auto integers_from(const Tensor& self, int64_t from) {
  const ScalarType type = self.scalar_type();
  if (from == std::numeric_limits<int64_t>::min()) {
    check_implemented(type != kHalf && type != kBool, "random_full_64_bits_range_kernel_cpu", self);
    check(isFloatingType(type) || type == kLong, "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    return integer_draw(from, 0);
  }
  int64_t last = integer_bounds(type).most;
  if (isFloatingType(type)) {
    last = int64_t{1} << float_digits(type);
    from = lower_bound(type, from);
    check(from < last,
          "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
          "got "
          "from=",
          from, " > to_inc=", last);
  }
  check_in_range(self, from, last);
  return integer_draw(from, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1);
}

auto any_integers(const Tensor& self) {
  return Draw{fill_any_integers, [type = impl(self).dtype()](PhiloxDraw& draw) {
                return draw.integers(0, any_integer_range(type), type == DType::I64 || type == DType::F64);
              }};
}

auto coin(const Tensor& self, double p) {
  check(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  return Draw{[=](RandomEngine& engine, Elements out) { fill_bernoulli(engine, out, p); },
              [=, type = impl(self).dtype()](PhiloxDraw& draw) { return draw.bernoulli(type, p); }};
}

std::vector<int64_t> dims_in_memory_order(const Tensor& self) {
  std::vector<int64_t> dims;
  for (size_t d : memory_order(impl(self).sizes(), impl(self).strides())) dims.push_back(static_cast<int64_t>(d));
  return dims;
}

// The elements as they lie in the memory of `self`, evaluated.
template <typename T>
Tensor in_memory_order(const Tensor& x, const Tensor& self) {
  return x.expand(self.sizes()).permute(dims_in_memory_order(self)).to(scalar_type_of<T>()).contiguous();
}

constexpr const char* kNoProbability =
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report an "
    "enhancement request to PyTorch.)";

// A coin for each element of self, by probabilities of type T.
template <typename T>
auto coins_of(const Tensor& self, const Tensor& p) {
  const Tensor ordered = in_memory_order<T>(p, self);
  const HostView view = host_view(ordered);
  const auto* probabilities = reinterpret_cast<const T*>(view.data);
  const bool valid = std::all_of(probabilities, probabilities + self.numel(), [](T v) { return v >= 0 && v <= 1; });
  check(valid, kNoProbability);
  return [view](RandomEngine& engine, Elements out) { fill_bernoulli(engine, out, reinterpret_cast<const T*>(view.data)); };
}

// Hands coins of p's precision on to f. On a CUDA device the kernel that draws looks at the probabilities.
template <typename F>
decltype(auto) with_coins(const Tensor& self, const Tensor& p, F f) {
  check_implemented(p.is_floating_point(), "bernoulli_tensor_cpu_p_", p);
  if (draws_philox(impl(self).device())) {
    const ScalarType type = self.scalar_type() == kDouble ? kDouble : kFloat;
    const Tensor probabilities = p.to(self.device()).to(type).expand(self.sizes()).permute(dims_in_memory_order(self));
    NodeRef checked = node_of(probabilities);
    if (void* const note = value_note(impl(self).device(), kNoProbability, "bernoulli"))
      checked = noted_where(checked, node_of(probabilities.detach().ge(0).logical_and(probabilities.detach().le(1)).logical_not()), note);
    const Expr wanted{ir::reshape(checked, Dims{self.numel()})};
    return f(Draw{[](RandomEngine&, Elements) {}, [=](PhiloxDraw& draw) { return draw.unit(ir_type(type)) <= wanted; }});
  }
  return p.scalar_type() == kDouble ? f(coins_of<double>(self, p)) : f(coins_of<float>(self, p));
}

}  // namespace

// --- creation

Tensor rand(IntArrayRef size, const TensorOptions& options) { return rand(size, nullopt, options); }
Tensor rand(IntArrayRef size, const MaybeGenerator& generator, const TensorOptions& options) {
  const Tensor result = empty(size, options);
  return fresh(result, generator, uniform(result, 0, 1));
}
Tensor randn(IntArrayRef size, const TensorOptions& options) { return randn(size, nullopt, options); }
Tensor randn(IntArrayRef size, const MaybeGenerator& generator, const TensorOptions& options) {
  return normal(0, 1, size, generator, options);
}
Tensor rand_like(const Operand& self, const TensorOptions& options) {
  const CallScope call("rand_like", self);
  const Tensor result = empty_like(self, options);
  return fresh(result, nullopt, uniform(result, 0, 1));
}
Tensor randn_like(const Operand& self, const TensorOptions& options) {
  const CallScope call("randn_like", self);
  const Tensor result = empty_like(self, options);
  return fresh(result, nullopt, gaussian(result, 0, 1));
}

Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& options) { return randint(0, high, size, nullopt, options); }
Tensor randint(int64_t high, IntArrayRef size, const MaybeGenerator& generator, const TensorOptions& options) {
  return randint(0, high, size, generator, options);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options) {
  return randint(low, high, size, nullopt, options);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const MaybeGenerator& generator, const TensorOptions& options) {
  const Tensor result = empty(size, options.has_dtype() ? options : options.dtype(kLong));
  return fresh(result, generator, integers(result, low, high));
}
Tensor randint_like(const Operand& self, int64_t high, const TensorOptions& options) {
  const CallScope call("randint_like", self);
  return randint_like(self, 0, high, options);
}
Tensor randint_like(const Operand& self, int64_t low, int64_t high, const TensorOptions& options) {
  const CallScope call("randint_like", self);
  const Tensor result = empty_like(self, options);
  return fresh(result, nullopt, integers(result, low, high));
}

namespace {
// A permutation; on a CUDA device it is the order of random keys.
Tensor permutation(const Tensor& result, const MaybeGenerator& generator) {
  if (draws_philox(impl(result).device()))
    return fresh(result, generator, integer_draw(std::numeric_limits<int64_t>::min(), 0)).argsort(true, 0);
  return fresh(result, generator,
               [](RandomEngine& engine, Elements out) { fill_permutation(engine, static_cast<int64_t*>(out.data), out.count); });
}
}  // namespace

Tensor randperm(int64_t n, const TensorOptions& options) { return randperm(n, nullopt, options); }
Tensor randperm(int64_t n, const MaybeGenerator& generator, const TensorOptions& options) {
  checked_numel(IntArrayRef(n));
  const ScalarType type = options.has_dtype() ? options.dtype().toScalarType() : kLong;
  if (isFloatingType(type)) {
    const int64_t most = (int64_t{1} << float_digits(type)) + 1;
    check(n <= most, "n cannot be greater than ", most, " for ", type, " type.");
  } else {
    check(n <= integer_bounds(type).most, "value cannot be converted to type ", TypeMeta(type), " without overflow");
  }
  const Tensor order = permutation(empty({n}, options.dtype(kLong).requires_grad(false)), generator);
  const Tensor result = order.to(type);
  return options.requires_grad() ? result.requires_grad_() : result;
}

// --- draws that depend on tensors

Tensor bernoulli(const Operand& self, const MaybeGenerator& generator) {
  GradScope scope("BernoulliBackward0", self);
  zero_gradients(scope, self);
  const Tensor result = empty(self.sizes(), self.options());
  return with_coins(result, self, [&](auto coins) { return fresh(result, generator, coins); });
}
Tensor bernoulli(const Operand& self, double p, const MaybeGenerator& generator) {
  GradScope scope("NotImplemented", self);
  scope.no_derivative("bernoulli");
  const Tensor result = empty(self.sizes(), self.options());
  return fresh(result, generator, coin(result, p));
}

Tensor normal(double mean, double std, IntArrayRef size, const MaybeGenerator& generator, const TensorOptions& options) {
  const Tensor result = empty(size, options);
  return fresh(result, generator, gaussian(result, mean, std));
}
Tensor normal(const Operand& mean, double std, const MaybeGenerator& generator) {
  GradScope scope("NormalBackward1", mean);
  zero_gradients(scope, mean);  // PyTorch draws, it does not shift and scale
  const Tensor noise = normal(0, std, mean.sizes(), generator, mean.options());
  return noise.add(mean);
}
Tensor normal(double mean, const Operand& std, const MaybeGenerator& generator) {
  GradScope scope("NormalBackward2", std);
  zero_gradients(scope, std);
  return normal(scalar_tensor(mean, std.options()), std, generator);
}
Tensor normal(const Operand& mean, const Operand& std, const MaybeGenerator& generator) {
  GradScope scope("NormalBackward3", mean, std);
  zero_gradients(scope, mean, std);
  constexpr const char* kNegative = "normal expects all elements of std >= 0.0";
  const Tensor kept = std;  // or a temporary is computed for the check and for the result
  void* const note = value_note(impl(std).device(), kNegative, "normal");
  check(note || std.numel() == 0 || std.min().item().toDouble() >= 0, kNegative);
  const Dims shape = broadcast_shape(mean.sizes(), std.sizes());
  Tensor noise = normal(0, 1, ref(shape), generator, mean.options());
  if (note) noise = record(noted_where(node_of(noise), broadcast(node_of(std.detach().ge(0).logical_not()), ref(shape)), note));
  return noise.mul(std).to(mean.scalar_type()).add(mean);
}

Tensor poisson(const Operand& self, const MaybeGenerator& generator) {
  GradScope scope("PoissonBackward0", self);
  zero_gradients(scope, self);
  check_implemented(self.is_floating_point(), "poisson_cpu", self);
  const Tensor result = empty(self.sizes(), self.options()), rates = self.to(kDouble).contiguous();
  const HostView view = host_view(rates);
  const auto* values = reinterpret_cast<const double*>(view.data);
  check(std::all_of(values, values + self.numel(), [](double rate) { return rate >= 0; }),
        "invalid Poisson rate, expected rate to be non-negative");
  return fresh(result, generator, [=](RandomEngine& engine, Elements out) { fill_poisson(engine, out, values); });
}

// --- in place

Tensor& Tensor::uniform_(double from, double to, const optional<Generator>& generator) const {
  const CallScope call("uniform_", *this);
  return in_place("UniformBackward0", *this, generator, uniform(*this, from, to));
}
Tensor& Tensor::normal_(double mean, double std, const optional<Generator>& generator) const {
  const CallScope call("normal_", *this);
  return in_place("NormalBackward0", *this, generator, gaussian(*this, mean, std));
}
Tensor& Tensor::random_(int64_t from, optional<int64_t> to, const optional<Generator>& generator) const {
  const CallScope call("random_", *this);
  return in_place("RandomBackward0", *this, generator, to ? integers(*this, from, *to) : integers_from(*this, from));
}
Tensor& Tensor::random_(int64_t to, const optional<Generator>& generator) const { return random_(0, to, generator); }
Tensor& Tensor::random_(const optional<Generator>& generator) const {
  const CallScope call("random_", *this);
  return in_place("RandomBackward2", *this, generator, any_integers(*this));
}
Tensor& Tensor::bernoulli_(double p, const optional<Generator>& generator) const {
  const CallScope call("bernoulli_", *this);
  return in_place("BernoulliBackward2", *this, generator, coin(*this, p));
}
Tensor& Tensor::bernoulli_(const Operand& p, const optional<Generator>& generator) const {
  const CallScope call("bernoulli_", *this, p);
  return with_coins(*this, p, [&](auto coins) -> Tensor& { return in_place("BernoulliBackward1", *this, generator, coins); });
}
Tensor& Tensor::exponential_(double lambd, const optional<Generator>& generator) const {
  const CallScope call("exponential_", *this);
  check(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  check(is_floating_point(),
        "Exponential distribution is a continuous probability distribution. dtype must be a floating point "
        "but you "
        "specified ",
        scalar_type());
  return in_place("ExponentialBackward0", *this, generator,
                  Draw{[=](RandomEngine& engine, Elements out) { fill_exponential(engine, out, lambd); },
                       [=, type = impl(*this).dtype()](PhiloxDraw& draw) { return draw.exponential(type, lambd); }});
}
Tensor& Tensor::log_normal_(double mean, double std, const optional<Generator>& generator) const {
  const CallScope call("log_normal_", *this);
  check(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  check_implemented(is_floating_point(), "log_normal_cpu", *this);
  return in_place("LogNormalBackward0", *this, generator,
                  Draw{[=](RandomEngine& engine, Elements out) { fill_log_normal(engine, out, mean, std); },
                       [=, type = impl(*this).dtype()](PhiloxDraw& draw) { return draw.log_normal(type, mean, std); }});
}
Tensor& Tensor::cauchy_(double median, double sigma, const optional<Generator>& generator) const {
  const CallScope call("cauchy_", *this);
  check(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check(is_floating_point(),
        "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
        "specified ",
        scalar_type());
  return in_place("CauchyBackward0", *this, generator,
                  Draw{[=](RandomEngine& engine, Elements out) { fill_cauchy(engine, out, median, sigma); },
                       [=, type = impl(*this).dtype()](PhiloxDraw& draw) { return draw.cauchy(type, median, sigma); }});
}
Tensor& Tensor::geometric_(double p, const optional<Generator>& generator) const {
  const CallScope call("geometric_", *this);
  check(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_implemented(scalar_type() != kBool, "geometric_cpu", *this);
  return in_place("GeometricBackward0", *this, generator,
                  Draw{[=](RandomEngine& engine, Elements out) { fill_geometric(engine, out, p); },
                       [=, type = impl(*this).dtype()](PhiloxDraw& draw) { return draw.geometric(type, p); }});
}

}  // namespace tenon
