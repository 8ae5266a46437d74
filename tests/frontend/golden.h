// The packed golden data: files of tests/data, written by scripts/pack_oracle.py.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace golden {

inline std::string read(const std::string& name) {
  std::ifstream in(std::string(TENON_TEST_DATA) + "/" + name, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline nlohmann::json load(const std::string& name) { return nlohmann::json::parse(read(name)); }

// PyTorch's text as this library says it.
inline std::string as_tenon(std::string text) {
  for (size_t at; (at = text.find("torch.")) != std::string::npos;) text.replace(at, 6, "tenon.");
  return text;
}

}  // namespace golden
