// Archives in LibTorch's spelling: tensors and single values under names, archives within archives. A file of them is a
// safetensors file: the tensors by their full names ("model.fc.weight"), the values in its metadata.
//
//   serialize::OutputArchive archive;
//   archive.write("weight", weight);  archive.write("epoch", IValue(3));  archive.save_to("state.safetensors");
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/io.h"
#include "tenon/tensor.h"

namespace tenon {

// One value that is not a tensor: a bool, a whole number, a float, a text or a list of floats.
class IValue {
 public:
  IValue() = default;  // none
  IValue(bool value) : kind_(Kind::Bool), integer_(value) {}
  IValue(int value) : IValue(int64_t{value}) {}
  IValue(int64_t value) : kind_(Kind::Int), integer_(value) {}
  IValue(double value);
  IValue(std::string value);
  IValue(const char* value);
  IValue(std::vector<double> values);

  bool isNone() const { return kind_ == Kind::None; }
  bool isBool() const { return kind_ == Kind::Bool; }
  bool isInt() const { return kind_ == Kind::Int; }
  bool isDouble() const { return kind_ == Kind::Double; }
  bool isString() const { return kind_ == Kind::String; }
  bool isDoubleList() const { return kind_ == Kind::DoubleList; }
  // Error if it is of another kind.
  bool toBool() const;
  int64_t toInt() const;
  double toDouble() const;
  const std::string& toStringRef() const;
  const std::vector<double>& toDoubleVector() const;

  std::string to_text() const;                       // 3, 0.1, inf, true, "text", [0.9,0.999], null
  static IValue from_text(const std::string& text);  // none of them: an Error

 private:
  enum class Kind : uint8_t { None, Bool, Int, Double, String, DoubleList };
  void expect(Kind kind, const char* name) const;

  Kind kind_ = Kind::None;
  int64_t integer_ = 0;
  std::vector<double> floats_;
  std::string text_;
};

namespace serialize {

struct ArchiveContents;

class OutputArchive {
 public:
  OutputArchive();
  ~OutputArchive();
  OutputArchive(OutputArchive&&) noexcept;
  OutputArchive& operator=(OutputArchive&&) noexcept;

  // Error if the key is there already.
  void write(const std::string& key, const Tensor& tensor, bool is_buffer = false);
  void write(const std::string& key, const IValue& value);
  void write(const std::string& key, OutputArchive& nested);  // with all that it holds now
  bool is_empty() const;
  void save_to(const io::Output& to) const;

 private:
  friend class InputArchive;
  std::unique_ptr<ArchiveContents> contents_;
};

class InputArchive {
 public:
  InputArchive();
  // What was written, without a file between.
  explicit InputArchive(const OutputArchive& archive);

  // A device, if one is given, is where tensors go that are read.
  void load_from(const io::Input& from, optional<Device> device = nullopt);
  void load_from(const char* data, size_t size, optional<Device> device = nullopt) { load_from(io::Input(data, size), device); }
  template <std::invocable<uint64_t, void*, size_t> Read, std::invocable<> Size>
  void load_from(const Read& read, const Size& size, optional<Device> device = nullopt) {
    load_from(io::Input(read, size), device);
  }
  // Error "FILE: No such serialized tensor 'model.weight'" if it is not there. A tensor that is defined stays the same object
  // and gets the values; it keeps its device.
  void read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  void read(const std::string& key, IValue& value);
  void read(const std::string& key, InputArchive& archive);
  // The same; false if it is not there.
  bool try_read(const std::string& key, Tensor& tensor, bool is_buffer = false);
  bool try_read(const std::string& key, IValue& value);
  bool try_read(const std::string& key, InputArchive& archive);
  io::NamedTensors tensors() const;       // of this archive, by their names in it
  std::vector<std::string> keys() const;  // of this archive: "fc" stands for all of "fc.weight", "fc.bias"

  // For messages: the file, and the full name of a key.
  std::string where(const std::string& key) const;

 private:
  std::shared_ptr<const ArchiveContents> contents_;
  std::string prefix_;  // "model."
};

// One tensor, under the name "0".
OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor);
InputArchive& operator>>(InputArchive& archive, Tensor& tensor);

}  // namespace serialize
}  // namespace tenon
