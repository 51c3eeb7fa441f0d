package notify

import (
	"context"

	"github.com/hiregate/hiregate/internal/model"
)

// Lease is for how long no other node sends what one is sending.
const Lease = lease

// Claim begins to send what is due, and stops there, as a process does that is killed.
func (n *Notifier) Claim(ctx context.Context) ([]*model.Notification, error) {
	c := n.InForce.Current()
	due, err := n.Store.DueNotifications(ctx, []string{c.Subscribers[0].ID()}, n.Now(), atOnce)
	if err != nil {
		return nil, err
	}
	return n.claim(ctx, due)
}
