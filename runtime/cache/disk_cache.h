// Compiled objects on disk, shared by processes that know nothing of each other. Nothing here throws or
// crashes: whatever goes wrong is a miss, and the kernel is compiled again.
//
//   DIR/<32 hex digits: XXH3-128 of the key>.bin
//     0   8  magic "TENONK01"
//     8   8  key size       16   8  payload size
//     24  16 XXH3-128 of the whole file with these 16 bytes zero
//     40     key, payload
//
//   directory     made 0700; must be ours, not writable by others, and not a symlink itself
//   bad content   (wrong size, checksum, magic, owner, kind of file): deleted, a miss
//   I/O error     a miss, nothing deleted
//   publishing    private temporary file, then an atomic rename; the last writer of equal content wins
//   no space, no permission, read-only: the cache stops writing for the life of the process
//   eviction      beyond the cap the least recently used entries go; a hit touches mtime at most once a day
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/descriptor.h"

namespace tenon::runtime {

class DiskCache {
 public:
  struct Config {
    std::string directory;
    int64_t max_bytes = int64_t{512} << 20;
    uid_t uid;                                                           // who must own everything
    ssize_t (*read)(int fd, void* to, size_t bytes) = nullptr;           // null: ::read (tests inject faults)
    ssize_t (*write)(int fd, const void* from, size_t bytes) = nullptr;  // null: ::write
  };
  // The directory that the options and the environment ask for; empty if there is none (no HOME).
  static std::string default_directory(const std::string& wanted);
  static Config config_for(const std::string& directory, int64_t max_bytes);

  explicit DiskCache(Config config) noexcept;
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  std::optional<std::string> load(std::string_view key) noexcept;
  void store(std::string_view key, std::string_view payload) noexcept;

  bool usable() const { return static_cast<bool>(directory_); }
  bool read_only() const { return read_only_.load(std::memory_order_relaxed); }
  std::string path_of(std::string_view key) const;

 private:
  enum class Read : uint8_t { Ok, Bad, Failed };
  Read read_entry(const char* name, std::string_view key, std::string& payload) noexcept(false);
  void write_entry(std::string_view key, std::string_view payload) noexcept(false);
  bool write_all(int fd, const std::string& bytes);
  void sweep();  // throws nothing but std::bad_alloc

  Config config_;
  Descriptor directory_;
  std::atomic<bool> read_only_{false};
  std::mutex sweep_mutex_;
  int64_t known_bytes_ = -1;  // our estimate of the directory's size; -1: not looked yet
};

}  // namespace tenon::runtime
