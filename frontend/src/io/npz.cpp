// NumPy's .npz archives: a zip of .npy files. The archive is minizip's business, what is in it is checked
// here.
//
//   np.savez("x.npz", a=..., b=...)   ->   entries "a.npy", "b.npy": stored or deflated, zip64 where needed
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "frontend/src/io/file.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"

namespace tenon::io {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr char kEndRecord[22] = {'P', 'K', 5, 6};  // is all of an archive without entries
constexpr std::string_view kEmptyArchive(kEndRecord, sizeof kEndRecord);
// No deflated byte stands for more than this many (two bits for a match of 258): a larger claim is not true.
constexpr uint64_t kDeflateLimit = 1032;
constexpr unsigned kMostAtOnce = 1u << 30;        // minizip counts in unsigned
constexpr uLong kEncrypted = 1, kUtf8 = 1 << 11;  // bits of an entry's flags

struct Close {
  void operator()(void* archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<void, Close>;

std::string reason(int code) {
  switch (code) {
    case UNZ_ERRNO: return errno != 0 ? error_text(errno) : "the archive ends too early";
    case UNZ_CRCERROR: return "CRC error";
    case Z_DATA_ERROR: return "the compressed data is damaged";
    case Z_BUF_ERROR: return "the compressed data ends too early";
    case UNZ_BADZIPFILE: return "the entry's headers are damaged";
    case Z_MEM_ERROR:
    case UNZ_INTERNALERROR: return "out of memory";
    default: return "zip error " + std::to_string(code);
  }
}

// --- reading

// An archive in memory, as minizip reads one: it opens it once, and reads and seeks.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : bytes_(bytes) {}
  zlib_filefunc64_def functions() {
    zlib_filefunc64_def f{};
    f.opaque = this;
    f.zopen64_file = [](voidpf self, const void*, int) { return self; };
    f.zread_file = [](voidpf, voidpf self, void* out, uLong size) { return of(self).read(out, size); };
    f.ztell64_file = [](voidpf, voidpf self) -> ZPOS64_T { return of(self).at_; };
    f.zseek64_file = [](voidpf, voidpf self, ZPOS64_T offset, int origin) { return of(self).seek(offset, origin); };
    f.zclose_file = [](voidpf, voidpf) { return 0; };
    f.zerror_file = [](voidpf, voidpf) { return 0; };
    return f;
  }

 private:
  static MemoryFile& of(voidpf self) { return *static_cast<MemoryFile*>(self); }
  uLong read(void* out, uLong size) {
    const size_t count = std::min<uint64_t>(size, bytes_.size() - at_);
    if (count > 0) std::memcpy(out, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }
  long seek(uint64_t offset, int origin) {
    const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_SET ? 0 : origin == ZLIB_FILEFUNC_SEEK_CUR ? at_ : bytes_.size();
    if (offset > bytes_.size() - base) return -1;
    at_ = base + offset;
    return 0;
  }
  std::string_view bytes_;
  uint64_t at_ = 0;  // <= size
};

// The archive's current entry, decompressed while it is read.
class EntrySource final : public Source {
 public:
  EntrySource(std::string name, unzFile archive, uint64_t size) : Source(std::move(name), size), archive_(archive) {
    checked(unzOpenCurrentFile(archive_));
  }
  ~EntrySource() override { unzCloseCurrentFile(archive_); }
  // The checksum is compared at the end, so the end must be where it was said to be.
  void expect_end() {
    check(remaining() == 0, name(), ": bytes follow its data");
    checked(unzCloseCurrentFile(archive_));
  }

 private:
  int checked(int code) const {
    check(code >= 0, name(), ": cannot read: ", reason(code));
    return code;
  }
  size_t read_some(void* out, size_t bytes) override {
    errno = 0;
    const auto most = static_cast<unsigned>(std::min<size_t>(bytes, kMostAtOnce));
    return static_cast<size_t>(checked(unzReadCurrentFile(archive_, out, most)));
  }
  unzFile archive_;
};

// The entry's field that cannot be true, if there is one; `packed` counts the compressed bytes of all
// entries.
void check_entry(const std::string& where, const unz_file_info64& entry, uint64_t archive_bytes, uint64_t& packed) {
  const bool stored = entry.compression_method == 0;
  check(stored || entry.compression_method == Z_DEFLATED, where, ": compression method ", entry.compression_method,
        " is neither stored (0) nor deflated (8)");
  check((entry.flag & kEncrypted) == 0, where, ": is encrypted");
  check(entry.compressed_size <= archive_bytes - packed, where, ": compressed size ", entry.compressed_size,
        " lies outside the archive of ", archive_bytes, " bytes, or entries overlap");
  packed += entry.compressed_size;
  check(stored ? entry.uncompressed_size == entry.compressed_size : entry.uncompressed_size / kDeflateLimit <= entry.compressed_size, where,
        ": size ", entry.uncompressed_size, " cannot come from ", entry.compressed_size, " bytes");
}

// The current entry and its name, whatever bytes that holds; false where the directory is damaged.
bool entry_at(unzFile archive, unz_file_info64& entry, std::string& key) {
  if (unzGetCurrentFileInfo64(archive, &entry, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) return false;
  key.resize(entry.size_filename);
  return unzGetCurrentFileInfo64(archive, &entry, key.data(), entry.size_filename, nullptr, 0, nullptr, 0) == UNZ_OK;
}

NamedTensors read_archive(const std::string& name, unzFile archive, uint64_t bytes) {
  NamedTensors result;
  std::set<std::string> seen;
  uint64_t packed = 0;
  unz_global_info64 all{};
  check(unzGetGlobalInfo64(archive, &all) == UNZ_OK, name, ": not an npz file");
  for (uint64_t i = 0; i < all.number_entry; ++i) {
    const int found = i == 0 ? unzGoToFirstFile(archive) : unzGoToNextFile(archive);
    std::string key;
    unz_file_info64 entry{};
    check(found == UNZ_OK && entry_at(archive, entry, key), name, ": npz entry ", i, ": the archive's directory is damaged");
    const std::string where = name + ": npz entry '" + shown(key) + "'";
    check(key.ends_with(kSuffix), where, ": not an .npy file");
    check(seen.insert(key).second, where, " appears twice");
    check_entry(where, entry, bytes, packed);
    EntrySource in(where, archive, entry.uncompressed_size);
    key.resize(key.size() - kSuffix.size());
    result.insert(std::move(key), read_npy(in));
    in.expect_end();
  }
  return result;
}

NamedTensors read_opened(Source& in, unzFile opened) {
  const Archive archive(opened);
  check(in.size() >= kEmptyArchive.size(), in.name(), ": not an npz file: too short for a zip archive");
  // minizip does not find an end record that nothing stands before.
  if (in.size() == kEmptyArchive.size() && in.read_text(kEmptyArchive.size(), "end record") == kEmptyArchive) return {};
  check(archive != nullptr, in.name(), ": not an npz file: not a zip archive, or cut off");
  return read_archive(in.name(), archive.get(), in.size());
}

// --- writing

// An archive that is written whole or not at all. Every failure is an Error "PATH: cannot write: reason".
class OutputArchive {
 public:
  explicit OutputArchive(const std::string& path)
      : path_(path), file_(path), archive_(zipOpen64(file_.place().c_str(), APPEND_STATUS_CREATE)) {
    if (archive_ == nullptr) fail();
  }
  OutputArchive(const OutputArchive&) = delete;
  OutputArchive& operator=(const OutputArchive&) = delete;
  ~OutputArchive() {
    if (archive_ != nullptr) zipClose(archive_, nullptr);
  }

  void begin_entry(const std::string& name, uint64_t bytes, bool compressed) {
    constexpr uLong version = 45;        // of the format: the first that knows zip64
    constexpr int zip64_from = 1 << 30;  // room for sizes of 64 bits, also where deflating makes them larger
    zip_fileinfo info{};
    info.dosDate = 0x21 << 16;  // midnight of 1980-01-01, as NumPy: the same tensors give the same bytes
    check_code(zipOpenNewFileInZip4_64(archive_, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, compressed ? Z_DEFLATED : 0,
                                       Z_DEFAULT_COMPRESSION, 0, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, version, kUtf8,
                                       bytes >= zip64_from));
  }
  void write(const void* data, uint64_t bytes) {
    for (const char* at = static_cast<const char*>(data); bytes > 0;) {
      const auto count = static_cast<unsigned>(std::min<uint64_t>(bytes, kMostAtOnce));
      check_code(zipWriteInFileInZip(archive_, at, count));
      at += count;
      bytes -= count;
    }
  }
  void end_entry() { check_code(zipCloseFileInZip(archive_)); }
  void close() {
    check_code(zipClose(std::exchange(archive_, nullptr), nullptr));
    file_.close();
  }

 private:
  void check_code(int code) const {
    if (code != ZIP_OK) fail();
  }
  [[noreturn]] void fail() const { throw Error(path_ + ": cannot write: " + reason(UNZ_ERRNO)); }
  const std::string path_;
  OutputFile file_;
  zipFile archive_;
};

}  // namespace

NamedTensors parse_npz(const std::string& name, std::string_view bytes) {
  MemorySource in(name, bytes);
  MemoryFile file(bytes);
  zlib_filefunc64_def functions = file.functions();
  return read_opened(in, unzOpen2_64("", &functions));
}

NamedTensors load_npz(const std::string& path) {
  FileSource in(path);  // says what is wrong with a path
  return read_opened(in, unzOpen64(path.c_str()));
}

void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed) {
  constexpr size_t longest_name = 65535 - kSuffix.size();
  std::vector<std::string> headers;
  std::vector<HostView> views;
  std::set<std::string> seen;
  for (const auto& [name, tensor] : tensors) {
    const std::string where = path + ": npz entry '" + shown(name) + "'";
    check(seen.insert(name).second, where, " appears twice");
    check(name.find('\0') == std::string::npos, where, ": a zero byte in the name");
    check(name.size() <= longest_name, where, ": a name of ", name.size(), " bytes, at most ", longest_name);
    headers.push_back(npy_header(where, tensor));
    views.push_back(host_view(tensor.contiguous()));
  }
  OutputArchive archive(path);
  size_t i = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto bytes = static_cast<uint64_t>(tensor.nbytes());
    archive.begin_entry(name + std::string(kSuffix), headers[i].size() + bytes, compressed);
    archive.write(headers[i].data(), headers[i].size());
    archive.write(views[i].data, bytes);
    archive.end_entry();
    ++i;
  }
  archive.close();
}

// --- tensors by name

NamedTensors::NamedTensors(const std::initializer_list<Item>& items) : items_(items) {}
NamedTensors::NamedTensors(std::vector<Item> items) : items_(std::move(items)) {}
void NamedTensors::insert(std::string name, Tensor tensor) { items_.emplace_back(std::move(name), std::move(tensor)); }
bool NamedTensors::contains(const std::string& name) const {
  for (const Item& item : items_) {
    if (item.first == name) return true;
  }
  return false;
}

const Tensor& NamedTensors::at(const std::string& name) const {
  for (const Item& item : items_) {
    if (item.first == name) return item.second;
  }
  constexpr size_t kShown = 20;
  std::string names;
  for (size_t i = 0; i < items_.size() && i < kShown; ++i) names += (i ? ", '" : "'") + shown(items_[i].first) + "'";
  if (items_.size() > kShown) names += text(", ... ", items_.size(), " in all");
  throw IndexError("no tensor '" + shown(name) + "'" + (items_.empty() ? ": there are none" : "; the names are " + names));
}

}  // namespace tenon::io
