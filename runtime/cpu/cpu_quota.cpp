// Finds the folders of the control groups and reads their limits:
//
//   /proc/self/cgroup       4:cpu,cpuacct:/docker/ab12        0::/user.slice/app.scope
//   /proc/self/mountinfo    ... /docker/ab12 /sys/fs/cgroup/cpu ... - cgroup cgroup rw,cpu       ... / /sys/fs/cgroup ... - cgroup2 ...
//   the group's folder      /sys/fs/cgroup/cpu                /sys/fs/cgroup/user.slice/app.scope, and those above it
#include "runtime/cpu/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

namespace tenon::runtime {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool contains(const std::vector<std::string_view>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// A positive number at the front of the text, or 0.
double number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value > 0 ? static_cast<double>(value) : 0;
}

double ratio(std::string_view quota, std::string_view period) {
  const double time = number(quota), every = number(period);
  return time > 0 && every > 0 ? time / every : kNoQuota;
}

// "50000 100000" or "max 100000"
double quota_of_v2(const std::string& folder) {
  const std::string limits = content(folder + "/cpu.max");
  const size_t space = std::min(limits.find(' '), limits.size());
  return ratio(std::string_view(limits).substr(0, space), std::string_view(limits).substr(std::min(space + 1, limits.size())));
}
double quota_of_v1(const std::string& folder) {
  return ratio(content(folder + "/cpu.cfs_quota_us"), content(folder + "/cpu.cfs_period_us"));
}

// A mounted tree of control groups: where it is, and which group is at its root.
struct Mount {
  std::string folder, group;
};

// The kernel writes a space in a path as \040.
std::string unescaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool escape = text[i] == '\\' && i + 3 < text.size() &&
                        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4;
    result += escape ? static_cast<char>(code) : text[i];
    if (escape) i += 3;
  }
  return result;
}

// "id parent device group folder options [tags] - kind source options"
std::vector<Mount> mounts(const std::string& root, bool v2) {
  std::vector<Mount> found;
  const std::string table = content(root + "/proc/self/mountinfo");
  for (const std::string_view line : split(table, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto mount = split(line.substr(0, dash), ' '), kind = split(line.substr(dash + 3), ' ');
    if (mount.size() < 5 || kind.size() < 3) continue;
    if (v2 ? kind[0] == "cgroup2" : kind[0] == "cgroup" && contains(split(kind[2], ','), "cpu"))
      found.push_back({unescaped(mount[4]), unescaped(mount[3])});
  }
  return found;
}

// The least over the group and those around it, up to the root of what is mounted.
template <typename Quota>
double least(const std::string& root, const Mount& mount, std::string group, Quota&& quota) {
  if (mount.group != "/" && (group == mount.group || group.starts_with(mount.group + "/"))) group.erase(0, mount.group.size());
  if (group.starts_with("/..")) group.clear();  // outside of what this process sees
  double result = kNoQuota;
  while (true) {
    while (group.ends_with('/')) group.pop_back();
    result = std::min(result, quota(root + mount.folder + group));
    if (group.empty()) return result;
    group.resize(std::min(group.rfind('/'), group.size()));
    if (group.find('/') == std::string::npos) group.clear();
  }
}

}  // namespace

double cpu_quota(const std::string& root) {
  double result = kNoQuota;
  const std::string groups = content(root + "/proc/self/cgroup");
  for (const std::string_view line : split(groups, '\n')) {  // "4:cpu,cpuacct:/docker/ab12"
    const size_t first = line.find(':'), second = line.find(':', std::min(first, line.size() - 1) + 1);
    if (line.empty() || second == std::string_view::npos) continue;
    const std::string group(line.substr(second + 1));
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && !contains(split(controllers, ','), "cpu")) continue;
    for (const Mount& mount : mounts(root, v2)) result = std::min(result, least(root, mount, group, v2 ? quota_of_v2 : quota_of_v1));
  }
  return result;
}

int threads_of_quota(double quota, int cpus) { return quota < cpus ? std::max(1, static_cast<int>(quota)) : cpus; }

}  // namespace tenon::runtime
