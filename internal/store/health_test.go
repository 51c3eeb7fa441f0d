package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

var hris = model.Place{Tenant: "acme", Integration: "hris"}

// count counts attempts at an integration in one transaction; each begins a second after the one before.
func count(t *testing.T, db *store.DB, at model.Place, begin time.Time, faults ...model.Class) {
	t.Helper()
	write(t, db, func(tx *store.Tx) error {
		for n, fault := range faults {
			tx.CountAttempt(at, int64(begin.Minute()+n), &model.Attempt{StartedAt: begin.Add(time.Duration(n) * time.Second),
				Duration: 30 * time.Millisecond, Fault: fault, Error: string(fault), Status: 422})
		}
		return nil
	})
}

// Attempts are counted by the hour, and a day's and a week's are summed up.
func TestHoursOfIntegrations(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		count(t, db, hris, noon, "", "", model.ClassDataFault)
		count(t, db, hris, noon.Add(time.Minute), model.ClassPartnerFault, model.ClassOurFault)
		count(t, db, hris, noon.Add(-48*time.Hour), "")
		count(t, db, hris, noon.Add(-8*24*time.Hour), "")
		count(t, db, model.Place{Tenant: "globex", Integration: "hris"}, noon, "")
		hours, err := db.ListHours(t.Context(), hris, noon.Add(-48*time.Hour))
		require.NoError(t, err)
		require.Len(t, hours, 2)
		require.Equal(t, noon.Truncate(time.Hour), hours[1].Begin)
		want := model.Tally{Attempts: 5, Delivered: 2, PartnerFault: 1, DataFault: 1, OurFault: 1}
		want.Took[3] = 5 // up to 50 ms
		require.Equal(t, want, hours[1].Tally)

		ats, unattempted := model.Place{Tenant: "acme", Integration: "ats"}, model.Place{Tenant: "globex", Integration: "ats"}
		count(t, db, ats, noon, "")
		all, err := db.ListHoursOf(t.Context(), []model.Place{hris, ats, unattempted}, noon.Add(-time.Hour))
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, hours[1:], all[hris])
		all, err = db.ListHoursOf(t.Context(), nil, noon)
		require.NoError(t, err)
		require.Empty(t, all)

		rates, err := db.SumHours(t.Context(), noon.Add(time.Hour))
		require.NoError(t, err)
		require.Len(t, rates, 3)
		require.Equal(t, want, rates[hris].Day)
		require.Equal(t, int64(6), rates[hris].Week.Attempts)
		require.Equal(t, int64(3), rates[hris].Week.Delivered)

		var n int64
		write(t, db, func(tx *store.Tx) (err error) {
			n, err = tx.DeleteHours(noon.Add(-24 * time.Hour))
			return err
		})
		require.EqualValues(t, 2, n)
		hours, err = db.ListHours(t.Context(), hris, time.Unix(0, 0))
		require.NoError(t, err)
		require.Len(t, hours, 1)
	})
}

// The database knows of an integration what an attempt after the other says, however they share transactions.
func TestHealthIsThatOfEachAttempt(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		const partner, data, our = model.ClassPartnerFault, model.ClassDataFault, model.ClassOurFault
		var want model.Health
		begin, refusing := noon, false
		for n, batch := range [][]model.Class{
			{partner, data}, {partner}, {data}, {our, partner}, {data, ""}, {""}, {partner, "", our}, {data},
			{our, our, our, "", ""}, {partner, partner, partner}, {"", partner}, {data, "", ""}, {"", data},
			{data, data, data, data}, {data, data}, {our, data, data, data, data}, {data}, {""}, {"", data, "", "", "", data},
		} {
			begin = begin.Add(time.Minute)
			count(t, db, hris, begin, batch...)
			for n, fault := range batch {
				ended := begin.Add(time.Duration(n)*time.Second + 30*time.Millisecond)
				want.Add(fault, string(fault), ended)
				want.Refusals.Add(int64(begin.Minute()+n), fault, 422, ended)
			}
			got, err := db.Health(t.Context(), hris)
			require.NoError(t, err)
			require.Equal(t, want, got, "after batch %d", n)
			refusing = refusing || got.Refusing()
		}
		require.True(t, refusing)
		all, err := db.ListHealth(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[model.Place]model.Health{hris: want}, all)
	})
}

func open(t *testing.T, address string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// Several nodes count attempts at the same integrations, each in another order.
func TestNodesCountSideBySide(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		const writers, rounds = 4, 25
		db := open(t, address)
		nodes := []*store.DB{db, db}
		if !db.Exclusive() {
			nodes[1] = open(t, address)
		}
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for n := range rounds {
					err := nodes[w%2].Write(t.Context(), func(tx *store.Tx) error {
						for i := range 5 {
							name := fmt.Sprint("i-", (i*(1+w%2*3)+n)%5)
							tx.CountAttempt(model.Place{Tenant: "acme", Integration: name}, 1,
								&model.Attempt{StartedAt: noon})
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		rates, err := db.SumHours(t.Context(), noon)
		require.NoError(t, err)
		require.Len(t, rates, 5)
		for at, r := range rates {
			require.EqualValues(t, writers*rounds, r.Day.Attempts, at)
		}
	})
}

// What is not delivered yet is counted by integration, with the time since when it waits.
func TestCountUndelivered(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		put := func(e *model.Export, integration string, outcome model.Outcome) {
			d := &model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: integration, Outcome: outcome,
				CreatedAt: noon.Add(time.Minute), UpdatedAt: noon}
			if outcome == model.Held {
				d.HeldSince = noon
			}
			write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
		}
		for n := range 3 {
			e := export("acme", fmt.Sprint("u-", n), "b")
			e.ReceivedAt = noon.Add(time.Duration(n) * time.Second)
			e.DeliverTill = e.ReceivedAt.Add(model.DeliveryWindow)
			require.True(t, insert(t, db, e))
			write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, noon, "crm", "hris") })
			switch n {
			case 0:
				put(e, "hris", model.Delivered)
			case 1:
				put(e, "hris", model.Held)
			}
		}
		again := export("acme", "again", "b")
		require.True(t, insert(t, db, again))
		write(t, db, func(tx *store.Tx) error { return tx.MarkDispatched(again.ID, 0, noon, "own") })
		put(again, "own", model.Failed)
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.BeginRound(again.ID, []string{"own"}, noon.Add(time.Hour), noon.Add(2*time.Hour))
			return err
		})
		require.True(t, insert(t, db, export("globex", "u", "b")), "an earlier version accepted it")
		ends := noon.Add(model.DeliveryWindow)
		counted, err := db.CountUndelivered(t.Context(), noon)
		require.NoError(t, err)
		require.Equal(t, map[model.Place]store.Waiting{
			hris:                                 {Count: 2, Held: 1, Oldest: noon.Add(time.Second), Ends: ends.Add(2 * time.Second)},
			{Tenant: "acme", Integration: "crm"}: {Count: 3, Oldest: noon, Ends: ends},
			{Tenant: "acme", Integration: "own"}: {Count: 1, Oldest: noon.Add(time.Hour), Ends: noon.Add(2 * time.Hour)},
		}, counted)
	})
}

// An attempt is read as it was written, whatever its answer begins with.
func TestAttemptsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		e := export("acme", "u-1", "b")
		require.True(t, insert(t, db, e))
		d := model.NewDelivery(e, "hris", 0, noon)
		write(t, db, func(tx *store.Tx) error { return tx.UpsertDelivery(d) })
		var want []model.Attempt
		for n, one := range []model.Attempt{
			{Status: 503, Answer: []byte("busy"), Header: []byte("Retry-After: 5\nServer: x\n"), Address: "192.0.2.7:443",
				Manual: true, Phases: model.Phases{DNS: 1, Connect: 2, TLS: 3, FirstByte: 4}},
			{Status: 500, Answer: []byte("\n\nerror")},
			{Status: 500, Answer: []byte("a\n\nb"), Header: []byte("Server: x\n")},
			{Status: 204, Header: []byte("Server: x\n")},
			{Error: "no connection"},
		} {
			one.DeliveryID, one.StartedAt, one.Duration = d.ID, noon.Add(time.Duration(n)*time.Second), time.Second
			for _, phase := range []*time.Duration{&one.Phases.DNS, &one.Phases.Connect, &one.Phases.TLS,
				&one.Phases.FirstByte} {
				*phase *= time.Microsecond
			}
			write(t, db, func(tx *store.Tx) error { return tx.InsertAttempt(&one) })
			want = append(want, one)
		}
		got, err := db.ListAttempts(t.Context(), d.ID)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for n := range want {
			require.Equal(t, string(want[n].Answer), string(got[n].Answer))
			require.Equal(t, string(want[n].Header), string(got[n].Header))
			want[n].Answer, want[n].Header, got[n].Answer, got[n].Header = nil, nil, nil, nil
			require.Equal(t, want[n], got[n])
		}
	})
}
