// The packed golden data: files of tests/data, written by scripts/pack_oracle.py.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace golden {

// The environment's TENON_TEST_DATA, where the tests run elsewhere than they were built.
inline std::string folder() {
  const char* moved = std::getenv("TENON_TEST_DATA");
  return moved ? moved : TENON_TEST_DATA;
}

inline std::string read(const std::string& name) {
  std::ifstream in(folder() + "/" + name, std::ios::binary);
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
