// Generators, random tensors, dropout.
#include "frontend/python/call.h"

namespace python {

using tenon::Generator;
using tenon::Tensor;
using MaybeGenerator = tenon::optional<Generator>;

namespace {

uint64_t seed_of(const Value& v) {
  if (v.is<double>()) return static_cast<uint64_t>(static_cast<int64_t>(v.as<double>()));
  if (!v.is<BigInteger>()) return static_cast<uint64_t>(v.as<int64_t>());
  const Wide wide = v.as<BigInteger>().value;
  constexpr Wide kMost = ~uint64_t{0};
  if (wide < std::numeric_limits<int64_t>::min() || wide > kMost)
    throw tenon::ValueError("Overflow when unpacking long long");  // what Python says before it calls C++
  return static_cast<uint64_t>(wide);
}

class GeneratorObject : public Object {
 public:
  explicit GeneratorObject(Generator generator) : generator(std::move(generator)) {}
  Value method(const std::string& name, const Call& c) override {
    if (name == "manual_seed") {
      generator.set_current_seed(seed_of(c.need(1, "seed")));
      return Value(ObjectPtr(std::make_shared<GeneratorObject>(generator)));
    }
    if (name == "initial_seed") return integer(static_cast<Wide>(generator.initial_seed()));
    if (name == "seed") return integer(static_cast<Wide>(generator.seed()));
    if (name == "get_state") return generator.get_state();
    return Object::method(name, c);
  }
  Value attribute(const std::string& name) override {
    if (name == "device") return generator.device();
    return Object::attribute(name);
  }
  Generator generator;
};

MaybeGenerator generator(const Call& c) {
  const Value* v = c.find(Call::kNamed, "generator");
  if (!v) return tenon::nullopt;
  const auto* object = v->object<GeneratorObject>();
  if (!object) throw Unsupported("a generator of another kind");
  return object->generator;
}

Value make_generator(const Call& c) {
  if (const Value* device = c.find(0, "device"); device && to_device(*device).is_cuda()) throw Unsupported("generators of other devices");
  return Value(ObjectPtr(std::make_shared<GeneratorObject>(tenon::detail::createCPUGenerator())));
}

// randint(high, size) or randint(low, high, size).
Value randint(const Call& c) {
  const bool two = c.positional.size() > 2 || c.named.contains("low");
  const int64_t low = two ? c.integer(0, "low") : 0;
  const int64_t high = c.integer(two ? 1 : 0, "high");
  const Ints size = c.ints(two ? 2 : 1, "size");
  return tenon::randint(low, high, size, generator(c), c.options());
}

Value randint_like(const Call& c) {
  const bool two = c.positional.size() > 2;
  const int64_t low = two ? c.integer(1, "low") : 0, high = c.integer(two ? 2 : 1, "high");
  return tenon::randint_like(c.tensor(0), low, high, c.options());
}

Value normal(const Call& c) {
  const Value& mean = c.need(0, "mean");
  if (mean.is<Tensor>() && c.has(1, "std") && c.need(1, "std").is<Tensor>())
    return tenon::normal(c.tensor(0), c.tensor(1, "std"), generator(c));
  if (mean.is<Tensor>()) return tenon::normal(c.tensor(0), c.real(1, "std", 1), generator(c));
  if (c.need(1, "std").is<Tensor>()) return tenon::normal(to_scalar(mean).toDouble(), c.tensor(1, "std"), generator(c));
  return tenon::normal(to_scalar(mean).toDouble(), c.scalar(1, "std").toDouble(), c.ints(2, "size"), generator(c), c.options());
}

Value random_in_place(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (c.has(2, "to")) return x.random_(c.integer(1, "from"), c.integer(2, "to"), generator(c));
  return c.has(1, "to") ? x.random_(c.integer(1, "to"), generator(c)) : x.random_(generator(c));
}

// A dropout function F.f(input, p=0.5, training=True).
template <typename F>
Function dropping(F f) {
  return [f](const Call& c) -> Value { return f(c.tensor(0), c.real(1, "p", 0.5), c.flag(2, "training", true)); };
}

void add_generators(Table& t) {
  t["torch.Generator"] = make_generator;
  t["torch.manual_seed"] = [](const Call& c) -> Value {
    tenon::manual_seed(seed_of(c.need(0, "seed")));
    return Value(ObjectPtr(std::make_shared<GeneratorObject>(tenon::default_generator())));
  };
  t["torch.initial_seed"] = [](const Call&) -> Value { return integer(static_cast<Wide>(tenon::initial_seed())); };
  t["torch.get_rng_state"] = [](const Call&) -> Value { return tenon::get_rng_state(); };
}

void add_in_place(Table& t) {
  t["uniform_"] = [](const Call& c) -> Value { return c.tensor(0).uniform_(c.real(1, "a", 0), c.real(2, "b", 1), generator(c)); };
  t["normal_"] = [](const Call& c) -> Value { return c.tensor(0).normal_(c.real(1, "mean", 0), c.real(2, "std", 1), generator(c)); };
  t["random_"] = random_in_place;
  t["bernoulli_"] = [](const Call& c) -> Value {
    if (c.has(1, "p") && c.need(1, "p").is<Tensor>()) return c.tensor(0).bernoulli_(c.tensor(1, "p"), generator(c));
    return c.tensor(0).bernoulli_(c.real(1, "p", 0.5), generator(c));
  };
  t["log_normal_"] = [](const Call& c) -> Value {
    return c.tensor(0).log_normal_(c.real(1, "mean", 1), c.real(2, "std", 2), generator(c));
  };
  t["cauchy_"] = [](const Call& c) -> Value { return c.tensor(0).cauchy_(c.real(1, "median", 0), c.real(2, "sigma", 1), generator(c)); };
  t["exponential_"] = [](const Call& c) -> Value { return c.tensor(0).exponential_(c.real(1, "lambd", 1), generator(c)); };
}

}  // namespace

void add_random(Table& t) {
  add_generators(t);
  add_in_place(t);
  t["rand"] = [](const Call& c) -> Value { return tenon::rand(c.rest_as_ints(0, "size"), generator(c), c.options()); };
  t["randn"] = [](const Call& c) -> Value { return tenon::randn(c.rest_as_ints(0, "size"), generator(c), c.options()); };
  t["rand_like"] = [](const Call& c) -> Value { return tenon::rand_like(c.tensor(0), c.options()); };
  t["randn_like"] = [](const Call& c) -> Value { return tenon::randn_like(c.tensor(0), c.options()); };
  t["randint"] = randint;
  t["randint_like"] = randint_like;
  t["randperm"] = [](const Call& c) -> Value { return tenon::randperm(c.integer(0, "n"), generator(c), c.options()); };
  t["bernoulli"] = [](const Call& c) -> Value {
    return c.has(1, "p") ? tenon::bernoulli(c.tensor(0), c.scalar(1, "p").toDouble(), generator(c))
                         : tenon::bernoulli(c.tensor(0), generator(c));
  };
  t["torch.normal"] = normal;
  t["multinomial"] = [](const Call& c) -> Value {
    return tenon::multinomial(c.tensor(0), c.integer(1, "num_samples"), c.flag(2, "replacement", false), generator(c));
  };
  t["poisson"] = [](const Call& c) -> Value { return tenon::poisson(c.tensor(0), generator(c)); };
  t["dropout"] = dropping(tenon::dropout);
  t["F.dropout2d"] = t["F.feature_dropout"] = dropping(tenon::feature_dropout);
  t["F.alpha_dropout"] = dropping(tenon::alpha_dropout);
}

}  // namespace python
