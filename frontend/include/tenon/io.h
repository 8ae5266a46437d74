// Tensors from and to files. Every error names the file, and the place or field in it. Readers check what a
// file claims against its size before they allocate.
#pragma once

#include <concepts>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/function.h"
#include "tenon/tensor.h"

namespace tenon {
template <typename Key, typename Value>
class OrderedDict;  // tenon/nn/module.h
}

namespace tenon::io {

// Tensors by name, in order.
class NamedTensors {
 public:
  using Item = std::pair<std::string, Tensor>;
  NamedTensors() = default;
  NamedTensors(const std::initializer_list<Item>& items);
  NamedTensors(std::vector<Item> items);
  // What state_dict() gives and load_state_dict() takes.
  NamedTensors(const OrderedDict<std::string, Tensor>& tensors);
  operator OrderedDict<std::string, Tensor>() const;

  void insert(std::string name, Tensor tensor);
  // IndexError, with the names that there are, if there is none.
  const Tensor& operator[](const std::string& name) const { return at(name); }
  const Tensor& at(const std::string& name) const;
  bool contains(const std::string& name) const;
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Item> items_;
};

// NumPy's .npy, versions 1 to 3: C or Fortran order, either byte order, bool, (u)int8, int16/32/64,
// float16/32/64.
Tensor load_npy(const std::string& path);
void save_npy(const std::string& path, const Tensor& tensor);  // C order; bfloat16 is a TypeError

// NumPy's .npz: a zip archive of .npy files, stored or deflated. Names are without ".npy", in the archive's
// order.
NamedTensors load_npz(const std::string& path);
void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed = false);

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Where a safetensors file goes: to a path, where it is whole or not there at all; to a stream; to a function that takes bytes and returns
// how many it took. In messages the last two are "stream".
class Output {
 public:
  Output(std::string path) : path_(std::move(path)) {}
  Output(const char* path) : path_(path) {}
  Output(std::ostream& stream);
  template <std::invocable<const void*, size_t> Write>
  Output(Write write) : write_(std::move(write)) {}

 private:
  friend void save_safetensors(const Output& to, const NamedTensors& tensors, const Metadata& metadata);
  std::string path_;
  Function<size_t(const void*, size_t)> write_;
};

// Where it comes from: a path; what is left of a stream; bytes in memory, which must outlive the Input; a function that copies bytes from a
// position and returns how many, with one that returns how many there are.
class Input {
 public:
  Input(std::string path) : name_(std::move(path)) {}
  Input(const char* path) : name_(path) {}
  Input(std::istream& stream);
  Input(const char* data, size_t size) : name_("buffer"), in_memory_(true), bytes_(data, size) {}
  template <std::invocable<uint64_t, void*, size_t> Read, std::invocable<> Size>
  Input(Read read, Size size) : Input(Function<size_t(uint64_t, void*, size_t)>(std::move(read)), size_t{size()}) {}
  const std::string& name() const { return name_; }  // the path, "stream" or "buffer"

 private:
  Input(const Function<size_t(uint64_t, void*, size_t)>& read, size_t size);
  friend NamedTensors load_safetensors(const Input& from, Metadata* metadata);
  std::string name_;
  bool in_memory_ = false;
  std::shared_ptr<const std::string> read_;  // what bytes_ shows, if it is ours
  std::string_view bytes_;
};

// Safetensors (huggingface.co/docs/safetensors): every type that Tenon has. Tensors come in the order in
// which their data lie in the file; metadata are the texts under "__metadata__".
NamedTensors load_safetensors(const Input& from, Metadata* metadata = nullptr);
void save_safetensors(const Output& to, const NamedTensors& tensors, const Metadata& metadata = {});

struct CsvOptions {
  char delimiter = ',';
  bool header = true;                        // does the first line name the columns?
  optional<ScalarType> dtype = nullopt;      // of every column, all of them numbers; nullopt: each column's own
  std::vector<std::string> categories = {};  // columns of text, also where all of it could be read as numbers
};

// A table. Lines end in LF, CRLF or CR; fields may be quoted, and then hold anything; empty lines are
// skipped. The fields of a column decide its type:
//   whole numbers  int64      any numbers  float64
//   true, false    bool (also True, TRUE, ...)
//   texts          int64: the index of the text in the column's sorted list of texts, `categories`
// A missing value (an empty field, nan, NA, N/A, null, None, ...) makes numbers and bools float64 with nan
// there, and is -1 among texts. Anything else, as a text among numbers, is an Error "FILE:LINE: column
// 'NAME': reason".
class Csv {
 public:
  std::vector<std::string> names;                    // "0", "1", ... without a header
  std::vector<Tensor> columns;                       // one 1-d tensor each
  std::vector<std::vector<std::string>> categories;  // the texts of each column; empty for numbers

  int64_t rows() const;
  const Tensor& operator[](const std::string& name) const;  // IndexError if there is none
  // The texts that the numbers of a column stand for.
  const std::vector<std::string>& categories_of(const std::string& name) const;
  Csv select(const std::vector<std::string>& which) const;  // these columns, in this order
  Csv drop(const std::vector<std::string>& which) const;    // all but these
  // The columns side by side, rows x columns, promoted to one type; all of them if none is named.
  Tensor matrix(const std::vector<std::string>& which = {}) const;

 private:
  size_t position(const std::string& name) const;
};
Csv read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace tenon::io
