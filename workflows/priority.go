package workflows

import "go.temporal.io/sdk/temporal"

// Urgency orders work that waits in Temporal's queues; smaller is sooner. Temporal's default is 3.
type Urgency int

// What is triggered here has somebody who waits for it. A redelivery may be one of thousands.
const (
	Triggered   Urgency = 2
	Received    Urgency = 3
	Redelivered Urgency = 4
)

// PriorityOf is the priority of a workflow for a tenant, and of its activities, which inherit it: tenants whose work
// waits take turns. An empty name stands for several tenants. A server without priorities or fairness ignores it.
func PriorityOf(tenant string, u Urgency) temporal.Priority {
	return temporal.Priority{PriorityKey: int(u), FairnessKey: tenant}
}
