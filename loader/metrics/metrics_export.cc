// SPDX-License-Identifier: GPL-2.0
#include "metrics/metrics_export.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/whole_file.h"
#include "metrics/families.h"
#include "metrics/trial_bind.h"

namespace djprobe::loader {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

/// A signal must interrupt the session's thread: threads that are made meanwhile take none.
class NoSignals {
  public:
    NoSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;

  private:
    sigset_t before_{};
};

constexpr const char* kFileOption = "--metrics-file";

// Not into a file: the serializer throws std::bad_cast once its stream has failed, which says
// nothing of a full disk.
std::string text_of(const Families& families) {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families);
    return out.str();
}

// The user learns of a wrong name before anything begins.
void check_file(const std::filesystem::path& file) {
    if (file.extension() != ".prom")
        fail(ExitCode::kUsage, "{}: {}: node_exporter reads only files whose names end in .prom",
             kFileOption, file.string());
    check_replaceable(kFileOption, file);
}

const char* way_out(int error) {
    switch (error) {
        case EADDRINUSE:
            return ": take another port";
        case EADDRNOTAVAIL:
            return ": give an address of this machine";
        case EACCES:
            return ": take a port from 1024 on, or run as root";
        default:
            return "";
    }
}

// Another program may end, and an interface come up, before the next attempt: only what the library
// cannot do at all is a wrong command line. It says only that it has failed.
[[noreturn]] void fail_to_listen(const std::string& address) {
    const int error = why_not(address);
    if (error == 0 && address.starts_with('['))
        fail(ExitCode::kUsage,
             "--metrics: cannot listen at {}: the HTTP library (civetweb) has no IPv6, as Debian's "
             "has not: give an IPv4 address",
             address);
    if (error == 0)
        fail(ExitCode::kFailure,
             "--metrics: cannot listen at {}: another program did a moment ago, or threads or "
             "memory are short",
             address);
    fail(error == EACCES || error == EPERM ? ExitCode::kNoPermission : ExitCode::kFailure,
         "--metrics: cannot listen at {}: {}{}", address, std::strerror(error), way_out(error));
}

}  // namespace

struct MetricsExport::Server {
    /// The server's threads read it, the session writes it.
    class Newest : public prometheus::Collectable {
      public:
        [[nodiscard]] Families Collect() const override {
            const std::lock_guard lock(mutex_);
            return families_;
        }
        void set(Families families) {
            const std::lock_guard lock(mutex_);
            families_ = std::move(families);
        }

      private:
        mutable std::mutex mutex_;
        Families families_;
    };

    // A client that connects and says nothing keeps a thread until the timeout: the others serve
    // meanwhile.
    explicit Server(const std::string& address)
        : exposer({"listening_ports", address, "num_threads", "4", "request_timeout_ms", "1000"}) {
        exposer.RegisterCollectable(newest);
    }

    std::shared_ptr<Newest> newest = std::make_shared<Newest>();
    prometheus::Exposer exposer;
};

MetricsExport::MetricsExport(const std::optional<std::string>& address,
                             std::optional<std::filesystem::path> file)
    : file_(std::move(file)) {
    if (file_) check_file(*file_);
    if (!address) return;
    const NoSignals no_signals;
    try {
        server_ = std::make_unique<Server>(*address);
    } catch (const std::exception&) {
        fail_to_listen(*address);
    }
    say("metrics at http://{}/metrics\n", *address);
}

MetricsExport::~MetricsExport() = default;

// A full disk must not end the session. node_exporter reads each file that ends in .prom at any
// time: it must never see a part.
void MetricsExport::write_file(const std::vector<prometheus::MetricFamily>& families) try {
    replace_file(kFileOption, *file_, text_of(families));
    failing_ = false;
} catch (const Error& error) {
    if (!failing_) say("probeload: {}: its numbers are old\n", error.what());
    failing_ = true;
}

void MetricsExport::update(const Summary& summary) {
    std::vector<prometheus::MetricFamily> families = metric_families(summary);
    if (file_) write_file(families);
    if (server_) server_->newest->set(std::move(families));
}

}  // namespace djprobe::loader
