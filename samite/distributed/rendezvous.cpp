#include "samite/distributed/rendezvous.h"

#include "samite/base/error.h"

#include <fmt/format.h>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

namespace samite::distributed {
namespace {

using Clock = std::chrono::steady_clock;

std::string_view variable(const char *name, SourceLocation where) {
  const char *value = std::getenv(name);
  if (value && *value) return value;
  throw UserError(where, fmt::format("the environment variable {} is missing: start the program by torchrun, or set "
                                     "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT",
                                     name));
}
int number(const char *name, int least, int most, SourceLocation where) {
  const std::string_view text = variable(name, where);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw UserError(where, fmt::format("the environment variable {} is \"{}\": expected a number from {} to {}", name,
                                       text, least, most));
  return value;
}

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

struct Addresses {
  addrinfo *list = nullptr;
  Addresses(const char *host, int port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM, hints.ai_flags = flags;
    if (const int code = ::getaddrinfo(host, std::to_string(port).c_str(), &hints, &list); code != 0)
      throw DeviceError(fmt::format("getaddrinfo(\"{}\")", host ? host : "*"), ::gai_strerror(code));
  }
  Addresses(const Addresses &) = delete;
  Addresses &operator=(const Addresses &) = delete;
  ~Addresses() { ::freeaddrinfo(list); }
};

// Whether the socket is ready for `events` in time.
bool is_ready(const Socket &socket, short events, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  pollfd polled{socket.get(), events, 0};
  return left > 0 && ::poll(&polled, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30))) > 0;
}

Socket listen_at(int port) {
  const Addresses addresses(nullptr, port, AI_PASSIVE);
  int reason = 0;
  for (const addrinfo *at = addresses.list; at; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    const int on = 1;
    if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket && ::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 && ::listen(socket.get(), SOMAXCONN) == 0)
      return socket;
    reason = errno;
  }
  throw DeviceError(fmt::format("rank 0 cannot listen at port {}", port), std::strerror(reason));
}

Socket connect_to(const Place &place) {
  const Addresses addresses(place.host.c_str(), place.port, 0);
  for (const addrinfo *at = addresses.list; at; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (socket && ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return socket;
  }
  return Socket();
}

// A connection begins with this, so that unrelated ones are rejected.
constexpr char greeting[] = "samite ranks 1";

bool send_all(const Socket &socket, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}
bool receive_all(const Socket &socket, std::span<char> bytes, Clock::time_point end) {
  while (!bytes.empty()) {
    if (!is_ready(socket, POLLIN, end)) return false;
    const ssize_t received = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (received <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(received));
  }
  return true;
}

void give(std::span<const char> bytes, const Place &place, Clock::time_point end) {
  const Socket listening = listen_at(place.port);
  for (int given = 1; given < place.size;) {
    if (!is_ready(listening, POLLIN, end))
      throw DeviceError(fmt::format("{} of {} ranks have met at port {} in time", given, place.size, place.port));
    const Socket socket(::accept(listening.get(), nullptr, nullptr));
    char greeted[sizeof greeting];
    if (socket && receive_all(socket, greeted, end) && std::memcmp(greeted, greeting, sizeof greeting) == 0 &&
        send_all(socket, bytes))
      ++given;
  }
}

void take(std::span<char> bytes, const Place &place, Clock::time_point end) {
  while (Clock::now() < end) {
    const Socket socket = connect_to(place);
    if (socket && send_all(socket, greeting) && receive_all(socket, bytes, end)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw DeviceError(fmt::format("rank {} did not reach rank 0 at {}:{} in time", place.rank, place.host, place.port));
}

}  // namespace

Place place_from_environment(SourceLocation where) {
  constexpr int most = 1 << 20;
  Place place{};
  place.size = number("WORLD_SIZE", 1, most, where);
  place.rank = number("RANK", 0, place.size - 1, where);
  place.local_rank = number("LOCAL_RANK", 0, most, where);
  place.host = variable("MASTER_ADDR", where);
  place.port =
      std::getenv("SAMITE_PORT") ? number("SAMITE_PORT", 1, 65535, where) : number("MASTER_PORT", 1, 65534, where) + 1;
  return place;
}

void share_bytes(std::span<char> bytes, const Place &place, Timeout timeout) {
  if (place.size == 1) return;
  const Clock::time_point end = Clock::now() + (timeout.count() == 0 ? std::chrono::minutes(1) : timeout);
  if (place.rank == 0)
    give(bytes, place, end);
  else
    take(bytes, place, end);
}

}  // namespace samite::distributed
