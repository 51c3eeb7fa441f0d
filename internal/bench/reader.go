package main

import (
	"io"
	"net/http"
	"os"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// reader is the handler to compare with: it reads each body. With a folder it writes the body to a file of its own
// there, syncs that and answers 202; without one it keeps nothing and answers 204.
type reader struct {
	Folder string `json:"folder,omitempty"`
}

func init() {
	caddy.RegisterModule(reader{})
	httpcaddyfile.RegisterHandlerDirective("bench_read",
		func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
			h.Next()
			r := new(reader)
			h.Args(&r.Folder)
			return r, nil
		})
	httpcaddyfile.RegisterDirectiveOrder("bench_read", httpcaddyfile.Before, "respond")
}

// CaddyModule implements caddy.Module.
func (reader) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.bench_read", New: func() caddy.Module { return new(reader) }}
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *reader) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if h.Folder == "" {
		_, err := io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
		return err
	}
	f, err := os.CreateTemp(h.Folder, "body-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := io.Copy(f, r.Body); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
