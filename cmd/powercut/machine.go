package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// machine is a disk with an ext4 filesystem on it, whose power is cut.
type machine struct {
	folder string // of the mounts
	disk   *disk
	server *fuse.Server
	loop   string // device
	root   string // where the filesystem is mounted
}

// newMachine makes a machine with an empty filesystem.
func newMachine(folder string) (*machine, error) {
	m := &machine{folder: folder, disk: newDisk(nil), root: filepath.Join(folder, "root")}
	return m, m.start(true)
}

// start attaches the disk, with a new filesystem or the one it has. Reading the filesystem's journal, as after a cut, is
// what its mount does.
func (m *machine) start(empty bool) (err error) {
	disks := filepath.Join(m.folder, "fuse")
	if err := errors.Join(os.MkdirAll(disks, 0o700), os.MkdirAll(m.root, 0o755)); err != nil {
		return err
	}
	if m.server, err = m.disk.serve(disks); err != nil {
		return err
	}
	image := filepath.Join(disks, file)
	if m.loop, err = command("losetup", "--find", "--show", image); err != nil {
		return err
	}
	if empty {
		if _, err := command("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", m.loop); err != nil {
			return err
		}
	}
	_, err = command("mount", "-t", "ext4", m.loop, m.root)
	return err
}

// cut cuts the power: stop kills what runs on the machine. The machine is then off.
func (m *machine) cut(random *rand.Rand, stop func()) (cached, lost int, err error) {
	after, cached, lost := m.disk.cutPower(random, stop)
	if err := m.detach(); err != nil {
		return 0, 0, err
	}
	m.disk = after
	return cached, lost, nil
}

// detach takes the disk away. It may be called at any time, and again.
func (m *machine) detach() error {
	var all []error
	try := func(what string, args ...string) {
		var err error
		for range 100 { // a process that was killed may still be ending
			if _, err = command(what, args...); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		all = append(all, err)
	}
	if mounted(m.root) {
		try("umount", m.root)
	}
	if m.loop != "" {
		try("losetup", "--detach", m.loop)
		m.loop = ""
	}
	if m.server != nil {
		var err error
		for range 100 { // the kernel detaches the loop device a moment later
			if err = m.server.Unmount(); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		all, m.server = append(all, err), nil
	}
	return errors.Join(all...)
}

func mounted(folder string) bool {
	mounts, err := os.ReadFile("/proc/self/mounts")
	return err != nil || strings.Contains(string(mounts), " "+folder+" ")
}

// command runs a program to its end, and returns what it wrote.
func command(name string, args ...string) (string, error) {
	path, err := program(name)
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// program finds a program: those of PostgreSQL are in a folder of their version on Debian, and those that make and mount
// filesystems in one of root's.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, pattern := range []string{"/usr/sbin/", "/sbin/", "/usr/lib/postgresql/*/bin/"} {
		if found, _ := filepath.Glob(pattern + name); len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("the program %s is missing: install it", name)
}

// missing is an error that says what a run lacks here: what each needs, and these programs.
func missing(programs ...string) error {
	var lacks []error
	if os.Geteuid() != 0 {
		lacks = append(lacks, errors.New("it must run as root, to mount a filesystem"))
	}
	for _, device := range []struct{ path, module string }{{"/dev/fuse", "fuse"}, {"/dev/loop-control", "loop"}} {
		if _, err := os.Stat(device.path); err != nil {
			lacks = append(lacks, fmt.Errorf("there is no %s: load the kernel's module %s (modprobe %s)", device.path,
				device.module, device.module))
		}
	}
	for _, name := range append(programs, "losetup", "mkfs.ext4", "mount", "umount") {
		if _, err := program(name); err != nil {
			lacks = append(lacks, err)
		}
	}
	if lacks == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(errors.Join(lacks...).Error(), "\n", "; "))
}
