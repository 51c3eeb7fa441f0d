package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// fault is something that breaks while exports come.
type fault struct {
	name string
	// run breaks something and mends it. It calls mark while what is under way is known: once whoever sends was killed, and
	// the database answers.
	run func(b *bench, f *flow, mark func() error) error
}

// recoveryFaults are over as soon as what was killed answers again.
var recoveryFaults = []fault{
	{"temporal", func(_ *bench, f *flow, mark func() error) error {
		f.temporal.kill()
		return inTurn(mark, f.temporal.start)
	}},
	{"postgres", func(b *bench, _ *flow, mark func() error) error {
		return inTurn(mark, b.postgres.Stop, b.postgres.Start)
	}},
	{"connections", func(b *bench, _ *flow, mark func() error) error {
		return inTurn(mark, b.killConnections)
	}},
	{"exhausted", func(b *bench, _ *flow, mark func() error) error {
		return inTurn(mark, func() error { return b.exhaustConnections(10 * time.Second) })
	}},
	{"gateway", func(_ *bench, f *flow, mark func() error) error {
		for range 5 {
			f.server.kill()
			if err := inTurn(mark, f.server.start); err != nil {
				return err
			}
			time.Sleep(3 * time.Second)
		}
		return nil
	}},
}

func faultNames(faults []fault) (names []string) {
	for _, one := range faults {
		names = append(names, one.name)
	}
	return names
}

// recovered has the figures of a fault that was made several times.
type recovered struct {
	PerSecond    int       `json:"perSecond"` // sent
	Ratio        float64   `json:"ratio"`     // median of ratios
	Ratios       []float64 `json:"ratios"`    // of the rate of deliveries in the minute after the fault to the minute before
	Fault        []float64 `json:"faultSeconds"`
	Gone         []float64 `json:"backlogGoneSeconds"` // from its end until all that was acknowledged before had arrived
	Acknowledged int       `json:"acknowledged"`
	Lost         int       `json:"lost"`
	Twice        int       `json:"twice"`
	UnderWay     int       `json:"underWay"` // had arrived, and were not stored as delivered, when something broke
}

// recovery measures how deliveries go on after faults, on PostgreSQL, and how exports leave after three minutes without
// their partner.
func (b *bench) recovery() error {
	b.onPostgres = true
	if b.perSecond == 0 {
		f, err := b.newFlow(flowOptions{tenants: tenantsWithFaults})
		if err != nil {
			return err
		}
		m, err := f.run(flowLoad{exports: b.burstSize, connections: connections, tenants: tenantsWithFaults, body: b.body})
		f.close()
		if err != nil {
			return err
		}
		b.perSecond = int(m.Rate * 0.6)
		say("recovery: %.0f/s leave in a burst, so %d/s are sent", m.Rate, b.perSecond)
	}
	var broken error
	for _, one := range recoveryFaults {
		if b.fault != "" && b.fault != one.name {
			continue
		}
		r, err := b.recover(one)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		if err := report("recovery, "+one.name, r); err != nil {
			return err
		}
		if r.Lost > 0 || r.Twice > r.UnderWay {
			broken = errors.Join(broken,
				fmt.Errorf("%s: %d lost, %d twice of %d under way", one.name, r.Lost, r.Twice, r.UnderWay))
		}
	}
	if b.fault == "" || b.fault == "receiver" {
		broken = errors.Join(broken, b.receiverDown())
	}
	return broken
}

// receiverDown measures how exports leave that came while all receivers were down.
func (b *bench) receiverDown() error {
	f, err := b.newFlow(flowOptions{tenants: tenantsWithFaults})
	if err != nil {
		return err
	}
	defer f.close()
	f.reset()
	return f.waitForPartner(fmt.Sprintf("recovery, receivers down for %s", 3*b.minute), flowLoad{exports: 1 << 30,
		during: 3 * b.minute, connections: connections, perSecond: b.perSecond, tenants: tenantsWithFaults, body: b.body})
}

const tenantsWithFaults = 10

// recover makes a fault several times in one flow.
func (b *bench) recover(one fault) (r recovered, err error) {
	f, err := b.newFlow(flowOptions{tenants: tenantsWithFaults})
	if err != nil {
		return r, err
	}
	defer f.close()
	underWay := map[arrival]bool{}
	r.PerSecond = b.perSecond
	for range b.times {
		if err := b.recoverOnce(f, one, &r, underWay); err != nil {
			return r, err
		}
	}
	r.Lost, r.Twice = f.lostAndTwice()
	r.Acknowledged, r.UnderWay = len(f.acked), len(underWay)
	_, r.Ratio, _ = quartiles(r.Ratios)
	return r, nil
}

func (b *bench) recoverOnce(f *flow, one fault, r *recovered, underWay map[arrival]bool) error {
	l := flowLoad{connections: connections, perSecond: b.perSecond, tenants: tenantsWithFaults, body: b.body}
	var from, began, over time.Time
	err := f.whileSending(l, func() error {
		time.Sleep(b.minute / 6) // until it is even
		from = time.Now()
		time.Sleep(b.minute)
		began = time.Now()
		if err := one.run(b, f, f.mark(underWay)); err != nil {
			return err
		}
		over = time.Now()
		time.Sleep(b.minute)
		return nil
	})
	if err != nil {
		return err
	}
	until := over.Add(b.minute)
	if err := f.settle(); err != nil {
		say("  %v", err)
	}
	before, after := f.rate(from, began), f.rate(over, until)
	r.Ratios = append(r.Ratios, after/before)
	r.Fault = append(r.Fault, over.Sub(began).Seconds())
	r.Gone = append(r.Gone, f.gone(over).Seconds())
	say("  %s: %.0f/s before, %.0f/s after %.1f s of it, the last of before arrived after %.1f s", one.name, before, after,
		r.Fault[len(r.Fault)-1], r.Gone[len(r.Gone)-1])
	return nil
}

// whileSending does something while exports are sent: what is not acknowledged is sent again, until the end.
func (f *flow) whileSending(l flowLoad, do func() error) error {
	end, sent := make(chan struct{}), make(chan error, 1)
	l.exports, l.persistent, l.end = 1<<30, true, end
	go func() {
		_, err := f.send(l)
		sent <- err
	}()
	err := do()
	close(end)
	return errors.Join(err, <-sent)
}

// arrival is one of an export's arrivals: 0 is the first.
type arrival struct {
	uuid  string
	times int
}

// mark returns a function that notes which arrivals are under way. One that is not stored for several calls counts once.
func (f *flow) mark(underWay map[arrival]bool) func() error {
	return func() error {
		uuids, err := f.notStored()
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, uuid := range uuids {
			underWay[arrival{uuid, f.again[uuid]}] = true
		}
		return err
	}
}

// rate returns how many exports a second arrived for the first time between two times.
func (f *flow) rate(from, until time.Time) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, at := range f.arrived {
		if !at.Before(from) && at.Before(until) {
			n++
		}
	}
	return float64(n) / until.Sub(from).Seconds()
}

// gone returns how long after a time the last export arrived that was acknowledged before.
func (f *flow) gone(over time.Time) (took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for uuid, one := range f.acked {
		if at, ok := f.arrived[uuid]; ok && one.at.Before(over) {
			took = max(took, at.Sub(over))
		}
	}
	return took
}

// settle waits until all that was acknowledged has arrived, and all that arrived is stored as delivered: until then it may
// arrive again.
func (f *flow) settle() error {
	if err := f.arrivals(); err != nil {
		return err
	}
	return eventually(2*time.Minute, func() error {
		uuids, err := f.notStored()
		if err == nil && len(uuids) > 0 {
			err = fmt.Errorf("%d exports that arrived are not stored as delivered", len(uuids))
		}
		return err
	})
}

// lostAndTwice returns how many exports were acknowledged and have not arrived, and how many arrivals were not the first.
func (f *flow) lostAndTwice() (lost, twice int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for uuid := range f.acked {
		if _, ok := f.arrived[uuid]; !ok {
			lost++
		}
	}
	return lost, f.repeated
}

// notStored returns the exports that have arrived and are not stored as delivered: those under way.
func (f *flow) notStored() (uuids []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, f.filled)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, `SELECT key FROM exports
		WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE export_id = exports.id AND outcome = 'delivered')`)
	undelivered, err := pgx.CollectRows(rows, pgx.RowTo[string])
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, uuid := range undelivered {
		if _, ok := f.arrived[uuid]; ok {
			uuids = append(uuids, uuid)
		}
	}
	return uuids, err
}

// killConnections ends all connections to PostgreSQL.
func (b *bench) killConnections() error {
	conn, err := pgx.Connect(context.Background(), b.postgres.Address("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	return endConnections(conn, nil)
}

// endConnections ends all connections but one, and those of some processes.
func endConnections(conn *pgx.Conn, but []uint32) error {
	_, err := conn.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid <> ALL (coalesce($1::bigint[], '{}'))`, but)
	return err
}

// exhaustConnections takes all connections that PostgreSQL has, those of the gateway included, for a while.
func (b *bench) exhaustConnections(during time.Duration) error {
	ctx := context.Background()
	var taken []*pgx.Conn
	defer func() {
		for _, conn := range taken {
			conn.Close(ctx)
		}
	}()
	take := func() error {
		conn, err := pgx.Connect(ctx, b.postgres.Address("postgres"))
		if err == nil {
			taken = append(taken, conn)
		}
		return err
	}
	for take() == nil {
	}
	if len(taken) == 0 {
		return errors.New("there is no connection to take")
	}
	var but []uint32
	for _, conn := range taken {
		but = append(but, conn.PgConn().PID())
	}
	if err := endConnections(taken[0], but); err != nil {
		return err
	}
	for end := time.Now().Add(during); time.Now().Before(end); {
		if take() != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}
