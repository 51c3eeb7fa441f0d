package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI serves the UI at its address. The UI itself answers to any host name, and asks nobody who they are: a web
// page whose name resolves to 127.0.0.1 (DNS rebinding) could end every workflow. So it listens at an address that
// nobody can guess, and what stands in front of it answers to loopback names alone.
func startUI(o options) (stop func(), err error) {
	hidden, err := hiddenAddress()
	if err != nil {
		return nil, err
	}
	front, err := net.Listen("tcp", o.ui())
	if err != nil {
		return nil, fmt.Errorf("listen for the UI: %w", err)
	}
	ui := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                hidden.IP.String(),
		Port:                hidden.Port,
		TemporalGRPCAddress: o.frontend(),
		EnableUI:            true,
		DefaultNamespace:    o.namespaces[0],
		CORS:                uiconfig.CORS{CookieInsecure: true},
		DisableNewsFetch:    true,
		HideLogs:            true,
	}))
	go ui.Start() //nolint:errcheck // it exits the process by itself when it can't listen
	server := &http.Server{Handler: loopbackOnly(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: hidden.String()})
			r.Out.Host = r.In.Host
		},
		ErrorLog: log.New(io.Discard, "", 0), // until the UI listens, a moment after this does
	})}
	go server.Serve(front) //nolint:errcheck // it ends with Close
	return func() { server.Close(); ui.Stop() }, nil
}

// hiddenAddress is a free port at a random address of 127.0.0.0/8; of 127.0.0.1 where the system has no other.
func hiddenAddress() (*net.TCPAddr, error) {
	ip := net.IPv4(127, 0, 0, 0).To4()
	_, _ = rand.Read(ip[1:]) // never fails
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("find a free loopback port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr), nil
}

// loopbackOnly refuses a request whose Host names anything but this machine's loopback.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackName((&url.URL{Host: r.Host}).Hostname()) {
			http.Error(w, "temporal-dev answers to loopback names only: open http://localhost:"+strconv.Itoa(portOf(r))+"/",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackName reports whether a host name is one that no resolver outside this machine can claim.
func loopbackName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func portOf(r *http.Request) int {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
