// SPDX-License-Identifier: GPL-2.0
// agree: does the module decide as `probeload survey [--ret] -j` does? Reads the survey's lines,
// asks the module about each site or each function's returns, and prints every difference.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <system_error>

#include "../../arch/x86/insn/reason.h"
#include "djprobe.h"
#include "guarded.h"

namespace {

const char* reason_name(uint32_t reason) {
    return djprobe::reason_name(static_cast<djprobe::Reason>(reason));
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

class Agree {
  public:
    Agree() : device_(open(DJPROBE_DEVICE, O_RDWR | O_CLOEXEC)) {
        if (device_ < 0) throw std::system_error(errno, std::generic_category(), DJPROBE_DEVICE);
    }
    ~Agree() { close(device_); }
    Agree(const Agree&) = delete;
    Agree& operator=(const Agree&) = delete;

    void site(const std::string& line);
    void returns(const std::string& line);
    /// Prints how many there were of each answer. False if any differed, or there was none.
    bool sum_up() const;

  private:
    djprobe_explain explain(const std::string& line, __u32 flags) const {
        djprobe_explain answer = {};
        answer.size = sizeof answer;
        answer.address = std::stoull(value(line, "address"), nullptr, 16);
        answer.flags = flags;
        if (ioctl(device_, DJPROBE_IOC_EXPLAIN, &answer) < 0)
            throw std::system_error(errno, std::generic_category(), line);
        return answer;
    }
    void differ(const std::string& name, const std::string& local, const std::string& module,
                const djprobe_explain& answer) {
        ++differences_;
        std::printf("%s: survey says %s, the module %s (%#llx %#llx)\n", name.c_str(),
                    local.c_str(), module.c_str(), answer.detail[0], answer.detail[1]);
    }

    int device_;
    std::map<std::string, unsigned> asked_;
    unsigned differences_ = 0;
};

void Agree::site(const std::string& line) {
    const djprobe_explain answer = explain(line, 0);
    // A function's first byte means its entry.
    if (answer.address != std::stoull(value(line, "address"), nullptr, 16)) return;
    const Decision local = {value(line, "verdict"), value(line, "tactic"), value(line, "dcr"),
                            value(line, "reason")};
    const Decision module = decision_of(answer);
    ++asked_[local.verdict];
    if (local != module) differ(value(line, "site"), local.str(), module.str(), answer);
}

void Agree::returns(const std::string& line) {
    const std::string local = value(line, "mode") + " " + value(line, "reason");
    djprobe_explain answer = explain(line, DJPROBE_ATTACH_RETURN);
    std::string module = "exact none";
    if (answer.verdict == DJPROBE_VERDICT_REFUSED) {
        const std::string why_not_exact = reason_name(answer.reason);
        answer = explain(line, DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW);
        module = answer.verdict == DJPROBE_VERDICT_REFUSED
                     ? std::string("refused ") + reason_name(answer.reason)
                     : "shadow " + why_not_exact;
    }
    ++asked_[value(line, "mode")];
    // The survey asks first whether it is a function, the module last.
    const bool same =
        local == "refused no-function" ? module.starts_with("refused ") : local == module;
    if (!same) differ(value(line, "function"), local, module, answer);
}

bool Agree::sum_up() const {
    unsigned all = 0;
    for (const auto& [answer, count] : asked_) {
        std::printf("%s %u ", answer.c_str(), count);
        all += count;
    }
    std::printf("differences %u\n", differences_);
    return all != 0 && differences_ == 0;
}

int run(int, char**) {
    Agree agree;
    for (std::string line; std::getline(std::cin, line);) {
        if (!value(line, "site").empty()) agree.site(line);
        if (!value(line, "function").empty()) agree.returns(line);
    }
    return !agree.sum_up();
}

}  // namespace

int main(int argc, char** argv) {
    return djprobe::vm::guarded("agree", run, argc, argv);
}
