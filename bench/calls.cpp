// bench_calls: runs and times calls that are written as in Python, for bench/cliff.py, which has PyTorch do the same.
//
//   let NAME EXPRESSION       a variable, which is computed at once; answers "ok"
//   run EXPRESSION            answers what the result's tensors have: sizes, how many elements are nan, the sum of absolute values
//   time SECONDS EXPRESSION   runs it for so long; answers the microseconds of one run
//   clear                     forgets the variables; answers "ok"
//
// A line is a command. What fails answers "error: " and the text in one line.
#include <algorithm>
#include <iostream>
#include <sstream>

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

// Computes what the value holds.
Value computed(Value v) {
  std::vector<Tensor> tensors;
  add_tensors(v, tensors);
  if (!tensors.empty()) tenon::eval(tensors);
  return v;
}

std::string summary(const Value& v) {
  std::vector<Tensor> tensors;
  add_tensors(v, tensors);
  std::ostringstream text;
  for (const Tensor& t : tensors) {
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

std::string answer(const std::string& command, std::istringstream& rest, python::Variables& variables) {
  std::string name, program;
  if (command == "clear") {
    variables.clear();
    return "ok";
  }
  if (command == "let" || command == "time") rest >> name;
  std::getline(rest, program);
  program.erase(0, program.find_first_not_of(' '));
  if (command == "let") {
    variables[name] = computed(python::run(program, variables));
    return "ok";
  }
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
