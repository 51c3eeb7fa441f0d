package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// configName is the file of the gateway's configuration, which each start writes into the folder of the data.
const configName = "dev.Caddyfile"

// leftovers lists patterns of the files that earlier runs leave in the folder of the data, except the locks.
var leftovers = []string{"hiregate.db*", "documents", "temporal.db*", "temporal-cli.db*", "caddy", "signin.key",
	logName + "*"}

// reset removes what earlier runs left in the folder of the data. What else is there stays, and so does all of a folder
// in which no hiregate dev ran: the folder may be another one than was meant.
func reset(dir string) error {
	config := filepath.Join(dir, configName)
	if _, err := os.Stat(config); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, pattern := range leftovers {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return fmt.Errorf("resetting %s: %w", dir, err)
		}
		for _, name := range found {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("--reset could not remove %s: %w", filepath.Join(dir, name), terminal.Cause(err))
			}
		}
	}
	// Last: until then another --reset goes on where this one ended.
	if err := os.Remove(config); err != nil {
		return fmt.Errorf("--reset could not remove %s: %w", config, terminal.Cause(err))
	}
	return nil
}
