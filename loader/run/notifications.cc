// SPDX-License-Identifier: GPL-2.0
#include "run/notifications.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace djprobe::loader {

std::optional<Notification> receive(const UniqueFd& listener) {
    seccomp_notif call = {};
    if (ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return std::nullopt;
    return Notification(listener.get(), call);
}

void let_go_on(const UniqueFd& listener, std::uint64_t id) {
    seccomp_notif call = {};
    call.id = id;
    Notification(listener.get(), call).answer(Answer::go_on());
}

bool Notification::is_valid() const {
    return ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &call_.id) == 0;
}

void Notification::send(std::int64_t value, int error, std::uint32_t flags) const {
    seccomp_notif_resp response = {};
    response.id = call_.id;
    response.val = value;
    response.error = -error;
    response.flags = flags;
    ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

// Another thread of the tool may change the arguments between our look at them and the kernel's.
// That is no matter of security: the filter is there for the tool's good, and forbids nothing.
void Notification::answer(Answer answer) const {
    switch (answer.kind_) {
        case Answer::Kind::kGoOn:
            return send(0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
        case Answer::Kind::kFail:
            return send(0, static_cast<int>(answer.value_), 0);
        case Answer::Kind::kSucceed:
            return send(answer.value_, 0, 0);
        case Answer::Kind::kGive:
            return give(std::move(answer.file_), answer.value_ != 0);
    }
}

// Not SECCOMP_ADDFD_FLAG_SEND, which lets the tool go on while the file is open here, too. Between
// the two steps only the tool's end interrupts the call (kWaitKillable of the filter).
void Notification::give(UniqueFd file, bool close_on_exec) const {
    seccomp_notif_addfd added = {};
    added.id = call_.id;
    added.srcfd = static_cast<std::uint32_t>(file.get());
    added.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
    const int number = ioctl(listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &added);
    // No room for another descriptor: EMFILE, as the kernel's own call says it.
    const int error = number < 0 ? errno : 0;
    // What the tool has not got, or closes at once, must have no hits any more.
    file = UniqueFd();
    send(error ? 0 : number, error, 0);
}

bool Notification::replace(int number, const UniqueFd& file, bool close_on_exec) const {
    seccomp_notif_addfd added = {};
    added.id = call_.id;
    added.flags = SECCOMP_ADDFD_FLAG_SETFD;
    added.srcfd = static_cast<std::uint32_t>(file.get());
    added.newfd = static_cast<std::uint32_t>(number);
    added.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
    return ioctl(listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &added) >= 0;
}

}  // namespace djprobe::loader
