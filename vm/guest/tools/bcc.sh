#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bcc.sh TOOL ARGS...: one of bcc's, with the Python and the headers that vm/bench/tools has added.
headers=/lib/modules/$(uname -r)/build
if [ ! -e "$headers" ]; then
    mkdir -p "/lib/modules/$(uname -r)" /usr/lib
    ln -s /root/bcc/headers "$headers"
    ln -s /root/bcc/common "${headers%build}source"
    ln -s /root/bcc/python/lib /usr/lib/python3.11
fi
tool=$1
shift
# In the background a shell's programs ignore the signal at which these print what they have.
PYTHONPATH=/root/bcc/python LD_LIBRARY_PATH=/root exec /root/python3.11 -c '
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")' "/root/bcc/tools/$tool" "$@"
