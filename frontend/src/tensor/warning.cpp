// Where warnings go.
#include "tenon/warning.h"

#include <atomic>
#include <iostream>
#include <mutex>
#include <set>

#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"

namespace tenon {
namespace {

thread_local WarningHandler* handler_of_thread = nullptr;
std::atomic<bool> always_warn{false};

// A program whose texts never repeat is not remembered for ever.
constexpr size_t kMostRemembered = 1000;

struct Seen {
  std::mutex mutex;
  std::set<std::string> texts;
};
Seen& seen() {
  static auto* seen = new Seen;  // never destroyed: static destructors may warn
  return *seen;
}
[[maybe_unused]] const bool warnings_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Warnings, ir::fork_lock<[]() -> std::mutex& { return seen().mutex; }>());

bool is_first(const std::string& warning) {
  std::lock_guard guard(seen().mutex);
  if (seen().texts.size() >= kMostRemembered) seen().texts.clear();
  return seen().texts.insert(warning).second;
}

}  // namespace

void WarningHandler::process(const Warning& warning) {
  const SourceLocation& where = warning.source_location();
  const std::string place = where.file ? text(" (", where.function, " at ", where.file, ":", where.line, ")") : "";
  const std::string line = "Warning: " + warning.msg() + place + "\n";
  if (always_warn || is_first(line)) std::cerr << line << std::flush;
}

void warn(const Warning& warning) { WarningUtils::get_warning_handler()->process(warning); }
void warn_user(const std::string& message) { warn(Warning(UserWarning{}, SourceLocation{"", nullptr, 0}, message)); }
void warn_user_once(std::atomic_flag& warned, const char* message) {
  if (!warned.test_and_set() || always_warn) warn_user(message);
}

namespace WarningUtils {

void set_warning_handler(WarningHandler* handler) noexcept { handler_of_thread = handler; }
WarningHandler* get_warning_handler() noexcept {
  static auto* prints = new WarningHandler;
  return handler_of_thread ? handler_of_thread : prints;
}
[[maybe_unused]] static const bool made_before_fork = ir::make_before_fork([] { get_warning_handler(); });
void set_warnAlways(bool always) noexcept { always_warn = always; }
bool get_warnAlways() noexcept { return always_warn; }

}  // namespace WarningUtils

}  // namespace tenon
