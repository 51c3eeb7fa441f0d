package manageapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
)

// A text is sought in the answers of the tenants that the caller sees, with the filters of the list.
func TestSearchAnswers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.t = t
		b.delivery(b.export("acme", "u-1"), "hris", model.Failed, 500)
		b.delivery(b.export("acme", "u-2"), "hris", model.Delivered, 200)
		b.delivery(b.export("globex", "u-3"), "hris", model.Retrying, 503)
		text := strings.ToUpper(gatewaytest.Answered[1:8])
		body, err := json.Marshal(api.AnswerSearchInput{Text: text})
		require.NoError(t, err)
		search := func(path string) (found []string, s api.AnswerSearch) {
			require.NoError(t, json.Unmarshal([]byte(b.must(http.StatusOK, http.MethodPost, path, string(body)).body), &s))
			for _, e := range s.Items {
				found = append(found, e.Tenant+"/"+e.ID)
			}
			return found, s
		}
		found, s := search("/v1/export-search")
		require.Equal(t, []string{"globex/u-3", "acme/u-1"}, found)
		require.Equal(t, 2, s.Looked)
		require.Nil(t, s.Next)
		found, s = search("/v1/export-search?limit=1")
		require.Equal(t, []string{"globex/u-3"}, found)
		found, _ = search("/v1/export-search?limit=1&cursor=" + *s.Next)
		require.Equal(t, []string{"acme/u-1"}, found)
		found, _ = search(acme + "/export-search?status=5xx&integration=hris")
		require.Equal(t, []string{"acme/u-1"}, found)
		found, _ = search(acme + "/export-search?status=503")
		require.Empty(t, found)
		require.Contains(t, b.problem(http.MethodPost, acme+"/export-search?uuid=6f1c0f1e", string(body), http.StatusBadRequest), "uuid")
		require.Contains(t, b.problem(http.MethodPost, acme+"/export-search", `{"text":""}`, http.StatusUnprocessableEntity), "1 to 200 bytes")
	})
}
