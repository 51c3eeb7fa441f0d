package model

import "time"

// PortalLink lets whoever has it see what became of the exports of a tenant, without signing in.
type PortalLink struct {
	ID        string
	Tenant    string
	Label     string // who has it, for people; empty: that is not said
	Bodies    bool   // those of the exports may be seen as well
	MadeBy    Author
	CreatedAt time.Time
	ExpiresAt time.Time
	OpenedAt  time.Time // the last time, to the minute; zero: never
	RevokedAt time.Time // zero: it is not revoked
}

// ValidateLabel says what is wrong with the name of who has a link, or nil.
func (l *PortalLink) ValidateLabel() error {
	if l.Label == "" {
		return nil
	}
	var c checker
	c.id("label", l.Label)
	return c.err()
}
