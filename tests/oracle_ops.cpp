// Runs golden operator cases against the library:
//
//   oracle_ops --dir FOLDER [--grad] [--only REGEX] [--unfused] [--interpreter] [--threads N] [--list-unmapped]
//
// FOLDER holds manifest.json and .npy files: each case names a Python expression, or statements that set
// `out`, over inputs x0, x1, ..., and the outputs to expect with their tolerances. With --grad the cases that have
// gradients, and these are compared too. Prints each failure and "N of M"; the exit status is 1 if a case fails. A case that no
// function is mapped to fails; --list-unmapped prints those alone, by function.
#include <tenon/tenon.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "frontend/python/compare.h"
#include "frontend/python/python.h"

using nlohmann::json;
using tenon::ScalarType;
using tenon::Tensor;

namespace {

ScalarType type_of(const std::string& name) {
  static const char* const names[] = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"};
  for (size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<ScalarType>(i);
  }
  throw std::runtime_error("unknown dtype " + name);
}

// The text after "'key': " in a .npy header.
std::string header_field(const std::string& header, const std::string& key) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string::npos) throw std::runtime_error("no " + key + " in a .npy header");
  return header.substr(header.find_first_not_of(' ', at + key.size() + 3));
}

// A little-endian .npy file as a tensor of `type`; bfloat16 lies there as uint16.
Tensor read_npy(const std::string& path, ScalarType type) {
  std::ifstream in(path, std::ios::binary);
  const std::string data{std::istreambuf_iterator<char>(in), {}};
  if (!in || data.compare(0, 6, "\x93NUMPY") != 0) throw std::runtime_error("cannot read " + path);
  const bool version1 = data[6] == 1;
  uint32_t length = 0;
  std::memcpy(&length, data.data() + 8, version1 ? 2 : 4);
  const size_t start = (version1 ? 10 : 12) + length;
  const std::string header = data.substr(start - length, length);
  const bool columns = header_field(header, "fortran_order").starts_with("True");
  std::vector<int64_t> shape;
  const std::string text = header_field(header, "shape");
  for (size_t at = 1; text[at] != ')';) {
    if (std::isdigit(static_cast<unsigned char>(text[at]))) {
      size_t used = 0;
      shape.push_back(std::stoll(text.substr(at), &used));
      at += used;
    } else {
      ++at;
    }
  }
  if (columns) std::reverse(shape.begin(), shape.end());
  auto* copy = new std::string(data.substr(start));
  const Tensor x = tenon::from_blob(
                       copy->data(), shape, [copy](void*) { delete copy; }, type)
                       .clone();
  tenon::eval(x);
  if (!columns) return x;
  std::vector<int64_t> reversed(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) reversed[i] = static_cast<int64_t>(shape.size() - 1 - i);
  return x.permute(reversed).contiguous();
}

struct Outcome {
  std::string wrong;     // empty: passed
  std::string unmapped;  // what has no counterpart, if that is why
};

// What is wrong with the gradients of the outputs; empty if nothing.
template <typename Read>
std::string wrong_gradient(const json& c, const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, Read read) {
  std::vector<Tensor> weighted, weights, asked;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (c["grad_outputs"][i].is_null() || !outputs[i].requires_grad()) continue;
    weighted.push_back(outputs[i]);
    weights.push_back(read("grad_outputs", i, outputs[i].scalar_type()));
  }
  for (const Tensor& x : inputs) {
    if (x.requires_grad()) asked.push_back(x);
  }
  if (weighted.empty()) return "no output requires grad";
  const std::vector<Tensor> got = tenon::autograd::grad(weighted, asked, weights, false, false, true);
  for (size_t i = 0, k = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    const Tensor& grad = got[k++];
    const Tensor expected = read("grads", i, inputs[i].scalar_type());
    const std::string wrong =
        python::difference(grad.defined() ? grad : tenon::zeros_like(inputs[i]), expected, c["rtol"], c["atol"], false);
    if (!wrong.empty()) return "gradient of input " + std::to_string(i) + ": " + wrong;
  }
  return {};
}

Outcome run_case(const json& c, const std::string& dir, bool with_grad) {
  const std::string name = c["name"];
  auto read = [&](const char* files, const char* types, size_t i) {
    return read_npy(dir + "/" + c[files][i].get<std::string>(), type_of(c[types][i]));
  };
  try {
    python::Variables variables;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < c["inputs"].size(); ++i) {
      Tensor x = read("inputs", "input_dtypes", i);
      if (with_grad && !c["grads"][i].is_null()) x.requires_grad_();
      inputs.push_back(x);
      variables["x" + std::to_string(i)] = x.requires_grad() ? x.clone() : x;  // so that it may be written
    }
    const std::vector<Tensor> got = python::flat(python::run(c["expr"], variables));
    if (got.size() != c["outputs"].size()) return {"a tuple of " + std::to_string(got.size()), ""};
    for (size_t i = 0; i < got.size(); ++i) {
      std::string wrong = python::difference(got[i], read("outputs", "output_dtypes", i), c["rtol"], c["atol"],
                                             name.find("_signzero") != std::string::npos);
      if (!wrong.empty()) return {"output " + std::to_string(i) + ": " + wrong, ""};
    }
    if (!with_grad) return {};
    return {wrong_gradient(
                c, got, inputs,
                [&](const char* files, size_t i, ScalarType type) { return read_npy(dir + "/" + c[files][i].get<std::string>(), type); }),
            ""};
  } catch (const python::Unsupported& e) {
    return {std::string("not mapped: ") + e.what(), e.what()};
  } catch (const std::exception& e) {
    return {std::string("error: ") + e.what(), ""};
  }
}

struct Arguments {
  std::string dir;
  std::optional<std::regex> only;
  bool list_unmapped = false, grad = false;
};

Arguments parse_arguments(int argc, char** argv) {
  Arguments a;
  tenon::Config config = tenon::get_config();
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(option + " needs a value");
      return argv[i];
    };
    if (option == "--dir") a.dir = value();
    else if (option == "--only") a.only = std::regex(value());
    else if (option == "--unfused") config.fusion = false;
    else if (option == "--interpreter") config.interpreter = true;
    else if (option == "--threads") config.threads = std::stoi(value());
    else if (option == "--grad") a.grad = true;
    else if (option == "--list-unmapped") a.list_unmapped = true;
    else throw std::runtime_error("unknown option " + option);
  }
  if (a.dir.empty()) throw std::runtime_error("--dir FOLDER is missing");
  tenon::set_config(config);
  return a;
}

int run(const Arguments& a) {
  std::ifstream in(a.dir + "/manifest.json");
  if (!in) throw std::runtime_error("cannot read " + a.dir + "/manifest.json");
  int passed = 0, total = 0;
  std::map<std::string, std::vector<std::string>> unmapped;
  const json manifest = json::parse(in);
  for (const json& c : manifest["cases"]) {
    const std::string name = c["name"];
    if (a.only && !std::regex_search(name, *a.only)) continue;
    const bool has_grads = c.contains("grads") && std::ranges::any_of(c["grads"], [](const json& g) { return !g.is_null(); });
    if (a.grad && !has_grads) continue;
    ++total;
    const Outcome outcome = run_case(c, a.dir, a.grad);
    passed += outcome.wrong.empty();
    if (!outcome.unmapped.empty()) unmapped[outcome.unmapped].push_back(name);
    if (!outcome.wrong.empty() && !a.list_unmapped)
      std::cout << name << "  " << c["expr"].get<std::string>() << "\n    " << outcome.wrong << "\n";
  }
  if (a.list_unmapped) {
    for (const auto& [what, names] : unmapped) std::cout << names.size() << "  " << what << "  (" << names[0] << ")\n";
  }
  std::cout << passed << " of " << total << "\n";
  return passed == total ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse_arguments(argc, argv));
  } catch (const std::exception& e) {
    std::cerr << "oracle_ops: " << e.what() << "\n";
    return 2;
  }
}
