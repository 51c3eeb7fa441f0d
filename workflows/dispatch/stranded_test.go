package dispatch_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/workflows/export"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// interrupted is a Temporal that is away until it is back. It notes the groups that it starts.
type interrupted struct {
	groups
	back  atomic.Bool
	asked chan struct{}
}

func newInterrupted() *interrupted {
	o := &interrupted{asked: make(chan struct{}, 10_000)}
	o.groups = groups{started: map[string]export.Input{}, Starter: exporttest.Starter{Start: func(client.StartWorkflowOptions) error {
		o.asked <- struct{}{}
		if !o.back.Load() {
			return serviceerror.NewUnavailable("connection refused")
		}
		return nil
	}}}
	return o
}

// The first member of a group gives it its name, and nothing else: the others go on when it is erased before they are started.
func TestGroupGoesOnWithoutItsFirstMember(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := exporttest.NewFixtureOn(t, address)
		all, ids := b.AcceptMany(12)
		b.Advance(time.Minute)
		temporal := newInterrupted()
		b.Run(temporal, false)
		<-temporal.asked
		require.NoError(t, b.Store.Write(t.Context(), func(tx *store.Tx) error {
			e, left, err := tx.LockRemainder(ids[0])
			if err != nil {
				return err
			}
			return tx.EraseNow(e, left, b.Clock())
		}))
		temporal.back.Store(true)
		b.Advance(time.Minute)
		for _, e := range all[1:] {
			b.Becomes(e, exporttest.Started)
		}
		temporal.mu.Lock()
		defer temporal.mu.Unlock()
		require.Equal(t, ids[1:], temporal.started[model.GroupWorkflowID(all)].Exports)
	})
}

// A group may have members of many tenants. Those whose tenant leaves the configuration leave the group, and wait for their tenant.
func TestMembersOfUnknownTenantsLeaveTheirGroup(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	both := *b.Config
	both.Tenants = map[string]*model.Tenant{"acme": b.Config.Tenants["acme"], "gone": {Name: "gone", Integrations: []model.Integration{{
		Tenant: "gone", Name: "hris", URL: b.Partner.URL + "/inbound", Secret: "s", Verify: true}}}}
	b.InForce.Push(&both)
	var gone, known []*model.Export
	for n := range 6 { // too few of each for a group of its own
		gone = append(gone, b.TakeFor("gone", fmt.Sprint("u-", n), `{}`, func(*model.Export) {}))
		known = append(known, b.Accept(fmt.Sprint("u-", n)))
	}
	b.Advance(time.Minute)
	temporal := newInterrupted()
	b.Run(temporal, false)
	<-temporal.asked
	first := b.Becomes(known[0], func(e *model.Export) bool { return e.Group != 0 })
	require.Equal(t, gone[0].ID, first.Group)
	without := *b.Config
	b.InForce.Push(&without)
	b.Becomes(gone[0], func(e *model.Export) bool { return e.Group == 0 })
	temporal.back.Store(true)
	b.Advance(time.Minute)
	for _, e := range known {
		b.Becomes(e, exporttest.Started)
	}
	for _, e := range gone {
		now, err := b.Store.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.False(t, exporttest.Started(now))
	}
	again := both
	b.InForce.Push(&again)
	b.Advance(2 * time.Minute)
	for _, e := range gone { // in a round of their own: their group may have been started with them
		require.Equal(t, model.WorkflowID("gone", e.Key, 1), b.Becomes(e, exporttest.Started).WorkflowID)
	}
}

// What a node read is old when it comes to it: another node may have made the export a member of a group meanwhile.
func TestExportThatAnotherNodeGroupedIsNotStartedAlone(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	first, grouped := b.Accept("u-1"), b.Accept("u-2")
	b.ClaimAlone(first)
	var alone atomic.Int64
	made := make(chan struct{})
	b.Advance(time.Minute)
	b.Run(exporttest.Starter{Start: func(o client.StartWorkflowOptions) error {
		switch o.ID {
		case model.WorkflowID("acme", "u-2", 0):
			alone.Add(1)
		case model.WorkflowID("acme", "u-1", 0): // the other one was read, and is next
			defer close(made)
			members := []*model.Export{grouped}
			for n := range 8 {
				members = append(members, b.Accept(fmt.Sprint("other-", n)))
			}
			return b.Store.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Group(members, b.Clock())
				return err
			})
		}
		return nil
	}}, false)
	<-made
	b.Advance(time.Minute)
	now := b.Becomes(grouped, exporttest.Started)
	require.True(t, strings.HasPrefix(now.WorkflowID, "exports/acme/"))
	require.Zero(t, alone.Load(), "it was started alone as well")
}

// A start that takes long is not made by another node as well: Temporal that comes back may answer after seconds.
func TestTurnLastsAsLongAsAStart(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	all, _ := b.AcceptMany(12)
	b.Advance(time.Minute)
	var starts atomic.Int64
	asked, slow := make(chan struct{}, 10), make(chan struct{})
	answer := sync.OnceFunc(func() { close(slow) })
	temporal := exporttest.Starter{Start: func(o client.StartWorkflowOptions) error {
		if o.ID == model.GroupWorkflowID(all) {
			starts.Add(1)
			asked <- struct{}{}
			<-slow
		}
		return nil
	}}
	b.Run(temporal, false)
	t.Cleanup(answer)
	<-asked
	other := b.Accept("u-other")
	b.Advance(9 * time.Second)
	b.Run(temporal, false) // another node, whose sweep comes to the group first
	t.Cleanup(answer)
	b.Becomes(other, exporttest.Started)
	answer()
	for _, e := range all {
		b.Becomes(e, exporttest.Started)
	}
	require.EqualValues(t, 1, starts.Load(), "both nodes started it")
}
