// SPDX-License-Identifier: GPL-2.0
#include "session/pipe_readers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace djprobe::loader {
namespace {

struct WatchedPipe {
    WatchedPipe() { EXPECT_EQ(pipe(ends), 0); }
    ~WatchedPipe() {
        close(ends[0]);
        close(ends[1]);
    }
    int ends[2];
};

/// A process with these descriptors as its stdin and stdout, until it is told to end.
class Reader {
  public:
    Reader(int in, int out) : number_(fork()) {
        if (number_ != 0) return;
        dup2(in, STDIN_FILENO);
        dup2(out, STDOUT_FILENO);
        for (int fd = 3; fd < 64; ++fd)
            close(fd);
        raise(SIGSTOP);
        _exit(0);
    }
    ~Reader() {
        kill(number_, SIGKILL);
        waitpid(number_, nullptr, 0);
    }
    pid_t stopped() const {
        int status = 0;
        EXPECT_EQ(waitpid(number_, &status, WUNTRACED), number_);
        EXPECT_TRUE(WIFSTOPPED(status));
        return number_;
    }

  private:
    pid_t number_;
};

TEST(PipeReaders, are_found_along_the_pipeline) {
    const WatchedPipe first, second, other;
    EXPECT_TRUE(is_pipe(first.ends[1]));
    // Our own output may be a pipe, too, which another process reads.
    const int nowhere = open("/dev/null", O_WRONLY);
    const Reader reader(first.ends[0], second.ends[1]), last(second.ends[0], nowhere);
    const Reader stranger(other.ends[0], nowhere);
    std::vector<pid_t> expected = {reader.stopped(), last.stopped()};
    stranger.stopped();
    std::vector<pid_t> found = pipe_readers(first.ends[1]);
    std::ranges::sort(expected);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
    close(nowhere);
}

TEST(PipeReaders, none_of_what_is_no_pipe) {
    const int file = open("/dev/null", O_WRONLY);
    EXPECT_FALSE(is_pipe(file));
    close(file);
}

}  // namespace
}  // namespace djprobe::loader
