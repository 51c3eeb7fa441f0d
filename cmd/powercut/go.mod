module github.com/hiregate/hiregate/cmd/powercut

go 1.26.0

require github.com/hanwen/go-fuse/v2 v2.12.1 // serves the disk: its writes come to us, and so do its flushes

require golang.org/x/sys v0.49.0 // indirect
