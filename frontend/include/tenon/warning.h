// Warnings: what PyTorch warns of goes to a handler, which a program may set. LibTorch's WarningHandler.
//
//   struct Silent : tenon::WarningHandler { void process(const tenon::Warning&) override {} } silent;
//   tenon::WarningUtils::WarningHandlerGuard guard(&silent);
#pragma once

#include "tenon/cxx20.h"

#include <cstdint>
#include <string>
#include <utility>

namespace tenon {

struct SourceLocation {
  const char* function;
  const char* file;
  uint32_t line;
};

class Warning {
 public:
  struct UserWarning {};
  struct DeprecationWarning {};
  class Type {
   public:
    Type(UserWarning) {}
    Type(DeprecationWarning) : deprecation_(true) {}
    bool is_deprecation() const { return deprecation_; }

   private:
    bool deprecation_ = false;
  };

  Warning(Type type, const SourceLocation& where, std::string msg, bool verbatim = false)
      : type_(type), where_(where), msg_(std::move(msg)), verbatim_(verbatim) {}
  Type type() const { return type_; }
  const SourceLocation& source_location() const { return where_; }
  const std::string& msg() const { return msg_; }
  bool verbatim() const { return verbatim_; }

 private:
  Type type_;
  SourceLocation where_;
  std::string msg_;
  bool verbatim_;
};
using UserWarning = Warning::UserWarning;
using DeprecationWarning = Warning::DeprecationWarning;

// Gets every warning of the threads that set it. This one writes a warning to the standard error stream the
// first time that it comes from its place with its text.
class WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  virtual void process(const Warning& warning);
};

void warn(const Warning& warning);  // hands it to this thread's handler

namespace WarningUtils {

void set_warning_handler(WarningHandler* handler) noexcept;  // of this thread; null: the one that prints
WarningHandler* get_warning_handler() noexcept;

// The handler for the rest of the block.
class WarningHandlerGuard {
 public:
  explicit WarningHandlerGuard(WarningHandler* handler) : before_(get_warning_handler()) { set_warning_handler(handler); }
  ~WarningHandlerGuard() { set_warning_handler(before_); }
  WarningHandlerGuard(const WarningHandlerGuard&) = delete;
  WarningHandlerGuard& operator=(const WarningHandlerGuard&) = delete;

 private:
  WarningHandler* before_;
};

// Makes TORCH_WARN_ONCE warn each time, and the handler that prints print each time.
void set_warnAlways(bool always) noexcept;
bool get_warnAlways() noexcept;
class WarnAlways {
 public:
  explicit WarnAlways(bool always = true) : before_(get_warnAlways()) { set_warnAlways(always); }
  ~WarnAlways() { set_warnAlways(before_); }
  WarnAlways(const WarnAlways&) = delete;
  WarnAlways& operator=(const WarnAlways&) = delete;

 private:
  bool before_;
};

}  // namespace WarningUtils

}  // namespace tenon
