// SPDX-License-Identifier: GPL-2.0
// agree: does the module decide as `probeload survey -j` does? Reads the survey's lines, asks the
// module about each site, and prints every difference.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <string>

#include "djprobe.h"

namespace {

const char* reason_name(uint32_t reason) {
    switch (reason) {
#define NAME_OF(number, NAME, name, text, detail) \
    case number:                                  \
        return name;
        DJPROBE_REASONS(NAME_OF)
#undef NAME_OF
    }
    return "unknown";
}

/// The value of a key of one of the survey's lines, without quotes.
std::string value(const std::string& line, const std::string& key) {
    const std::size_t at = line.find("\"" + key + "\":");
    if (at == std::string::npos) return "";
    std::size_t begin = at + key.size() + 3;
    if (line[begin] == '"') ++begin;
    return line.substr(begin, line.find_first_of("\",}", begin) - begin);
}

struct Decision {
    std::string verdict, tactic, dcr, reason;
    bool operator==(const Decision& other) const {
        // The refusals' reasons may differ in order of the checks, not the decision.
        return verdict == other.verdict && tactic == other.tactic && dcr == other.dcr;
    }
    std::string str() const { return verdict + " " + tactic + " " + dcr + " " + reason; }
};

Decision decision_of(const djprobe_explain& answer) {
    static constexpr const char* verdicts[] = {"refused", "int3", "jump"};
    static constexpr const char* tactics[] = {"window", "slide", "springboard"};
    const bool jump = answer.verdict == DJPROBE_VERDICT_JUMP;
    return {verdicts[answer.verdict], jump ? tactics[answer.tactic] : "none",
            std::to_string(jump ? answer.region_len : 0), reason_name(answer.reason)};
}

}  // namespace

int main() {
    const int device = open(DJPROBE_DEVICE, O_RDWR | O_CLOEXEC);
    if (device < 0) {
        std::fprintf(stderr, "agree: %s: %s\n", DJPROBE_DEVICE, std::strerror(errno));
        return 2;
    }
    std::map<std::string, unsigned> asked;
    unsigned sites = 0, differences = 0;
    for (std::string line; std::getline(std::cin, line);) {
        if (value(line, "site").empty()) continue;
        djprobe_explain answer = {};
        answer.size = sizeof answer;
        answer.address = std::stoull(value(line, "address"), nullptr, 16);
        const __u64 address = answer.address;
        if (ioctl(device, DJPROBE_IOC_EXPLAIN, &answer) < 0) {
            std::fprintf(stderr, "agree: %s: %s\n", value(line, "site").c_str(),
                         std::strerror(errno));
            return 2;
        }
        // A function's first byte means its entry.
        if (answer.address != address) continue;
        ++sites;
        const Decision local = {value(line, "verdict"), value(line, "tactic"), value(line, "dcr"),
                                value(line, "reason")};
        const Decision module = decision_of(answer);
        ++asked[local.verdict];
        if (local == module) continue;
        ++differences;
        std::printf("%s: survey says %s, the module %s (%#llx %#llx)\n",
                    value(line, "site").c_str(), local.str().c_str(), module.str().c_str(),
                    answer.detail[0], answer.detail[1]);
    }
    std::printf("sites %u jump %u int3 %u refused %u differences %u\n", sites, asked["jump"],
                asked["int3"], asked["refused"], differences);
    return sites == 0 || differences != 0;
}
