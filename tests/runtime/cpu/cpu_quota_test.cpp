// Quotas of control groups, read from a folder that stands for the root of the file system.
#include "runtime/cpu/cpu_quota.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/temp_directory.h"

using namespace tenon::runtime;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;
constexpr double kNone = std::numeric_limits<double>::infinity();

double quota_with(const Files& files) {
  const TempDirectory root;
  for (const auto& [name, text] : files) {
    std::filesystem::create_directories(std::filesystem::path(root.path + name).parent_path());
    write_file(root.path + name, text);
  }
  return cpu_quota(root.path);
}

const std::string kGroups = "/proc/self/cgroup", kMounts = "/proc/self/mountinfo", kTop = "/sys/fs/cgroup";
const std::pair<std::string, std::string> kMountedV2{kMounts,
                                                     "24 1 0:5 / /proc rw - proc proc rw\n"
                                                     "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"};
const std::pair<std::string, std::string> kMountedV1{kMounts,
                                                     "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                                                     "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"};

}  // namespace

TEST_CASE("cpu quota: version 2, the least over the groups around the process") {
  const auto with = [](Files limits) {
    limits.insert(limits.end(), {{kGroups, "0::/a.slice/b.scope\n"}, kMountedV2});
    return quota_with(limits);
  };
  CHECK(with({}) == kNone);
  CHECK(with({{kTop + "/a.slice/b.scope/cpu.max", "50000 100000\n"}}) == 0.5);
  CHECK(with({{kTop + "/a.slice/b.scope/cpu.max", "max 100000\n"}}) == kNone);
  CHECK(with({{kTop + "/a.slice/b.scope/cpu.max", "max 100000\n"}, {kTop + "/a.slice/cpu.max", "250000 100000\n"}}) == 2.5);
  CHECK(with({{kTop + "/a.slice/b.scope/cpu.max", "400000 100000\n"},
              {kTop + "/a.slice/cpu.max", "300000 100000\n"},
              {kTop + "/cpu.max", "200000 100000"}}) == 2);
  for (const char* damaged : {"", "\n", "max", "50000", "50000 ", "50000 0\n", "-1 100000\n", "x y\n", "0 100000\n"}) {
    CAPTURE(damaged);
    CHECK(with({{kTop + "/a.slice/cpu.max", damaged}}) == kNone);
  }
}

TEST_CASE("cpu quota: version 2 in a namespace of its own, and at other places") {
  const std::pair<std::string, std::string> limit{kTop + "/cpu.max", "150000 100000\n"};
  CHECK(quota_with({{kGroups, "0::/\n"}, kMountedV2, limit}) == 1.5);
  CHECK(quota_with({{kGroups, "0::/../other\n"}, kMountedV2, limit}) == 1.5);
  CHECK(quota_with(
            {{kGroups, "0::/app"}, {kMounts, "1 2 0:1 /app /own\\040groups rw - cgroup2 none rw"}, {"/own groups/cpu.max", "3000 1000"}}) ==
        3);
  CHECK(quota_with({{kGroups, "0::/app"}, {kMounts, "1 2 0:1 /ap /g rw - cgroup2 none rw"}, {"/g/app/cpu.max", "1 2"}}) == 0.5);
}

TEST_CASE("cpu quota: version 1, in a container, and beside version 2") {
  const std::string cpu = kTop + "/cpu,cpuacct";
  const std::pair<std::string, std::string> groups{kGroups, "7:cpuset:/x\n4:cpu,cpuacct:/docker/ab12\n1:name=systemd:/\n0::/\n"};
  const auto limit = [](const std::string& folder, const char* quota, const char* period) {
    return Files{{folder + "/cpu.cfs_quota_us", quota}, {folder + "/cpu.cfs_period_us", period}};
  };
  const auto with = [&](Files limits, const std::pair<std::string, std::string>& mounted) {
    limits.insert(limits.end(), {groups, mounted});
    return quota_with(limits);
  };
  CHECK(with(limit(cpu + "/docker/ab12", "200000\n", "100000\n"), kMountedV1) == 2);
  CHECK(with(limit(cpu + "/docker/ab12", "-1\n", "100000\n"), kMountedV1) == kNone);
  CHECK(with(limit(cpu + "/docker", "75000\n", "50000\n"), kMountedV1) == 1.5);
  CHECK(with(limit(cpu, "100000\n", "0\n"), kMountedV1) == kNone);
  CHECK(with(limit(cpu, "100000\n", "100000\n"), {kMounts, "3 1 0:3 /docker/ab12 " + cpu + " rw - cgroup cgroup rw,cpu"}) == 1);
  CHECK(with(limit(kTop + "/cpuset/x", "100000\n", "100000\n"), kMountedV1) == kNone);
}

TEST_CASE("cpu quota: where nothing can be read there is no limit") {
  CHECK(quota_with({}) == kNone);
  CHECK(quota_with({{kGroups, "0::/\n"}}) == kNone);
  CHECK(quota_with({kMountedV2, {kTop + "/cpu.max", "1 1"}}) == kNone);
  for (const char* damaged : {"", ":", "::", "0", "0:", "\n\n", "0::", "a:b:c:d\n", "0::relative\n", "4:cpu:\n"}) {
    CAPTURE(damaged);
    CHECK(quota_with({{kGroups, damaged}, {kMounts, "- - -\n 1 2 - cgroup2\n1 2 3 4 5 - cgroup2 x rw\n"}}) == kNone);
  }
}

TEST_CASE("cpu quota: whole CPUs, at least one thread") {
  CHECK(threads_of_quota(kNone, 8) == 8);
  CHECK(threads_of_quota(0.5, 8) == 1);
  CHECK(threads_of_quota(1.9, 8) == 1);
  CHECK(threads_of_quota(2.5, 8) == 2);
  CHECK(threads_of_quota(16, 8) == 8);
  CHECK(threads_of_quota(0.001, 1) == 1);
}
