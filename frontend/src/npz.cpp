// NumPy's .npz archives: a zip of .npy files. Archives are read and written by libzip.
//
//   np.savez("x.npz", a=..., b=...)   ->   entries "a.npy", "b.npy": stored or deflated, zip64 where needed
#include <zip.h>
#include <memory>
#include <set>

#include "file.h"
#include "impl.h"
#include "text.h"

namespace tenon::io {
namespace {

constexpr std::string_view kSuffix = ".npy";
// An archive without entries is its end record alone. libzip would write no file, and takes an empty one for
// it.
constexpr char kEmptyArchive[22] = {'P', 'K', 5, 6};
// No deflated byte stands for more than this many (two bits for a match of 258): a larger claim is not true.
constexpr uint64_t kDeflateLimit = 1032;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

std::string reason(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

// One entry, decompressed while it is read.
class EntrySource final : public Source {
 public:
  EntrySource(std::string name, zip_t* archive, uint64_t index, uint64_t size)
      : Source(std::move(name), size), file_(zip_fopen_index(archive, index, 0)) {
    check(file_ != nullptr, this->name(), ": cannot read: ", zip_error_strerror(zip_get_error(archive)));
  }
  // libzip compares the checksum at the end, so the end must be where it was said to be.
  void expect_end() {
    char byte;
    check(remaining() == 0 && read_some(&byte, 1) == 0, name(), ": bytes follow its data");
  }

 private:
  size_t read_some(void* out, size_t bytes) override {
    const zip_int64_t count = zip_fread(file_.get(), out, bytes);
    check(count >= 0, name(), ": cannot read: ", zip_error_strerror(zip_file_get_error(file_.get())));
    return static_cast<size_t>(count);
  }
  std::unique_ptr<zip_file_t, Discard> file_;
};

// The entry's field that cannot be true, if there is one; `packed` counts the compressed bytes of all
// entries.
void check_entry(const std::string& where, const zip_stat_t& entry, uint64_t archive_bytes,
                 uint64_t& packed) {
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  check((entry.valid & needed) == needed, where, ": no size or compression method");
  const bool stored = entry.comp_method == ZIP_CM_STORE;
  check(stored || entry.comp_method == ZIP_CM_DEFLATE, where, ": compression method ", entry.comp_method,
        " is neither stored (0) nor deflated (8)");
  check(entry.comp_size <= archive_bytes - packed, where, ": compressed size ", entry.comp_size,
        " lies outside the archive of ", archive_bytes, " bytes, or entries overlap");
  packed += entry.comp_size;
  check(stored ? entry.size == entry.comp_size : entry.size / kDeflateLimit <= entry.comp_size, where,
        ": size ", entry.size, " cannot come from ", entry.comp_size, " bytes");
}

NamedTensors read_archive(const std::string& name, zip_t* archive, uint64_t bytes) {
  NamedTensors result;
  std::set<std::string> seen;
  uint64_t packed = 0;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t entry;
    const bool known = zip_stat_index(archive, index, 0, &entry) == 0 && (entry.valid & ZIP_STAT_NAME);
    check(known, name, ": npz entry ", i, ": ", zip_error_strerror(zip_get_error(archive)));
    std::string key = entry.name;
    const std::string where = name + ": npz entry '" + shown(key) + "'";
    check(key.ends_with(kSuffix), where, ": not an .npy file");
    check(seen.insert(key).second, where, " appears twice");
    check_entry(where, entry, bytes, packed);
    EntrySource in(where, archive, index, entry.size);
    key.resize(key.size() - kSuffix.size());
    result.insert(std::move(key), read_npy(in));
    in.expect_end();
  }
  return result;
}

NamedTensors open_archive(const std::string& name, zip_source_t* contents, uint64_t bytes) {
  std::unique_ptr<zip_source_t, Discard> source(contents);
  check(source != nullptr, name, ": cannot open");
  check(bytes >= sizeof kEmptyArchive, name, ": not an npz file: too short for a zip archive");
  zip_error_t error;
  zip_error_init(&error);
  const Archive archive(zip_open_from_source(source.get(), ZIP_RDONLY, &error));
  const int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  check(archive != nullptr, name, ": not an npz file: ", reason(code));
  source.release();  // the archive's now
  return read_archive(name, archive.get(), bytes);
}

void add_entry(const std::string& path, zip_t* archive, const std::string& name, const std::string& header,
               const HostView& view, size_t bytes, bool compressed) {
  // libzip does not write through these pointers.
  zip_buffer_fragment_t pieces[2] = {
      {reinterpret_cast<zip_uint8_t*>(const_cast<char*>(header.data())), header.size()},
      {const_cast<zip_uint8_t*>(view.data), bytes}};
  const auto fail = [&]() {
    throw Error(
        text(path, ": cannot write entry '", shown(name), "': ", zip_error_strerror(zip_get_error(archive))));
  };
  std::unique_ptr<zip_source_t, Discard> source(
      zip_source_buffer_fragment(archive, pieces, bytes > 0 ? 2 : 1, 0));
  if (!source) fail();
  const zip_int64_t index =
      zip_file_add(archive, (name + std::string(kSuffix)).c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  if (index < 0) fail();
  source.release();  // the archive's now
  const auto entry = static_cast<zip_uint64_t>(index);
  if (zip_set_file_compression(archive, entry, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0) fail();
  constexpr zip_uint16_t midnight = 0,
                         first_of_1980 = 0x21;  // as NumPy: the same tensors give the same bytes
  if (zip_file_set_dostime(archive, entry, midnight, first_of_1980, 0) != 0) fail();
}

}  // namespace

NamedTensors parse_npz(const std::string& name, std::string_view bytes) {
  return open_archive(name, zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr), bytes.size());
}

NamedTensors load_npz(const std::string& path) {
  const FileSource file(path);  // says what is wrong with a path better than libzip
  return open_archive(path, zip_source_file_create(path.c_str(), 0, -1, nullptr), file.size());
}

void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed) {
  std::vector<std::string> headers;
  std::vector<HostView> views;
  std::set<std::string> seen;
  for (const auto& [name, tensor] : tensors) {
    const std::string where = path + ": npz entry '" + shown(name) + "'";
    check(seen.insert(name).second, where, " appears twice");
    check(name.find('\0') == std::string::npos, where, ": a zero byte in the name");
    headers.push_back(npy_header(where, tensor));
    views.push_back(host_view(tensor.contiguous()));
  }
  if (tensors.empty()) {
    OutputFile out(path);
    out.write(kEmptyArchive, sizeof kEmptyArchive);
    return out.close();
  }
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  check(archive != nullptr, path, ": cannot write: ", reason(code));
  size_t i = 0;
  for (const auto& [name, tensor] : tensors) {
    add_entry(path, archive.get(), name, headers[i], views[i], static_cast<size_t>(tensor.nbytes()),
              compressed);
    ++i;
  }
  check(zip_close(archive.get()) == 0, path,
        ": cannot write: ", zip_error_strerror(zip_get_error(archive.get())));
  archive.release();
}

// --- tensors by name

bool NamedTensors::contains(const std::string& name) const {
  for (const Item& item : items_) {
    if (item.first == name) return true;
  }
  return false;
}

const Tensor& NamedTensors::operator[](const std::string& name) const {
  for (const Item& item : items_) {
    if (item.first == name) return item.second;
  }
  throw IndexError("no tensor '" + shown(name) + "'");
}

}  // namespace tenon::io
