// SPDX-License-Identifier: GPL-2.0
// libprobeload for C++20: the calls of probeload.h, which says what each does, with errors as
// exceptions and with owners. All of it is inline: the library's ABI is that of C.
#pragma once

#include <probeload.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace probeload {

class Error : public std::runtime_error {
  public:
    Error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
    /// Of enum probeload_error.
    [[nodiscard]] int code() const noexcept { return code_; }

  private:
    int code_;
};

namespace detail {

/// What a call has returned. Throws Error.
inline int done(int result) {
    if (result < 0) throw Error(-result, probeload_message());
    return result;
}

/// The same of a call that returns a text.
inline const char* text(const char* result) {
    if (!result) throw Error(probeload_code(), probeload_message());
    return result;
}

inline const char* or_null(const std::string& word) {
    return word.empty() ? nullptr : word.c_str();
}

/// As probeload_poll() takes it: less than 0 is as long as it takes, and more than it can say is 24
/// days.
inline int timeout_ms(std::chrono::milliseconds timeout) noexcept {
    using Count = std::chrono::milliseconds::rep;
    return static_cast<int>(std::clamp<Count>(timeout.count(), -1, INT_MAX));
}

}  // namespace detail

/// Throws Error where no probe can be attached.
inline void check() {
    detail::done(probeload_check());
}

/// Where a program goes, and how.
struct Place {
    std::string program{};   ///< empty: the object's only one
    std::string site{};      ///< empty: what the program's section names
    unsigned int flags = 0;  ///< of enum probeload_flags
    std::uint64_t cookie = 0;
};

/// A program, attached, until it is destroyed. Calls throw Error.
class Probe {
  public:
    /// Of a program that the caller has loaded.
    Probe(int program_fd, const Place& place) {
        probeload_probe* made = nullptr;
        detail::done(
            probeload_attach_fd(program_fd, place.site.c_str(), place.flags, place.cookie, &made));
        probe_.reset(made);
    }
    /// Takes it over.
    explicit Probe(probeload_probe* probe) noexcept : probe_(probe) {}

    void wait() const { detail::done(probeload_wait(probe_.get())); }
    [[nodiscard]] probeload_counts counts() const {
        probeload_counts counts{};
        detail::done(probeload_count(probe_.get(), &counts, sizeof counts));
        return counts;
    }
    [[nodiscard]] std::string describe() const {
        return detail::text(probeload_describe(probe_.get()));
    }
    void stop() { detail::done(probeload_stop(probe_.get())); }

  private:
    struct Detach {
        void operator()(probeload_probe* probe) const noexcept { probeload_detach(probe); }
    };
    std::unique_ptr<probeload_probe, Detach> probe_;
};

/// Lives within the callback.
class Event {
  public:
    Event(probeload_object* object, const probeload_event& event) noexcept
        : object_(object), event_(event) {}

    [[nodiscard]] std::string_view map() const noexcept { return event_.map; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        return {static_cast<const std::byte*>(event_.data), event_.size};
    }
    /// As the program's struct. Throws Error where the sizes differ.
    template <typename T>
    [[nodiscard]] T as() const {
        static_assert(std::is_trivially_copyable_v<T>);
        if (event_.size != sizeof(T))
            throw Error(PROBELOAD_USAGE, "an event of '" + std::string(map()) + "' has " +
                                             std::to_string(event_.size) +
                                             " bytes, and the type for it " +
                                             std::to_string(sizeof(T)));
        T value;
        std::memcpy(&value, event_.data, sizeof value);
        return value;
    }
    [[nodiscard]] std::string json() const {
        return detail::text(probeload_json(object_, &event_));
    }

  private:
    probeload_object* object_;
    probeload_event event_;
};

/// Whose hits count: those for which all that is given holds.
struct Tasks {
    std::optional<std::uint32_t> pid{}, tid{}, uid{}, cpu{};
    std::string comm{};    ///< empty: of any name
    std::string cgroup{};  ///< a folder of /sys/fs/cgroup; empty: in any
};

/// What Object::ask() and Measurement are asked. What is empty is not asked.
struct Question {
    std::string place{};        ///< "vfs_read", "vfs_read:return", "fs/read_write.c:566"
    std::string expressions{};  ///< empty: all arguments
    std::string condition{};
    std::string columns{};    ///< empty: time,cpu,pid,comm
    std::string debuginfo{};  ///< empty: what is installed
    unsigned int flags = 0;   ///< of enum probeload_question_flags
    std::string result{};     ///< "count", "sum EXPRESSION", "hist ..."; empty: events
    std::string by{};         ///< of a result: "comm, kstack"
    std::string to{};         ///< where the latency of a Measurement ends
    Tasks tasks{};
};

namespace detail {

/// It views into the other, which outlives it.
inline probeload_question in_c(const Question& question) {
    probeload_question asked{};
    asked.place = question.place.c_str();
    asked.expressions = or_null(question.expressions);
    asked.condition = or_null(question.condition);
    asked.columns = or_null(question.columns);
    asked.debuginfo = or_null(question.debuginfo);
    asked.flags = question.flags;
    asked.result = or_null(question.result);
    asked.by = or_null(question.by);
    asked.to = or_null(question.to);
    const auto number = [&asked](const std::optional<std::uint32_t>& given, unsigned int flag) {
        if (given) asked.flags |= flag;
        return given.value_or(0);
    };
    asked.pid = number(question.tasks.pid, PROBELOAD_ONLY_PID);
    asked.tid = number(question.tasks.tid, PROBELOAD_ONLY_TID);
    asked.uid = number(question.tasks.uid, PROBELOAD_ONLY_UID);
    asked.cpu = number(question.tasks.cpu, PROBELOAD_ONLY_CPU);
    asked.comm = or_null(question.tasks.comm);
    asked.cgroup = or_null(question.tasks.cgroup);
    return asked;
}

}  // namespace detail

/// A BPF object, until it is destroyed. Calls throw Error.
class Object {
  public:
    /// That of a question's program.
    static Object ask(const Question& question) {
        const probeload_question asked = detail::in_c(question);
        probeload_object* made = nullptr;
        detail::done(probeload_ask(&asked, sizeof asked, &made));
        return Object(made);
    }

    explicit Object(const std::string& file) {
        probeload_object* made = nullptr;
        detail::done(probeload_open(file.c_str(), &made));
        object_.reset(made);
    }

    /// Takes it over.
    explicit Object(probeload_object* object) noexcept : object_(object) {}

    /// Places of the question that are left out, or have their probe beside them: a line each.
    [[nodiscard]] std::string left_out() const {
        return detail::text(probeload_left_out(object_.get()));
    }
    void set_global(const std::string& assignment) {
        detail::done(probeload_set_global(object_.get(), assignment.c_str()));
    }
    void set_map(const std::string& assignment) {
        detail::done(probeload_set_map(object_.get(), assignment.c_str()));
    }
    void load() { detail::done(probeload_load(object_.get())); }

    [[nodiscard]] int program_fd(const std::string& program) const {
        return detail::done(probeload_program_fd(object_.get(), program.c_str()));
    }
    [[nodiscard]] int map_fd(const std::string& map) const {
        return detail::done(probeload_map_fd(object_.get(), map.c_str()));
    }
    [[nodiscard]] Probe attach(const Place& place = {}) const {
        probeload_probe* made = nullptr;
        detail::done(probeload_attach(object_.get(), detail::or_null(place.program),
                                      detail::or_null(place.site), place.flags, place.cookie,
                                      &made));
        return Probe(made);
    }

    /// Calls `function` with each Event; how many there were. What it throws ends the reading
    /// behind that event, and comes out here.
    template <typename Function>
    int poll(std::chrono::milliseconds timeout, Function&& function) {
        Reading<std::remove_reference_t<Function>> reading{object_.get(), function, nullptr};
        const int count = detail::done(
            probeload_poll(object_.get(), detail::timeout_ms(timeout), reading.take, &reading));
        if (reading.thrown) std::rethrow_exception(reading.thrown);
        return count;
    }
    [[nodiscard]] int poll_fd() const { return detail::done(probeload_poll_fd(object_.get())); }
    /// What a question's result is so far, as JSON.
    [[nodiscard]] std::string results(std::size_t most = 20) {
        return detail::text(probeload_results(object_.get(), most));
    }
    /// Nothing where the program does not count.
    [[nodiscard]] std::optional<std::uint64_t> lost() const {
        std::uint64_t count = 0;
        if (detail::done(probeload_lost(object_.get(), &count)) == 0) return std::nullopt;
        return count;
    }

  private:
    struct Close {
        void operator()(probeload_object* object) const noexcept { probeload_close(object); }
    };

    template <typename Function>
    struct Reading {
        probeload_object* object;
        Function& function;
        std::exception_ptr thrown;

        // Nothing may be thrown through C.
        static int take(void* context, const probeload_event* event) noexcept {
            auto& reading = *static_cast<Reading*>(context);
            try {
                reading.function(Event(reading.object, *event));
                return 0;
            } catch (...) {
                reading.thrown = std::current_exception();
                return 1;
            }
        }
    };

    std::unique_ptr<probeload_object, Close> object_;
};

/// What counts or measures without a program of the caller's, until it is destroyed. Calls throw
/// Error.
class Measurement {
  public:
    /// See probeload_measure().
    explicit Measurement(const Question& question) {
        const probeload_question asked = detail::in_c(question);
        probeload_measurement* made = nullptr;
        detail::done(probeload_measure(&asked, sizeof asked, &made));
        measurement_.reset(made);
    }

    /// How it began, for people.
    [[nodiscard]] std::string how() const {
        return detail::text(probeload_how_measured(measurement_.get()));
    }
    /// What is known so far, as JSON: a line, or one for each function.
    [[nodiscard]] std::string results(std::size_t most = 20) {
        return detail::text(probeload_measured(measurement_.get(), most));
    }
    void stop() { detail::done(probeload_stop_measuring(measurement_.get())); }

  private:
    struct Close {
        void operator()(probeload_measurement* measurement) const noexcept {
            probeload_close_measurement(measurement);
        }
    };
    std::unique_ptr<probeload_measurement, Close> measurement_;
};

/// The lines of a function's source with their instructions, as JSON: a line each.
inline std::string lines(const std::string& function, const std::string& debuginfo = {}) {
    return detail::text(probeload_lines(function.c_str(), detail::or_null(debuginfo)));
}

}  // namespace probeload
