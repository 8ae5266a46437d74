// Safetensors files. Layout: 8 bytes of header length (little endian), a JSON header, then the elements,
// row-major, with neither gaps nor overlaps. Offsets count from the end of the header.
//
//   {"__metadata__": {"format": "pt"}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
#include <algorithm>
#include <bit>
#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <set>

#include "frontend/src/io/file.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"

namespace tenon::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written in memory order");

using Json = nlohmann::json;
constexpr uint64_t kZipMagic = 0x04034b50;    // "PK\3\4" at the start of a file
constexpr uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr size_t kMaxDims = 64;
constexpr const char* kMetadata = "__metadata__";

// In the order of ScalarType.
constexpr const char* kTypeNames[] = {"BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"};

struct Entry {
  std::string name;
  ScalarType type = kFloat;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

// Stops at a name that an object has twice: a parsed object would have kept one of them. (A callback of
// Json::parse could tell too, but with one it takes quadratic time.)
struct RepeatedName final : Json::json_sax_t {
  bool found = false;
  std::string name;

  bool start_object(size_t) override { return objects_.emplace_back(), true; }
  bool end_object() override { return objects_.pop_back(), true; }
  bool key(std::string& key) override {
    found = !objects_.back().insert(key).second;
    if (found) name = key;
    return !found;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> objects_;  // the names in those that are open
};

// Reads the header and holds it to the format.
class HeaderReader {
 public:
  explicit HeaderReader(Source& in) : file_(in.name() + ": safetensors: ") {
    uint64_t length = 0;
    in.read(&length, sizeof length, "safetensors header length");
    check((length & 0xffffffff) != kZipMagic, in.name(),
          ": a zip archive (torch.save or numpy.savez), not safetensors: write it with safetensors.torch.save_file, or read an .npz "
          "with io::load_npz");
    check(length <= kMaxHeader, file_, "header length ", length, " is larger than the limit of ", kMaxHeader);
    check(length <= in.remaining(), file_, "header length ", length, " lies outside the file of ", in.size(), " bytes");
    parse(in.read_text(length, "safetensors header"));
    data_bytes_ = in.remaining();
  }

  // In the order of their data.
  std::vector<Entry> entries() const {
    std::vector<Entry> result;
    for (const auto& [name, fields] : json_.items()) {
      if (name != kMetadata) result.push_back(entry(name, fields));
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    uint64_t at = 0;
    for (const Entry& e : result) {
      check(e.begin == at, tensor(e.name), "data_offsets [", e.begin, ", ", e.end, "] ",
            e.begin > at ? "leave a gap after " : "overlap the data before ", at);
      at = e.end;
    }
    check(at == data_bytes_, file_, "the tensors need ", at, " bytes of data, the file has ", data_bytes_);
    return result;
  }

  Metadata metadata() const {
    Metadata result;
    const auto found = json_.find(kMetadata);
    if (found == json_.end()) return result;
    check(found->is_object(), file_, "field '", kMetadata, "' is not an object");
    for (const auto& [key, value] : found->items()) {
      check(value.is_string(), file_, "field '", kMetadata, "': '", shown(key), "' is not a string");
      result.emplace_back(key, value.get<std::string>());
    }
    return result;
  }

 private:
  std::string tensor(const std::string& name) const { return file_ + "tensor '" + shown(name) + "': "; }

  void parse(const std::string& text) {
    check(text.starts_with('{'), file_, "the header does not begin with '{'");
    try {
      json_ = Json::parse(text);
    } catch (const Json::exception& e) {
      throw Error(file_ + "header: " + e.what());
    }
    RepeatedName repeated;
    Json::sax_parse(text, &repeated);
    check(!repeated.found, file_, "header: '", shown(repeated.name), "' appears twice");
  }

  const Json& field(const std::string& name, const Json& fields, const char* key) const {
    check(fields.is_object(), tensor(name), "not an object");
    const auto found = fields.find(key);
    check(found != fields.end(), tensor(name), "no field '", key, "'");
    return *found;
  }

  Entry entry(const std::string& name, const Json& fields) const {
    Entry e;
    e.name = name;
    e.type = type(name, field(name, fields, "dtype"));
    uint64_t bytes = 0;
    e.shape = shape(name, field(name, fields, "shape"), e.type, bytes);
    const Json& offsets = field(name, fields, "data_offsets");
    check(offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned(), tensor(name),
          "field 'data_offsets' is not two whole numbers");
    e.begin = offsets[0].get<uint64_t>();
    e.end = offsets[1].get<uint64_t>();
    const std::string given = text("data_offsets [", e.begin, ", ", e.end, "]");
    check(e.begin <= e.end, tensor(name), given, " end before they begin");
    check(e.end <= data_bytes_, tensor(name), given, " lie outside the file, which has ", data_bytes_, " bytes of data");
    check(e.end - e.begin == bytes, tensor(name), given, " hold ", e.end - e.begin, " bytes, dtype ", kTypeNames[static_cast<int>(e.type)],
          " and shape ", IntArrayRef(e.shape), " need ", bytes);
    return e;
  }

  ScalarType type(const std::string& name, const Json& field) const {
    check<TypeError>(field.is_string(), tensor(name), "field 'dtype' is not a string");
    const auto& dtype = field.get_ref<const std::string&>();
    const auto found = std::ranges::find(kTypeNames, dtype);
    check<TypeError>(found != std::end(kTypeNames), tensor(name), "dtype '", shown(dtype), "' is not supported");
    return static_cast<ScalarType>(found - std::begin(kTypeNames));
  }

  std::vector<int64_t> shape(const std::string& name, const Json& field, ScalarType type, uint64_t& bytes) const {
    check(field.is_array(), tensor(name), "field 'shape' is not an array");
    check(field.size() <= kMaxDims, tensor(name), "field 'shape' has more than ", kMaxDims, " dims");
    std::vector<int64_t> sizes;
    int64_t count = elementSize(type);
    for (const Json& size : field) {
      check(size.is_number_unsigned(), tensor(name), "field 'shape': a size is not a whole number");
      const auto value = size.get<uint64_t>();
      check(value < uint64_t{1} << 58 && !__builtin_mul_overflow(count, static_cast<int64_t>(value), &count) && count < int64_t{1} << 58,
            tensor(name), "field 'shape' overflows");
      sizes.push_back(static_cast<int64_t>(value));
    }
    bytes = static_cast<uint64_t>(count);
    return sizes;
  }

  const std::string file_;  // opens every message
  uint64_t data_bytes_ = 0;
  Json json_;
};

Json header_of(const std::string& path, const std::vector<const NamedTensors::Item*>& items, const Metadata& metadata) {
  Json header = Json::object();
  for (const auto& [key, value] : metadata) {
    check(!header[kMetadata].contains(key), path, ": safetensors: metadata '", shown(key), "' appears twice");
    header[kMetadata][key] = value;
  }
  int64_t at = 0;
  for (const auto* item : items) {
    const auto& [name, tensor] = *item;
    check(name != kMetadata, path, ": safetensors: a tensor cannot be named '", kMetadata, "'");
    check(!header.contains(name), path, ": safetensors: tensor '", shown(name), "' appears twice");
    header[name] = {{"dtype", kTypeNames[static_cast<int>(tensor.scalar_type())]},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {at, at + tensor.nbytes()}}};
    at += tensor.nbytes();
  }
  return header;
}

}  // namespace

NamedTensors read_safetensors(Source& in, Metadata* metadata) {
  const HeaderReader header(in);
  Metadata texts = header.metadata();
  NamedTensors result;
  for (const Entry& e : header.entries()) {
    auto buffer = in.read_elements(e.type, e.end - e.begin, "safetensors data");
    result.insert(e.name, tensor_from_buffer(ir_type(e.type), e.shape, std::move(buffer)));
  }
  if (metadata) *metadata = std::move(texts);
  return result;
}

namespace {

void write_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata,
                       const Function<void(const void*, size_t)>& write) {
  std::vector<const NamedTensors::Item*> items;
  for (const auto& item : tensors) items.push_back(&item);
  // Wide elements first: then every tensor is aligned to its elements, as the format recommends.
  std::stable_sort(items.begin(), items.end(),
                   [](const auto* a, const auto* b) { return a->second.element_size() > b->second.element_size(); });
  std::string header;
  try {
    header = header_of(path, items, metadata).dump();
  } catch (const Json::exception& e) {  // a name that is not UTF-8
    throw Error(path + ": safetensors: " + e.what());
  }
  header.resize((header.size() + 7) / 8 * 8, ' ');
  check(header.size() <= kMaxHeader, path, ": safetensors: the header is larger than the limit of ", kMaxHeader);

  const uint64_t length = header.size();
  write(&length, sizeof length);
  write(header.data(), header.size());
  for (const auto* item : items) {
    const Tensor dense = item->second.contiguous();
    write(host_view(dense).data, static_cast<size_t>(dense.nbytes()));
  }
}

}  // namespace

Output::Output(std::ostream& stream)
    : write_([&stream](const void* data, size_t bytes) -> size_t {
        return stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes)) ? bytes : 0;
      }) {}

void save_safetensors(const Output& to, const NamedTensors& tensors, const Metadata& metadata) {
  if (to.write_) {
    write_safetensors("stream", tensors, metadata, [&](const void* data, size_t bytes) {
      check(bytes == 0 || to.write_(data, bytes) == bytes, "stream: cannot write");
    });
    return;
  }
  OutputFile out(to.path_);
  write_safetensors(to.path_, tensors, metadata, [&](const void* data, size_t bytes) { out.write(data, bytes); });
  out.close();
}

Input::Input(std::istream& stream) : name_("stream"), in_memory_(true) {
  check(stream.good(), "stream: cannot read");
  read_ = std::make_shared<std::string>(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  bytes_ = *read_;
}

Input::Input(const Function<size_t(uint64_t, void*, size_t)>& read, size_t size) : name_("stream"), in_memory_(true) {
  auto bytes = std::make_shared<std::string>(size, '\0');
  for (size_t at = 0; at < size;) {
    const size_t count = read(at, bytes->data() + at, size - at);
    check(count > 0 && count <= size - at, "stream: cannot read ", size - at, " bytes at ", at);
    at += count;
  }
  read_ = std::move(bytes);
  bytes_ = *read_;
}

NamedTensors load_safetensors(const Input& from, Metadata* metadata) {
  if (from.in_memory_) {
    MemorySource in(from.name_, from.bytes_);
    return read_safetensors(in, metadata);
  }
  FileSource in(from.name_);
  return read_safetensors(in, metadata);
}

}  // namespace tenon::io
