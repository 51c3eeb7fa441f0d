package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

const (
	// healthzVariable may hold what --url says.
	healthzVariable = "HIREGATE_HEALTHZ"
	exampleHealthz  = "http://localhost:9180/healthz"
	healthzPatience = 5 * time.Second // healthz itself waits 3 s for its parts
)

// Healthcheck is the command healthcheck: it asks a gateway how it is, for images that hold neither a shell nor curl.
func Healthcheck() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "healthcheck [URL]",
		Short: "Asks a gateway whether it can accept exports; the exit code is 0 or 1",
		Long: `Asks the healthz directive of a gateway whether exports can be accepted, and says in a sentence
what it answered. The exit code is 0 when they can, also while they have to wait for Temporal,
else 1. The image's HEALTHCHECK runs it.`,
		Example: "  hiregate healthcheck http://localhost:9180/healthz",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && cmd.Flags().Changed("url") {
				return errors.New("healthcheck takes one address, such as: hiregate healthcheck " + exampleHealthz)
			}
			return nil
		},
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				url = args[0]
			}
			if url == "" {
				url = usualHealthz(cmd.Context())
			}
			said, err := checkHealth(cmd.Context(), url)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), said)
			}
			return err
		},
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	cmd.Flags().StringVar(&url, "url", os.Getenv(healthzVariable),
		"address of the gateway's healthz (or the environment variable "+healthzVariable+"; else port 9180, or 8080)")
	return cmd
}

// usualHealthz returns the address of healthz in the Caddyfiles to start from, or that of hiregate dev where something
// listens only there.
func usualHealthz(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, healthzPatience)
	defer cancel()
	for _, host := range []string{"localhost:9180", "localhost:8080"} {
		if conn, err := new(net.Dialer).DialContext(ctx, "tcp", host); err == nil {
			_ = conn.Close()
			return "http://" + host + "/healthz"
		}
	}
	return exampleHealthz
}

// checkHealth asks a gateway how it is. It returns a sentence, and its errors are sentences, too.
func checkHealth(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthzPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil || r.URL.Host == "" {
		return "", fmt.Errorf("%q is not an address: write one such as %s", url, exampleHealthz)
	}
	at := r.URL.Redacted()
	transport := &http.Transport{} // without the proxy of the environment: the gateway is near
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := terminal.Exchange(client, r)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "", fmt.Errorf("nothing listens at %s: start the gateway, or name its healthz with --url", at)
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("the gateway did not answer at %s within %s: look at its log", at, healthzPatience)
	case err != nil && terminal.SpeaksNoHTTP(err):
		return "", fmt.Errorf("what answers at %s speaks no HTTP: name the gateway's healthz with --url", at)
	case err != nil && terminal.HungUp(err):
		return "", fmt.Errorf("the gateway closed the connection at %s before it had answered: look at its log", at)
	case err != nil:
		return "", fmt.Errorf("asking the gateway at %s: %w", at, terminal.Cause(err))
	}
	defer answer.Body.Close()
	var said struct {
		Status string
		Checks map[string]struct {
			OK     bool
			Reason string
		}
	}
	// Something else than a gateway may answer anything.
	if json.NewDecoder(io.LimitReader(answer.Body, 64<<10)).Decode(&said) != nil || said.Status == "" ||
		said.Checks == nil {
		return "", fmt.Errorf("what answers at %s is not a gateway's healthz (it answered %s): name that with --url", at,
			terminal.StatusText(answer.StatusCode))
	}
	var reasons []string
	for _, check := range said.Checks {
		if !check.OK {
			reasons = append(reasons, terminal.Printable(check.Reason))
		}
	}
	slices.Sort(reasons)
	switch {
	case answer.StatusCode != http.StatusOK:
		return "", fmt.Errorf("the gateway can't accept exports: %s", strings.Join(reasons, "; "))
	case len(reasons) > 0:
		return "The gateway accepts exports: " + strings.Join(reasons, "; "), nil
	}
	return "The gateway is healthy", nil
}
