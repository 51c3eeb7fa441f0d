package scan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Clamd is the address of a clamd that listens on TCP. It is asked with INSTREAM (clamd(8), "COMMANDS").
type Clamd string

const chunk = 64 << 10

// Scan implements Scanner.
func (c Clamd) Scan(ctx context.Context, content io.Reader) (found string, err error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", string(c))
	if err != nil {
		return "", fmt.Errorf("clamd does not answer: start it with TCPSocket in its configuration, or "+
			"correct its address: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// clamd answers before the end when it has had enough, and hangs up: what it said counts more than that it hung up.
	sent := c.send(conn, content)
	if readFault := new(contentError); errors.As(sent, &readFault) {
		return "", readFault.error
	}
	said, err := io.ReadAll(io.LimitReader(conn, chunk))
	if err != nil && len(said) == 0 {
		return "", fmt.Errorf("asking clamd: %w", errors.Join(ctx.Err(), sent, err))
	}
	return verdict(strings.TrimRight(string(said), "\x00\n"))
}

// contentError is a failure of the content, not of clamd.
type contentError struct{ error }

// send writes the command and the content: pieces, each behind its length, the last of length 0.
func (c Clamd) send(conn net.Conn, content io.Reader) error {
	if _, err := io.WriteString(conn, "zINSTREAM\x00"); err != nil {
		return err
	}
	piece := make([]byte, 4+chunk)
	for {
		n, err := io.ReadFull(content, piece[4:])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return &contentError{fmt.Errorf("reading the content: %w", err)}
		}
		ended := err != nil
		if n > 0 {
			binary.BigEndian.PutUint32(piece, uint32(n))
			if _, err := conn.Write(piece[:4+n]); err != nil {
				return err
			}
		}
		if ended {
			_, err := conn.Write([]byte{0, 0, 0, 0})
			return err
		}
	}
}

// verdict reads an answer: "stream: OK", "stream: NAME FOUND", or an error.
func verdict(said string) (found string, err error) {
	answer, ok := strings.CutPrefix(said, "stream: ")
	if name, harmful := strings.CutSuffix(answer, " FOUND"); ok && harmful {
		return finding(name), nil
	}
	switch {
	case answer == "OK" && ok:
		return "", nil
	case strings.Contains(said, "size limit exceeded"):
		return "", errors.New("clamd takes no document of this size: set StreamMaxLength and MaxFileSize in its " +
			"configuration to 25M at least")
	}
	return "", fmt.Errorf("clamd could not tell: it answered %q", finding(said))
}
