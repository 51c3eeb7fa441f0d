//go:build !linux

package dev

import "os/exec"

// dieWithParent does nothing where the kernel can't do it: a process that knows no lifeline outlives a killed parent.
func dieWithParent(*exec.Cmd) {}
