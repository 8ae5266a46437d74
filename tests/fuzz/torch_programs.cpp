// Random differentiable programs, held to what PyTorch computed for them:
//
//   torch_programs FILE
//
// scripts/golden/make_gradient_programs.py draws the programs, runs them in PyTorch and writes the file:
//
//   ### 17 float64                         number, and the type whose rounding is allowed for
//   v0 = leaf(3, [2, 3]).requires_grad_()  the program; `show` says what is compared
//   v0.exp().sum().backward()
//   show(v0.grad)
//   ---
//   float64 - [2,3] 1 2.5 nan ...          a line for each show: type, "g" if it requires grad, shape, elements; or None;
//                                          or "name" and what name() says of a tensor's grad_fn
//   ! RuntimeError: some text              how the program ended, unless at its end
//
// Prints a line for each program: its number and "same", or the kind of the first difference and what
// differs. The exit status is 1 if a program differs.
#include <tenon/tenon.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "frontend/golden.h"
#include "frontend/ops/function_cases.h"
#include "frontend/python/call.h"
#include "frontend/python/python.h"

std::string data_folder() {
  const char* from_environment = std::getenv("TENON_TEST_DATA");
  return from_environment ? from_environment : TENON_TEST_DATA;
}

namespace {

using python::Call;
using python::Value;
namespace nn = tenon::nn;
using tenon::Tensor;

struct Program {
  std::string number, type, text, end;
  std::vector<std::string> shown;
};

std::vector<Program> read(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Program> programs;
  bool results = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("### ")) {
      std::istringstream words(line.substr(4));
      words >> programs.emplace_back().number >> programs.back().type;
      results = false;
    } else if (line == "---") {
      results = true;
    } else if (!results) {
      programs.back().text += line + "\n";
    } else if (line.starts_with("! ")) {
      programs.back().end = line.substr(2);
    } else {
      programs.back().shown.push_back(line);
    }
  }
  return programs;
}

// --- what the programs call beside PyTorch's own functions

using Function = std::function<Value(const Call&)>;
class Builtin : public python::Object {
 public:
  explicit Builtin(Function f) : f_(std::move(f)) {}
  Value call(const Call& c) override { return f_(c); }

 private:
  Function f_;
};
Value builtin(Function f) { return python::ObjectPtr(std::make_shared<Builtin>(std::move(f))); }

// Numbers in -2 .. 2 that follow from the seed: thousandths, or quarters where there shall be equal ones.
Tensor numbers(const Call& c, int64_t steps) {
  const python::Ints shape = c.ints(1, "shape");
  size_t count = 1;
  for (int64_t size : shape) count *= static_cast<size_t>(size);
  std::vector<double> values(count);
  int64_t state = c.integer(0, "seed") * 7919 + 12345;
  for (double& v : values) {
    state = (state * 1103515245 + 12345) % (int64_t{1} << 31);
    v = static_cast<double>((state >> 8) % (4 * steps + 1) - 2 * steps) / static_cast<double>(steps);
  }
  const tenon::ScalarType type = c.has(2, "dtype") ? c.need(2, "dtype").as<tenon::ScalarType>() : tenon::kDouble;
  return tenon::tensor(values, tenon::kDouble).to(type).view(shape).clone();
}

// The golden data's operands: of a set of functions.json, of a case of ops.json.
const nlohmann::json& table() {
  static const nlohmann::json data = golden::load("functions.json");
  return data;
}
Tensor given(const Call& c) {
  static const nlohmann::json& sets = table().at("inputs");
  static std::string blob = golden::read("functions.bin");
  const auto row = static_cast<size_t>(c.integer(1, "row")), i = static_cast<size_t>(c.integer(2, "i"));
  return golden::packed(sets.at(c.string(0, "set", "")).at(row).at(i), blob);
}
Tensor example(const Call& c) {
  static const std::map<std::string, nlohmann::json> cases = [] {
    std::map<std::string, nlohmann::json> by_name;
    for (const nlohmann::json& entry : golden::load("ops.json")) by_name[entry["name"]] = entry["inputs"];
    return by_name;
  }();
  static std::string blob = golden::read("ops.bin");
  return golden::packed(cases.at(c.string(0, "name", "")).at(static_cast<size_t>(c.integer(1, "i"))), blob);
}

// A case of functions_*.inc by its text, on other operands.
Value function(const Call& c) {
  static const std::map<std::string, const functions::Case*> cases = [] {
    std::map<std::string, const functions::Case*> by_text;
    for (size_t i = 0; i < std::size(functions::kCases); ++i) by_text[table().at("cases").at(i).at("expression")] = &functions::kCases[i];
    return by_text;
  }();
  functions::Row operands;
  for (size_t i = 1; i < c.positional.size(); ++i) operands.push_back(c.tensor(i));
  const auto found = cases.find(c.string(0, "expression", ""));
  if (found == cases.end()) throw python::Unsupported("no case " + c.string(0, "expression", ""));
  return python::list_of(found->second->run(operands));
}

// A layer in double precision, its kind and its sizes: layer('Linear', True, [3, 4]). Called, it gives its first result.
class Layer : public python::Object {
 public:
  using Forward = std::function<Tensor(const Tensor&)>;
  Layer(std::shared_ptr<nn::Module> module, bool train, Forward forward) : module_(std::move(module)), forward_(std::move(forward)) {
    module_->to(tenon::kDouble);
    module_->train(train);
  }
  Value call(const Call& c) override { return forward_(c.tensor(0)); }
  const nn::Module& module() const { return *module_; }

 private:
  std::shared_ptr<nn::Module> module_;
  Forward forward_;
};

Tensor first(const Tensor& x) { return x; }
template <typename... Others>
Tensor first(const std::tuple<Tensor, Others...>& results) {
  return std::get<0>(results);
}

template <typename Holder>
Value made(Holder holder, bool train) {
  auto forward = [holder](const Tensor& x) mutable { return first(holder->forward(x)); };
  return python::ObjectPtr(std::make_shared<Layer>(holder.ptr(), train, forward));
}

Value layer(const Call& c) {
  const std::string kind = c.string(0, "kind", "");
  const bool train = c.need(1, "train").as<bool>();
  const python::Ints n = c.ints(2, "sizes");
  tenon::manual_seed(7);
  if (kind == "Linear") return made(nn::Linear(n[0], n[1]), train);
  if (kind == "Conv1d") return made(nn::Conv1d(n[0], n[1], n[2]), train);
  if (kind == "BatchNorm1d") return made(nn::BatchNorm1d(n[0]), train);
  if (kind == "LayerNorm") return made(nn::LayerNorm(nn::LayerNormOptions({n[0]})), train);
  if (kind == "RNN") return made(nn::RNN(n[0], n[1]), train);
  if (kind == "GRU") return made(nn::GRU(n[0], n[1]), train);
  if (kind == "LSTM") return made(nn::LSTM(n[0], n[1]), train);
  if (kind == "PReLU") return made(nn::PReLU(), train);
  if (kind != "MultiheadAttention") throw python::Unsupported("layer " + kind);
  nn::MultiheadAttention attention(n[0], n[1]);
  auto forward = [attention](const Tensor& x) mutable { return std::get<0>(attention->forward(x, x, x)); };
  return python::ObjectPtr(std::make_shared<Layer>(attention.ptr(), train, forward));
}

Value parameter(const Call& c) {
  const Layer* layer = c.need(0, "layer").object<Layer>();
  if (!layer) throw python::Unsupported("parameters of something else");
  return layer->module().parameters().at(static_cast<size_t>(c.integer(1, "number")));
}

// A part whose values are computed again, and a call that writes its result into a tensor.
Value checkpointed(const Call& c) {
  return tenon::autograd::checkpoint([](const Tensor& x) { return x.sin() * x + x.tanh().exp(); }, c.tensor(0));
}
Value written_out(const Call& c) {
  const std::string name = c.string(0, "name", "");
  Tensor out = c.tensor(1);
  if (name == "add") return tenon::add_out(out, c.tensor(2), c.tensor(3));
  if (name == "mul") return tenon::mul_out(out, c.tensor(2), c.tensor(3));
  if (name == "maximum") return tenon::maximum_out(out, c.tensor(2), c.tensor(3));
  throw python::Unsupported("out form " + name);
}

// --- comparison

struct Difference : std::runtime_error {
  Difference(const std::string& kind, const std::string& what) : std::runtime_error(kind + ": " + what) {}
};

const char* name_of(tenon::ScalarType type) { return golden::kDtypeNames.at(static_cast<size_t>(type)).c_str(); }

// Throws where the tensor is not what the line says. What is allowed follows the largest of the elements,
// since sums cancel.
void compare(const Value& v, const std::string& line, double tolerance) {
  if (line.starts_with("name ")) {
    if (v.as<std::string>() != line.substr(5)) throw Difference("name", v.as<std::string>() + ", not " + line.substr(5));
    return;
  }
  if (line == "None" || v.is<python::None>()) {
    if (line != "None") throw Difference("undefined", "None, not " + line);
    if (!v.is<python::None>()) throw Difference("undefined", tenon::repr(v.as<Tensor>()) + ", not None");
    return;
  }
  const Tensor& x = v.as<Tensor>();
  std::istringstream words(line);
  std::string type, grad, shape, word;
  words >> type >> grad >> shape;
  std::ostringstream sizes;
  for (int64_t size : x.sizes()) sizes << (sizes.tellp() > 0 ? "," : "") << size;
  if (type != name_of(x.scalar_type())) throw Difference("type", std::string(name_of(x.scalar_type())) + ", not " + line);
  if (shape != "[" + sizes.str() + "]") throw Difference("shape", "[" + sizes.str() + "], not " + line);
  std::vector<double> wanted, got;
  while (words >> word) wanted.push_back(std::strtod(word.c_str(), nullptr));
  const Tensor flat = x.detach().to(tenon::kDouble).contiguous();
  got.assign(flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel());
  double largest = 1e-2;
  for (double w : wanted) largest = std::isfinite(w) ? std::max(largest, std::abs(w)) : largest;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted.at(i) || (std::isnan(got[i]) && std::isnan(wanted[i]))) continue;
    if (std::abs(got[i] - wanted[i]) <= tolerance * largest) continue;
    std::ostringstream out;
    out << "element " << i << " is " << got[i] << ", not " << wanted[i] << ", in " << tenon::repr(flat.view(x.sizes()));
    throw Difference("value", out.str());
  }
  if ((grad == "g") != x.requires_grad()) throw Difference("requires_grad", grad == "g" ? "false, not true" : "true, not false");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string kind_of(const tenon::Error& e) {
  if (dynamic_cast<const tenon::IndexError*>(&e)) return "IndexError";
  if (dynamic_cast<const tenon::TypeError*>(&e)) return "TypeError";
  if (dynamic_cast<const tenon::ValueError*>(&e)) return "ValueError";
  return "RuntimeError";
}

void run(const Program& p) {
  const double tolerance = p.type == "float64" ? 1e-6 : 1e-3;
  size_t shown = 0;
  tenon::manual_seed(0);
  const python::Variables variables = {{"show", builtin([&](const Call& c) -> Value {
                                          const Value v = c.positional.at(0);
                                          c.used_positions.insert(0);
                                          if (shown == p.shown.size()) throw Difference("error", "none, not " + p.end);
                                          try {
                                            compare(v, p.shown[shown], tolerance);
                                          } catch (const Difference& d) {
                                            throw std::runtime_error(std::string(d.what()) + " (show " + std::to_string(shown + 1) + ")");
                                          }
                                          ++shown;
                                          return python::None{};
                                        })},
                                       {"name", builtin([](const Call& c) -> Value {
                                          const auto fn = c.tensor(0).grad_fn();
                                          return fn ? fn->name() : "None";
                                        })},
                                       {"leaf", builtin([](const Call& c) -> Value { return numbers(c, 1000); })},
                                       {"ties", builtin([](const Call& c) -> Value { return numbers(c, 4); })},
                                       {"given", builtin([](const Call& c) -> Value { return given(c); })},
                                       {"example", builtin([](const Call& c) -> Value { return example(c); })},
                                       {"layer", builtin(layer)},
                                       {"parameter", builtin(parameter)},
                                       {"checkpointed", builtin(checkpointed)},
                                       {"written_out", builtin(written_out)},
                                       {"function", builtin(function)}};
  try {
    python::run(p.text + "out = 0\n", variables);
  } catch (const tenon::Error& e) {
    if (p.end.empty() || shown < p.shown.size())
      throw Difference("refused", "after show " + std::to_string(shown) + ": " + first_line(e.what()));
    if (!p.end.starts_with(kind_of(e) + ":"))
      throw Difference("class of error", kind_of(e) + ": " + first_line(e.what()) + ", not " + p.end);
    const std::string wanted = golden::as_tenon(p.end.substr(p.end.find(": ") + 2)), got = golden::as_tenon(first_line(e.what()));
    if (std::getenv("TENON_PROGRAM_TEXTS") && got != wanted) throw Difference("text of error", got + ", not " + wanted);
    return;
  }
  if (!p.end.empty()) throw Difference("error", "none, not " + p.end);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: torch_programs FILE\n";
    return 2;
  }
  int differ = 0;
  for (const Program& p : read(argv[1])) {
    std::cout << p.number << " " << std::flush;
    std::string outcome = "same";
    try {
      run(p);
    } catch (const python::Unsupported& e) {
      outcome = std::string("unsupported: ") + e.what();
    } catch (const std::exception& e) {
      outcome = e.what();
    }
    for (char& c : outcome) c = c == '\n' ? ' ' : c;
    std::cout << outcome << std::endl;
    differ += outcome != "same";
  }
  return differ != 0;
}
