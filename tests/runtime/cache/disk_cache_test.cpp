// The disk cache trusts nothing: damage, truncation, links, strangers, full and read-only disks, many
// writers.
#include "runtime/cache/disk_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "runtime/temp_directory.h"

using namespace tenon::runtime;
namespace fs = std::filesystem;

namespace {

DiskCache::Config config(const TempDirectory& t, int64_t max_bytes = 1 << 20) {
  return DiskCache::config_for(t.path + "/cache", max_bytes);
}

std::string random_bytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

size_t files_in(const std::string& directory) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

void set_age(const std::string& file, int64_t seconds) {
  timespec then[2];
  clock_gettime(CLOCK_REALTIME, &then[0]);
  then[0].tv_sec -= seconds;
  then[1] = then[0];
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), then, 0) == 0);
}

int64_t age(const std::string& file) {
  struct stat s;
  REQUIRE(stat(file.c_str(), &s) == 0);
  return std::time(nullptr) - s.st_mtime;
}

}  // namespace

TEST_CASE("disk cache: what was stored comes back, in this and in a later process") {
  TempDirectory t;
  std::string payload = random_bytes(5000, 1), nul_key("a\0b", 3);
  {
    DiskCache c(config(t));
    REQUIRE(c.usable());
    CHECK_FALSE(c.load("k"));
    c.store("k", payload);
    c.store(nul_key, "");
    CHECK(c.load("k") == payload);
  }
  DiskCache later(config(t));
  CHECK(later.load("k") == payload);
  CHECK(later.load(nul_key) == "");
  CHECK_FALSE(later.load("other"));
  later.store("k", "new");
  CHECK(later.load("k") == "new");
}

TEST_CASE("disk cache: directory and files are private; missing parents are made") {
  TempDirectory t;
  DiskCache c(DiskCache::config_for(t.path + "/a/b/tenon", 1 << 20));
  c.store("k", "v");
  struct stat s;
  REQUIRE(stat((t.path + "/a/b/tenon").c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
  REQUIRE(stat(c.path_of("k").c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0600);
}

TEST_CASE("disk cache: every flipped byte is a miss and the file goes") {
  TempDirectory t;
  DiskCache c(config(t));
  std::string key = "the key", payload = random_bytes(150, 2);
  c.store(key, payload);
  std::string good = read_file(c.path_of(key));
  REQUIRE(good.size() == 40 + key.size() + payload.size());
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit : {0, 3, 7}) {
      CAPTURE(i);
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      write_file(c.path_of(key), bad);
      REQUIRE_FALSE(c.load(key));
      REQUIRE_FALSE(fs::exists(c.path_of(key)));
    }
  }
  write_file(c.path_of(key), good);
  CHECK(c.load(key) == payload);
}

TEST_CASE("disk cache: every truncation and any appended byte is a miss and the file goes") {
  TempDirectory t;
  DiskCache c(config(t));
  c.store("key", random_bytes(100, 3));
  std::string good = read_file(c.path_of("key"));
  for (size_t length = 0; length < good.size(); ++length) {
    write_file(c.path_of("key"), good.substr(0, length));
    REQUIRE_FALSE(c.load("key"));
    REQUIRE_FALSE(fs::exists(c.path_of("key")));
  }
  write_file(c.path_of("key"), good + '\0');
  CHECK_FALSE(c.load("key"));
  CHECK_FALSE(fs::exists(c.path_of("key")));
}

TEST_CASE("disk cache: a whole entry under another key's name is a miss") {
  TempDirectory t;
  DiskCache c(config(t));
  c.store("one", "1");
  fs::copy_file(c.path_of("one"), c.path_of("two"));
  CHECK_FALSE(c.load("two"));
  CHECK(c.load("one") == "1");
}

TEST_CASE("disk cache: links and odd files are never followed") {
  TempDirectory t;
  DiskCache c(config(t));
  c.store("k", "v");
  std::string entry = c.path_of("k"), elsewhere = t.path + "/elsewhere";
  fs::rename(entry, elsewhere);
  fs::create_symlink(elsewhere, entry);
  CHECK_FALSE(c.load("k"));
  CHECK(fs::exists(elsewhere));
  fs::remove(entry);
  fs::create_symlink(elsewhere, entry);
  c.store("k", "w");  // replaces the link, not what it points to
  CHECK(fs::is_regular_file(fs::symlink_status(entry)));
  CHECK(c.load("k") == "w");
  CHECK(read_file(elsewhere) != read_file(entry));

  fs::remove(entry);
  REQUIRE(mkfifo(entry.c_str(), 0600) == 0);
  CHECK_FALSE(c.load("k"));  // and does not hang
  fs::remove(entry);
  fs::create_directory(entry);
  CHECK_FALSE(c.load("k"));
  c.store("k", "x");
  CHECK_FALSE(c.load("k"));
}

TEST_CASE("disk cache: a symlinked directory is refused") {
  TempDirectory t;
  fs::create_directory(t.path + "/real");
  chmod((t.path + "/real").c_str(), 0700);
  fs::create_directory_symlink(t.path + "/real", t.path + "/cache");
  DiskCache c(config(t));
  CHECK_FALSE(c.usable());
  c.store("k", "v");
  CHECK_FALSE(c.load("k"));
  CHECK(fs::is_empty(t.path + "/real"));
  DiskCache slash(DiskCache::config_for(t.path + "/cache/", 1 << 20));
  CHECK_FALSE(slash.usable());
}

TEST_CASE("disk cache: another owner's directory or one that others may write to is refused") {
  TempDirectory t;
  DiskCache::Config strange = config(t);
  strange.uid = geteuid() + 1;
  CHECK_FALSE(DiskCache(strange).usable());
  chmod((t.path + "/cache").c_str(), 0777);
  CHECK_FALSE(DiskCache(config(t)).usable());
  chmod((t.path + "/cache").c_str(), 0700);
  CHECK(DiskCache(config(t)).usable());
}

TEST_CASE("disk cache: an entry that others may write to is a miss and goes") {
  TempDirectory t;
  DiskCache c(config(t));
  c.store("k", "v");
  chmod(c.path_of("k").c_str(), 0666);
  CHECK_FALSE(c.load("k"));
  CHECK_FALSE(fs::exists(c.path_of("k")));
}

TEST_CASE("disk cache: another owner's entry is a miss") {
  if (geteuid() != 0) return;  // only root can give files away
  TempDirectory t;
  DiskCache c(config(t));
  c.store("k", "v");
  REQUIRE(chown(c.path_of("k").c_str(), 12345, 12345) == 0);
  CHECK_FALSE(c.load("k"));
}

TEST_CASE("disk cache: places where no directory can be") {
  TempDirectory t;
  write_file(t.path + "/file", "x");
  for (const std::string& path : {t.path + "/file", t.path + "/file/below", std::string("/proc/no/such"), std::string(),
                                  std::string("relative"), std::string("/") + std::string(5000, 'x')}) {
    DiskCache c(DiskCache::config_for(path, 1 << 20));
    CHECK_FALSE(c.usable());
    c.store("k", "v");
    CHECK_FALSE(c.load("k"));
  }
  CHECK(read_file(t.path + "/file") == "x");
}

TEST_CASE("disk cache: an I/O error is a miss that deletes nothing") {
  TempDirectory t;
  DiskCache good(config(t));
  good.store("k", "v");
  DiskCache::Config failing = config(t);
  failing.read = [](int, void*, size_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  DiskCache c(failing);
  CHECK_FALSE(c.load("k"));
  CHECK(good.load("k") == "v");
}

TEST_CASE("disk cache: interrupted and short reads and writes are carried through") {
  TempDirectory t;
  DiskCache::Config slow = config(t);
  slow.read = [](int fd, void* to, size_t bytes) -> ssize_t {
    static int calls = 0;
    if (++calls % 2 == 0) {
      errno = EINTR;
      return -1;
    }
    return ::read(fd, to, std::min<size_t>(bytes, 7));
  };
  slow.write = [](int fd, const void* from, size_t bytes) -> ssize_t {
    static int calls = 0;
    if (++calls % 3 == 0) {
      errno = EINTR;
      return -1;
    }
    return ::write(fd, from, std::min<size_t>(bytes, 11));
  };
  DiskCache c(slow);
  std::string payload = random_bytes(300, 4);
  c.store("k", payload);
  CHECK(c.load("k") == payload);
}

TEST_CASE("disk cache: a full disk ends writing, leaves no temporary file, and reading goes on") {
  TempDirectory t;
  DiskCache first(config(t));
  first.store("old", "v");
  DiskCache::Config full = config(t);
  full.write = [](int, const void*, size_t) -> ssize_t {
    errno = ENOSPC;
    return -1;
  };
  DiskCache c(full);
  CHECK_FALSE(c.read_only());
  c.store("new", "v");
  CHECK(c.read_only());
  CHECK_FALSE(c.load("new"));
  CHECK(c.load("old") == "v");
  CHECK(files_in(t.path + "/cache") == 1);
}

TEST_CASE("disk cache: a directory that cannot be written to serves reads") {
  TempDirectory t;
  DiskCache c(config(t));
  c.store("k", "v");
  if (geteuid() == 0) {
    // Root writes anywhere; take the directory away instead, which is ENOENT for a new file in it.
    DiskCache gone(config(t));
    fs::remove_all(t.path + "/cache");
    gone.store("k2", "v");
    CHECK(gone.read_only());
    CHECK_FALSE(gone.load("k2"));
  } else {
    chmod((t.path + "/cache").c_str(), 0500);
    c.store("k2", "v");
    CHECK(c.read_only());
    CHECK(c.load("k") == "v");
    chmod((t.path + "/cache").c_str(), 0700);
  }
}

TEST_CASE("disk cache: beyond the cap the least recently used entries go") {
  TempDirectory t;
  DiskCache c(config(t, 10'000));
  for (int i = 0; i < 9; ++i) {
    std::string key = "key" + std::to_string(i);
    c.store(key, random_bytes(1000, static_cast<unsigned>(i)));
    set_age(c.path_of(key), 3 * 86400 - i * 60);
  }
  CHECK(c.load("key0"));  // used now: the newest of all
  CHECK(age(c.path_of("key0")) < 60);
  c.store("last", random_bytes(1000, 99));
  CHECK(c.load("last"));
  CHECK(c.load("key0"));
  CHECK(c.load("key8"));
  CHECK_FALSE(c.load("key1"));
  CHECK_FALSE(c.load("key2"));
  CHECK(files_in(t.path + "/cache") <= 8);
  c.store("huge", random_bytes(20'000, 5));  // beyond the cap by itself
  CHECK_FALSE(c.load("huge"));
}

TEST_CASE("disk cache: a hit touches the time at most once a day") {
  TempDirectory t;
  DiskCache c(config(t));
  c.store("k", "v");
  set_age(c.path_of("k"), 3600);
  CHECK(c.load("k"));
  CHECK(age(c.path_of("k")) > 1800);  // the clocks of files and of programs differ by a tick
  set_age(c.path_of("k"), 2 * 86400);
  CHECK(c.load("k"));
  CHECK(age(c.path_of("k")) < 60);
}

TEST_CASE("disk cache: temporary files of dead writers are swept, young ones are not") {
  TempDirectory t;
  { DiskCache c(config(t)); }
  write_file(t.path + "/cache/.tmp-1-old", "x");
  write_file(t.path + "/cache/.tmp-1-new", "x");
  set_age(t.path + "/cache/.tmp-1-old", 2 * 3600);
  DiskCache c(config(t));
  c.store("k", "v");
  CHECK_FALSE(fs::exists(t.path + "/cache/.tmp-1-old"));
  CHECK(fs::exists(t.path + "/cache/.tmp-1-new"));
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("disk cache: processes that write and read the same entries see whole ones or none") {
  TempDirectory t;
  auto payload_of = [](int key, int version) {
    return std::string(static_cast<size_t>(500 + key * 700), static_cast<char>('a' + version));
  };
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child) {
    pid_t pid = fork();
    if (pid == 0) {
      DiskCache c(config(t, 8000));  // small enough to sweep all the time
      int wrong = 0;
      for (int i = 0; i < 400; ++i) {
        int key = (i * 7 + child) % 5;
        if (i % 2 == 0) c.store("key" + std::to_string(key), payload_of(key, child));
        std::optional<std::string> seen = c.load("key" + std::to_string(key));
        if (seen && *seen != payload_of(key, (*seen)[0] - 'a')) ++wrong;
      }
      _exit(wrong == 0 && !c.read_only() ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  for (const auto& file : fs::directory_iterator(t.path + "/cache")) {
    CHECK(file.path().extension() == ".bin");
  }
}
#endif

TEST_CASE("disk cache: where the directory is") {
  CHECK(DiskCache::default_directory("/x") == "/x");
  const char* old_xdg = getenv("XDG_CACHE_HOME");
  const char* old_home = getenv("HOME");
  std::string xdg = old_xdg ? old_xdg : "", home = old_home ? old_home : "";
  setenv("HOME", "/home/someone", 1);
  setenv("XDG_CACHE_HOME", "/c", 1);
  CHECK(DiskCache::default_directory("") == "/c/tenon");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(DiskCache::default_directory("") == "/home/someone/.cache/tenon");
  unsetenv("XDG_CACHE_HOME");
  CHECK(DiskCache::default_directory("") == "/home/someone/.cache/tenon");
  unsetenv("HOME");
  CHECK(DiskCache::default_directory("").empty());
  if (old_xdg) setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
  if (old_home) setenv("HOME", home.c_str(), 1);
}
