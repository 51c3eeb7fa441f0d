package documents

import (
	"context"
	"errors"
	"os"
)

// nowhere is the medium of a gateway that has no documents.
type nowhere struct{}

var errNowhere = errors.New("this gateway has no documents: ask one that has, or add the option documents")

func (nowhere) prepare() error                                         { return errNowhere }
func (nowhere) create(string) (draft, error)                           { return nil, errNowhere }
func (nowhere) open(string) (opened, int64, error)                     { return nil, 0, errNowhere }
func (nowhere) list(context.Context, string) (map[string]int64, error) { return nil, errNowhere }
func (nowhere) remove(string) error                                    { return errNowhere }
func (nowhere) check() error                                           { return errNowhere }
func (nowhere) free() (int64, error)                                   { return 0, errors.ErrUnsupported }
func (nowhere) temporaryFolder() string                                { return os.TempDir() }
