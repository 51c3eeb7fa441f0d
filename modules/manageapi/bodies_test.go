package manageapi_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// connection notes the deadlines that are set for reading from it.
type connection struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (c *connection) SetReadDeadline(d time.Time) error {
	c.deadlines = append(c.deadlines, d)
	return nil
}

// Who has a key has no more time for a body than strangers, but for a file.
func TestBodiesHaveTheirTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	api := manageapi.New(func() *gateway.Gateway { return b.Gateway }, b.Log)
	for path, within := range map[string]time.Duration{
		"/v1/api-keys":             bodies.DefaultTime,
		application + "/documents": 30 * time.Minute,
	} {
		c := &connection{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		api.ServeHTTP(c, httptest.NewRequest(http.MethodPost, path, iotest.ErrReader(os.ErrDeadlineExceeded)))
		require.Equal(t, http.StatusRequestTimeout, c.Code, "%s: %s", path, c.Body)
		require.Contains(t, c.Body.String(), "too slowly")
		require.NotEmpty(t, c.deadlines)
		require.WithinRange(t, c.deadlines[0], before.Add(within), time.Now().Add(within))
	}
}
