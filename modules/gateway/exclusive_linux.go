package gateway

import (
	"io"
	"net"
)

// exclusive holds a name that one process of the machine can have at a time, until it ends. An abstract socket belongs
// to a network namespace, as ports do, and goes with its process.
func exclusive(name string) (io.Closer, error) { return net.Listen("unix", "@"+name) }
