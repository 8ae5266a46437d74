// bench_calls: runs and times calls that are written as in Python, for bench/cliff.py and bench/performance.py, which have other
// libraries do the same (bench/peers.py).
//
//   let NAME EXPRESSION       a variable, which is computed at once; answers "ok"
//   load NAME FILE            a variable from a .npy file; answers "ok"
//   save FILE EXPRESSION      writes the result's tensors to FILE.0.npy, FILE.1.npy, ...; answers how many
//   run EXPRESSION            answers what the result's tensors have: sizes, how many elements are nan, the sum of absolute values
//   time SECONDS EXPRESSION   runs it for so long; answers the microseconds of one run
//   clear                     forgets the variables; answers "ok"
//   copy BYTES                answers how many GB/s a core copies, where the two arrays together have so many bytes
//   fma                       answers how many GFLOP/s a core reaches in float32 from registers
//
// A line is a command. What fails answers "error: " and the text in one line.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <sstream>

#include "bench/baseline.h"
#include "bench/harness.h"
#include "frontend/python/python.h"

namespace {

using python::Value;
using tenon::Tensor;

void add_tensors(const Value& v, std::vector<Tensor>& tensors) {
  if (v.is<Tensor>()) tensors.push_back(v.as<Tensor>());
  if (!v.is<python::List>()) return;
  for (const Value& item : v.as<python::List>().items) add_tensors(item, tensors);
}

std::vector<Tensor> tensors_in(const Value& v) {
  std::vector<Tensor> tensors;
  add_tensors(v, tensors);
  return tensors;
}

// Computes what the value holds.
Value computed(Value v) {
  const std::vector<Tensor> tensors = tensors_in(v);
  if (!tensors.empty()) tenon::eval(tensors);
  return v;
}

std::string saved(const Value& v, const std::string& file) {
  const std::vector<Tensor> tensors = tensors_in(v);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor t = tensors[i].detach();  // NumPy has no bfloat16
    tenon::io::save_npy(file + "." + std::to_string(i) + ".npy", t.scalar_type() == tenon::kBFloat16 ? t.to(tenon::kFloat) : t);
  }
  return std::to_string(tensors.size());
}

std::string summary(const Value& v) {
  std::ostringstream text;
  for (const Tensor& t : tensors_in(v)) {
    const Tensor x = t.detach().to(tenon::kFloat64);
    const Tensor kept = tenon::where(tenon::isfinite(x), x.abs(), tenon::zeros_like(x));
    text << "[";
    for (const int64_t size : x.sizes()) text << size << ",";
    text << "] " << tenon::isnan(x).sum().item<int64_t>() << " " << std::scientific << kept.sum().item<double>() << " ";
  }
  return text.str();
}

double seconds_of_one(const python::Node& program, const python::Variables& variables, double limit) {
  int runs = 0;
  const double start = bench::now();
  do {
    computed(python::run(program, variables));
    ++runs;
  } while (bench::now() - start < limit);
  return (bench::now() - start) / runs;
}

// --- the machine's limits: the best of many short runs

template <typename F>
double least_seconds(F f) {
  double least = 1e9;
  for (const double end = bench::now() + 0.3; bench::now() < end;) {
    const double start = bench::now();
    f();
    least = std::min(least, bench::now() - start);
  }
  return least;
}

double copy_rate(int64_t bytes) {
  const int64_t count = bytes / 2 / 64 * 16;  // floats in whole cache lines
  const Tensor a = tenon::ones({count}), b = tenon::zeros_like(a);
  const float* from = a.data_ptr<float>();
  float* to = b.data_ptr<float>();
  const int64_t repeats = std::max<int64_t>(1, (1 << 20) / bytes);
  const double through = least_seconds([&] {
    for (int64_t i = 0; i < repeats; ++i) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  });
  const double past = least_seconds([&] {
    for (int64_t i = 0; i < repeats; ++i) baseline_wide::copy_past_caches(from, to, count);
  });
  return 1e-9 * static_cast<double>(repeats * count * 8) / std::min(through, past);
}

double fma_rate() {
  constexpr int64_t repeats = 10000;
  double best = 0;
  for (auto* loop : {baseline_native::fma_chains, baseline_wide::fma_chains}) {
    int64_t operations = 0;
    const double seconds = least_seconds([&] { operations = loop(repeats); });
    best = std::max(best, 1e-9 * static_cast<double>(operations) / seconds);
  }
  return best;
}

std::string answer(const std::string& command, std::istringstream& rest, python::Variables& variables) {
  std::string name, program;
  if (command == "clear") {
    variables.clear();
    return "ok";
  }
  if (command == "fma") return std::to_string(fma_rate());
  if (command == "let" || command == "time" || command == "load" || command == "save") rest >> name;
  std::getline(rest, program);
  program.erase(0, program.find_first_not_of(' '));
  if (command == "let") {
    variables[name] = computed(python::run(program, variables));
    return "ok";
  }
  if (command == "load") {
    variables[name] = computed(tenon::io::load_npy(program));
    return "ok";
  }
  if (command == "copy") return std::to_string(copy_rate(std::stoll(program)));
  if (command == "save") return saved(computed(python::run(program, variables)), name);
  if (command == "run") return summary(computed(python::run(program, variables)));
  if (command == "time") return std::to_string(seconds_of_one(*python::parse(program), variables, std::stod(name)) * 1e6);
  throw std::runtime_error("no command " + command);
}

}  // namespace

int main() {
  python::Variables variables;
  for (std::string line; std::getline(std::cin, line) && line != "stop";) {
    std::istringstream rest(line);
    std::string command, text;
    rest >> command;
    try {
      text = answer(command, rest, variables);
    } catch (const std::exception& e) {
      text = std::string("error: ") + e.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
    }
    std::cout << text << std::endl;
  }
}
