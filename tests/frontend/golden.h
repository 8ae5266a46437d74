// The packed golden data: files of tests/data, written by scripts/golden/pack_oracle.py.
#pragma once

#include <tenon/tenon.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/data_folder.h"

namespace golden {

inline std::string read(const std::string& name) {
  std::ifstream in(data_folder() + "/" + name, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline nlohmann::json load(const std::string& name) { return nlohmann::json::parse(read(name)); }

// The data's names of the dtypes, in ScalarType's order.
inline const std::vector<std::string> kDtypeNames = {"bool",  "uint8",   "int8",     "int16",   "int32",
                                                     "int64", "float16", "bfloat16", "float32", "float64"};

inline tenon::ScalarType type_of(const std::string& name) {
  const auto found = std::find(kDtypeNames.begin(), kDtypeNames.end(), name);
  if (found == kDtypeNames.end()) throw std::runtime_error("unknown dtype " + name);
  return static_cast<tenon::ScalarType>(found - kDtypeNames.begin());
}

// A tensor of the packed data, in memory of its own: `entry` says its dtype, its shape and where in `blob` it starts.
inline tenon::Tensor packed(const nlohmann::json& entry, std::string& blob) {
  const std::vector<int64_t> shape = entry["shape"];
  return tenon::from_blob(blob.data() + entry["at"].get<size_t>(), shape, type_of(entry["dtype"])).clone();
}

// PyTorch's text as this library says it.
inline std::string as_tenon(std::string text) {
  for (size_t at; (at = text.find("torch.")) != std::string::npos;) text.replace(at, 6, "tenon.");
  return text;
}

}  // namespace golden
