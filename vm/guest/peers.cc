// SPDX-License-Identifier: GPL-2.0
// peers: counts the calls of many functions with a mechanism of the kernel while a command runs.
//
// The best that each can do: one program, a counter for each function in a per-CPU array, which the
// program finds by a number that the kernel hands to it.
#include "bpf/peers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr const char* kUsage =
    "usage: peers kprobe|multi|fentry OBJECT LIST COMMAND\n"
    "Attaches to all functions that LIST names, one a line, runs COMMAND, and prints\n"
    "\"attached N of N, calls N\". OBJECT is peers.bpf.o.\n"
    "exit status: COMMAND's; 1 nothing could be attached; 2 error\n";

struct Close {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using Object = std::unique_ptr<bpf_object, Close>;

[[noreturn]] void give_up(const std::string& what) {
    std::fprintf(stderr, "peers: %s\n", what.c_str());
    std::exit(2);
}

/// With the program of this name alone; `counts`: the map of an object that came before, or -1.
Object open_with(const char* path, const std::string& name, int counts) {
    Object object(bpf_object__open_file(path, nullptr));
    if (!object) give_up(std::string("cannot open ") + path);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object.get()) {
        bpf_program__set_autoload(program, bpf_program__name(program) == name);
    }
    if (counts >= 0)
        bpf_map__reuse_fd(bpf_object__find_map_by_name(object.get(), "counts"), counts);
    return object;
}

/// What is attached, until the process ends.
class Peers {
  public:
    Peers(std::string_view kind, const char* path) : kind_(kind), path_(path) {
        if (kind_ == "fentry") return;
        const std::string name = "count_" + kind_;
        objects_.push_back(open_with(path_, name, -1));
        if (bpf_object__load(objects_[0].get()) != 0) give_up("the kernel refuses " + name);
        program_ = bpf_object__find_program_by_name(objects_[0].get(), name.c_str());
        find_counts();
    }
    std::size_t attach(const std::vector<std::string>& functions) {
        if (kind_ == "multi") return attach_multi(functions);
        std::size_t attached = 0;
        for (std::size_t i = 0; i < functions.size(); ++i) {
            const bool good =
                kind_ == "kprobe" ? attach_kprobe(functions[i], i) : attach_fentry(functions[i], i);
            if (good) ++attached;
        }
        return attached;
    }
    [[nodiscard]] std::uint64_t calls(std::size_t functions) const {
        std::uint64_t all = 0;
        std::vector<std::uint64_t> values(static_cast<std::size_t>(libbpf_num_possible_cpus()));
        for (__u32 key = 0; counts_ >= 0 && key < functions; ++key) {
            bpf_map_lookup_elem(counts_, &key, values.data());
            all = std::accumulate(values.begin(), values.end(), all);
        }
        return all;
    }

  private:
    void find_counts() {
        if (counts_ < 0) counts_ = bpf_object__find_map_fd_by_name(objects_[0].get(), "counts");
    }
    bool attach_kprobe(const std::string& function, std::size_t number) const {
        LIBBPF_OPTS(bpf_kprobe_opts, options);
        options.bpf_cookie = number;
        return bpf_program__attach_kprobe_opts(program_, function.c_str(), &options) != nullptr;
    }
    // One that is refused takes all with it: each is tried alone first.
    std::size_t attach_multi(const std::vector<std::string>& functions) const {
        std::vector<const char*> symbols;
        std::vector<__u64> cookies;
        for (std::size_t i = 0; i < functions.size(); ++i) {
            const char* symbol = functions[i].c_str();
            bpf_link* const link = link_multi(&symbol, nullptr, 1);
            if (link == nullptr) continue;
            bpf_link__destroy(link);
            symbols.push_back(symbol);
            cookies.push_back(i);
        }
        return link_multi(symbols.data(), cookies.data(), symbols.size()) ? symbols.size() : 0;
    }
    bpf_link* link_multi(const char** symbols, const __u64* cookies, std::size_t count) const {
        LIBBPF_OPTS(bpf_kprobe_multi_opts, options);
        options.syms = symbols;
        options.cookies = cookies;
        options.cnt = count;
        return bpf_program__attach_kprobe_multi_opts(program_, nullptr, &options);
    }
    bool attach_fentry(const std::string& function, std::size_t number) {
        Object object = open_with(path_, "count_fentry", counts_);
        bpf_program* const program = bpf_object__find_program_by_name(object.get(), "count_fentry");
        if (bpf_program__set_attach_target(program, 0, function.c_str()) != 0) return false;
        if (bpf_object__load(object.get()) != 0) return false;
        LIBBPF_OPTS(bpf_trace_opts, options);
        options.cookie = number;
        if (bpf_program__attach_trace_opts(program, &options) == nullptr) return false;
        objects_.push_back(std::move(object));
        find_counts();
        return true;
    }

    std::string kind_;
    const char* path_;
    std::vector<Object> objects_;
    bpf_program* program_ = nullptr;
    int counts_ = -1;
};

std::vector<std::string> read_lines(const char* path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    if (lines.empty() || lines.size() > PEERS_FUNCTIONS)
        give_up(std::string(path) + ": no list of functions");
    return lines;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    libbpf_set_print(nullptr);
    const std::vector<std::string> functions = read_lines(argv[3]);
    Peers peers(argv[1], argv[2]);
    const std::size_t attached = peers.attach(functions);
    const int status = attached != 0 ? std::system(argv[4]) : 1 << 8;
    std::printf("attached %zu of %zu, calls %llu\n", attached, functions.size(),
                static_cast<unsigned long long>(peers.calls(functions.size())));
    std::fflush(stdout);
    // The kernel takes out what is attached, faster than one by one.
    std::_Exit(WEXITSTATUS(status));
}
