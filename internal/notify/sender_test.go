package notify_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/notify"
)

// send has both nodes send at once, and returns what was received then.
func (b *fixture) send() []message {
	b.t.Helper()
	b.mu.Lock()
	b.received = nil
	b.mu.Unlock()
	b.together(func(n *notify.Notifier) error { return n.Send(b.t.Context()) })
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.received
}

// A notification that is not received is sent again with the same id and body, on the schedule of deliveries; one about
// the same integration waits for it, so that they are received in their order.
func TestNotificationsAreSentAgainInTheirOrder(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		b.answer(http.StatusInternalServerError)
		b.attempts(model.ClassPartnerFault, model.ClassPartnerFault, model.ClassPartnerFault)
		b.advance(notify.Lasting)
		first := b.told()
		require.Equal(t, []string{"integration.failing"}, types(first))
		b.attempts("")
		require.Empty(t, b.told(), "it is not due again, and the next one waits for it")
		b.advance(7 * time.Second)
		again := b.send()
		require.Len(t, again, 1)
		require.Equal(t, first[0].id, again[0].id)
		require.Equal(t, first[0].raw, again[0].raw)
		b.answer(http.StatusOK)
		b.advance(40 * time.Second)
		received := append(types(b.send()), types(b.send())...) // one node may be through before the other begins
		require.Equal(t, []string{"integration.failing", "integration.recovered"}, received)
		require.Empty(t, b.send())
	})
}

// A node that dies while it sends keeps the notification from the others for half a minute, not for good.
func TestNotificationsOfANodeThatDied(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		b.attempts(model.ClassPartnerFault, model.ClassPartnerFault, model.ClassPartnerFault)
		b.advance(notify.Lasting)
		require.NoError(t, b.nodes[0].Look(t.Context()))
		claimed, err := b.nodes[0].Claim(t.Context())
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		require.Empty(t, b.send(), "it is being sent")
		b.advance(notify.Lease)
		all := b.send()
		require.Len(t, all, 1)
		require.Equal(t, claimed[0].Message, all[0].id)
	})
}

// What nobody received for a day is given up; so is what was for a subscriber that is not configured any more.
func TestNotificationsEndAfterADay(t *testing.T) {
	t.Parallel()
	each(t, func(b *fixture) {
		b.answer(http.StatusBadGateway)
		b.accept("u-1", true)
		b.advance(time.Minute)
		require.Len(t, b.told(), 1)
		attempts := 1
		for range 23 {
			b.advance(time.Hour + 13*time.Minute)
			if b.clock().Sub(noon) < 24*time.Hour {
				attempts += len(b.send())
			}
		}
		require.Greater(t, attempts, 15)
		waiting, _, expired, err := b.db.CountNotifications(t.Context(), b.clock())
		require.NoError(t, err)
		require.Equal(t, []int64{1, 1}, []int64{waiting, expired})
		b.answer(http.StatusOK)
		require.Empty(t, b.told())
		waiting, _, _, err = b.db.CountNotifications(t.Context(), b.clock())
		require.NoError(t, err)
		require.Zero(t, waiting)
	})
}
