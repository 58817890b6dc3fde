/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What stands between a program and an NVIDIA GPU: the card on the PCI bus, the kernel's driver,
 * the device files and who may open them, the container, the library. Nothing of the driver is
 * called. Sources: PCI class codes 03xx; NVIDIA's driver README, chapter on device nodes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/elf.h"
#include "tools/tool.h"

static char texts[TOOL_GPU_LINES][2][512];

typedef struct {
    tool_gpu_line *lines;
    int n;
} report;

static void add(report *r, const char *fact, const char *action)
{
    if (r->n == TOOL_GPU_LINES)
        return;
    snprintf(texts[r->n][0], sizeof texts[r->n][0], "%s", fact);
    snprintf(texts[r->n][1], sizeof texts[r->n][1], "%s", action);
    r->lines[r->n] = (tool_gpu_line){texts[r->n][0], texts[r->n][1]};
    r->n++;
}

/* A number that a file of /sys holds, as "0x10de"; -1 if there is none. */
static long read_number(const char *device, const char *file)
{
    char path[512], text[32] = "";
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", device, file);
    FILE *f = fopen(path, "r");
    bool read = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    return read ? strtol(text, NULL, 16) : -1;
}

/* Displays and 3D controllers of NVIDIA; -1: the bus cannot be seen. */
static int count_cards(char *first, size_t n)
{
    enum { NVIDIA = 0x10de, DISPLAY_CLASS = 0x03 };
    DIR *d = opendir("/sys/bus/pci/devices");
    int count = 0;
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || read_number(e->d_name, "vendor") != NVIDIA ||
            read_number(e->d_name, "class") >> 16 != DISPLAY_CLASS)
            continue;
        if (count++ == 0)
            snprintf(first, n, "%s", e->d_name);
    }
    closedir(d);
    return count;
}

static bool in_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
           getenv("container") || getenv("KUBERNETES_SERVICE_HOST");
}

static void check_node(report *r, const char *path, bool needed)
{
    char fact[512], action[512];
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return;
    }
    int err = errno;
    snprintf(fact, sizeof fact, "%s: %s", path, strerror(err));
    if (err == ENOENT && !needed)
        return;
    if (err == ENOENT) {
        add(r, fact,
            in_container() ? "start the container with the GPU: docker run --gpus all, podman run "
                             "--device nvidia.com/gpu=all, or --nv of Apptainer"
                           : "load the driver: sudo modprobe nvidia; sudo nvidia-modprobe -u -c=0");
        return;
    }
    struct group *g = stat(path, &st) == 0 ? getgrgid(st.st_gid) : NULL;
    if (err == EACCES && g && !(st.st_mode & S_IWOTH) && (st.st_mode & S_IWGRP))
        snprintf(action, sizeof action,
                 "it is for the group %s: sudo usermod -a -G %s $USER, then log in again",
                 g->gr_name, g->gr_name);
    else if (err == EPERM || err == EACCES)
        snprintf(action, sizeof action, "%s",
                 in_container()
                     ? "the container may not use the device: start it with --gpus all"
                     : "its mode or a control group (cgroup) keeps you out: see ls -l, and ask "
                       "who runs this machine");
    else
        snprintf(action, sizeof action,
                 "the driver refuses it: sudo dmesg | grep -i nvrm says why");
    add(r, fact, action);
}

static void check_cards(report *r)
{
    char first[256] = "", fact[512];
    const int cards = count_cards(first, sizeof first);
    if (cards > 0) {
        snprintf(fact, sizeof fact, "%d NVIDIA GPU%s on the PCI bus, the first at %s", cards,
                 cards == 1 ? "" : "s", first);
        add(r, fact, "");
    } else {
        add(r,
            cards < 0 ? "the PCI bus cannot be seen from here"
                      : "no NVIDIA GPU on the PCI bus of this machine",
            cards < 0 ? "" : "use a machine that has one, or attach it to this virtual machine");
    }
}

static void check_driver(report *r)
{
    char line[256] = "";
    FILE *f = fopen("/proc/driver/nvidia/version", "r");
    if (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        add(r, line, "");
        check_node(r, "/dev/nvidiactl", true);
        check_node(r, "/dev/nvidia0", true);
        check_node(r, "/dev/nvidia-uvm", true);
    } else {
        add(r, "the kernel has no NVIDIA driver (/proc/driver/nvidia/version is missing)",
            in_container() ? "install it on the host of this container"
                           : "install it: apt install nvidia-driver, or from nvidia.com/drivers");
    }
    if (f)
        fclose(f);
}

static void check_library(report *r)
{
    elf_file self;
    char text[512], found[400];
    if (!elf_open("/proc/self/exe", &self, text, sizeof text))
        return;
    if (elf_find(&self, "/proc/self/exe", "libcuda.so.1", found, sizeof found)) {
        snprintf(text, sizeof text, "libcuda.so.1 is %s", found);
        add(r, text, "");
    } else {
        add(r, "libcuda.so.1, the driver's library, is not where the dynamic linker looks",
            in_container()
                ? "start the container with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute"
                : "it comes with the driver (apt install libcuda1); if it is there: sudo ldconfig");
    }
    elf_close(&self);
}

int tool_gpu_lines(tool_gpu_line *out)
{
    report r = {out, 0};
    check_cards(&r);
    check_driver(&r);
    check_library(&r);
    return r.n;
}
