// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes as a BPF object, as far as it gets without a kernel: opened, its programs
// chosen, its records' types compiled. What is wrong with it is said in one line, also where libbpf
// crashes over it: each input is tried in a child first, which must end by itself, and only what
// libbpf survives there is used here, for its coverage.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/error.h"
#include "events/printer.h"
#include "memory_file.h"
#include "object/object.h"
#include "require.h"
#include "session/choice.h"
#include "session/targets.h"

namespace {

using namespace djprobe;
using test::require;

void use(const std::string& path) {
    loader::Object object = loader::Object::open(path, false);
    const loader::Choice choice = loader::choose_programs({}, object);
    loader::choose_targets({}, choice.probes);
    object.take(choice.probes);
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object.handle()) {
        for (const loader::Format format : {loader::Format::kText, loader::Format::kJson})
            loader::RecordPrinter(object.types(), bpf_map__name(map), true, {.format = format});
    }
}

int try_to_use(const std::string& path) {
    try {
        use(path);
        return 0;
    } catch (const loader::Error& error) {
        require(!std::strchr(error.what(), '\n'), "one line");
        return static_cast<int>(error.code());
    }
}

// What the child prints when libbpf crashes.
std::string words_of(int file) {
    char words[512];
    const ssize_t length = pread(file, words, sizeof words, 0);
    return {words, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const test::MemoryFile file;
    static const int words = memfd_create("words", MFD_CLOEXEC);
    file.fill(data, size);
    require(ftruncate(words, 0) == 0, "an empty file");
    const pid_t child = fork();
    if (child == 0) {
        dup2(words, STDERR_FILENO);
        _exit(try_to_use(file.path()));
    }
    int status = 0;
    require(child > 0 && waitpid(child, &status, 0) == child, "a child");
    if (!WIFEXITED(status)) std::fputs(words_of(words).c_str(), stderr);
    require(WIFEXITED(status), "no crash");
    const std::string said = words_of(words);
    if (said.empty()) {
        try_to_use(file.path());
    } else {
        require(WEXITSTATUS(status) == static_cast<int>(loader::ExitCode::kBadFile), "a bad file");
        require(std::ranges::count(said, '\n') == 1 && said.back() == '\n', "one line");
    }
    return 0;
}
