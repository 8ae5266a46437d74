// Tensors from and to files. Every error names the file, and the place or field in it.
#pragma once

#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::io {

// NumPy's .npy, versions 1 to 3: C or Fortran order, either byte order, bool, (u)int8, int16/32/64,
// float16/32/64.
Tensor load_npy(const std::string& path);
void save_npy(const std::string& path, const Tensor& tensor);  // C order; bfloat16 is a TypeError

struct CsvOptions {
  char delimiter = ',';
  bool header = true;                    // does the first line name the columns?
  optional<ScalarType> dtype = nullopt;  // of every column; nullopt: each column's own
};

// Numeric columns. A column of whole numbers is int64, any other float64; an empty field or "nan" makes it
// float64 with nan there. Fields may be quoted. Anything else is an Error "FILE:LINE: reason".
class Csv {
 public:
  std::vector<std::string> names;  // "0", "1", ... without a header
  std::vector<Tensor> columns;     // one 1-d tensor each

  int64_t rows() const;
  const Tensor& operator[](const std::string& name) const;  // IndexError if there is none
  // The columns side by side, rows x columns, promoted to one type; all of them if none is named.
  Tensor matrix(const std::vector<std::string>& which = {}) const;
};
Csv read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace tenon::io
