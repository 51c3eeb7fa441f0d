// Package delivery attempts deliveries: through the gates of an integration to one request, and from the answer to what is stored.
// It takes one delivery one step further at a time; who calls it, and when, is not its concern.
package delivery

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Attempter makes the attempts of this process. It serves every configuration of the process, one after the other.
type Attempter struct {
	Store    *store.DB
	Archive  *documents.Archive
	InForce  *config.InForce
	Capacity *Capacity
	Now      func() time.Time
	Log      *zap.Logger

	gates    gates
	unstored unstored
}

// Arrived notes that a workflow waits at no gate any more: it is being delivered.
func (a *Attempter) Arrived(workflow string) { a.gates.arrived(workflow) }

// TurnedAway notes that a workflow waits at the gate of an integration, which calls it in its turn.
func (a *Attempter) TurnedAway(i *model.Integration, w *Waiter) { a.gates.turnedAway(i, w) }

// Queue waits until a delivery of a group is among the next to an integration, over all groups: the deliveries that many
// groups have for one integration are then read from the store shortly before they are sent. It reports false if that
// takes longer than patience, or ctx ends.
func (a *Attempter) Queue(ctx context.Context, i *model.Integration, patience time.Duration) (leave func(), ok bool) {
	return a.gates.queue(ctx, i, patience)
}

// AllStored reports whether no outcome of an attempt waits to be stored.
func (a *Attempter) AllStored() bool { return a.unstored.none() }

// Calls reports whether the gate that keeps a delivery calls it in its turn.
func (s State) Calls() bool { return slices.Contains(calledFrom, s.Class) }

// Closed reports whether what keeps a delivery keeps all those to its integration.
func (s State) Closed() bool { return slices.Contains(closedGates, s.Class) }
