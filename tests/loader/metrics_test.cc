// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/unique_fd.h"
#include "expect_error.h"
#include "made_reports.h"
#include "metrics/families.h"
#include "metrics/metrics_export.h"
#include "metrics/metrics_option.h"
#include "metrics/trial_bind.h"
#include "small_files.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string metrics_text(const Summary& summary) {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, metric_families(summary));
    return out.str();
}

std::string content(const std::filesystem::path& file) {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
}

Summary one_site() {
    Summary summary;
    summary.attachments = {at_site(probe())};
    return summary;
}

TEST(Metrics, tell_hits_misses_and_how_probes_work) {
    Summary summary = one_site();
    summary.attachments[0].probes[0].missed[DJPROBE_MISS_NMI] = 3;
    EXPECT_THAT(metrics_text(summary),
                HasSubstr("# TYPE djprobe_hits_total counter\n"
                          "djprobe_hits_total{program=\"on_hit\",site=\"vfs_read+0x9\","
                          "at=\"entry\"} 100\n"));
    EXPECT_THAT(metrics_text(summary), HasSubstr("at=\"entry\",cause=\"nmi\"} 3\n"));
    EXPECT_THAT(metrics_text(summary), HasSubstr("at=\"entry\",cause=\"recursion\"} 0\n"));
    EXPECT_THAT(metrics_text(summary), HasSubstr("at=\"entry\",mechanism=\"jump\"} 1\n"));
    EXPECT_THAT(metrics_text(summary), Not(HasSubstr("djprobe_events")));
}

TEST(Metrics, a_pattern_is_one_series) {
    Summary summary;
    summary.attachments = {report(Covers::kGlob, "vfs_*", {probe(), int3_probe()})};
    summary.attachments[0].at_returns = true;
    EXPECT_THAT(metrics_text(summary),
                HasSubstr("djprobe_hits_total{program=\"on_hit\",site=\"vfs_*\",at=\"return\"} "
                          "200\n"));
    EXPECT_THAT(metrics_text(summary), HasSubstr("mechanism=\"int3\"} 1\n"));
}

TEST(Metrics, a_loss_without_a_number_is_no_number) {
    Summary summary = one_site();
    summary.received = 7;
    summary.loss = Loss{std::nullopt, 93};
    EXPECT_THAT(metrics_text(summary), HasSubstr("djprobe_events_total 7\n"));
    EXPECT_THAT(metrics_text(summary), Not(HasSubstr("djprobe_events_lost_total")));
    summary.loss = Loss{2, 0};
    EXPECT_THAT(metrics_text(summary), HasSubstr("djprobe_events_lost_total 2\n"));
}

TEST(Metrics, keys_are_labels_and_each_number_of_a_value_a_sample) {
    Summary summary;
    summary.maps.entries = {
        {"counts", "", "", {{"pid", 7}, {"comm", "a \"b\"\n"}}, 12},
        {"pairs", "", "", 3, {{"sum", 1.5}, {"slots", {4, 5}}, {"name", "x"}}},
        {"tables", "", "", 0, nlohmann::ordered_json(std::vector<int>(1000, 1))},
    };
    summary.variables = {{"calls", "", "", 42}};
    EXPECT_EQ(metrics_text(summary),
              "# HELP djprobe_variable The program's global variables that are not 0.\n"
              "# TYPE djprobe_variable untyped\n"
              "djprobe_variable{name=\"calls\"} 42\n"
              "# HELP djprobe_map Numbers in the program's maps.\n"
              "# TYPE djprobe_map untyped\n"
              "djprobe_map{map=\"counts\",key_pid=\"7\",key_comm=\"a \\\"b\\\"\\n\"} 12\n"
              "djprobe_map{map=\"pairs\",key=\"3\",field=\"sum\"} 1.5\n"
              "djprobe_map{map=\"pairs\",key=\"3\",field=\"slots[0]\"} 4\n"
              "djprobe_map{map=\"pairs\",key=\"3\",field=\"slots[1]\"} 5\n");
}

TEST(Metrics, no_two_samples_have_the_same_labels) {
    Summary summary;
    summary.maps.entries = {
        {"counts", "", "", "a", 1},
        {"counts", "", "", "a", 2},
        {"nested", "", "", {{"a", {{"b", 1}}}, {"a_b", 2}}, 3},
    };
    EXPECT_THAT(metrics_text(summary),
                HasSubstr("djprobe_map{map=\"counts\",key=\"a\"} 1\n"
                          "djprobe_map{map=\"counts\",key=\"a\",nr=\"2\"} 2\n"
                          "djprobe_map{map=\"nested\",key_a_b=\"1\","
                          "key_a_b_=\"2\"} 3\n"));
}

TEST(Metrics, times_are_histograms_in_seconds_and_buckets_add_up) {
    Summary summary;
    Distribution times = by_powers_of_two(std::vector<std::uint64_t>{3, 0, 4}, 1, kMostTimeBits);
    times.unit = Distribution::Unit::kNanoseconds;
    times.labels = {{"from", "vfs_read"}, {"to", "vfs_read:return"}};
    times.sum = 25;
    summary.distributions = {times};
    // To be read more easily, each sample without what is the same in all.
    const std::regex labels("from=\"vfs_read\",to=\"vfs_read:return\",?");
    EXPECT_EQ(std::regex_replace(metrics_text(summary), labels, ""),
              "# HELP djprobe_latency_seconds Times between two places.\n"
              "# TYPE djprobe_latency_seconds histogram\n"
              "djprobe_latency_seconds_count{} 7\n"
              "djprobe_latency_seconds_sum{} 2.5e-08\n"
              "djprobe_latency_seconds_bucket{le=\"1e-09\"} 3\n"
              "djprobe_latency_seconds_bucket{le=\"3e-09\"} 3\n"
              "djprobe_latency_seconds_bucket{le=\"7e-09\"} 7\n"
              "djprobe_latency_seconds_bucket{le=\"+Inf\"} 7\n");
}

TEST(Metrics, a_sum_that_is_not_known_is_no_number) {
    Summary summary;
    Distribution values = by_powers_of_two(std::vector<std::uint64_t>{1, 2}, 0, kMostValueBits);
    values.labels = {{"site", "vfs_read"}, {"of", "count"}, {"key_file->f_flags", "x"}};
    summary.distributions = {values};
    EXPECT_THAT(metrics_text(summary), HasSubstr("djprobe_value_sum{site=\"vfs_read\",of=\"count\","
                                                 "key_file__f_flags=\"x\"} Nan\n"));
    EXPECT_THAT(metrics_text(summary), HasSubstr(",le=\"0\"} 1\n"));
    EXPECT_THAT(metrics_text(summary), HasSubstr(",le=\"1\"} 3\n"));
}

TEST(Distribution, has_negative_numbers_in_a_bucket_below_all_others) {
    const std::vector<std::uint64_t> slots = {5, 6};
    const Distribution values = by_powers_of_two(slots, 1, kMostValueBits, 4);
    EXPECT_EQ(values.count, 15u);
    ASSERT_EQ(values.buckets.size(), 3u);
    EXPECT_EQ(values.buckets[0].value, -1);
    EXPECT_EQ(values.buckets[0].count, 4u);
    EXPECT_EQ(values.buckets[2].value, 3);
    EXPECT_EQ(values.buckets[2].count, 15u);
}

TEST(Distribution, ends_where_buckets_would_not_be_exact_and_counts_what_is_above) {
    const std::vector<std::uint64_t> slots(64, 1);
    const Distribution values = by_powers_of_two(slots, 1, kMostValueBits);
    EXPECT_EQ(values.buckets.size(), 53u);
    EXPECT_EQ(values.buckets.back().value, 9007199254740991.0);
    EXPECT_EQ(values.buckets.back().count, 53u);
    EXPECT_EQ(values.count, 64u);
}

TEST(MetricsAddress, is_of_this_machine_unless_the_user_says_otherwise) {
    EXPECT_EQ(parse_metrics_address("9435"), "127.0.0.1:9435");
    EXPECT_EQ(parse_metrics_address("0.0.0.0:80"), "0.0.0.0:80");
    EXPECT_EQ(parse_metrics_address("[::1]:9435"), "[::1]:9435");
}

TEST(MetricsAddress, that_is_none_is_an_error) {
    const auto error = [](const char* wrong) {
        return expect_error(ExitCode::kUsage, [&] { parse_metrics_address(wrong); });
    };
    EXPECT_EQ(error("http"), "--metrics: 'http' is no port from 1 to 65535");
    EXPECT_EQ(error("0"), "--metrics: '0' is no port from 1 to 65535");
    EXPECT_EQ(error("65536"), "--metrics: '65536' is no port from 1 to 65535");
    EXPECT_EQ(error("localhost:80"),
              "--metrics: 'localhost' is no IP address: give 127.0.0.1:80 or 0.0.0.0:80");
    EXPECT_THAT(error("::1:80"), HasSubstr("'::1' is no IP address"));
    EXPECT_THAT(error(""), HasSubstr("'' is no port"));
}

TEST(MetricsFile, is_replaced_as_a_whole) {
    const Files files;
    const std::filesystem::path file = files.path() / "x.prom";
    MetricsExport metrics(std::nullopt, file);
    metrics.update(one_site());
    EXPECT_EQ(content(file), metrics_text(one_site()));
    metrics.update(Summary());
    EXPECT_EQ(content(file), "");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(files.path()), {}), 1);
}

TEST(MetricsFile, that_cannot_be_made_is_an_error_at_once) {
    const Files files;
    const std::filesystem::path directory = files.path() / "sub", file = directory / "x.prom";
    const auto error = [](ExitCode code, const std::filesystem::path& wrong) {
        return expect_error(code, [&] { MetricsExport(std::nullopt, wrong); });
    };
    EXPECT_EQ(error(ExitCode::kFailure, file),
              "--metrics-file: " + file.string() + ": No such file or directory");
    EXPECT_EQ(error(ExitCode::kUsage, "reads"),
              "--metrics-file: reads: node_exporter reads only files whose names end in .prom");
    std::filesystem::create_directories(file);
    EXPECT_EQ(error(ExitCode::kFailure, file),
              "--metrics-file: " + file.string() + ": Is a directory");
}

TEST(MetricsFile, that_cannot_be_written_any_more_is_told_once) {
    const Files files;
    const std::filesystem::path directory = files.path() / "sub";
    std::filesystem::create_directory(directory);
    MetricsExport metrics(std::nullopt, directory / "x.prom");
    EXPECT_TRUE(std::filesystem::is_empty(directory));
    std::filesystem::remove_all(directory);
    testing::internal::CaptureStderr();
    metrics.update(one_site());
    metrics.update(one_site());
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "probeload: --metrics-file: " + (directory / "x.prom").string() +
                  ": No such file or directory: its numbers are old\n");
}

/// More than a stream keeps back.
Summary many_numbers() {
    Summary summary;
    for (int i = 0; i < 1000; ++i)
        summary.maps.entries.push_back({"counts", "", "", i, i});
    return summary;
}

TEST(MetricsFile, on_a_full_disk_keeps_the_old_numbers_until_there_is_room) {
    const Files files;
    const std::filesystem::path file = files.path() / "x.prom";
    MetricsExport metrics(std::nullopt, file);
    metrics.update(one_site());
    testing::internal::CaptureStderr();
    {
        const SmallFiles full(10'000);
        EXPECT_NO_THROW(metrics.update(many_numbers()));
        EXPECT_NO_THROW(metrics.update(many_numbers()));
    }
    EXPECT_EQ(
        testing::internal::GetCapturedStderr(),
        "probeload: --metrics-file: " + file.string() + ": File too large: its numbers are old\n");
    EXPECT_EQ(content(file), metrics_text(one_site()));
    metrics.update(many_numbers());
    EXPECT_EQ(content(file), metrics_text(many_numbers()));
}

sockaddr_in local(std::uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

/// A port that was free a moment ago.
std::uint16_t free_port(const UniqueFd& socket) {
    sockaddr_in address = local(0);
    socklen_t size = sizeof address;
    bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
}

UniqueFd client_of(std::uint16_t port) {
    UniqueFd client(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = local(port);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return client;
}

/// How the answer begins; "" where none has come after 10 seconds, as Prometheus waits.
std::string scraped(std::uint16_t port) {
    const UniqueFd client = client_of(port);
    const timeval patience = {10, 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    constexpr std::string_view kQuestion = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(send(client.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kQuestion.size()));
    std::string answer(15, ' ');
    const ssize_t length = recv(client.get(), answer.data(), answer.size(), MSG_WAITALL);
    return answer.substr(0, length < 0 ? 0 : static_cast<std::size_t>(length));
}

std::string listen_error(ExitCode code, const std::string& address) {
    return expect_error(code, [&] { MetricsExport(address, std::nullopt); });
}

TEST(MetricsServer, serves_beside_clients_that_say_nothing) {
    const std::uint16_t port = free_port(UniqueFd(socket(AF_INET, SOCK_STREAM, 0)));
    testing::internal::CaptureStderr();
    const MetricsExport metrics("127.0.0.1:" + std::to_string(port), std::nullopt);
    testing::internal::GetCapturedStderr();
    std::vector<UniqueFd> silent;
    // More than it has threads: each is left alone after a second.
    for (int i = 0; i < 6; ++i)
        silent.push_back(client_of(port));
    EXPECT_EQ(scraped(port), "HTTP/1.1 200 OK");
}

// systemd tries again after status 1: the port may be free then.
TEST(MetricsServer, that_finds_its_port_taken_is_an_error) {
    const UniqueFd taken(socket(AF_INET, SOCK_STREAM, 0));
    const std::string address = "127.0.0.1:" + std::to_string(free_port(taken));
    listen(taken.get(), 1);
    EXPECT_EQ(
        listen_error(ExitCode::kFailure, address),
        "--metrics: cannot listen at " + address + ": Address already in use: take another port");
}

TEST(MetricsServer, at_an_address_of_another_machine_is_an_error) {
    EXPECT_EQ(listen_error(ExitCode::kFailure, "192.0.2.1:9000"),
              "--metrics: cannot listen at 192.0.2.1:9000: Cannot assign requested address: give "
              "an address of this machine");
}

// Debian's library is built without IPv6.
TEST(MetricsServer, says_that_the_library_has_no_ipv6) {
    const std::string address =
        "[::1]:" + std::to_string(free_port(UniqueFd(socket(AF_INET, SOCK_STREAM, 0))));
    if (why_not(address) != 0) GTEST_SKIP() << "no IPv6";
    std::optional<MetricsExport> metrics;
    testing::internal::CaptureStderr();
    try {
        metrics.emplace(address, std::nullopt);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kUsage);
        EXPECT_THAT(error.what(), HasSubstr("has no IPv6, as Debian's has not: give an IPv4"));
    }
    testing::internal::GetCapturedStderr();
}

TEST(MetricsServer, at_a_port_for_root_needs_the_right) {
    int first = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first;
    if (geteuid() != 0 || first < 2) GTEST_SKIP() << "cannot become a user who may not";
    ASSERT_EQ(seteuid(65534), 0);
    const std::string error = listen_error(ExitCode::kNoPermission, "127.0.0.1:1");
    ASSERT_EQ(seteuid(0), 0);
    EXPECT_EQ(error,
              "--metrics: cannot listen at 127.0.0.1:1: Permission denied: take a port from 1024 "
              "on, or run as root");
}

TEST(TrialBind, knows_addresses_of_both_kinds) {
    const UniqueFd taken(socket(AF_INET6, SOCK_STREAM, 0));
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    socklen_t size = sizeof address;
    if (!taken || bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
        GTEST_SKIP() << "no IPv6";
    getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size);
    listen(taken.get(), 1);
    const std::string port = std::to_string(ntohs(address.sin6_port));
    EXPECT_EQ(why_not("[::1]:" + port), EADDRINUSE);
    EXPECT_EQ(why_not("[2001:db8::1]:" + port), EADDRNOTAVAIL);
    EXPECT_EQ(why_not("127.0.0.1:" + port), 0);
}

}  // namespace
}  // namespace djprobe::loader
