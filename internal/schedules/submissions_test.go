package schedules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/store"
)

// applyHost is the host of the Apply APIs of all tenants' services.
const applyHost = "apply.example"

// applyService is the Apply API that a tenant's applications are relayed to. It knows no Idempotency-Key: what it gets twice, it
// has twice.
type applyService struct {
	status int // that it answers applications with; 0: it breaks the connection off once it has read them
	takes  time.Duration
	token  int // the one that it takes
}

// submitted is an application that a tenant's site sent.
type submitted struct {
	row          *model.Submission
	key          string
	body         []byte
	acknowledged bool
	refused      bool // the site was told so: nothing is kept
	erased       time.Time
	underWay     int
	accepted     int // how often the service has it
}

func upstreamOf(tenant string) *model.ApplyUpstream {
	return &model.ApplyUpstream{URL: "https://" + applyHost + "/" + tenant, User: "u", Password: "p", Wait: 2 * time.Second,
		TryFor: 24 * time.Hour, Keep: model.DefaultKeep, Rate: model.Rate{PerSecond: 100, Burst: 100}}
}

// apply has sites of some tenants send an application each.
func (w *world) apply(n *node, s step) error {
	for i := range 1 + s.b%tenants {
		if err := w.applyFor(n, fmt.Sprint("t", (s.a+i)%tenants)); err != nil {
			return err
		}
	}
	return nil
}

// applyFor has a tenant's site send an application with a file, which is stored as modules/apply does it.
func (w *world) applyFor(n *node, tenant string) error {
	t, ok := n.inForce.Current().Tenant(tenant)
	if !ok {
		return nil
	}
	w.mu.Lock()
	id := fmt.Sprintf("s-%04d", len(w.submitted))
	w.mu.Unlock()
	now, file := time.Now(), document(id)
	name := n.archive.Files.NewName()
	if err := n.db.Write(n.ctx, func(tx *store.Tx) error { return tx.InsertUpload(name, now) }); err != nil {
		return err
	}
	blob, err := n.archive.Files.Put(n.ctx, name, bytes.NewReader(file), 1<<20)
	if err != nil {
		return err
	}
	row := &model.Submission{Key: model.NewID(now), Tenant: tenant, ID: id, Job: "NURSE-1", State: model.SubmissionWaiting,
		ReceivedAt: now, NextAt: now, TryUntil: now.Add(t.ApplyUpstream.TryFor)}
	content := &model.SubmissionContent{Key: "k-" + id, Source: "site", Answers: []model.SubmissionAnswer{
		{Question: "email", Value: id + "@example.com"}, {Question: "eeoc", Value: "no", Compliance: true},
		{Question: "resume", Blob: blob.Name, SHA256: blob.SHA256[:], Size: blob.Size}}}
	whole, err := io.ReadAll(applyclient.Application(row.Job, content.Source, []applyclient.Answer{
		{QuestionID: "email", Value: id + "@example.com"}, {QuestionID: "eeoc", Value: "no"},
		{QuestionID: "resume", File: &applyclient.File{Size: blob.Size, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(file)), nil
		}}}}).Open())
	if err != nil {
		return err
	}
	one := &submitted{row: row, key: tenant + "/" + content.Key, body: whole}
	w.mu.Lock()
	w.submitted = append(w.submitted, one)
	w.mu.Unlock()

	lease, first := n.relay.BeginFirst(n.ctx, tenant)
	if err := n.db.Write(n.ctx, func(tx *store.Tx) error {
		if err := documents.ClaimUpload(tx, name); err != nil {
			return err
		}
		return tx.InsertSubmission(row, content, "", lease)
	}); err != nil {
		return err
	}
	var refused *relay.Attempt
	if first {
		if refused, err = n.relay.First(n.ctx, row, content, lease, nil, t.ApplyUpstream.Wait); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one.refused, one.acknowledged = refused != nil, refused == nil
	return nil
}

// changeService has a service answer otherwise from now on.
func (w *world) changeService(_ *node, s step) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.services[fmt.Sprint("t", s.a%tenants)]
	v.status, v.takes = http.StatusNoContent, 20*time.Millisecond
	switch s.b % 8 {
	case 0, 1:
		v.status = http.StatusServiceUnavailable
	case 2:
		v.status = http.StatusUnauthorized
	case 3:
		v.status = http.StatusBadRequest
	case 4:
		v.status = 0
	case 5, 7:
		v.takes = 15 * time.Second // longer than a site waits, and than a lease lasts
	case 6:
		v.token++
	}
	w.noteLocked("the service of t%d answers %d after %s", s.a%tenants, v.status, v.takes)
	return nil
}

// cutOff kills a node while a service takes an application in.
func (w *world) cutOff(n *node, s step) error {
	tenant := fmt.Sprint("t", s.a%tenants)
	w.mu.Lock()
	v := w.services[tenant]
	v.status, v.takes = http.StatusNoContent, 15*time.Second
	w.mu.Unlock()
	if err := w.applyFor(n, tenant); err != nil {
		return err
	}
	err := w.killNode(n, s)
	w.mu.Lock()
	defer w.mu.Unlock()
	v.takes = 20 * time.Millisecond
	return err
}

// someSubmitted returns a submission that was acknowledged and is not erased, as it stands; nil: there is none.
func (w *world) someSubmitted(n *node, s step) (*submitted, *model.Submission, error) {
	w.mu.Lock()
	var all []*submitted
	for _, one := range w.submitted {
		if one.acknowledged && one.erased.IsZero() {
			all = append(all, one)
		}
	}
	w.mu.Unlock()
	if len(all) == 0 {
		return nil, nil, nil
	}
	one := all[s.a%len(all)]
	row, err := n.db.Submission(n.ctx, one.row.Tenant, one.row.ID)
	return one, row, err
}

func (w *world) resubmit(n *node, s step) error {
	one, row, err := w.someSubmitted(n, s)
	if one == nil || err != nil {
		return err
	}
	return n.db.Write(n.ctx, func(tx *store.Tx) error {
		_, err := tx.RedeliverSubmission(row, time.Now(), time.Now().Add(time.Hour))
		return err
	})
}

func (w *world) eraseSubmitted(n *node, s step) error {
	one, row, err := w.someSubmitted(n, s)
	if one == nil || err != nil {
		return err
	}
	err = n.db.Write(n.ctx, func(tx *store.Tx) error {
		_, err := tx.EraseSubmission(row, time.Now())
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	one.erased = time.Now()
	return err
}

// serve is the way from a node to the Apply APIs.
func (p *partners) serve(r *http.Request) (*http.Response, error) {
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	tenant, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	w := p.w
	w.mu.Lock()
	v, known := w.services[tenant]
	if !known {
		w.mu.Unlock()
		return answer(http.StatusNotFound, "")
	}
	token := fmt.Sprint("token-", v.token)
	w.mu.Unlock()
	if "/"+path == applyclient.SignInPath { // at once: whoever else needs a token waits for a mutex, at which time stands still
		return answer(http.StatusOK, `{"token":"`+token+`"}`)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	status, takes := v.status, v.takes
	if r.Header.Get("Authorization") != "Bearer "+token {
		status = http.StatusUnauthorized
	}
	one := w.arriveLocked(tenant+"/"+r.Header.Get("Idempotency-Key"), body)
	if one == nil {
		w.mu.Unlock()
		return answer(http.StatusNoContent, "")
	}
	if one.underWay++; one.underWay > 1 {
		w.violated("two attempts of %s are under way at once", one.row.ID)
	}
	if status == http.StatusNoContent || status == 0 {
		one.accepted++
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		one.underWay--
	}()
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-p.n.dead:
		return nil, errBrokenOff
	}
	switch status {
	case 0:
		return nil, errBrokenOff
	case http.StatusBadRequest:
		return answer(status, `{"code":400,"message":"no","errors":[{"questionId":"email","messages":["blocked"]}]}`)
	}
	return answer(status, "")
}

// arriveLocked looks at an application that arrives, and returns which it is; nil: nobody sent it.
func (w *world) arriveLocked(key string, body []byte) *submitted {
	for _, one := range w.submitted {
		if one.key != key {
			continue
		}
		switch {
		case !bytes.Equal(body, one.body):
			w.violated("%s: another application goes out than came in", one.row.ID)
		case !one.erased.IsZero() && time.Since(one.erased) > atOnce:
			w.violated("%s goes out %s after it was erased", one.row.ID, time.Since(one.erased))
		case one.refused:
			w.violated("%s goes out after its site was told that it is refused", one.row.ID)
		}
		return one
	}
	w.violated("the application %q arrives, which nobody sent", key)
	return nil
}

// openSubmissions lists the submissions that have no end yet.
func (w *world) openSubmissions(n *node) (left []string, err error) {
	return left, w.eachSubmitted(n, func(one *submitted, row *model.Submission) {
		if row != nil && row.State == model.SubmissionWaiting {
			left = append(left, fmt.Sprintf("%s waits after %d attempts, next %s: %s", row.ID, row.Attempts, row.NextAt, row.Reason))
		}
	})
}

// undeliveredSubmissions counts the submissions that their service does not have: those that say that what is stored of them
// can't be read, and the others.
func (w *world) undeliveredSubmissions(n *node) (others, unreadable int) {
	for _, one := range w.submitted {
		row, err := n.db.Submission(n.ctx, one.row.Tenant, one.row.ID)
		switch {
		case one.accepted > 0:
		case err == nil && strings.Contains(row.Reason, "can't be read"):
			unreadable++
		default:
			others++
		}
	}
	return others, unreadable
}

// compareSubmissions compares what stands in rows with what the services have.
func (w *world) compareSubmissions(n *node) error {
	return w.eachSubmitted(n, func(one *submitted, row *model.Submission) {
		switch {
		case row == nil && one.acknowledged:
			w.violated("%s was acknowledged, and is not there", one.row.ID)
		case row == nil:
		case one.refused:
			w.violated("%s is kept although its site was told that it is refused", row.ID)
		case row.State == model.SubmissionDelivered && one.accepted == 0:
			w.violated("%s is delivered, and the service does not have it", row.ID)
		case one.accepted > 1 && !row.Uncertain:
			w.violated("the service has %s %d times, and that is not noted", row.ID, one.accepted)
		}
	})
}

// eachSubmitted calls do for each application that was sent, with its row; nil: there is none.
func (w *world) eachSubmitted(n *node, do func(*submitted, *model.Submission)) error {
	for _, one := range w.submitted {
		row, err := n.db.Submission(n.ctx, one.row.Tenant, one.row.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		w.mu.Lock()
		do(one, row)
		w.mu.Unlock()
	}
	return nil
}
