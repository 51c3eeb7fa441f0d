package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/mark"
)

const (
	// markWithin is how long a start waits for Temporal's answer.
	markWithin = 3 * time.Second
	// TakeOverAny as take_over takes a namespace over from whatever database marked it, at the start.
	TakeOverAny = "any"
)

// barrier fails calls to Temporal while it is not known that the namespace is this database's.
type barrier struct{ reason atomic.Pointer[TemporalFault] } // nil: calls go through

var errUnchecked = &TemporalFault{workflows.NotAskedYet, errors.New("the mark was not read")}

// said is why calls fail though Temporal answers, a sentence; empty: they don't.
func (b *barrier) said() string {
	if fault := b.reason.Load(); fault != nil && fault != errUnchecked {
		return fault.Reason
	}
	return ""
}

// passing are the calls that a barrier lets through, by how their names begin: what describes the server, and what ends
// activities that are under way.
var passing = []string{"Check", "GetSystemInfo", "GetClusterInfo", "DescribeNamespace", "Respond", "Record",
	"ShutdownWorker"}

// unbarred is the key of contexts whose calls a barrier lets through.
type unbarred struct{}

// intercept is a grpc.UnaryClientInterceptor.
func (b *barrier) intercept(ctx context.Context, method string, req, reply any, c *grpc.ClientConn,
	invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	if fault := b.reason.Load(); fault != nil && ctx.Value(unbarred{}) == nil {
		name := method[strings.LastIndex(method, "/")+1:]
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if !slices.ContainsFunc(passing, begins) {
			return status.Error(codes.FailedPrecondition, fault.Reason) // the client does not repeat it
		}
	}
	return invoke(ctx, method, req, reply, c, o...)
}

// foreign is the fault of a namespace that another database marked.
func (r *Runtime) foreign(m mark.Mark) *TemporalFault {
	by := ""
	if m.Gateway != "" {
		by = " of " + m.Gateway
	}
	return &TemporalFault{fmt.Sprintf("namespace %s of Temporal belongs to another database, with the id %s, whose gateway%s "+
		"marked it at %s: give this gateway a namespace of its own, with the option namespace of temporal; or, if its "+
		"database takes the place of that one, which no gateway uses any more, write `take_over %s` there",
		r.Settings.Namespace, m.Database, by, m.SetAt.UTC().Format("2006-01-02 15:04 MST"), m.Database), errForeign}
}

var errForeign = errors.New("the namespace belongs to another database")

// claimNamespace finds out whether the namespace is this database's, and marks it if nobody did. From then on calls go
// through; they don't when it is another's. The error is a *TemporalFault; if Temporal did not answer, nothing changes. c
// is the configuration that may take the namespace over; starting says that it may do so from whatever database.
func (r *Runtime) claimNamespace(ctx context.Context, c *config.Config, starting bool) error {
	id, err := r.Store().ID(ctx)
	if err != nil {
		return &TemporalFault{"the id of the database can't be read, by which it is known whose namespace it is", err}
	}
	ctx = context.WithValue(ctx, unbarred{}, true)
	own := mark.Mark{Database: id, SetAt: r.now().UTC().Truncate(time.Second)}
	takeOver := ""
	if c != nil {
		own.Gateway, takeOver = c.PublicURL, c.TakeOver
	}
	for {
		m, err := mark.Read(ctx, r.client, r.Settings.Namespace)
		over := takeOver == m.Database || takeOver == TakeOverAny && starting
		switch {
		case errors.Is(err, mark.ErrNone):
			err = mark.Set(ctx, r.client, own, false)
			if errors.Is(err, mark.ErrTaken) {
				continue
			}
		case err != nil, m.Database == id:
		case over:
			if err = mark.Set(ctx, r.client, own, true); err == nil {
				r.tookOver(ctx, m)
			}
		default:
			fault := r.foreign(m)
			r.barrier.reason.Store(fault)
			metrics.NamespaceForeign(true)
			return fault
		}
		if err != nil {
			return temporalFault(err, r.Settings.Namespace)
		}
		r.barrier.reason.Store(nil)
		metrics.NamespaceForeign(false)
		return nil
	}
}

// tookOver logs that the namespace was taken over, and writes it into the audit.
func (r *Runtime) tookOver(ctx context.Context, from mark.Mark) {
	r.log.Warn("the namespace of Temporal was taken over from another database, as take_over says",
		zap.String("namespace", r.Settings.Namespace), zap.String("from", from.Database))
	err := r.Store().Write(ctx, func(tx *store.Tx) error {
		return tx.InsertAudit(model.AuditEntry{At: r.now(), Author: model.Author{Actor: "configuration"},
			Action: "take-over", Object: "namespaces/" + r.Settings.Namespace})
	})
	if err != nil {
		r.log.Error("the takeover of the namespace could not be written into the audit", zap.Error(err))
	}
}

// refuseForeign returns an error when the namespace is known to be another database's. While Temporal is away it is nil:
// the workers look before they start.
func (r *Runtime) refuseForeign(ctx context.Context, c *config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, markWithin)
	defer cancel()
	if !r.reachable(ctx) {
		return nil
	}
	err := r.claimNamespace(ctx, c, true)
	if fault := new(TemporalFault); errors.As(err, &fault) && errors.Is(fault, errForeign) {
		return errors.New(fault.Reason)
	}
	return nil
}

// Namespace asks Temporal for the namespace, and whose it is, without marking it. The error is a *TemporalFault; it is
// nil as well while Temporal is away.
func (r *Runtime) Namespace(ctx context.Context, c *config.Config) error {
	if r.Settings.SignInAlone() || !r.reachable(ctx) {
		return nil
	}
	err := describeNamespace(ctx, r.client, r.Settings.Namespace)
	if err == nil {
		return r.peekMark(ctx, c)
	}
	if fault := new(TemporalFault); errors.As(err, &fault) && fault.Reason == noAnswer {
		return nil
	}
	return err
}

// peekMark returns a *TemporalFault when the namespace is known to be another database's. The database is not opened.
func (r *Runtime) peekMark(ctx context.Context, c *config.Config) error {
	m, err := mark.Read(context.WithValue(ctx, unbarred{}, true), r.client, r.Settings.Namespace)
	if err != nil || c.TakeOver == m.Database || c.TakeOver == TakeOverAny {
		return nil
	}
	if id, err := store.PeekID(ctx, r.database.Address); err != nil || id == m.Database {
		return nil
	}
	return r.foreign(m)
}
