package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hiregate/hiregate/internal/model"
)

var (
	notifications = collected(prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hiregate_notifications_total", Help: "Attempts at notifications by event and result: sent, retried; " +
			"and failed: given up after a day.",
	}, []string{"event", "result"}))
	notificationsWaiting = collected(prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "hiregate_notifications_waiting", Help: "Notifications that were not received yet.",
	}))
)

// Notifications counts notifications of an event by a result.
func Notifications(event model.Event, result string, n int) {
	notifications.WithLabelValues(string(event), result).Add(float64(n))
}

// NotificationsWaiting sets how many notifications were not received yet.
func NotificationsWaiting(n int64) { notificationsWaiting.Set(float64(n)) }
