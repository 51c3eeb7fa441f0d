package session

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// What the provider says is good for as long as its access token, within these bounds. Refreshing begins when a quarter
	// of that is left.
	mostConfirmed  = time.Hour
	leastConfirmed = time.Minute
	// silence is how long a session goes on after that while the provider does not answer.
	silence = time.Hour
	// refreshLock is longer than refreshing may take.
	refreshLock = 45 * time.Second
	// refreshPause is how long the provider is not asked again about a session after it failed to answer.
	refreshPause = time.Minute
	// refreshPoll is how often is looked whether another request, perhaps of another node, has the answer.
	refreshPoll = 50 * time.Millisecond
	// maxRefreshToken is the longest refresh token that is kept, in bytes.
	maxRefreshToken = 8 << 10

	forRefresh = "hiregate refresh tokens of sessions"
)

// confirm notes in a row that the provider has just confirmed its session.
func (s *Site) confirm(row *identity.ConsoleSession, them *oidcclient.Account) (err error) {
	good := mostConfirmed
	if them.AccessLife > 0 {
		good = max(leastConfirmed, min(good, them.AccessLife))
	}
	row.RefreshAt, row.ConfirmedTill, row.Refresh = s.now().Add(good*3/4), s.now().Add(good), nil
	if token := them.RefreshToken; token != "" && len(token) <= maxRefreshToken {
		row.Refresh, err = s.Vault.Seal(forRefresh, hex.EncodeToString(row.Hash[:]), []byte(token))
	}
	return err
}

// refreshed refreshes a session at its provider if it is time, once for all requests of all nodes, and returns what the row
// has then; nil: the session has ended. A session without a refresh token is not refreshed.
func (s *Site) refreshed(ctx context.Context, row *identity.ConsoleSession) (*identity.ConsoleSession, error) {
	now := s.now()
	if len(row.Refresh) == 0 || now.Before(row.RefreshAt) {
		return s.within(row), nil
	}
	// Whoever waits for the answer may leave: the refresh token that comes with it must be stored.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshLock)
	defer cancel()
	var ours bool
	err := s.Store().Write(asking, func(tx *store.Tx) (err error) {
		ours, err = tx.LockConsoleSession(row.Hash, now, now.Add(refreshLock))
		return err
	})
	switch {
	case err == nil && ours:
		return s.ask(asking, row)
	case now.Before(row.ConfirmedTill):
		return row, nil
	case err != nil:
		return nil, err
	}
	return s.await(ctx, row)
}

// within returns a row, or nil if its session goes on no longer without the provider's word.
func (s *Site) within(row *identity.ConsoleSession) *identity.ConsoleSession {
	if len(row.Refresh) > 0 && !s.now().Before(row.ConfirmedTill.Add(silence)) {
		return nil
	}
	return row
}

// ask refreshes a session that is locked, and stores what comes of it.
func (s *Site) ask(ctx context.Context, row *identity.ConsoleSession) (*identity.ConsoleSession, error) {
	err := s.refresh(ctx, row)
	switch {
	case err == nil:
	case errors.Is(err, oidcclient.ErrRefused), errors.Is(err, oidcclient.ErrTooManyGroups):
		s.Log.Info("a session ends because of the provider", zap.String("site", s.Address), zap.Error(err))
		return nil, s.Store().Write(ctx, func(tx *store.Tx) error { return tx.DeleteConsoleSession(row.Hash) })
	case errors.Is(err, oidcclient.ErrNoRefreshing):
		row.Refresh = nil
	default:
		s.Log.Warn("a session can't be refreshed; it is tried again in a minute", zap.String("site", s.Address), zap.Error(err))
		row.RefreshAt = s.now().Add(refreshPause)
	}
	return s.within(row), s.Store().Write(ctx, func(tx *store.Tx) error { return tx.UpdateConsoleSession(row) })
}

// refresh refreshes a session at its provider. Where that describes the person again, the session has it.
func (s *Site) refresh(ctx context.Context, row *identity.ConsoleSession) error {
	token, err := s.Vault.Open(forRefresh, hex.EncodeToString(row.Hash[:]), row.Refresh)
	if err != nil {
		return err
	}
	them, err := s.Provider.Refresh(ctx, string(token), row.Subject)
	if err != nil {
		return err
	}
	if err := s.Provider.Complete(ctx, them); errors.Is(err, oidcclient.ErrTooManyGroups) {
		return err
	} else if err == nil && them.Described {
		if row.Person, err = s.described(row.Person, them); err != nil {
			return err
		}
	}
	return s.confirm(row, them)
}

// described returns what is stored of a person, sealed, after the provider described them again.
func (s *Site) described(sealed []byte, them *oidcclient.Account) ([]byte, error) {
	var p Person
	plain, err := s.Vault.Open(forPeople, s.Address, sealed)
	if err == nil {
		err = json.Unmarshal(plain, &p)
	}
	if err != nil {
		return nil, err
	}
	s.describe(&p, them)
	if plain, err = json.Marshal(p); err != nil {
		return nil, err
	}
	return s.Vault.Seal(forPeople, s.Address, plain)
}

// await waits for the answer of the provider that another request asked.
func (s *Site) await(ctx context.Context, row *identity.ConsoleSession) (*identity.ConsoleSession, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshLock)
	defer cancel()
	for {
		now, err := s.row(ctx, row.Hash)
		switch {
		case ctx.Err() != nil:
			return s.within(row), nil
		case err != nil || now == nil:
			return nil, err
		case len(now.Refresh) == 0 || now.RefreshAt.After(row.RefreshAt):
			return s.within(now), nil
		}
		wait.For(ctx, refreshPoll)
	}
}
