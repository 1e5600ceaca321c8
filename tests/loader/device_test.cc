// SPDX-License-Identifier: GPL-2.0
#include "kernel/device.h"

#include <fcntl.h>

#include "expect_error.h"

namespace djprobe::loader {
namespace {

TEST(Device, missing_says_load_the_module) {
    EXPECT_EQ(expect_error(ExitCode::kNotLoaded, [] { Device::open("/nonexistent/djprobe"); }),
              "no /nonexistent/djprobe: load the module first (modprobe djprobe, or insmod "
              "djprobe.ko)");
}

TEST(Device, missing_of_a_loaded_module_says_where_to_look) {
    EXPECT_EQ(expect_error(ExitCode::kNotLoaded,
                           [] { Device::open("/nonexistent/djprobe", "/proc/self"); }),
              "no /nonexistent/djprobe: the module is loaded, but this /dev does not show its "
              "device, as in a container, or a unit with PrivateDevices=: bind it there");
}

TEST(Device, another_device_is_another_abi) {
    EXPECT_EQ(expect_error(ExitCode::kAbiMismatch, [] { Device::open("/dev/null"); }),
              "/dev/null does not answer as djprobe ABI 1 (Inappropriate ioctl for device): build "
              "and load module and probeload from the same source");
}

TEST(Device, request_that_the_module_does_not_know_is_of_a_newer_probeload) {
    const Probe probe{UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC))};
    EXPECT_EQ(expect_error(ExitCode::kAbiMismatch, [&] { (void)probe.queries(true); }),
              "the loaded module is older than probeload: unload it and load the new one (rmmod "
              "djprobe, modprobe djprobe)");
}

TEST(Device, other_abi_names_both) {
    EXPECT_EQ(expect_error(ExitCode::kAbiMismatch, [] { check_abi(DJPROBE_ABI_VERSION + 1); }),
              "the loaded module speaks ABI 2, this probeload ABI 1: build and load both from the "
              "same source");
    EXPECT_NO_THROW(check_abi(DJPROBE_ABI_VERSION));
}

}  // namespace
}  // namespace djprobe::loader
