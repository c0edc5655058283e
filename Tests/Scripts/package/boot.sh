#!/bin/sh
# Becomes systemd, as PID 1 of a Debian in ROOT with the network of this machine. Needs root and namespaces of its own:
#
#     unshare --pid --mount --uts --ipc --cgroup --fork Tests/Scripts/package/boot.sh ROOT
set -eu
root=$(realpath "$1")
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=0755 tmpfs run
mount -t tmpfs -o mode=0755 tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
ln -s /proc/self/fd dev/fd
mkdir dev/shm dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mkdir -p mnt
pivot_root . mnt
umount -l /mnt
# Services have namespaces of their own, in which mounts of systemd must appear.
mount --make-rshared /
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target </dev/null >/dev/null 2>&1
