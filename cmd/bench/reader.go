package main

import (
	"io"
	"net/http"
	"os"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// reader is the handler bench_read, which acknowledgements are compared with: it writes each body to a file of its own
// in the folder, syncs that and answers 202.
type reader struct {
	Folder string `json:"folder"`
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
