package metrics

import (
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// How each integration does, by the database; breakers are those of this node.
var (
	waitingDeliveries = collected(newStanding("hiregate_waiting_deliveries",
		"Exports that are not delivered yet to an integration, whatever they wait for.", "tenant", "integration"))
	oldestWaiting = collected(newStanding("hiregate_oldest_waiting_delivery_seconds",
		"For how long the oldest of hiregate_waiting_deliveries waits, since it came or was redelivered; 0: none does. "+
			"state is that of its integration.", "tenant", "integration", "state"))
	lastDelivery = collected(newStanding("hiregate_last_delivery_timestamp_seconds",
		"When an integration received an export last, in Unix time. Absent: never.", "tenant", "integration"))
	integrationState = collected(newStanding("hiregate_integration_state",
		"How many integrations with these labels are in a state: configured, unproven (nothing was delivered to it yet), "+
			"refusing (it refuses what it gets for its data), failing (its last attempts failed), not_configured, disabled.",
		"tenant", "integration", "state"))
	overdueDeliveries = collected(newStanding("hiregate_overdue_deliveries",
		"Of hiregate_waiting_deliveries those whose next step should have happened a minute ago; 0 while this node's breaker "+
			"keeps them.", "tenant", "integration"))
	failedDeliveries = collected(newStanding("hiregate_failed_deliveries",
		"Deliveries that were given up in the last 12 hours and not redelivered since, by class: partner_fault, data_fault, "+
			"our_fault, expired.", "tenant", "integration", "class"))
	breakerOpen = collected(newStanding("hiregate_breaker_open",
		"1 while no attempts are made at an integration on this node, since the last ones failed, else 0.",
		"tenant", "integration"))
	certificateEnd = collected(newStanding("hiregate_client_certificate_end_timestamp_seconds",
		"When the certificate ends that is shown to an integration, in Unix time. Absent: there is none.",
		"tenant", "integration"))
)

// Integration has the gauges of an integration.
type Integration struct {
	State          string
	Waiting        int64
	Oldest         time.Duration         // for how long the oldest of these waits
	Overdue        int64                 // of these; see model.NeedOverdue
	Failed         map[model.Class]int64 // in the last 12 hours
	LastDelivery   time.Time             // zero: there was none
	BreakerOpen    bool
	CertificateEnd time.Time // of the one that is shown to it; zero: there is none
}

// Integrations sets how all integrations do, each in one of the states. Of those that share labels, counts are added up,
// and of the rest the worst is shown.
func Integrations(all map[model.Place]Integration, states []string) {
	count, oldest, last, state, open := standings{}, standings{}, standings{}, standings{}, standings{}
	end, overdue, failed := standings{}, standings{}, standings{}
	labelsOf := labelsOf(all)
	for at, one := range all {
		labels := labelsOf(at)
		count[labels] += float64(one.Waiting)
		overdue[labels] += float64(one.Overdue)
		open[labels] = max(open[labels], number(one.BreakerOpen))
		last.earliest(labels, one.LastDelivery)
		end.earliest(labels, one.CertificateEnd)
		for _, name := range states {
			labels[2] = name
			state[labels] += number(one.State == name)
		}
		for _, class := range givenUp {
			labels[2] = string(class)
			failed[labels] += float64(one.Failed[class])
		}
		labels[2] = one.State
		oldest[labels] = max(oldest[labels], one.Oldest.Seconds())
	}
	waitingDeliveries.set(count)
	overdueDeliveries.set(overdue)
	failedDeliveries.set(failed)
	oldestWaiting.set(oldest)
	lastDelivery.set(last)
	integrationState.set(state)
	breakerOpen.set(open)
	certificateEnd.set(end)
}

// givenUp are the classes of deliveries that were given up.
var givenUp = append(slices.Clone(model.Faults), model.ClassExpired)

// earliest sets the earliest of several times, in Unix time; a zero one is none.
func (s standings) earliest(labels [3]string, at time.Time) {
	seconds := float64(at.UnixMilli()) / 1000
	if before, ok := s[labels]; !at.IsZero() && (!ok || seconds < before) {
		s[labels] = seconds
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
