// The disk cache: opening its directory safely, reading and checking entries, publishing them, sweeping old
// ones.
#include "runtime/cache/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/hash.h"

namespace tenon::runtime {
namespace {

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'K', '0', '1'};
constexpr size_t kHeaderBytes = 40;
constexpr size_t kChecksumAt = 24;
constexpr int64_t kLargestEntry = int64_t{256} << 20;
constexpr time_t kTouchEvery = 24 * 60 * 60;
constexpr time_t kStaleTemporary = 60 * 60;  // a writer that died left it

// The parents of `path`, as mkdir -p makes them; existing ones stay as they are.
void make_parents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);
  }
}

bool private_to(const struct stat& s, uid_t uid) { return s.st_uid == uid && (s.st_mode & 022) == 0; }

void open_directory(const std::string& path, uid_t uid, Descriptor& directory) {
  if (path.empty() || path[0] != '/') return;
  make_parents(path);
  mkdir(path.c_str(), 0700);
  directory.reset(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat s;
  if (fstat(directory.number(), &s) != 0 || !private_to(s, uid)) directory.reset();
}

std::string file_name(std::string_view key) { return hash128(key.data(), key.size()).hex() + ".bin"; }

// Header, key and payload in one string, checksum filled in.
std::string encode(std::string_view key, std::string_view payload) {
  std::string bytes(kHeaderBytes, '\0');
  bytes.reserve(kHeaderBytes + key.size() + payload.size());
  uint64_t sizes[2] = {key.size(), payload.size()};
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  std::memcpy(bytes.data() + 8, sizes, sizeof sizes);
  bytes += key;
  bytes += payload;
  Hash128 sum = hash128(bytes.data(), bytes.size());
  std::memcpy(bytes.data() + kChecksumAt, &sum.low, 8);
  std::memcpy(bytes.data() + kChecksumAt + 8, &sum.high, 8);
  return bytes;
}

bool checksum_matches(std::string& bytes) {
  Hash128 stored;
  std::memcpy(&stored.low, bytes.data() + kChecksumAt, 8);
  std::memcpy(&stored.high, bytes.data() + kChecksumAt + 8, 8);
  std::memset(bytes.data() + kChecksumAt, 0, 16);
  return hash128(bytes.data(), bytes.size()) == stored;
}

// Where key and payload lie, if sizes and magic are those of an entry.
bool split(const std::string& bytes, std::string_view& key, std::string_view& payload) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) return false;
  uint64_t sizes[2];
  std::memcpy(sizes, bytes.data() + 8, sizeof sizes);
  size_t body = bytes.size() - kHeaderBytes;
  if (sizes[0] > body || sizes[1] != body - sizes[0]) return false;
  key = std::string_view(bytes).substr(kHeaderBytes, sizes[0]);
  payload = std::string_view(bytes).substr(kHeaderBytes + sizes[0]);
  return true;
}

bool never_again(int error) {
  return error == ENOSPC || error == EDQUOT || error == EROFS || error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR;
}

}  // namespace

std::string DiskCache::default_directory(const std::string& wanted) {
  if (!wanted.empty()) {
    if (wanted[0] == '/') return wanted;
    char here[4096];
    return getcwd(here, sizeof here) ? std::string(here) + "/" + wanted : std::string();
  }
  // The XDG specification: a relative value is invalid and ignored.
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg && xdg[0] == '/') return std::string(xdg) + "/tenon";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return std::string(home) + "/.cache/tenon";
  return {};
}

DiskCache::Config DiskCache::config_for(const std::string& directory, int64_t max_bytes) {
  Config c;
  c.directory = directory;
  c.max_bytes = max_bytes;
  c.uid = geteuid();
  return c;
}

DiskCache::DiskCache(Config config) noexcept : config_(std::move(config)) {
  while (config_.directory.size() > 1 && config_.directory.back() == '/') config_.directory.pop_back();
  if (!config_.read) config_.read = ::read;
  if (!config_.write) config_.write = ::write;
  try {
    open_directory(config_.directory, config_.uid, directory_);
  } catch (...) {  // out of memory for a path: no cache
  }
}

std::string DiskCache::path_of(std::string_view key) const { return config_.directory + "/" + file_name(key); }

std::optional<std::string> DiskCache::load(std::string_view key) noexcept {
  if (!directory_) return std::nullopt;
  try {
    std::string name = file_name(key), payload;
    switch (read_entry(name.c_str(), key, payload)) {
      case Read::Ok: return payload;
      case Read::Bad: unlinkat(directory_.number(), name.c_str(), 0); break;
      case Read::Failed: break;
    }
  } catch (...) {
  }
  return std::nullopt;
}

DiskCache::Read DiskCache::read_entry(const char* name, std::string_view key, std::string& payload) {
  // O_NONBLOCK: a FIFO put here must not hang us; it is no regular file and goes.
  Descriptor file(openat(directory_.number(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return errno == ELOOP ? Read::Bad : Read::Failed;
  struct stat s;
  if (fstat(file.number(), &s) != 0) return Read::Failed;
  if (!S_ISREG(s.st_mode) || !private_to(s, config_.uid)) return Read::Bad;
  if (s.st_size < static_cast<off_t>(kHeaderBytes) || s.st_size > kLargestEntry) return Read::Bad;

  std::string bytes(static_cast<size_t>(s.st_size), '\0');
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = config_.read(file.number(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Read::Failed;
    if (n == 0) return Read::Bad;  // shorter than it said
    done += static_cast<size_t>(n);
  }
  std::string_view stored_key, stored_payload;
  if (!split(bytes, stored_key, stored_payload) || !checksum_matches(bytes)) return Read::Bad;
  if (stored_key != key) return Read::Failed;  // a true collision of hashes: the entry is good, but not ours
  payload = stored_payload;
  if (std::time(nullptr) - s.st_mtime > kTouchEvery) {
    timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
    futimens(file.number(), now);
  }
  return Read::Ok;
}

void DiskCache::store(std::string_view key, std::string_view payload) noexcept {
  if (!directory_ || read_only()) return;
  if (kHeaderBytes + key.size() + payload.size() > static_cast<size_t>(std::min(kLargestEntry, config_.max_bytes))) return;
  try {
    write_entry(key, payload);
  } catch (...) {
  }
}

void DiskCache::write_entry(std::string_view key, std::string_view payload) {
  static std::atomic<uint64_t> serial{0};
  std::string bytes = encode(key, payload), name = file_name(key);
  // Unique among threads by the serial, among processes by pid and time (containers may share a directory).
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char temporary[96];
  std::snprintf(temporary, sizeof temporary, ".tmp-%ld-%lx-%lx-%llu", static_cast<long>(getpid()), static_cast<unsigned long>(now.tv_sec),
                static_cast<unsigned long>(now.tv_nsec), static_cast<unsigned long long>(serial.fetch_add(1)));
  {
    Descriptor file(openat(directory_.number(), temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      if (never_again(errno)) read_only_ = true;
      return;
    }
    if (!write_all(file.number(), bytes)) {
      unlinkat(directory_.number(), temporary, 0);
      return;
    }
  }
  if (renameat(directory_.number(), temporary, directory_.number(), name.c_str()) != 0) {
    if (never_again(errno)) read_only_ = true;
    unlinkat(directory_.number(), temporary, 0);
    return;
  }
  std::lock_guard lock(sweep_mutex_);
  if (known_bytes_ >= 0) known_bytes_ += static_cast<int64_t>(bytes.size());
  if (known_bytes_ < 0 || known_bytes_ > config_.max_bytes) sweep();
}

bool DiskCache::write_all(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = config_.write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n < 0 && never_again(errno)) read_only_ = true;
      return false;
    }
    done += static_cast<size_t>(n);
  }
  return true;
}

void DiskCache::sweep() {
  struct Entry {
    std::string name;
    int64_t bytes;
    timespec used;
  };
  int copy = openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = copy >= 0 ? fdopendir(copy) : nullptr;
  if (!directory) {
    if (copy >= 0) close(copy);
    return;
  }
  std::vector<Entry> entries;
  int64_t total = 0;
  time_t now = std::time(nullptr);
  while (dirent* item = readdir(directory)) {
    std::string_view name = item->d_name;
    struct stat s;
    if (fstatat(directory_.number(), item->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    if (name.starts_with(".tmp-")) {
      if (now - s.st_mtime > kStaleTemporary) unlinkat(directory_.number(), item->d_name, 0);
    } else if (name.ends_with(".bin")) {
      entries.push_back({std::string(name), s.st_size, s.st_mtim});
      total += s.st_size;
    }
  }
  closedir(directory);

  if (total > config_.max_bytes) {
    // Below the cap by a fifth, so that a full cache does not sweep at every store.
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
    });
    for (const Entry& e : entries) {
      if (total <= config_.max_bytes / 5 * 4) break;
      if (unlinkat(directory_.number(), e.name.c_str(), 0) == 0) total -= e.bytes;
    }
  }
  known_bytes_ = total;
}

}  // namespace tenon::runtime
