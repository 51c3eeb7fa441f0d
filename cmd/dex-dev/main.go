// Command dex-dev is dex, the OpenID provider, for tests: it knows ada@example.com, whose password is correct horse, and
// applications, each an argument such as acme=https://app.acme.example/callback, whose secret is in SECRET. DELETE
// /people/ADDRESS removes somebody, as dex's API does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/dexidp/dex/api"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	issuer := flag.String("issuer", "http://127.0.0.1:5556", "its `address`")
	web := flag.String("web", "", "`folder` web of dex")
	flag.Parse()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // a test that is killed leaves no server
	if err := run(*issuer, *web, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "dex-dev:", err)
		os.Exit(1)
	}
}

func run(issuer, web string, applications []string) error {
	log := logrus.New()
	people := memory.New(log)
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.DefaultCost)
	if err != nil {
		return err
	}
	if err := people.CreatePassword(storage.Password{Email: "ada@example.com", Hash: hash, Username: "ada", UserID: "1"}); err != nil {
		return err
	}
	for _, application := range applications {
		id, callback, _ := strings.Cut(application, "=")
		if err := people.CreateClient(storage.Client{ID: id, Name: id, Secret: os.Getenv("SECRET"),
			RedirectURIs: []string{callback}}); err != nil {
			return err
		}
	}
	if err := people.CreateConnector(storage.Connector{ID: server.LocalConnector, Type: server.LocalConnector,
		Name: "Email"}); err != nil {
		return err
	}
	dex, err := server.NewServer(context.Background(), server.Config{Issuer: issuer, Storage: people, SkipApprovalScreen: true,
		Web: server.WebConfig{Dir: web}, Logger: log, PrometheusRegistry: prometheus.NewRegistry()})
	if err != nil {
		return err
	}
	at, err := url.Parse(issuer)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", dex)
	mux.HandleFunc("DELETE /people/{address}", func(w http.ResponseWriter, r *http.Request) {
		answer, err := server.NewAPI(people, log).DeletePassword(r.Context(), &api.DeletePasswordReq{Email: r.PathValue("address")})
		if err != nil || answer.NotFound {
			http.Error(w, "nobody is removed", http.StatusNotFound)
		}
	})
	return http.ListenAndServe(at.Host, mux)
}
