package manageapi_test

import (
	"encoding/hex"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Sessions at applications and at the console are listed, and ended one by one, by person, provider or site.
func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const (
		console = "https://gate.example.com/console"
		app     = "https://app.acme.example/oauth2"
		own     = "https://gate.example.com/signin"
		other   = "https://login.globex.example"
	)
	ada := &identity.User{ID: "ada", Email: "Ada@example.com", CreatedAt: b.Clock.Now()}
	id := func(name string) string {
		hash := identity.HashSecret(name)
		return hex.EncodeToString(hash[:])
	}
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.InsertUser(ada); err != nil {
			return err
		}
		begun := identity.Session{Hash: identity.HashSecret("sign-in"), Issuer: own, UserID: "ada", SignedInAt: b.Clock.Now(),
			Till: b.Clock.Now().Add(time.Hour)}
		if err := tx.InsertSession(identity.Hash{}, &begun, ada); err != nil {
			return err
		}
		for name, s := range map[string]identity.ConsoleSession{
			"console":  {Console: console, Issuer: own, Subject: "ada", SignIn: begun.Hash},
			"app":      {Console: identity.GateAddress(app, own, "acme"), Issuer: own, Subject: "ada", SignIn: begun.Hash},
			"stranger": {Console: identity.GateAddress(app, other, "acme"), Issuer: other, Subject: "1001"},
			"beside":   {Console: identity.GateAddress(app+"2", other, "acme"), Issuer: other, Subject: "1001"},
		} {
			s.Hash, s.Person, s.CreatedAt, s.Till = identity.HashSecret(name), []byte{1}, b.Clock.Now(), b.Clock.Now().Add(2*time.Hour)
			if err := tx.InsertConsoleSession(identity.Hash{}, &s); err != nil {
				return err
			}
		}
		return tx.UseConsoleSession(identity.HashSecret("app"), b.Clock.Now().Add(time.Minute), b.Clock.Now())
	})
	shown := func(query string) (names []string) {
		t.Helper()
		for _, s := range items(b, "/v1/sessions"+query) {
			for _, name := range []string{"app", "beside", "console", "stranger"} {
				if s["id"] == id(name) {
					names = append(names, name)
				}
			}
		}
		return names
	}
	require.ElementsMatch(t, []string{"app", "beside", "console", "stranger"}, shown(""))
	require.ElementsMatch(t, []string{"app", "console"}, shown("?person=ada@EXAMPLE.com"))
	require.ElementsMatch(t, []string{"app", "stranger"}, shown("?site="+app))
	require.Equal(t, []string{"console"}, shown("?site="+console))
	require.Equal(t, []string{"app"}, shown("?person=ada&site="+app))
	require.ElementsMatch(t, []string{"beside", "stranger"}, shown("?provider="+other))
	type page struct {
		Items []api.Session
		Next  *string
	}
	first := get[page](b, "/v1/sessions?limit=3")
	last := get[page](b, "/v1/sessions?limit=3&cursor="+*first.Next)
	require.Len(t, append(first.Items, last.Items...), 4)
	require.Nil(t, last.Next)
	one := get[page](b, "/v1/sessions?person=ada&site="+app).Items
	require.Equal(t, []api.Session{{ID: id("app"), Site: app, Provider: own, Person: "ada", Email: "Ada@example.com",
		CreatedAt: b.Clock.Now(), UsedAt: b.Clock.Now().Add(time.Minute), EndsAt: b.Clock.Now().Add(2 * time.Hour)}}, one)
	out, _, err := b.cli("session", "list", "--site", app)
	require.NoError(t, err)
	require.Contains(t, out, "Ada@example.com")
	require.Contains(t, out, "1001")

	for _, wrong := range []string{id("none"), "x", id("app")[1:]} {
		b.refused(http.StatusNotFound, http.MethodPost, "/v1/sessions/end", `{"id":"`+wrong+`"}`)
	}
	for _, wrong := range []string{`{}`, `{"id":"` + id("app") + `","person":"ada"}`} {
		require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, "/v1/sessions/end", wrong), "name one by its id")
	}
	b.must(http.StatusOK, http.MethodPost, "/v1/sessions/end", `{"id":"`+id("stranger")+`"}`)
	require.Equal(t, []string{"beside"}, shown("?provider="+other))
	b.must(http.StatusOK, http.MethodPost, "/v1/sessions/end", `{"person":"ada","site":"`+app+`"}`)
	require.ElementsMatch(t, []string{"beside", "console"}, shown(""))
	out, _, err = b.cli("session", "end", "--person", "ada@example.com")
	require.NoError(t, err)
	require.Contains(t, out, "ended: 1")
	_, _, err = b.cli("session", "end", id("beside"))
	require.NoError(t, err)
	require.Empty(t, shown(""))
	for _, args := range [][]string{{}, {"x", "--person", "ada"}, {"x", "y"}} {
		_, _, err = b.cli(append([]string{"session", "end"}, args...)...)
		require.ErrorContains(t, err, "name one session by its id")
	}
	audit := b.must(http.StatusOK, http.MethodGet, "/v1/audit", "").body
	require.Contains(t, audit, "at "+app+" of ada")
	require.Contains(t, audit, "sessions/"+id("stranger"))

	// A session of our own sign-in is over with that.
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertConsoleSession(identity.Hash{}, &identity.ConsoleSession{Hash: identity.HashSecret("app"), Console: console,
			Issuer: own, Subject: "ada", SignIn: identity.HashSecret("sign-in"), Person: []byte{1}, CreatedAt: b.Clock.Now(),
			Till: b.Clock.Now().Add(2 * time.Hour)})
	})
	require.Equal(t, []string{"app"}, shown(""))
	b.Clock.Advance(time.Hour)
	require.Empty(t, shown(""))
}

// Who is signed in is for administrators of all tenants.
func TestSessionsAreForAdministrators(t *testing.T) {
	t.Parallel()
	b := setup(t).keyed()
	operator, acme := b.as(b.key("operator", "", model.Operator)), b.as(b.key("acme", "acme", model.Admin))
	operator.refused(http.StatusForbidden, http.MethodGet, "/v1/sessions", "")
	operator.refused(http.StatusForbidden, http.MethodPost, "/v1/sessions/end", `{"person":"ada"}`)
	acme.refused(http.StatusNotFound, http.MethodGet, "/v1/sessions", "")
	acme.refused(http.StatusNotFound, http.MethodPost, "/v1/sessions/end", `{"person":"ada"}`)
}
