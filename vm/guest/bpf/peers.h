/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DJPROBE_PEERS_H
#define DJPROBE_PEERS_H

/* As many can be counted. */
#define PEERS_FUNCTIONS 16384

#endif
