package dev

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/send"
)

// act is a part of what --break shows.
type act struct {
	directions string // for the sample partner: see hiregate listen --lifeline
	says       string
	page       string // of the console
}

var acts = []act{
	{"503 0s", "The sample partner fails: it answers 503. What comes is accepted, and waits", ""},
	{"200 3s", "The sample partner is slow: it answers after 3 s. What waited is delivered",
		"/tenants/acme/integrations/hris"},
	{"200 0s", "The sample partner is well again", "/exports?tenant=acme"},
}

// settleTimeout limits the wait for the last exports that --break sends.
const settleTimeout = 2 * time.Minute

// play sends an export a second while the sample partner fails, is slow and heals, and then says how many of them were
// delivered.
func (f *flags) play(ctx context.Context, partner *child, console *console) {
	out := console.lines("break", 33)
	out.show()
	began := time.Now()
	service := send.Command()
	service.SetArgs([]string{fmt.Sprintf("http://%s/hooks/acme", loopback(f.http)), "--secret", "acme-signing-secret",
		"--rate", "1/s", "--count", strconv.Itoa(len(acts) * int(f.breaks/time.Second))})
	service.SetOut(io.Discard)
	service.SetErr(io.Discard)
	sent := make(chan error, 1)
	go func() { sent <- service.ExecuteContext(ctx) }()
	for _, a := range acts {
		fmt.Fprintf(out, "%s: %s\n", a.says, f.consoleURL()+a.page)
		fmt.Fprintln(partner.stdin, a.directions) // if it has ended, the crew says so
		select {
		case <-ctx.Done():
			<-sent
			return
		case <-time.After(f.breaks):
		}
	}
	if err := <-sent; err != nil && ctx.Err() == nil {
		fmt.Fprintf(out, "Not all exports were accepted: %v\n", err)
		return
	}
	counts, err := f.settled(ctx, began)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		fmt.Fprintf(out, "The exports can't be counted: %v\n", err)
	default:
		fmt.Fprintf(out, "It is over. Of %d exports that came meanwhile, %d are delivered: %s\n", counts.All.Count,
			counts.Delivered.Count, f.consoleURL()+"/exports?tenant=acme")
	}
}

// settled counts the exports of acme since a time, once all of them are delivered, or after settleTimeout.
func (f *flags) settled(ctx context.Context, since time.Time) (counts api.ExportCounts, err error) {
	client := &admin.Client{Address: loopback(f.admin), Named: true}
	query := url.Values{"since": {since.UTC().Format(time.RFC3339Nano)}}
	for deadline := time.Now().Add(settleTimeout); ; {
		err = client.Call(ctx, http.MethodGet, "/v1/tenants/acme/export-counts?"+query.Encode(), nil, &counts)
		if err != nil || counts.Undelivered.Count == 0 || time.Now().After(deadline) {
			return counts, err
		}
		select {
		case <-ctx.Done():
			return counts, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
