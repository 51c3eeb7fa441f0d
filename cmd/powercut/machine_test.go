package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// What was synced before a cut is there after it. On a disk that ignores flushes it is not.
func TestCut(t *testing.T) {
	if err := missing(); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("synced"), 100_000)
	cut := func(deceitful bool) (kept bool) {
		m, err := newMachine(t.TempDir())
		defer func() {
			if err := m.detach(); err != nil {
				t.Error(err)
			}
		}()
		if err != nil {
			t.Fatal(err)
		}
		if deceitful {
			m.disk.deceive()
		}
		f, err := os.Create(filepath.Join(m.root, "f"))
		if err != nil {
			t.Fatal(err)
		}
		f.Write(want)
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		cached, lost, err := m.cut(rand.New(rand.NewPCG(1, 0)), func() { f.Close() })
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d blocks not flushed, %d of them lost", cached, lost)
		if err := m.start(false); err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(filepath.Join(m.root, "f"))
		return bytes.Equal(got, want)
	}
	if !cut(false) {
		t.Error("what was synced is lost")
	}
	if cut(true) {
		t.Error("nothing is lost on a disk that ignores flushes")
	}
}
