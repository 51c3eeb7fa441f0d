package schedules

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/vault"
)

var flips = flag.Int("bitflips", 7, "how many bits to flip in each kind of what is stored")

// TestBitflips flips one bit of what a gateway has stored of exports and submissions on their way, and has them go on: in the pages of the
// database that have something of them, in its write-ahead log, or in a document; sealed, and not. What goes out is what
// came in, and goes where it was to go. What became of the rest is counted.
func TestBitflips(t *testing.T) {
	for _, kind := range []string{"pages", "log", "documents"} {
		for _, sealed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s sealed %t", kind, sealed), func(t *testing.T) {
				results := map[string]int{}
				for n := range *flips {
					seed := *first + uint64(n)
					w, at, result := tryFlip(t, seed, kind, sealed)
					results[result]++
					t.Logf("seed %d: %s: %s", seed, at, result)
					if len(w.broken) > 0 {
						t.Fatalf("make bitflips SEED=%d N=1\n\n%s\n\n%s\n\nWhat happened:\n%s", seed, at, strings.Join(w.broken, "\n"),
							strings.Join(w.trace, "\n"))
					}
				}
				t.Logf("%d bits flipped from seed %d: %v", *flips, *first, results)
			})
		}
	}
}

// tryFlip flips a bit. result says what the gateway made of it.
func tryFlip(t *testing.T, seed uint64, kind string, sealed bool) (w *world, at, result string) {
	t.Helper()
	folder, again := t.TempDir(), t.TempDir()
	day = day.AddDate(0, 0, 1)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(day))
		var err error
		w, err = newWorld(context.Background(), seed, "sqlite://"+filepath.Join(folder, "hiregate.db"), filepath.Join(folder, "documents"))
		require.NoError(t, err)
		storetest.Fill(t, filepath.Join(folder, "hiregate.db"))
		empty, err := os.ReadFile(filepath.Join(folder, "hiregate.db"))
		require.NoError(t, err)
		w.flip = true
		if sealed {
			v, err := vault.New("a text of more than thirty-two characters")
			require.NoError(t, err)
			w.vaults.Add(v)
		}
		require.NoError(t, w.storeForFlip())
		n := w.anyNode()
		n.stop()
		n.loops.Wait()
		if kind != "log" { // the last one to close the database brings it up to date
			require.NoError(t, n.db.Close())
		}
		require.NoError(t, os.CopyFS(again, os.DirFS(folder)))
		if kind == "log" {
			require.NoError(t, n.db.Close())
		}
		close(n.dead)
		w.server.empty()
		at, err = flipBit(w.rng, kind, again, empty)
		require.NoError(t, err)
		w.note("%s", at)
		w.address, w.folder = "sqlite://"+filepath.Join(again, "hiregate.db"), filepath.Join(again, "documents")
		result = w.lookAfterFlip()
		for _, n := range w.alive() {
			_ = n.kill() // what a damaged store refuses is tried for as long as that is open
		}
		w.server.empty()
		w.end()
		w.group.Wait()
	})
	return w, at, result
}

// storeForFlip has a gateway store exports and submissions, with what belongs to them: some were never tried, some were
// tried and refused.
func (w *world) storeForFlip() error {
	for _, r := range w.receivers {
		r.status, r.integration.Retry = 503, slices.Repeat([]time.Duration{time.Minute}, 10)
		r.integration.Documents = map[string]model.DocumentMode{"t0": model.Rehost, "t1": model.Inline}[r.integration.Tenant]
		if r.integration.Documents == "" {
			r.integration.Documents = model.Passthrough
		}
	}
	for _, v := range w.services {
		v.status = http.StatusServiceUnavailable
	}
	n, err := w.startNode()
	if err != nil {
		return err
	}
	for _, at := range w.places() {
		if err := w.setStatus(n, at, model.Configured, false); err != nil {
			return err
		}
	}
	for i := range 12 {
		if i == 8 {
			time.Sleep(30 * time.Second) // until the others were tried
			w.server.leave()
		}
		if i%2 == 0 {
			if err := w.applyFor(n, fmt.Sprint("t", i%tenants)); err != nil {
				return err
			}
		}
		if err := w.accept(n, fmt.Sprint("t", i%tenants), false); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	return nil
}

// flipBit flips a bit of what is in a folder, where it differs from the empty database, and says which.
func flipBit(rng *rand.Rand, kind, folder string, empty []byte) (at string, err error) {
	var paths []string
	switch kind {
	case "pages":
		paths = []string{filepath.Join(folder, "hiregate.db")}
	case "log":
		paths = []string{filepath.Join(folder, "hiregate.db-wal")}
	default:
		if err := filepath.WalkDir(filepath.Join(folder, "documents"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil && info.Size() > 0 {
					paths = append(paths, path)
				}
			}
			return err
		}); err != nil {
			return "", err
		}
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("there are no %s to damage", kind)
	}
	path := paths[rng.IntN(len(paths))]
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var used []int
	for n, b := range raw {
		if kind != "pages" || n >= len(empty) && b != 0 || n < len(empty) && b != empty[n] {
			used = append(used, n)
		}
	}
	n, bit := used[rng.IntN(len(used))], rng.IntN(8)
	raw[n] ^= 1 << bit
	return fmt.Sprintf("bit %d of byte %d of %s", bit, n, filepath.Base(path)), os.WriteFile(path, raw, 0o600)
}

// lookAfterFlip starts a gateway on what was damaged, has partners be well, and compares what they get.
func (w *world) lookAfterFlip() (result string) {
	w.mu.Lock()
	for _, r := range w.receivers {
		r.status = 200
	}
	for _, e := range w.order {
		e.again = map[string]int{"hris": 1000, "crm": 1000} // twice is no damage
	}
	for _, v := range w.services {
		v.status = http.StatusNoContent
	}
	w.mu.Unlock()
	w.server.comeBack()
	n, err := w.startNode()
	if err != nil {
		return "the database was not opened"
	}
	time.Sleep(2 * time.Minute) // what was refused is tried again after one
	missing := w.missing()
	for range 10 {
		if len(missing) == 0 {
			break
		}
		time.Sleep(time.Minute)
		missing = w.missing()
	}
	lost, damagedFiles := w.documents(n)
	away, unreadable := w.undeliveredSubmissions(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	exports := map[*sent]bool{}
	for _, one := range missing {
		exports[one.e] = true
	}
	switch named := w.named(n, missing); {
	case !n.db.Damage().Since.IsZero():
		return "the database is named as damaged"
	case named != "":
		return fmt.Sprintf("%d not delivered, named %s", len(exports), named)
	case len(exports) > 0:
		w.noteLocked("%s is not delivered to %s, and is not named", missing[0].e.uuid, missing[0].integration)
		return fmt.Sprintf("%d not delivered, and NOT named", len(exports))
	case away > 0:
		return fmt.Sprintf("%d submissions not delivered, and NOT named", away)
	case unreadable > 0:
		return fmt.Sprintf("%d submissions named as unreadable", unreadable)
	case damagedFiles > 0:
		return fmt.Sprintf("%d documents named as unreadable", damagedFiles)
	case lost > 0:
		return fmt.Sprintf("%d documents not found", lost)
	}
	return "all went out as it was"
}

// named returns what the status names the first of the exports as that were not delivered; empty: it says nothing.
func (w *world) named(n *node, missing []undelivered) string {
	if len(missing) == 0 {
		return ""
	}
	tenant := missing[0].e.tenant
	for as, count := range map[string]func(context.Context) (map[string]store.Counted, error){
		"as unreadable":  func(ctx context.Context) (map[string]store.Counted, error) { return n.db.CountUnreadable(ctx, w.began) },
		"as faulty":      func(ctx context.Context) (map[string]store.Counted, error) { return n.db.CountFaulty(ctx, w.began) },
		"as unaddressed": n.db.CountUnaddressed,
		"in quarantine":  n.db.CountQuarantined,
	} {
		if counts, err := count(n.ctx); err == nil && counts[tenant].Count > 0 {
			return as
		}
	}
	waiting, err := n.db.CountUndelivered(n.ctx, time.Now())
	if err != nil {
		return ""
	}
	at := model.Place{Tenant: tenant, Integration: missing[0].integration}
	for place, found := range waiting {
		switch _, known := w.receivers[place]; {
		case found.Count == 0:
		case place.Tenant == tenant && place.Integration != "" && !known:
			return "for an unknown integration"
		case place == at && found.Overdue > 0:
			return "as overdue"
		case place == at || place == model.Place{Tenant: tenant}:
			return "after it waited for an hour"
		}
	}
	return ""
}

// undelivered is an export that an integration did not receive.
type undelivered struct {
	e           *sent
	integration string
}

func (w *world) missing() (all []undelivered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.order {
		for at := range w.receivers {
			if at.Tenant == e.tenant && len(e.received(at.Integration)) == 0 {
				all = append(all, undelivered{e, at.Integration})
			}
		}
	}
	return all
}
