// Archives: a table of tensors and one of single values, by full names. A nested archive is a prefix of names.
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "frontend/src/tensor/text.h"
#include "tenon/autograd.h"
#include "tenon/io.h"
#include "tenon/serialize.h"

namespace tenon {
namespace {

// The shortest text that reads back as the same number, told from a whole number.
std::string text_of(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string result(buffer, end);
  return result.find_first_of(".e") == std::string::npos ? result + ".0" : result;
}

template <typename Number>
bool parse(std::string_view text, Number& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

bool parse_list(std::string_view text, std::vector<double>& values) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (!parse(trimmed(text.substr(0, comma)), values.emplace_back())) return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

}  // namespace

void IValue::expect(Kind kind, const char* name) const { check(kind_ == kind, "expected ", name, ", but the value is ", to_text()); }
IValue::IValue(double value) : kind_(Kind::Double), floats_{value} {}
IValue::IValue(std::string value) : kind_(Kind::String), text_(std::move(value)) {}
IValue::IValue(const char* value) : IValue(std::string(value)) {}
IValue::IValue(std::vector<double> values) : kind_(Kind::DoubleList), floats_(std::move(values)) {}
bool IValue::toBool() const { return expect(Kind::Bool, "a bool"), integer_ != 0; }
int64_t IValue::toInt() const { return expect(Kind::Int, "a whole number"), integer_; }
double IValue::toDouble() const { return expect(Kind::Double, "a float"), floats_[0]; }
const std::string& IValue::toStringRef() const { return expect(Kind::String, "a text"), text_; }
const std::vector<double>& IValue::toDoubleVector() const { return expect(Kind::DoubleList, "a list of floats"), floats_; }

std::string IValue::to_text() const {
  switch (kind_) {
    case Kind::None: return "null";
    case Kind::Bool: return integer_ ? "true" : "false";
    case Kind::Int: return std::to_string(integer_);
    case Kind::Double: return text_of(floats_[0]);
    case Kind::String: return nlohmann::json(text_).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    case Kind::DoubleList: break;
  }
  std::string list;
  for (const double value : floats_) list += (list.empty() ? "" : ",") + text_of(value);
  return "[" + list + "]";
}

IValue IValue::from_text(const std::string& text) {
  if (text == "null") return {};
  if (text == "true" || text == "false") return text == "true";
  int64_t integer = 0;
  if (parse(text, integer)) return integer;
  double number = 0;
  if (parse(text, number)) return number;
  std::vector<double> list;
  if (parse_list(text, list)) return list;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  check(json.is_string(), "'", text, "' is no value of an archive");
  return json.get<std::string>();
}

namespace serialize {

struct ArchiveContents {
  std::string file;  // "FILE: ", or nothing
  std::map<std::string, Tensor> tensors;
  std::map<std::string, IValue> values;
  optional<Device> device = nullopt;  // for those that are read
};

namespace {

constexpr const char* kFormat = "tenon.archive";  // in the metadata: values are in IValue's text form

// Does a name begin with this prefix?
template <typename Table>
bool has_prefix(const Table& table, const std::string& prefix) {
  const auto found = table.lower_bound(prefix);
  return found != table.end() && found->first.starts_with(prefix);
}

}  // namespace

OutputArchive::OutputArchive() : contents_(std::make_unique<ArchiveContents>()) {}
OutputArchive::~OutputArchive() = default;
OutputArchive::OutputArchive(OutputArchive&&) noexcept = default;
OutputArchive& OutputArchive::operator=(OutputArchive&&) noexcept = default;

void OutputArchive::write(const std::string& key, const Tensor& tensor, bool) {
  check(tensor.defined(), "cannot write '", key, "' to an archive: the tensor is undefined");
  check(contents_->tensors.emplace(key, tensor).second, "the archive has a tensor '", key, "' already");
}
void OutputArchive::write(const std::string& key, const IValue& value) {
  check(contents_->values.emplace(key, value).second, "the archive has a value '", key, "' already");
}
void OutputArchive::write(const std::string& key, OutputArchive& nested) {
  for (const auto& [name, tensor] : nested.contents_->tensors) write(key + "." + name, tensor);
  for (const auto& [name, value] : nested.contents_->values) write(key + "." + name, value);
}
bool OutputArchive::is_empty() const { return contents_->tensors.empty() && contents_->values.empty(); }

void OutputArchive::save_to(const io::Output& to) const {
  io::NamedTensors tensors;
  for (const auto& [name, tensor] : contents_->tensors) tensors.insert(name, tensor.detach());
  io::Metadata metadata{{kFormat, "1"}};
  for (const auto& [name, value] : contents_->values) metadata.emplace_back(name, value.to_text());
  io::save_safetensors(to, tensors, metadata);
}

InputArchive::InputArchive() : contents_(std::make_shared<ArchiveContents>()) {}
InputArchive::InputArchive(const OutputArchive& archive) : contents_(std::make_shared<ArchiveContents>(*archive.contents_)) {}

void InputArchive::load_from(const io::Input& from, optional<Device> device) {
  if (device) check_device(*device);
  io::Metadata metadata;
  auto contents = std::make_shared<ArchiveContents>();
  for (const auto& [name, tensor] : io::load_safetensors(from, &metadata)) contents->tensors.emplace(name, tensor);
  contents->file = from.name() + ": ";
  contents->device = device;
  const bool ours = std::ranges::find(metadata, kFormat, [](const auto& item) { return item.first; }) != metadata.end();
  for (const auto& [name, value] : metadata) {
    if (!ours || name == kFormat) continue;
    try {
      contents->values.emplace(name, IValue::from_text(value));
    } catch (const Error& e) {
      throw Error(text(contents->file, "'", name, "': ", e.msg()));
    }
  }
  contents_ = std::move(contents);
  prefix_.clear();
}

std::string InputArchive::where(const std::string& key) const { return text(contents_->file, "'", prefix_, key, "'"); }

bool InputArchive::try_read(const std::string& key, Tensor& tensor, bool) {
  const auto found = contents_->tensors.find(prefix_ + key);
  if (found == contents_->tensors.end()) return false;
  if (tensor.defined()) {
    const NoGradGuard no_grad;
    tensor.set_data(found->second.to(contents_->device.value_or(tensor.device())).clone());
  } else {
    tensor = found->second.to(contents_->device.value_or(found->second.device())).clone();
  }
  return true;
}
bool InputArchive::try_read(const std::string& key, IValue& value) {
  const auto found = contents_->values.find(prefix_ + key);
  if (found == contents_->values.end()) return false;
  value = found->second;
  return true;
}
bool InputArchive::try_read(const std::string& key, InputArchive& archive) {
  const std::string prefix = prefix_ + key + ".";
  if (!has_prefix(contents_->tensors, prefix) && !has_prefix(contents_->values, prefix)) return false;
  archive.contents_ = contents_;
  archive.prefix_ = prefix;
  return true;
}
void InputArchive::read(const std::string& key, Tensor& tensor, bool is_buffer) {
  check(try_read(key, tensor, is_buffer), contents_->file, "No such serialized tensor '", prefix_, key, "'");
}
void InputArchive::read(const std::string& key, IValue& value) {
  check(try_read(key, value), contents_->file, "No such serialized IValue: '", prefix_, key, "'");
}
void InputArchive::read(const std::string& key, InputArchive& archive) {
  check(try_read(key, archive), contents_->file, "No such serialized submodule: '", prefix_, key, "'");
}

io::NamedTensors InputArchive::tensors() const {
  io::NamedTensors result;
  const auto& all = contents_->tensors;
  for (auto item = all.lower_bound(prefix_); item != all.end() && item->first.starts_with(prefix_); ++item)
    result.insert(item->first.substr(prefix_.size()), item->second);
  return result;
}

std::vector<std::string> InputArchive::keys() const {
  std::vector<std::string> result;
  const auto add = [&](const auto& table) {
    for (auto item = table.lower_bound(prefix_); item != table.end() && item->first.starts_with(prefix_); ++item) {
      const std::string name = item->first.substr(prefix_.size());
      std::string key = name.substr(0, name.find('.'));
      if (std::ranges::find(result, key) == result.end()) result.push_back(std::move(key));
    }
  };
  add(contents_->tensors);
  add(contents_->values);
  return result;
}

OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) { return archive.write("0", tensor), archive; }
InputArchive& operator>>(InputArchive& archive, Tensor& tensor) { return archive.read("0", tensor), archive; }

}  // namespace serialize
}  // namespace tenon
