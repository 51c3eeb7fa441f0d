package apply

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	"golang.org/x/text/unicode/norm"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/relay"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// relayed is the backend of a tenant whose applications are relayed to a service: its jobs are there.
type relayed struct {
	api      *API
	tenant   string
	r        *http.Request
	upstream *model.ApplyUpstream
}

// formPatience is how long a form waits for what the service says beside the questions, if it was never asked.
const formPatience = 2 * time.Second

// relayedFiles is how many files a job of a service may ask for: it is not known before the body is read.
const relayedFiles = 10

var (
	errServiceAway = problem.New(http.StatusServiceUnavailable,
		"the service that has the jobs is away, and what this one asks is not known: send the same again later").
		RetryAfter(30 * time.Second)
	errRelayLoop = problem.New(http.StatusBadRequest,
		"this came through this gateway before: have apply_upstream lead to the service, not back here")
	errDiscarded = problem.New(http.StatusConflict,
		"the application with this Idempotency-Key is being taken in: send it again in a moment").RetryAfter(time.Second)
)

func (b *relayed) asked(code string) (relay.Asked, error) {
	if code == "" || !utf8.ValidString(code) || strings.ContainsRune(code, 0) {
		return relay.Asked{}, nil
	}
	passed := relay.Passed(b.r.Header)
	if b.relay().Loops(b.tenant, passed) {
		return relay.Asked{}, errRelayLoop
	}
	asked, err := b.relay().Questions(b.r.Context(), b.tenant, b.upstream, code, passed)
	if errors.Is(err, relay.ErrAway) {
		err = errServiceAway
	}
	return asked, err
}

func (b *relayed) relay() *relay.Relay { return b.api.Gateway.Runtime.Relay }

func (b *relayed) questions(w http.ResponseWriter, code string) ([]model.Question, error) {
	asked, err := b.asked(code)
	if err == nil && asked.Questions == nil {
		err = errNoJob
	}
	if seconds := int(asked.Age / time.Second); err == nil && seconds > 0 {
		w.Header().Set("Age", strconv.Itoa(seconds))
	}
	return asked.Questions, err
}

func (b *relayed) openJob(code string) (*model.Job, error) {
	asked, err := b.asked(code)
	if err != nil || asked.Questions == nil {
		return nil, err
	}
	title, err := b.relay().Title(b.r.Context(), b.tenant, b.upstream, code, formPatience)
	return &model.Job{Row: model.Row{Tenant: b.tenant}, BoardCode: code, Title: title, Questions: asked.Questions}, err
}

// sheet implements backend. A question of a format that is not known passes: the service judges its answer.
func (b *relayed) sheet(code string) (*sheet, error) {
	asked, err := b.asked(code)
	if err != nil || asked.Questions == nil {
		return nil, err
	}
	checked := slices.Clone(asked.Questions)
	for n, q := range checked {
		if !slices.Contains(model.Formats, q.Format) {
			checked[n] = model.Question{ID: q.ID, Format: model.Textarea, Label: q.Label, Options: q.Options, Group: q.Group}
		}
	}
	schema, err := schemas.NewAnswers(checked)
	if err != nil {
		return nil, err
	}
	return &sheet{job: &model.Job{Row: model.Row{Tenant: b.tenant}, BoardCode: code}, schema: schema}, nil
}

// notice implements backend: the text is the service's, where it has one.
func (b *relayed) notice(group string) (model.ComplianceNotice, bool) {
	n, err := b.relay().Notice(b.r.Context(), b.tenant, b.upstream, group, formPatience)
	if err != nil {
		b.api.Log.Warn("the text of a compliance group can't be read; this gateway's is shown", zap.Error(err))
	}
	if n == nil {
		return ownNotice(group)
	}
	return *n, true
}

func (b *relayed) maxFiles() (int, error) { return relayedFiles, nil }

// repeated implements backend. The first attempt may still be under way on another node: what was acknowledged here is
// not discarded there. What is no submission was taken here before the tenant was relayed, unless its key is gone: then the
// service refused it.
func (b *relayed) repeated(key *store.Once, id string) error {
	kept := false
	err := b.api.db().Write(b.r.Context(), func(tx *store.Tx) (err error) {
		kept, err = tx.AcknowledgeSubmission(b.tenant, id)
		return err
	})
	if err != nil || kept {
		return err
	}
	before, err := b.api.db().Known(b.r.Context(), key, b.api.Gateway.Now())
	if err == nil && before != id {
		err = errDiscarded
	}
	return err
}

// store implements backend. After the submission is stored, the first attempt is made, and its answer is that of the
// service, unless that takes too long.
func (b *relayed) store(s *receivedAnswers, sheet *sheet) error {
	g := s.api.Gateway
	content := b.content(s, sheet)
	title, err := b.relay().Title(s.r.Context(), b.tenant, b.upstream, sheet.job.BoardCode, 0)
	if err != nil {
		return err
	}
	submission := &model.Submission{Key: model.NewID(s.began), Tenant: b.tenant, ID: s.id, Job: sheet.job.BoardCode, Title: title,
		State: model.SubmissionWaiting, ReceivedAt: s.began, NextAt: s.began, TryUntil: s.began.Add(b.upstream.TryFor)}
	if s.refused != "" { // nobody knows whether a person sent it
		submission.State, submission.Reason = model.SubmissionSuspected, s.refused
		submission.EndedAt, submission.NextAt = s.began, time.Time{}
	}
	var lease store.SubmissionLease
	first := false
	if submission.State == model.SubmissionWaiting {
		lease, first = b.relay().BeginFirst(s.r.Context(), b.tenant)
	}
	defer func() {
		if first {
			b.relay().EndFirst(b.tenant)
		}
	}()
	email := ""
	if len(sheet.candidate.Email) > 0 {
		email = sheet.candidate.Email[0]
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.r.Context()), patience)
	defer cancel()
	var before string
	err = g.Runtime.Store().WriteOrdered(ctx, b.tenant, func(tx *store.Tx) error {
		if !s.form {
			valid, err := tx.LockAPIToken(s.caller.token, s.began)
			if err == nil && !valid {
				err = errBadToken
			}
			if err != nil {
				return err
			}
		}
		if s.key != nil {
			var err error
			if before, err = tx.Do(s.key, s.id, s.began); err != nil || before != "" {
				return err
			}
		}
		for _, name := range s.uploads {
			if err := documents.ClaimUpload(tx, name); err != nil {
				return err
			}
		}
		return tx.InsertSubmission(submission, content, email, lease)
	})
	if err == nil && before != "" {
		err = b.repeated(s.key, before)
	}
	if err != nil || before != "" {
		return s.repeat(before, err)
	}
	if !first {
		return nil
	}
	first = false
	s.checked() // tenants share the places, and the service may take long
	refused, err := b.relay().First(s.r.Context(), submission, content, lease, s.key, b.upstream.Wait)
	if err != nil || refused == nil {
		return err
	}
	s.uploads = nil // they were left to the sweep
	s.log.Info("the service refused an application", zap.String("tenant", b.tenant), zap.Int("status", refused.Status))
	return refusal(refused)
}

// maxMessage is how much of a service's sentence is passed on, in bytes.
const maxMessage = 1000

// refusal passes the refusal of a service on.
func refusal(of *relay.Attempt) error {
	message := *of.Refusal.Message
	for len(message) > maxMessage {
		_, last := utf8.DecodeLastRuneInString(message)
		message = message[:len(message)-last]
	}
	p := problem.New(of.Status, message)
	if of.Refusal.Errors != nil {
		p.Findings = of.Refusal.Errors
	}
	return serviceRefusal{p}
}

// serviceRefusal is the refusal of a service, which is passed on.
type serviceRefusal struct{ *problem.Problem }

func (r serviceRefusal) Unwrap() error { return r.Problem }

// content returns what is sent to the service: the answers in the order in which they came, their texts composed.
func (b *relayed) content(s *receivedAnswers, sheet *sheet) *model.SubmissionContent {
	c := &model.SubmissionContent{Key: "hiregate-" + s.id, Source: s.body.source, Passed: relay.Passed(s.r.Header)}
	if strings.TrimSpace(c.Source) == "" {
		c.Source = b.upstream.Source
	}
	for n := range s.body.answers {
		given := &s.body.answers[n]
		q, asked := sheet.schema.Question(given.questionID)
		if !asked || given.blank {
			continue
		}
		a := model.SubmissionAnswer{Question: q.ID, Value: given.text, Compliance: q.Group != nil}
		if len(q.Options) == 0 { // an option is sent as it is offered
			a.Value = norm.NFC.String(a.Value)
		}
		if given.file != nil {
			a.Value, a.Blob, a.SHA256, a.Size = "", given.file.Name, given.file.SHA256[:], given.file.Size
		}
		c.Answers = append(c.Answers, a)
	}
	return c
}
