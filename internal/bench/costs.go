package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/workflows/export"
)

// costs counts what Temporal does for exports that have a workflow each, and for exports in groups of 200. The gateway
// runs on PostgreSQL, because exports are put into its database while it runs.
func (b *bench) costs(body []byte) (err error) {
	if b.postgres == nil {
		if b.postgres, err = storetest.NewServer(); err != nil {
			return err
		}
		defer b.postgres.Close()
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(metrics)
	temporal, stop, err := b.startTemporal("--metrics-port", port)
	if err != nil {
		return err
	}
	defer stop()
	p, at, err := newPartner()
	if err != nil {
		return err
	}
	defer p.Close()
	s, err := b.serve(options{site: gatewaySite, temporal: temporal, partner: at, postgres: true})
	if err != nil {
		return err
	}
	defer s.stop()
	sender, err := dial(s.address, signed(body), 1)
	if err != nil {
		return err
	}
	defer sender.close()
	arrived := func(n int) error { return eventually(time.Minute, func() error { return p.arrived(n) }) }
	one := func(n int) error {
		if err := sender.export("acme", body, 1); err != nil {
			return err
		}
		return arrived(n)
	}
	if err := one(1); err != nil { // Temporal is up, and the integration verified
		return err
	}

	const alone, grouped = 200, 1000
	count := counter{temporal: temporal, metrics: metrics}
	if err := count.during("costs, alone", export.WorkflowName, alone, func() error {
		for n := range alone {
			if err := one(1 + n + 1); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return count.during("costs, in groups of 200", export.GroupWorkflowName, grouped, func() error {
		if err := b.backlogOf(grouped, body); err != nil {
			return err
		}
		return arrived(1 + alone + grouped)
	})
}

// backlogOf puts exports that wait for their workflow into the database that was made last, all at once.
func (b *bench) backlogOf(n int, body []byte) error {
	ctx := context.Background()
	db, err := store.Open(ctx, b.postgres.Address(fmt.Sprint("bench_", b.made)), store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Write(ctx, func(tx *store.Tx) error {
		for at := range n {
			e := inbox.NewExport("acme", fmt.Sprint("waiting-", at), body, time.Now().Add(-5*time.Second))
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// counted is what Temporal did for exports, for each of them.
type counted struct {
	Exports      int     `json:"exports"`
	Workflows    int     `json:"workflows"`
	Events       float64 `json:"eventsPerExport"`       // in histories
	Transitions  float64 `json:"transitionsPerExport"`  // of workflows
	Requests     float64 `json:"requestsPerExport"`     // of the gateway to the frontend
	Transactions float64 `json:"transactionsPerExport"` // that write a workflow to Temporal's database
}

// counter counts what a Temporal server does.
type counter struct{ temporal, metrics string }

// during reports what the server did while run made it deliver so many exports, and until their workflows of a type
// were completed.
func (c counter) during(name, workflow string, exports int, run func() error) error {
	requests, transactions, err := c.operations()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := run(); err != nil {
		return err
	}
	m := counted{Exports: exports}
	if err := eventually(time.Minute, func() error { return c.workflows(workflow, began, &m) }); err != nil {
		return err
	}
	m.Requests, m.Transactions, err = c.operations()
	if err != nil {
		return err
	}
	m.Requests -= requests
	m.Transactions -= transactions
	for _, n := range []*float64{&m.Events, &m.Transitions, &m.Requests, &m.Transactions} {
		*n /= float64(exports)
	}
	return report(name, m)
}

// workflows counts the workflows of a type that began since a time, with their events and transitions. It returns an
// error until all are completed.
func (c counter) workflows(kind string, since time.Time, m *counted) error {
	temporal, err := client.Dial(client.Options{HostPort: c.temporal})
	if err != nil {
		return err
	}
	defer temporal.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	started := fmt.Sprintf("WorkflowType = '%s' AND StartTime >= '%s'", kind, since.UTC().Format(time.RFC3339Nano))
	open, err := temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: started + " AND ExecutionStatus = 'Running'"})
	if err != nil || open.Count > 0 {
		return fmt.Errorf("%d workflows of %s are not completed: %w", open.GetCount(), kind, err)
	}
	m.Workflows, m.Events, m.Transitions = 0, 0, 0
	list, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: started, PageSize: 1000})
	if err != nil {
		return err
	}
	for _, w := range list.Executions {
		m.Workflows++
		m.Events += float64(w.HistoryLength)
		m.Transitions += float64(w.StateTransitionCount)
	}
	return nil
}

// The samples of what the server's frontend was asked for workflows, and of what was written of them.
var (
	request = regexp.MustCompile(`(?m)^service_requests_total\{` +
		`.*operation="(?:StartWorkflowExecution|Respond\w+|RecordActivityTaskHeartbeat|Poll\w+TaskQueue)"` +
		`.*service_name="frontend".*\} (\S+)$`)
	transaction = regexp.MustCompile(
		`(?m)^persistence_requests_total\{.*operation="(?:Create|Update)WorkflowExecution".*\} (\S+)$`)
)

// operations are the requests for workflows to the frontend, and the transactions that wrote them, up to now.
func (c counter) operations() (requests, transactions float64, err error) {
	resp, err := http.Get("http://" + c.metrics + "/metrics")
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, 0, err
	}
	sum := func(samples *regexp.Regexp) (sum float64) {
		for _, found := range samples.FindAllSubmatch(text, -1) {
			n, failed := strconv.ParseFloat(string(found[1]), 64)
			sum, err = sum+n, cmp.Or(err, failed)
		}
		return sum
	}
	requests, transactions = sum(request), sum(transaction)
	return requests, transactions, err
}
