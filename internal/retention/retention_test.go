package retention_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
)

const day = 24 * time.Hour

func TestParse(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]time.Duration{"4d": 4 * day, "90d": 90 * day, "36500d": 36500 * day} {
		got, err := retention.Parse(written)
		require.NoError(t, err, written)
		require.Equal(t, want, got)
	}
	for _, written := range []string{"", "d", "0d", "3d", "-90d", "36501d", "9999999999999999999d", "213504d", "90",
		"90h", "3mo", "90 d", "1.5d"} {
		_, err := retention.Parse(written)
		require.ErrorContains(t, err, "write, for example, `retention 90d`", written)
	}
}

func TestParseRows(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		written       string
		content, want time.Duration
	}{{"", 0, 400 * day}, {"", 90 * day, 400 * day}, {"", 500 * day, 500 * day}, {"forever", 500 * day, 0},
		{"90d", 0, 90 * day}, {"500d", 500 * day, 500 * day}, {"36500d", 0, 36500 * day}} {
		got, err := retention.ParseRows(one.written, one.content)
		require.NoError(t, err)
		require.Equal(t, one.want, got, one)
	}
	for _, written := range []string{"89d", "400", "never", "36501d", "-400d"} {
		_, err := retention.ParseRows(written, 0)
		require.ErrorContains(t, err, "write, for example, `rows 400d`", written)
	}
	_, err := retention.ParseRows("400d", 401*day)
	require.ErrorContains(t, err, "write `rows 401d` or more")
}

// fixture is a gateway's store and documents, whose clock is set by hand.
type fixture struct {
	*retention.Retention
	archive *documents.Archive
	now     time.Time
	log     *observer.ObservedLogs
}

func newFixture(t *testing.T, address string) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := documents.OpenFiles(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, files.Prepare())
	core, seen := observer.New(zapcore.DebugLevel)
	b := &fixture{now: time.Now(), log: seen}
	inForce := &config.InForce{}
	clock := func() time.Time { return b.now }
	b.Retention = &retention.Retention{Store: db, InForce: inForce, Now: clock, Log: zap.New(core)}
	b.archive = &documents.Archive{Store: db, Files: files, InForce: inForce, Now: clock, Log: zap.NewNop()}
	return b
}

// keepFor puts a configuration in force, in the place of the one before.
func (b *fixture) keepFor(kept time.Duration) {
	if c := b.InForce.Current(); c != nil {
		b.InForce.Drop(c)
	}
	b.InForce.Push(&config.Config{Retention: kept})
}

func (b *fixture) write(t *testing.T, fn func(*store.Tx) error) {
	t.Helper()
	require.NoError(t, b.Store.Write(t.Context(), fn))
}

// delivered is an export that came through the door, with a document that was fetched into a file.
func (b *fixture) delivered(t *testing.T, key, body string) (e *model.Export, file string) {
	t.Helper()
	e = inbox.NewExport("acme", key, []byte(body), b.now)
	e.Attachments, e.CandidateID = 1, "c-"+key
	_, err := inbox.Accept(t.Context(), b.Store, e)
	require.NoError(t, err)
	blob, err := b.archive.Files.Put(t.Context(), b.archive.Files.NewName(), strings.NewReader("a resume"),
		documents.MaxSize)
	require.NoError(t, err)
	b.write(t, func(tx *store.Tx) error {
		if err := tx.MarkDispatched(e.ID, 0, b.now, "hris"); err != nil {
			return err
		}
		if err := tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme",
			SourceURL: []byte("https://service.example/d"), CreatedAt: b.now}); err != nil {
			return err
		}
		return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris",
			Outcome: model.Delivered, CreatedAt: b.now, UpdatedAt: b.now})
	})
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	docs[0].State, docs[0].Blob, docs[0].FetchedAt = model.Fetched, blob.Name, b.now
	b.write(t, func(tx *store.Tx) error {
		_, err := tx.UpdateDocument(docs[0])
		return err
	})
	return e, blob.Name
}

// What is due lies behind more exports than are looked at in one go, and nothing is due of those.
func TestAllExportsAreLookedAt(t *testing.T) {
	t.Parallel()
	b := newFixture(t, storetest.SQLite(t))
	b.write(t, func(tx *store.Tx) error {
		for n := range 1000 {
			if _, err := inbox.Insert(tx, inbox.NewExport("acme", fmt.Sprint("waiting-", n), []byte("{}"), b.now)); err != nil {
				return err
			}
		}
		return nil
	})
	b.delivered(t, "u-1", "{}")
	b.keepFor(90 * day)
	b.now = b.now.Add(91 * day)
	n, err := b.Erase(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestContentIsErasedWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newFixture(t, address)
		const body = `{"candidate":{"person":"Zoë"}}`
		e, file := b.delivered(t, "u-1", body)
		erase := func() int {
			n, err := b.Erase(t.Context())
			require.NoError(t, err)
			return n
		}
		there := func() bool {
			loaded := *e
			err := b.Store.LoadBody(t.Context(), &loaded)
			require.True(t, err == nil || errors.Is(err, store.ErrNotFound), err)
			return err == nil
		}
		b.now = e.ReceivedAt.Add(100 * 365 * day)
		require.Zero(t, erase(), "with no configuration in force")
		b.keepFor(0)
		require.Zero(t, erase(), "without retention everything is kept")
		b.now = e.ReceivedAt.Add(90 * day)
		b.keepFor(90 * day)
		require.Zero(t, erase(), "its time ends now")
		require.True(t, there())
		b.keepFor(91 * day)
		b.now = b.now.Add(time.Second)
		require.Zero(t, erase(), "a reload gave it a day more")
		b.keepFor(90 * day)
		require.Equal(t, 1, erase())
		require.False(t, there())
		require.Zero(t, erase(), "it was erased twice")

		// Its file goes with a sweep.
		sweep := func() error {
			require.NoError(t, b.archive.Sweep(t.Context(), b.now.Add(-documents.UploadTime)))
			content, _, err := b.archive.Files.Open(file)
			if err == nil {
				content.Close()
			}
			return err
		}
		require.NoError(t, sweep())
		b.now = b.now.Add(documents.UploadTime + time.Second)
		require.ErrorIs(t, sweep(), fs.ErrNotExist)

		// The sender's repeat is known all the same, and so is another body under the same UUID.
		for body, want := range map[string]inbox.Verdict{body: inbox.Repeated, `{}`: inbox.Conflicting} {
			res, err := inbox.Accept(t.Context(), b.Store, inbox.NewExport("acme", "u-1", []byte(body), e.ReceivedAt))
			require.NoError(t, err)
			require.Equal(t, want, res.Verdict)
		}
	})
}

// An export that can't be erased keeps nobody from those behind it; where none can be, that is soon over.
func TestExportThatCanNotBeErased(t *testing.T) {
	t.Parallel()
	address := storetest.SQLite(t)
	b := newFixture(t, address)
	for n := range 30 {
		b.delivered(t, fmt.Sprint("u-", n), "{}")
	}
	b.keepFor(4 * day)
	b.now = b.now.Add(5 * day)
	other, err := sql.Open("sqlite", strings.Replace(address, "sqlite://", "file:", 1))
	require.NoError(t, err)
	defer other.Close()
	refuse := func(which string) {
		_, err = other.ExecContext(t.Context(), `DROP TRIGGER IF EXISTS refused; CREATE TRIGGER refused BEFORE UPDATE OF erased_at ON exports WHEN `+which+` BEGIN SELECT raise(ABORT, 'refused'); END`)
		require.NoError(t, err)
	}
	refuse("TRUE")
	n, err := b.Erase(t.Context())
	require.ErrorContains(t, err, "refused")
	require.Zero(t, n)
	refuse("old.key = 'u-3'")
	n, err = b.Erase(t.Context())
	require.ErrorContains(t, err, "refused")
	require.Equal(t, 29, n)
}

// One node at a time erases, in batches; another goes on where it ended.
func TestOneNodeErases(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	b, other := newFixture(t, address), newFixture(t, address)
	for n := range 120 {
		b.delivered(t, fmt.Sprint("u-", n), "{}")
	}
	b.keepFor(4 * day)
	b.now = b.now.Add(5 * day)
	held, err := other.Store.Lease("retention").Hold(t.Context(), b.now)
	require.NoError(t, err)
	require.True(t, held)
	n, err := b.Erase(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	b.Store.Work()
	b.now = b.now.Add(time.Minute)
	n, err = b.Erase(t.Context())
	require.NoError(t, err)
	require.Equal(t, 120, n)
	require.LessOrEqual(t, b.Store.Work().Commits, int64(6), "five batches, and the lease")
}

// An export of which all rows were deleted is a new one when it comes again; what relates to it goes with it.
func TestRowsAreDeletedWhenTheirTimeIsOver(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newFixture(t, address)
		e, file := b.delivered(t, "u-1", "{}")
		b.write(t, func(tx *store.Tx) error {
			return tx.InsertAudit(model.AuditEntry{At: b.now, Action: "release", Tenant: "acme", Object: "exports/u-1"})
		})
		remove := func() int {
			exports, err := b.DeleteExports(t.Context())
			require.NoError(t, err)
			old, err := b.DeleteOld(t.Context())
			require.NoError(t, err)
			return exports + old
		}
		put := func(rows time.Duration) {
			b.InForce.Push(&config.Config{Retention: 4 * day, RetentionRows: rows})
		}
		received := func() inbox.Verdict {
			res, err := inbox.Accept(t.Context(), b.Store, inbox.NewExport("acme", "u-1", []byte("{}"), e.ReceivedAt))
			require.NoError(t, err)
			return res.Verdict
		}
		put(400 * day)
		b.now = b.now.Add(100 * day)
		n, err := b.Erase(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		b.now = e.ReceivedAt.Add(400 * day)
		require.Zero(t, remove(), "its time ends now")
		b.now = b.now.Add(time.Second)
		put(0)
		require.Zero(t, remove(), "they are kept forever")
		require.Equal(t, inbox.Repeated, received())
		put(400 * day)
		require.Equal(t, 2, remove())
		require.Zero(t, remove())
		require.Equal(t, inbox.Accepted, received())
		require.NoError(t, b.archive.Sweep(t.Context(), b.now.Add(time.Second)))
		_, _, err = b.archive.Files.Open(file)
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}

func TestErasureThatIsStopped(t *testing.T) {
	t.Parallel()
	b := newFixture(t, storetest.SQLite(t))
	b.delivered(t, "u-1", "{}")
	b.keepFor(4 * day)
	b.now = b.now.Add(5 * day)
	ended, end := context.WithCancel(t.Context())
	end()
	n, err := b.Erase(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, n)
	n, err = b.Erase(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

// The counts of attempts and of refused answers go after 90 days, also where no content is erased.
func TestHoursAreDeletedAfter90Days(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newFixture(t, address)
		at := model.Place{Tenant: "acme", Integration: "hris"}
		b.write(t, func(tx *store.Tx) error {
			for _, age := range []time.Duration{0, 89 * day, 91 * day, 400 * day} {
				tx.CountAttempt(at, 0, &model.Attempt{StartedAt: b.now.Add(-age)})
			}
			job := &model.Job{Row: model.Row{Tenant: "acme"}, BoardCode: "NURSE-1", ID: "job-1"}
			if err := tx.UpsertJob(job, b.now); err != nil {
				return err
			}
			for n, age := range []time.Duration{0, 89 * day, 91 * day} {
				if err := tx.CountRefusedAnswers("acme", "NURSE-1", store.RefusedAnswers{Question: "motto",
					Count: int64(1) << n, LastHour: b.now.Add(-age)}); err != nil {
					return err
				}
			}
			return nil
		})
		_, err := b.DeleteOld(t.Context())
		require.NoError(t, err)
		quarters, err := b.Store.ListQuarters(t.Context(), "acme", time.Unix(0, 0))
		require.NoError(t, err)
		require.Len(t, quarters, 2)
		kept, err := b.Store.ListHours(t.Context(), at, time.Unix(0, 0))
		require.NoError(t, err)
		require.Len(t, kept, 2)
		refused, err := b.Store.ListRefusedAnswers(t.Context(), "acme", "NURSE-1", time.Unix(0, 0))
		require.NoError(t, err)
		require.EqualValues(t, 3, refused[0].Count)
	})
}

// Sessions of the console that have ended are deleted, however many there are; others stay.
func TestEndedSessionsAreDeleted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newFixture(t, address)
		const console, ended = "https://gate.example.com/console", 501
		hash := func(n int) identity.Hash { return identity.HashSecret(fmt.Sprint(n)) }
		b.write(t, func(tx *store.Tx) error {
			for n := range ended + 1 {
				s := &identity.ConsoleSession{Hash: hash(n), Console: console, Issuer: "https://login.example.com",
					Subject: fmt.Sprint(n), Person: []byte("sealed"), CreatedAt: b.now.Add(-time.Hour), Till: b.now}
				if n == ended {
					s.Till = b.now.Add(time.Second)
				}
				if err := tx.InsertConsoleSession(identity.Hash{}, s); err != nil {
					return err
				}
			}
			return nil
		})
		_, err := b.DeleteOld(t.Context())
		require.NoError(t, err)
		at := b.now.Add(-time.Hour) // when none of them had ended
		for n := range ended {
			_, err := b.Store.ConsoleSession(t.Context(), console, hash(n), at)
			require.ErrorIs(t, err, store.ErrNotFound)
		}
		_, err = b.Store.ConsoleSession(t.Context(), console, hash(ended), at)
		require.NoError(t, err)
	})
}
