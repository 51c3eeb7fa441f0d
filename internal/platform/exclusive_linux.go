package platform

import (
	"io"
	"net"
)

// Exclusive holds a name that one process of the machine can have at a time, until it ends. It fails if another process
// has the name. An abstract socket belongs to a network namespace, as ports do, and goes with its process.
func Exclusive(name string) (io.Closer, error) { return net.Listen("unix", "@"+name) }
