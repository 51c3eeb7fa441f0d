package relay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/jsonstream"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const titlesFreshFor = 5 * time.Minute

// The bounds of a feed. Of the jobs, the first ones count.
const (
	maxFeed  = 32 << 20 // bytes
	maxJobs  = 5000
	maxCode  = 255  // bytes
	maxTitle = 1020 // bytes
)

// Title returns the title of a job in the feed of a tenant's service; empty: it is not known. It waits for patience if the
// feed was never read. One that was is read again meanwhile, and nobody waits for that.
func (r *Relay) Title(ctx context.Context, tenant string, u *model.ApplyUpstream, job string,
	patience time.Duration) (string, error) {
	if u.Feed == "" {
		return "", nil
	}
	of := sha256.Sum256([]byte(u.Feed))
	title, at, err := r.Store.UpstreamTitle(ctx, tenant, job, of[:])
	if err != nil || !r.renewed(ctx, tenant+" "+string(of[:]), at, titlesFreshFor, patience, func(ctx context.Context) error {
		return r.readTitles(ctx, tenant, u.Feed, of)
	}) {
		return title, err
	}
	title, _, err = r.Store.UpstreamTitle(ctx, tenant, job, of[:])
	return title, err
}

// readTitles reads a feed, and stores its titles.
func (r *Relay) readTitles(ctx context.Context, tenant, feed string, of [sha256.Size]byte) error {
	titles, err := readFeed(ctx, r.InForce.Current().Egress, feed)
	if err == nil {
		err = r.Store.Write(ctx, func(tx *store.Tx) error { return tx.UpdateUpstreamTitles(tenant, of[:], titles, r.Now()) })
	}
	if err != nil {
		r.Log.Warn("the titles of a service's jobs can't be read; forms show what is known, or the jobs' codes",
			zap.String("tenant", tenant), zap.Error(err))
	}
	return err
}

// readFeed reads the titles of a feed, by job board code. The error is a sentence for people: what to correct.
func readFeed(ctx context.Context, guard *egress.Guard, feed string) (map[string]string, error) {
	asked, err := http.NewRequestWithContext(ctx, http.MethodGet, feed, nil)
	if err != nil {
		return nil, errors.New("the address of the feed can't be read: write it as https://host/path")
	}
	asked.Header.Set("Accept", "application/json")
	client := *guard.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(asked)
	switch {
	case errors.As(err, new(interface{ RefusedByEgress() bool })):
		return nil, errors.New("the address of the feed leads where egress lets nothing go: allow it with the option egress")
	case err != nil:
		return nil, errors.New("the feed can't be reached: correct its address, or leave feed out")
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the feed answered %d: correct its address, or leave feed out", answer.StatusCode)
	}
	bounded := &io.LimitedReader{R: answer.Body, N: maxFeed}
	titles, err := parseFeed(bounded)
	switch {
	case err == nil:
		return titles, nil
	case bounded.N == 0:
		return nil, fmt.Errorf("the feed is larger than %d MiB: leave feed out", maxFeed>>20)
	case errors.Is(err, errNoFeed), errors.As(err, new(*jsonstream.Error)):
		return nil, fmt.Errorf("what the feed answers is no job feed (%w): correct its address, or leave feed out", err)
	}
	return nil, errors.New("the feed broke off: try again, or leave feed out")
}

var errNoFeed = errors.New("it has no positionProfiles")

// parseFeed reads the titles of a feed: positionTitle, by the positionId.value of each of positionProfiles (contract, part C).
func parseFeed(from io.Reader) (map[string]string, error) {
	in := jsonstream.NewReader(from)
	titles, found := map[string]string{}, false
	err := in.Object(func(name string) error {
		if name != "positionProfiles" {
			return in.Skip()
		}
		found = true
		return in.Array(func() error {
			code, title := "", ""
			if err := in.Object(func(name string) (err error) {
				switch name {
				case "positionId":
					return in.Object(func(name string) (err error) {
						if name != "value" {
							return in.Skip()
						}
						code, err = text(in, maxCode)
						return err
					})
				case "positionTitle":
					title, err = text(in, maxTitle)
					return err
				}
				return in.Skip()
			}); err != nil {
				return err
			}
			if code != "" && title != "" && len(titles) < maxJobs {
				titles[code] = title
			}
			return nil
		})
	})
	if err == nil {
		err = in.End()
	}
	if err == nil && !found {
		err = errNoFeed
	}
	return titles, err
}

// text reads a string on one line. One that is too long for its place, or is no string, is as none.
func text(in *jsonstream.Reader, most int64) (string, error) {
	if kind, err := in.Next(); err != nil || kind != jsonstream.String {
		if err != nil {
			return "", err
		}
		return "", in.Skip()
	}
	var raw []byte
	err := in.Text(func(from io.Reader) (err error) {
		raw, err = io.ReadAll(io.LimitReader(from, most+1))
		return err
	})
	if int64(len(raw)) > most || !utf8.Valid(raw) || strings.ContainsRune(string(raw), 0) {
		return "", err
	}
	return strings.Join(strings.Fields(string(raw)), " "), err
}
