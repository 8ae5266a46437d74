// Runs Graphviz's program `dot`: a child process that reads the text from a socket and writes SVG back into it. No shell, no file.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/descriptor.h"
#include "runtime/report/report.h"

extern char** environ;

namespace tenon::runtime {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& reason) { throw Error("draw_svg: " + reason + "; draw_dot has the text that it would read"); }

// Two ends of a connection. A socket rather than a pipe: it can be written without SIGPIPE, and ended for the reader though a fork
// of the process may have copied this end.
struct Connection {
  Connection() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("no socket for dot (error " + std::to_string(errno) + ")");
    ours.reset(ends[0]);
    childs.reset(ends[1]);
    if (ends[1] > STDERR_FILENO) return;  // else it would be lost as the child gets its standard streams
    childs.reset(fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (childs.number() < 0) fail("no socket for dot (error " + std::to_string(errno) + ")");
  }
  Descriptor ours, childs;
};

// The child, which is killed if it has not ended by the end of this object.
class Child {
 public:
  Child(const Connection& text, const Connection& messages) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, text.childs.number(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, text.childs.number(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, messages.childs.number(), STDERR_FILENO);
    char program[] = "dot", format[] = "-Tsvg";
    char* const arguments[] = {program, format, nullptr};
    const int error = posix_spawnp(&id_, program, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT) fail("Graphviz's program dot is not installed: install graphviz");
    if (error != 0) fail("cannot run Graphviz's program dot (error " + std::to_string(error) + "): install graphviz");
  }
  ~Child() {
    if (ended_) return;
    kill(id_, SIGKILL);
    while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Where the program lets the system reap its children, how this one ended is not known: then it counts as well.
  bool ended() {
    const pid_t id = waitpid(id_, &status_, WNOHANG);
    ended_ = id == id_ || (id < 0 && errno == ECHILD);
    return ended_;
  }
  bool succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

 private:
  pid_t id_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

// Takes what is there to read, and closes the end where nothing can come any more.
void read_available(Descriptor& from, std::string& text) {
  char piece[65536];
  while (from.number() >= 0) {
    const ssize_t size = recv(from.number(), piece, sizeof piece, MSG_DONTWAIT);
    if (size > 0) {
      text.append(piece, static_cast<size_t>(size));
    } else if (size < 0 && errno == EINTR) {
      continue;
    } else {
      if (size == 0 || errno != EAGAIN) from.reset();
      return;
    }
  }
}

// Writes what has room of the rest of the text, and ends it behind the last of it.
void write_available(const Descriptor& to, std::string_view& rest) {
  while (!rest.empty() && to.number() >= 0) {
    const ssize_t size = send(to.number(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    rest.remove_prefix(size < 0 ? rest.size() : static_cast<size_t>(size));  // a child that has ended says why below
    if (rest.empty()) shutdown(to.number(), SHUT_WR);
  }
}

}  // namespace

std::string svg_of(std::string_view dot_text, std::chrono::milliseconds limit) {
  const Clock::time_point end = Clock::now() + limit;
  Connection text, messages;
  Child child(text, messages);
  text.childs.reset();
  messages.childs.reset();
  std::string svg, message;
  for (bool ended = false; !ended;) {
    ended = child.ended();  // asked first: what it wrote is there then
    write_available(text.ours, dot_text);
    read_available(text.ours, svg);
    read_available(messages.ours, message);
    if (ended) break;
    if (Clock::now() > end) fail("dot needs more than " + std::to_string(limit.count()) + " ms for this graph");
    const int what = dot_text.empty() ? POLLIN : POLLIN | POLLOUT;
    pollfd waited[] = {{text.ours.number(), static_cast<short>(what), 0}, {messages.ours.number(), POLLIN, 0}};
    poll(waited, std::size(waited), 5);  // milliseconds, for the end of the child is no event
  }
  const size_t begin = svg.find("<svg");
  if (!child.succeeded() || begin == std::string::npos || !svg.ends_with("</svg>\n"))
    fail("dot failed: " + (message.empty() ? "it says nothing" : message.substr(0, message.find('\n'))));
  return svg.substr(begin);  // without the declaration of XML before it: so it can stand in a page, too
}

}  // namespace tenon::runtime
